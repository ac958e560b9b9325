/**
 * The record log: which tables there are and what their columns hold. The only description of measurements;
 * `spanwise/records/tables.json` is written from it and compared in CI.
 *
 * Times are float64 seconds since the scheduler's start (monotonic), durations float32 seconds, sizes bytes.
 * What the numbers of `kind`, `state`, `status` and `origin` mean, and what says *none*: enumerations.ts. `text` columns are u32 end offsets into the block's text section:
 *
 *     rows   text     column   text section
 *     0      "inc"    3        incadd
 *     1      "add"    6
 */
import { LARGEST_U16 } from './enumerations';
import type { Bytes, Seconds } from '../base/brand';
import {
  f32Of,
  f64Of,
  type NumberType,
  u16Of,
  u32Of
} from '../base/typed-arrays';
import type { LaneId, SpanId } from './ids';

export type ColumnType = NumberType | 'text';

type TableDescription = {
  /** Number in a block's header; never reused. */
  readonly number: number;
  /** Columns in the order in which they stand in a block. */
  readonly columns: Readonly<Record<string, ColumnType>>;
  /** How many rows an observer keeps, and what becomes of older ones. */
  readonly bound: { readonly rows: number; readonly then: string };
};

/** What the system counts for a process and its host: in the log, and in each message that tells it. */
export const SYSTEM_FIGURES = {
  seconds: f64Of<Seconds>(),
  cpu: 'f32',
  memory: f64Of<Bytes>(),
  fds: 'u32',
  netRead: 'f64',
  netWrite: 'f64',
  diskRead: 'f64',
  diskWrite: 'f64',
  hostDiskRead: 'f64',
  hostDiskWrite: 'f64'
} as const satisfies Record<string, NumberType>;

export const TABLES = {
  /** One row when the log opens and whenever something in it changes; `json` as in docs/contracts.md §6 `open`. */
  header: {
    number: 1,
    columns: { t: f64Of<Seconds>(), json: 'text' },
    bound: { rows: 64, then: 'the newest is kept' }
  },
  /** id → text: functions, groups, activities, units, files, tags. */
  names: {
    number: 2,
    columns: { id: 'u32', text: 'text' },
    bound: {
      rows: 200_000,
      then: 'groups that no row uses are dropped, then other'
    }
  },
  /**
   * origin: `SpanOrigin`. closed is NaN while open. Same id again replaces. uuid: of a span that a program opened; a later row without one
   * leaves it, and one with another tells of a span that joins this one. reused: results that were asked for in the span and were there.
   * code: JSON, a stack of the callers that have submitted in it, for a program that has it kept; of each row.
   */
  spans: {
    number: 3,
    columns: {
      id: u32Of<SpanId>(),
      parent: u32Of<SpanId>(),
      tag: 'u32',
      client: 'u16',
      opened: f64Of<Seconds>(),
      closed: f64Of<Seconds>(),
      origin: 'u8',
      uuid: 'text',
      reused: 'u32',
      code: 'text'
    },
    // Up to here a span's idle time is found in 244 steps of time or more, and `client.spans()` takes 6 MB at most.
    bound: { rows: 8192, then: 'finished ones of one path are folded' }
  },
  /** why is empty while the worker lives; left is NaN. Same worker again replaces. */
  workers: {
    number: 4,
    columns: {
      worker: 'u16',
      pid: 'u32',
      threads: 'u16',
      memoryLimit: f64Of<Bytes>(),
      joined: f64Of<Seconds>(),
      left: f64Of<Seconds>(),
      name: 'text',
      address: 'text',
      host: 'text',
      why: 'text'
    },
    bound: { rows: LARGEST_U16, then: 'refused' }
  },
  /**
   * A lane is one thread of one worker. ident: the operating system's number of the thread that runs the lane's tasks from `since` on; both are
   * NaN before that is known. Same lane again: another thread runs its tasks.
   */
  lanes: {
    number: 5,
    columns: {
      lane: u16Of<LaneId>(),
      worker: 'u16',
      thread: 'u16',
      ident: 'f64',
      since: f64Of<Seconds>()
    },
    bound: { rows: LARGEST_U16, then: 'refused' }
  },
  /** From t on the worker has so many threads. state: `CapacityState`. */
  capacity: {
    number: 6,
    columns: {
      t: f64Of<Seconds>(),
      worker: 'u16',
      threads: 'u16',
      state: 'u8'
    },
    bound: { rows: 100_000, then: 'merged' }
  },
  /** A task as submitted. Key text = names[group] + suffix. origin: `TaskOrigin`. */
  nodes: {
    number: 7,
    columns: {
      node: 'u32',
      group: 'u32',
      function: 'u32',
      span: u32Of<SpanId>(),
      origin: 'u8',
      submitted: f64Of<Seconds>(),
      firstEdge: 'u32',
      suffix: 'text'
    },
    bound: { rows: 2_000_000, then: 'oldest are dropped' }
  },
  /** Inputs of the nodes of the same block: row i of nodes owns edges [firstEdge[i], firstEdge[i+1]) counted since the log's start. */
  edges: {
    number: 8,
    columns: { node: 'u32' },
    bound: { rows: 8_000_000, then: 'oldest are dropped' }
  },
  /**
   * One execution of a node. run is unique in the log. status: `RunStatus`. attempt counts
   * the node's runs from 1, here and wherever it is shown; 255 stands for all later ones. A run that was given back does not
   * count.
   *
   *   submitted ─ waitReady ─▶ runnable ─ waitInputs ─▶ inputs here ─ waitThread ─▶ start ──duration──▶ stop
   *
   * cpu = thread CPU seconds of the whole run; NaN where a source cannot give it (waits likewise).
   *
   * type: name of the result's class, `module:qualified name`; none: there is no result, or it is not known.
   */
  runs: {
    number: 9,
    columns: {
      run: 'u32',
      node: 'u32',
      function: 'u32',
      span: u32Of<SpanId>(),
      lane: u16Of<LaneId>(),
      status: 'u8',
      attempt: 'u8',
      start: f64Of<Seconds>(),
      duration: f32Of<Seconds>(),
      waitReady: f32Of<Seconds>(),
      waitInputs: f32Of<Seconds>(),
      waitThread: f32Of<Seconds>(),
      cpu: f32Of<Seconds>(),
      nbytes: f64Of<Bytes>(),
      type: 'u32'
    },
    bound: { rows: 2_000_000, then: 'oldest go to tiles and totals' }
  },
  /**
   * What happened within (held = 1) or behind (held = 0) a run; offset is relative to the run's start and may be negative for transfers.
   * kind: `PartKind`. A run that is one plain compute has no row here. coreWait: seconds in the run queue (NaN unknown).
   */
  parts: {
    number: 10,
    columns: {
      run: 'u32',
      kind: 'u8',
      held: 'u8',
      function: 'u32',
      span: u32Of<SpanId>(),
      from: 'u16',
      offset: f32Of<Seconds>(),
      duration: f32Of<Seconds>(),
      cpu: f32Of<Seconds>(),
      coreWait: f32Of<Seconds>(),
      bytes: f32Of<Bytes>()
    },
    bound: { rows: 2_000_000, then: 'oldest go to tiles and totals' }
  },
  /** State, not history: the newest row of a lane replaces the one before; node none = nothing runs. */
  running: {
    number: 11,
    columns: {
      lane: u16Of<LaneId>(),
      node: 'u32',
      function: 'u32',
      span: u32Of<SpanId>(),
      started: f64Of<Seconds>()
    },
    bound: { rows: LARGEST_U16, then: 'replaced' }
  },
  /** Measured outside tasks (embedded) or given as is (Dask): context, activity and unit are names. second = whole seconds since start. */
  fine: {
    number: 12,
    columns: {
      second: 'u32',
      worker: 'u16',
      context: 'u32',
      span: u32Of<SpanId>(),
      function: 'u32',
      activity: 'u32',
      unit: 'u32',
      value: 'f64'
    },
    bound: { rows: 2_000_000, then: 'oldest are kept only as sums' }
  },
  /** fine without second: exact sums. */
  totals: {
    number: 13,
    columns: {
      worker: 'u16',
      context: 'u32',
      span: u32Of<SpanId>(),
      function: 'u32',
      activity: 'u32',
      unit: 'u32',
      value: 'f64'
    },
    bound: { rows: 200_000, then: 'oldest are dropped' }
  },
  /** A stack is a path in a tree: its parent and its last frame; parent none = root. */
  stacks: {
    number: 14,
    columns: { stack: 'u32', parent: 'u32', frame: 'u32' },
    bound: { rows: 500_000, then: 'oldest are dropped' }
  },
  frames: {
    number: 15,
    columns: { frame: 'u32', function: 'u32', file: 'u32', line: 'u32' },
    bound: { rows: 500_000, then: 'oldest are dropped' }
  },
  /** n samples in this second. state: `SampleState`. */
  samples: {
    number: 16,
    columns: {
      second: 'u32',
      lane: u16Of<LaneId>(),
      span: u32Of<SpanId>(),
      function: 'u32',
      stack: 'u32',
      state: 'u8',
      n: 'u16'
    },
    bound: { rows: 4_000_000, then: 'oldest are dropped' }
  },
  /** Bytes. managed = results kept; spilled = on disk; process = RSS less shared part. */
  memory: {
    number: 17,
    columns: {
      t: f64Of<Seconds>(),
      worker: 'u16',
      process: f64Of<Bytes>(),
      managed: f64Of<Bytes>(),
      spilled: f64Of<Bytes>(),
      unmanagedOld: f64Of<Bytes>()
    },
    bound: { rows: 200_000, then: 'oldest are dropped' }
  },
  /** kind: `StoredKind`. change is signed bytes. */
  stored: {
    number: 18,
    columns: {
      t: f64Of<Seconds>(),
      worker: 'u16',
      span: u32Of<SpanId>(),
      function: 'u32',
      kind: 'u8',
      change: f64Of<Bytes>()
    },
    bound: { rows: 2_000_000, then: 'oldest are dropped' }
  },
  /** A labelled run of MemorySampler; stopped is NaN while it runs. measure: name id. */
  memoryRuns: {
    number: 19,
    columns: {
      run: 'u32',
      measure: 'u32',
      interval: f64Of<Seconds>(),
      start: f64Of<Seconds>(),
      stopped: f64Of<Seconds>(),
      label: 'text'
    },
    bound: { rows: 200, then: 'oldest are dropped' }
  },
  memorySamples: {
    number: 20,
    columns: { run: 'u32', t: f64Of<Seconds>(), bytes: f64Of<Bytes>() },
    bound: { rows: 500_000, then: 'oldest are dropped' }
  },
  /**
   * One row an answer of a worker to another. type: name id of the class of its values, as `module:qualified name`; none if they are of
   * several, or have 1,000,000 bytes or less.
   */
  transfers: {
    number: 21,
    columns: {
      start: f64Of<Seconds>(),
      duration: f32Of<Seconds>(),
      from: 'u16',
      to: 'u16',
      bytes: f64Of<Bytes>(),
      keys: 'u16',
      firstNode: 'u32',
      span: u32Of<SpanId>(),
      status: 'u8',
      type: 'u32'
    },
    bound: { rows: 500_000, then: 'oldest are dropped' }
  },
  /**
   * kind: name id (worker-joined, worker-lost, task-failed, paused, …). `task-failed` without a run: of a task that failed though no worker told
   * of a run of it, as with one that ends every worker; `task-lost`: one that failed by its input, or a run that ended with its worker.
   */
  events: {
    number: 22,
    columns: {
      t: f64Of<Seconds>(),
      kind: 'u32',
      worker: 'u16',
      span: u32Of<SpanId>(),
      run: 'u32',
      text: 'text'
    },
    bound: { rows: 20_000, then: 'oldest are dropped' }
  },
  /** Rows that are missing: table number, time range, how many, why (replay ring, bound, broken block). */
  gaps: {
    number: 23,
    columns: {
      table: 'u16',
      from: f64Of<Seconds>(),
      to: f64Of<Seconds>(),
      rows: 'u32',
      why: 'text'
    },
    bound: { rows: 10_000, then: 'merged' }
  },
  /**
   * A program that computes on the cluster: its name, and of a notebook the kernel's id and the notebook's path, else empty. `left` is NaN while
   * it is connected. Same client again replaces.
   */
  clients: {
    number: 24,
    columns: {
      client: 'u16',
      joined: f64Of<Seconds>(),
      left: f64Of<Seconds>(),
      name: 'text',
      kernel: 'text',
      path: 'text'
    },
    bound: { rows: LARGEST_U16, then: 'refused' }
  },
  /**
   * What tasks measure themselves: label and unit are names, function and span those of the part. cpu: seconds of the value that were on a
   * core, where these are seconds of the run; NaN: the value takes nothing off the run's time.
   */
  meters: {
    number: 25,
    columns: {
      run: 'u32',
      function: 'u32',
      span: u32Of<SpanId>(),
      label: 'u32',
      unit: 'u32',
      value: 'f64',
      cpu: f64Of<Seconds>()
    },
    bound: { rows: 2_000_000, then: 'oldest are kept only as sums' }
  },
  /**
   * What the system counts for a process and its host over the `seconds` before `t`; NaN, and none for fds: it does not say. worker: none is
   * the scheduler's process. cpu: per cent of one core. memory: resident bytes, fds: open descriptors, both at `t`. net and hostDisk: bytes
   * a second of all on the host, disk: of this process.
   */
  system: {
    number: 26,
    columns: {
      t: f64Of<Seconds>(),
      worker: 'u16',
      ...SYSTEM_FIGURES,
      loopInterval: f64Of<Seconds>()
    },
    bound: { rows: 200_000, then: 'oldest are dropped' }
  },
  /**
   * What a worker adds to its clock from `t` on to get the scheduler's, which `within` may be wrong by; both are told when they change by
   * more than matters. drift: seconds a second by which its clock falls behind, NaN: not known yet. A worker without a row has the
   * scheduler's clock. worker: none is the machine of the process that writes the log, if the scheduler has another one.
   */
  clocks: {
    number: 29,
    columns: {
      t: f64Of<Seconds>(),
      worker: 'u16',
      offset: f64Of<Seconds>(),
      within: f64Of<Seconds>(),
      drift: 'f64',
      why: 'u8'
    },
    bound: { rows: LARGEST_U16, then: 'the newest of each worker is kept' }
  },
  /**
   * State, as `running`: since t nobody wants the result of the run that began in the lane at `started`, as its row of `running` says. It goes
   * on, for it cannot be stopped. Said once a run and lane, before or after that row, and once with the start that the run's row of `runs` has:
   * workers tell of both by different readings of a clock. The source says it of no other run, so that others cost nothing.
   */
  givenUp: {
    number: 30,
    columns: {
      lane: u16Of<LaneId>(),
      started: f64Of<Seconds>(),
      t: f64Of<Seconds>()
    },
    bound: { rows: LARGEST_U16, then: 'replaced' }
  },
  /**
   * State, as `running`: from t on so many tasks wait for this reason; the newest row of a reason replaces the one before. reason: `WaitReason`.
   * A reason without a row, or of which the newest has 0 tasks: none waits for it. told: the notice that users have for it; empty: none.
   * need: what those that wait for resources need, of some of them, as "GPU=1, MEM=2; TPU=1"; command: what does what the notice says, to be
   * pasted; empty: there is none, or it is not told. Written once a second at most (of a Dask cluster twice), of what has changed, and only while somebody looks at the log. Once nobody does,
   * the scheduler process writes 0 for each reason.
   */
  waiting: {
    number: 31,
    columns: {
      t: f64Of<Seconds>(),
      reason: 'u8',
      tasks: 'u32',
      told: 'text',
      need: 'text',
      command: 'text'
    },
    bound: { rows: 256, then: 'replaced' }
  },
  /**
   * From t on some task that could run has no worker that may run it, though others may be there: none has the resources that it needs, or is one
   * that it names. waits: 1; 0: none has to wait so any more. Written of each change, whether somebody looks or not.
   */
  unplaced: {
    number: 32,
    columns: {
      t: f64Of<Seconds>(),
      waits: 'u8'
    },
    bound: { rows: LARGEST_U16, then: 'replaced' }
  },
  /**
   * State, as `running`: from t on so many tasks of this function and of the span `within` are so far; the newest row of both replaces the one
   * before. function none: any. memory: of those done, how many results are kept; running: those that workers have said they have begun; waiting: needed, and
   * neither done nor begun; dropped: neither done nor failed when nobody needed them any more. A task that runs again to make up for a loss is not
   * done. A row of `within` none says that what was told is not kept up, and counts nothing. Written as `waiting` is, and once when the cluster ends.
   */
  progress: {
    number: 33,
    columns: {
      t: f64Of<Seconds>(),
      function: 'u32',
      within: u32Of<SpanId>(),
      done: 'u32',
      memory: 'u32',
      running: 'u32',
      waiting: 'u32',
      failed: 'u32',
      dropped: 'u32'
    },
    bound: { rows: 65_536, then: 'replaced' }
  }
  // Numbers that are promised: 27 ownSamples, 28 snippets.
} as const satisfies Record<string, TableDescription>;

export type TableName = keyof typeof TABLES;

/** Columns that were u16 in blocks of the first format: all that hold numbers of spans. */
export function narrowBefore(table: TableName): readonly string[] {
  return table === 'spans'
    ? ['id', 'parent']
    : Object.keys(TABLES[table].columns).filter(name => name === 'span');
}
