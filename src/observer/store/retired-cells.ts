import type { LaneIndex } from '../../records/ids';
import { majorityVote } from './majority-vote';

/** Cells of one page: 512, as in a tile. */
const PAGE_CELLS = 512;
const FIRST_LEVEL = 12;
const PAGE_BYTES = 16 * PAGE_CELLS;
/** Of a page in which runs failed, more. */
const FAILED_BYTES = 4 * PAGE_CELLS;
/** 16 MB, and 4 MB if runs failed everywhere. */
const MOST_PAGES = 2000;
/** With more lanes than that: a page of each, 64 MB, and 16 MB. */
const MOST_LANES = 8192;
/** So many go at a time: to look for the oldest takes all of them. */
const FORGOTTEN_LANES = MOST_LANES / 8;
/**
 * Cells that may be walked through at one level: twice as many as all pages have, and some more for each run. Runs that come one after the
 * other on their lanes need half of it; only runs that lie upon each other need more.
 */
const MOST_STEPS_PER_PAGE = 2 * PAGE_CELLS;
const STEPS_PER_RUN = 16;
/** Where a cell's number can still be counted on by one. */
const LAST_CELL = 2 ** 52;

type RetiredPage = {
  /** Microseconds covered per cell. */
  readonly busy: Float32Array;
  readonly function: Uint32Array;
  readonly weight: Float32Array;
  readonly runs: Uint32Array;
  /** How many of them failed or were lost; null: none. */
  failed: Uint32Array | null;
};

type RetiredLane = {
  readonly pages: Map<number, RetiredPage>;
  /** Microseconds; when the last of its runs ended. */
  end: number;
};

/**
 * What the task stream shows of runs whose rows were dropped: per lane index and cell of 2^level µs the time covered, the function that took
 * most of it ({@link majorityVote}) and the number of runs, and of those that failed.
 *
 * Cells begin at 4.1 ms wide. When there are too many pages, or runs cover too many cells again and again, neighbouring cells are joined
 * and the level rises by one: memory and time stay bounded for a log of any length, and the oldest part of a long log gets coarser, never
 * empty. Each lane keeps a page: with more lanes than pages there are as many pages as lanes, up to MOST_LANES. Then the lanes whose last run
 * ended longest ago go: those of workers that have left.
 */
export class RetiredCells {
  private _lanes = new Map<LaneIndex, RetiredLane>();
  private _pages = 0;
  private _failedPages = 0;
  /** Whether neighbouring pages could be joined: those next to the log's begin stay where they are. */
  private _canJoin = false;
  private _level = FIRST_LEVEL;
  /** Cells that may still be walked through at this level. */
  private _stepsLeft = MOST_STEPS_PER_PAGE * MOST_PAGES;

  get level(): number {
    return this._level;
  }

  get isEmpty(): boolean {
    return this._pages === 0;
  }

  get nbytes(): number {
    return PAGE_BYTES * this._pages + FAILED_BYTES * this._failedPages;
  }

  page(laneIndex: LaneIndex, index: number): RetiredPage | undefined {
    return this._lanes.get(laneIndex)?.pages.get(index);
  }

  /** Adds a run; times in seconds. One that begins or ends at no time is shown nowhere. */
  add(
    laneIndex: LaneIndex,
    fn: number,
    start: number,
    duration: number,
    isFailed = false
  ): void {
    const from = start * 1e6;
    const to = from + duration * 1e6;
    if (!Number.isFinite(from) || !Number.isFinite(to)) {
      return;
    }
    while (
      Math.max(-from, to) / 2 ** this._level > LAST_CELL ||
      (to - from) / 2 ** this._level > MOST_PAGES * PAGE_CELLS
    ) {
      this._coarsen();
    }
    this._stepsLeft += STEPS_PER_RUN;
    const cell = Math.floor(from / 2 ** this._level);
    const page = this._made(laneIndex, Math.floor(cell / PAGE_CELLS), to);
    const own = cell - Math.floor(cell / PAGE_CELLS) * PAGE_CELLS;
    page.runs[own]! += 1;
    if (isFailed) {
      this._failedOf(page)[own]! += 1;
    }
    let at = from;
    do {
      at = this._coverPage(laneIndex, fn, at, to);
      while (
        (this._pages > MOST_PAGES && this._canJoin) ||
        this._stepsLeft < 0
      ) {
        this._coarsen();
      }
    } while (at < to);
    if (this._lanes.size > MOST_LANES) {
      this._forgetLanes();
    }
  }

  /** Names of functions that are shown, some more than once. */
  *functions(): Generator<number> {
    for (const { pages } of this._lanes.values()) {
      for (const page of pages.values()) {
        for (let cell = 0; cell < page.runs.length; cell++) {
          if (page.busy[cell]! > 0) {
            yield page.function[cell]!;
          }
        }
      }
    }
  }

  /** Adds what of a run lies in the page in which it begins; microseconds. Returns where that ends. */
  private _coverPage(
    laneIndex: LaneIndex,
    fn: number,
    from: number,
    to: number
  ): number {
    const width = 2 ** this._level;
    const first = Math.floor(from / width);
    const index = Math.floor(first / PAGE_CELLS);
    const origin = index * PAGE_CELLS;
    const last = Math.min(
      origin + PAGE_CELLS - 1,
      Math.max(first, Math.ceil(to / width) - 1)
    );
    const page = this._made(laneIndex, index, to);
    for (let cell = first; cell <= last; cell++) {
      // All between the first and the last one are covered wholly.
      const covered =
        cell > first && cell < last
          ? width
          : Math.min(to, (cell + 1) * width) - Math.max(from, cell * width);
      page.busy[cell - origin]! += covered;
      majorityVote(page.function, page.weight, cell - origin, fn, covered);
    }
    this._stepsLeft -= last + 1 - first;
    return (last + 1) * width;
  }

  /** @param end - of what is to be added. */
  private _made(laneIndex: LaneIndex, index: number, end: number): RetiredPage {
    let lane = this._lanes.get(laneIndex);
    if (lane === undefined) {
      lane = { pages: new Map(), end };
      this._lanes.set(laneIndex, lane);
    }
    lane.end = Math.max(lane.end, end);
    let page = lane.pages.get(index);
    if (page === undefined) {
      page = emptyPage();
      lane.pages.set(index, page);
      this._pages++;
      this._canJoin ||= index !== 0 && index !== -1;
    }
    return page;
  }

  private _failedOf(page: RetiredPage): Uint32Array {
    if (page.failed === null) {
      page.failed = new Uint32Array(PAGE_CELLS);
      this._failedPages++;
    }
    return page.failed;
  }

  private _coarsen(): void {
    const finer = this._lanes;
    this._lanes = new Map();
    this._pages = 0;
    this._failedPages = 0;
    this._canJoin = false;
    this._level++;
    for (const [laneIndex, { pages, end }] of finer) {
      for (const [index, page] of pages) {
        const half = (index & 1) * (PAGE_CELLS / 2);
        const coarse = this._made(laneIndex, Math.floor(index / 2), end);
        joinCells(page, coarse, half);
        if (page.failed !== null) {
          const failed = this._failedOf(coarse);
          page.failed.forEach((count, cell) => {
            failed[half + (cell >> 1)]! += count;
          });
        }
      }
    }
    this._stepsLeft = MOST_STEPS_PER_PAGE * Math.max(MOST_PAGES, this._pages);
  }

  private _forgetLanes(): void {
    const oldestFirst = [...this._lanes].sort(([, a], [, b]) => a.end - b.end);
    for (const [laneIndex, { pages }] of oldestFirst.slice(
      0,
      FORGOTTEN_LANES
    )) {
      this._lanes.delete(laneIndex);
      this._pages -= pages.size;
      for (const { failed } of pages.values()) {
        this._failedPages -= failed === null ? 0 : 1;
      }
    }
  }
}

/** Adds each two neighbouring cells to one, from `first` on. */
function joinCells(
  finer: RetiredPage,
  coarse: RetiredPage,
  first: number
): void {
  for (let cell = 0; cell < PAGE_CELLS; cell++) {
    if (finer.runs[cell] === 0 && finer.busy[cell] === 0) {
      continue;
    }
    const target = first + (cell >> 1);
    coarse.busy[target]! += finer.busy[cell]!;
    coarse.runs[target]! += finer.runs[cell]!;
    majorityVote(
      coarse.function,
      coarse.weight,
      target,
      finer.function[cell]!,
      finer.weight[cell]!
    );
  }
}

function emptyPage(): RetiredPage {
  return {
    busy: new Float32Array(PAGE_CELLS),
    function: new Uint32Array(PAGE_CELLS),
    weight: new Float32Array(PAGE_CELLS),
    runs: new Uint32Array(PAGE_CELLS),
    failed: null
  };
}
