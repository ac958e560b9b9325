/**
 * Worker ↔ scheduler (role `worker`); meanings in docs/contracts.md §5. The worker dials. Task ids are the scheduler's, times seconds of
 * CLOCK_MONOTONIC; the scheduler's source subtracts the scheduler's start and adds worker and lane.
 */
import type { Bytes, Seconds } from '../base/brand';
import { f32Of, f64Of, u32Of } from '../base/typed-arrays';
import type { ClientTaskId, OuterTaskId, SpanId } from '../records/ids';
import { SYSTEM_FIGURES } from '../records/tables';
import * as v from 'valibot';
import {
  amounts,
  blob,
  blobOrNone,
  flag,
  map,
  message,
  NEW_NAMES,
  seconds,
  SHARING,
  text,
  u16,
  u32
} from './describe';
import { LOAD_FIGURES } from './load-figures';

/** One question holds up no other message for long. */
export const MOST_KEYS_ASKED = 4096;

export const WORKER_LINK = {
  up: {
    /** All runs that ended since the last message. Blob 0: inline payloads, one after another; then error payloads. */
    finished: message(
      {
        ...NEW_NAMES,
        errors: v.optional(
          v.array(
            v.object({
              row: u32,
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
        runs: {
          taskId: u32Of<OuterTaskId>(),
          runId: 'u32',
          status: 'u8',
          thread: 'u16',
          start: f64Of<Seconds>(),
          duration: f64Of<Seconds>(),
          cpu: f64Of<Seconds>(),
          waitInputs: f32Of<Seconds>(),
          waitThread: f32Of<Seconds>(),
          nbytes: f64Of<Bytes>(),
          inlineStart: 'u32',
          inlineLength: 'u32',
          firstPart: 'u32',
          /** Name of the result's class, `module:qualified name`; none: there is no result. */
          type: 'u32'
        },
        parts: {
          kind: 'u8',
          function: 'u32',
          span: u32Of<SpanId>(),
          offset: f64Of<Seconds>(),
          duration: f64Of<Seconds>(),
          cpu: f64Of<Seconds>(),
          coreWait: f32Of<Seconds>(),
          bytes: f64Of<Bytes>(),
          from: 'u16',
          held: 'u8'
        },
        missing: { taskId: u32Of<OuterTaskId>(), worker: 'u16' },
        /** Rows of `runs` whose inline payload says where the result lies in the worker's memory; they ascend. */
        signs: { row: 'u32' },
        /** What the run in this row of `runs` has measured itself; the rows ascend. Other columns as in the log's `meters`. */
        meters: {
          row: 'u32',
          function: 'u32',
          span: u32Of<SpanId>(),
          label: 'u32',
          unit: 'u32',
          value: 'f64',
          cpu: f64Of<Seconds>()
        }
      }
    ),
    /** Answer to `takeBack`: ok 1 = it had not started and will not. */
    takenBack: message(
      {},
      { tasks: { taskId: u32Of<OuterTaskId>(), runId: 'u32', ok: 'u8' } }
    ),
    /** Copies of results that other workers made, now held or dropped here. */
    replicas: message(
      {},
      {
        added: { taskId: u32Of<OuterTaskId>(), nbytes: f64Of<Bytes>() },
        removed: { taskId: u32Of<OuterTaskId>() }
      }
    ),
    /**
     * What was measured beside the runs. Columns as in the record log (records/tables.ts) less what the source knows: worker, lane (it has
     * `thread` instead), node (`taskId`), and `second`, which it counts from `t`. Stack and frame ids are the worker's own, dense from 0.
     */
    measured: message(NEW_NAMES, {
      memory: {
        t: f64Of<Seconds>(),
        process: f64Of<Bytes>(),
        managed: f64Of<Bytes>(),
        spilled: f64Of<Bytes>(),
        unmanagedOld: f64Of<Bytes>()
      },
      fine: {
        t: f64Of<Seconds>(),
        context: 'u32',
        span: u32Of<SpanId>(),
        function: 'u32',
        activity: 'u32',
        unit: 'u32',
        value: 'f64'
      },
      stacks: { stack: 'u32', parent: 'u32', frame: 'u32' },
      frames: { frame: 'u32', function: 'u32', file: 'u32', line: 'u32' },
      samples: {
        t: f64Of<Seconds>(),
        thread: 'u16',
        span: u32Of<SpanId>(),
        function: 'u32',
        stack: 'u32',
        state: 'u8',
        n: 'u16'
      },
      running: {
        thread: 'u16',
        taskId: u32Of<OuterTaskId>(),
        runId: 'u32',
        function: 'u32',
        span: u32Of<SpanId>(),
        started: f64Of<Seconds>()
      },
      stored: {
        t: f64Of<Seconds>(),
        span: u32Of<SpanId>(),
        function: 'u32',
        kind: 'u8',
        change: f64Of<Bytes>()
      },
      transfers: {
        start: f64Of<Seconds>(),
        duration: f64Of<Seconds>(),
        from: 'u16',
        bytes: f64Of<Bytes>(),
        keys: 'u16',
        firstTaskId: u32Of<OuterTaskId>(),
        span: u32Of<SpanId>(),
        status: 'u8',
        type: 'u32'
      },
      /** From `t` on this thread of the process, by the operating system's number, runs the tasks of `thread`. Sent before its runs. */
      threads: { t: f64Of<Seconds>(), thread: 'u16', ident: 'f64' },
      system: {
        t: f64Of<Seconds>(),
        ...SYSTEM_FIGURES
      },
      /**
       * How much there is at `t`, with each row of `system`; not of the log. Tasks that run, that could run, that wait for inputs; results
       * kept and coming; spilled: what the results on disk take in memory. Requests for results of others (incoming) and by others
       * (outgoing) that are open, their bytes, and how many requests there were in all.
       */
      load: {
        t: f64Of<Seconds>(),
        ...LOAD_FIGURES
      }
    }),
    /** These runs leave the worker's threads to others, and go on beside them; or (`back`) hold a thread again. */
    seceded: message(
      { back: v.optional(flag, false) },
      {
        tasks: {
          taskId: u32Of<OuterTaskId>(),
          runId: 'u32',
          seconds: f64Of<Seconds>()
        }
      }
    ),
    /** stalled: it is paused, no task runs there, and nothing leaves its memory. Said when either changes. */
    state: message({
      paused: flag,
      why: v.optional(text, ''),
      stalled: v.optional(flag, false)
    }),
    event: message({ kind: text, text: v.optional(text, '') }),
    /** As the client's. */
    logEvent: message({ topics: v.array(text) }),
    /** Asks for the keys of tasks whose results came or went, at most {@link MOST_KEYS_ASKED}. → `keys` */
    askKeys: message(
      { request: u32 },
      { ids: { taskId: u32Of<OuterTaskId>() } }
    ),
    /**
     * Asks what the scheduler's clock says, and tells what the worker adds to its own, `sent`, to get it, and by how much that may be wrong.
     * → `clockIs`
     */
    askClock: message({ sent: seconds, offset: seconds, within: seconds }),
    ...SHARING.up,
    /** Blob 0: the value, or the error when not ok. */
    runResult: message({ request: u32, ok: flag, why: v.optional(text) }),
    flushed: message({ request: u32 })
  },
  down: {
    assign: message(
      {
        templates: v.optional(v.array(v.object({ id: u32, blob })), []),
        chunks: v.optional(v.array(v.object({ id: u32, blob })), []),
        launch: v.optional(
          v.object({
            path: v.array(text),
            cwd: text,
            modules: v.optional(v.array(text), [])
          })
        )
      },
      {
        tasks: {
          taskId: u32Of<OuterTaskId>(),
          runId: 'u32',
          template: 'u32',
          chunk: 'u32',
          row: 'u32',
          function: 'u32',
          span: u32Of<SpanId>(),
          flags: 'u8',
          priority: 'f64',
          readyAt: f64Of<Seconds>(),
          firstDependency: 'u32'
        },
        dependencies: {
          taskId: u32Of<OuterTaskId>(),
          worker: 'u16',
          nbytes: f64Of<Bytes>()
        }
      }
    ),
    /**
     * Drop these results and runs. held 0: no result is counted on there. If one is dropped all the same, `replicas` says so: what was said
     * of it before may be read only when the task is in memory again, elsewhere.
     */
    release: message({}, { ids: { taskId: u32Of<OuterTaskId>(), held: 'u8' } }),
    /** Copy these results from the workers that hold them; answered by `replicas`, and not at all if that is impossible. */
    acquire: message(
      {},
      {
        items: {
          taskId: u32Of<OuterTaskId>(),
          worker: 'u16',
          nbytes: f64Of<Bytes>()
        }
      }
    ),
    /** → `takenBack` */
    takeBack: message(
      {},
      { tasks: { taskId: u32Of<OuterTaskId>(), runId: 'u32' } }
    ),
    dropBlobs: message({
      templates: v.optional(v.array(u32), []),
      chunks: v.optional(v.array(u32), [])
    }),
    /** Names of the log's dictionary that the worker will meet (functions, spans' tags); same rule as elsewhere. */
    names: message(NEW_NAMES),
    /** All workers that live. */
    peers: message({
      workers: v.array(v.object({ id: u16, address: text }))
    }),
    /** Bind data that a client put on the peer door. */
    adopt: message(
      {},
      {
        items: {
          dataId: u32Of<ClientTaskId>(),
          client: 'u16',
          taskId: u32Of<OuterTaskId>(),
          nbytes: f64Of<Bytes>()
        }
      }
    ),
    /**
     * Drop data that a client put on the peer door, or do not keep it when it comes: the scheduler has no room for it, or the client gave it
     * up. `clients`: all that these clients put, for they have gone.
     */
    discard: message(
      { clients: v.optional(v.array(u16), []) },
      { items: { dataId: u32Of<ClientTaskId>(), client: 'u16' } }
    ),
    /** Their texts, in the order of the ids; empty: forgotten. wallZero: what the wall clock said at the zero of the scheduler's clock. */
    keys: message({
      request: u32,
      wallZero: seconds,
      keys: v.array(text)
    }),
    /** What it says while this is written; `sent` as in `askClock`. */
    clockIs: message({ sent: seconds, clock: seconds }),
    /** Blob 0: payload of (function, args, kwargs). → `runResult` */
    run: message({ request: u32, wait: v.optional(flag, true) }),
    /** Set up a plugin, in place of one of its name, or tear it down. Blob 0: the plugin. One after another. → `runResult` */
    plugin: message({ request: u32, name: text, setUp: flag }),
    ...SHARING.down,
    /** → `flushed`, after everything measured before it. */
    flush: message({ request: u32 }),
    /** How often memory is measured. */
    rates: message({ memorySeconds: seconds }),
    close: message({})
  }
} as const;

/** `welcome` for a worker. */
export const workerWelcome = v.looseObject({
  schedulerStart: v.optional(seconds, 0),
  /** As in the client's. */
  clock: v.optional(seconds),
  /** As its user named it, or the number of its place. */
  name: v.optional(text, ''),
  /** The thread time that one sample of a stack stands for; 0: no samples are taken. */
  sampleSeconds: v.optional(seconds, 0.01 as Seconds),
  /** How often samples are sent. */
  cycleSeconds: v.optional(seconds, 1 as Seconds)
});

/** `proof.intro` of a worker. */
export const workerIntro = v.looseObject({
  worker: u16,
  /** What users call it, beside its number; empty: nothing else. */
  name: v.optional(text, ''),
  pid: u32,
  threads: u16,
  memoryLimit: v.number(),
  /** What tasks may hold of it beside threads. */
  resources: v.optional(amounts, {}),
  host: v.optional(text, ''),
  address: text,
  /** A folder of its own, made when a task asks for it. */
  directory: v.optional(text, ''),
  versions: v.optional(map, {})
});

export type WorkerIntro = v.InferOutput<typeof workerIntro>;
