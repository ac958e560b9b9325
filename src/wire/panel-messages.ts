/**
 * The panel link's messages; what their maps hold is in panel-link.ts. A viewer's requests are checked field by field (the observer must
 * stand anything), an observer's answers only where the browser routes them.
 */
import { FILTERED_STATUSES } from '../records/enumerations';
import * as v from 'valibot';
import { count, flag, map, message, seconds, text, u32 } from './describe';

const path = v.array(text);
const term = v.union([v.object({ path }), v.object({ tag: text })]);
const terms = v.optional(v.array(term));

const filter = v.object({
  spans: v.optional(v.object({ any: terms, all: terms, not: terms })),
  functions: v.optional(v.array(text)),
  notFunctions: v.optional(v.array(text)),
  workers: v.optional(v.array(v.number())),
  status: v.optional(v.array(v.picklist(FILTERED_STATUSES)))
});
const time = v.union([
  v.literal('all'),
  v.object({ from: seconds, to: seconds }),
  v.object({ last: seconds })
]);
const view = v.picklist([
  'spans',
  'task-stream',
  'tasks',
  'records',
  'fine-metrics',
  'profile',
  'memory',
  'summary'
]);

export const PANEL_LINK = {
  up: {
    watch: message({
      id: u32,
      cluster: text,
      view,
      filter: v.optional(filter, {}),
      time: v.optional(time, 'all'),
      params: v.optional(map, {}),
      /** The most answers a second; 4 if left out; 0: answer once (a query). */
      maxHz: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(60))),
      /**
       * What the viewer knows of it: the log, and the newest block of the answer that it has, 0 without one. With a log, the
       * watch waits up to 10 s for a cluster that the observer does not know: the observer may be new, and the source about to reconnect.
       */
      expected: v.optional(flag, false),
      /** With a query: answer only after the blocks up to this seq of the log are in (10 s limit, then `failure`). */
      afterSeq: v.optional(count)
    }),
    /** New filter, time or params for a running watch; answered by a snapshot. */
    change: message({
      id: u32,
      time: v.optional(time),
      params: v.optional(map)
    }),
    /**
     * Map tiles of the task stream for watch `id` (its filter applies). Level L: cells of 2^L microseconds, 512 cells per tile; tile i covers
     * [i, i+1) * 512 * 2^L µs since the cluster's start. Lanes are those of the last task-stream snapshot (`lanes` index order).
     */
    tiles: message({
      id: u32,
      level: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(60)),
      first: v.pipe(
        v.number(),
        v.integer(),
        v.minValue(Number.MIN_SAFE_INTEGER),
        v.maxValue(Number.MAX_SAFE_INTEGER)
      ),
      count: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(64))
    }),
    /** One run with all details: answered by `detail`. */
    detail: message({ request: u32, cluster: text, run: u32 }),
    ack: message({ id: u32, seq: count }),
    unwatch: message({ id: u32 })
  },
  down: {
    /** Pushed at once after welcome and on every change (≤ 2 Hz). */
    clusters: message({ clusters: v.array(map) }),
    /** The whole answer of a view; `seq` counts the answers of this watch, `logSeq` is the newest block folded in. Answered by `ack`. */
    snapshot: message({
      id: u32,
      seq: count,
      logId: text,
      logSeq: count,
      honoured: map,
      result: map
    }),
    /** `settled`: nothing in this tile will change any more, keep it for ever. */
    tile: message(
      {
        id: u32,
        level: v.number(),
        index: v.number(),
        settled: flag,
        logSeq: count,
        functions: v.optional(v.array(text), [])
      },
      {
        boxes: {
          lane: 'u16',
          from: 'f32',
          to: 'f32',
          function: 'u16',
          kind: 'u8',
          strip: 'u8',
          cover: 'u8',
          run: 'u32',
          tasks: 'u32'
        }
      }
    ),
    detail: message({ request: u32, run: v.nullable(map) }),
    failure: message({ id: u32, sentence: text }),
    /** Answered by the relay when there is no observer to pump to, and by the observer on refusal. */
    state: message({
      state: v.picklist(['no-observer', 'no-node', 'version', 'refused']),
      sentence: text
    })
  }
} as const;
