import type { Graph } from '../graph/nodes';
import { callNode } from '../graph/references';
import type { BatchOutcome, Executor, TaskCall, TaskOutcome } from './executor';
import { isThenable } from './loop';
import type { Keys } from './request';
import {
  countOption,
  type RerunOption,
  runGraph,
  type RunOptions
} from './run';

export type AsyncOptions = RunOptions &
  RerunOption & {
    /** How many tasks are under way at once. */
    readonly numWorkers?: number;
  };

/** Promises wait, they do not compute, so the number of cores says nothing; so many open files or connections are always allowed. */
const DEFAULT_AT_ONCE = 16;

/** For how long tasks may follow each other before timers and sockets get their turn. */
const TURN_MS = 10;

/**
 * Computes keys of a graph in this thread with functions that may return promises, several under way at once.
 *
 * ```ts
 * await getAsync({ page: task(fetchText, url), words: task(countWords, ref('page')) }, 'words', { numWorkers: 4 });
 * ```
 *
 * @param keys - a key, or keys in lists nested at will: the answer has the same form.
 * @returns a promise of the answer; rejected with a `GraphError` for a graph or a request that cannot be run, else with what a task or a
 * callback throws, or with the signal's reason. Tasks that are under way then are not waited for.
 */
export async function getAsync<R = unknown>(
  graph: Graph,
  keys: Keys,
  options: AsyncOptions = {}
): Promise<R> {
  const numWorkers = countOption(
    'numWorkers',
    options.numWorkers,
    DEFAULT_AT_ONCE
  );
  return (await runGraph(
    graph,
    keys,
    new PromiseSlots(numWorkers),
    options
  )) as R;
}

type Job = {
  readonly batch: readonly TaskCall[];
  readonly done: (outcome: BatchOutcome) => void;
  readonly results: TaskOutcome[];
  slot: number;
};

/** Runs calls in this thread in so many slots, the numbers of which are the workers' ids. */
class PromiseSlots implements Executor {
  readonly answersInContext = true;
  private readonly _free: number[];
  /** Without a slot. */
  private readonly _waiting: Job[] = [];
  /** With a slot, until timers and sockets have had their turn. */
  private _postponed: Job[] = [];
  private _turnStart = performance.now();
  private _stopped = false;
  private _starting = false;

  constructor(readonly numWorkers: number) {
    this._free = Array.from(
      { length: numWorkers },
      (_, slot) => numWorkers - 1 - slot
    );
  }

  submit(
    batch: readonly TaskCall[],
    done: (outcome: BatchOutcome) => void
  ): void {
    this._waiting.push({ batch, done, results: [], slot: -1 });
    this._startWaiting();
  }

  /** Promises cannot be stopped: they are forgotten. */
  stop(): Promise<void> {
    this._stopped = true;
    this._waiting.length = 0;
    this._postponed.length = 0;
    return Promise.resolve();
  }

  private _startWaiting(): void {
    // A job that ends at once comes back here: one loop for all, whatever their number.
    if (this._starting) {
      return;
    }
    this._starting = true;
    while (this._free.length > 0 && this._waiting.length > 0) {
      const job = this._waiting.shift()!;
      job.slot = this._free.pop()!;
      this._proceed(job);
    }
    this._starting = false;
  }

  /** Goes on with a job until a promise comes, the turn is over, or the job is done. */
  private _proceed(job: Job): void {
    while (job.results.length < job.batch.length && !this._stopped) {
      if (performance.now() - this._turnStart >= TURN_MS) {
        this._postpone(job);
        return;
      }
      const call = job.batch[job.results.length]!;
      let value: unknown;
      try {
        value = callNode(call.node, call.inputs);
      } catch (error) {
        job.results.push({ error });
        break;
      }
      if (isThenable(value)) {
        Promise.resolve(value).then(
          resolved => {
            job.results.push({ value: resolved });
            this._proceed(job);
          },
          (error: unknown) => {
            job.results.push({ error });
            this._answer(job);
          }
        );
        return;
      }
      job.results.push({ value });
    }
    this._answer(job);
  }

  private _postpone(job: Job): void {
    this._postponed.push(job);
    if (this._postponed.length === 1) {
      setImmediate(() => {
        this._turnStart = performance.now();
        const jobs = this._postponed;
        this._postponed = [];
        for (const postponed of jobs) {
          this._proceed(postponed);
        }
      });
    }
  }

  private _answer(job: Job): void {
    if (!this._stopped) {
      this._free.push(job.slot);
      job.done({ workerId: job.slot, results: job.results });
      this._startWaiting();
    }
  }
}
