import type { Graph } from '../graph/nodes';
import type { Keys } from '../local/request';
import { managedThreads } from './managed-pools';
import { type PoolRunOptions, runOnPool } from './run-on-pool';
import type { ThreadPool } from './worker-pool';

/**
 * Options of {@link getThreads}.
 *
 * @interface
 * @group Schedulers
 * @example
 * ```ts
 * import { getThreads, task, type ThreadsOptions } from 'spanwise';
 *
 * const options: ThreadsOptions = { numWorkers: 2, signal: AbortSignal.timeout(60_000) };
 * console.log(await getThreads({ a: task(() => 6 * 7) }, 'a', options)); // → 42
 * ```
 */
export type ThreadsOptions = PoolRunOptions<ThreadPool>;

/**
 * Computes keys of a graph in worker threads.
 *
 * Functions must be able to leave this thread: `module(url, name)`, or functions that use nothing from outside their own text. Arguments
 * and results are copied as `structuredClone` does; `SharedArrayBuffer`s are shared, large buffers in results are moved where the function
 * cannot have kept them.
 *
 * @param keys - a key, or keys in lists nested at will: the answer has the same form.
 * @returns a promise of the answer; rejected with a `GraphError`, with a `NotPortableError` before anything runs, with what a task or a
 * callback throws, with a `WorkerEndedError` if a thread died, or with the signal's reason.
 *
 * @group Schedulers
 * @example
 * ```ts
 * import { getThreads, ref, task } from 'spanwise';
 *
 * // The text of the function goes to the threads, so it must stand on its own.
 * function countPrimes(from: number, to: number): number {
 *   const isPrime = (n: number) => {
 *     for (let d = 2; d * d <= n; d++) {
 *       if (n % d === 0) return false;
 *     }
 *     return n > 1;
 *   };
 *   let count = 0;
 *   for (let n = from; n < to; n++) count += Number(isPrime(n));
 *   return count;
 * }
 * const graph = {
 *   low: task(countPrimes, 0, 5_000),
 *   high: task(countPrimes, 5_000, 10_000),
 *   all: task((a: number, b: number) => a + b, ref('low'), ref('high'))
 * };
 * console.log(await getThreads(graph, ['all', ['low', 'high']])); // → [ 1229, [ 669, 560 ] ]
 * ```
 */
export async function getThreads<R = unknown>(
  graph: Graph,
  keys: Keys,
  options: ThreadsOptions = {}
): Promise<NoInfer<R>> {
  return (await runOnPool(graph, keys, options, {
    kind: 'threads',
    chunkSize: 1,
    shared: size => managedThreads.ofAtLeast(size)
  })) as NoInfer<R>;
}
