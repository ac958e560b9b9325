import { BoxKind } from '../../records/enumerations';
import type { LaneIndex } from '../../records/ids';
import type { CompiledFilter } from '../filter';
import { CHUNK_MASK } from '../store/column-table';
import type { LogStore } from '../store/log-store';
import {
  emptyPage,
  failedOf,
  layerOf,
  LAYERS,
  pageBytes,
  type CellPage
} from './cell-page';
import { category, kindOf, laneIndices, TILE_CELLS } from './cell-plane';
import { scanHeld } from './held-places';
import {
  type Grouping,
  laneRows,
  type LaneRows,
  NOT_GROUPED
} from './lane-rows';
import {
  atLeast,
  classesBetween,
  scanParts,
  scanRuns,
  shorterThan,
  type ClassSpan
} from './scan-rows';

/** Up to this many rows a page is made from the rows themselves: some 10 ms, and most pages of most logs need no finer ones. */
const FEW_ROWS = 131_072;
const DEFAULT_BUDGET_BYTES = 48 * 2 ** 20;

/**
 * Pages of cells, each made from the two finer pages below it, for one log and one filter.
 *
 *     level L+1   │            page i             │     = both halves, two cells becoming one,
 *     level L     │   page 2i     │   page 2i+1   │       + the runs of 2^L … 2^(L+1) µs, which are boxes at L and cells at L+1
 *
 * A page at level L holds only what is shorter than its cells; longer runs are drawn exactly and looked up by time (tile.ts). Where few
 * rows lie in a page's range it is made from the rows at once, so that the pages of a log take memory in proportion to its rows. Pages
 * that are settled are kept (least recently used go first); the rest, at the live edge, is made again, which costs one page per level.
 */
export class Pyramid {
  private readonly _pages = new Map<string, CellPage>();
  private _bytes = 0;
  private _validFor = '';
  /** Of that version of the cluster's shape. */
  private _rows: LaneRows | undefined;
  private _rowsFor = -1;

  constructor(
    private readonly _log: LogStore,
    readonly filter: CompiledFilter,
    private readonly _budgetBytes = DEFAULT_BUDGET_BYTES,
    private readonly _fewRows = FEW_ROWS,
    private readonly _grouping: Grouping = NOT_GROUPED
  ) {}

  /** The rows that pages have now. */
  rows(): LaneRows {
    const { shape } = this._log;
    if (this._rows === undefined || this._rowsFor !== shape.version) {
      this._rows = laneRows(shape, this._grouping);
      this._rowsFor = shape.version;
    }
    return this._rows;
  }

  get nbytes(): number {
    return this._bytes;
  }

  /** The page `index` of `level`; what lies before `settledBefore` seconds is kept. */
  *page(
    level: number,
    index: number,
    settledBefore: number
  ): Generator<void, CellPage> {
    this._forgetIfOutdated();
    return yield* this._made(level, index, settledBefore);
  }

  private *_made(
    level: number,
    index: number,
    settledBefore: number
  ): Generator<void, CellPage> {
    const key = `${level}/${index}`;
    const kept = this._pages.get(key);
    if (kept !== undefined) {
      // To the end: least recently used is first.
      this._pages.delete(key);
      this._pages.set(key, kept);
      return kept;
    }
    const validFor = this._validFor;
    const log = this._log;
    const seconds = pageSeconds(level);
    const from = index * seconds;
    // As the begin of the next page is worked out: `from + seconds` may be rounded to another number.
    const to = (index + 1) * seconds;
    const laneRows = this.rows();
    const page = emptyPage(laneRows.count);
    const rows =
      log.runClasses.countShorter(level, from, to) +
      log.partClasses.countShorter(level, from, to);
    const few =
      this._fewRows === FEW_ROWS
        ? Math.max(FEW_ROWS, 2 * page.lanes * TILE_CELLS)
        : this._fewRows;
    const shortest = Math.min(
      log.runClasses.shortest,
      log.partClasses.shortest
    );
    if (laneRows.threads !== null) {
      // (what is longer than a cell, too: a page of it cannot be joined)
      yield* this._scan(page, laneRows, atLeast(0), level, from, to);
      this._addRetired(page, laneRows, level, from, to);
    } else if (rows > few && level > shortest + 1) {
      for (const half of [0, 1] as const) {
        const finer = yield* this._made(
          level - 1,
          2 * index + half,
          settledBefore
        );
        for (const layer of LAYERS) {
          const plane = finer[layer];
          if (plane !== null) {
            layerOf(page, layer).addFiner(plane, half);
          }
        }
        if (finer.failed !== null) {
          failedOf(page).addFiner(finer.failed, half);
        }
      }
      yield* this._scan(
        page,
        laneRows,
        classesBetween(level - 1, level),
        level,
        from,
        to
      );
    } else {
      if (rows > 0 || log.besideRows.length > 0) {
        yield* this._scan(page, laneRows, shorterThan(level), level, from, to);
      }
      this._addRetired(page, laneRows, level, from, to);
    }
    // The page was made in slices: meanwhile late rows may have come, or another watch may have made the same page.
    this._forgetIfOutdated();
    if (
      to <= settledBefore &&
      validFor === this._validFor &&
      !this._pages.has(key)
    ) {
      this._keep(key, page);
    }
    return page;
  }

  private *_scan(
    page: CellPage,
    { rowOf, threads }: LaneRows,
    classes: ClassSpan,
    level: number,
    from: number,
    to: number
  ): Generator<void, void> {
    const log = this._log;
    const cell = 2 ** level;
    const lanes = page.lanes;
    const place = (lane: LaneIndex) =>
      (rowOf === null ? lane : (rowOf[lane] ?? -1)) as LaneIndex;
    let runs = page.runs;
    let held = page.held;
    let strip = page.strip;
    const fail = (
      row: LaneIndex,
      run: number,
      fn: number,
      start: number,
      duration: number
    ) => {
      if (start >= from && start < to) {
        const begin = ((start - from) * 1e6) / cell;
        failedOf(page).add(row, run, fn, begin, (duration * 1e6) / cell);
      }
    };
    yield* scanRuns(
      log,
      this.filter,
      classes,
      from,
      to,
      (at, laneIndex, start, duration, value) => {
        const row = place(laneIndex);
        if (row >= 0 && row < lanes) {
          const begin = (start - from) * 1e6;
          runs ??= layerOf(page, 'runs');
          runs.cover(row, value, begin, begin + duration * 1e6, cell);
          if (kindOf(value) === BoxKind.Failed) {
            const { columns } = log.runs.chunkOf(at)!;
            const j = at & CHUNK_MASK;
            fail(row, columns.run[j]!, columns.function[j]!, start, duration);
          }
        }
      }
    );
    yield* scanParts(
      log,
      this.filter,
      classes,
      from,
      to,
      (at, runRow, laneIndex, start, duration, value, isHeld, isExecution) => {
        const row = place(laneIndex);
        if (row >= 0 && row < lanes) {
          const begin = (start - from) * 1e6;
          const plane = isExecution
            ? (runs ??= layerOf(page, 'runs'))
            : isHeld
              ? (held ??= layerOf(page, 'held'))
              : (strip ??= layerOf(page, 'strip'));
          plane.cover(row, value, begin, begin + duration * 1e6, cell);
          if (isExecution && kindOf(value) === BoxKind.Failed) {
            const run = log.runs.chunkOf(runRow)!.columns.run;
            const fn = log.parts.chunkOf(at)!.columns.function;
            fail(
              row,
              run[runRow & CHUNK_MASK]!,
              fn[at & CHUNK_MASK]!,
              start,
              duration
            );
          }
        }
      }
    );
    if (threads !== null) {
      // (the row of a group has the run itself)
      return;
    }
    scanHeld(
      log,
      this.filter,
      classes,
      from,
      to,
      (_row, laneIndex, start, duration, value) => {
        const row = place(laneIndex);
        if (row >= 0 && row < lanes) {
          const begin = (start - from) * 1e6;
          held ??= layerOf(page, 'held');
          held.cover(row, value, begin, begin + duration * 1e6, cell);
        }
      }
    );
  }

  /**
   * Runs whose rows are gone: cells of 2^level' µs, spread over finer cells or joined into coarser ones. They know no span, so that a
   * filter cannot show them.
   */
  private _addRetired(
    page: CellPage,
    { rowOf }: LaneRows,
    level: number,
    from: number,
    to: number
  ): void {
    const { retired, droppedBefore } = this._log;
    if (retired.isEmpty || !this.filter.isOpen) {
      return;
    }
    const ownCell = 2 ** level;
    const cell = 2 ** retired.level;
    // A page may reach far beyond the log: only cells within the log are looked at. The last of them reaches beyond the last
    // dropped run, and a page that begins there shows its part of it.
    const firstCell = Math.max(0, Math.floor((from * 1e6) / cell));
    const endCell = Math.ceil((Math.min(to, droppedBefore) * 1e6) / cell);
    const lanes = rowOf === null ? page.lanes : rowOf.length;
    for (const laneIndex of laneIndices(lanes)) {
      const row = rowOf === null ? laneIndex : rowOf[laneIndex]!;
      if (row < 0 || row >= page.lanes) {
        continue;
      }
      for (let c = firstCell; c < endCell; c++) {
        const index = Math.floor(c / TILE_CELLS);
        const source = retired.page(laneIndex, index);
        if (source === undefined) {
          // Nothing in this lane for a whole page of retired cells.
          c = (index + 1) * TILE_CELLS - 1;
          continue;
        }
        const at = c - index * TILE_CELLS;
        if (source.busy[at] === 0 && source.runs[at] === 0) {
          continue;
        }
        const begin = c * cell - from * 1e6;
        const share = source.busy[at]! / cell;
        const first = Math.max(0, Math.floor(begin / ownCell));
        const end = Math.min(TILE_CELLS, Math.ceil((begin + cell) / ownCell));
        const plane = layerOf(page, 'runs');
        const origin = row * TILE_CELLS;
        for (let own = first; own < end; own++) {
          const covered =
            (Math.min(begin + cell, (own + 1) * ownCell) -
              Math.max(begin, own * ownCell)) *
            share;
          plane.busy[origin + own]! += covered;
          plane.vote(
            origin + own,
            category(BoxKind.Compute, source.function[at]!),
            covered
          );
        }
        if (begin >= 0) {
          plane.count[origin + first]! += source.runs[at]!;
          const failed = source.failed?.[at] ?? 0;
          if (failed > 0) {
            failedOf(page).addUnknown(row, first, failed);
          }
        }
      }
    }
  }

  private _keep(key: string, page: CellPage): void {
    this._pages.set(key, page);
    this._bytes += pageBytes(page);
    for (const [oldest, old] of this._pages) {
      if (this._bytes <= this._budgetBytes || oldest === key) {
        return;
      }
      this._pages.delete(oldest);
      this._bytes -= pageBytes(old);
    }
  }

  /** Late rows and dropped rows change what was settled; both are rare. */
  private _forgetIfOutdated(): void {
    const validFor = `${this._log.lateRows}/${this._log.droppedRuns}`;
    if (validFor !== this._validFor) {
      this._validFor = validFor;
      this._pages.clear();
      this._bytes = 0;
    }
  }
}

/** Seconds covered by a page or tile of a level. */
export function pageSeconds(level: number): number {
  return (TILE_CELLS * 2 ** level) / 1e6;
}
