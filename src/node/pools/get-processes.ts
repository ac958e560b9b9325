import { cull } from '../graph/cull';
import { checkedGraph } from '../graph/graph';
import { UnknownKeyError } from '../graph/graph-errors';
import type { Key } from '../graph/key';
import type { Graph } from '../graph/nodes';
import { keysIn } from '../local/plan';
import { type Keys, requestOf } from '../local/request';
import type { Cache } from '../local/state';
import { managedProcesses } from './managed-pools';
import { type PoolRunOptions, runOnPool } from './run-on-pool';
import type { ProcessPool } from './worker-pool';

/**
 * Options of {@link getProcesses}.
 *
 * @interface
 * @group Schedulers
 * @example
 * ```ts
 * import { getProcesses, task, type ProcessesOptions } from 'spanwise';
 *
 * const options: ProcessesOptions = { numWorkers: 2, chunkSize: 1 };
 * console.log(await getProcesses({ a: task(() => 6 * 7) }, 'a', options)); // → 42
 * ```
 */
export type ProcessesOptions = PoolRunOptions<ProcessPool>;

/** Tasks per batch, as Dask has it. */
const CHUNK_SIZE = 6;

/**
 * Computes keys of a graph in child processes: for functions that may crash, or that need memory of their own.
 *
 * Functions, arguments, results and errors as with `getThreads`, but nothing can be shared: a `SharedArrayBuffer` is refused.
 *
 * @param keys - a key, or keys in lists nested at will: the answer has the same form.
 * @returns a promise of the answer; rejected as that of `getThreads`.
 *
 * @group Schedulers
 * @example
 * ```ts
 * import { getProcesses, ref, task } from 'spanwise';
 *
 * const graph = {
 *   parent: process.pid,
 *   isElsewhere: task((parent: number) => process.pid !== parent, ref('parent'))
 * };
 * console.log(await getProcesses(graph, 'isElsewhere')); // → true
 * ```
 */
export async function getProcesses<R = unknown>(
  graph: Graph,
  keys: Keys,
  options: ProcessesOptions = {}
): Promise<NoInfer<R>> {
  return (await runOnPool(neededOf(graph, keys, options.cache), keys, options, {
    kind: 'processes',
    chunkSize: CHUNK_SIZE,
    shared: size => managedProcesses.ofAtLeast(size)
  })) as NoInfer<R>;
}

/**
 * The part of the graph that the request needs: callbacks see no more, and a mistake elsewhere does not matter.
 *
 * @throws UnknownKeyError if a requested key is nowhere, before any callback is called.
 */
function neededOf(graph: Graph, keys: Keys, cache: Cache | undefined): Graph {
  const nodes = checkedGraph(graph);
  const isCached = (key: Key) => cache?.has(key) === true;
  const wanted = keysIn(
    requestOf(keys, key => nodes.has(key) || isCached(key))
  );
  const unknown = wanted.find(key => !nodes.has(key) && !isCached(key));
  if (unknown !== undefined) {
    throw new UnknownKeyError(unknown);
  }
  return cull(nodes, wanted);
}
