import { grownColumn, nextCapacity } from '../base/growable-columns';

/** Books are kept with an old figure until the average is so much of it away: else each task that ends would change all of them. */
const TOLERANCE = 1 / 8;

/** The average goes over about so many of the last results. */
const MOST_SAMPLES = 16;

/** A sample counts for at most so many averages, of which each is taken for a kilobyte at least: a single large result changes few books. */
const MOST_AVERAGES = 8;
const LEAST_BYTES = 1e3;

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
    const most =
      samples === 1 ? Infinity : MOST_AVERAGES * Math.max(before, LEAST_BYTES);
    const average = before + (Math.min(nbytes, most) - before) / samples;
    this._average[row] = average;
    const booked = this._booked[row]!;
    const next = average < this._leastBooked ? 0 : average;
    if (Math.abs(next - booked) <= TOLERANCE * booked) {
      return 0;
    }
    this._booked[row] = next;
    return next - booked;
  }
}
