import { degree, type Edges } from './edges';

/**
 * Of every id, what it can reach among the ids at the far end of the edges.
 *
 * Sets of more than {@link SAMPLE} ids are kept as a sample: the ids with the smallest scrambled numbers. The sample of a union is made of
 * the samples of its parts, so that a graph of n ids costs n times a constant, where whole sets cost n² for a chain that takes up one root
 * per link. Whether two ids are in a sample does not depend on each other, so a part of a set shows in its sample as a like part.
 */
export type Reach = {
  /** How many far ends; 0 for a far end itself. Of more than {@link SAMPLE} about how many: ± 40 %. */
  readonly counts: Int32Array;
  /** The largest `weight` among them; of a far end its own. */
  readonly largest: Int32Array;
  /** Per id of `keep` at most {@link SAMPLE} of its far ends; all, if there are no more. */
  readonly samples: readonly (readonly number[] | undefined)[];
};

/**
 * The size up to which sets are exact. With 64 the orders of large graphs hold no fewer results than with 8, and 600,000 edges take four
 * times as long.
 */
export const SAMPLE = 8;

/**
 * Finds which far ends (ids without edges) each id reaches by `edges`.
 *
 * A set is forgotten as soon as everything that needs it is counted, so that memory follows the width of the graph, not its size.
 *
 * @param edges - towards the far ends; no cycles.
 * @param back - the same edges, the other way.
 * @param weights - per far end, see {@link Reach.largest}.
 * @param keep - ids whose samples are wanted.
 * @param most - how large samples are; {@link SAMPLE} but in tests.
 */
export function reachOf(
  edges: Edges,
  back: Edges,
  weights: (id: number) => number,
  keep: (id: number) => boolean,
  most = SAMPLE
): Reach {
  const count = edges.start.length - 1;
  const counts = new Int32Array(count);
  const largest = new Int32Array(count);
  const sets: (readonly number[] | undefined)[] = new Array<undefined>(count);
  const missing = new Int32Array(count);
  const readers = new Int32Array(count);
  const stack: number[] = [];
  for (let id = 0; id < count; id++) {
    missing[id] = degree(edges, id);
    readers[id] = degree(back, id);
    if (missing[id] === 0) {
      sets[id] = readers[id]! > 0 ? [scrambled(id)] : undefined;
      counts[id] = 1;
      largest[id] = weights(id);
      stack.push(id);
    }
  }
  const farEnds = stack.slice();
  const union = new Union(most);
  while (stack.length > 0) {
    const id = stack.pop()!;
    const first = edges.start[id]!;
    const end = edges.start[id + 1]!;
    if (first < end) {
      for (let at = first; at < end; at++) {
        const far = edges.ids[at]!;
        largest[id] = Math.max(largest[id]!, largest[far]!);
        union.add(sets[far]!);
      }
      const set = (sets[id] = union.take());
      counts[id] = Math.min(sizeOf(set, most), farEnds.length);
      for (let at = first; at < end; at++) {
        const far = edges.ids[at]!;
        if (--readers[far]! === 0 && !keep(far)) {
          sets[far] = undefined;
        }
      }
    }
    for (let at = back.start[id]!; at < back.start[id + 1]!; at++) {
      const near = back.ids[at]!;
      if (--missing[near]! === 0) {
        stack.push(near);
      }
    }
    if (readers[id] === 0 && !keep(id)) {
      sets[id] = undefined;
    }
  }
  for (const id of farEnds) {
    counts[id] = 0;
    sets[id] = undefined;
  }
  const samples = sets.map(set => set?.map(unscrambled));
  return { counts, largest, samples };
}

/** Joins sets of ascending numbers and keeps the smallest. */
class Union {
  /** So far: a set that was added, or `_own`. */
  private _set = EMPTY;
  private _length = 0;
  private _own: number[];
  private _spare: number[];

  constructor(private readonly _most: number) {
    this._own = new Array<number>(_most).fill(0);
    this._spare = this._own.slice();
  }

  add(other: readonly number[]): void {
    const most = this._most;
    const set = this._set;
    const setEnd = this._length;
    const otherEnd = other.length;
    if (set === other || (setEnd === most && other[0]! > set[most - 1]!)) {
      return;
    }
    const joined = this._spare;
    let i = 0;
    let j = 0;
    let length = 0;
    // Which of two is smaller cannot be foreseen: signs as masks instead of branches take a third of the time.
    while (length < most && i < setEnd && j < otherEnd) {
      const difference = set[i]! - other[j]!;
      const isLess = difference >> 31;
      joined[length++] = other[j]! + (difference & isLess);
      i += 1 + (-difference >> 31);
      j += 1 + isLess;
    }
    const equal = i + j - length;
    while (length < most && i < setEnd) {
      joined[length++] = set[i++]!;
    }
    while (length < most && j < otherEnd) {
      joined[length++] = other[j++]!;
    }
    if (j === equal) {
      return;
    }
    if (i === equal) {
      this._set = other;
      this._length = otherEnd;
      return;
    }
    this._spare = this._own;
    this._own = joined;
    this._set = joined;
    this._length = length;
  }

  /** The set, one of those added if that has them all; the next one begins empty. */
  take(): readonly number[] {
    const set = this._set;
    const taken = set === this._own ? set.slice(0, this._length) : set;
    this._set = EMPTY;
    this._length = 0;
    return taken;
  }
}

const EMPTY: readonly number[] = [];

/** Exact below `most`; else from how close together the smallest scrambled numbers lie. */
function sizeOf(set: readonly number[], most: number): number {
  return set.length < most
    ? set.length
    : Math.max(most, Math.round(((most - 1) * RANGE) / (set[most - 1]! + 1)));
}

// Numbers of 30 bits are small integers to V8. An odd factor has an inverse modulo a power of two: 0x9e3779b1 is 2^32 / golden ratio.
const RANGE = 2 ** 30;
const FACTOR = 0x9e3779b1;
const INVERSE = inverseOf(FACTOR);

function scrambled(id: number): number {
  const mixed = Math.imul(id, FACTOR) & (RANGE - 1);
  return Math.imul(mixed ^ (mixed >>> 15), FACTOR) & (RANGE - 1);
}

function unscrambled(number: number): number {
  const mixed = Math.imul(number, INVERSE) & (RANGE - 1);
  return Math.imul(mixed ^ (mixed >>> 15), INVERSE) & (RANGE - 1);
}

/** By Newton's method: each step doubles the bits that are right, of which an odd number has three. */
function inverseOf(odd: number): number {
  let inverse = odd;
  for (let step = 0; step < 4; step++) {
    inverse = Math.imul(inverse, 2 - Math.imul(odd, inverse));
  }
  return inverse;
}
