import type { Graph } from '../graph/nodes';
import type { Keys } from '../local/request';
import { managedThreads } from './managed-pools';
import { type PoolRunOptions, runOnPool } from './run-on-pool';
import type { ThreadPool } from './worker-pool';

export type ThreadsOptions = PoolRunOptions<ThreadPool>;

/**
 * Computes keys of a graph in worker threads.
 *
 * ```ts
 * const graph = { a: 1, b: task((x, y) => x + y, ref('a'), 10) };
 * await getThreads(graph, 'b');                                             // 11
 * ```
 *
 * Functions must be able to leave this thread: `module(url, name)`, or functions that use nothing from outside their own text. Arguments
 * and results are copied as `structuredClone` does; `SharedArrayBuffer`s are shared, large buffers in results are moved where the function
 * cannot have kept them.
 *
 * @param keys - a key, or keys in lists nested at will: the answer has the same form.
 * @returns a promise of the answer; rejected with a `GraphError`, with a `NotPortableError` before anything runs, with what a task or a
 * callback throws, with a `WorkerEndedError` if a thread died, or with the signal's reason.
 */
export async function getThreads<R = unknown>(
  graph: Graph,
  keys: Keys,
  options: ThreadsOptions = {}
): Promise<R> {
  return (await runOnPool(graph, keys, options, 1, size =>
    managedThreads.ofAtLeast(size)
  )) as R;
}
