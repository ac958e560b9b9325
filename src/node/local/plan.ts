import { reachableFrom } from '../graph/cull';
import { type Edges, reversed } from '../../order/edges';
import { GraphError, MissingDependencyError } from '../graph/graph-errors';
import { IndexedGraph } from '../graph/indexed-graph';
import { type Key, type KeyMap, keyText } from '../graph/key';
import type { Node } from '../graph/nodes';
import { orderOf } from '../graph/order';

/**
 * The fixed part of a run, by dense ids: the part of the graph that the request reaches, and the order that breaks ties.
 */
export class RunPlan {
  readonly graph: IndexedGraph;
  /** Nodes and external keys that the request reaches. */
  readonly reached: Uint8Array;
  readonly reachedCount: number;
  readonly requested: Uint8Array;
  readonly dependencies: Edges;
  /** Among reached ids; in each list those that the static order puts last come first. */
  readonly dependents: Edges;
  /** Reached nodes, those that the static order puts last first. */
  readonly lastFirst: Int32Array;

  /**
   * @param nodes - the whole graph; cycles are looked for in all of it.
   * @param keys - the request.
   * @param isCached - whether a value is there for a key that the graph lacks.
   * @throws CycleError
   * @throws MissingDependencyError
   */
  constructor(
    nodes: KeyMap<Node>,
    keys: readonly Key[],
    isCached: (key: Key) => boolean
  ) {
    const graph = (this.graph = new IndexedGraph(nodes, keys));
    const numbers = orderOf(graph);
    const byNumber = new Int32Array(graph.nodeCount);
    for (let id = 0; id < graph.nodeCount; id++) {
      byNumber[numbers[id]!] = id;
    }
    const ids = graph.asked;
    this.requested = new Uint8Array(graph.size);
    for (const id of ids) {
      this.requested[id] = 1;
    }
    this.reached = reachableFrom(graph, ids);
    this.lastFirst = new Int32Array(graph.nodeCount);
    let count = 0;
    for (let number = graph.nodeCount - 1; number >= 0; number--) {
      if (this.reached[byNumber[number]!] === 1) {
        this.lastFirst[count++] = byNumber[number]!;
      }
    }
    this.lastFirst = this.lastFirst.subarray(0, count);
    for (let id = graph.nodeCount; id < graph.size; id++) {
      count += this.reached[id]!;
    }
    this.reachedCount = count;
    this.dependencies = graph.dependencies;
    this.dependents = reversed(graph.dependencies, this.lastFirst);
    this._checkExternals(isCached);
  }

  keyOf(id: number): Key {
    return this.graph.keys[id]!;
  }

  private _checkExternals(isCached: (key: Key) => boolean): void {
    const { start, ids } = this.dependents;
    for (let id = this.graph.nodeCount; id < this.graph.size; id++) {
      const key = this.keyOf(id);
      if (start[id]! < start[id + 1]! && !isCached(key)) {
        const dependents = ids.subarray(start[id], start[id + 1]);
        throw new MissingDependencyError(
          key,
          Array.from(dependents, user => this.keyOf(user))
        );
      }
    }
  }
}

/** What was asked for: a key, or a list of such in which the answer is nested. */
export type Request = { readonly key: Key } | readonly Request[];

/** The keys of a request, from left to right. */
export function keysIn(request: Request): Key[] {
  const keys: Key[] = [];
  const visit = (part: Request): void => {
    if ('key' in part) {
      keys.push(part.key);
    } else {
      part.forEach(visit);
    }
  };
  visit(request);
  return keys;
}

/** Says that an array could be meant in two ways. */
export function ambiguousRequest(key: Key): GraphError {
  return new GraphError(
    `${keyText(key)} is a key, and its parts are keys too: write ref([…]) for the tuple, or list the parts as refs.`
  );
}
