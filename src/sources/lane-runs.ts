import type { DenseTaskId, SpanId } from '../records/ids';
import { NONE_U32 } from '../records/enumerations';
import { MOST_SECEDED } from './worker-lanes';

/** A run that a worker reported as going on. */
export type GoingRun = {
  readonly run: number;
  /** The scheduler's dense id of its task, −1: not known any more. */
  readonly task: DenseTaskId;
  readonly node: number;
  readonly functionId: number;
  readonly span: SpanId;
  readonly attempt: number;
  /** Seconds since the scheduler's start; see {@link TaskFacts}. */
  readonly unfinishedSince: number;
  readonly started: number;
  /** Nobody wants its result any more. */
  isGivenUp: boolean;
};

/**
 * The run that each thread of one worker was last reported to be in: if the worker dies, these runs end with it.
 *
 * Workers report runs that last a tenth of a second or longer, and such a report may come after that of the run's end:
 *
 *     thread 0   told 7 ── reported 7 ── told 7 (late)            has ended, though what was told began after what was reported
 *                told 7 ── reported 7 ── reported 8 ── told 7     has ended: it began before the last one reported
 *                told 7 ── reported 7 ── told 8                   8 is going on
 */
export class LaneRuns {
  private readonly _going: (GoingRun | null)[] = [];
  /** By thread: when the newest reported run began. Written for every run, so a column. */
  private _lastStarts = new Float64Array(0);
  /**
   * By thread: that run's number. The start alone does not identify a run: in `running` and in `finished` a worker sends different clock
   * readings of it.
   */
  private _lastRuns = new Uint32Array(0);

  /** @param _threads - of the worker; runs may go on beside them. */
  constructor(private readonly _threads: number) {
    this._reach(_threads);
  }

  /** @param run - null: the thread is in no run that has lasted that long. */
  told(thread: number, run: GoingRun | null): void {
    if (thread < this._threads + MOST_SECEDED) {
      this._reach(thread + 1);
      this._going[thread] = run;
    }
  }

  /** A run has been reported, which ended. */
  reported(thread: number, start: number, run: number): void {
    if (thread >= this._lastRuns.length) {
      this._reach(thread + 1);
    }
    this._lastStarts[thread] = start;
    this._lastRuns[thread] = run;
  }

  /** Notes that a run was given up, in each thread that was last reported to be in it. */
  *giveUp(run: number): Generator<readonly [thread: number, run: GoingRun]> {
    // A loop by index: it runs for each task that is given up, also for those that no thread has begun.
    for (let thread = 0; thread < this._going.length; thread++) {
      const going = this._going[thread];
      if (going?.run === run) {
        going.isGivenUp = true;
        yield [thread, going];
      }
    }
  }

  /** Runs that were begun and not reported, with their threads. */
  *unreported(): Generator<readonly [thread: number, run: GoingRun]> {
    for (const [thread, run] of this._going.entries()) {
      if (
        run !== null &&
        run.run !== this._lastRuns[thread] &&
        run.started > this._lastStarts[thread]!
      ) {
        yield [thread, run];
      }
    }
  }

  /** Makes room for so many threads: runs that go on beside a worker's threads come one by one. */
  private _reach(threads: number): void {
    const before = this._lastRuns.length;
    if (threads <= before) {
      return;
    }
    const starts = new Float64Array(threads).fill(-Infinity);
    const runs = new Uint32Array(threads).fill(NONE_U32);
    starts.set(this._lastStarts);
    runs.set(this._lastRuns);
    this._lastStarts = starts;
    this._lastRuns = runs;
    while (this._going.length < threads) {
      this._going.push(null);
    }
  }
}
