/**
 * Runs the tasks of one run on a pool. The loop submits tasks; they wait in a queue here and leave in packs, each worker being given about
 * {@link AHEAD_MS} of work: enough that it need not wait for this thread, little enough that a better task is not stuck behind.
 *
 * ```
 *   submit ─► queue ─► pack ─► worker            tasks ahead of a worker, by what their functions took so far:
 *                ▲       │                         0.5 us each → 1024 (the most)
 *                └───────┘ taken back, if one      1 ms each   → 2
 *                          takes far longer        unknown, or longer → 1
 * ```
 */
import { type Key, keyText } from '../graph/key';
import { Task, type TaskNode } from '../graph/nodes';
import { NotPortableError } from '../graph/portable';
import type {
  BatchDone,
  Executor,
  TaskCall,
  TaskOutcome
} from '../local/executor';
import type { Execution, RemoteWorkers } from '../local/execution';
import { encodeCall, visitFunctions } from './call-encoding';
import type { ResultsMessage } from './messages';
import { type Batch, type Entry, Pack } from './pack';
import { namesOf, WorkerEndedError } from './pool-errors';
import type { PoolWorker } from './pool-worker';
import { unpackFailure } from './remote-error';
import { MEASURES } from './task-meter';
import { describeUnsendable, UnsendableError } from './unsendable';
import type { WorkerEnd } from './worker-transport';
import type { WorkerPool } from './worker-pool';

/** Work that a worker is given before it has finished what it has: some twenty times what a message and a wake-up take. */
const AHEAD_MS = 2;
/** Tasks given ahead at most: the loop's choices for later ones are made with what it knows then. */
const AHEAD_TASKS = 1024;
/** How long a worker may stay without a result before others are given what waits behind its task. */
const STUCK_MS = 5;
/** How long a worker that still runs a task of a failed run is waited for before another takes its place. */
const LEFT_OVER_MS = 50;
/** After an abort its workers are waited for so long: a thread inside a call of the system, such as `execSync`, ends only after that. */
const KILL_MS = 1000;
/** Workers that may die with a task waiting in them before it is its run that fails. */
const MAX_LOSSES = 3;

export type PoolExecutorOptions = {
  /** Workers used at the same time. */
  readonly numWorkers: number;
  /** Tasks per batch. */
  readonly chunkSize: number;
  /** The caller asked for that size: one batch per worker, neither more nor together. */
  readonly isExact: boolean;
  readonly signal: AbortSignal | undefined;
};

export class PoolExecutor implements Executor {
  readonly numWorkers: number;
  private readonly _chunkSize: number;
  private readonly _isExact: boolean;
  private readonly _signal: AbortSignal | undefined;
  private _queue: Entry[] = [];
  /** Workers that have run something of this run. */
  private readonly _known = new WeakSet<PoolWorker>();
  private _isDispatchDue = false;
  private _isReceiving = false;
  private _isStopped = false;
  /** Of this run's tasks; undefined before the first result. */
  private _meanMs: number | undefined;
  private readonly _measuring: ((execution: Execution) => void)[] = [];
  private _timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly _pool: WorkerPool,
    { numWorkers, chunkSize, isExact, signal }: PoolExecutorOptions
  ) {
    this.numWorkers = Math.min(numWorkers, _pool.size);
    this._chunkSize = chunkSize;
    this._isExact = isExact;
    this._signal = signal;
    _pool.attach(this);
  }

  get isStopped(): boolean {
    return this._isStopped;
  }

  /** Whether somebody wants to know when tasks ran and what they used. */
  get isMeasured(): boolean {
    return this._measuring.length > 0;
  }

  get remote(): RemoteWorkers {
    return {
      kind: this._pool.kind,
      pool: this._pool,
      measure: take => {
        this._measuring.push(take);
      },
      running: () =>
        this._pool.workers.flatMap(worker => {
          const now = worker.isReady ? worker.current() : null;
          return now?.owner === this
            ? [
                {
                  call: now.entry.call,
                  workerId: worker.workerId,
                  sinceMs: now.sinceMs
                }
              ]
            : [];
        })
    };
  }

  /** Whether it has tasks that no worker has. */
  get isWaiting(): boolean {
    return this._queue.length > 0;
  }

  get slots(): number | undefined {
    if (this._isExact) {
      return undefined;
    }
    // Twice what a worker is given, so that the queue here does not run dry while results are on their way.
    const tasks =
      this._meanMs === undefined
        ? this._chunkSize
        : Math.min(2 * AHEAD_TASKS, Math.ceil((2 * AHEAD_MS) / this._meanMs));
    return this.numWorkers * Math.max(this._chunkSize, tasks);
  }

  /** @throws NotPortableError if a function of the node cannot be sent. */
  check(key: Key, node: TaskNode): void {
    try {
      visitFunctions(node, this._pool.functions.idOf);
    } catch (error) {
      if (error instanceof NotPortableError) {
        error.message = `Task ${keyText(key)} cannot run in a worker: ${error.message}`;
      }
      throw error;
    }
  }

  submit(calls: readonly TaskCall[], done: BatchDone): void {
    const batch: Batch = {
      done: outcome => done(calls, outcome),
      outcomes: [],
      inParts: !this._isExact,
      end: calls.length,
      left: calls.length
    };
    for (let at = 0; at < calls.length; at++) {
      const call = calls[at]!;
      const { node } = call;
      const entry: Entry = { call, batch, at, losses: 0 };
      if (node instanceof Task) {
        this._queue.push(entry);
      } else {
        // An alias is a value that is here: it need not travel.
        const value = call.inputs.get(node.target);
        queueMicrotask(() => this._settle(entry, { value }, null));
      }
    }
    if (!this._isDispatchDue && !this._isReceiving) {
      this._isDispatchDue = true;
      queueMicrotask(() => {
        this._isDispatchDue = false;
        this.dispatch();
      });
    }
  }

  /** The run is over. */
  leave(): void {
    this._isStopped = true;
    this._queue = [];
    clearTimeout(this._timer);
    this._pool.detach(this);
  }

  async stop(): Promise<void> {
    this.leave();
    const kills: Promise<void>[] = [];
    // An abort means now; after an error, tasks that have begun are left to end.
    const isAbort = this._signal?.aborted === true;
    for (const worker of this._pool.workers.slice()) {
      const own = [...worker.packs.values()].filter(
        pack => pack.owner === this
      );
      own.forEach(pack => worker.takeBack(pack));
      worker.updateHold();
      if (isAbort && own.some(pack => pack.left > 0)) {
        kills.push(this._pool.end(worker));
      }
    }
    await allWithin(KILL_MS, kills);
  }

  /** Gives workers what they can take. Called when tasks came, and when any worker of the pool has become freer. */
  dispatch(): void {
    while (this._queue.length > 0 && !this._isStopped) {
      let worker: PoolWorker | null;
      try {
        worker = this._freestWorker();
      } catch (error) {
        this._failNext(startError(error));
        continue;
      }
      if (worker !== null) {
        this._pool.served(this);
        this._send(worker);
      } else if (this._pool.isClosed) {
        this._failNext(new WorkerEndedError('The pool was closed.', []));
      } else {
        break;
      }
    }
    this._watch();
  }

  /** Results of the next tasks of a pack. The pool has all runs dispatch afterwards. */
  receive(worker: PoolWorker, pack: Pack, message: ResultsMessage): void {
    const { values, timings, failure } = message;
    const from = pack.received;
    const failed =
      failure === undefined ? undefined : pack.entries[from + values.length];
    const failedWith =
      failed === undefined
        ? undefined
        : unpackFailure(failure!, failed.call.key, worker.transport.label);
    if (message.measures !== undefined) {
      pack.measures = pack.measures.concat(message.measures);
      this._tellExecutions(worker, pack, values.length, failed, failedWith);
    }
    worker.received(pack, values.length + (failed === undefined ? 0 : 1));
    if (message.ended) {
      worker.close(pack);
    }
    this._noteTimings(timings);
    if (this._isStopped) {
      return;
    }
    // What the loop submits meanwhile is given out afterwards, all at once.
    this._isReceiving = true;
    const { workerId } = worker;
    this._tell(pack.entries, from, values, workerId);
    if (failed !== undefined) {
      this._settle(failed, { error: failedWith }, workerId);
    }
    this._isReceiving = false;
    if (message.ended && !this._isStopped) {
      // After a failure that was mended: the tasks behind it.
      const rest = pack.entries.slice(pack.received, pack.end);
      this._requeue(rest);
    }
  }

  /**
   * The worker is gone.
   *
   * @param mayRun - whether it may have been running a task of this pack
   */
  lose(worker: PoolWorker, pack: Pack, end: WorkerEnd, mayRun: boolean): void {
    const begun = worker.transport.begun(pack.cell);
    const rest = pack.entries.slice(pack.received, pack.end);
    worker.close(pack);
    if (this._isStopped) {
      return;
    }
    let running: readonly Entry[] = [];
    if (mayRun && worker.isReady) {
      // The last one begun; without knowing how many began, all that have no result.
      const started = begun === null ? rest.length : begun - pack.received;
      running = rest.slice(
        begun === null ? 0 : Math.max(started - 1, 0),
        started
      );
    }
    const blamed =
      running[0] ??
      (worker.isReady
        ? rest.find(entry => ++entry.losses > MAX_LOSSES)
        : rest[0]);
    this._requeue(rest.filter(entry => entry !== blamed));
    if (blamed !== undefined) {
      const error = this._endedError(worker, end, running);
      this._settle(blamed, { error, isOfTask: false }, worker.workerId);
    }
  }

  private _endedError(
    worker: PoolWorker,
    end: WorkerEnd,
    running: readonly Entry[]
  ): WorkerEndedError {
    const keys = running.map(entry => entry.call.key);
    const { label } = worker.transport;
    // Errors of another realm are no `instanceof Error`.
    const detail = (end.error as Error | undefined)?.message;
    const reason = detail === undefined ? end.how : `${end.how}: ${detail}`;
    const message = !worker.isReady
      ? `A worker could not start (${label} ${reason}).`
      : keys.length === 0
        ? `Workers keep ending before they run anything (${label} ${reason}).`
        : keys.length === 1
          ? `The worker that ran ${namesOf(keys)} is gone (${label} ${reason}).`
          : `The worker that ran one of ${namesOf(keys)} is gone (${label} ${reason}).`;
    return new WorkerEndedError(message, keys, end.error);
  }

  /** Tells when the next `count` tasks of a pack ran, and the failed one after them. */
  private _tellExecutions(
    { workerId }: PoolWorker,
    pack: Pack,
    count: number,
    failed: Entry | undefined,
    failedWith: unknown
  ): void {
    const told = count + (failed === undefined ? 0 : 1);
    for (let at = 0; at < told; at++) {
      const [start, stop, cpu, nbytes] = pack.measures.slice(
        MEASURES * at,
        MEASURES * (at + 1)
      );
      if (start === undefined) {
        break;
      }
      const execution: Execution = {
        call: pack.entries[pack.received + at]!.call,
        workerId,
        start,
        stop: stop!,
        cpu: cpu!,
        nbytes: nbytes!,
        ...(at < count ? {} : { failure: { error: failedWith } })
      };
      this._measuring.forEach(take => take(execution));
    }
    pack.measures = pack.measures.slice(MEASURES * told);
  }

  /** Tells results of entries, from one on: neighbours of one batch together. */
  private _tell(
    entries: readonly Entry[],
    from: number,
    values: readonly unknown[],
    workerId: number
  ): void {
    let at = 0;
    while (at < values.length && !this._isStopped) {
      const entry = entries[from + at]!;
      const { batch, at: first } = entry;
      if (!batch.inParts) {
        this._settle(entry, { value: values[at++] }, workerId);
        continue;
      }
      const results: TaskOutcome[] = [];
      for (; at < values.length; at++) {
        const next = entries[from + at]!;
        if (next.batch !== batch || next.at !== first + results.length) {
          break;
        }
        results.push({ value: values[at] });
      }
      batch.done({ workerId, results, first });
    }
  }

  private _settle(
    entry: Entry,
    outcome: TaskOutcome,
    workerId: number | null
  ): void {
    const { batch, at } = entry;
    if (this._isStopped || !isOpen(entry)) {
      return;
    }
    if (batch.inParts) {
      batch.done({ workerId, results: [outcome], first: at });
      return;
    }
    batch.outcomes[at] = outcome;
    batch.left -= 1;
    if ('error' in outcome) {
      // What comes after it does not count any more; what comes before it may still be under way.
      for (let later = at + 1; later < batch.end; later++) {
        batch.left -= batch.outcomes[later] === undefined ? 1 : 0;
      }
      batch.end = at + 1;
      batch.outcomes.length = batch.end;
    }
    if (batch.left === 0) {
      batch.done({ workerId, results: batch.outcomes });
    }
  }

  private _noteTimings(timings: readonly number[]): void {
    const { functions } = this._pool;
    let count = 0;
    let ms = 0;
    for (let at = 0; at < timings.length; at += 3) {
      functions.measured(timings[at]!, timings[at + 1]!, timings[at + 2]!);
      count += timings[at + 1]!;
      ms += timings[at + 2]!;
    }
    if (count > 0) {
      const mean = ms / count;
      this._meanMs =
        this._meanMs === undefined ? mean : (this._meanMs + mean) / 2;
    }
  }

  /**
   * The worker with the least to do that has room; one that ran tasks of this run before rather than another, a new one rather than one that
   * is busy; null if none has room.
   */
  private _freestWorker(): PoolWorker | null {
    const now = performance.now();
    let used = 0;
    let own: PoolWorker | null = null;
    let other: PoolWorker | null = null;
    for (const worker of this._pool.workers) {
      used += worker.worksFor(this) ? 1 : 0;
      const hasRoom =
        worker.canTakePack &&
        worker.leftOver() === undefined &&
        this._mayWaitIn(worker) &&
        worker.aheadMs < AHEAD_MS / 2 &&
        worker.aheadTasks < AHEAD_TASKS / 2 &&
        !worker.isSilent(now, STUCK_MS);
      if (!hasRoom) {
        continue;
      }
      if (this._known.has(worker)) {
        own = own === null || worker.aheadMs < own.aheadMs ? worker : own;
      } else {
        other =
          other === null || worker.aheadMs < other.aheadMs ? worker : other;
      }
    }
    if (own?.aheadTasks === 0 || used >= this.numWorkers) {
      return own;
    }
    if (other?.aheadTasks === 0) {
      return other;
    }
    return this._pool.grow() ?? own ?? other;
  }

  /**
   * What waits in a process stays there. So it waits behind its own run's tasks only, which end or fail together with it, and not while
   * another run could have the process next.
   */
  private _mayWaitIn(worker: PoolWorker): boolean {
    return (
      worker.packs.size === 0 ||
      worker.transport.canTakeBack ||
      !(worker.worksForOthers(this) || this._pool.isWantedByOthers(this))
    );
  }

  /** The next task fails, and the run with it. */
  private _failNext(error: unknown): void {
    this._settle(this._queue.shift()!, { error, isOfTask: false }, null);
  }

  /** Fills a pack from the queue's front and posts it. */
  private _send(worker: PoolWorker): void {
    const { functions } = this._pool;
    const calls: number[] = [];
    const args: unknown[] = [];
    const share = Math.ceil(this._queue.length / this.numWorkers);
    const room = Math.min(share, AHEAD_TASKS - worker.aheadTasks);
    let last: Batch | null = null;
    let expectedMs = worker.aheadMs;
    let count = 0;
    for (const { batch, call } of this._queue) {
      const fits = batch.inParts
        ? count === 0 ||
          (count < room && (expectedMs < AHEAD_MS || count < this._chunkSize))
        : last === null || batch === last;
      if (!fits) {
        break;
      }
      last = batch;
      const node = call.node as Task;
      try {
        encodeCall(node, call.inputs, functions.idOf, calls, args);
      } catch (error) {
        this._settle(this._queue.splice(count, 1)[0]!, { error }, null);
        return;
      }
      expectedMs += functions.meanMs(calls[2 * count]!) ?? AHEAD_MS;
      count++;
    }
    const entries = this._queue.splice(0, count);
    const taskMs = (expectedMs - worker.aheadMs) / count;
    const id = this._pool.takePackId();
    const pack = new Pack(id, this, entries, worker.takeCell(), taskMs);
    try {
      worker.post(pack, calls, args, functions);
      this._known.add(worker);
    } catch (error) {
      worker.freeCell(pack.cell);
      this._failUnsendable(worker, entries, error);
    }
  }

  /** Finds the task whose arguments cannot be sent; the others go back to the queue. */
  private _failUnsendable(
    worker: PoolWorker,
    entries: readonly Entry[],
    thrown: unknown
  ): void {
    const { transport } = worker;
    const canSend = (value: unknown) => transport.canSend(value);
    const { idOf } = this._pool.functions;
    for (const entry of entries) {
      const { key, node, inputs } = entry.call;
      const args: unknown[] = [];
      encodeCall(node as Task, inputs, idOf, [], args);
      const at = args.findIndex(arg => !canSend(arg));
      if (at !== -1) {
        const what = describeUnsendable(args[at], `argument ${at}`, canSend);
        const error = new UnsendableError(
          `Task ${keyText(key)} cannot be sent to a worker: ${what}.`,
          { cause: thrown }
        );
        this._requeue(entries.filter(other => other !== entry));
        this._settle(entry, { error, isOfTask: false }, null);
        return;
      }
    }
    // Each can be sent, but not together: memory that ran out, for one.
    this._requeue(entries.slice(1));
    this._settle(entries[0]!, { error: thrown, isOfTask: false }, null);
  }

  private _requeue(entries: readonly Entry[]): void {
    if (entries.length > 0) {
      this._queue = [...entries.filter(isOpen), ...this._queue];
    }
  }

  /** Looks again in a while, if something could be stuck by then. */
  private _watch(): void {
    if (this._timer === undefined && !this._isStopped && this._couldStick()) {
      this._timer = setTimeout(() => {
        this._timer = undefined;
        this._unstick();
        this.dispatch();
      }, STUCK_MS);
    }
  }

  /** Tasks wait behind another while somebody has time for them, or here because of a run that is over. */
  private _couldStick(): boolean {
    const { workers, size } = this._pool;
    if (this._queue.length > 0) {
      return workers.some(worker => worker.leftOver() !== undefined);
    }
    const used = workers.filter(worker => worker.worksFor(this));
    if (used.some(worker => worker.leftOver() !== undefined)) {
      return true;
    }
    const someoneIsFree =
      used.length < this.numWorkers &&
      (workers.length < size ||
        workers.some(worker => worker.packs.size === 0));
    return (
      someoneIsFree &&
      !this._isExact &&
      used.some(worker => worker.aheadTasks > 1 && worker.transport.canTakeBack)
    );
  }

  private _unstick(): void {
    const now = performance.now();
    for (const worker of this._pool.workers.slice()) {
      const hasLeftOver = worker.leftOver() !== undefined;
      if (worker.isSilent(now, STUCK_MS)) {
        for (const pack of worker.packs.values()) {
          const mayMove = hasLeftOver || pack.entries[0]!.batch.inParts;
          if (pack.owner === this && mayMove) {
            const { end } = pack;
            const taken = worker.takeBack(pack);
            this._requeue(pack.entries.slice(end - taken, end));
          }
        }
      }
      if (
        hasLeftOver &&
        this._queue.length > 0 &&
        worker.isSilent(now, LEFT_OVER_MS)
      ) {
        this._pool.retire(worker);
      }
    }
  }
}

function startError(error: unknown): WorkerEndedError {
  return new WorkerEndedError(
    `A worker could not start (${(error as Error).message}).`,
    [],
    error
  );
}

/** Resolves when all have, or after so many milliseconds. */
async function allWithin(
  ms: number,
  promises: readonly Promise<unknown>[]
): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>(resolve => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([Promise.all(promises), limit]);
  clearTimeout(timer);
}

/** Whether an outcome of this task would still be told. */
function isOpen({ batch, at }: Entry): boolean {
  return batch.left > 0 && at < batch.end;
}
