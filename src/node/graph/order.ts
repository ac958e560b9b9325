import { LoopFound, staticOrder } from '../../order/static-order';
import { checkedGraph } from './graph';
import { CycleError } from './graph-errors';
import { IndexedGraph } from './indexed-graph';
import { KeyMap } from './key';
import type { Graph } from './nodes';

/**
 * The static order of a graph: a number per key, smaller ones first, so that few results are held at a time. Schedulers choose by it among
 * the tasks that could run.
 *
 * @returns a permutation of 0 … n − 1 over the graph's keys that goes with the dependencies; data included, keys outside the graph not.
 * @throws CycleError if tasks wait for each other.
 *
 * @group Graphs
 * @example
 * ```ts
 * import { order, ref, task } from 'spanwise';
 *
 * const inc = (x: number) => x + 1;
 * const graph = {
 *   a: task(inc, 0),
 *   x: task(inc, 10),
 *   b: task(inc, ref('a')),
 *   y: task(inc, ref('x'))
 * };
 * // One chain after the other: a need not be kept while x is computed.
 * console.log([...order(graph)].sort(([, m], [, n]) => m - n).map(([key]) => key)); // → [ 'a', 'b', 'x', 'y' ]
 * ```
 */
export function order(graph: Graph): KeyMap<number> {
  const indexed = new IndexedGraph(checkedGraph(graph));
  const numbers = orderOf(indexed);
  return new KeyMap(
    indexed.keys
      .slice(0, indexed.nodeCount)
      .map((key, id) => [key, numbers[id]!] as const)
  );
}

/**
 * The static order by id; −1 for keys outside the graph.
 *
 * @throws CycleError
 */
export function orderOf(graph: IndexedGraph): Int32Array {
  const { dependencies, nodeCount } = graph;
  const data = Uint8Array.from(graph.nodes, (_, id) =>
    Number(graph.isData(id))
  );
  try {
    return staticOrder({ dependencies, data, nodeCount });
  } catch (error) {
    throw error instanceof LoopFound
      ? new CycleError(error.ids.map(id => graph.keys[id]!))
      : error;
  }
}
