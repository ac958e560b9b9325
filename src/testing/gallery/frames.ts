/**
 * Sample frames, written to `frames` beside this file by `jlpm build:schema` and read by jest and by pytest: `<name>.bin` is a body, `<name>.json`
 * says what it holds. In the JSON, blobs and bytes are hex.
 */
import { NONE_U16, NONE_U32, SpanOrigin } from '../../records/enumerations';
import type { Seconds } from '../../base/brand';
import type { Direction } from '../../wire/describe';
import { FrameEncoder } from '../../wire/frame';
import { PROTOCOL } from '../../wire/handshake-messages';
import type {
  FieldsInput,
  LinkName,
  TablesInput,
  TypeOf
} from '../../wire/schema';

type FrameSample = {
  readonly what: string;
  readonly link: LinkName;
  readonly direction: Direction;
  readonly type: string;
  /** As given; fields with a default may be left out. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly tables: Readonly<
    Record<string, Readonly<Record<string, readonly number[]>>>
  >;
  readonly blobs: readonly Uint8Array[];
  readonly body: Uint8Array<ArrayBuffer>;
};

function sample<
  L extends LinkName,
  D extends Direction,
  T extends TypeOf<L, D>
>(
  what: string,
  link: L,
  direction: D,
  type: T,
  fields: FieldsInput<L, D, T>,
  tables: TablesInput<L, D, T> = {} as TablesInput<L, D, T>,
  blobs: readonly Uint8Array[] = []
): FrameSample {
  return {
    what,
    link,
    direction,
    type,
    fields: fields as Readonly<Record<string, unknown>>,
    tables: tables as unknown as FrameSample['tables'],
    blobs,
    body: new FrameEncoder(link, direction).encodeBody(
      type,
      fields,
      tables,
      blobs
    )
  };
}

const counting = (length: number): Uint8Array =>
  Uint8Array.from({ length }, (_, i) => i % 251);

function frameSamples(): Readonly<Record<string, FrameSample>> {
  return {
    seceded: sample(
      'two runs that leave the threads of their worker',
      'worker',
      'up',
      'seceded',
      {},
      { tasks: { taskId: [7, 8], runId: [1, 2], seconds: [0.5, 0.25] } }
    ),
    askKeys: sample(
      'two tasks whose keys a worker asks for',
      'worker',
      'up',
      'askKeys',
      { request: 3 },
      { ids: { taskId: [7, 8] } }
    ),
    keys: sample(
      'their keys, the second of which is forgotten',
      'worker',
      'down',
      'keys',
      { request: 3, wallZero: 1_700_000_000.5 as Seconds, keys: ['inc-7', ''] }
    ),
    askClock: sample(
      "a worker that asks for the scheduler's clock, and is three seconds behind it",
      'worker',
      'up',
      'askClock',
      {
        sent: 100.25 as Seconds,
        offset: 3 as Seconds,
        within: 0.000125 as Seconds
      }
    ),
    clockIs: sample('what that says', 'worker', 'down', 'clockIs', {
      sent: 100.25 as Seconds,
      clock: 103.25 as Seconds
    }),
    askClockOfClient: sample(
      'a client that does so',
      'client',
      'up',
      'askClock',
      { sent: 100.5 as Seconds }
    ),
    clockIsForClient: sample('what it is told', 'client', 'down', 'clockIs', {
      sent: 100.5 as Seconds,
      clock: 103.5 as Seconds
    }),
    adopt: sample(
      'two tasks of other clients under ids of one',
      'client',
      'up',
      'adopt',
      { letGo: [3] },
      { tasks: { id: [7, 8], client: [1, 2], theirs: [0, 5] } }
    ),
    keep: sample(
      'two tasks that run to their end',
      'client',
      'up',
      'keep',
      {},
      { ids: { id: [7, 8] } }
    ),
    discard: sample(
      'two items that one client gave up, and all of another, which has gone',
      'worker',
      'down',
      'discard',
      { clients: [2] },
      { items: { dataId: [5, 7], client: [1, 1] } }
    ),
    hello: sample('the first message of any link', 'client', 'up', 'hello', {
      protocol: PROTOCOL,
      build: '0.1.0',
      role: 'client',
      nonce: counting(16)
    }),
    refused: sample('an early end', 'worker', 'down', 'refused', {
      code: 'protocol',
      sentence: 'Upgrade – "größer" ist neuer.'
    }),
    submit: sample(
      'two tasks, one of which needs the other; names, a span, a template and the suffixes of the keys',
      'client',
      'up',
      'submit',
      {
        generation: 1,
        last: true,
        firstName: 3,
        names: ['inc', 'add'],
        spans: [
          {
            id: 1,
            parent: 0,
            tag: 'größe',
            opened: 12.5,
            closed: null,
            origin: SpanOrigin.User,
            uuid: '0e9f1c1e-6c5e-4f5e-9d3c-2f1b8f1f2a3b',
            reused: 2,
            code: '[]'
          }
        ],
        templates: [{ id: 0, blob: 0 }],
        keysBlob: 1
      },
      {
        tasks: {
          id: [0, 1],
          group: [3, 4],
          suffix: [0, 2],
          function: [3, 4],
          span: [1, 1],
          origin: [1, 2],
          template: [0, 0],
          chunk: [NONE_U32, NONE_U32],
          row: [0, 0],
          flags: [0, 1],
          retries: [0, 3],
          restriction: [0, 0],
          userPriority: [0, -5],
          firstDependency: [0, 0]
        },
        dependencies: { id: [0] },
        users: { count: [1, 0] }
      },
      [counting(33), new TextEncoder().encode('-0-1')]
    ),
    question: sample(
      'the second page of the tasks that run or are done',
      'client',
      'up',
      'question',
      { request: 7, states: ['processing', 'memory'], after: 4096 },
      { ids: { id: [] } }
    ),
    held: sample(
      'what tasks hold of the resources of worker 1',
      'client',
      'up',
      'question',
      { request: 11, about: 'held', worker: 1 },
      { ids: { id: [] } }
    ),
    profile: sample(
      'in which functions the scheduler was, if it is looked at',
      'client',
      'up',
      'question',
      { request: 12, about: 'profile', begins: false },
      { ids: { id: [] } }
    ),
    why: sample(
      'why two tasks are not done',
      'client',
      'up',
      'question',
      { request: 13, about: 'why' },
      { ids: { id: [4, 5] } }
    ),
    because: sample('why they are not', 'client', 'down', 'answer', {
      request: 13,
      next: null,
      why: 'load-1 waits for a worker. The cluster has none.',
      standing:
        'The task load-1 waits, and the cluster has no worker that takes tasks.'
    }),
    follow: sample(
      'begin with two tasks and what they need, by span',
      'client',
      'up',
      'follow',
      { request: 8, what: 'open', number: 1, by: 'span' },
      { ids: { id: [4, 5] }, groups: { group: [] } }
    ),
    followed: sample(
      'of three tasks in one span one is done and one has failed',
      'client',
      'down',
      'followed',
      {
        request: 8,
        tasks: 3,
        error: { key: 'load-1', type: 'ValueError', message: 'no such file' }
      },
      {
        groups: {
          start: [0],
          end: [0],
          span: [3],
          total: [3],
          done: [1],
          running: [1],
          failed: [1],
          lost: [0],
          cancelled: [0],
          skipped: [0],
          again: [0]
        },
        keys: { start: [], end: [] },
        unknown: { id: [] }
      }
    ),
    watchRuns: sample(
      'from now on the client is told of runs',
      'client',
      'up',
      'watchRuns',
      { on: true }
    ),
    ran: sample(
      'one task goes on, another has ended',
      'client',
      'down',
      'ran',
      {},
      {
        runs: {
          id: [4, 5],
          worker: [0, 1],
          thread: [0, 1],
          start: [1000.25, 1000.5],
          duration: [-1, 0.125]
        }
      }
    ),
    watchScheduler: sample(
      'from now on the client is told of everything that happens',
      'client',
      'up',
      'watchScheduler',
      { request: 9, on: true }
    ),
    schedulerModule: sample(
      'a module is loaded into the process of the scheduler',
      'client',
      'up',
      'schedulerModule',
      {
        request: 10,
        name: 'counts',
        load: true,
        path: '/home/me/count-transitions.mjs',
        options: { every: 1000 }
      }
    ),
    watched: sample(
      'a worker and a client are there',
      'client',
      'down',
      'watched',
      {
        request: 9,
        workers: [
          {
            id: 0,
            address: 'unix:/run/worker-0',
            name: 'worker-0',
            threads: 2,
            memoryLimit: 1e9
          }
        ],
        clients: [0]
      }
    ),
    happened: sample(
      'a worker joins and a graph comes, whose task has run and failed',
      'client',
      'down',
      'happened',
      {
        texts: ['update-graph-3', 'tasksFinished-4', 'builtins:int'],
        members: [
          {
            before: 0,
            what: 'add-worker',
            stimulus: 'add-worker-1',
            worker: {
              id: 0,
              address: 'unix:/run/worker-0',
              name: 'worker-0',
              threads: 2,
              memoryLimit: 1e9
            }
          }
        ],
        graphs: [
          {
            before: 0,
            order: 1,
            client: 0,
            stimulus: 'update-graph-3',
            generation: 1,
            firstTask: 0,
            restrictions: [{ workers: [0] }]
          }
        ],
        failures: [
          {
            cause: 0,
            type: 'ValueError',
            message: 'no',
            text: 'ValueError: no',
            blob: -1,
            isOwn: true
          }
        ]
      },
      {
        moves: {
          key: [0, 1],
          from: [1, 5],
          to: [2, 7],
          worker: [NONE_U16, 0],
          t: [1000.5, 1001],
          stimulus: [0, 1],
          run: [NONE_U32, 0],
          failure: [NONE_U32, 0]
        },
        runs: {
          ident: [140001],
          start: [1000.5],
          duration: [0.25],
          nbytes: [28],
          type: [2],
          firstPart: [0]
        },
        parts: { kind: [4], offset: [0], duration: [0.25], from: [NONE_U16] },
        tasks: {
          key: [0, 1],
          wanted: [0, 1],
          retries: [0, 2],
          userPriority: [0, -1],
          restriction: [0, 1],
          place: [1099511627776, 1099511627777],
          firstInput: [0, 0]
        },
        inputs: { key: [0] },
        keys: { end: [3, 6] }
      },
      [Uint8Array.from([97, 45, 49, 98, 45, 49])]
    ),
    answer: sample(
      'two tasks, of which one has two names and lies at two workers, and one runs; the last page',
      'client',
      'down',
      'answer',
      { request: 7, next: null },
      {
        tasks: {
          id: [4, 9, 5],
          taskId: [0, 0, 1],
          worker: [NONE_U16, NONE_U16, 1],
          nbytes: [28, 28, -1],
          keyStart: [0, 0, 5],
          keyEnd: [5, 5, 10]
        },
        holders: { row: [0, 0, 1, 1], worker: [0, 1, 0, 1] }
      },
      [new TextEncoder().encode('inc-0inc-1')]
    ),
    workersAnswer: sample(
      'what two workers have told, one of which has told nothing yet; more follow',
      'client',
      'down',
      'answer',
      { request: 7, next: 9, bandwidth: 5e8 },
      {
        workers: {
          worker: [0, 4],
          t: [1000.5, 0.25],
          seconds: [0.5, 0.25],
          cpu: [187.5, 0.25],
          memory: [2e8, 0.25],
          fds: [29, NONE_U32],
          netRead: [1e3, 0.25],
          netWrite: [2e3, 0.25],
          diskRead: [0, 0.25],
          diskWrite: [4e6, 0.25],
          hostDiskRead: [0.25, 0.25],
          hostDiskWrite: [0.25, 0.25],
          executing: [2, 0],
          ready: [5, 0],
          waiting: [1, 0],
          results: [40, 0],
          fetching: [3, 0],
          spilled: [1e6, 0],
          incoming: [1, 0],
          incomingBytes: [3e5, 0],
          incomingTotal: [12, 0],
          outgoing: [0, 0],
          outgoingBytes: [0, 0],
          outgoingTotal: [2 ** 33, 0],
          process: [1.5e8, 0],
          managed: [1e8, 0],
          disk: [9e5, 0],
          clockOffset: [-3 as Seconds, 0 as Seconds],
          clockWithin: [0.0005 as Seconds, 0 as Seconds],
          clockDrift: [0.0001, 0]
        }
      }
    ),
    system: sample(
      'what a system counts for a process, and how much there is',
      'worker',
      'up',
      'measured',
      {},
      {
        system: {
          t: [1000.5],
          seconds: [0.5],
          cpu: [187.5],
          memory: [2e8],
          fds: [29],
          netRead: [1e3],
          netWrite: [2e3],
          diskRead: [0],
          diskWrite: [4e6],
          hostDiskRead: [0.25],
          hostDiskWrite: [0.25]
        },
        load: {
          t: [1000.5],
          executing: [2],
          ready: [5],
          waiting: [1],
          results: [40],
          fetching: [3],
          spilled: [1e6],
          incoming: [1],
          incomingBytes: [3e5],
          incomingTotal: [12],
          outgoing: [0],
          outgoingBytes: [0],
          outgoingTotal: [2 ** 33]
        }
      }
    ),
    command: sample(
      'two workers are to go, once others have their results',
      'client',
      'up',
      'command',
      { request: 8, what: 'retire', workers: [1, 3] }
    ),
    done: sample(
      'one of them has gone, the other stays',
      'client',
      'down',
      'done',
      {
        request: 8,
        workers: [1],
        sentence: 'worker-3: No other worker is there to take its results.'
      }
    ),
    copy: sample(
      'two results are to be at worker 3 too',
      'client',
      'up',
      'copy',
      { request: 10 },
      { pairs: { id: [4, 9], worker: [3, 3] } }
    ),
    copied: sample(
      'one of them has come',
      'client',
      'down',
      'copied',
      { request: 10, why: 'The result is not in memory any more.' },
      { missing: { id: [9], worker: [3] } }
    ),
    reserve: sample(
      'another program is going to start two workers',
      'client',
      'up',
      'reserve',
      { request: 9, count: 2, names: ['big-0', 'big-1'] }
    ),
    order: sample(
      'one of them is to be ended, and another started in its place',
      'client',
      'down',
      'order',
      { worker: 4, what: 'replace' }
    ),
    acquire: sample(
      'two results to be copied from worker 1',
      'worker',
      'down',
      'acquire',
      {},
      { items: { taskId: [7, 9], worker: [1, 1], nbytes: [28, 1e6] } }
    ),
    finished: sample(
      'three runs (odd, so that narrow columns are padded), one with parts, one failed; inline result',
      'worker',
      'up',
      'finished',
      {
        errors: [
          {
            row: 2,
            type: 'ValueError',
            message: 'x',
            text: 'Traceback …',
            blob: -1
          }
        ]
      },
      {
        runs: {
          taskId: [10, 11, NONE_U32],
          runId: [1, 2, 3],
          status: [0, 0, 1],
          thread: [0, 1, 0],
          start: [1000.25, 1000.5, 1001],
          duration: [0.25, 0.125, 0.5],
          cpu: [0.25, 0.0625, 0.5],
          waitInputs: [0, 0.5, 0],
          waitThread: [0.25, 0, 0],
          nbytes: [28, 1e12, 0],
          inlineStart: [0, 0, 0],
          inlineLength: [5, NONE_U32, NONE_U32],
          firstPart: [0, 0, 1],
          type: [0x80000000, 4, NONE_U32]
        },
        parts: {
          kind: [1],
          function: [3],
          span: [1],
          offset: [-0.5],
          duration: [0.5],
          cpu: [0],
          coreWait: [0],
          bytes: [1e12],
          from: [2],
          held: [0]
        },
        meters: {
          row: [0, 0, 2],
          function: [3, 3, 3],
          span: [1, 1, 0],
          label: [0x80000000, 0x80000001, 0x80000001],
          unit: [0x80000002, 0x80000003, 0x80000003],
          value: [0.0625, 7, -1.5],
          cpu: [0.03125, 0, 0.5]
        }
      },
      [counting(5)]
    ),
    data: sample(
      'blobs of awkward lengths, one empty; more to follow',
      'peer',
      'down',
      'data',
      { request: 7, more: true },
      {
        items: { taskId: [1, 2, 3], status: [0, 0, 2], nbytes: [0, 17, 300] },
        shared: { item: [0], segment: [4], nbytes: [2 ** 20] },
        direct: {
          item: [1, 1],
          before: [9, 0],
          address: [2 ** 46, 2 ** 47 - 4096],
          nbytes: [2 ** 21, 65536]
        }
      },
      [counting(0), counting(17), counting(300)]
    ),
    get: sample(
      'a caller that takes descriptors, and has done with two segments',
      'peer',
      'up',
      'get',
      { request: 7, share: 64, direct: true, together: true, arrays: true },
      { ids: { taskId: [1, 2, 3] }, done: { segment: [4, 4, 9] } }
    ),
    put: sample(
      'data of a client, the second in shared memory',
      'peer',
      'up',
      'put',
      { request: 8 },
      { items: { dataId: [5, 6] }, shared: { item: [1], nbytes: [2 ** 21] } },
      [counting(9), counting(0)]
    ),
    stored: sample(
      'a worker that could take no descriptor for the second item',
      'peer',
      'down',
      'stored',
      { request: 8 },
      { again: { item: [1] } }
    ),
    block: sample(
      'record blocks, opaque here',
      'source',
      'up',
      'block',
      {},
      {},
      [counting(24), counting(40)]
    ),
    watch: sample(
      'a panel asks for a view under a filter',
      'panel',
      'up',
      'watch',
      {
        id: 4,
        cluster: 'c-1',
        view: 'fine-metrics',
        filter: {
          spans: {
            any: [{ path: ['load', 'csv'] }],
            not: [{ tag: 'warm-up' }]
          },
          functions: ['<img src=x onerror=alert(1)>']
        },
        time: { from: 1.5, to: 2 },
        params: { unit: 'seconds', top: 12 },
        maxHz: 4,
        expected: true,
        afterSeq: 9007199254740991
      }
    ),
    tile: sample(
      'boxes of the task stream',
      'panel',
      'down',
      'tile',
      {
        id: 4,
        level: 10,
        index: 3,
        settled: true,
        logSeq: 12,
        functions: ['inc']
      },
      {
        boxes: {
          laneIndex: [0, 1],
          from: [0.5, 300],
          to: [12.25, 511.5],
          function: [0, 0],
          kind: [0, 1],
          strip: [0, 1],
          cover: [255, 128],
          run: [7, NONE_U32],
          tasks: [1, 40]
        }
      }
    ),
    events: sample(
      'what was logged under two topics, one of which has lost some',
      'client',
      'down',
      'events',
      {
        request: 3,
        topics: [
          { topic: 'all', total: 2 },
          { topic: 'größe', total: 1500 }
        ],
        forgotten: 1
      },
      { events: { topic: [0, 0, 1], t: [1.5, 2, 2.25], length: [1, 4, 0] } },
      [counting(5)]
    ),
    plugin: sample(
      'a plugin for all workers',
      'client',
      'up',
      'plugin',
      { request: 9, name: 'größe', setUp: true },
      {},
      [counting(12)]
    ),
    join: sample(
      'a kernel that asks for the cluster of its environment',
      'doorbell',
      'up',
      'join',
      { settings: { name: 'größe', nWorkers: 2 } }
    ),
    close: sample('nothing but a type', 'client', 'up', 'close', {})
  };
}

const hex = (bytes: Uint8Array): string =>
  Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('');

export function galleryOfFrames(): Readonly<
  Record<string, string | Uint8Array>
> {
  const files: Record<string, string | Uint8Array> = {};
  for (const [name, { body, ...described }] of Object.entries(frameSamples())) {
    files[`src/testing/gallery/frames/${name}.bin`] = body;
    files[`src/testing/gallery/frames/${name}.json`] = `${JSON.stringify(
      described,
      (_, value: unknown) => (value instanceof Uint8Array ? hex(value) : value),
      2
    )}\n`;
  }
  return files;
}
