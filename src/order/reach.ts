import { degree, type Edges } from './edges';

/**
 * Which far ends (ids without edges) each id reaches.
 *
 * Sets of more than {@link SAMPLE} ids are kept as a sample: the ids with the smallest scrambled numbers. The sample of a union is made of
 * the samples of its parts, so a graph of n ids costs n times a constant; whole sets would cost n² for a chain that takes up one root per
 * link. Ids are sampled independently of each other, so a share of a set has about the same share of its sample.
 */
export type Reach = {
  /** How many far ends it reaches; 0 for a far end itself. Above {@link SAMPLE} an estimate: ± 40 %. */
  readonly counts: Int32Array;
  /** The largest `weight` among them; for a far end its own. */
  readonly largest: Int32Array;
  /** For each id of `keep` at most {@link SAMPLE} of its far ends; all, if there are no more. */
  readonly samples: Edges;
};

/**
 * The size up to which sets are exact. With 64 the orders of large graphs hold no fewer results than with 8, and 600,000 edges take four
 * times as long.
 */
export const SAMPLE = 8;

/**
 * Finds which far ends (ids without edges) each id reaches by `edges`.
 *
 * @param edges - towards the far ends; no cycles.
 * @param back - the same edges, the other way.
 * @param weights - per far end, see {@link Reach.largest}.
 * @param keep - ids whose samples are wanted.
 * @param most - how large samples are; {@link SAMPLE} except in tests.
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
  const search = new ReachSearch(edges, back, weights, keep, most);
  for (let id = 0; id < count; id++) {
    counts[id] = search.countOf(id);
  }
  return { counts, largest: search.largest, samples: search.samples() };
}

/**
 * Counts what the ids that are asked for reach, and the ids on the way.
 *
 * A set is forgotten as soon as every id that needs it is counted, so memory grows with the number of open sets, not with the graph.
 */
export class ReachSearch {
  readonly largest: Int32Array;
  private readonly _counts: Int32Array;
  /** Where an id's set begins in `_sets`, or UNCOUNTED, or NO_SET. */
  private readonly _places: Int32Array;
  /** An id's first edge that may lead to an uncounted id. */
  private readonly _cursors: Int32Array;
  /** How many uncounted ids need an id's set; one more if the set is to be kept. */
  private readonly _readers: Int32Array;
  /** Sets: `_most` ascending numbers, filled up with {@link RANGE}. The first set stands for the far end under consideration. */
  private _sets: Int32Array;
  private readonly _free: number[] = [];
  private _end: number;
  /** The ids that are being counted; each is needed by the one before. */
  private readonly _open: number[] = [];
  private _union: Int32Array;
  private _spare: Int32Array;
  private _farEnds = 0;

  constructor(
    private readonly _edges: Edges,
    back: Edges,
    weights: (id: number) => number,
    keep: (id: number) => boolean,
    private readonly _most: number
  ) {
    const count = _edges.start.length - 1;
    this.largest = new Int32Array(count);
    this._counts = new Int32Array(count);
    this._places = new Int32Array(count).fill(UNCOUNTED);
    this._cursors = _edges.start.slice(0, count);
    this._readers = new Int32Array(count);
    for (let id = 0; id < count; id++) {
      if (degree(_edges, id) === 0) {
        this._places[id] = NO_SET;
        this.largest[id] = weights(id);
        this._farEnds++;
      } else {
        this._readers[id] = degree(back, id) + Number(keep(id));
      }
    }
    this._sets = new Int32Array(64 * _most).fill(RANGE);
    this._end = _most;
    this._union = new Int32Array(_most);
    this._spare = new Int32Array(_most);
  }

  /** See {@link Reach.counts}. */
  countOf(asked: number): number {
    if (this._places[asked] === UNCOUNTED) {
      const { start, ids } = this._edges;
      const open = this._open;
      open.push(asked);
      while (open.length > 0) {
        const id = open[open.length - 1]!;
        const end = start[id + 1]!;
        let at = this._cursors[id]!;
        while (at < end && this._places[ids[at]!] !== UNCOUNTED) {
          at++;
        }
        this._cursors[id] = at;
        if (at < end) {
          open.push(ids[at]!);
        } else {
          open.pop();
          this._join(id);
        }
      }
    }
    return this._counts[asked]!;
  }

  /** See {@link Reach.samples}. */
  samples(): Edges {
    const count = this._counts.length;
    const start = new Int32Array(count + 1);
    const ids: number[] = [];
    for (let id = 0; id < count; id++) {
      const place = this._places[id]!;
      if (place >= 0) {
        const end = place + this._most;
        for (let at = place; at < end && this._sets[at]! < RANGE; at++) {
          ids.push(unscrambled(this._sets[at]!));
        }
      }
      start[id + 1] = ids.length;
    }
    return { start, ids: Int32Array.from(ids) };
  }

  /** Unites the sets of all that the id's edges lead to. */
  private _join(id: number): void {
    const { start, ids } = this._edges;
    const first = start[id]!;
    const end = start[id + 1]!;
    const most = this._most;
    const sets = this._sets;
    let union = this._union;
    let joined = this._spare;
    let largest = 0;
    for (let at = first; at < end; at++) {
      const far = ids[at]!;
      largest = Math.max(largest, this.largest[far]!);
      let place = this._places[far]!;
      if (place === NO_SET) {
        place = 0;
        sets[0] = scrambled(far);
      }
      if (at === first) {
        for (let i = 0; i < most; i++) {
          union[i] = sets[place + i]!;
        }
        continue;
      }
      if (sets[place]! > union[most - 1]!) {
        continue;
      }
      // Branches on which number is smaller cannot be predicted: masks made from signs take a third of the time. Both sets are filled up
      // with RANGE, so the loop need not ask whether one has ended.
      for (let length = 0, i = 0; length < most; length++) {
        const own = union[i]!;
        const other = sets[place]!;
        const difference = own - other;
        const isLess = difference >> 31;
        joined[length] = other + (difference & isLess);
        i += 1 + (-difference >> 31);
        place += 1 + isLess;
      }
      const before = union;
      union = joined;
      joined = before;
    }
    this._union = union;
    this._spare = joined;
    this.largest[id] = largest;
    this._counts[id] = Math.min(sizeOf(union), this._farEnds);
    for (let at = first; at < end; at++) {
      const far = ids[at]!;
      if (--this._readers[far]! === 0) {
        this._free.push(this._places[far]!);
        this._places[far] = NO_SET;
      }
    }
    this._places[id] = this._readers[id]! > 0 ? this._kept(union) : NO_SET;
  }

  /** Copies the set into `_sets` and returns where. */
  private _kept(set: Int32Array): number {
    let place = this._free.pop();
    if (place === undefined) {
      place = this._end;
      this._end += this._most;
      if (this._end > this._sets.length) {
        const sets = new Int32Array(2 * this._sets.length);
        sets.set(this._sets);
        this._sets = sets;
      }
    }
    for (let i = 0; i < this._most; i++) {
      this._sets[place + i] = set[i]!;
    }
    return place;
  }
}

const UNCOUNTED = -1;
/** A far end, or nobody needs the set any longer. */
const NO_SET = -2;

/**
 * The size of a sampled set: exact if the sample is not full, else estimated from how close together the smallest scrambled numbers lie.
 */
function sizeOf(set: Int32Array): number {
  const last = set[set.length - 1]!;
  if (last === RANGE) {
    let size = 0;
    while (set[size] !== RANGE) {
      size++;
    }
    return size;
  }
  return Math.max(
    set.length,
    Math.round(((set.length - 1) * RANGE) / (last + 1))
  );
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

/** By Newton's method: each step doubles the number of correct bits; an odd number is its own inverse in three bits. */
function inverseOf(odd: number): number {
  let inverse = odd;
  for (let step = 0; step < 4; step++) {
    inverse = Math.imul(inverse, 2 - Math.imul(odd, inverse));
  }
  return inverse;
}
