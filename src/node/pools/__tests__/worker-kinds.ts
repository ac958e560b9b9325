/** Threads and processes under one name each, for tests that hold for both. */
import { getProcesses } from '../get-processes';
import { getThreads } from '../get-threads';
import { ProcessPool, ThreadPool } from '../worker-pool';

export const workerKinds = [
  {
    kind: 'threads',
    get: getThreads as typeof getProcesses,
    makePool: (size: number) => new ThreadPool({ size }) as never as ProcessPool
  },
  {
    kind: 'processes',
    get: getProcesses,
    makePool: (size: number) => new ProcessPool({ size })
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
