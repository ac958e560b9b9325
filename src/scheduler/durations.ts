import { grownColumn, nextCapacity } from '../base/growable-columns';

const UNKNOWN = -1;

/**
 * The average duration of each function's tasks, as a guess for the next.
 *
 * The average is over about the last 16 tasks. A sample counts for at most 8 averages: one task of 10 us that a garbage collection
 * stretched to 5 ms would otherwise lift the average thirtyfold, and a worker that should have 200 such tasks ahead would be given 6.
 */
export class FunctionDurations {
  private _average = new Float64Array(0);
  private _samples = new Uint8Array(0);

  /** @param _unknownSeconds - the guess for a function that has not run yet. */
  constructor(private readonly _unknownSeconds: number) {}

  /** The estimated seconds of a task of this function. */
  estimate(functionId: number): number {
    const average =
      functionId < this._average.length ? this._average[functionId]! : UNKNOWN;
    return average === UNKNOWN ? this._unknownSeconds : average;
  }

  /** Adds a measured duration in seconds. */
  add(functionId: number, seconds: number): void {
    if (functionId >= this._average.length) {
      const capacity = nextCapacity(this._average.length, functionId + 1);
      this._average = grownColumn(this._average, capacity, UNKNOWN);
      this._samples = grownColumn(this._samples, capacity);
    }
    const average = this._average[functionId]!;
    if (average === UNKNOWN) {
      this._average[functionId] = Math.max(seconds, 0);
      this._samples[functionId] = 1;
      return;
    }
    const samples = Math.min(this._samples[functionId]! + 1, 16);
    this._samples[functionId] = samples;
    // 1 us stands in for averages near zero, which could not rise again otherwise.
    const sample = Math.min(Math.max(seconds, 0), 8 * Math.max(average, 1e-6));
    this._average[functionId] = average + (sample - average) / samples;
  }
}
