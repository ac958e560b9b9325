/** Which threads ran the tasks of a worker's lanes, for runs of which the worker tells some moments later. */
import type { Seconds } from '../../base/brand';

/** Few are needed: before a task leaves its thread, the worker tells of all that has ended. */
const KEPT_PER_LANE = 4;

type Placed = { readonly since: Seconds; readonly ident: number };

export class LaneThreads {
  /** By lane, in the order of time. */
  private readonly _placed = new Map<number, Placed[]>();

  /**
   * From a moment on a thread runs the lane's tasks.
   *
   * @param since - by the scheduler's clock; not before what was noted of the lane.
   * @param ident - its number in the operating system; not a number: not known.
   */
  note(lane: number, since: Seconds, ident: number): void {
    const placed = this._placed.get(lane) ?? [];
    placed.push({ since, ident });
    if (placed.length > KEPT_PER_LANE) {
      placed.shift();
    }
    this._placed.set(lane, placed);
  }

  /**
   * The thread of a run of the lane; 0: not known.
   *
   * @param ended - when it ended. A run that leaves its thread gets another lane while it goes on: when it began, that lane was of another.
   */
  of(lane: number, ended: Seconds): number {
    const placed = this._placed.get(lane) ?? [];
    // (The first one if the run is older: the clock's offset may have changed a little in between.)
    const found = placed.findLast(({ since }) => since <= ended) ?? placed[0];
    return found === undefined || Number.isNaN(found.ident) ? 0 : found.ident;
  }
}
