import { grownColumn, nextCapacity } from '../base/growable-columns';

/**
 * What some tasks are expected to take, seconds or bytes: by function how many tasks, and the sum. No amount is kept per task, so that the
 * books are right again at once when a function's tasks turn out to take another amount than was booked.
 */
export class BookedSum {
  /** By the function's row in `FunctionDurations`. */
  private _counts = new Int32Array(0);
  private _count = 0;
  private _sum = 0;
  private _unknownCount = 0;

  get sum(): number {
    return this._sum;
  }

  /** Tasks whose function is not known: none of its tasks has ended. */
  get unknownCount(): number {
    return this._unknownCount;
  }

  /** The sum with other figures than those that are booked; O(functions). */
  sumOf(amountOf: (row: number) => number): number {
    let sum = 0;
    this._counts.forEach((count, row) => {
      sum += count === 0 ? 0 : count * amountOf(row);
    });
    return sum;
  }

  add(row: number, amount: number, isKnown = true): void {
    if (row >= this._counts.length) {
      const capacity = nextCapacity(this._counts.length, row + 1);
      this._counts = grownColumn(this._counts, capacity);
    }
    this._counts[row]!++;
    this._count++;
    this._unknownCount += Number(!isKnown);
    this._sum += amount;
  }

  remove(row: number, amount: number, isKnown = true): void {
    this._counts[row]!--;
    this._unknownCount -= Number(!isKnown);
    // Starting again from zero keeps rounding from adding up.
    this._sum = --this._count === 0 ? 0 : Math.max(0, this._sum - amount);
  }

  /** Books `amount` more (or less) for each task of a function; `becomesKnown`: what they take was a guess until now. */
  change(row: number, amount: number, becomesKnown = false): void {
    if (row >= this._counts.length) {
      return;
    }
    const count = this._counts[row]!;
    this._sum = Math.max(0, this._sum + count * amount);
    if (becomesKnown) {
      this._unknownCount -= count;
    }
  }
}
