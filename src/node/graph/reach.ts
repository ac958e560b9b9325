import { degree, type Edges } from './edges';

/**
 * A set of ids as pairs (word, bits): the id 32 × word + b is in it if bit b is set.
 *
 * ```
 *   {3, 5, 64}  →  [ 0, 0b101000,  2, 0b1 ]
 * ```
 *
 * Roots next to each other share a word, so the sets of a tree's levels take a thirty-second of what lists would. Most sets are small, and
 * small plain arrays are made faster than typed ones.
 */
type Words = readonly number[];

/** Of every id, what it can reach among the ids at the far end of the edges. */
export type Reach = {
  /** How many far ends; 0 for a far end itself. */
  readonly counts: Int32Array;
  /** The largest `weight` among them; of a far end its own. */
  readonly largest: Int32Array;
  /** Per id of `keep`, the far ends as a set; see {@link forEachIn}. */
  readonly sets: (Words | undefined)[];
};

/**
 * Finds which far ends (ids without edges) each id reaches by `edges`.
 *
 * A set is forgotten as soon as everything that needs it is counted, so that memory follows the width of the graph, not its size.
 *
 * @param edges - towards the far ends; no cycles.
 * @param back - the same edges, the other way.
 * @param weights - per far end, see {@link Reach.largest}.
 * @param keep - ids whose sets are wanted.
 */
export function reachOf(
  edges: Edges,
  back: Edges,
  weights: (id: number) => number,
  keep: (id: number) => boolean
): Reach {
  const count = edges.start.length - 1;
  const counts = new Int32Array(count);
  const largest = new Int32Array(count);
  const sets: (Words | undefined)[] = new Array<Words | undefined>(count);
  const missing = new Int32Array(count);
  const readers = new Int32Array(count);
  const stack: number[] = [];
  const scratch = new UnionScratch((count >> 5) + 1);
  for (let id = 0; id < count; id++) {
    missing[id] = degree(edges, id);
    readers[id] = degree(back, id);
    if (missing[id] === 0) {
      sets[id] = readers[id]! > 0 ? [id >> 5, 1 << (id & 31)] : undefined;
      counts[id] = 1;
      largest[id] = weights(id);
      stack.push(id);
    }
  }
  const farEnds = stack.slice();
  while (stack.length > 0) {
    const id = stack.pop()!;
    const first = edges.start[id]!;
    const end = edges.start[id + 1]!;
    if (first < end) {
      let biggest = edges.ids[first]!;
      let shared = true;
      for (let at = first; at < end; at++) {
        const far = edges.ids[at]!;
        largest[id] = Math.max(largest[id]!, largest[far]!);
        shared &&= sets[far] === sets[biggest];
        if (counts[far]! > counts[biggest]!) {
          biggest = far;
        }
      }
      if (shared) {
        sets[id] = sets[biggest];
        counts[id] = counts[biggest]!;
      } else {
        for (let at = first; at < end; at++) {
          scratch.add(sets[edges.ids[at]!]!);
        }
        const { words, members } = scratch.take();
        // A union as large as its largest part is that part.
        sets[id] = members === counts[biggest] ? sets[biggest] : words;
        counts[id] = members;
      }
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
  return { counts, largest, sets };
}

/** Calls `visit` with every id of a set. */
export function forEachIn(
  words: Words | undefined,
  visit: (id: number) => void
): void {
  if (words === undefined) {
    return;
  }
  for (let at = 0; at < words.length; at += 2) {
    let bits = words[at + 1]!;
    while (bits !== 0) {
      const lowest = 31 - Math.clz32(bits & -bits);
      visit((words[at]! << 5) + lowest);
      bits &= bits - 1;
    }
  }
}

/** Adds up sets in one array of words that is as long as the universe and empty between two unions. */
class UnionScratch {
  private readonly _bits: Int32Array;
  private readonly _touched: Int32Array;
  private _count = 0;

  constructor(words: number) {
    this._bits = new Int32Array(words);
    this._touched = new Int32Array(words);
  }

  add(words: Words): void {
    for (let at = 0; at < words.length; at += 2) {
      const word = words[at]!;
      if (this._bits[word] === 0) {
        this._touched[this._count++] = word;
      }
      this._bits[word]! |= words[at + 1]!;
    }
  }

  /** The union, which is then forgotten here. */
  take(): { words: Words; members: number } {
    // Of just the size: there is one for most ids, and what grows takes 17 places at once.
    const words = new Array<number>(2 * this._count);
    let members = 0;
    for (let i = 0; i < this._count; i++) {
      const word = this._touched[i]!;
      const bits = this._bits[word]!;
      words[2 * i] = word;
      words[2 * i + 1] = bits;
      members += bitCount(bits);
      this._bits[word] = 0;
    }
    this._count = 0;
    return { words, members };
  }
}

/** How many of the 32 bits are set: counted in pairs, fours and bytes, all at once. */
function bitCount(bits: number): number {
  bits -= (bits >>> 1) & 0x55555555;
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
