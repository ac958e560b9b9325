import { Queue } from '../../base/queue';
import type { Graph } from '../graph/nodes';
import { callNode } from '../graph/references';
import type {
  BatchDone,
  BatchOutcome,
  Executor,
  TaskOutcome
} from './executor';
import type { TaskCall } from './execution';
import { isThenable } from '../graph/thenable';
import type { Keys } from './request';
import {
  countOption,
  type RerunOption,
  runGraph,
  type RunOptions
} from './run';
import { checkRunOptions } from './run-options';
import { interruptible } from './interrupt';

/**
 * Options of {@link getAsync}.
 *
 * @interface
 * @group Schedulers
 * @example
 * ```ts
 * import { setTimeout as sleep } from 'node:timers/promises';
 * import { getAsync, task, type AsyncOptions } from 'spanwise';
 *
 * const options: AsyncOptions = { numWorkers: 2, signal: AbortSignal.timeout(60_000) };
 * console.log(await getAsync({ a: task(sleep, 10, 'slept') }, 'a', options)); // → slept
 * ```
 */
export type AsyncOptions = RunOptions &
  RerunOption & {
    /** How many tasks are under way at once, 16 by default. */
    readonly numWorkers?: number;
  };

/** Promises wait, they do not compute, so the number of cores says nothing; so many open files or connections are always allowed. */
const DEFAULT_AT_ONCE = 16;

/** For how long tasks may follow each other before timers and sockets get their turn. */
const TURN_MS = 10;

/**
 * Computes keys of a graph in this thread with functions that may return promises, several under way at once.
 *
 * @param keys - a key, or keys in lists nested at will: the answer has the same form.
 * @returns a promise of the answer; rejected with a `GraphError` for a graph or a request that cannot be run, else with what a task or a
 * callback throws, with the signal's reason, or with an `InterruptedError` after Ctrl-C. Tasks that are under way then are not waited for.
 *
 * @group Schedulers
 * @example
 * ```ts
 * import { readFile, writeFile } from 'node:fs/promises';
 * import { getAsync, ref, task } from 'spanwise';
 *
 * await writeFile('a.txt', 'to be or not to be');
 * const graph = {
 *   text: task(readFile, 'a.txt', 'utf8'),
 *   words: task((text: string) => text.split(' ').length, ref('text'))
 * };
 * console.log(await getAsync(graph, 'words', { numWorkers: 4 })); // → 6
 * ```
 */
export async function getAsync<R = unknown>(
  graph: Graph,
  keys: Keys,
  options: AsyncOptions = {}
): Promise<NoInfer<R>> {
  checkRunOptions(options);
  const numWorkers = countOption(
    'numWorkers',
    options.numWorkers,
    DEFAULT_AT_ONCE
  );
  return (await interruptible(options.signal, signal =>
    runGraph(graph, keys, new PromiseSlots(numWorkers), {
      ...options,
      ...(signal === undefined ? {} : { signal })
    })
  )) as NoInfer<R>;
}

/** A batch on its way, which becomes its own answer. */
class Job implements BatchOutcome {
  readonly results: TaskOutcome[];
  /** How many of the results there are. */
  count = 0;
  /** When the running task began; NaN if tasks are not stamped. */
  startMs = NaN;
  /** The slot's number. */
  workerId = -1;

  constructor(
    readonly batch: readonly TaskCall[],
    readonly done: BatchDone
  ) {
    this.results = new Array<TaskOutcome>(batch.length);
  }

  get isDone(): boolean {
    return this.count === this.results.length;
  }

  add(value: unknown): void {
    this.results[this.count++] = Number.isNaN(this.startMs)
      ? { value }
      : { value, startMs: this.startMs, stopMs: performance.now() };
  }

  /** Ends the job early. */
  fail(error: unknown): void {
    this.results[this.count++] = { error };
    this.results.length = this.count;
  }
}

/** Runs calls in this thread in so many slots. A slot's number is its worker id. */
class PromiseSlots implements Executor {
  readonly answersInContext = true;
  private readonly _free: number[];
  /** Without a slot. */
  private readonly _waiting = new Queue<Job>();
  /** Whether slots are being filled already: jobs that end at once are followed in a loop there, and need no deeper stack. */
  private _filling = false;
  private _turnStart = performance.now();
  /** Resolves when timers and sockets have had their turn; null while it is the tasks'. */
  private _nextTurn: Promise<void> | null = null;
  private _stopped = false;
  private _isStamped = false;

  constructor(readonly numWorkers: number) {
    this._free = Array.from(
      { length: numWorkers },
      (_, slot) => numWorkers - 1 - slot
    );
  }

  stamp(): void {
    this._isStamped = true;
  }

  submit(batch: readonly TaskCall[], done: BatchDone): void {
    this._waiting.push(new Job(batch, done));
    this._fill();
  }

  /** Promises cannot be stopped: they are forgotten. */
  stop(): Promise<void> {
    this._stopped = true;
    this._waiting.clear();
    return Promise.resolve();
  }

  private _fill(): void {
    if (this._filling) {
      return;
    }
    this._filling = true;
    while (this._free.length > 0 && this._waiting.length > 0) {
      const slot = this._free.pop()!;
      const job = this._waiting.shift()!;
      const pending = this._proceed(job);
      if (pending === null) {
        this._answer(job, slot);
        this._free.push(slot);
      } else {
        void this._hold(slot, job, pending);
      }
    }
    this._filling = false;
  }

  /**
   * Waits for what a job waits for, goes on with it, and then with the next ones in the same slot: a promise costs one `await`, and no
   * further promise or closure.
   */
  private async _hold(
    slot: number,
    first: Job,
    firstPending: PromiseLike<unknown>
  ): Promise<void> {
    let job: Job | undefined = first;
    let pending: PromiseLike<unknown> | null = firstPending;
    while (job !== undefined) {
      if (pending !== null) {
        const isTurn: boolean = pending === this._nextTurn;
        try {
          const value: unknown = await pending;
          if (!isTurn) {
            job.add(value);
          }
        } catch (error) {
          job.fail(error);
        }
      }
      pending = this._proceed(job);
      if (pending !== null) {
        this._fill();
      } else {
        // What becomes ready now is for this slot first.
        this._filling = true;
        this._answer(job, slot);
        this._filling = false;
        job = this._waiting.shift();
      }
    }
    this._free.push(slot);
    this._fill();
  }

  /** Calls a job's tasks up to its end (null), or up to something to wait for: a task's promise, or the next turn. */
  private _proceed(job: Job): PromiseLike<unknown> | null {
    while (!job.isDone && !this._stopped) {
      const now = performance.now();
      if (now - this._turnStart >= TURN_MS) {
        return this._turn();
      }
      if (this._isStamped) {
        job.startMs = now;
      }
      const call = job.batch[job.count]!;
      try {
        const value = callNode(call.node, call.inputs);
        if (isThenable(value)) {
          return value;
        }
        job.add(value);
      } catch (error) {
        job.fail(error);
      }
    }
    return null;
  }

  private _answer(job: Job, slot: number): void {
    if (!this._stopped) {
      job.workerId = slot;
      job.done(job.batch, job);
    }
  }

  private _turn(): Promise<void> {
    this._nextTurn ??= new Promise(resolve => {
      setImmediate(() => {
        this._turnStart = performance.now();
        this._nextTurn = null;
        resolve();
      });
    });
    return this._nextTurn;
  }
}
