/**
 * The panel link's messages as the wire checks them. Their types, with a sentence each, are in panel-link.ts; a viewer's requests are
 * checked field by field (the observer must stand anything), an observer's answers only where the browser routes them.
 */
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
  status: v.optional(v.array(v.picklist(['ok', 'failed', 'lost'])))
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
      maxHz: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(60))),
      have: v.optional(v.object({ logId: text, seq: count })),
      afterSeq: v.optional(count)
    }),
    change: message({
      id: u32,
      filter: v.optional(filter),
      time: v.optional(time),
      params: v.optional(map)
    }),
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
    detail: message({ request: u32, cluster: text, run: u32 }),
    ack: message({ id: u32, seq: count }),
    unwatch: message({ id: u32 })
  },
  down: {
    clusters: message({ clusters: v.array(map) }),
    snapshot: message({
      id: u32,
      seq: count,
      logId: text,
      logSeq: count,
      honoured: map,
      result: map
    }),
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
    state: message({
      state: v.picklist(['no-observer', 'no-node', 'version', 'refused']),
      sentence: text
    })
  }
} as const;
