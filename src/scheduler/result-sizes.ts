import { grownColumn, nextCapacity } from '../base/growable-columns';

/**
 * Books are kept with an old figure until the average is more than half of it away. What is held back by it is a rough figure, and each change
 * walks the books of all workers: of sizes that scatter by as much as they are, with 1/8 each eighth run would change them.
 */
const TOLERANCE = 1 / 2;

/** The average goes over about so many of the last results. */
const MOST_SAMPLES = 16;

/**
 * The average size of each function's results, as a guess for the next, and the figure with which its tasks stand in workers' books: 0 while
 * no result is known. Rows are those of `FunctionDurations`.
 */
export class ResultSizes {
  private _average = new Float64Array(0);
  private _samples = new Uint8Array(0);
  private _booked = new Float64Array(0);

  /** @param _leastBooked - averages below it stand as 0 in books: they matter to nobody, and books of many workers are long. */
  constructor(private readonly _leastBooked: number) {}

  /** The bytes with which a task of this function stands in books. */
  booked(row: number): number {
    return row < this._booked.length ? this._booked[row]! : 0;
  }

  /**
   * Adds the size of a result, in bytes.
   *
   * @returns by how much what is booked for each of the function's tasks has changed; mostly 0.
   */
  add(row: number, nbytes: number): number {
    if (row >= this._booked.length) {
      const capacity = nextCapacity(this._booked.length, row + 1);
      this._average = grownColumn(this._average, capacity);
      this._samples = grownColumn(this._samples, capacity);
      this._booked = grownColumn(this._booked, capacity);
    }
    const samples = Math.min(this._samples[row]! + 1, MOST_SAMPLES);
    this._samples[row] = samples;
    const before = this._average[row]!;
    const average = before + (nbytes - before) / samples;
    this._average[row] = average;
    const booked = this._booked[row]!;
    // (what stands as 0 leaves it above the least figure, and comes back to it below: averages near it change nothing)
    const isKept =
      booked === 0
        ? average <= (1 + TOLERANCE) * this._leastBooked
        : Math.abs(average - booked) <= TOLERANCE * booked;
    if (isKept) {
      return 0;
    }
    const next = average < this._leastBooked ? 0 : average;
    this._booked[row] = next;
    return next - booked;
  }
}
