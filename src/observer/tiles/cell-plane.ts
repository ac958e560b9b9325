import type { LaneIndex } from '../../records/ids';
import { isBoxOfFunction } from '../../records/box-kinds';
import { majorityVote } from '../store/majority-vote';

/** Cells of a tile, and of a page. */
export const TILE_CELLS = 512;

/** In place of a function's id in a category: several functions, or an id that does not fit. */
export const SEVERAL_FUNCTIONS = 0x0fffffff;

/**
 * A cell's colour in one number: kind in the upper 4 bits, function name id in the lower 28. Only computing, also in vain, and what tasks that
 * have seceded held, is told apart by function: sixty transfers of sixty functions have one colour.
 */
export function category(kind: number, fn: number): number {
  const shown = isBoxOfFunction(kind)
    ? Math.min(fn, SEVERAL_FUNCTIONS)
    : SEVERAL_FUNCTIONS;
  return kind * 0x10000000 + shown;
}

export function kindOf(value: number): number {
  return value >>> 28;
}

export function functionOf(value: number): number {
  return value & SEVERAL_FUNCTIONS;
}

/** The indices of so many lanes. */
export function* laneIndices(lanes: number): Generator<LaneIndex> {
  for (let index = 0; index < lanes; index++) {
    yield index as LaneIndex;
  }
}

/**
 * One value per (lane index, cell); index l has cells [l * 512, (l + 1) * 512).
 *
 * category and weight are a {@link majorityVote} by time: a category that fills more than half of a cell's covered time always wins it, in
 * whatever order runs are added and cells joined; otherwise one of the cell's categories wins.
 */
export class CellPlane {
  /** Microseconds covered. */
  readonly busy: Float32Array;
  readonly category: Uint32Array;
  readonly weight: Float32Array;
  /** Runs (or parts) that begin in the cell. */
  readonly count: Uint32Array;

  constructor(readonly lanes: number) {
    const cells = lanes * TILE_CELLS;
    this.busy = new Float32Array(cells);
    this.category = new Uint32Array(cells);
    this.weight = new Float32Array(cells);
    this.count = new Uint32Array(cells);
  }

  /** Adds so many microseconds of a category to a cell's vote. */
  vote(cell: number, value: number, weight: number): void {
    majorityVote(this.category, this.weight, cell, value, weight);
  }

  /**
   * Adds [from, to), in microseconds since the page's start; what lies outside the page is left out. An interval shorter than a cell
   * touches at most two cells; the loop is for longer ones.
   */
  cover(
    laneIndex: LaneIndex,
    value: number,
    from: number,
    to: number,
    cellMicroseconds: number
  ): void {
    const origin = laneIndex * TILE_CELLS;
    let cell = Math.floor(from / cellMicroseconds);
    if (cell >= 0 && cell < TILE_CELLS) {
      this.count[origin + cell]! += 1;
      if (to <= (cell + 1) * cellMicroseconds) {
        this.busy[origin + cell]! += to - from;
        this.vote(origin + cell, value, to - from);
        return;
      }
    }
    for (; cell < TILE_CELLS && cell * cellMicroseconds < to; cell++) {
      if (cell < 0) {
        cell = -1;
        continue;
      }
      const begin = Math.max(from, cell * cellMicroseconds);
      const covered = Math.min(to, (cell + 1) * cellMicroseconds) - begin;
      if (covered > 0) {
        this.busy[origin + cell]! += covered;
        this.vote(origin + cell, value, covered);
      }
    }
  }

  /** Takes in a page of half the width: its 512 cells become the 256 of this page's first (0) or second (1) half. */
  addFiner(finer: CellPlane, half: 0 | 1): void {
    const lanes = Math.min(finer.lanes, this.lanes);
    for (let laneIndex = 0; laneIndex < lanes; laneIndex++) {
      const source = laneIndex * TILE_CELLS;
      const target = source + half * (TILE_CELLS / 2);
      for (let i = 0; i < TILE_CELLS; i++) {
        const from = source + i;
        if (finer.count[from] === 0 && finer.busy[from] === 0) {
          continue;
        }
        const to = target + (i >> 1);
        this.busy[to]! += finer.busy[from]!;
        this.count[to]! += finer.count[from]!;
        this.vote(to, finer.category[from]!, finer.weight[from]!);
      }
    }
  }
}
