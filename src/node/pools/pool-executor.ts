/**
 * Runs the tasks of one run on a pool. The loop submits tasks; they wait in a queue here and leave in packs, each worker being given about
 * two milliseconds of work: enough that it need not wait for this thread, little enough that a better task is not stuck behind.
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
import type { BatchDone, Executor, TaskOutcome } from '../local/executor';
import type { Execution, RemoteWorkers, TaskCall } from '../local/execution';
import { Batch, type Entry, outcomes, settleValues } from './batch';
import { encodeCall, visitFunctions } from './call-encoding';
import type { ResultsMessage } from './messages';
import { Pack } from './pack';
import { AHEAD_MS, AHEAD_TASKS, freestWorker, STUCK_MS } from './placement';
import { workerEnded, WorkerEndedError, workerNotStarted } from './pool-errors';
import type { IPoolRun, PoolWorker, RunPack } from './pool-worker';
import { unpackFailure } from './remote-error';
import { Measures } from './task-meter';
import { couldStick, retireHeld, takeBackStuck } from './stuck-packs';
import { SentValues } from './sent-values';
import { describeLoss } from './unsendable';
import { findUnsendable, unsendable } from './unsendable-task';
import type { WorkerEnd } from './worker-transport';
import type { WorkerPool } from './worker-pool';

/** How long to wait after an abort for the pool's workers to end: a thread in a system call, such as `execSync`, ends only when the call returns. */
const KILL_MS = 1000;
/** How many workers may die with one task waiting in them; then its run fails. */
const MAX_LOSSES = 3;

type PoolExecutorOptions = {
  /** Workers used at the same time. */
  readonly numWorkers: number;
  /** Tasks per batch. */
  readonly chunkSize: number;
  /** The caller asked for that size: one batch per worker, neither more nor together. */
  readonly isExact: boolean;
  readonly signal: AbortSignal | undefined;
};

export class PoolExecutor implements Executor, IPoolRun {
  readonly numWorkers: number;
  /** One batch of the size that was asked for per worker, neither more nor together. */
  readonly isExact: boolean;
  private readonly _chunkSize: number;
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
  private _isStamped = false;
  private _timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly _pool: WorkerPool,
    { numWorkers, chunkSize, isExact, signal }: PoolExecutorOptions
  ) {
    this.numWorkers = Math.min(numWorkers, _pool.size);
    this._chunkSize = chunkSize;
    this.isExact = isExact;
    this._signal = signal;
    _pool.attach(this);
  }

  get isStopped(): boolean {
    return this._isStopped;
  }

  stamp(): void {
    this._isStamped = true;
  }

  /** The measures that observers and callbacks want of tasks. */
  private get _measures(): Measures {
    return this._measuring.length > 0
      ? Measures.all
      : this._isStamped
        ? Measures.times
        : Measures.none;
  }

  get remote(): RemoteWorkers {
    return {
      kind: this._pool.kind,
      pool: this._pool,
      size: this._pool.size,
      measure: take => {
        this._measuring.push(take);
      },
      lives: workerId => this._pool.has(workerId),
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
    if (this.isExact) {
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
      visitFunctions(node, this._pool.functions.check);
    } catch (error) {
      if (error instanceof NotPortableError) {
        error.message = `Task ${keyText(key)} cannot run in a worker: ${error.message}`;
      }
      throw error;
    }
  }

  submit(calls: readonly TaskCall[], done: BatchDone): void {
    const batch = new Batch(calls.length, !this.isExact, outcome =>
      done(calls, outcome)
    );
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
        worker = freestWorker(this._pool, this, each => this._known.has(each));
      } catch (error) {
        this._failNext(workerNotStarted(error));
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
  receive(worker: PoolWorker, pack: RunPack, message: ResultsMessage): void {
    const { values, timings, failure } = message;
    const from = pack.received;
    const failed =
      failure === undefined ? undefined : pack.entries[from + values.length];
    const failedWith =
      failed === undefined
        ? undefined
        : unpackFailure(failure!, failed.call.key, worker.transport.label);
    const count = values.length + (failed === undefined ? 0 : 1);
    const { workerId } = worker;
    const rows = pack.takeRows(message.measures ?? [], count);
    if (pack.measures === Measures.all) {
      const failure = failed === undefined ? undefined : { error: failedWith };
      pack
        .executions(workerId, rows, failure, count)
        .forEach(execution => this._measuring.forEach(take => take(execution)));
    }
    worker.received(pack, count);
    if (message.ended) {
      worker.close(pack);
    }
    this._noteTimings(timings);
    if (this._isStopped) {
      return;
    }
    // Tasks that the loop submits meanwhile are given out afterwards, all at once.
    this._isReceiving = true;
    const isOver = () => this._isStopped;
    const results = outcomes(values, rows, pack.measures);
    settleValues(pack.entries, from, results, workerId, isOver);
    if (failed !== undefined) {
      this._settle(failed, { error: failedWith }, workerId);
    }
    this._isReceiving = false;
    if (message.ended && !this._isStopped) {
      // The tasks behind a failed task that succeeded when it was called again.
      const rest = pack.entries.slice(pack.received, pack.end);
      this._requeue(rest);
    }
  }

  /**
   * The worker is gone.
   *
   * @param mayRun - whether it may have been running a task of this pack
   */
  lose(
    worker: PoolWorker,
    pack: RunPack,
    end: WorkerEnd,
    mayRun: boolean
  ): void {
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
      const keys = running.map(entry => entry.call.key);
      const error = workerEnded(worker, end, keys);
      this._settle(blamed, { error, isOfTask: false }, worker.workerId);
    }
  }

  private _settle(
    { batch, at }: Entry,
    outcome: TaskOutcome,
    workerId: number | null
  ): void {
    if (!this._isStopped) {
      batch.settle(at, outcome, workerId);
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

  /** The next task fails, and the run with it. */
  private _failNext(error: unknown): void {
    this._settle(this._queue.shift()!, { error, isOfTask: false }, null);
  }

  /** Fills a pack from the queue's front and posts it. */
  private _send(worker: PoolWorker): void {
    const { functions } = this._pool;
    functions.beginMessage();
    const calls: number[] = [];
    const args: unknown[] = [];
    const sent = new SentValues(this._pool.losses);
    const share = Math.ceil(this._queue.length / this.numWorkers);
    const room = Math.min(share, AHEAD_TASKS - worker.aheadTasks);
    let last: Batch | null = null;
    let expectedMs = worker.aheadMs;
    let count = 0;
    for (const { batch, call } of this._queue) {
      const fits = batch.inParts
        ? count === 0 ||
          (!sent.isFull &&
            count < room &&
            (expectedMs < AHEAD_MS || count < this._chunkSize))
        : last === null || batch === last;
      if (!fits) {
        break;
      }
      last = batch;
      const node = call.node as Task;
      const first = args.length;
      try {
        encodeCall(node, call.inputs, functions.idOf, calls, args);
      } catch (error) {
        this._settle(this._queue.splice(count, 1)[0]!, { error }, null);
        return;
      }
      for (let at = first; at < args.length; at++) {
        const loss = sent.look(args[at], count);
        if (loss !== null) {
          const root = `argument ${at - first}`;
          const error = unsendable(
            call.key,
            describeLoss(args[at], root, loss)
          );
          const [entry] = this._queue.splice(count, 1);
          this._settle(entry!, { error, isOfTask: false }, null);
          return;
        }
      }
      expectedMs += functions.meanMs(calls[2 * count]!) ?? AHEAD_MS;
      count++;
    }
    const entries = this._queue.splice(0, count);
    const taskMs = (expectedMs - worker.aheadMs) / count;
    const id = this._pool.takePackId();
    const cell = worker.takeCell();
    const pack = new Pack(id, this, entries, cell, taskMs, this._measures);
    try {
      worker.post(pack, calls, args, sent.isShared, functions);
      this._known.add(worker);
    } catch (error) {
      worker.freeCell(pack.cell);
      this._failUnsendable(entries, error);
    }
  }

  /** One task fails, which cannot be sent; the others go back to the queue. */
  private _failUnsendable(entries: readonly Entry[], thrown: unknown): void {
    const found = findUnsendable(
      entries,
      value => this._pool.canSend(value),
      this._pool.functions.idOf,
      thrown
    );
    const { entry, error } = found ?? { entry: entries[0]!, error: thrown };
    this._requeue(entries.filter(other => other !== entry));
    this._settle(entry, { error, isOfTask: false }, null);
  }

  private _requeue(entries: readonly Entry[]): void {
    if (entries.length > 0) {
      const open = entries.filter(({ batch, at }) => batch.isOpen(at));
      this._queue = [...open, ...this._queue];
    }
  }

  /** Looks again after a while, if tasks could be stuck by then. */
  private _watch(): void {
    if (
      this._timer === undefined &&
      !this._isStopped &&
      couldStick(this._pool, this)
    ) {
      this._timer = setTimeout(() => {
        this._timer = undefined;
        this._requeue(takeBackStuck(this._pool, this));
        if (this.isWaiting) {
          retireHeld(this._pool);
        }
        this.dispatch();
      }, STUCK_MS);
    }
  }
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
