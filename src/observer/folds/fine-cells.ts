import type { Seconds } from '../../base/brand';
import { PartKind, RunStatus } from '../../records/enumerations';
import { passesFunction } from '../filter';
import {
  ACTIVITY_OF_PART,
  ActivityCells,
  OTHER
} from '../store/activity-cells';
import { CHUNK_MASK } from '../store/column-table';
import {
  bookRun,
  clippedNanoseconds,
  isExecution,
  nanoseconds,
  undividedExecutions,
  type Clip,
  type NanosecondSink,
  type PartFigures
} from '../store/run-book';
import { STATUS_REPLACED } from '../store/log-store';
import { MeterSums } from '../store/meter-sums';
import {
  resolveRange,
  ROWS_PER_SLICE,
  type FoldContext,
  type Slices
} from './context';

/** Seconds on threads by (span, function, activity), of the runs that the filter's workers, status and time let pass. */
export type FineCells = {
  readonly held: ActivityCells;
  readonly background: ActivityCells;
  /** What these runs measured themselves. */
  readonly meters: MeterSums;
  /** Time of all runs in the range on the filter's workers, whatever their span, function and status. */
  readonly totalNanoseconds: number;
};

/**
 * The log keeps the sums of the whole run by span and function up to date; a range of time, workers or a status need a scan of the runs,
 * which books in the same way and cuts runs at the borders. The log's own sums, which this gives without a break, go on: they are those of
 * the moment until the next one.
 */
export function* fineCells(context: FoldContext): Slices<FineCells> {
  const { log, filter, time, moment } = context;
  if (time === 'all' && !filter.byWorker && !filter.byStatus) {
    return {
      held: log.held,
      background: log.background,
      meters: log.meterSums,
      totalNanoseconds: log.totalNanoseconds
    };
  }
  const range = time === 'all' ? null : resolveRange(context);
  const held = new ActivityCells();
  const background = new ActivityCells();
  const meters = new MeterSums();
  const book = new ScanBook(context, range, held, background, meters);
  let seen = 0;
  const from = range?.from ?? -Infinity;
  const to = range?.to ?? Infinity;
  for (const [rows, first, end] of log.runZones.zones(
    from,
    to,
    moment.rows.runs
  )) {
    for (let i = first; i < end; i++) {
      book.add(rows[i]!);
    }
    seen += end - first;
    if (seen >= ROWS_PER_SLICE) {
      seen = 0;
      yield;
    }
  }
  return {
    held,
    background,
    meters,
    totalNanoseconds: book.totalNanoseconds
  };
}

class ScanBook {
  totalNanoseconds = 0;
  private readonly _sink: NanosecondSink;

  constructor(
    private readonly _context: FoldContext,
    private readonly _clip: Clip | null,
    private readonly _held: ActivityCells,
    private readonly _background: ActivityCells,
    private readonly _meters: MeterSums
  ) {
    this._sink = (span, fn, activity, ns) =>
      _held.addNanoseconds(_held.cell(span, fn), activity, ns);
  }

  add(row: number): void {
    const { log, filter } = this._context;
    const columns = log.runs.chunkOf(row)?.columns;
    if (columns === undefined) {
      return;
    }
    const i = row & CHUNK_MASK;
    const start = columns.start[i]!;
    const duration = columns.duration[i]! > 0 ? columns.duration[i]! : 0;
    const clip = this._clip;
    if (clip !== null && (start >= clip.to || start + duration < clip.from)) {
      return;
    }
    const status = columns.status[i]!;
    if (status === STATUS_REPLACED) {
      return;
    }
    if (filter.lanes[columns.lane[i]!] === 0) {
      return;
    }
    this.totalNanoseconds += clippedNanoseconds(start, duration, clip);
    if (filter.statuses[status] === 0) {
      return;
    }
    const span = columns.span[i]!;
    const fn = columns.function[i]!;
    const startsInRange = clip === null || start >= clip.from;
    const ends = this._context.moment.rows;
    const partRows = log.partRows(columns.run[i]!, ends.parts);
    const cpu = columns.cpu[i]!;
    const run = { span, function: fn, start, duration, cpu, status };
    const parts = partRows.map(partRow => log.part(partRow));
    if (startsInRange && status !== RunStatus.Missing) {
      const cell = this._held.cell(span, fn);
      this._held.addRun(cell, status === RunStatus.Failed, 1);
      this._held.addExecutions(cell, undividedExecutions(status, parts));
    }
    bookRun(run, parts, clip, 1, this._sink);
    for (const partRow of partRows) {
      this._addPart(partRow, start);
    }
    if (log.meters.endRow > 0) {
      this._addMeters(
        columns.run[i]!,
        startsInRange,
        computedShare(run, parts, clip)
      );
    }
  }

  /** Seconds of a run whose computing the range cuts count in proportion, as CPU time does; the rest counts where the run begins. */
  private _addMeters(run: number, begins: boolean, share: number): void {
    const { log, moment } = this._context;
    for (const row of log.metersOf(run, moment.rows.meters)) {
      if (Number.isNaN(row.cpu)) {
        if (begins) {
          this._meters.add(row);
        }
      } else if (share > 0) {
        const { value, cpu } = row;
        this._meters.add({ ...row, value: value * share, cpu: cpu * share });
      }
    }
  }

  private _addPart(row: number, runStart: number): void {
    const { log } = this._context;
    const columns = log.parts.chunkOf(row)!.columns;
    const i = row & CHUNK_MASK;
    const start = runStart + columns.offset[i]!;
    const clip = this._clip;
    if (clip !== null && (start < clip.from || start >= clip.to)) {
      return;
    }
    const held = columns.held[i] === 1;
    const cells = held ? this._held : this._background;
    const cell = cells.cell(columns.span[i]!, columns.function[i]!);
    const activity = ACTIVITY_OF_PART[columns.kind[i]!] ?? OTHER;
    cells.addEvent(cell, activity, columns.bytes[i]!);
    if (!held) {
      cells.addNanoseconds(cell, activity, nanoseconds(columns.duration[i]!));
    } else if (isExecution({ kind: columns.kind[i]!, held })) {
      cells.addExecutions(cell, 1);
    }
  }
}

/**
 * How much of a run's computing lies in the range, 0 to 1: tasks measure while they compute, and not while their code is imported or
 * their inputs are opened.
 */
function computedShare(
  run: { readonly start: Seconds; readonly duration: Seconds },
  parts: readonly PartFigures[],
  clip: Clip | null
): number {
  let [inRange, whole] = [0, 0];
  for (const { kind, held, offset, duration } of parts) {
    if (held && kind === PartKind.Compute) {
      inRange += clippedNanoseconds(run.start + offset, duration, clip);
      whole += nanoseconds(duration);
    }
  }
  if (whole === 0) {
    inRange = clippedNanoseconds(run.start, run.duration, clip);
    whole = nanoseconds(run.duration);
  }
  return whole === 0 ? 0 : Math.min(1, inRange / whole);
}

/** Whether a cell belongs to the selection. */
export function cellPasses(
  context: FoldContext,
  cells: ActivityCells,
  cell: number
): boolean {
  return (
    context.filter.spans[cells.span(cell)] === 1 &&
    passesFunction(context.filter, cells.function(cell))
  );
}
