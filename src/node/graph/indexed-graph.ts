import { type Edges } from '../../order/edges';
import { type Key, keyId, type KeyMap } from './key';
import { DataNode, type Node } from './nodes';
import { visitReferences } from './references';

/**
 * A checked graph by dense ids, so that code that walks it needs no keys.
 *
 * Nodes have the ids 0 … `nodeCount` − 1 in the graph's order; keys that are only referred to (or asked for) come after them.
 */
export class IndexedGraph {
  /** By id. */
  readonly keys: Key[];
  /** By id, of the nodes alone. */
  readonly nodes: readonly Node[];
  readonly nodeCount: number;
  /** Each node's dependencies, each once. External keys have none. */
  readonly dependencies: Edges;

  /** The ids of the keys asked for, in their order. */
  readonly asked: Int32Array;
  /** Ids of the keys that only others name. */
  private readonly _outside = new Map<string, number>();

  /**
   * @param _graph - its places are the ids; it is compacted now and must not lose entries afterwards.
   * @param asked - keys that get an id even if nothing in the graph has or needs them.
   */
  constructor(
    private readonly _graph: KeyMap<Node>,
    asked: readonly Key[] = []
  ) {
    const { keys, values } = _graph.compact();
    this.keys = keys;
    this.nodes = values;
    this.nodeCount = this.nodes.length;
    const { starts, ids } = this._findDependencies();
    this.asked = new Int32Array(asked.length);
    asked.forEach((key, place) => {
      this.asked[place] = this._idFor(key);
    });
    const start = new Int32Array(this.keys.length + 1).fill(ids.length);
    start.set(starts);
    this.dependencies = { start, ids: Int32Array.from(ids) };
  }

  /** Nodes and external keys. */
  get size(): number {
    return this.keys.length;
  }

  /** The id, or −1 for a key that the graph does not know. */
  idOf(key: Key): number {
    const place = this._graph.placeOf(key);
    // Nodes that a callback adds to the graph during a run have no ids.
    return place >= 0 && place < this.nodeCount
      ? place
      : (this._outside.get(keyId(key)) ?? -1);
  }

  isData(id: number): boolean {
    return this.nodes[id] instanceof DataNode;
  }

  private _findDependencies(): { starts: Int32Array; ids: number[] } {
    const starts = new Int32Array(this.nodeCount + 1);
    const ids: number[] = [];
    // For each id the last node that was seen to need it, so that no pair is listed twice.
    const neededBy: number[] = new Array<number>(this.nodeCount).fill(-1);
    let node = 0;
    const add = (key: Key) => {
      const id = this._idFor(key);
      if (neededBy[id] !== node) {
        neededBy[id] = node;
        ids.push(id);
      }
    };
    for (; node < this.nodeCount; node++) {
      visitReferences(this.nodes[node], add);
      starts[node + 1] = ids.length;
    }
    return { starts, ids };
  }

  private _idFor(key: Key): number {
    const known = this.idOf(key);
    if (known >= 0) {
      return known;
    }
    this._outside.set(keyId(key), this.keys.length);
    return this.keys.push(key) - 1;
  }
}
