import { NONE_U32 } from '../../records/enumerations';
import { SEVERAL_FUNCTIONS, TILE_CELLS } from './cell-plane';

/** A mark: one failed or lost run, or as many as begin in neighbouring cells. */
type FailedMark = {
  /** In cells since the page's begin. */
  readonly from: number;
  readonly to: number;
  readonly runs: number;
  /** The run; NONE_U32: it is not known, or there are several. */
  readonly run: number;
  /** Of all its runs; SEVERAL_FUNCTIONS: they have not the same, or it is not known. */
  readonly function: number;
};

/**
 * The failed and lost runs of a page, each in the cell in which it begins: a cell has the colour of what took most of its time, which is
 * seldom what failed at once. A page has them only if there is one.
 *
 *     cells   ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓
 *     failed     1      2 5        one run, with its own extent; seven runs
 */
export class FailedCells {
  private readonly _count: Uint32Array;
  /** That of all in the cell. */
  private readonly _function: Uint32Array;
  /** The last one that was added, as its extent: of a cell with one. */
  private readonly _run: Uint32Array;
  private readonly _from: Float32Array;
  private readonly _to: Float32Array;

  constructor(lanes: number) {
    const cells = lanes * TILE_CELLS;
    this._count = new Uint32Array(cells);
    this._run = new Uint32Array(cells);
    this._function = new Uint32Array(cells);
    this._from = new Float32Array(cells);
    this._to = new Float32Array(cells);
  }

  get nbytes(): number {
    return 20 * this._count.length;
  }

  /** Adds one that begins in the page; in cells since its begin. */
  add(
    lane: number,
    run: number,
    fn: number,
    from: number,
    duration: number
  ): void {
    // (what begins before the page's end may be rounded to it)
    const first = Math.min(TILE_CELLS - 1, Math.max(0, Math.floor(from)));
    const cell = lane * TILE_CELLS + first;
    this._addFunction(cell, fn);
    this._count[cell]! += 1;
    this._run[cell] = run;
    this._from[cell] = from;
    this._to[cell] = from + duration;
  }

  /** Adds some to a cell of which it is not known which they are. */
  addUnknown(lane: number, cell: number, runs: number): void {
    const to = lane * TILE_CELLS + cell;
    this._addFunction(to, SEVERAL_FUNCTIONS);
    this._count[to]! += runs;
    this._run[to] = NONE_U32;
  }

  /** Takes in those of a page of half the width, which is this page's first (0) or second (1) half. */
  addFiner(finer: FailedCells, half: 0 | 1): void {
    const cells = Math.min(finer._count.length, this._count.length);
    for (let from = 0; from < cells; from++) {
      const count = finer._count[from]!;
      if (count === 0) {
        continue;
      }
      const lane = Math.floor(from / TILE_CELLS);
      const origin = lane * TILE_CELLS + half * (TILE_CELLS / 2);
      const to = origin + ((from - lane * TILE_CELLS) >> 1);
      this._addFunction(to, finer._function[from]!);
      this._run[to] = finer._run[from]!;
      this._count[to]! += count;
      const begin = half * (TILE_CELLS / 2);
      this._from[to] = begin + finer._from[from]! / 2;
      this._to[to] = begin + finer._to[from]! / 2;
    }
  }

  /** (before it counts) */
  private _addFunction(cell: number, fn: number): void {
    this._function[cell] =
      this._count[cell] === 0 || this._function[cell] === fn
        ? fn
        : SEVERAL_FUNCTIONS;
  }

  /**
   * The marks of a lane in some cells of the page. Those of neighbouring cells are one.
   *
   * @param isOwn - whether one run has its own extent; else it has that of its cell.
   */
  *marks(
    lane: number,
    firstCell: number,
    cells: number,
    isOwn: boolean
  ): Generator<FailedMark> {
    const origin = lane * TILE_CELLS;
    const end = firstCell + cells;
    for (let first = firstCell; first < end; first++) {
      let runs = 0;
      let next = first;
      let fn = this._function[origin + first]!;
      for (; next < end && this._count[origin + next]! > 0; next++) {
        runs += this._count[origin + next]!;
        if (this._function[origin + next] !== fn) {
          fn = SEVERAL_FUNCTIONS;
        }
      }
      if (runs === 0) {
        continue;
      }
      const cell = origin + first;
      const run = runs === 1 ? this._run[cell]! : NONE_U32;
      const isKnown = run !== NONE_U32;
      const hasExtent = isKnown && isOwn;
      yield {
        from: hasExtent ? this._from[cell]! : first,
        to: hasExtent ? this._to[cell]! : next,
        runs,
        run,
        function: fn
      };
      first = next;
    }
  }
}
