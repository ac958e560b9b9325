import { RankedHeap } from '../base/ranked-heap';

/**
 * The leaves that are not numbered yet, grouped by how many roots each still needs (its degree), so that the next target needs few.
 *
 * Leaves of one degree are a linked list, so that moving a leaf to a lower degree costs nothing: the leaf of a tree with 16,384 roots moves
 * 16,384 times. Where targets are chosen, the list becomes a heap; entries whose leaf has moved on are skipped when they surface.
 */
export class TargetLeaves {
  private readonly _sorted: number[];
  private _next: number;
  private readonly _ranks: Int32Array;
  private readonly _degrees: Int32Array;
  private readonly _touched: Uint8Array;
  /** The first leaf of each degree, −1 if there is none. */
  private readonly _first: Int32Array;
  /** A leaf's neighbours in the list of its degree. */
  private readonly _after: Int32Array;
  private readonly _before: Int32Array;
  private readonly _heaps = new Map<number, Heaps>();
  private _least: number;
  private readonly _none: number;
  /** How many roots of a leaf's sample are not numbered. */
  private readonly _open: Int32Array;
  /** How many of a leaf's roots one root of its sample stands for. */
  private readonly _share: Float64Array;

  /**
   * @param size - number of ids.
   * @param ascending - the leaves by sort key.
   * @param longest - whether targets come from the end with the largest weights as long as no leaf
   * is begun.
   * @param rootsOf - connected roots of a leaf; 0 if it is a root itself.
   * @param sampleOf - for how many of them {@link TargetLeaves.rootDone} will be called; each stands for a share of the
   * others.
   */
  constructor(
    size: number,
    ascending: number[],
    longest: boolean,
    rootsOf: (leaf: number) => number,
    sampleOf: (leaf: number) => number
  ) {
    this._sorted = longest ? ascending : ascending.slice().reverse();
    this._next = ascending.length;
    this._ranks = new Int32Array(size);
    this._degrees = new Int32Array(size);
    this._touched = new Uint8Array(size);
    this._first = new Int32Array(size + 1).fill(-1);
    this._after = new Int32Array(size);
    this._before = new Int32Array(size);
    this._none = size;
    this._open = new Int32Array(size);
    this._share = new Float64Array(size);
    this._least = size;
    ascending.forEach((leaf, rank) => {
      this._ranks[leaf] = rank;
      const degree = rootsOf(leaf);
      if (degree > 0) {
        this._open[leaf] = sampleOf(leaf);
        this._share[leaf] = degree / sampleOf(leaf);
        this._least = Math.min(this._least, degree);
        this._add(leaf, degree);
      }
    });
  }

  /** A dependency of the leaf is numbered. */
  touch(leaf: number): void {
    if (this._touched[leaf] === 0) {
      this._touched[leaf] = 1;
      this._heaps
        .get(this._degrees[leaf]!)
        ?.touched.push(leaf, this._ranks[leaf]!);
    }
  }

  /** A root of the leaf's sample is numbered. */
  rootDone(leaf: number): void {
    const degree = this._degrees[leaf]!;
    if (degree > 0) {
      const left = Math.ceil(--this._open[leaf]! * this._share[leaf]!);
      this._remove(leaf, degree);
      if (left > 0) {
        this._least = Math.min(this._least, left);
        this._add(leaf, left);
      }
      this._findLeast();
    }
  }

  /** The leaf itself is numbered. */
  drop(leaf: number): void {
    const degree = this._degrees[leaf]!;
    if (degree > 0) {
      this._remove(leaf, degree);
      this._findLeast();
    }
  }

  /**
   * @param begun - whether some key that is not numbered depends on a numbered one.
   * @param done - whether a leaf is numbered.
   * @returns a leaf that is not numbered.
   */
  next(begun: boolean, done: (leaf: number) => boolean): number {
    if (begun && this._least < this._none) {
      const { all, touched } = this._heapsOf(this._least);
      const leaf = this._top(touched);
      return leaf >= 0 ? leaf : this._top(all);
    }
    let leaf = this._sorted[--this._next]!;
    while (done(leaf)) {
      leaf = this._sorted[--this._next]!;
    }
    return leaf;
  }

  private _add(leaf: number, degree: number): void {
    this._degrees[leaf] = degree;
    const after = this._first[degree]!;
    this._first[degree] = leaf;
    this._before[leaf] = -1;
    this._after[leaf] = after;
    if (after >= 0) {
      this._before[after] = leaf;
    }
    const heaps = this._heaps.size > 0 ? this._heaps.get(degree) : undefined;
    if (heaps !== undefined) {
      this._push(leaf, heaps);
    }
  }

  private _remove(leaf: number, degree: number): void {
    this._degrees[leaf] = 0;
    const before = this._before[leaf]!;
    const after = this._after[leaf]!;
    if (before >= 0) {
      this._after[before] = after;
    } else {
      this._first[degree] = after;
    }
    if (after >= 0) {
      this._before[after] = before;
    }
  }

  private _findLeast(): void {
    while (this._least < this._none && this._first[this._least]! < 0) {
      this._least++;
    }
  }

  private _heapsOf(degree: number): Heaps {
    let heaps = this._heaps.get(degree);
    if (heaps === undefined) {
      heaps = { all: new RankedHeap(), touched: new RankedHeap() };
      this._heaps.set(degree, heaps);
      let leaf = this._first[degree]!;
      while (leaf >= 0) {
        this._push(leaf, heaps);
        leaf = this._after[leaf]!;
      }
    }
    return heaps;
  }

  private _push(leaf: number, heaps: Heaps): void {
    heaps.all.push(leaf, this._ranks[leaf]!);
    if (this._touched[leaf] === 1) {
      heaps.touched.push(leaf, this._ranks[leaf]!);
    }
  }

  private _top(heap: RankedHeap): number {
    while (heap.length > 0 && this._degrees[heap.peek()] !== this._least) {
      heap.pop();
    }
    return heap.peek();
  }
}

/** The leaves of one degree, those first that sort first. */
type Heaps = { readonly all: RankedHeap; readonly touched: RankedHeap };
