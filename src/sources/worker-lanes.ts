import type { LaneId } from '../records/ids';

/** How many runs of a worker may go on beside its threads at a time; `spanwise/worker/lanes.py` has the same figure. */
export const MOST_SECEDED = 1000;

/**
 * The lanes of one worker: one for each of its threads, and, as they are needed, one for each run that goes on beside these at the same
 * time. The latter are no capacity: nothing is idle there.
 */
export class WorkerLanes {
  private readonly _lanes: (LaneId | undefined)[] = [];

  /** @param _open - makes the lane of a thread. */
  constructor(
    threads: number,
    private readonly _open: (thread: number) => LaneId
  ) {
    for (let thread = 0; thread < threads; thread++) {
      this.of(thread);
    }
  }

  of(thread: number): LaneId {
    return (this._lanes[thread] ??= this._open(thread));
  }
}
