/** A run that a worker said was going on. */
export type GoingRun = {
  readonly run: number;
  readonly node: number;
  readonly functionId: number;
  readonly span: number;
  readonly attempt: number;
  /** Seconds since the scheduler's start. */
  readonly started: number;
};

/**
 * What each thread of one worker was last said to be running: should the worker die, these are the runs that end with it.
 *
 * Workers say it of runs from a tenth of a second on, and what they say may come after the report that the run has ended; a run whose start
 * is not behind the last one reported has ended.
 */
export class LaneRuns {
  private readonly _going: (GoingRun | null)[];
  /** By thread: when the newest reported run began. Written for every run, so a column. */
  readonly lastStarts: Float64Array;

  constructor(threads: number) {
    this._going = new Array<GoingRun | null>(threads).fill(null);
    this.lastStarts = new Float64Array(threads).fill(-Infinity);
  }

  /** @param run - null: the thread runs nothing that is worth telling. */
  told(thread: number, run: GoingRun | null): void {
    if (thread < this._going.length) {
      this._going[thread] = run;
    }
  }

  /** Runs that were begun and not reported, with their threads. */
  *unreported(): Generator<readonly [thread: number, run: GoingRun]> {
    for (const [thread, run] of this._going.entries()) {
      if (run !== null && run.started > this.lastStarts[thread]!) {
        yield [thread, run];
      }
    }
  }
}
