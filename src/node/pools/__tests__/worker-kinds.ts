/** Threads and processes under one name each, for tests that hold for both. */
import { getProcesses } from '../get-processes';
import { getThreads } from '../get-threads';
import { type PoolOptions, ProcessPool, ThreadPool } from '../worker-pool';

export const workerKinds = [
  {
    kind: 'threads',
    /** Of one worker, as messages say it. */
    label: 'thread',
    get: getThreads as typeof getProcesses,
    makePool: (options: PoolOptions) =>
      new ThreadPool(options) as never as ProcessPool
  },
  {
    kind: 'processes',
    label: 'process',
    get: getProcesses,
    makePool: (options: PoolOptions) => new ProcessPool(options)
  }
];

export async function failureOf(run: Promise<unknown>): Promise<Error> {
  try {
    await run;
  } catch (error) {
    return error as Error;
  }
  throw new Error('The run succeeded.');
}
