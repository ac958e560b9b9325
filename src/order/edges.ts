/**
 * Lists of ids per id, one after the other in one array.
 *
 * ```
 *   0 → 1, 2      start [ 0 2 2 3 ]
 *   1 →           ids   [ 1 2 0 ]
 *   2 → 0
 * ```
 */
export type Edges = {
  /** Where each list begins, and where the last one ends. */
  readonly start: Int32Array;
  readonly ids: Int32Array;
};

export function degree(edges: Edges, id: number): number {
  return edges.start[id + 1]! - edges.start[id]!;
}

/** A copy as a plain array: making a view of a typed array takes ten times as long as reading a short list. */
export function listOf(edges: Edges, id: number): number[] {
  const list: number[] = [];
  for (let at = edges.start[id]!; at < edges.start[id + 1]!; at++) {
    list.push(edges.ids[at]!);
  }
  return list;
}

/**
 * The same edges, listed by their other end.
 *
 * @param inOrder - ids in the order in which they shall appear in the new lists; by default ascending. Those left out have no edges.
 */
export function reversed(edges: Edges, inOrder?: Int32Array): Edges {
  const count = edges.start.length - 1;
  const from = inOrder ?? idsUpTo(count);
  const start = new Int32Array(count + 1);
  // (by index: an iterator takes twice as long)
  for (let place = 0; place < from.length; place++) {
    const id = from[place]!;
    for (let at = edges.start[id]!; at < edges.start[id + 1]!; at++) {
      start[edges.ids[at]! + 1]!++;
    }
  }
  for (let id = 0; id < count; id++) {
    start[id + 1]! += start[id]!;
  }
  const next = start.slice(0, count);
  const ids = new Int32Array(start[count]!);
  for (let place = 0; place < from.length; place++) {
    const id = from[place]!;
    for (let at = edges.start[id]!; at < edges.start[id + 1]!; at++) {
      ids[next[edges.ids[at]!]!++] = id;
    }
  }
  return { start, ids };
}

/** Whether each list ascends. */
export function areAscending({ start, ids }: Edges): boolean {
  for (let id = 0; id + 1 < start.length; id++) {
    for (let at = start[id]! + 1; at < start[id + 1]!; at++) {
      if (ids[at - 1]! > ids[at]!) {
        return false;
      }
    }
  }
  return true;
}

/** 0 … `count` − 1. */
export function idsUpTo(count: number): Int32Array {
  const ids = new Int32Array(count);
  for (let id = 0; id < count; id++) {
    ids[id] = id;
  }
  return ids;
}
