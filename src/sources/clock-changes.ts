import { ClockChange } from '../records/enumerations';

/** What moves an offset by more than this since its last row is told; a larger move at once is a step. */
const MOVED_SECONDS = 0.001;
const STEP_SECONDS = 0.01;
/** Below this no change of the uncertainty is told. */
const FINE_SECONDS = 0.0005;
/** A drift is known of no less time. */
const DRIFT_SECONDS = 10;

/** What a process adds to its clock to get the scheduler's, and by how much that may be wrong. */
type ClockTold = {
  readonly offset: number;
  readonly within: number;
  /** Seconds a second by which its clock falls behind; NaN: not known yet. */
  readonly drift: number;
};
export type ClockRow = ClockTold & { readonly why: ClockChange };

/**
 * Which of the offsets that a process tells about every second are rows of `clocks`.
 *
 *     offset   3.0000  3.0004  3.0011  3.0012  9.0000
 *     row      measured        slewed          stepped
 */
export class ClockChanges {
  private _logged: ClockTold | null = null;
  /** The drift is measured from here: the first that was told since a step. */
  private _since: { readonly t: number; readonly offset: number } | null = null;
  private _newest: ClockTold | null = null;

  /** The newest that was told; null: its clock is the scheduler's. */
  get newest(): ClockTold | null {
    return this._newest;
  }

  /** @returns the row that is due, or null. */
  tell(t: number, offset: number, within: number): ClockRow | null {
    const before = this._logged;
    const moved = before === null ? 0 : Math.abs(offset - before.offset);
    const jumped =
      this._newest === null ? 0 : Math.abs(offset - this._newest.offset);
    const isStep = jumped > STEP_SECONDS;
    if (this._since === null || isStep) {
      this._since = { t, offset };
    }
    const seconds = t - this._since.t;
    const drift =
      seconds < DRIFT_SECONDS ? NaN : (offset - this._since.offset) / seconds;
    const now: ClockTold = { offset, within, drift };
    this._newest = now;
    const why = isStep
      ? ClockChange.Stepped
      : moved > MOVED_SECONDS
        ? ClockChange.Slewed
        : before === null || isOtherwise(before.within, within)
          ? ClockChange.Measured
          : null;
    if (why === null) {
      return null;
    }
    this._logged = now;
    return { ...now, why };
  }
}

/** It is known twice as exactly as before, or half as exactly. */
function isOtherwise(before: number, after: number): boolean {
  const [fine, coarse] = [Math.min(before, after), Math.max(before, after)];
  return coarse > FINE_SECONDS && coarse >= 2 * fine;
}
