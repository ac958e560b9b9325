/**
 * Lanes beside a worker's threads: of tasks that have given theirs away (`secede`) and go on, and of promises that overlap. A worker that
 * waited for eight such tasks once has eight of them for good, so they are shown only while something of them is in view:
 *
 *     view                [            ]            shown: it has a box there
 *     seceded 1  ▆▆▆▆▆▆▆▆▆▆▆                        ...
 *                          [            ]           goes on being shown: within half a view of it
 *                                 [            ]    gone
 *
 * The half keeps lanes from coming and going, and the others from changing their height, with each task that enters or leaves.
 */
import type { LaneIndex } from '../../records/ids';
import type { TileData } from '../../feed/feed-types';
import type { TaskStreamResult } from '../../wire/panel-link';
import { cellSeconds, tileSeconds } from './tile-plan';
import type { Extent, Viewport } from './viewport';

/** As a share of the view: so far from it a lane that was shown must be empty to go. */
const STAYS_WITHIN = 0.5;

export class BesideLanes {
  private _beside: ReadonlySet<LaneIndex> = new Set();
  /** Those that are shown, and where of them something was in view last. */
  private readonly _shown = new Map<LaneIndex, Extent>();

  /** @param lanes - all that there are. */
  setLanes(lanes: TaskStreamResult['lanes']): void {
    this._beside = new Set(
      lanes
        .filter(({ beside }) => beside !== undefined)
        .map(({ laneIndex }) => laneIndex)
    );
  }

  forget(): void {
    this._shown.clear();
  }

  shows(lane: LaneIndex): boolean {
    return !this._beside.has(lane) || this._shown.has(lane);
  }

  /**
   * What is in view now.
   *
   * @param here - tiles of the view; `isWhole`: all of them, so that what is empty in them is empty.
   * @returns whether other lanes are shown than before.
   */
  look(
    view: Viewport,
    here: readonly TileData[],
    isWhole: boolean,
    running: TaskStreamResult['running'],
    now: number
  ): boolean {
    if (this._beside.size === 0) {
      return false;
    }
    const before = [...this._shown.keys()].join();
    const seen = this._seen(view, here, running, now);
    const slack = (view.to - view.from) * STAYS_WITHIN;
    // A run that has just ended is neither running nor in a tile yet.
    const isKnown = isWhole && here.every(({ settled }) => settled);
    for (const [lane, { from, to }] of this._shown) {
      const isInView = from < view.to && to > view.from;
      const isNear = from < view.to + slack && to > view.from - slack;
      const isGone = isInView ? isKnown : isWhole && !isNear;
      if (!this._beside.has(lane) || (isGone && !seen.has(lane))) {
        this._shown.delete(lane);
      }
    }
    for (const [lane, extent] of seen) {
      this._shown.set(lane, extent);
    }
    return before !== [...this._shown.keys()].join();
  }

  private _seen(
    view: Viewport,
    tiles: readonly TileData[],
    running: TaskStreamResult['running'],
    now: number
  ): Map<LaneIndex, Extent> {
    const seen = new Map<LaneIndex, Extent>();
    const see = (lane: LaneIndex, from: number, to: number) => {
      if (from < view.to && to > view.from) {
        const had = seen.get(lane);
        seen.set(lane, {
          from: Math.min(from, had?.from ?? from),
          to: Math.max(to, had?.to ?? to)
        });
      }
    };
    for (const tile of tiles) {
      const origin = tile.index * tileSeconds(tile.level);
      const cell = cellSeconds(tile.level);
      for (let row = 0; row < tile.laneIndex.length; row += 1) {
        const lane = tile.laneIndex[row] as LaneIndex;
        if (this._beside.has(lane)) {
          see(
            lane,
            origin + (tile.from[row] as number) * cell,
            origin + (tile.to[row] as number) * cell
          );
        }
      }
    }
    for (const { laneIndex, started } of running) {
      if (this._beside.has(laneIndex)) {
        see(laneIndex, started, now);
      }
    }
    return seen;
  }
}
