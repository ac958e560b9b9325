/** Finding boxes in tiles: which one is under the pointer, and that of a run. Works on the tiles that are here; the observer is not asked. */
import type { LaneIndex } from '../../records/ids';
import { NONE_U32 } from '../../records/enumerations';
import { isOfFailedRuns } from '../../charts/lane-raster';
import type { TileData } from '../../feed/feed-types';
import { cellSeconds, tileSeconds } from './tile-plan';

/** `run` of a box that stands for several. */
export const AGGREGATE_RUN = NONE_U32;

export type FoundBox = {
  readonly tile: TileData;
  readonly row: number;
  readonly from: number;
  readonly to: number;
};

/**
 * The box at `seconds` in a lane; `slack` widens boxes so that those of a
 * pixel can be hit. If there are several, the one drawn last wins: strips lie over work, failed boxes over the rest.
 */
export function boxAt(
  tile: TileData,
  laneIndex: LaneIndex,
  seconds: number,
  inStrip: boolean,
  slack: number
): FoundBox | null {
  const origin = tile.index * tileSeconds(tile.level);
  const cell = cellSeconds(tile.level);
  const at = (seconds - origin) / cell;
  const room = slack / cell;
  let found: number | null = null;
  let foundInStrip = false;
  for (let row = 0; row < tile.laneIndex.length; row += 1) {
    if (tile.laneIndex[row] !== laneIndex || isOfFailedRuns(tile, row)) {
      continue;
    }
    const from = tile.from[row] as number;
    const to = tile.to[row] as number;
    if (at < from - room || at > to + room) {
      continue;
    }
    const isStrip = tile.strip[row] === 1;
    if (isStrip && !inStrip) {
      continue;
    }
    const isInside = at >= from && at <= to;
    if (
      found === null ||
      (isStrip && !foundInStrip) ||
      (isInside && isStrip === foundInStrip)
    ) {
      found = row;
      foundInStrip = isStrip;
    }
  }
  return found === null ? null : boxOf(tile, found);
}

export function boxOf(tile: TileData, row: number): FoundBox {
  const origin = tile.index * tileSeconds(tile.level);
  const cell = cellSeconds(tile.level);
  return {
    tile,
    row,
    from: origin + (tile.from[row] as number) * cell,
    to: origin + (tile.to[row] as number) * cell
  };
}

export function boxOfRun(
  tiles: readonly TileData[],
  run: number
): FoundBox | null {
  const boxes = tiles
    .map(tile => ({ tile, row: rowOfRun(tile, run) }))
    .filter(({ row }) => row >= 0)
    .map(({ tile, row }) => boxOf(tile, row));
  const [first] = boxes;
  return first === undefined
    ? null
    : {
        ...first,
        from: Math.min(...boxes.map(box => box.from)),
        to: Math.max(...boxes.map(box => box.to))
      };
}

/** The row of the run itself, not of one of its parts; -1 if it is not in the tile. */
function rowOfRun(tile: TileData, run: number): number {
  let row = tile.run.indexOf(run);
  while (row >= 0 && (tile.tasks[row] === 0 || tile.strip[row] === 1)) {
    row = tile.run.indexOf(run, row + 1);
  }
  return row;
}
