/**
 * Client ↔ scheduler (role `client`); meanings in docs/contracts.md §4. Ids are the client's own, times seconds of CLOCK_MONOTONIC.
 */
import {
  MEMORY_MEASURES,
  SpanOrigin,
  membersOf
} from '../records/enumerations';
import type { ClientTaskId, OuterTaskId, SpanId } from '../records/ids';
import type { Bytes, Seconds } from '../base/brand';
import { f64Of, u16Of, u32Of } from '../base/typed-arrays';
import * as v from 'valibot';
import {
  blob,
  blobOrNone,
  count,
  fieldOf,
  flag,
  map,
  message,
  NEW_NAMES,
  seconds,
  spanId,
  text,
  u16,
  u32
} from './describe';

const span = v.object({
  id: spanId,
  parent: spanId,
  tag: text,
  opened: seconds,
  closed: v.optional(v.nullable(seconds), null),
  origin: v.optional(
    v.picklist(membersOf(SpanOrigin).map(([, origin]) => origin)),
    SpanOrigin.User
  ),
  snippet: v.optional(
    v.object({ text: text, place: text, firstLine: v.optional(u32, 1) })
  )
});
const spans = v.optional(v.array(span), []);
const IDS = { ids: { id: u32Of<ClientTaskId>() } };

/** Where the client's Python looks for modules now, and which it has imported; sent again whenever it changed. */
const launch = v.optional(
  v.object({
    path: v.array(text),
    cwd: text,
    modules: v.optional(v.array(text), [])
  })
);

const worker = v.looseObject({
  id: u16,
  address: text,
  pid: u32,
  host: v.optional(text, ''),
  threads: u16,
  memoryLimit: v.number(),
  /** running | paused (memory is short) | stopped (by a signal or a debugger) | silent (sends nothing, and its process cannot be looked at). */
  state: text,
  why: v.optional(text),
  /** When its last message came. */
  lastSeen: v.optional(seconds),
  /** Its names: its own number, name and address, those of the workers whose place it has, its host. */
  names: v.optional(v.array(text), [])
});

export const CLIENT_LINK = {
  up: {
    /** A graph, or a piece of one (`last` false: more of the same generation follows). */
    submit: message(
      {
        generation: v.optional(u32, 0),
        last: v.optional(flag, true),
        ...NEW_NAMES,
        spans,
        templates: v.optional(v.array(v.object({ id: u32, blob })), []),
        chunks: v.optional(v.array(v.object({ id: u32, blob, rows: u32 })), []),
        keysBlob: v.optional(blobOrNone, -1),
        restrictions: v.optional(
          v.array(
            v.object({
              /** As the user wrote them: numbers, names, hosts, addresses. Matched with the workers that live when a task is placed. */
              workers: v.array(v.union([u16, text])),
              allowOther: flag
            })
          ),
          []
        ),
        launch
      },
      {
        tasks: {
          id: u32Of<ClientTaskId>(),
          group: 'u32',
          suffix: 'u32',
          function: 'u32',
          span: u16Of<SpanId>(),
          origin: 'u8',
          template: 'u32',
          chunk: 'u32',
          row: 'u32',
          flags: 'u8',
          retries: 'u8',
          restriction: 'u16',
          userPriority: 'i32',
          firstDependency: 'u32'
        },
        dependencies: { id: u32Of<ClientTaskId>() }
      }
    ),
    /** New spans, and spans that closed (same id again replaces). */
    spans: message({ ...NEW_NAMES, spans }),
    /** The answer to `stalled`: whether a caller waits for a task now. */
    waiting: message({ waiting: flag }),
    /** These templates are not named again. */
    forget: message({ templates: v.array(u32) }),
    want: message({}, IDS),
    release: message({}, IDS),
    retry: message({}, IDS),
    cancel: message({ force: v.optional(flag, false) }, IDS),
    /** → `located` */
    locate: message({ request: u32 }, IDS),
    /** Data that was already put to workers on their peer doors. */
    scattered: message(
      { ...NEW_NAMES, spans, keysBlob: v.optional(blobOrNone, -1) },
      {
        tasks: {
          id: u32Of<ClientTaskId>(),
          group: 'u32',
          suffix: 'u32',
          function: 'u32',
          span: u16Of<SpanId>(),
          flags: 'u8',
          nbytes: f64Of<Bytes>()
        },
        holders: { row: 'u32', worker: 'u16' }
      }
    ),
    /** Workers drop data that was put there in vain, or do not keep it when it comes. */
    discard: message(
      {},
      { items: { id: u32Of<ClientTaskId>(), worker: 'u16' } }
    ),
    /** Run a function once on each of these workers, outside the graph. → one `runResult` each */
    run: message({
      request: u32,
      workers: v.optional(v.nullable(v.array(u16)), null),
      wait: v.optional(flag, true)
    }),
    /** → `flushed` */
    flush: message({ request: u32 }),
    memoryRun: message({
      run: u32,
      label: v.optional(text, ''),
      measure: v.optional(v.picklist(MEMORY_MEASURES), 'process'),
      intervalSeconds: v.optional(seconds, 0.5),
      state: v.picklist(['start', 'stop'])
    }),
    retireWorker: message({ request: u32, workers: v.array(u16) }),
    scale: message({ request: u32, workers: u16 }),
    /** → `closed`, then the scheduler ends. */
    close: message({})
  },
  down: {
    /** Outcomes of tasks; one message per scheduler tick. Inline results stand in blob 0. */
    report: message(
      {
        errors: v.optional(
          v.array(
            v.object({
              cause: fieldOf<ClientTaskId>(u32),
              key: text,
              type: text,
              message: text,
              text,
              blob: v.optional(blobOrNone, -1)
            })
          ),
          []
        )
      },
      {
        tasks: {
          id: u32Of<ClientTaskId>(),
          taskId: u32Of<OuterTaskId>(),
          status: 'u8',
          worker: 'u16',
          nbytes: f64Of<Bytes>(),
          inlineStart: 'u32',
          inlineLength: 'u32',
          cause: u32Of<ClientTaskId>()
        }
      }
    ),
    /** No task needs these templates: `forget`, unless a graph after `generation` has named them. */
    unused: message({ generation: u32, templates: v.array(u32) }),
    /** Nothing can move, since all workers are full: does the client wait? → `waiting` */
    stalled: message({}),
    cluster: message({
      state: v.picklist(['starting', 'running', 'closing']),
      workers: v.array(worker)
    }),
    located: message(
      { request: u32 },
      {
        where: {
          id: u32Of<ClientTaskId>(),
          taskId: u32Of<OuterTaskId>(),
          worker: 'u16',
          nbytes: f64Of<Bytes>()
        }
      }
    ),
    /** Blob 0: the value, or the error when not ok. */
    runResult: message({
      request: u32,
      worker: u16,
      ok: flag,
      why: v.optional(text)
    }),
    /** note: what the log up to `seq` lacks, for the user; empty if it is complete. */
    flushed: message({
      request: u32,
      logId: text,
      seq: count,
      note: v.optional(text, '')
    }),
    memoryRunEnded: message(
      { run: u32 },
      { samples: { t: f64Of<Seconds>(), bytes: f64Of<Bytes>() } }
    ),
    /** Shown to the user as a warning, or fails all futures. */
    problem: message({ sentence: text, fatal: v.optional(flag, false) }),
    closed: message({})
  }
} as const;

/** `proof.intro` of a client. */
export const clientIntro = v.looseObject({
  name: v.optional(text, ''),
  launch: v.looseObject({
    executable: text,
    path: v.array(text),
    cwd: text,
    versions: v.optional(map, {})
  })
});

/** `welcome` for a client. */
export const clientWelcome = v.looseObject({
  clusterId: text,
  name: text,
  logId: text,
  schedulerStart: seconds,
  /** What the clock says while this is written: see `spanwise/wire/clock.py`. */
  clock: v.optional(seconds),
  wallEpoch: seconds,
  observer: v.optional(v.nullable(text), null),
  workers: v.array(worker)
});
