import { checkedGraph } from './graph';
import { IndexedGraph } from './indexed-graph';
import { type Key, KeyMap } from './key';
import type { Graph, Node } from './nodes';

/**
 * The part of a graph that some keys need: their nodes and all nodes on which these depend, in the graph's order. Keys that the graph does
 * not have are left out: their values are expected from elsewhere.
 *
 * Schedulers run only needed tasks anyway. Culling shows which these are, and makes a graph smaller to keep or to send.
 *
 * @throws TypeError if `graph` is no graph or one of its keys no key.
 *
 * @group Graphs
 * @example
 * ```ts
 * import { cull, ref, task } from 'spanwise';
 *
 * const graph = { a: 1, b: task(Math.abs, ref('a')), c: task(Math.sign, ref('a')) };
 * console.log([...cull(graph, ['b']).keys()]); // → [ 'a', 'b' ]
 * ```
 */
export function cull(graph: Graph, keys: Iterable<Key>): KeyMap<Node> {
  const indexed = new IndexedGraph(checkedGraph(graph));
  const needed = reachableFrom(
    indexed,
    Array.from(keys, key => indexed.idOf(key)).filter(id => id >= 0)
  );
  const kept = new KeyMap<Node>();
  for (let id = 0; id < indexed.nodeCount; id++) {
    if (needed[id] === 1) {
      kept.set(indexed.keys[id]!, indexed.nodes[id]!);
    }
  }
  return kept;
}

/** Marks, by id, the given ids and everything that they need, directly or not; external keys too. */
export function reachableFrom(
  graph: IndexedGraph,
  ids: Iterable<number>
): Uint8Array {
  const reached = new Uint8Array(graph.size);
  const stack: number[] = [];
  const reach = (id: number) => {
    if (reached[id] === 0) {
      reached[id] = 1;
      stack.push(id);
    }
  };
  for (const id of ids) {
    reach(id);
  }
  const { start, ids: targets } = graph.dependencies;
  while (stack.length > 0) {
    const id = stack.pop()!;
    for (let at = start[id]!; at < start[id + 1]!; at++) {
      reach(targets[at]!);
    }
  }
  return reached;
}
