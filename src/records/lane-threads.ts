import type { Seconds } from '../base/brand';
import { placeInOrder } from '../base/place-in-order';

/** A lane changes its thread when a task leaves it to others: at least so many of these changes are known. */
const LEAST_PER_LANE = 64;

/** From `since` on, the thread `ident` runs the lane's tasks. */
type Placed = { readonly since: Seconds; readonly ident: number };
const sinceOf = ({ since }: Placed): Seconds => since;

/** In the order of `since`. */
type Lane = { readonly placed: Placed[]; hasForgotten: boolean };

/**
 * Which thread of the operating system ran what ended on a lane. When a run began tells nothing: one that leaves its thread gets another lane
 * while it goes on.
 *
 *     placed     ├ 70 ──────────────┤├ 71 ──────
 *     ended    ·      ·             ·     ·           70 70 71 71: the first also ran what seems older, by clocks that differ a little
 *
 * Of a lane with more changes the oldest are forgotten, and who ran what ended before is not known.
 */
export class LaneThreads<L extends number> {
  private readonly _lanes = new Map<L, Lane>();
  private _changes = 0;

  /** @param _most - changes of all lanes that are known at a time, if each lane has its share of them, and {@link LEAST_PER_LANE}. */
  constructor(private readonly _most = 0) {}

  /** How many have been told. */
  get changes(): number {
    return this._changes;
  }

  /**
   * From a moment on a thread runs the lane's tasks; moments may be told in any order.
   *
   * @param since - not a number: nothing is told.
   * @param ident - the thread's number; not a number: it is not known which it is.
   */
  note(lane: L, since: Seconds, ident: number): void {
    if (Number.isNaN(since)) {
      return;
    }
    this._changes++;
    const known = this._lanes.get(lane) ?? { placed: [], hasForgotten: false };
    this._lanes.set(lane, known);
    const { placed } = known;
    const at = placeInOrder(placed, since, sinceOf);
    // Of one moment the newest counts.
    const isKnown = placed[at - 1]?.since === since;
    placed.splice(isKnown ? at - 1 : at, isKnown ? 1 : 0, { since, ident });
    const most = Math.max(
      LEAST_PER_LANE,
      Math.floor(this._most / this._lanes.size)
    );
    if (placed.length > most) {
      // (each time all others move)
      placed.splice(0, placed.length - most + (most >> 7));
      known.hasForgotten = true;
    }
  }

  /** The number of the thread that ran what ended on a lane at a time; NaN: not known. */
  of(lane: L, ended: Seconds): number {
    const known = this._lanes.get(lane);
    if (known === undefined) {
      return NaN;
    }
    const { placed, hasForgotten } = known;
    const found = placed[placeInOrder(placed, ended, sinceOf) - 1];
    return (found ?? (hasForgotten ? undefined : placed[0]))?.ident ?? NaN;
  }

  /** Who had the lane from when on, as far as it is known. */
  placedOn(lane: L): readonly Placed[] {
    return this._lanes.get(lane)?.placed ?? [];
  }
}
