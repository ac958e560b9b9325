import { BoxKind, NONE_U32 } from '../../records/enumerations';
import type { TileColumns, TileHeader } from '../../wire/panel-link';
import { CHUNK_MASK } from '../store/column-table';
import type { ThreadStep } from '../store/cluster-shape';
import type { LogStore } from '../store/log-store';
import type { CellPage } from './cell-page';
import {
  functionOf,
  kindOf,
  laneIndices,
  TILE_CELLS,
  type CellPlane
} from './cell-plane';
import { BoxList } from './box-list';
import { scanHeld } from './held-places';
import type { LaneRows } from './lane-rows';
import { pageSeconds, type Pyramid } from './pyramid';
import { atLeast, scanParts, scanRuns } from './scan-rows';

/** 23 bytes a box (the columns of {@link TileColumns}): a tile stays below the 1 MiB that the relay lets pass. */
const MOST_BOXES = 34_000;
/** Neighbouring cells of one colour are one box while their cover differs by less than this, in 255ths. */
const COVER_TOLERANCE = 12;
const MOST_LEVEL = 40;

/** A tile as it is made. Its maker's caller adds the newest block that is in it. */
export type TileAnswer = Omit<TileHeader, 'logSeq'> & {
  readonly columns: TileColumns;
};

/**
 * One tile: runs at least a cell wide as exact boxes, the rest as covered cells.
 *
 *     lane   ├── exact ──┤ ▒▒▒▒▓▓▓▓░░ ├──── exact ────┤        ▒ ▓ ░: cells by dominating function, by cover
 *     parts     ├ red ┤       ▪                                tasks = 0: they lie over the box of their run
 *     strip                 ─────                              strip = 1: behind other work
 *     failed ┃      ┃               ┃                          failed runs of less than a cell, over all: tasks = how many of neighbouring cells
 *     of a run that has seceded, in a thread's lane:           tasks = 0: its own box is beside the threads
 *
 * Where groups of workers have a row each, all are cells, covered by the share that was busy of the threads that were there. Boxes come in drawing order. If they are too many for one message, cells twice, four times … as wide are used, in the same coordinates.
 */
export function* makeTile(
  log: LogStore,
  pyramid: Pyramid,
  level: number,
  index: number,
  settledBefore: number
): Generator<void, TileAnswer> {
  for (let widen = 0; ; widen++) {
    const boxes = yield* boxesOf(
      log,
      pyramid,
      level,
      index,
      widen,
      settledBefore
    );
    if (
      boxes.length <= MOST_BOXES ||
      level + widen >= MOST_LEVEL ||
      2 ** widen >= TILE_CELLS
    ) {
      const to = (index + 1) * pageSeconds(level);
      return {
        level,
        index,
        settled: to <= settledBefore,
        columns: boxes.columns(),
        functions: boxes.functionNames(id => log.name(id))
      };
    }
  }
}

function* boxesOf(
  log: LogStore,
  pyramid: Pyramid,
  level: number,
  index: number,
  widen: number,
  settledBefore: number
): Generator<void, BoxList> {
  const boxes = new BoxList();
  const pageLevel = level + widen;
  const pageIndex = Math.floor(index / 2 ** widen);
  const page = yield* pyramid.page(pageLevel, pageIndex, settledBefore);
  const rows = pyramid.rows();
  const firstCell = (index - pageIndex * 2 ** widen) * (TILE_CELLS >> widen);
  const window: CellWindow = {
    firstCell,
    from: (pageIndex * TILE_CELLS + firstCell) * 2 ** pageLevel,
    cells: TILE_CELLS >> widen,
    scale: 2 ** widen,
    cellMicroseconds: 2 ** pageLevel
  };
  addCells(boxes, page.runs, window, rows, 0, true);
  if (rows.threads === null) {
    yield* addExact(boxes, log, pyramid, rows, level, index, pageLevel);
  }
  addCells(boxes, page.held, window, rows, 0, false);
  addCells(boxes, page.strip, window, rows, 1, false);
  addFailed(boxes, page, window, rows);
  return boxes;
}

/** Marks of failed runs that are no boxes of their own, over all others: of a group's row each in its cell alone, since its threads share the row. */
function addFailed(
  boxes: BoxList,
  { failed, lanes }: CellPage,
  { firstCell, cells, scale }: CellWindow,
  { laneOf, threads }: LaneRows
): void {
  if (failed === null) {
    return;
  }
  for (const row of laneIndices(lanes)) {
    for (const mark of failed.marks(row, firstCell, cells, threads === null)) {
      boxes.add(
        laneOf === null ? row : laneOf[row]!,
        (mark.from - firstCell) * scale,
        (mark.to - firstCell) * scale,
        mark.function,
        BoxKind.Failed,
        0,
        255,
        mark.run,
        mark.runs
      );
    }
  }
}

function* addExact(
  boxes: BoxList,
  log: LogStore,
  pyramid: Pyramid,
  { rowOf }: LaneRows,
  level: number,
  index: number,
  fromClass: number
): Generator<void, void> {
  const from = index * pageSeconds(level);
  const to = from + pageSeconds(level);
  const cellsPerSecond = 1e6 / 2 ** level;
  yield* scanRuns(
    log,
    pyramid.filter,
    atLeast(fromClass),
    from,
    to,
    (row, laneIndex, start, duration, value) => {
      if (rowOf !== null && !(rowOf[laneIndex]! >= 0)) {
        return;
      }
      const run = log.runs.chunkOf(row)!.columns.run[row & CHUNK_MASK]!;
      const begin = (start - from) * cellsPerSecond;
      // A box keeps the function of a failed run; only cells leave it out.
      const fn = log.runs.chunkOf(row)!.columns.function[row & CHUNK_MASK]!;
      const end = begin + duration * cellsPerSecond;
      boxes.add(laneIndex, begin, end, fn, kindOf(value), 0, 255, run, 1);
    }
  );
  yield* scanParts(
    log,
    pyramid.filter,
    atLeast(fromClass),
    from,
    to,
    (row, runRow, laneIndex, start, duration, value, held, isExecution) => {
      if (rowOf !== null && !(rowOf[laneIndex]! >= 0)) {
        return;
      }
      const run = log.runs.chunkOf(runRow)!.columns.run[runRow & CHUNK_MASK]!;
      const fn = log.parts.chunkOf(row)!.columns.function[row & CHUNK_MASK]!;
      const begin = (start - from) * cellsPerSecond;
      const end = begin + duration * cellsPerSecond;
      const strip = held ? 0 : 1;
      const tasks = isExecution ? 1 : 0;
      boxes.add(
        laneIndex,
        begin,
        end,
        fn,
        kindOf(value),
        strip,
        255,
        run,
        tasks
      );
    }
  );
  scanHeld(
    log,
    pyramid.filter,
    atLeast(fromClass),
    from,
    to,
    (row, laneIndex, start, duration, value) => {
      if (rowOf !== null && !(rowOf[laneIndex]! >= 0)) {
        return;
      }
      const run = log.runs.chunkOf(row)!.columns.run[row & CHUNK_MASK]!;
      const begin = (start - from) * cellsPerSecond;
      const end = begin + duration * cellsPerSecond;
      const fn = functionOf(value);
      boxes.add(laneIndex, begin, end, fn, kindOf(value), 0, 255, run, 0);
    }
  );
}

type CellWindow = {
  readonly firstCell: number;
  /** When it begins, microseconds. */
  readonly from: number;
  readonly cells: number;
  /** Tile cells per page cell. */
  readonly scale: number;
  readonly cellMicroseconds: number;
};

/** Covered cells; neighbours of one colour and nearly one cover are joined, their cover is the mean. */
function addCells(
  boxes: BoxList,
  plane: CellPlane | null,
  window: CellWindow,
  { laneOf, threads }: LaneRows,
  strip: 0 | 1,
  countsTasks: boolean
): void {
  if (plane === null) {
    return;
  }
  const { firstCell, cells, scale } = window;
  const ofOneThread = new Float64Array(cells).fill(window.cellMicroseconds);
  for (const row of laneIndices(plane.lanes)) {
    const laneIndex = laneOf === null ? row : laneOf[row]!;
    const steps = threads?.[row];
    const capacity =
      steps === undefined ? ofOneThread : capacityOf(steps, window);
    const origin = row * TILE_CELLS + firstCell;
    for (let first = 0; first < cells;) {
      const busy = plane.busy[origin + first]!;
      const count = plane.count[origin + first]!;
      if (busy === 0 && count === 0) {
        first++;
        continue;
      }
      const value = plane.category[origin + first]!;
      const cover = coverOf(busy, capacity[first]!);
      let end = first + 1;
      let sum = cover;
      let tasks = count;
      while (
        end < cells &&
        plane.busy[origin + end]! > 0 &&
        plane.category[origin + end] === value &&
        Math.abs(coverOf(plane.busy[origin + end]!, capacity[end]!) - cover) <=
          COVER_TOLERANCE
      ) {
        sum += coverOf(plane.busy[origin + end]!, capacity[end]!);
        tasks += plane.count[origin + end]!;
        end++;
      }
      boxes.add(
        laneIndex,
        first * scale,
        end * scale,
        functionOf(value),
        kindOf(value),
        strip,
        // 255 says "exact"; 0 would be invisible.
        Math.min(254, Math.max(1, Math.round(sum / (end - first)))),
        NONE_U32,
        // At least 1: a run that began in an earlier cell is in this one too, and 0 means a part.
        countsTasks ? Math.max(1, tasks) : 0
      );
      first = end;
    }
  }
}

/** Microseconds of threads in each cell. */
function capacityOf(
  steps: readonly ThreadStep[],
  { from, cells, cellMicroseconds }: CellWindow
): Float64Array {
  const capacity = new Float64Array(cells);
  steps.forEach(({ from: since, threads }, i) => {
    const begin = since * 1e6 - from;
    const end = (steps[i + 1]?.from ?? Infinity) * 1e6 - from;
    const first = Math.max(0, Math.floor(begin / cellMicroseconds));
    for (let c = first; c < cells && c * cellMicroseconds < end; c++) {
      const within =
        Math.min(end, (c + 1) * cellMicroseconds) -
        Math.max(begin, c * cellMicroseconds);
      capacity[c]! += within * threads;
    }
  });
  return capacity;
}

/** In 255ths; overlapping runs in one lane cover a cell once. Clocks may differ: runs of before a thread was there fill all of it. */
function coverOf(busyMicroseconds: number, capacity: number): number {
  return busyMicroseconds === 0
    ? 0
    : Math.min(255, (busyMicroseconds / capacity) * 255);
}
