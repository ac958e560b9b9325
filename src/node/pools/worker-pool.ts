import { availableParallelism } from 'node:os';
import type { TaskFunction } from '../graph/nodes';
import { SHOWN } from '../graph/shown';
import { asGiven, checkOptionNames, type OptionNames } from '../option-names';
import { FunctionTable } from './function-table';
import { initializeMessage } from './initializer';
import type {
  FromWorker,
  InitializedMessage,
  InitializeMessage
} from './messages';
import { type IPoolRun, PoolWorker } from './pool-worker';
import { canEncode, decodedCopy } from './process-frames';
import { ProcessWorker } from './process-worker';
import { ClassLosses } from './sent-values';
import { unpackInitializerFailure } from './remote-error';
import { canClone, ThreadWorker } from './thread-worker';
import type {
  IWorkerTransport,
  WorkerEnd,
  WorkerEvents
} from './worker-transport';

/**
 * Options of {@link ThreadPool} and {@link ProcessPool}.
 *
 * @group Pools
 * @example
 * ```ts
 * import { getThreads, task, ThreadPool, type PoolOptions } from 'spanwise';
 *
 * const options: PoolOptions = {
 *   size: 2,
 *   maxHeapMegabytes: 512,
 *   initializer: (zone: string) => {
 *     process.env['TZ'] = zone; // of the worker
 *   },
 *   initializerArgs: ['Asia/Tokyo']
 * };
 * await using pool = new ThreadPool(options);
 * const graph = { zone: task(() => process.env['TZ']) };
 * console.log(pool.size, await getThreads(graph, 'zone', { pool })); // → 2 Asia/Tokyo
 * ```
 */
export type PoolOptions = {
  /** Workers at most; they are started as they are needed. By default as many as CPUs that this process may use. */
  readonly size?: number;
  /**
   * Limit of each worker's JavaScript heap, 16 at least; Node's own by default. A worker that reaches it ends, and its task fails. A thread
   * that reaches it in the middle of a collection takes this program along: what may need more belongs into processes.
   */
  readonly maxHeapMegabytes?: number;
  /**
   * Called once in each new worker, before its first task; a promise is awaited. As portable as a task's function. If it fails, so does the
   * run whose task the worker was started for.
   */
  readonly initializer?: TaskFunction<never[]>;
  /** Arguments of the initializer, copied to each worker; none by default. */
  readonly initializerArgs?: readonly unknown[];
};

/** With much less, a thread dies while Node starts in it, and takes this process along. */
const LEAST_HEAP_MEGABYTES = 16;

const OPTION_NAMES: OptionNames<PoolOptions> = {
  size: true,
  maxHeapMegabytes: true,
  initializer: true,
  initializerArgs: true
};

/**
 * Workers that outlive a run. They do not keep this process alive; a run that is awaited does. Any number of runs may share
 * a pool at a time.
 */
export abstract class WorkerPool implements AsyncDisposable {
  /** Workers at most. */
  readonly size: number;
  /** What its workers are. */
  abstract readonly kind: 'threads' | 'processes';
  /** @internal */
  readonly functions = new FunctionTable();
  /** The methods that objects would lose on the way to its workers. @internal */
  readonly losses = new ClassLosses(value => this.arrivalOf(value));
  /** Those that can be given tasks. @internal */
  readonly workers: PoolWorker[] = [];
  protected readonly _maxHeapMegabytes: number | undefined;
  private readonly _initialize: InitializeMessage | null;
  /** Given nothing any more, but still at something. */
  private readonly _retired = new Set<PoolWorker>();
  /** Ended for the pool but not yet gone. */
  private readonly _leaving = new Set<Promise<void>>();
  /** Runs, the one that was given a worker longest ago first. */
  private readonly _executors = new Set<IPoolRun>();
  private _isClosed = false;
  private _isClosingWhenIdle = false;
  private _nextPack = 0;

  /** @throws TypeError for an unknown option, RangeError for a size that is no whole number from 1 on. */
  constructor(options: PoolOptions = {}) {
    checkOptionNames('A pool', options, OPTION_NAMES);
    const {
      size = availableParallelism(),
      maxHeapMegabytes,
      initializer,
      initializerArgs = []
    } = options;
    this._maxHeapMegabytes = maxHeapMegabytes;
    if (
      maxHeapMegabytes !== undefined &&
      !(
        Number.isFinite(maxHeapMegabytes) &&
        maxHeapMegabytes >= LEAST_HEAP_MEGABYTES
      )
    ) {
      throw new RangeError(
        `A worker needs a heap of ${LEAST_HEAP_MEGABYTES} megabytes at least, not ${asGiven(maxHeapMegabytes)}.`
      );
    }
    if (!Number.isInteger(size) || size < 1) {
      throw new RangeError(
        `A pool needs a size that is a whole number from 1 on, not ${asGiven(size)}.`
      );
    }
    this.size = size;
    this._initialize =
      initializer === undefined
        ? null
        : initializeMessage(
            initializer,
            initializerArgs,
            value => this.canSend(value),
            this.losses
          );
  }

  /** Ends every worker, also in the middle of a task; runs that use the pool fail. Resolves when all are gone. */
  async close(): Promise<void> {
    this._isClosed = true;
    [...this.workers, ...this._retired].forEach(
      worker => void this.end(worker)
    );
    // So that runs without a task in a worker fail, too.
    this._dispatchAll();
    await Promise.all(this._leaving);
  }

  /** What consoles print. @internal */
  [SHOWN](): string {
    return `${this.constructor.name} { size: ${this.size} }`;
  }

  /** Closes once no run uses it any more. @internal */
  async closeWhenIdle(): Promise<void> {
    this._isClosingWhenIdle = true;
    if (this._executors.size === 0) {
      await this.close();
    }
  }

  /** The same as `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** @internal */
  attach(executor: IPoolRun): void {
    if (this._isClosed) {
      throw new Error('The pool is closed.');
    }
    this._executors.add(executor);
  }

  /** @internal */
  detach(executor: IPoolRun): void {
    this._executors.delete(executor);
    if (this._isClosingWhenIdle && this._executors.size === 0) {
      void this.close();
    }
  }

  /** @internal */
  takePackId(): number {
    return this._nextPack++;
  }

  /** @internal */
  get isClosed(): boolean {
    return this._isClosed;
  }

  /** The run was given a worker: others come first now. @internal */
  served(executor: IPoolRun): void {
    this._executors.delete(executor);
    this._executors.add(executor);
  }

  /** Whether other runs wait for a worker. @internal */
  isWantedByOthers(executor: IPoolRun): boolean {
    for (const other of this._executors) {
      if (other !== executor && other.isWaiting) {
        return true;
      }
    }
    return false;
  }

  /** Starts a worker if there is room. @throws what keeps it from starting: no descriptors left, a missing file. @internal */
  grow(): PoolWorker | null {
    if (this.workers.length >= this.size || this._isClosed) {
      return null;
    }
    const worker: PoolWorker = new PoolWorker(
      this.start({
        onMessage: message => this._receive(worker, message),
        onEnd: end => this._ended(worker, end)
      })
    );
    this.workers.push(worker);
    if (this._initialize !== null) {
      worker.transport.post(this._initialize, this._initialize.args);
    }
    return worker;
  }

  /** Ends a worker, whatever it does, and resolves when it is gone. Tasks of other runs that wait there go elsewhere. @internal */
  end(worker: PoolWorker): Promise<void> {
    this._remove(worker);
    const gone = worker.kill();
    this._leaving.add(gone);
    return gone.finally(() => this._leaving.delete(gone));
  }

  /** Whether a worker has not been ended. @internal */
  has(workerId: number): boolean {
    return [...this.workers, ...this._retired].some(
      worker => worker.workerId === workerId
    );
  }

  /** Gives the worker nothing more and lets another take its place; it ends when what it does is done. @internal */
  retire(worker: PoolWorker): void {
    this._remove(worker);
    this._retired.add(worker);
  }

  /** @internal */
  abstract canSend(value: unknown): boolean;
  protected abstract start(events: WorkerEvents): IWorkerTransport;
  protected abstract arrivalOf(value: unknown): unknown;

  private _receive(worker: PoolWorker, message: FromWorker): void {
    switch (message.type) {
      case 'ready':
        worker.isReady = this._initialize === null;
        return;
      case 'initialized':
        this._initialized(worker, message);
        return;
      case 'output':
        (message.stream === 1 ? process.stdout : process.stderr).write(
          message.chunk
        );
        return;
      case 'results': {
        const pack = worker.packs.get(message.pack);
        if (pack !== undefined) {
          pack.owner.receive(worker, pack, message);
        }
        if (worker.isEnding && worker.packs.size === 0) {
          void this.end(worker);
        }
        this._dispatchAll();
      }
    }
  }

  private _initialized(
    worker: PoolWorker,
    { failure }: InitializedMessage
  ): void {
    if (failure === undefined) {
      worker.isReady = true;
      return;
    }
    const { label } = worker.transport;
    worker.startFailure = {
      how: 'failed in its initializer',
      error: unpackInitializerFailure(failure, label)
    };
    void this.end(worker);
  }

  private _ended(worker: PoolWorker, cause: WorkerEnd): void {
    this._remove(worker);
    const end = worker.startFailure ?? cause;
    const how = this._isClosed
      ? 'was ended because its pool was closed'
      : end.how;
    // Packs run in order, so only the first can have been running. Waiting tasks go to the front of their run's queue, the last one first.
    const [first, ...rest] = worker.packs.values();
    for (const pack of rest.reverse()) {
      pack.owner.lose(worker, pack, { ...end, how }, false);
    }
    first?.owner.lose(worker, first, { ...end, how }, true);
    this._dispatchAll();
  }

  private _remove(worker: PoolWorker): void {
    worker.isEnding = true;
    this._retired.delete(worker);
    const at = this.workers.indexOf(worker);
    if (at !== -1) {
      this.workers.splice(at, 1);
    }
  }

  private _dispatchAll(): void {
    // A copy: a run that is served moves to the end.
    [...this._executors].forEach(executor => executor.dispatch());
  }
}

/**
 * A pool of worker threads of your own, for `getThreads(graph, keys, { pool })`. They are part of this process and end with it.
 *
 * @group Pools
 * @example
 * ```ts
 * import { getThreads, task, ThreadPool } from 'spanwise';
 *
 * await using pool = new ThreadPool({ size: 2 }); // closed at the end of the block
 * const graph = { a: task(() => 6 * 7) };
 * console.log(await getThreads(graph, 'a', { pool })); // → 42
 * ```
 */
export class ThreadPool extends WorkerPool {
  override readonly kind = 'threads';

  protected override start(events: WorkerEvents): IWorkerTransport {
    return new ThreadWorker(events, this._maxHeapMegabytes);
  }

  /** @internal */
  override canSend(value: unknown): boolean {
    return canClone(value);
  }

  protected override arrivalOf(value: unknown): unknown {
    return structuredClone(value);
  }
}

/**
 * A pool of child processes of your own, for `getProcesses(graph, keys, { pool })`. They end when this process does, however it does.
 *
 * @group Pools
 * @example
 * ```ts
 * import { getProcesses, ProcessPool, task } from 'spanwise';
 *
 * const pool = new ProcessPool({ size: 1, maxHeapMegabytes: 256 });
 * const graph = { pid: task(() => process.pid) };
 * const first = await getProcesses(graph, 'pid', { pool });
 * const second = await getProcesses(graph, 'pid', { pool });
 * console.log(first === second, first === process.pid); // → true false
 * await pool.close();
 * ```
 */
export class ProcessPool extends WorkerPool {
  override readonly kind = 'processes';

  protected override start(events: WorkerEvents): IWorkerTransport {
    return new ProcessWorker(events, this._maxHeapMegabytes);
  }

  /** @internal */
  override canSend(value: unknown): boolean {
    return canEncode(value);
  }

  protected override arrivalOf(value: unknown): unknown {
    return decodedCopy(value);
  }
}
