import { grownColumn, nextCapacity } from '../base/growable-columns';
import { RankedHeap } from '../base/ranked-heap';

/** Books are kept with an old figure until the average is so much of it away: else each task that ends would change all of them. */
const TOLERANCE = 1 / 8;

/** The same for the logarithm of what is usual. */
const LOG_TOLERANCE = Math.log1p(TOLERANCE);

/** Stands in for durations near zero. */
const LEAST_SECONDS = 1e-6;

/** What a task is taken to need as long as nobody knows anything of its function. */
const FIRST_GUESS_SECONDS = 0.001;

/**
 * The average duration of each function's tasks, as a guess for the next, and the figure with which they stand in workers' books.
 *
 * The average is over about the last 16 tasks. A sample counts for at most 8 averages: one task of 10 us that a garbage collection
 * stretched to 5 ms would otherwise lift the average thirtyfold, and a worker that should have 200 such tasks ahead would be given 6.
 *
 * Beside the average there is what is usual: the mean of the logarithms. Where several processes want one core, every tenth task of 30 us
 * waits some milliseconds for it. All tasks of a worker together take as long as their average says, but while it has the core it goes through
 * them as fast as usual.
 */
export class FunctionDurations {
  /** Function id → row + 1. Ids come from a dictionary that has other names too: books per worker and id would be large and empty. */
  private _rows = new Uint32Array(0);
  /** By row. */
  private readonly _functions: number[] = [];
  private _count = 0;
  private _average = new Float64Array(0);
  private _samples = new Uint8Array(0);
  private _hasInputs = new Uint8Array(0);
  private _booked = new Float64Array(0);
  private _logAverage = new Float64Array(0);
  /** What is usual, and its logarithm. */
  private _usual = new Float64Array(0);
  private _logUsual = new Float64Array(0);
  /** When a task of it could run for the first time; Infinity: none could yet. */
  private _since = new Float64Array(0);
  /** Functions that have not run yet, by the time when the guess is to be made anew. */
  private readonly _due = new RankedHeap();

  /** @param _unknownSeconds - the largest guess for a function of which no task has ended. */
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

  /** The function that a row stands for. */
  functionOf(row: number): number {
    return this._functions[row]!;
  }

  /** The seconds with which a task of this function stands in books. */
  booked(row: number): number {
    return this._booked[row]!;
  }

  /** The mean of the logarithms of this function's durations, as seconds, as it stands in books; 0: none of its tasks has ended. */
  usual(row: number): number {
    return this._usual[row]!;
  }

  /** Notes that a task of this function has inputs. */
  noteInputs(row: number): void {
    this._hasInputs[row] = 1;
  }

  /** Whether some task of this function has had inputs. */
  hasInputs(row: number): boolean {
    return this._hasInputs[row] === 1;
  }

  /** Whether a task of this function has ended. */
  isKnown(row: number): boolean {
    return this._samples[row]! > 0;
  }

  /** The seconds that one should reckon with: of a function that is not known the most that is guessed. */
  cautious(row: number): number {
    return this.isKnown(row) ? this._booked[row]! : this._unknownSeconds;
  }

  /** Notes that a task of this function could run, if it is the first: from now on its guess grows. */
  begin(row: number, now: number): void {
    if (this._samples[row] === 0 && this._since[row] === Infinity) {
      this._since[row] = now;
      this._due.push(row, now + FIRST_GUESS_SECONDS);
    }
  }

  /** A function of which no task has ended and whose guess is due to grow, or −1. */
  nextDue(now: number): number {
    while (this._due.peekRank() <= now) {
      const row = this._due.pop();
      if (this._samples[row] === 0) {
        return row;
      }
    }
    return -1;
  }

  /**
   * Guesses anew: twice as long as since the first of its tasks could run. So the tasks of a new function stay with their inputs in the
   * milliseconds in which nobody knows whether they are short, and are spread when they prove to be long. It is guessed anew each time that
   * this time has doubled, until the largest guess is reached: some ten times.
   *
   * @returns by how much what is booked for each of its tasks has changed.
   */
  grow(row: number, now: number): number {
    const elapsed = now - this._since[row]!;
    const guess = Math.min(this._unknownSeconds, 2 * elapsed);
    if (guess < this._unknownSeconds) {
      this._due.push(row, now + elapsed);
    }
    const change = guess - this._booked[row]!;
    this._booked[row] = guess;
    return change;
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
    // (An average near zero could not rise again otherwise.)
    const most = samples === 1 ? Infinity : 8 * Math.max(before, LEAST_SECONDS);
    const sample = Math.min(Math.max(seconds, 0), most);
    const average = before + (sample - before) / samples;
    this._average[row] = average;
    this._addToUsual(row, seconds, samples);
    const booked = this._booked[row]!;
    if (
      samples > 1 &&
      Math.abs(average - booked) <= TOLERANCE * Math.max(booked, LEAST_SECONDS)
    ) {
      return 0;
    }
    this._booked[row] = average;
    return average - booked;
  }

  private _addToUsual(row: number, seconds: number, samples: number): void {
    const before = this._logAverage[row]!;
    const log = Math.log(Math.max(seconds, LEAST_SECONDS));
    const average = before + (log - before) / samples;
    this._logAverage[row] = average;
    if (
      samples === 1 ||
      Math.abs(average - this._logUsual[row]!) > LOG_TOLERANCE
    ) {
      this._logUsual[row] = average;
      this._usual[row] = Math.exp(average);
    }
  }

  private _add(functionId: number): number {
    const row = this._count++;
    this._rows[functionId] = row + 1;
    this._functions[row] = functionId;
    if (row === this._average.length) {
      const capacity = nextCapacity(row, row + 1);
      this._average = grownColumn(this._average, capacity);
      this._hasInputs = grownColumn(this._hasInputs, capacity);
      this._samples = grownColumn(this._samples, capacity);
      this._booked = grownColumn(this._booked, capacity, FIRST_GUESS_SECONDS);
      this._logAverage = grownColumn(this._logAverage, capacity);
      this._usual = grownColumn(this._usual, capacity);
      this._logUsual = grownColumn(this._logUsual, capacity);
      this._since = grownColumn(this._since, capacity, Infinity);
    }
    return row;
  }
}
