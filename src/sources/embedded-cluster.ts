import type { BlockBuilder } from '../records/block-builder';
import type { Row } from '../records/block';
import type { SealedBlock } from '../records/log-writer';
import {
  CapacityState,
  LARGEST_U16,
  NONE_U16,
  NONE_U32,
  RunStatus,
  type StoredKind,
  type WaitReason
} from '../records/enumerations';
import {
  DEFAULT_SPAN,
  type DenseTaskId,
  type DenseTaskIds,
  type LaneId,
  type SpanId
} from '../records/ids';
import { TABLES } from '../records/tables';
import type { TablesOf } from '../wire/schema';
import { cutInTheMiddle } from './cut-text';
import type { ClockRow } from './clock-changes';
import { GivenUpTasks } from './given-up-tasks';
import type { JoinedWorker } from './joined-worker';
import { type GoingRun, LaneRuns } from './lane-runs';
import { LogIds, MeasuredLog, type LoggedWorker } from './measured-log';
import { WorkerLanes } from './worker-lanes';
import { NamesOf } from './names-of';
import { SourceLog, type SpanRow } from './source-log';
import { StoredSums } from './stored-sums';
import { nextAttempt, type TaskFacts } from './task-facts';

/** `task-failed`: the task is to blame, and failed for good; `task-lost`: an input failed, or it runs again. */
type UnrunKind = 'task-failed' | 'task-lost';
/** A log has at most so many events of each {@link UnrunKind}: more would push out other events. */
const MOST_LOST_MARKS = 2000;
/** Of the key in such an event, and of its reason. */
const MOST_LOST_CHARACTERS = 400;

/** What a client says of itself. */
type LoggedClient = {
  readonly name: string;
  readonly notebook: {
    readonly kernelId?: string | undefined;
    readonly path?: string | undefined;
  } | null;
};

/** The runs that ended, as their worker reported them. */
type Finished = TablesOf<'worker', 'up', 'finished'>;
export type FinishedTables = Pick<Finished, 'runs' | 'parts'> &
  Partial<Pick<Finished, 'meters'>>;

/**
 * Writes the record log of an embedded cluster.
 *
 * All times that come in are seconds of the monotonic clock, as the links carry them; in the log they count from the scheduler's start.
 * Rows gather until {@link EmbeddedClusterLog.commit} finds that they are due.
 */
export class EmbeddedClusterLog extends SourceLog {
  // Builders of these tables are kept, since the tables get a row per task, edge, run and part.
  private readonly _nodes: BlockBuilder<'nodes'>;
  private readonly _edges: BlockBuilder<'edges'>;
  private readonly _runs: BlockBuilder<'runs'>;
  private readonly _parts: BlockBuilder<'parts'>;
  /** Takes what the workers measure beside runs. */
  readonly measured: MeasuredLog;
  /** Tasks that the scheduler may have forgotten and whose runs may still be reported. */
  readonly givenUp = new GivenUpTasks();
  private readonly _workers = new Map<number, LoggedWorker>();
  private readonly _stored = new StoredSums();
  private _nextNode = 0;
  private _nextEdge = 0;
  private _nextLane = 0;
  private _nextStack = 0;
  private _nextFrame = 0;
  private readonly _unrunMarks = { 'task-failed': 0, 'task-lost': 0 };

  /**
   * @param start - the monotonic clock at the scheduler's start, in seconds.
   * @param emit - takes the sealed blocks.
   * @param _isRecording - false: rows per task (nodes, edges, runs, parts, measurements) are not written. Ids are given out all the same,
   * and the few rows about the cluster itself are always written.
   */
  constructor(
    start: number,
    emit: (block: SealedBlock) => void,
    private readonly _isRecording = true
  ) {
    super(start, emit);
    this._nodes = this.table('nodes');
    this._edges = this.table('edges');
    this._runs = this.table('runs');
    this._parts = this.table('parts');
    this.measured = new MeasuredLog(
      this.writer,
      this._workers,
      this.givenUp,
      start,
      _isRecording
    );
  }

  /** Says what this log is; see `open` of the source link. */
  header(now: number, description: object): void {
    this.table('header').append({
      t: this.since(now),
      json: JSON.stringify(description)
    });
  }

  /** Whether somebody may see the rows: seals follow each other faster then. Call {@link commit} afterwards. */
  viewed(hasViewers: boolean): void {
    this.writer.hasViewers = hasViewers;
  }

  /** Seals what is due. @returns when to call again at the latest, or null. */
  commit(now: number): number | null {
    this._writeStored(now);
    return this.writer.commit(now);
  }

  /** Seals everything. @returns the number of the newest block. */
  seal(now: number): number {
    this._writeStored(now);
    return this.writer.seal();
  }

  // ---- clients

  /** A program that computes here; `left` is null while it is connected. */
  client(
    client: number,
    { name, notebook }: LoggedClient,
    joined: number,
    left: number | null
  ): void {
    this.table('clients').append({
      client,
      joined: this.since(joined),
      left: left === null ? NaN : this.since(left),
      name,
      kernel: notebook?.kernelId ?? '',
      path: notebook?.path ?? ''
    });
  }

  /** Spans as they open and close, of this client where they do not say whose they are. */
  spans(
    client: number,
    rows: readonly (SpanRow & { readonly client?: number | undefined })[]
  ): void {
    for (const row of rows) {
      const tag = this.names.id(row.tag);
      this.spanRow(row.client ?? client, { ...row, tag });
    }
  }

  /** The id that the next task's row in `nodes` gets. */
  get nextNode(): number {
    return this._nextNode;
  }

  /**
   * Tasks as they are submitted, one after another, each followed by its edges.
   *
   * @param group - the log's name of the key's first part.
   * @param texts - holds the rest of the key's text, utf8, from `start` to `end`.
   */
  node(
    now: number,
    group: number,
    functionId: number,
    span: SpanId,
    origin: number,
    texts: Uint8Array,
    start = 0,
    end = texts.length
  ): number {
    if (!this._isRecording) {
      return this._nextNode++;
    }
    const table = this._nodes;
    const row = table.grow();
    const columns = table.columns;
    const node = this._nextNode++;
    columns.node[row] = node;
    columns.group[row] = group;
    columns.function[row] = functionId;
    columns.span[row] = span;
    columns.origin[row] = origin;
    columns.submitted[row] = this.since(now);
    columns.firstEdge[row] = this._nextEdge;
    table.addTextBytes('suffix', texts, start, end);
    return node;
  }

  /** An input of the node that was written last. */
  edge(inputNode: number): void {
    if (!this._isRecording) {
      return;
    }
    const table = this._edges;
    const row = table.grow();
    table.columns.node[row] = inputNode;
    this._nextEdge++;
  }

  // ---- workers

  /** @param begins - whether it begins tasks from now on; else its first row of capacity says when. */
  workerJoined(now: number, joined: JoinedWorker, begins = true): void {
    const lanes = new WorkerLanes(joined.threads, thread => {
      const lane = this._nextLane as LaneId;
      // The last one stands for all that come after.
      this._nextLane = Math.min(this._nextLane + 1, LARGEST_U16);
      this.table('lanes').append({
        lane,
        worker: joined.worker,
        thread,
        ident: NaN,
        since: NaN
      });
      return lane;
    });
    const logged: LoggedWorker = {
      joined,
      joinedAt: now,
      names: new NamesOf(this.names, true),
      lanes,
      runs: new LaneRuns(joined.threads),
      stackIds: new LogIds(() => this._nextStack++),
      frameIds: new LogIds(() => this._nextFrame++)
    };
    this._workers.set(joined.worker, logged);
    this.workerRow(joined, now, NaN, '');
    if (begins) {
      this.capacity(now, joined.worker, CapacityState.Running);
    }
  }

  /** @returns the rows in `nodes` of the tasks whose runs are now lost. */
  workerLeft(
    now: number,
    worker: number,
    why: string,
    { node, attempts, unfinishedSince }: TaskFacts
  ): ReadonlySet<number> {
    const left = this.since(now);
    const logged = this._workers.get(worker);
    const lost = new Set<number>();
    if (logged === undefined) {
      return lost;
    }
    if (this._isRecording) {
      for (const [thread, run] of logged.runs.unreported()) {
        this._lostRun(logged.lanes.of(thread), run, left);
        if (!run.isGivenUp) {
          lost.add(run.node);
        }
        // The row of a forgotten task belongs to another task now.
        if (node[run.task] === run.node) {
          attempts[run.task] = run.attempt;
          unfinishedSince[run.task] = left;
        }
      }
    }
    this.workerRow(logged.joined, logged.joinedAt, now, why);
    this.capacity(now, worker, CapacityState.Gone);
    this._workers.delete(worker);
    return lost;
  }

  capacity(now: number, worker: number, state: CapacityState): void {
    const logged = this._workers.get(worker);
    if (logged !== undefined) {
      this.table('capacity').append({
        t: this.since(now),
        worker,
        threads: state === CapacityState.Gone ? 0 : logged.joined.threads,
        state
      });
    }
  }

  /** How many tasks wait from now on, by what they wait for. `told`: the notice that users have for it, with its `command`; `need`: resources. */
  waiting(
    now: number,
    rows: readonly {
      readonly reason: WaitReason;
      readonly tasks: number;
      readonly told: string;
      readonly need: string;
      readonly command: string;
    }[]
  ): void {
    for (const row of rows) {
      this.table('waiting').append({ t: this.since(now), ...row });
    }
  }

  /** How far tasks are from now on, by function and span. */
  progress(now: number, rows: readonly Omit<Row<'progress'>, 't'>[]): void {
    for (const row of rows) {
      this.table('progress').append({ t: this.since(now), ...row });
    }
  }

  /** What the log says of that is not kept up from now on. */
  progressUntold(now: number): void {
    this.progress(now, [
      {
        function: NONE_U32,
        within: NONE_U32 as SpanId,
        done: 0,
        memory: 0,
        running: 0,
        waiting: 0,
        failed: 0,
        dropped: 0
      }
    ]);
  }

  /** Whether, from now on, some task has no worker that may run it; told of each change. */
  unplaced(now: number, waits: boolean): void {
    this.table('unplaced').append({ t: this.since(now), waits: Number(waits) });
  }

  /** What a worker calls by this number. */
  workerName(worker: number, id: number): string {
    const names = this._workers.get(worker)?.names;
    return names === undefined ? '' : this.names.text(names.logId(id));
  }

  /** How many names a worker has coined. */
  coinedBy(worker: number): number {
    return this._workers.get(worker)?.names.size ?? 0;
  }

  /** Names that a worker announces. */
  workerNames(
    worker: number,
    firstName: number,
    names: readonly string[]
  ): void {
    this._workers.get(worker)?.names.announce(firstName, names);
  }

  /**
   * Runs that ended at a worker, with their parts; also of tasks that were given up meanwhile, for their threads were held all the same.
   *
   * @param tasks - the dense id of each run's task, −1: not known any more.
   */
  finished(
    worker: number,
    { runs, parts, meters }: FinishedTables,
    tasks: DenseTaskIds,
    facts: TaskFacts
  ): void {
    const logged = this._workers.get(worker);
    if (logged === undefined || !this._isRecording) {
      return;
    }
    const { node, functionId, span, unfinishedSince, attempts } = facts;
    let meter = 0;
    let unknown = 0;
    let [from, to] = [Infinity, -Infinity];
    for (let i = 0; i < runs.rows; i++) {
      const task = tasks[i]!;
      const status = runs.status[i]!;
      const waitInputs = runs.waitInputs[i]!;
      const waitThread = runs.waitThread[i]!;
      const start = this.since(runs.start[i]!);
      const duration = runs.duration[i]!;
      const hasBegun = status === RunStatus.Ok || !Number.isNaN(waitThread);
      if (hasBegun) {
        logged.runs.reported(runs.thread[i]!, start, runs.runId[i]!);
      }
      const gone = task < 0 ? this.givenUp.get(runs.taskId[i]!) : undefined;
      // (not by its task: that may have ended with a result of a later run)
      const givenUpAt = this.givenUp.runAt(runs.runId[i]!);
      if (task < 0 && (gone === undefined || !hasBegun)) {
        if (hasBegun) {
          unknown++;
          from = Math.min(from, start);
          to = Math.max(to, start + duration);
        }
        continue;
      }
      const since =
        gone === undefined ? unfinishedSince[task]! : gone.unfinishedSince;
      if (hasBegun && gone === undefined) {
        // If the task runs again, its next wait begins here.
        unfinishedSince[task] = Math.max(since, start + duration);
      }
      const attempt = nextAttempt((gone?.attempts ?? attempts[task])!);
      if (status <= RunStatus.Failed) {
        // A run that was given back is no attempt: the next run has the same number.
        if (gone === undefined) {
          attempts[task] = attempt;
        } else {
          gone.attempts = attempt;
        }
      }
      const table = this._runs;
      const row = table.grow();
      const out = table.columns;
      out.attempt[row] = attempt;
      out.run[row] = runs.runId[i]!;
      if (gone === undefined) {
        out.node[row] = node[task]!;
        out.function[row] = functionId[task]!;
        out.span[row] = span[task]!;
      } else {
        out.node[row] = gone.node;
        out.function[row] = gone.functionId;
        out.span[row] = gone.span;
      }
      const lane = logged.lanes.of(runs.thread[i]!);
      out.lane[row] = lane;
      out.status[row] = loggedStatus(status, givenUpAt !== undefined);
      if (givenUpAt !== undefined && hasBegun) {
        this.table('givenUp').append({ lane, started: start, t: givenUpAt });
      }
      out.start[row] = start;
      out.duration[row] = duration;
      out.waitReady[row] = Math.max(0, start - waitInputs - waitThread - since);
      out.waitInputs[row] = waitInputs;
      out.waitThread[row] = waitThread;
      out.cpu[row] = runs.cpu[i]!;
      out.nbytes[row] = runs.nbytes[i]!;
      out.type[row] = logged.names.logId(runs.type[i]!);
      const end = i + 1 < runs.rows ? runs.firstPart[i + 1]! : parts.rows;
      for (let k = runs.firstPart[i]!; k < end; k++) {
        this._part(logged, runs.runId[i]!, parts, k);
      }
      if (meters !== undefined) {
        while (meter < meters.rows && meters.row[meter]! < i) {
          meter++;
        }
        for (; meter < meters.rows && meters.row[meter] === i; meter++) {
          this._meter(logged, runs.runId[i]!, out.status[row]!, meters, meter);
        }
      }
    }
    if (unknown > 0) {
      this.gap(TABLES.runs.number, from, to, unknown, 'given up long before');
    }
  }

  /** A worker keeps a result (`Stored`), a copy of one (`Replica`), or drops it (`Released`). */
  stored(
    worker: number,
    task: DenseTaskId,
    facts: TaskFacts,
    kind: StoredKind,
    change: number
  ): void {
    if (!this._isRecording) {
      return;
    }
    this._stored.add(
      worker,
      facts.span[task]!,
      facts.functionId[task]!,
      kind,
      change
    );
  }

  // ---- the cluster

  event(now: number, kind: string, worker: number | null, text: string): void {
    this.table('events').append({
      t: this.since(now),
      kind: this.names.id(kind),
      worker: worker ?? NONE_U16,
      span: DEFAULT_SPAN,
      run: NONE_U32,
      text
    });
  }

  /** What a worker adds to its clock from now on. */
  clock(now: number, worker: number, row: ClockRow): void {
    this.table('clocks').append({ t: this.since(now), worker, ...row });
  }

  /** What a run raised; `text` is its traceback. */
  taskFailed(
    now: number,
    worker: number,
    run: number,
    span: SpanId,
    text: string
  ): void {
    if (this._isRecording) {
      const kind = this.names.id('task-failed');
      this.failedRow(now, kind, worker, run, span, text);
    }
  }

  /**
   * A task that ended without a run of which a worker told, or a run that its worker's end cut off before it was told of.
   *
   * @param worker - null: none.
   */
  taskLost(
    kind: UnrunKind,
    now: number,
    worker: number | null,
    span: SpanId,
    key: string,
    why: string
  ): void {
    if (!this._isRecording || this._unrunMarks[kind] >= MOST_LOST_MARKS) {
      return;
    }
    this._unrunMarks[kind]++;
    this.table('events').append({
      t: this.since(now),
      kind: this.names.id(kind),
      worker: worker ?? NONE_U16,
      span,
      run: NONE_U32,
      text: JSON.stringify([
        key.slice(0, MOST_LOST_CHARACTERS),
        cutInTheMiddle(why, MOST_LOST_CHARACTERS)
      ])
    });
  }

  memoryRun(
    run: number,
    label: string,
    measure: string,
    intervalSeconds: number,
    start: number,
    stopped: number | null
  ): void {
    this.table('memoryRuns').append({
      run,
      measure: this.names.id(measure),
      interval: intervalSeconds,
      start: this.since(start),
      stopped: stopped === null ? NaN : this.since(stopped),
      label
    });
  }

  memorySample(now: number, run: number, bytes: number): void {
    this.table('memorySamples').append({ run, t: this.since(now), bytes });
  }

  gap(
    table: number,
    from: number,
    to: number,
    rows: number,
    why: string
  ): void {
    this.table('gaps').append({ table, from, to, rows, why });
  }

  /**
   * A run that ended with its worker, lost, or cancelled before: what it took is not known beyond its start, and it ended when the worker left. How long it waited is
   * known, but not for what: all of it counts as `waitReady`.
   */
  private _lostRun(lane: LaneId, run: GoingRun, left: number): void {
    const unknown = NaN;
    this._runs.append({
      run: run.run,
      node: run.node,
      function: run.functionId,
      span: run.span,
      lane,
      // (nobody lost a result that nobody wanted)
      status: run.isGivenUp ? RunStatus.Cancelled : RunStatus.Lost,
      attempt: run.attempt,
      start: run.started,
      duration: Math.max(0, left - run.started),
      waitReady: Math.max(0, run.started - run.unfinishedSince),
      waitInputs: unknown,
      waitThread: unknown,
      cpu: unknown,
      nbytes: unknown,
      type: NONE_U32
    });
  }

  private _part(
    { names }: LoggedWorker,
    run: number,
    parts: FinishedTables['parts'],
    k: number
  ): void {
    const table = this._parts;
    const row = table.grow();
    const out = table.columns;
    out.run[row] = run;
    out.kind[row] = parts.kind[k]!;
    out.held[row] = parts.held[k]!;
    out.function[row] = names.logId(parts.function[k]!);
    out.span[row] = parts.span[k]!;
    out.from[row] = parts.from[k]!;
    out.offset[row] = parts.offset[k]!;
    out.duration[row] = parts.duration[k]!;
    out.cpu[row] = parts.cpu[k]!;
    out.coreWait[row] = parts.coreWait[k]!;
    out.bytes[row] = parts.bytes[k]!;
  }

  /** The seconds of a run whose result nobody wanted are `cancelled`, all of them. */
  private _meter(
    { names }: LoggedWorker,
    run: number,
    status: number,
    meters: Finished['meters'],
    k: number
  ): void {
    const unit = names.logId(meters.unit[k]!);
    if (status !== RunStatus.Ok && unit === this.names.id('seconds')) {
      return;
    }
    this.table('meters').append({
      run,
      function: names.logId(meters.function[k]!),
      span: meters.span[k]!,
      label: names.logId(meters.label[k]!),
      unit,
      value: meters.value[k]!,
      cpu: meters.cpu[k]!
    });
  }

  private _writeStored(now: number): void {
    for (const sum of this._stored.take()) {
      this.table('stored').append({
        t: this.since(now),
        worker: sum.worker,
        span: sum.span,
        function: sum.functionId,
        kind: sum.kind,
        change: sum.change
      });
    }
  }
}

/** A task that its worker gave back runs again, whatever the reason; `status` is the worker's, who does not know what was given up meanwhile. */
function loggedStatus(status: number, isGivenUp: boolean): RunStatus {
  if (status > RunStatus.Failed) {
    return RunStatus.Missing;
  }
  // (what it gave or raised nobody waited for)
  return isGivenUp ? RunStatus.Cancelled : status;
}
