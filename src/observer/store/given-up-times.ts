import { BoundedMap } from '../../base/bounded-map';
import type { LaneId } from '../../records/ids';
import { TABLES } from '../../records/tables';

/** Since when nobody wanted the result of runs, by where and when they began; the oldest are forgotten first. */
export class GivenUpTimes {
  private readonly _times = new BoundedMap<string, { readonly t: number }>(
    TABLES.givenUp.bound.rows
  );

  note(lane: LaneId, started: number, t: number): void {
    this._times.set(keyOf(lane, started), { t });
  }

  /** undefined: not known. */
  of(lane: LaneId, started: number): number | undefined {
    return this._times.peek(keyOf(lane, started))?.t;
  }
}

function keyOf(lane: LaneId, started: number): string {
  return `${lane} ${started}`;
}
