import { RankedHeap } from '../../base/ranked-heap';

/**
 * The leaves that the static order has still to reach, by how many roots each still needs, so that the next target is one that needs few.
 *
 * A leaf moves to another heap when its degree falls and is not removed from the old one; what is found there and no longer belongs is
 * skipped.
 */
export class TargetLeaves {
  private readonly _sorted: number[];
  private _next: number;
  private readonly _ranks: Int32Array;
  private readonly _degrees: Int32Array;
  private readonly _touched: Uint8Array;
  private readonly _counts: Int32Array;
  private readonly _all = new Map<number, RankedHeap>();
  private readonly _touchedByDegree = new Map<number, RankedHeap>();
  private _least: number;
  private readonly _none: number;

  /**
   * @param size - number of ids.
   * @param ascending - the leaves by sort key.
   * @param longest - whether targets come from the large end while nothing decides between them.
   * @param rootsOf - connected roots of a leaf; 0 if it is a root itself.
   */
  constructor(
    size: number,
    ascending: number[],
    longest: boolean,
    rootsOf: (leaf: number) => number
  ) {
    this._sorted = longest ? ascending : ascending.slice().reverse();
    this._next = ascending.length;
    this._ranks = new Int32Array(size);
    this._degrees = new Int32Array(size);
    this._touched = new Uint8Array(size);
    this._counts = new Int32Array(size + 1);
    this._none = size;
    this._least = size;
    ascending.forEach((leaf, rank) => {
      this._ranks[leaf] = rank;
      const degree = rootsOf(leaf);
      if (degree > 0) {
        this._degrees[leaf] = degree;
        this._least = Math.min(this._least, degree);
        this._add(leaf, degree);
      }
    });
  }

  /** A dependency of the leaf is numbered. */
  touch(leaf: number): void {
    const degree = this._degrees[leaf]!;
    if (this._touched[leaf] === 0) {
      this._touched[leaf] = 1;
      if (degree > 0) {
        heapOf(this._touchedByDegree, degree).push(leaf, this._ranks[leaf]!);
      }
    }
  }

  /** A root that the leaf needs is numbered. */
  rootDone(leaf: number): void {
    const degree = this._degrees[leaf]!;
    if (degree === 0) {
      return;
    }
    this._degrees[leaf] = degree - 1;
    this._counts[degree]!--;
    if (degree > 1) {
      this._least = Math.min(this._least, degree - 1);
      this._add(leaf, degree - 1);
    } else {
      this._findLeast();
    }
  }

  /** The leaf itself is numbered. */
  drop(leaf: number): void {
    const degree = this._degrees[leaf]!;
    if (degree > 0) {
      this._degrees[leaf] = 0;
      this._counts[degree]!--;
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
      const touched = this._first(this._touchedByDegree.get(this._least));
      return touched >= 0 ? touched : this._first(this._all.get(this._least));
    }
    let leaf = this._sorted[--this._next]!;
    while (done(leaf)) {
      leaf = this._sorted[--this._next]!;
    }
    return leaf;
  }

  private _add(leaf: number, degree: number): void {
    this._counts[degree]!++;
    heapOf(this._all, degree).push(leaf, this._ranks[leaf]!);
    if (this._touched[leaf] === 1) {
      heapOf(this._touchedByDegree, degree).push(leaf, this._ranks[leaf]!);
    }
  }

  private _findLeast(): void {
    while (this._least < this._none && this._counts[this._least] === 0) {
      this._least++;
    }
  }

  private _first(heap: RankedHeap | undefined): number {
    while (heap !== undefined && heap.length > 0) {
      const leaf = heap.peek();
      if (this._degrees[leaf] === this._least) {
        return leaf;
      }
      heap.pop();
    }
    return -1;
  }
}

function heapOf(heaps: Map<number, RankedHeap>, degree: number): RankedHeap {
  let heap = heaps.get(degree);
  if (heap === undefined) {
    heap = new RankedHeap();
    heaps.set(degree, heap);
  }
  return heap;
}
