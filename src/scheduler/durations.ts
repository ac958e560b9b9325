import { grownColumn, nextCapacity } from '../base/growable-columns';

/** Books are kept with an old figure until the average is so much of it away: else each task that ends would change all of them. */
const TOLERANCE = 1 / 8;

/**
 * The average duration of each function's tasks, as a guess for the next, and the figure with which they stand in workers' books.
 *
 * The average is over about the last 16 tasks. A sample counts for at most 8 averages: one task of 10 us that a garbage collection
 * stretched to 5 ms would otherwise lift the average thirtyfold, and a worker that should have 200 such tasks ahead would be given 6.
 */
export class FunctionDurations {
  /** Function id → row + 1. Ids come from a dictionary that has other names too: books per worker and id would be large and empty. */
  private _rows = new Uint32Array(0);
  private _count = 0;
  private _average = new Float64Array(0);
  private _samples = new Uint8Array(0);
  private _booked = new Float64Array(0);

  /** @param _unknownSeconds - the guess for a function that has not run yet. */
  constructor(private readonly _unknownSeconds: number) {}

  /** A small number that stands for a function in all that follows. */
  rowOf(functionId: number): number {
    if (functionId >= this._rows.length) {
      const capacity = nextCapacity(this._rows.length, functionId + 1);
      this._rows = grownColumn(this._rows, capacity);
    }
    const row = this._rows[functionId]! - 1;
    return row === -1 ? this._add(functionId) : row;
  }

  /** The seconds with which a task of this function stands in books. */
  booked(row: number): number {
    return this._booked[row]!;
  }

  /**
   * Adds a measured duration in seconds.
   *
   * @returns by how much what is booked for each of the function's tasks has changed; mostly 0.
   */
  add(row: number, seconds: number): number {
    const samples = Math.min(this._samples[row]! + 1, 16);
    this._samples[row] = samples;
    const before = this._average[row]!;
    // 1 us stands in for averages near zero, which could not rise again otherwise.
    const most = samples === 1 ? Infinity : 8 * Math.max(before, 1e-6);
    const sample = Math.min(Math.max(seconds, 0), most);
    const average = before + (sample - before) / samples;
    this._average[row] = average;
    const booked = this._booked[row]!;
    if (
      samples > 1 &&
      Math.abs(average - booked) <= TOLERANCE * Math.max(booked, 1e-6)
    ) {
      return 0;
    }
    this._booked[row] = average;
    return average - booked;
  }

  private _add(functionId: number): number {
    const row = this._count++;
    this._rows[functionId] = row + 1;
    if (row === this._average.length) {
      const capacity = nextCapacity(row, row + 1);
      this._average = grownColumn(this._average, capacity);
      this._samples = grownColumn(this._samples, capacity);
      this._booked = grownColumn(this._booked, capacity, this._unknownSeconds);
    }
    return row;
  }
}
