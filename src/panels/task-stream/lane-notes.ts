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

/** Cells of a tile. */
type Stretch = { readonly from: number; readonly to: number };

/** A box that may carry a label; `from`, `to`: the cells that the label may use. */
export type Note = {
  readonly row: number;
  from: number;
  to: number;
  /** What covers a run that goes on from the tile before, whose note does not know of it. */
  readonly parts?: Stretch[];
};

/** Takes what a part covers from the room of its run's label. Parts come in order of time; one may come again. */
export function leaveOut(
  label: Omit<Note, 'row'>,
  { from, to }: Stretch
): void {
  if (from <= label.from + 0.5) {
    label.from = Math.max(label.from, to);
  } else {
    label.to = Math.min(label.to, from);
  }
}

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
      // (parts come after the box of their run)
      leaveOut(whole, { from, to });
      whole.parts?.push({ from, to });
    }
    const isWide =
      isBoxOfFunction(kind) && tile.cover[row] === 255 && to - from >= cells;
    if (isWide) {
      const isRun = tile.tasks[row] !== 0;
      const note =
        isRun && from < 0 ? { row, from, to, parts: [] } : { row, from, to };
      notes.push(note);
      if (isRun) {
        byRun.set(run, note);
      }
    }
  }
  return notes;
}
