import type { ArrayOf, IndexedBy } from '../../base/typed-arrays';
import { BOX_OF_PART, boxOfRun } from '../../records/box-kinds';
import type { LaneId, LaneIndex } from '../../records/ids';
import {
  BoxKind,
  NONE_U16,
  PartKind,
  RunStatus
} from '../../records/enumerations';
import type { CompiledFilter } from '../filter';
import { CHUNK_SHIFT, CHUNK_MASK, type ColumnsOf } from '../store/column-table';
import { CLASS_COUNT, type ZonedRows } from '../store/duration-classes';
import type { LogStore } from '../store/log-store';
import { category } from './cell-plane';

/** Takes one run or part; times in seconds. `row` is its row in `runs` or `parts`. */
export type RowSink = (
  row: number,
  laneIndex: LaneIndex,
  from: number,
  duration: number,
  category: number
) => void;
type PartSink = (
  row: number,
  runRow: number,
  laneIndex: LaneIndex,
  from: number,
  duration: number,
  category: number,
  held: boolean,
  /** Drawn instead of its run, not over it. */
  isExecution: boolean
) => void;

/** Rows between two yields, about. */
const ROWS_PER_SLICE = 8192;

/** Duration classes [from, to). */
export type ClassSpan = { readonly from: number; readonly to: number };
export const classesBetween = (from: number, to: number): ClassSpan => ({
  from: Math.min(from, CLASS_COUNT),
  to: Math.min(to, CLASS_COUNT)
});
export const shorterThan = (level: number): ClassSpan =>
  classesBetween(0, level);
export const atLeast = (level: number): ClassSpan =>
  classesBetween(level, CLASS_COUNT);

/**
 * Whether executions are shown instead of runs: under a filter by span or function, those parts of a fused task are drawn that pass,
 * whatever the function and span of its run.
 *
 *     a fused task     ├ load ┤── matmul ──┤ sum ┤      run of function "sum"
 *     matmul chosen            ├─ matmul ──┤
 *     sum chosen                            ├ sum ┤
 */
export function showsExecutions({
  bySpan,
  byFunction
}: CompiledFilter): boolean {
  return bySpan || byFunction;
}

/** Shows the runs of these duration classes that reach into [from, to) and pass the filter; for fused tasks see {@link showsExecutions}. */
export function* scanRuns(
  log: LogStore,
  filter: CompiledFilter,
  classes: ClassSpan,
  from: number,
  to: number,
  sink: RowSink
): Generator<void, void> {
  const show = runGate(log, filter, from, to, sink);
  if (inOrderIsCheaper(log, classes, from, to)) {
    const shortest = classes.from === 0 ? 0 : 2 ** classes.from;
    const longest = classes.to >= CLASS_COUNT ? Infinity : 2 ** classes.to;
    yield* inSlices(log.runZones, from, to, (rows, first, end) =>
      show(rows, first, end, shortest, longest)
    );
    return;
  }
  const first = Math.max(classes.from, log.runClasses.shortest);
  for (let number = first; number < classes.to; number++) {
    yield* inSlices(log.runClasses.of(number), from, to, (rows, begin, end) =>
      show(rows, begin, end, 0, Infinity)
    );
  }
}

/**
 * Going through all rows in the order in which they lie in memory beats going class by class, with some six cache misses a row, unless
 * the classes hold a small share of them.
 */
function inOrderIsCheaper(
  log: LogStore,
  classes: ClassSpan,
  from: number,
  to: number
): boolean {
  let wanted = 0;
  for (let number = classes.from; number < classes.to; number++) {
    wanted += log.runClasses.of(number).count(from, to);
  }
  return wanted * 4 > log.runZones.count(from, to);
}

function* inSlices(
  zoned: ZonedRows,
  from: number,
  to: number,
  show: (rows: Uint32Array, first: number, end: number) => void
): Generator<void, void> {
  let seen = 0;
  for (const [rows, first, end] of zoned.zones(from, to)) {
    show(rows, first, end);
    seen += end - first;
    if (seen >= ROWS_PER_SLICE) {
      seen = 0;
      yield;
    }
  }
}

/** Tests rows[first…end) and shows those that pass; durations in µs, [shortest, longest). */
function runGate(
  log: LogStore,
  filter: CompiledFilter,
  from: number,
  to: number,
  sink: RowSink
): (
  rows: Uint32Array,
  first: number,
  end: number,
  shortest: number,
  longest: number
) => void {
  const laneIndices = laneIndexTable(log);
  const { spans, functions, otherFunctions, lanes, statuses } = filter;
  const known = functions.length;
  const divides = showsExecutions(filter) && log.parts.endRow > 0;
  /**
   * Shows the compute parts of a run that have its own function and span; other parts are shown from their own rows. Returns whether the
   * run has compute parts: else the run itself is an execution. It walks from part to part, without a list, since it is called for every
   * row.
   */
  const showExecutions = (
    row: number,
    last: number,
    laneIndex: LaneIndex,
    start: number,
    value: number
  ): boolean => {
    const run = log.runs.chunkOf(row)!.columns;
    const j = row & CHUNK_MASK;
    let isDivided = false;
    for (let at = last; at >= 0;) {
      const part = log.parts.chunkOf(at)?.columns;
      if (part === undefined) {
        break;
      }
      const k = at & CHUNK_MASK;
      if (part.held[k] === 1 && part.kind[k] === PartKind.Compute) {
        isDivided = true;
        const begin = start + part.offset[k]!;
        if (
          part.function[k] === run.function[j] &&
          part.span[k] === run.span[j] &&
          begin < to &&
          begin + part.duration[k]! >= from
        ) {
          sink(row, laneIndex, begin, part.duration[k]!, value);
        }
      }
      at = part.previous[k]! - 1;
    }
    return isDivided;
  };
  return (rows, first, end, shortest, longest) => {
    let at = -1;
    let columns: ColumnsOf<'runs'> | undefined;
    for (let i = first; i < end; i++) {
      const row = rows[i]!;
      if (row >>> CHUNK_SHIFT !== at) {
        at = row >>> CHUNK_SHIFT;
        columns = log.runs.chunkOf(row)?.columns;
      }
      if (columns === undefined) {
        continue;
      }
      const j = row & CHUNK_MASK;
      const start = columns.start[j]!;
      const duration = columns.duration[j]! > 0 ? columns.duration[j]! : 0;
      const microseconds = duration * 1e6;
      if (
        start >= to ||
        start + duration < from ||
        microseconds < shortest ||
        microseconds >= longest
      ) {
        continue;
      }
      const fn = columns.function[j]!;
      const status = columns.status[j]!;
      const lane = columns.lane[j]!;
      if (
        spans[columns.span[j]!] === 0 ||
        statuses[status] === 0 ||
        lanes[lane] === 0 ||
        laneIndices[lane] === NOT_YET ||
        (fn < known ? functions[fn] : otherFunctions) === 0 ||
        // Given back before it began.
        (status === RunStatus.Missing && !(duration > 0))
      ) {
        continue;
      }
      const value = category(boxOfRun(status), fn);
      if (divides) {
        const run = columns.run[j]!;
        if (
          log.fusedRuns.get(run) >= 0 &&
          showExecutions(
            row,
            log.lastParts.get(run),
            laneIndices[lane]!,
            start,
            value
          )
        ) {
          continue;
        }
      }
      sink(row, laneIndices[lane]!, start, duration, value);
    }
  };
}

/** The same for parts whose run is here; computing of a run that failed is in its run's box. */
export function* scanParts(
  log: LogStore,
  filter: CompiledFilter,
  classes: ClassSpan,
  from: number,
  to: number,
  sink: PartSink
): Generator<void, void> {
  const show = partGate(log, filter, from, to, sink);
  const first = Math.max(classes.from, log.partClasses.shortest);
  for (let number = first; number < classes.to; number++) {
    yield* inSlices(log.partClasses.of(number), from, to, show);
  }
}

function partGate(
  log: LogStore,
  filter: CompiledFilter,
  from: number,
  to: number,
  sink: PartSink
): (rows: Uint32Array, first: number, end: number) => void {
  const laneIndices = laneIndexTable(log);
  const { spans, functions, otherFunctions, lanes, statuses } = filter;
  const divides = showsExecutions(filter);
  return (rows, first, end) => {
    for (let i = first; i < end; i++) {
      const row = rows[i]!;
      const part = log.parts.chunkOf(row)?.columns;
      const j = row & CHUNK_MASK;
      const runRow = part === undefined ? -1 : part.runRow[j]! - 1;
      const run = runRow < 0 ? undefined : log.runs.chunkOf(runRow)?.columns;
      if (part === undefined || run === undefined) {
        continue;
      }
      const k = runRow & CHUNK_MASK;
      const start = run.start[k]! + part.offset[j]!;
      const duration = part.duration[j]! > 0 ? part.duration[j]! : 0;
      const fn = part.function[j]!;
      const lane = run.lane[k]!;
      if (
        start >= to ||
        start + duration < from ||
        spans[part.span[j]!] === 0 ||
        statuses[run.status[k]!] === 0 ||
        lanes[lane] === 0 ||
        laneIndices[lane] === NOT_YET ||
        (fn < functions.length ? functions[fn] : otherFunctions) === 0
      ) {
        continue;
      }
      const held = part.held[j] === 1;
      const isComputing = held && part.kind[j] === PartKind.Compute;
      const box = boxOfRun(run.status[k]!);
      // However much of it was computed, a fused task that failed, or was cancelled, was in vain: so is all of its box.
      if (isComputing && !divides && box !== BoxKind.Compute) {
        continue;
      }
      // isExecution, without an object for each row.
      const stands = divides && isComputing;
      sink(
        row,
        runRow,
        laneIndices[lane]!,
        start,
        duration,
        category(
          stands ? box : (BOX_OF_PART[part.kind[j]!] ?? BoxKind.Compute),
          fn
        ),
        held,
        stands
      );
    }
  };
}

/** A lane that joined during a scan in slices: the caller has no place for it, and will ask again. */
const NOT_YET = NONE_U16;

/** Lane id → lane index. */
function laneIndexTable(
  log: LogStore
): IndexedBy<LaneId, ArrayOf<Uint16Array, LaneIndex>> {
  const table: IndexedBy<
    LaneId,
    ArrayOf<Uint16Array, LaneIndex>
  > = new Uint16Array(65536).fill(NOT_YET) as ArrayOf<Uint16Array, LaneIndex>;
  for (const { lane } of log.shape.lanes) {
    table[lane] = log.shape.laneIndex(lane);
  }
  return table;
}
