import { availableParallelism } from 'node:os';
import type { Graph } from '../graph/nodes';
import { interruptible } from '../local/interrupt';
import type { Keys } from '../local/request';
import {
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

/** @param shared - the pool for runs without one of their own, of at least so many workers */
export async function runOnPool<P extends WorkerPool>(
  graph: Graph,
  keys: Keys,
  options: PoolRunOptions<P>,
  defaultChunkSize: number,
  shared: (size: number) => P
): Promise<unknown> {
  checkRunOptions(options);
  const numWorkers = countOption(
    'numWorkers',
    options.numWorkers,
    options.pool?.size ?? availableParallelism()
  );
  const chunkSize = options.chunkSize || defaultChunkSize;
  return interruptible(options.signal, async signal => {
    const executor = new PoolExecutor(options.pool ?? shared(numWorkers), {
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
