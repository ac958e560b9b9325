/**
 * A tile as it was at an earlier moment. Those of a picture are made after the answer that it shows, so that tasks of a run that goes on have
 * ended, and begun, since:
 *
 *     answer, of   ────────────────────────────┤ now
 *     tile         ██ a ██  ██████ b ██████████│████  █ c █
 *     until now    ██ a ██                     │             b runs, by the answer
 */
import type { LaneIndex } from '../../records/ids';
import type { TileData } from '../../feed/feed-types';
import { AGGREGATE_RUN } from './box-search';
import { cellSeconds, tileSeconds } from './tile-plan';

/** @param running - lanes in which a task ran then: boxes that end later are that one's. */
export function tileUntil(
  tile: TileData,
  now: number,
  running: ReadonlySet<LaneIndex>
): TileData {
  const end =
    (now - tile.index * tileSeconds(tile.level)) / cellSeconds(tile.level);
  // (float32, in which a box of up to now may be a little longer, and one from now on begin a little before)
  const isLater = (cells: number) => cells > end + SLACK_CELLS;
  if (!tile.to.some(isLater)) {
    return tile;
  }
  const rows = Array.from(tile.to, (_, row) => row).filter(
    row =>
      !isLater(tile.to[row]!) ||
      (tile.from[row]! < end - SLACK_CELLS &&
        !(tile.run[row] !== AGGREGATE_RUN && running.has(tile.laneIndex[row]!)))
  );
  const of = <A extends ArrayLike<number>>(column: A): A =>
    (
      column.constructor as unknown as { from(values: readonly number[]): A }
    ).from(rows.map(row => column[row]!));
  const to = of(tile.to);
  to.forEach((cells, row) => {
    to[row] = Math.min(cells, end);
  });
  return {
    ...tile,
    laneIndex: of(tile.laneIndex),
    from: of(tile.from),
    to,
    function: of(tile.function),
    kind: of(tile.kind),
    strip: of(tile.strip),
    cover: of(tile.cover),
    run: of(tile.run),
    tasks: of(tile.tasks)
  };
}

const SLACK_CELLS = 1 / 16;
