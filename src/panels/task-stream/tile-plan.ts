/**
 * Which tiles a view needs. Level L has cells of 2^L µs and 512 cells per
 * tile, so one level up halves the detail and doubles what a tile covers:
 *
 *   level 12   |····tile 6····|····tile 7····|      4.1 ms per cell, 2.1 s per tile
 *   level 13   |···········tile 3············|      8.2 ms per cell, 4.2 s per tile
 */
import type { Viewport } from './viewport';

export const CELLS_PER_TILE = 512;
/** 2^36 µs per cell: one tile covers a year. */
const COARSEST_LEVEL = 36;

export type TileRange = {
  readonly level: number;
  readonly first: number;
  readonly count: number;
};

export function cellSeconds(level: number): number {
  return 2 ** level * 1e-6;
}

export function tileSeconds(level: number): number {
  return cellSeconds(level) * CELLS_PER_TILE;
}

/** The level whose cells are nearest to one device pixel wide (0.7 to 1.4). */
export function levelFor(view: Viewport, devicePixels: number): number {
  const microsecondsPerPixel =
    ((view.to - view.from) * 1e6) / Math.max(1, devicePixels);
  const level = Math.round(Math.log2(microsecondsPerPixel));
  return Math.min(COARSEST_LEVEL, Math.max(0, level));
}

/** The tiles that cover the view and lie within the run; `beyond` more on each side. */
export function tilesFor(
  view: Viewport,
  level: number,
  extent: { readonly from: number; readonly to: number },
  beyond = 0
): TileRange {
  const seconds = tileSeconds(level);
  const newest = Math.floor(Math.max(0, extent.to) / seconds);
  const oldest = Math.floor(Math.max(0, extent.from) / seconds);
  const first = Math.max(oldest, Math.floor(view.from / seconds) - beyond);
  const last = Math.min(newest, Math.floor(view.to / seconds) + beyond);
  return { level, first, count: Math.max(0, last - first + 1) };
}

/** Some cells of a tile. */
export type TilePart = {
  readonly level: number;
  readonly index: number;
  readonly fromCell: number;
  readonly toCell: number;
};

export function wholeTile(level: number, index: number): TilePart {
  return { level, index, fromCell: 0, toCell: CELLS_PER_TILE };
}

/** Tile `index` of `level` as a part of the tile `up` levels above that contains it. */
export function coarserTile(
  level: number,
  index: number,
  up: number
): TilePart {
  const step = 2 ** up;
  const parent = Math.floor(index / step);
  const width = CELLS_PER_TILE / step;
  const fromCell = (index - parent * step) * width;
  return {
    level: level + up,
    index: parent,
    fromCell,
    toCell: fromCell + width
  };
}
