import { NONE_U32 } from '../records/enumerations';
import type { BlockBuilder } from '../records/block-builder';
import type { LogWriter } from '../records/log-writer';
import type { NumberIn } from '../base/typed-arrays';
import type { DenseTaskId, OuterTaskId } from '../records/ids';
import type { TableName, TABLES } from '../records/tables';
import type { TablesOf } from '../wire/schema';
import type { JoinedWorker } from './joined-worker';
import type { GivenUpTasks } from './given-up-tasks';
import type { GoingRun, LaneRuns } from './lane-runs';
import type { NamesOf } from './names-of';
import type { WorkerLanes } from './worker-lanes';
import { nextAttempt, type TaskFacts } from './task-facts';

type Measured = TablesOf<'worker', 'up', 'measured'>;
/** A table of the worker link's message `measured`. */
export type MeasuredTable<T extends keyof Measured> = {
  readonly rows: number;
} & {
  readonly [C in Exclude<keyof Measured[T], 'rows'>]: Measured[T][C] extends {
    readonly [row: number]: infer N;
  }
    ? ArrayLike<N>
    : never;
};

/** The log's facts about a living worker. */
export type LoggedWorker = {
  readonly joined: JoinedWorker;
  readonly joinedAt: number;
  readonly names: NamesOf;
  readonly lanes: WorkerLanes;
  readonly runs: LaneRuns;
  /** Added to the worker's ids of stacks and frames to get the log's. */
  readonly stackIds: LogIds;
  readonly frameIds: LogIds;
};

/**
 * Copies what workers measure beside runs into the log: adds the worker, turns threads into lanes, tasks into nodes, the worker's own ids
 * of names, stacks and frames into the log's.
 */
export class MeasuredLog {
  /**
   * @param _start - the monotonic clock at the scheduler's start, in seconds.
   * @param _isRecording - false: transfers, which workers tell all the same, are not written.
   */
  constructor(
    private readonly _writer: LogWriter,
    private readonly _workers: ReadonlyMap<number, LoggedWorker>,
    private readonly _givenUp: GivenUpTasks,
    private readonly _start: number,
    private readonly _isRecording: boolean
  ) {}

  memory(worker: number, memory: MeasuredTable<'memory'>): void {
    this._copy('memory', memory, {
      t: i => this._since(memory.t[i]!),
      worker: () => worker,
      process: i => memory.process[i]!,
      managed: i => memory.managed[i]!,
      spilled: i => memory.spilled[i]!,
      unmanagedOld: i => memory.unmanagedOld[i]!
    });
  }

  /** What the system counts for a process; NONE_U16: the scheduler's. */
  system(worker: number, system: MeasuredTable<'system'>): void {
    this._copy('system', system, {
      t: i => this._since(system.t[i]!),
      worker: () => worker,
      seconds: i => system.seconds[i]!,
      cpu: i => system.cpu[i]!,
      memory: i => system.memory[i]!,
      fds: i => system.fds[i]!,
      netRead: i => system.netRead[i]!,
      netWrite: i => system.netWrite[i]!,
      diskRead: i => system.diskRead[i]!,
      diskWrite: i => system.diskWrite[i]!,
      hostDiskRead: i => system.hostDiskRead[i]!,
      hostDiskWrite: i => system.hostDiskWrite[i]!,
      // (tasks share no thread with an event loop)
      loopInterval: () => NaN
    });
  }

  fine(worker: number, fine: MeasuredTable<'fine'>): void {
    const names = this._workers.get(worker)?.names;
    if (names === undefined) {
      return;
    }
    this._copy('fine', fine, {
      second: i => this._second(fine.t[i]!),
      worker: () => worker,
      context: i => names.logId(fine.context[i]!),
      span: i => fine.span[i]!,
      function: i => names.logId(fine.function[i]!),
      activity: i => names.logId(fine.activity[i]!),
      unit: i => names.logId(fine.unit[i]!),
      value: i => fine.value[i]!
    });
  }

  /** Frames before stacks before samples, as they refer to each other. */
  profile(
    worker: number,
    frames: MeasuredTable<'frames'>,
    stacks: MeasuredTable<'stacks'>,
    samples: MeasuredTable<'samples'>
  ): void {
    const logged = this._workers.get(worker);
    if (logged === undefined) {
      return;
    }
    const { names, frameIds, stackIds, lanes } = logged;
    this._copy('frames', frames, {
      frame: i => frameIds.of(frames.frame[i]!),
      function: i => names.logId(frames.function[i]!),
      file: i => names.logId(frames.file[i]!),
      line: i => frames.line[i]!
    });
    this._copy('stacks', stacks, {
      stack: i => stackIds.of(stacks.stack[i]!),
      parent: i => stackIds.of(stacks.parent[i]!),
      frame: i => frameIds.of(stacks.frame[i]!)
    });
    this._copy('samples', samples, {
      second: i => this._second(samples.t[i]!),
      lane: i => lanes.of(samples.thread[i]!),
      span: i => samples.span[i]!,
      function: i => names.logId(samples.function[i]!),
      stack: i => stackIds.of(samples.stack[i]!),
      state: i => samples.state[i]!,
      n: i => samples.n[i]!
    });
  }

  /** @param taskOf - the dense id of a task named by a worker, or −1. */
  running(
    worker: number,
    running: MeasuredTable<'running'>,
    taskOf: (taskId: OuterTaskId) => DenseTaskId,
    facts: TaskFacts
  ): void {
    const logged = this._workers.get(worker);
    if (logged === undefined) {
      return;
    }
    const node = new Uint32Array(running.rows);
    const functionId = new Uint32Array(running.rows);
    for (let i = 0; i < running.rows; i++) {
      const taskId = running.taskId[i]!;
      const task = taskOf(taskId);
      const gone = task < 0 ? this._givenUp.get(taskId) : undefined;
      node[i] = gone === undefined ? nodeOf(task, facts) : gone.node;
      functionId[i] = logged.names.logId(running.function[i]!);
      const givenUpAt = this._givenUp.runAt(running.runId[i]!);
      const going: GoingRun = {
        run: running.runId[i]!,
        task,
        node: node[i]!,
        functionId: functionId[i]!,
        span: running.span[i]!,
        attempt: nextAttempt(
          gone === undefined ? (facts.attempts[task] ?? 0) : gone.attempts
        ),
        unfinishedSince:
          gone === undefined
            ? (facts.unfinishedSince[task] ?? NaN)
            : gone.unfinishedSince,
        started: this._since(running.started[i]!),
        isGivenUp: givenUpAt !== undefined
      };
      const isOne = node[i] !== NONE_U32;
      logged.runs.told(running.thread[i]!, isOne ? going : null);
      if (isOne && givenUpAt !== undefined) {
        this._writeGivenUp(logged, running.thread[i]!, going, givenUpAt);
      }
    }
    this._copy('running', running, {
      lane: i => logged.lanes.of(running.thread[i]!),
      node: i => node[i]!,
      function: i => functionId[i]!,
      span: i => running.span[i]!,
      started: i => this._since(running.started[i]!)
    });
  }

  /** A run was given up; of one that its worker has not told of yet, {@link running} says so. */
  givenUp(worker: number, run: number, at: number): void {
    this._givenUp.keepRun(run, at);
    const logged = this._workers.get(worker);
    for (const [thread, going] of logged?.runs.giveUp(run) ?? []) {
      this._writeGivenUp(logged!, thread, going, at);
    }
  }

  private _writeGivenUp(
    { lanes }: LoggedWorker,
    thread: number,
    { started }: GoingRun,
    t: number
  ): void {
    const lane = lanes.of(thread);
    this._writer.table('givenUp').append({ lane, started, t });
  }

  spilled(worker: number, stored: MeasuredTable<'stored'>): void {
    const names = this._workers.get(worker)?.names;
    if (names === undefined) {
      return;
    }
    this._copy('stored', stored, {
      t: i => this._since(stored.t[i]!),
      worker: () => worker,
      span: i => stored.span[i]!,
      function: i => names.logId(stored.function[i]!),
      kind: i => stored.kind[i]!,
      change: i => stored.change[i]!
    });
  }

  /** @param taskOf - the dense id of a task named by a worker, or −1. */
  transfers(
    worker: number,
    transfers: MeasuredTable<'transfers'>,
    taskOf: (taskId: OuterTaskId) => DenseTaskId,
    facts: TaskFacts
  ): void {
    if (!this._isRecording) {
      return;
    }
    const names = this._workers.get(worker)?.names;
    this._copy('transfers', transfers, {
      start: i => this._since(transfers.start[i]!),
      duration: i => transfers.duration[i]!,
      from: i => transfers.from[i]!,
      to: () => worker,
      bytes: i => transfers.bytes[i]!,
      keys: i => transfers.keys[i]!,
      firstNode: i => nodeOf(taskOf(transfers.firstTaskId[i]!), facts),
      span: i => transfers.span[i]!,
      status: i => transfers.status[i]!,
      type: i => names?.logId(transfers.type[i]!) ?? NONE_U32
    });
  }

  /** Which threads run the tasks of the worker's lanes. */
  threads(worker: number, threads: MeasuredTable<'threads'>): void {
    const logged = this._workers.get(worker);
    if (logged === undefined) {
      return;
    }
    // First: a lane that is new writes a row of the same table.
    const lanes = Array.from({ length: threads.rows }, (_, i) =>
      logged.lanes.of(threads.thread[i]!)
    );
    this._copy('lanes', threads, {
      lane: i => lanes[i]!,
      worker: () => worker,
      thread: i => threads.thread[i]!,
      ident: i => threads.ident[i]!,
      since: i => this._since(threads.t[i]!)
    });
  }

  private _since(monotonic: number): number {
    return monotonic - this._start;
  }

  private _second(monotonic: number): number {
    return Math.max(0, Math.floor(this._since(monotonic)));
  }

  private _copy<T extends TableName>(
    name: T,
    source: { readonly rows: number },
    columns: {
      [C in keyof BlockBuilder<T>['columns']]: (
        row: number
      ) => NumberIn<
        (typeof TABLES)[T]['columns'][C & keyof (typeof TABLES)[T]['columns']]
      >;
    }
  ): void {
    if (source.rows === 0) {
      return;
    }
    const table = this._writer.table(name);
    const first = table.grow(source.rows);
    const out = table.columns as Record<string, { [row: number]: number }>;
    for (const [column, value] of Object.entries(columns) as [
      string,
      (row: number) => number
    ][]) {
      for (let i = 0; i < source.rows; i++) {
        out[column]![first + i] = value(i);
      }
    }
  }
}

/** Ids that a worker counts from 0, as ids of the log; none stays none. */
export class LogIds {
  private readonly _ids = new Map<number, number>();

  constructor(private readonly _next: () => number) {}

  of(id: number): number {
    if (id === NONE_U32) {
      return NONE_U32;
    }
    let logId = this._ids.get(id);
    if (logId === undefined) {
      logId = this._next();
      this._ids.set(id, logId);
    }
    return logId;
  }
}

function nodeOf(task: DenseTaskId, facts: TaskFacts): number {
  return task < 0 ? NONE_U32 : facts.node[task]!;
}
