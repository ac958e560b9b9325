/**
 * Client ↔ scheduler (role `client`); meanings in docs/contracts.md §4. Ids are the client's own, times seconds of CLOCK_MONOTONIC.
 */
import {
  MEMORY_MEASURES,
  SpanOrigin,
  membersOf
} from '../records/enumerations';
import type { ClientTaskId, OuterTaskId, SpanId } from '../records/ids';
import { SYSTEM_FIGURES } from '../records/tables';
import type { Bytes, Seconds } from '../base/brand';
import { f64Of, u32Of } from '../base/typed-arrays';
import * as v from 'valibot';
import {
  amounts,
  blob,
  blobOrNone,
  count,
  fieldOf,
  flag,
  map,
  message,
  NEW_NAMES,
  seconds,
  SHARING,
  spanId,
  text,
  u16,
  u32
} from './describe';
import { LOAD_FIGURES } from './load-figures';
import { TASK_STATE_WORDS } from './task-states';

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
  /** Of a worker's client: it is this span of the log, within which the client's tasks were submitted. */
  same: v.optional(spanId),
  /** What `with span(…) as id` gave: said once. Another one of a known id is a span that joins it. */
  uuid: v.optional(text, ''),
  /** Results that were asked for in the span so far, and were there already. */
  reused: v.optional(u32, 0),
  /** JSON: callers that have submitted in it, a stack, outermost first; each is said once. */
  code: v.optional(text, '')
});
const spans = v.optional(v.array(span), []);
const IDS = { ids: { id: u32Of<ClientTaskId>() } };

/** Where the client's Python looks for modules now, and which modules it has imported; sent again whenever this has changed. */
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
  /** What tasks may hold of it beside threads. */
  resources: v.optional(amounts, {}),
  /** running | paused (memory is short) | stopped (by a signal or a debugger) | silent (sends nothing, and its process cannot be looked at). */
  state: text,
  why: v.optional(text),
  /** When its last message came. */
  lastSeen: v.optional(seconds),
  /** A folder of its own, made when a task asks for it; empty: not known. */
  directory: v.optional(text, ''),
  /** Its names: its own number, name and address, those of the workers whose place it has, its host. */
  names: v.optional(v.array(text), [])
});

/** A worker, as scheduler plugins are told of it. */
const memberWorker = v.object({
  id: u16,
  address: text,
  name: text,
  threads: u16,
  memoryLimit: v.number()
});

export const CLIENT_LINK = {
  up: {
    /** A graph, or a piece of one (`last` false: more of the same generation follows). */
    submit: message(
      {
        generation: v.optional(u32, 0),
        last: v.optional(flag, true),
        /** Of a worker's client: the task that submits it, as the worker calls it. */
        within: v.optional(v.nullable(u32), null),
        ...NEW_NAMES,
        spans,
        templates: v.optional(v.array(v.object({ id: u32, blob })), []),
        chunks: v.optional(v.array(v.object({ id: u32, blob, rows: u32 })), []),
        keysBlob: v.optional(blobOrNone, -1),
        restrictions: v.optional(
          v.array(
            v.object({
              /** As the user wrote them: numbers, names, hosts, addresses. Matched with the workers that live when a task is placed. */
              workers: v.optional(
                v.nullable(v.array(v.union([u16, text]))),
                null
              ),
              allowOther: v.optional(flag, false),
              /** What such a task holds of its worker's. */
              resources: v.optional(amounts)
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
          span: u32Of<SpanId>(),
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
        dependencies: { id: u32Of<ClientTaskId>() },
        /** Row by row of `tasks`, see `GraphSubmitted.users`; without rows: not told. */
        users: { count: 'u32' }
      }
    ),
    /** New spans, and spans that closed (same id again replaces). */
    spans: message({ ...NEW_NAMES, spans }),
    /** The answer to `stalled`: whether a caller waits for a task now. */
    waiting: message({ waiting: flag }),
    /** The client will not name these templates again. */
    forget: message({ templates: v.array(u32) }),
    want: message({}, IDS),
    release: message({}, IDS),
    /** Has tasks that other clients have submitted, under ids of its own. `letGo`: what was held on the way to it (`shared.hold`). */
    adopt: message(
      { letGo: v.optional(v.array(u32), []) },
      {
        tasks: {
          id: u32Of<ClientTaskId>(),
          client: 'u16',
          theirs: u32Of<ClientTaskId>()
        }
      }
    ),
    /** These run to their end, also when nobody wants them any more. */
    keep: message({}, IDS),
    retry: message({}, IDS),
    cancel: message({ force: v.optional(flag, false) }, IDS),
    /** → `located` */
    locate: message({ request: u32 }, IDS),
    /**
     * Which tasks there are, what runs them and holds their results: those named by `ids`, or all, in these states (none given: in any),
     * at this worker. Or the story of those that are named, at most 64. Or how many tasks of all clients are in which state, by the log's
     * spans. Or what workers have told of themselves. Or in which functions the scheduler was: from the first such question that `begins` it on.
     * Or why those that are named are not done. → `answer`, a page; `after` is 0, then what the page before said.
     */
    question: message(
      {
        request: u32,
        about: v.optional(
          v.picklist([
            'tasks',
            'story',
            'held',
            'spans',
            'workers',
            'profile',
            'why'
          ]),
          'tasks'
        ),
        named: v.optional(flag, false),
        states: v.optional(v.array(v.picklist(TASK_STATE_WORDS)), []),
        worker: v.optional(v.nullable(u16), null),
        after: v.optional(u32, 0),
        begins: v.optional(flag, true)
      },
      IDS
    ),
    /**
     * Follows the tasks that `ids` need, themselves included. open: begin, grouped `by` the prefix or span of the tasks (task: by `group`,
     * once the client has read their `keys`, page by page); not `complete`: without what is there already and its inputs. count: how far
     * they are. close: no more of it, and no answer. → `followed`
     */
    follow: message(
      {
        request: u32,
        what: v.picklist(['open', 'keys', 'group', 'count', 'close']),
        /** The client's number for these tasks. */
        number: u32,
        by: v.optional(v.picklist(['prefix', 'span', 'task']), 'prefix'),
        complete: v.optional(flag, true),
        after: v.optional(u32, 0)
      },
      { ...IDS, groups: { group: 'u16' } }
    ),
    /** Whether the client wants a `ran` for runs of tasks whose results it waits for, from now on. */
    watchRuns: message({ on: flag }),
    /** Whether the client wants a `happened` for what happens to tasks, workers and clients, of all clients, from now on. → `watched` */
    watchScheduler: message({ request: u32, on: flag }),
    /**
     * Load a module into the scheduler's process, whose export is a plugin or makes one of `options`; or (`load` false) unload it. →
     * `pluginDone`, in which `why` is why it was not loaded
     */
    schedulerModule: message({
      request: u32,
      name: text,
      load: flag,
      path: v.optional(text, ''),
      exported: v.optional(text, 'default'),
      options: v.optional(map, {}),
      idempotent: v.optional(flag, false)
    }),
    /** Data that was already put to workers on their peer doors. */
    scattered: message(
      { ...NEW_NAMES, spans, keysBlob: v.optional(blobOrNone, -1) },
      {
        tasks: {
          id: u32Of<ClientTaskId>(),
          group: 'u32',
          suffix: 'u32',
          function: 'u32',
          span: u32Of<SpanId>(),
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
    /** Of a client whose clock is not the scheduler's; sent: what its own says. → `clockIs` */
    askClock: message({ sent: seconds }),
    /** Both of a run have one request, which is named where one is not taken. → on stop `memoryRunEnded` */
    memoryRun: message({
      request: v.optional(u32, 0),
      run: u32,
      label: v.optional(text, ''),
      measure: v.optional(v.picklist(MEMORY_MEASURES), 'process'),
      intervalSeconds: v.optional(seconds, 0.5),
      state: v.picklist(['start', 'stop'])
    }),
    /**
     * Changes the workers. restart: others come at once in the place of these. retire: these go once others have copies of what they alone
     * hold (closes false: they stay without work). scale: there are to be `count`. adapt: as many as the work needs, from `minimum` to
     * `maximum`; null ends that. → `done`
     */
    command: message({
      request: u32,
      what: v.picklist(['restart', 'retire', 'scale', 'adapt']),
      workers: v.optional(v.array(u16), []),
      closes: v.optional(flag, true),
      /** Do nothing while other clients are connected, and say how many they are. */
      alone: v.optional(flag, false),
      count: v.optional(u16, 0),
      minimum: v.optional(u16, 0),
      maximum: v.optional(v.nullable(u16), null)
    }),
    /**
     * Workers are to have copies of results; drop: they need not have them any more, as far as others have. → `copied`, once they have come or
     * cannot come.
     */
    copy: message(
      { request: u32, drop: v.optional(flag, false) },
      { pairs: { id: u32Of<ClientTaskId>(), worker: 'u16' } }
    ),
    /**
     * Numbers for workers that this client's program is going to start itself, under these names (or as many without). It looks after them:
     * see `order`. → `done`: the numbers, or why there are none.
     */
    reserve: message({
      request: u32,
      count: u16,
      names: v.optional(v.array(text), [])
    }),
    /** A worker's process, which this client's program started, has ended; why: half a sentence. replaced: whether it starts another for it. */
    workerEnded: message({
      worker: u16,
      why: text,
      replaced: v.optional(flag, true)
    }),
    /** Something that happened, under each of these topics. Blob 0: the message, as msgpack, which the scheduler does not open. */
    logEvent: message({ topics: v.array(text) }),
    /** What is kept of one topic, or of all. → `events` */
    askEvents: message({
      request: u32,
      topic: v.optional(v.nullable(text), null)
    }),
    /** Whether the client wants an `event` for each that is logged under a topic from now on. */
    subscribe: message({ topic: text, on: flag }),
    /** Set up a plugin on all workers, also those that join later, or tear it down. Blob 0: the plugin. → `pluginDone`, once all have answered */
    plugin: message({
      request: u32,
      name: text,
      setUp: flag,
      idempotent: v.optional(flag, false)
    }),
    ...SHARING.up,
    /** → `closed`. The scheduler then ends if it is the owner's, or if a guest says so (cluster). why: of a Jupyter server, half a sentence for its clients. */
    close: message({
      cluster: v.optional(flag, false),
      why: v.optional(text, '')
    })
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
        },
        /** Rows of `tasks` whose inline payload says where the result lies in its worker's memory; they ascend. */
        signs: { row: 'u32' }
      }
    ),
    /**
     * Runs that began (duration −1; those that go on for a while) or by which tasks ended; the latter come before the `report`. Seconds of
     * the scheduler's clock. Sent while the client wants it (`watchRuns`).
     */
    ran: message(
      {},
      {
        runs: {
          id: u32Of<ClientTaskId>(),
          worker: 'u16',
          thread: 'u16',
          start: f64Of<Seconds>(),
          duration: f64Of<Seconds>()
        }
      }
    ),
    /** The workers and clients that were there when the client began to watch. */
    watched: message({
      request: u32,
      workers: v.array(memberWorker),
      clients: v.array(u16)
    }),
    /**
     * What happened, in order. `before`: how many of `moves` came before a member or a graph; `order` of a graph: how many members did. Blob
     * 0: the texts of the keys; others: errors. States are numbered as in the scheduler: forgotten 0, released 1, waiting 2, no-worker 3,
     * queued 4, processing 5, memory 6, erred 7. lost: the client was too slow, and nothing more comes.
     */
    happened: message(
      {
        lost: v.optional(flag, false),
        texts: v.optional(v.array(text), []),
        members: v.optional(
          v.array(
            v.object({
              before: u32,
              what: v.picklist([
                'add-worker',
                'remove-worker',
                'add-client',
                'remove-client',
                'restart',
                'log-event'
              ]),
              client: v.optional(u16, 0),
              stimulus: text,
              why: v.optional(text, ''),
              expected: v.optional(flag, true),
              worker: v.optional(v.nullable(memberWorker), null),
              /** Of log-event; the blob is the message, as msgpack. */
              topic: v.optional(text, ''),
              blob: v.optional(blobOrNone, -1)
            })
          ),
          []
        ),
        graphs: v.optional(
          v.array(
            v.object({
              before: u32,
              order: u32,
              client: u16,
              stimulus: text,
              generation: u32,
              firstTask: u32,
              restrictions: v.optional(
                v.array(
                  v.object({
                    workers: v.optional(
                      v.nullable(v.array(v.union([u16, text]))),
                      null
                    ),
                    allowOther: v.optional(flag, false),
                    resources: v.optional(amounts)
                  })
                ),
                []
              )
            })
          ),
          []
        ),
        /** `isOwn`: it failed itself; else `cause` did. */
        failures: v.optional(
          v.array(
            v.object({
              cause: u32,
              type: text,
              message: text,
              text,
              blob: blobOrNone,
              isOwn: flag
            })
          ),
          []
        )
      },
      {
        moves: {
          key: 'u32',
          from: 'u8',
          to: 'u8',
          worker: 'u16',
          t: f64Of<Seconds>(),
          stimulus: 'u32',
          run: 'u32',
          failure: 'u32'
        },
        runs: {
          ident: 'f64',
          start: f64Of<Seconds>(),
          duration: f64Of<Seconds>(),
          nbytes: f64Of<Bytes>(),
          type: 'u32',
          firstPart: 'u32'
        },
        parts: {
          kind: 'u8',
          offset: f64Of<Seconds>(),
          duration: f64Of<Seconds>(),
          from: 'u16'
        },
        /** Of `graphs`: from `firstTask` of one to that of the next. place: in the order of all; 0: not known yet. */
        tasks: {
          key: 'u32',
          wanted: 'u8',
          retries: 'u8',
          userPriority: 'i32',
          restriction: 'u16',
          place: 'f64',
          firstInput: 'u32'
        },
        inputs: { key: 'u32' },
        keys: { end: 'u32' }
      }
    ),
    /** No task needs these templates. The client answers `forget` for those that no graph after `generation` has named. */
    unused: message({ generation: u32, templates: v.array(u32) }),
    /** The cluster is stalled, since all workers are full: does the client wait for a task? → `waiting` */
    stalled: message({}),
    cluster: message({
      state: v.picklist(['starting', 'running', 'closing']),
      workers: v.array(worker)
    }),
    /** What the scheduler's clock says while this is written; `sent` as in `askClock`. */
    clockIs: message({ sent: seconds, clock: seconds }),
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
    /**
     * A page; next: where the next one begins, null: it is the last. A task stands there under each id by which the client wants it, or
     * under its own. Blob 0: the keys' texts, or JSON, about *profile* (`OwnProfileAnswer` in `own-profile.ts`). worker: which one runs it, or none; nbytes: -1 unless it is in memory.
     */
    answer: message(
      {
        request: u32,
        next: v.nullable(u32),
        /** Oldest first; `at` is seconds since the scheduler's start. */
        story: v.optional(
          v.array(
            v.object({
              id: fieldOf<ClientTaskId>(u32),
              from: text,
              to: text,
              cause: text,
              event: count,
              at: seconds
            })
          ),
          []
        ),
        /** Of a worker: what tasks hold of its resources. */
        held: v.optional(amounts),
        /** Why tasks are not done, for the user; empty: they are. */
        why: v.optional(text, ''),
        /** With it: what users were told that still keeps these tasks from being done; empty: nothing, or of a scheduler of before. */
        standing: v.optional(text, ''),
        /** Of workers: bytes a second from one to another, as measured last. */
        bandwidth: v.optional(v.number()),
        /** Counts of one page: a span and a state may come again in the next one. */
        spans: v.optional(
          v.array(
            v.object({
              span: u32,
              state: v.picklist(TASK_STATE_WORDS),
              tasks: count
            })
          ),
          []
        )
      },
      {
        tasks: {
          id: u32Of<ClientTaskId>(),
          taskId: u32Of<OuterTaskId>(),
          worker: 'u16',
          nbytes: f64Of<Bytes>(),
          keyStart: 'u32',
          keyEnd: 'u32'
        },
        holders: { row: 'u32', worker: 'u16' },
        /**
         * The newest that workers have told: columns as in `measured.system` and `measured.load`; process, managed and disk are `process`,
         * `managed` and `spilled` of `measured.memory`. NaN, and none for fds: not known, or not told yet. clock: columns of the log's table
         * `clocks`; zero of a worker whose clock is the scheduler's.
         */
        workers: {
          worker: 'u16',
          t: f64Of<Seconds>(),
          ...SYSTEM_FIGURES,
          ...LOAD_FIGURES,
          process: f64Of<Bytes>(),
          managed: f64Of<Bytes>(),
          disk: f64Of<Bytes>(),
          clockOffset: f64Of<Seconds>(),
          clockWithin: f64Of<Seconds>(),
          clockDrift: 'f64'
        }
      }
    ),
    /**
     * How far the tasks are that a client follows. refused: why they are not followed. error: of one that failed, if there is any. Blob 0:
     * texts of `keys`, and of `groups` by prefix, which come with `open` alone. unknown: ids that stood for nothing then.
     */
    followed: message(
      {
        request: u32,
        tasks: u32,
        refused: v.optional(text, ''),
        /** Where the next page of keys begins. */
        next: v.optional(v.nullable(u32), null),
        error: v.optional(
          v.nullable(v.object({ key: text, type: text, message: text })),
          null
        )
      },
      {
        groups: {
          start: 'u32',
          end: 'u32',
          span: u32Of<SpanId>(),
          total: 'u32',
          done: 'u32',
          /** Given to a worker. */
          running: 'u32',
          failed: 'u32',
          /** The result is gone and cannot be made again. */
          lost: 'u32',
          /** Given up before there was a result. */
          cancelled: 'u32',
          /** Nobody needs it any more, and it has not run. */
          skipped: 'u32',
          /** It had a result once, and is to run again. */
          again: 'u32'
        },
        keys: { start: 'u32', end: 'u32' },
        unknown: { id: u32Of<ClientTaskId>() }
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
    /** workers: those that it was done to; sentence: why not to others; others: for how many other clients it was left alone. */
    done: message({
      request: u32,
      workers: v.array(u16),
      sentence: v.optional(text, ''),
      others: v.optional(count, 0)
    }),
    /** missing: what has not come, or with drop stays; why: of the last of them. */
    copied: message(
      { request: u32, why: v.optional(text, '') },
      { missing: { id: u32Of<ClientTaskId>(), worker: 'u16' } }
    ),
    /**
     * What the client's program is to do with a worker that it has started. kill: end its process. replace: end it and start another. leave: no
     * other takes its place when it ends. stay: another does, after all. → `workerEnded`, once it has.
     */
    order: message({
      worker: u16,
      what: v.picklist(['kill', 'replace', 'leave', 'stay'])
    }),
    memoryRunEnded: message(
      { run: u32 },
      { samples: { t: f64Of<Seconds>(), bytes: f64Of<Bytes>() } }
    ),
    /** Blob 0: the messages one after another. total: how many there were; forgotten: how many topics went with all their events. */
    events: message(
      {
        request: u32,
        topics: v.array(v.object({ topic: text, total: count })),
        forgotten: v.optional(count, 0)
      },
      { events: { topic: 'u32', t: f64Of<Seconds>(), length: 'u32' } }
    ),
    /** Blob 0: the message. lost: how many before it the client was too slow for. */
    event: message({ topic: text, t: seconds, lost: v.optional(count, 0) }),
    /** known: there was one of this name; why: it was not kept. Blobs: the error of each worker on which it failed. */
    pluginDone: message({
      request: u32,
      known: flag,
      why: v.optional(text, ''),
      failed: v.optional(v.array(v.object({ worker: u16, why: text })), [])
    }),
    ...SHARING.down,
    /** Shown to the user as a warning, or fails all futures. request: what asked for it fails with it in place of an answer. */
    problem: message({
      sentence: text,
      fatal: v.optional(flag, false),
      request: v.optional(v.nullable(u32), null)
    }),
    /** why: half a sentence, for clients that did not ask for it. idle: it held nothing of anybody, and another may take its place. */
    closed: message({
      why: v.optional(text, ''),
      idle: v.optional(flag, false)
    })
  }
} as const;

/** `proof.intro` of a client. */
export const clientIntro = v.looseObject({
  name: v.optional(text, ''),
  /** It has not started the cluster, and the cluster does not end with it. */
  guest: v.optional(flag, false),
  /** Of a guest: the worker in whose process it is, for the tasks there. */
  worker: v.optional(v.nullable(u16), null),
  /** False: a command that keeps the cluster, or workers of it. */
  computes: v.optional(flag, true),
  launch: v.looseObject({
    executable: text,
    prefix: v.optional(text),
    path: v.array(text),
    cwd: text,
    versions: v.optional(map, {})
  }),
  /** The notebook whose kernel it is. */
  notebook: v.optional(
    v.nullable(
      v.object({ kernelId: v.optional(text), path: v.optional(text) })
    ),
    null
  )
});

export type ClientIntro = v.InferOutput<typeof clientIntro>;

/** `welcome` for a client. */
export const clientWelcome = v.looseObject({
  clusterId: text,
  name: text,
  logId: text,
  /** The client's number: its data on the workers' peer doors goes by it. */
  client: v.optional(u16, 0),
  schedulerStart: seconds,
  /** What the clock says while this is written: see `spanwise/wire/clock.py`. */
  clock: v.optional(seconds),
  wallEpoch: seconds,
  observer: v.optional(v.nullable(text), null),
  workers: v.array(worker),
  /** How many more are being started. */
  coming: v.optional(count, 0),
  /** The folder in which workers run. */
  cwd: v.optional(text, '')
});
