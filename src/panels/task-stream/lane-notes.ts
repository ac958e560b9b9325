/**
 * What may carry a label: compute boxes that are wide enough, without what parts cover at their
 * beginning and end, and what tasks held that are drawn beside the threads:
 *
 *   run   |▒transfer▒| fit_fold            |▒write▒|
 *                     from ··············· to
 */
import { isBoxOfFunction } from '../../records/box-kinds';
import { liesOver } from '../../charts/lane-raster';
import type { TileData } from '../../feed/feed-types';
import { AGGREGATE_RUN } from './box-search';

/** A box this wide (CSS px) may carry a label; 11 px text needs some room. */
export const LABEL_FROM = 24;
export const LABEL_PADDING = 5;

/** A box that may carry a label; `from`, `to`: the cells that the label may use. */
export type Note = { readonly row: number; from: number; to: number };

export function notesOf(tile: TileData): readonly Note[] {
  // A cell is at most 1.42 device pixels unless the level is 0.
  const cells = tile.level === 0 ? 0 : LABEL_FROM / 1.42;
  const notes: Note[] = [];
  const byRun = new Map<number, Note>();
  for (let row = 0; row < tile.laneIndex.length; row += 1) {
    const from = tile.from[row] as number;
    const to = tile.to[row] as number;
    const run = tile.run[row] as number;
    const kind = tile.kind[row] as number;
    if (tile.strip[row] === 1 || run === AGGREGATE_RUN) {
      continue;
    }
    const whole = byRun.get(run);
    if (liesOver(tile, row) && whole !== undefined) {
      // Parts come after the box of their run, in order of time.
      if (from <= whole.from + 0.5) {
        whole.from = Math.max(whole.from, to);
      } else {
        whole.to = Math.min(whole.to, from);
      }
    }
    const isWide =
      isBoxOfFunction(kind) && tile.cover[row] === 255 && to - from >= cells;
    if (isWide) {
      const note = { row, from, to };
      notes.push(note);
      if (tile.tasks[row] !== 0) {
        byRun.set(run, note);
      }
    }
  }
  return notes;
}
