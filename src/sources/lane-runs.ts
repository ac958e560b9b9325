import type { DenseTaskId, SpanId } from '../records/ids';
import { NONE_U32 } from '../records/enumerations';

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
  private readonly _going: (GoingRun | null)[];
  /** By thread: when the newest reported run began. Written for every run, so a column. */
  readonly lastStarts: Float64Array;
  /**
   * By thread: that run's number. The start alone does not identify a run: in `running` and in `finished` a worker sends different clock
   * readings of it.
   */
  readonly lastRuns: Uint32Array;

  constructor(threads: number) {
    this._going = new Array<GoingRun | null>(threads).fill(null);
    this.lastStarts = new Float64Array(threads).fill(-Infinity);
    this.lastRuns = new Uint32Array(threads).fill(NONE_U32);
  }

  /** @param run - null: the thread is in no run that has lasted that long. */
  told(thread: number, run: GoingRun | null): void {
    if (thread < this._going.length) {
      this._going[thread] = run;
    }
  }

  /** Runs that were begun and not reported, with their threads. */
  *unreported(): Generator<readonly [thread: number, run: GoingRun]> {
    for (const [thread, run] of this._going.entries()) {
      if (
        run !== null &&
        run.run !== this.lastRuns[thread] &&
        run.started > this.lastStarts[thread]!
      ) {
        yield [thread, run];
      }
    }
  }
}
