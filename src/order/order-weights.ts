import { degree, type Edges } from './edges';

/** What the static order compares keys by. */
export class OrderWeights {
  /** 1 + the totals of the dependencies: shared ancestors count as often as they are reached. */
  private readonly _totals: Float64Array;

  constructor(
    private readonly _dependencies: Edges,
    totals: Float64Array,
    /** Connected roots of each id. */
    private readonly _roots: Int32Array,
    /** The largest number of dependents among those. */
    private readonly _largestRoot: Int32Array
  ) {
    this._totals = totals;
  }

  /**
   * Negative if `a` sorts before `b`: by total, number of dependencies, number of connected roots, and the largest of them first. Ids
   * that are still equal are compared by their place in the graph, never by name; since large ones are begun first, equal tasks then run
   * in the graph's order.
   */
  readonly compare = (a: number, b: number): number => {
    const totalA = this._totals[a]!;
    const totalB = this._totals[b]!;
    // Totals double with every diamond and may reach infinity, whose difference would be no number.
    if (totalA !== totalB) {
      return totalA < totalB ? -1 : 1;
    }
    return (
      degree(this._dependencies, a) - degree(this._dependencies, b) ||
      this._roots[a]! - this._roots[b]! ||
      this._largestRoot[b]! - this._largestRoot[a]! ||
      b - a
    );
  };
}

/**
 * Counts, per id, 1 + the sum over its dependencies.
 *
 * @returns the totals; 0 where a cycle keeps an id from being counted.
 */
export function totalsOf(dependencies: Edges, dependents: Edges): Float64Array {
  const count = dependencies.start.length - 1;
  const totals = new Float64Array(count);
  const missing = new Int32Array(count);
  const stack: number[] = [];
  for (let id = 0; id < count; id++) {
    missing[id] = degree(dependencies, id);
    if (missing[id] === 0) {
      stack.push(id);
    }
  }
  while (stack.length > 0) {
    const id = stack.pop()!;
    let total = 1;
    const end = dependencies.start[id + 1]!;
    for (let at = dependencies.start[id]!; at < end; at++) {
      total += totals[dependencies.ids[at]!]!;
    }
    totals[id] = total;
    for (let at = dependents.start[id]!; at < dependents.start[id + 1]!; at++) {
      const user = dependents.ids[at]!;
      if (--missing[user]! === 0) {
        stack.push(user);
      }
    }
  }
  return totals;
}

/**
 * A loop among ids that all wait for another.
 *
 * @param uncounted - ids in loops or behind them; at least one.
 * @returns the ids of one loop, the first one again at its end.
 */
export function loopAmong(
  dependencies: Edges,
  uncounted: (id: number) => boolean
): number[] {
  const count = dependencies.start.length - 1;
  let id = 0;
  while (id < count && !uncounted(id)) {
    id++;
  }
  // Each of them depends on at least one other of them, so following those must come back to a place it has been.
  const places = new Map<number, number>();
  const path: number[] = [];
  while (!places.has(id)) {
    places.set(id, path.length);
    path.push(id);
    const end = dependencies.start[id + 1]!;
    let at = dependencies.start[id]!;
    while (at < end && !uncounted(dependencies.ids[at]!)) {
      at++;
    }
    id = dependencies.ids[at]!;
  }
  return [...path.slice(places.get(id)), id];
}
