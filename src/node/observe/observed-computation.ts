/** One computation: stands between the loop and its executor, and writes a run for each task that ran. */
import type { ArrayOf } from '../../base/typed-arrays';
import type { LaneId, SpanId } from '../../records/ids';
import { RunStatus } from '../../records/enumerations';
import { DataNode, Task } from '../graph/nodes';
import { callNode } from '../graph/references';
import { ownName } from '../graph/task-name';
import { isThenable } from '../graph/thenable';
import { placeOf } from '../graph/written-in';
import type { Execution, RemoteWorkers, TaskCall } from '../local/execution';
import type {
  BatchDone,
  BatchOutcome,
  Executor,
  TaskOutcome
} from '../local/executor';
import type { RunPlan } from '../local/plan';
import type { FollowedComputation } from '../local/computation-follower';
import { HOME } from './home';
import type { KeyCutter } from './key-parts';
import type { LaneRange } from './lanes';
import type { LiveLog } from './live-log';
import type { ProcessSlot } from './process-slots';
import { recordedError } from './recorded-error';
import { resultBytes } from './result-bytes';
import type { RunningBoard } from './running-board';
import { currentSpan, type Span } from './span';

/** Stands for the end of executions that have not ended yet, and for unknown figures. */
const UNKNOWN = NaN;
/** At most so many are sent together: a block of a million would push everything else out of the ring that is kept for the observer. */
const NODES_TOGETHER = 512;
/** Between looks at what workers of pools run. */
const LOOK_MS = 50;

/** A task of this thread on its way. */
type OpenCall = {
  readonly call: TaskCall;
  place: number;
  lane: LaneId;
  readonly start: number;
  stop: number;
  cpu: number;
  isTold: boolean;
};

/** The parts that all followed computations share. */
export interface IFollowing {
  readonly live: LiveLog;
  readonly board: RunningBoard;
  readonly keys: KeyCutter;
  readonly cpuOfThread: () => number;
  /** Never lets observing break a computation. */
  harmless(write: () => void): void;
  /** Lanes for a computation that begins. */
  takeLanes(executor: Executor): LaneRange | ProcessSlot[];
  giveLanes(place: LaneRange | ProcessSlot[], executor: Executor): void;
  /** The lane of a process. */
  laneOfProcess(pool: object, pid: number): LaneId;
}

export class ObservedComputation implements FollowedComputation {
  readonly executor: Executor;
  private readonly _live: LiveLog;
  private readonly _began: number;
  private readonly _place: LaneRange | ProcessSlot[];
  /** By the plan's ids: of tasks their node, function and span in the log, and when they became ready and had ended. */
  private readonly _nodes: Int32Array;
  private readonly _functions: Uint32Array;
  private readonly _spans: ArrayOf<Uint32Array, SpanId>;
  private readonly _ready: Float64Array;
  private readonly _finished: Float64Array;
  private _hasEnded = false;
  private _looking: NodeJS.Timeout | undefined;
  /** Lanes on the board because of tasks in workers. */
  private _shown: readonly LaneId[] = [];
  /** Tasks of this thread that are under way. */
  private readonly _open = new Set<OpenCall>();

  constructor(
    private readonly _following: IFollowing,
    private readonly _plan: RunPlan,
    private readonly _inner: Executor
  ) {
    const { live } = _following;
    const { size, nodeCount } = _plan.graph;
    this._live = live;
    this._began = live.now();
    this._nodes = new Int32Array(size).fill(-1);
    this._functions = new Uint32Array(nodeCount);
    this._spans = new Uint32Array(nodeCount) as ArrayOf<Uint32Array, SpanId>;
    this._ready = new Float64Array(nodeCount).fill(this._began);
    this._finished = new Float64Array(size);
    this._place = _following.takeLanes(_inner);
    this._writeNodes();
    _inner.remote?.measure(execution =>
      _following.harmless(() => this._takeRemote(execution))
    );
    this.executor = this._measuring(_inner);
    const { remote } = _inner;
    if (remote !== undefined) {
      this._looking = setInterval(
        () => _following.harmless(() => this._lookAtWorkers(remote)),
        LOOK_MS
      );
      this._looking.unref();
    }
    live.commit();
  }

  ended(): void {
    this._hasEnded = true;
    clearInterval(this._looking);
    this._shown.forEach(lane => this._following.board.clear(lane));
    this._following.harmless(() => {
      this._open.forEach(open => this._moveBeside(open));
      this._leaveIfQuiet();
      this._live.commit();
    });
  }

  /** A promise of a computation that has failed may never be kept: the thread's own lane is for what comes. */
  private _moveBeside(open: OpenCall): void {
    const place = (this._place as LaneRange).moveBeside(open.place);
    if (place !== open.place) {
      this._following.board.clear(open.lane);
      open.place = place;
      open.lane = this._live.laneId(HOME, place);
      this._show(open.call, open.lane, open.start);
    }
  }

  private _leaveIfQuiet(): void {
    if (this._hasEnded && this._open.size === 0) {
      this._following.giveLanes(this._place, this._inner);
    }
  }

  private _writeNodes(): void {
    const { graph, lastFirst, dependencies } = this._plan;
    const { log } = this._live;
    const around = currentSpan();
    const spanOf = this._live.spanId(around);
    for (let at = lastFirst.length - 1; at >= 0; at--) {
      const id = lastFirst[at]!;
      const node = graph.nodes[id]!;
      if (node instanceof DataNode) {
        continue;
      }
      const cut = this._following.keys.cut(graph.keys[id]!);
      const parts = { ...cut, functionName: ownName(node) ?? cut.functionName };
      const written = placeOf(node) as Span | undefined;
      const span = written === undefined ? spanOf : this._live.spanId(written);
      this._spans[id] = span;
      this._functions[id] = log.nameId(parts.functionName);
      this._nodes[id] = log.node({ ...parts, span }, this._began);
      for (
        let i = dependencies.start[id]!;
        i < dependencies.start[id + 1]!;
        i++
      ) {
        const input = this._nodes[dependencies.ids[i]!]!;
        if (input >= 0) {
          log.edge(input);
        }
      }
      if (at % NODES_TOGETHER === 0) {
        this._live.commit();
      }
    }
  }

  private _measuring(inner: Executor): Executor {
    return {
      numWorkers: inner.numWorkers,
      ...(inner.answersInContext === undefined
        ? {}
        : { answersInContext: inner.answersInContext }),
      remote: inner.remote,
      get slots() {
        return inner.slots;
      },
      check: (key, node) => inner.check?.(key, node),
      submit: (batch, done) => this._submit(batch, done),
      stop: reason => inner.stop(reason)
    };
  }

  private _submit(batch: readonly TaskCall[], done: BatchDone): void {
    for (const { id } of batch) {
      this._ready[id] = this._readyAt(id);
    }
    if (this._inner.remote !== undefined) {
      this._inner.submit(batch, (answered, outcome) => {
        this._noteFinished(batch, outcome);
        done(answered, outcome);
      });
      return;
    }
    const open: (OpenCall | undefined)[] = [];
    const measured = batch.map((call, at) => ({
      ...call,
      node: new Task(() => this._runHere(call, open, at), [])
    }));
    this._inner.submit(measured, (_, outcome) => {
      outcome.results.forEach((result, at) => {
        // A promise that getSync has not waited for.
        this._tellHere(open[at]!, result);
      });
      this._noteFinished(batch, outcome);
      done(batch, outcome);
    });
  }

  private _readyAt(id: number): number {
    const { start, ids } = this._plan.dependencies;
    let at = this._began;
    for (let i = start[id]!; i < start[id + 1]!; i++) {
      at = Math.max(at, this._finished[ids[i]!]!);
    }
    return at;
  }

  private _noteFinished(
    batch: readonly TaskCall[],
    outcome: BatchOutcome
  ): void {
    const now = this._live.now();
    const first = outcome.first ?? 0;
    for (let at = 0; at < outcome.results.length; at++) {
      this._finished[batch[first + at]!.id] = now;
    }
  }

  // ---- tasks of this thread

  private _runHere(
    call: TaskCall,
    open: (OpenCall | undefined)[],
    at: number
  ): unknown {
    const { now } = this._live;
    const cpuOfThread = this._following.cpuOfThread;
    const place = (this._place as LaneRange).take();
    const lane = this._live.laneId(HOME, place);
    const cpuStart = cpuOfThread();
    const mine: OpenCall = {
      call,
      place,
      lane,
      start: now(),
      stop: UNKNOWN,
      cpu: UNKNOWN,
      isTold: false
    };
    open[at] = mine;
    this._open.add(mine);
    this._show(call, lane, mine.start);
    let value: unknown;
    try {
      value = callNode(call.node, call.inputs);
    } catch (error) {
      mine.stop = now();
      mine.cpu = cpuOfThread() - cpuStart;
      this._tellHere(mine, { error });
      throw error;
    }
    mine.stop = now();
    if (!isThenable(value)) {
      mine.cpu = cpuOfThread() - cpuStart;
      this._tellHere(mine, { value });
      return value;
    }
    if (this._inner.answersInContext !== true) {
      return value;
    }
    // While a promise waits, other tasks use the thread, so the CPU time of this one is not known.
    return Promise.resolve(value).then(
      resolved => {
        mine.stop = now();
        this._tellHere(mine, { value: resolved });
        return resolved;
      },
      (error: unknown) => {
        mine.stop = now();
        this._tellHere(mine, { error });
        throw error;
      }
    );
  }

  private _tellHere(open: OpenCall, outcome: TaskOutcome): void {
    if (open.isTold) {
      return;
    }
    open.isTold = true;
    const range = this._place as LaneRange;
    range.give(open.place);
    this._following.board.clear(open.lane);
    this._open.delete(open);
    this._following.harmless(() => {
      this._write(
        open.call,
        open.lane,
        open,
        'value' in outcome ? resultBytes(outcome.value) : UNKNOWN,
        'value' in outcome ? undefined : outcome
      );
      this._leaveIfQuiet();
    });
  }

  // ---- tasks of workers

  private _takeRemote(execution: Execution): void {
    const { call, workerId, start, stop, nbytes, failure } = execution;
    const { pool, lives } = this._inner.remote!;
    const lane = Array.isArray(this._place)
      ? this._following.laneOfProcess(pool, workerId)
      : this._live.laneId(
          HOME,
          this._place.ofWorker(workerId, start, stop, lives)
        );
    this._write(call, lane, execution, nbytes, failure);
  }

  /** Workers do not report tasks that they begin, so the tasks that they should be running are looked up now and then. */
  private _lookAtWorkers(remote: RemoteWorkers): void {
    const shown: LaneId[] = [];
    for (const { call, workerId, sinceMs } of remote.running()) {
      const lane = this._whereIs(workerId);
      if (lane !== null) {
        const age = (performance.now() - sinceMs) / 1000;
        this._show(call, lane, this._live.now() - age);
        shown.push(lane);
      }
    }
    this._shown
      .filter(lane => !shown.includes(lane))
      .forEach(lane => this._following.board.clear(lane));
    this._shown = shown;
    this._live.commit();
  }

  private _whereIs(workerId: number): LaneId | null {
    if (Array.isArray(this._place)) {
      return this._following.laneOfProcess(this._inner.remote!.pool, workerId);
    }
    const place = this._place.whereIs(workerId);
    return place === null ? null : this._live.laneId(HOME, place);
  }

  private _show({ id }: TaskCall, lane: LaneId, started: number): void {
    this._following.board.set(lane, {
      node: this._nodes[id]!,
      functionId: this._functions[id]!,
      span: this._spans[id]!,
      started
    });
  }

  private _write(
    { id }: TaskCall,
    lane: LaneId,
    { start, stop, cpu }: { start: number; stop: number; cpu: number },
    nbytes: number,
    failure: { readonly error: unknown } | undefined
  ): void {
    const live = this._live;
    if (live.isEnded) {
      return;
    }
    const span = this._spans[id]!;
    const run = live.log.run({
      node: this._nodes[id]!,
      functionId: this._functions[id]!,
      span,
      lane,
      status: failure === undefined ? RunStatus.Ok : RunStatus.Failed,
      start,
      stop,
      submitted: this._began,
      ready: this._ready[id]!,
      cpu,
      nbytes
    });
    if (failure !== undefined) {
      live.log.failed(run, span, stop, recordedError(failure.error));
    }
    live.commit();
  }
}
