/**
 * The pools of runs that were given none: one of threads and one of processes, started at first use and kept, because starting a worker takes
 * as long as ten thousand small tasks. They do not keep this process alive and end with it.
 */
import { availableParallelism } from 'node:os';
import { ProcessPool, ThreadPool, type WorkerPool } from './worker-pool';

/** The largest pool asked for so far; smaller requests use some of its workers. */
class ManagedPool<P extends WorkerPool> {
  private _pool: P | undefined;

  constructor(private readonly _make: (size: number) => P) {}

  ofAtLeast(size: number): P {
    if (this._pool === undefined || this._pool.size < size) {
      const outgrown = this._pool;
      this._pool = this._make(Math.max(size, availableParallelism()));
      void outgrown?.closeWhenIdle();
    }
    return this._pool;
  }
}

// One per process by what they are: the CPUs that they share are.
export const managedThreads = new ManagedPool(size => new ThreadPool({ size }));
export const managedProcesses = new ManagedPool(
  size => new ProcessPool({ size })
);
