import { grownColumn, nextCapacity } from './growable-columns';

/**
 * A binary min-heap of integer ids ordered by a number, smallest first, in two typed arrays.
 *
 * There is no removal from the middle: owners mark an entry dead in their own tables, skip it when it surfaces, and call
 * {@link RankedHeap.retain} when dead entries outnumber the living. Equal ranks surface in an order that depends only on the calls made.
 */
export class RankedHeap {
  private _ranks = new Float64Array(16);
  private _ids = new Int32Array(16);
  private _length = 0;

  get length(): number {
    return this._length;
  }

  /** The id with the smallest rank, or −1 when empty. */
  peek(): number {
    return this._length > 0 ? this._ids[0]! : -1;
  }

  /** The smallest rank, or Infinity when empty. */
  peekRank(): number {
    return this._length > 0 ? this._ranks[0]! : Infinity;
  }

  push(id: number, rank: number): void {
    if (this._length === this._ids.length) {
      const capacity = nextCapacity(this._ids.length, this._length + 1);
      this._ids = grownColumn(this._ids, capacity);
      this._ranks = grownColumn(this._ranks, capacity);
    }
    this._siftUp(this._length++, id, rank);
  }

  /** Takes the id with the smallest rank, or −1 when empty. */
  pop(): number {
    if (this._length === 0) {
      return -1;
    }
    const top = this._ids[0]!;
    const last = --this._length;
    if (last > 0) {
      this._siftDown(0, this._ids[last]!, this._ranks[last]!);
    }
    return top;
  }

  /**
   * The id at a place of the heap's array, 0 up to `length` − 1; 0 is that of the smallest rank. Ids at the end have larger ranks than most.
   */
  at(place: number): number {
    return this._ids[place]!;
  }

  /**
   * Drops entries from the end of the heap's array up to the last one for which `keep` holds: what is left is a heap.
   *
   * @returns how many were dropped.
   */
  dropFromEnd(keep: (id: number) => boolean): number {
    const before = this._length;
    while (this._length > 0 && !keep(this._ids[this._length - 1]!)) {
      this._length--;
    }
    return before - this._length;
  }

  /** Keeps only the entries for which `keep` holds; O(n). */
  retain(keep: (id: number, rank: number) => boolean): void {
    let kept = 0;
    for (let i = 0; i < this._length; i++) {
      const id = this._ids[i]!;
      const rank = this._ranks[i]!;
      if (keep(id, rank)) {
        this._ids[kept] = id;
        this._ranks[kept++] = rank;
      }
    }
    this._length = kept;
    for (let i = (kept >> 1) - 1; i >= 0; i--) {
      this._siftDown(i, this._ids[i]!, this._ranks[i]!);
    }
  }

  private _siftUp(hole: number, id: number, rank: number): void {
    const ids = this._ids;
    const ranks = this._ranks;
    while (hole > 0) {
      const parent = (hole - 1) >> 1;
      const parentRank = ranks[parent]!;
      if (parentRank <= rank) {
        break;
      }
      ids[hole] = ids[parent]!;
      ranks[hole] = parentRank;
      hole = parent;
    }
    ids[hole] = id;
    ranks[hole] = rank;
  }

  private _siftDown(hole: number, id: number, rank: number): void {
    const ids = this._ids;
    const ranks = this._ranks;
    const length = this._length;
    for (;;) {
      let child = 2 * hole + 1;
      if (child >= length) {
        break;
      }
      if (child + 1 < length && ranks[child + 1]! < ranks[child]!) {
        child++;
      }
      const childRank = ranks[child]!;
      if (childRank >= rank) {
        break;
      }
      ids[hole] = ids[child]!;
      ranks[hole] = childRank;
      hole = child;
    }
    ids[hole] = id;
    ranks[hole] = rank;
  }
}
