import type { LaneIndex } from '../../records/ids';
import { majorityVote } from './majority-vote';

/** Cells of one page: 512, as in a tile. */
const PAGE_CELLS = 512;
const FIRST_LEVEL = 12;
/** 512 cells × 16 bytes × 2,000 pages are 16 MB. */
const MOST_PAGES = 2000;

type RetiredPage = {
  /** Microseconds covered per cell. */
  readonly busy: Float32Array;
  readonly function: Uint32Array;
  readonly weight: Float32Array;
  readonly runs: Uint32Array;
};

/**
 * What the task stream shows of runs whose rows were dropped: per lane index and cell of 2^level µs the time covered, the function that took
 * most of it ({@link majorityVote}) and the number of runs.
 *
 * Cells begin at 4.1 ms wide. When there are too many pages, neighbouring cells are joined and the level rises by one: memory stays
 * bounded for a log of any length, and the oldest part of a long log gets coarser, never empty.
 */
export class RetiredCells {
  private _pages = new Map<string, RetiredPage>();
  private _level = FIRST_LEVEL;

  get level(): number {
    return this._level;
  }

  get isEmpty(): boolean {
    return this._pages.size === 0;
  }

  page(laneIndex: LaneIndex, index: number): RetiredPage | undefined {
    return this._pages.get(`${laneIndex}/${index}`);
  }

  /** Adds a run; times in seconds. */
  add(laneIndex: LaneIndex, fn: number, start: number, duration: number): void {
    const cellMicroseconds = 2 ** this._level;
    const from = start * 1e6;
    const to = from + duration * 1e6;
    const first = Math.floor(from / cellMicroseconds);
    const last = Math.max(first, Math.ceil(to / cellMicroseconds) - 1);
    for (let cell = first; cell <= last; cell++) {
      const covered =
        Math.min(to, (cell + 1) * cellMicroseconds) -
        Math.max(from, cell * cellMicroseconds);
      const index = Math.floor(cell / PAGE_CELLS);
      const page = this._made(laneIndex, index);
      const at = cell - index * PAGE_CELLS;
      page.busy[at]! += covered;
      page.runs[at]! += cell === first ? 1 : 0;
      majorityVote(page.function, page.weight, at, fn, covered);
    }
    while (this._pages.size > MOST_PAGES) {
      this._coarsen();
    }
  }

  /** Names of functions that are shown, some more than once. */
  *functions(): Generator<number> {
    for (const page of this._pages.values()) {
      for (let cell = 0; cell < page.runs.length; cell++) {
        if (page.busy[cell]! > 0) {
          yield page.function[cell]!;
        }
      }
    }
  }

  private _made(laneIndex: LaneIndex, index: number): RetiredPage {
    const key = `${laneIndex}/${index}`;
    let page = this._pages.get(key);
    if (page === undefined) {
      page = emptyPage();
      this._pages.set(key, page);
    }
    return page;
  }

  private _coarsen(): void {
    const finer = this._pages;
    this._pages = new Map();
    this._level++;
    for (const [key, page] of finer) {
      const [laneIndex, index] = key.split('/').map(Number) as [
        LaneIndex,
        number
      ];
      const coarse = this._made(laneIndex, Math.floor(index / 2));
      const half = (index & 1) * (PAGE_CELLS / 2);
      for (let cell = 0; cell < PAGE_CELLS; cell++) {
        if (page.runs[cell] === 0 && page.busy[cell] === 0) {
          continue;
        }
        const target = half + (cell >> 1);
        coarse.busy[target]! += page.busy[cell]!;
        coarse.runs[target]! += page.runs[cell]!;
        majorityVote(
          coarse.function,
          coarse.weight,
          target,
          page.function[cell]!,
          page.weight[cell]!
        );
      }
    }
  }
}

function emptyPage(): RetiredPage {
  return {
    busy: new Float32Array(PAGE_CELLS),
    function: new Uint32Array(PAGE_CELLS),
    weight: new Float32Array(PAGE_CELLS),
    runs: new Uint32Array(PAGE_CELLS)
  };
}
