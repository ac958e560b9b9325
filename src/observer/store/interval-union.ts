import { placeAmong } from '../../base/place-in-order';

/** How many gaps are looked at to tell which are short. */
const SAMPLE = 1024;

/**
 * A set of points in time kept as disjoint intervals in rising order.
 *
 *     add [1,3)  add [2,5)  add [8,9)      →   1────────5        8──9
 *
 * Intervals come nearly in the order of their ends (a run is reported when it stops), so that adding is O(1) on average: it extends or
 * merges the newest few.
 *
 * Beyond a bound the shortest gaps between the older ones are closed, a few eighths of all at a time.
 */
export class IntervalUnion {
  private _from: number[] = [];
  private _to: number[] = [];

  /** @param _most - how many intervals there may be; two or more. */
  constructor(private readonly _most = Infinity) {}

  get length(): number {
    return this._from.length;
  }

  /** Infinity past the last. */
  from(index: number): number {
    return this._from[index] ?? Infinity;
  }

  /** Infinity past the last. */
  to(index: number): number {
    return this._to[index] ?? Infinity;
  }

  add(from: number, to: number): void {
    if (!(to > from)) {
      return;
    }
    const last = this._from.length - 1;
    if (last < 0 || from > this._to[last]!) {
      this._from.push(from);
      this._to.push(to);
      this._keepBound();
      return;
    }
    if (from >= this._from[last]!) {
      if (to > this._to[last]!) {
        this._to[last] = to;
      }
      return;
    }
    this._insert(from, to);
    this._keepBound();
  }

  /** The first interval that ends after `t`: where to begin a walk from t on. */
  firstEndingAfter(t: number): number {
    return placeAmong(this._to, t);
  }

  /** The first interval that ends at `t` or after it. */
  firstReaching(t: number): number {
    const after = this.firstEndingAfter(t);
    return after > 0 && this._to[after - 1] === t ? after - 1 : after;
  }

  /** Length of the part of the set that lies in [from, to); 0 where that ends before it begins. */
  measure(from: number, to: number): number {
    if (!(to > from)) {
      return 0;
    }
    let sum = 0;
    for (
      let i = this.firstEndingAfter(from);
      i < this._from.length && this._from[i]! < to;
      i++
    ) {
      sum += Math.min(to, this._to[i]!) - Math.max(from, this._from[i]!);
    }
    return sum;
  }

  /** Length of the part of the set before each of these times: of many in one pass, where {@link measure} takes one for each. */
  lengthsBefore(times: readonly number[]): ReadonlyMap<number, number> {
    const lengths = new Map<number, number>();
    let sum = 0;
    let i = 0;
    for (const t of Float64Array.from(times).sort()) {
      for (; i < this._to.length && this._to[i]! <= t; i++) {
        sum += this._to[i]! - this._from[i]!;
      }
      lengths.set(t, sum + Math.max(0, t - this.from(i)));
    }
    return lengths;
  }

  copy(): IntervalUnion {
    const copy = new IntervalUnion(this._most);
    copy._from = this._from.slice();
    copy._to = this._to.slice();
    return copy;
  }

  private _keepBound(): void {
    const { length } = this._from;
    if (length <= this._most) {
      return;
    }
    // The newest quarter stays as it is: what is looked at is mostly there.
    const newest = length - Math.ceil((length * 3) / 4);
    const older = length - newest;
    const gaps = Float64Array.from({ length: SAMPLE }, (_, i) => {
      const at = 1 + Math.floor((i * (older - 1)) / SAMPLE);
      return this._from[at]! - this._to[at - 1]!;
    }).sort();
    const median = gaps[SAMPLE / 2]!;
    this._closeGaps(newest, gap => gap < median, Infinity);
    // Many may be as long as the median, all of equal ones: of these, and of longer ones, only as many as are needed.
    const enough = Math.floor(length - length / 8);
    for (const most of [median, gaps[SAMPLE - 1]!, Infinity]) {
      this._closeGaps(newest, gap => gap <= most, this.length - enough);
    }
  }

  /** Closes so many short gaps, the oldest first, but none among the `newest` intervals. */
  private _closeGaps(
    newest: number,
    isShort: (gap: number) => boolean,
    count: number
  ): void {
    const older = this._from.length - newest;
    let left = count;
    let last = 0;
    for (let i = 1; i < this._from.length; i++) {
      if (i < older && left > 0 && isShort(this._from[i]! - this._to[last]!)) {
        left--;
        this._to[last] = this._to[i]!;
      } else {
        last++;
        this._from[last] = this._from[i]!;
        this._to[last] = this._to[i]!;
      }
    }
    this._from.length = last + 1;
    this._to.length = last + 1;
  }

  /** Merges with everything that overlaps or touches, at whatever place. */
  private _insert(from: number, to: number): void {
    const first = this.firstReaching(from);
    let end = first;
    let mergedFrom = from;
    let mergedTo = to;
    while (end < this._from.length && this._from[end]! <= to) {
      mergedFrom = Math.min(mergedFrom, this._from[end]!);
      mergedTo = Math.max(mergedTo, this._to[end]!);
      end++;
    }
    this._from.splice(first, end - first, mergedFrom);
    this._to.splice(first, end - first, mergedTo);
  }
}
