import { grownColumn, nextCapacity } from '../base/growable-columns';

/**
 * The estimated seconds of some tasks: by function how many, and the sum. No amount is kept per task, so that the books are right again
 * at once when a function's tasks turn out to take another time than was booked.
 */
export class BookedTime {
  /** By the function's row in `FunctionDurations`. */
  private _counts = new Int32Array(0);
  private _count = 0;
  private _seconds = 0;
  private _unknownCount = 0;

  get seconds(): number {
    return this._seconds;
  }

  /** Tasks whose function is not known: none of its tasks has ended. */
  get unknownCount(): number {
    return this._unknownCount;
  }

  /** The sum with other figures than those that are booked; O(functions). */
  sumOf(secondsOf: (row: number) => number): number {
    let sum = 0;
    this._counts.forEach((count, row) => {
      sum += count === 0 ? 0 : count * secondsOf(row);
    });
    return sum;
  }

  add(row: number, seconds: number, isKnown = true): void {
    if (row >= this._counts.length) {
      const capacity = nextCapacity(this._counts.length, row + 1);
      this._counts = grownColumn(this._counts, capacity);
    }
    this._counts[row]!++;
    this._count++;
    this._unknownCount += Number(!isKnown);
    this._seconds += seconds;
  }

  remove(row: number, seconds: number, isKnown = true): void {
    this._counts[row]!--;
    this._unknownCount -= Number(!isKnown);
    // Starting again from zero keeps rounding from adding up.
    this._seconds =
      --this._count === 0 ? 0 : Math.max(0, this._seconds - seconds);
  }

  /** Books `seconds` more (or less) for each task of a function; `becomesKnown`: how long they take was a guess until now. */
  change(row: number, seconds: number, becomesKnown = false): void {
    if (row >= this._counts.length) {
      return;
    }
    const count = this._counts[row]!;
    this._seconds = Math.max(0, this._seconds + count * seconds);
    if (becomesKnown) {
      this._unknownCount -= count;
    }
  }
}
