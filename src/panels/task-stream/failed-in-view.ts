/** The failed boxes of a scene: those that are drawn as they are, and the marks in which narrower ones are drawn and found. */
import type { LaneIndex } from '../../records/ids';
import { BoxKind } from '../../records/enumerations';
import {
  type FailedBox,
  failedOfLane,
  type FailedOfLane
} from '../../charts/failed-marks';
import type { TileData } from '../../feed/feed-types';
import { boxPixels, type LaneScene } from './lane-scene';

/** A box of a tile. */
type TileBox = { readonly tile: TileData; readonly row: number };

type SceneOfTiles = Pick<
  LaneScene,
  'view' | 'width' | 'pixelRatio' | 'tiles' | 'tileOf'
>;

const NO_ROWS: readonly number[] = [];
/** Worked out once of a tile: most have none. */
const failedRowsOf = new WeakMap<TileData, readonly number[]>();

/** @param wanted - the lanes; others are left out. */
export function failedInView(
  scene: SceneOfTiles,
  wanted: { has(lane: LaneIndex): boolean }
): ReadonlyMap<LaneIndex, FailedOfLane<TileBox>> {
  const { level, first, count } = scene.tiles;
  const ratio = scene.pixelRatio;
  const right = scene.width * ratio;
  const found = new Map<LaneIndex, FailedBox<TileBox>[]>();
  for (let index = first; index < first + count; index += 1) {
    const tile = scene.tileOf(level, index);
    for (const row of tile === null ? NO_ROWS : failedRows(tile)) {
      const lane = tile!.laneIndex[row]!;
      // A box over several tiles is a row in each; the first in view stands for it.
      const isSeen = (tile!.from[row] as number) < 0 && index > first;
      if (isSeen || !wanted.has(lane)) {
        continue;
      }
      const box = {
        ...boxPixels(scene, tile!, row),
        runs: tile!.tasks[row]!,
        of: { tile: tile!, row }
      };
      // (a mark reaches farther than its box)
      if (box.right >= -right && box.left <= right) {
        const ofLane = found.get(lane);
        if (ofLane === undefined) {
          found.set(lane, [box]);
        } else {
          ofLane.push(box);
        }
      }
    }
  }
  return new Map(
    [...found].map(([lane, boxes]) => [lane, failedOfLane(boxes, ratio)])
  );
}

function failedRows(tile: TileData): readonly number[] {
  let rows = failedRowsOf.get(tile);
  if (rows === undefined) {
    rows = Array.from(tile.kind, (_, row) => row).filter(
      row =>
        tile.kind[row] === BoxKind.Failed &&
        tile.cover[row] === 255 &&
        tile.tasks[row] !== 0 &&
        tile.strip[row] !== 1
    );
    failedRowsOf.set(tile, rows.length === 0 ? NO_ROWS : rows);
  }
  return rows;
}
