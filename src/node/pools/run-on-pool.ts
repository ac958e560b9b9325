import { availableParallelism } from 'node:os';
import type { Graph } from '../graph/nodes';
import { interruptible } from '../local/interrupt';
import type { Keys } from '../local/request';
import {
  chunkSizeOption,
  countOption,
  type RerunOption,
  runGraph,
  type RunOptions
} from '../local/run';
import { checkRunOptions } from '../local/run-options';
import { PoolExecutor } from './pool-executor';
import type { WorkerPool } from './worker-pool';

/** Options of `getThreads` and `getProcesses`. */
export type PoolRunOptions<P extends WorkerPool> = RunOptions &
  RerunOption & {
    /** How many tasks run at once: by default as many as the pool has workers, or as this process may use CPUs. */
    readonly numWorkers?: number;
    /** Workers of your own, which you close; by default those that all runs of this process share. */
    readonly pool?: P;
  };

/** What tells the two schedulers with workers apart. */
type PoolScheduler<P extends WorkerPool> = {
  readonly kind: P['kind'];
  readonly chunkSize: number;
  /** The pool for runs without one of their own, of at least so many workers. */
  shared(size: number): P;
};

/** @throws TypeError for a pool of the other kind, which JavaScript lets pass. */
export async function runOnPool<P extends WorkerPool>(
  graph: Graph,
  keys: Keys,
  options: PoolRunOptions<P>,
  scheduler: PoolScheduler<P>
): Promise<unknown> {
  checkRunOptions(options);
  const { pool } = options;
  if (pool !== undefined && pool.kind !== scheduler.kind) {
    throw new TypeError(
      scheduler.kind === 'threads'
        ? 'getThreads takes a ThreadPool as its pool: use getProcesses for a ProcessPool.'
        : 'getProcesses takes a ProcessPool as its pool: use getThreads for a ThreadPool.'
    );
  }
  const numWorkers = countOption(
    'numWorkers',
    options.numWorkers,
    pool?.size ?? availableParallelism()
  );
  const chunkSize = chunkSizeOption(options.chunkSize, scheduler.chunkSize);
  return interruptible(options.signal, async signal => {
    const executor = new PoolExecutor(pool ?? scheduler.shared(numWorkers), {
      numWorkers,
      chunkSize,
      isExact: Boolean(options.chunkSize),
      signal
    });
    try {
      return await runGraph(graph, keys, executor, {
        ...options,
        chunkSize,
        ...(signal === undefined ? {} : { signal })
      });
    } finally {
      executor.leave();
    }
  });
}
