import type { LaneId, SpanId } from '../../records/ids';
import { NONE_U16, NONE_U32, PartKind } from '../../records/enumerations';
import type { RecordsDetails, RecordsResult } from '../../wire/panel-link';
import { CHUNK_MASK } from '../store/column-table';
import type { LogStore } from '../store/log-store';
import {
  resolveRange,
  ROWS_PER_SLICE,
  type FoldContext,
  type Honoured,
  type Range,
  type Slices
} from './context';
import { honouredBy } from './honoured';
import { mainFunction } from './main-function';
import { ownersOf } from './owners';
import {
  cellOf,
  errorOf,
  mayHaveRaised,
  known,
  originOf,
  PART_KINDS,
  STATUSES,
  workerName
} from './run-detail';
import { counts, passes } from './tasks';
import type { ParamsOf } from '../../wire/question';

/** An answer must fit in one message of the panel link, 1 MiB: texts are three bytes a character at most, a number nine bytes. */
const MOST_BYTES = 512 * 1024;
const BYTES_PER_RUN = 80;
const BYTES_PER_PART = 37;
/** Of more of a run, and of its parts. */
const BYTES_PER_DETAILED_RUN = 55;
const BYTES_PER_DETAILED_PART = 9;

/**
 * Whole runs with all their parts, in the order of the log: the order in which the scheduler heard of their ends. An answer has as many as
 * one message holds, and says where the next answer goes on, so that a series of questions goes through the log once.
 *
 * The time range is one of *ends*: a run is in it when the last of its parts ends at `from` or later, and before `to`. For panels it is as it
 * is everywhere else.
 */
export function* foldRecords(
  context: FoldContext,
  params: ParamsOf<'records'>
): Slices<{ readonly result: RecordsResult; readonly honoured: Honoured }> {
  const { log } = context;
  const end = Math.min(params.end ?? Infinity, context.moment.rows.runs);
  const limit = params.limit ?? Infinity;
  const isDetailed = params.detailed === true;
  const page = new RecordsPage(log, isDetailed);
  const isWanted = isDetailed
    ? (row: number) => counts(log, row) && passes(context, row)
    : matcherOf(context);
  let [row, part] = params.after ?? [0, 0];
  const { firstRow } = log.runs;
  const lost = params.after === undefined ? 0 : Math.min(firstRow, end) - row;
  if (row < firstRow) {
    [row, part] = [firstRow, 0];
  }
  let left = limit;
  if (params.newest === true && params.after === undefined) {
    row = yield* firstOfNewest(log, isWanted, end, limit);
  }
  for (let seen = 1; row < end && left > 0; seen++) {
    if (seen % ROWS_PER_SLICE === 0) {
      yield;
    }
    if (isWanted(row)) {
      part = page.add(row, part);
      if (part > 0) {
        break;
      }
      left -= 1;
    }
    row += 1;
    if (page.isFull) {
      break;
    }
  }
  const isLast = row >= end || left <= 0;
  let next: RecordsResult['next'] = isLast ? null : [row, part];
  if (isLast && params.limit === undefined && !isDetailed) {
    const [firstRow, told] = params.after ?? [0, 0];
    const from = Math.max(firstRow >= end ? told : 0, params.marks ?? 0);
    const mark = page.addMarks(from, context);
    next = mark === null ? null : [end, mark];
  }
  return {
    result: {
      view: 'records',
      ...page.columns,
      ...page.details,
      marksEnd: log.events.endRow,
      end,
      next,
      ...(lost > 0 && { lost })
    },
    honoured: honouredBy('records', context)
  };
}

/** The row at which the newest `limit` runs begin. */
function* firstOfNewest(
  log: LogStore,
  isWanted: (row: number) => boolean,
  end: number,
  limit: number
): Slices<number> {
  const { firstRow } = log.runs;
  let row = end;
  for (let left = limit, seen = 1; row > firstRow && left > 0; seen++) {
    row -= 1;
    left -= isWanted(row) ? 1 : 0;
    if (seen % ROWS_PER_SLICE === 0) {
      yield;
    }
  }
  return row;
}

function matcherOf(context: FoldContext): (row: number) => boolean {
  const ofAllTime: FoldContext = { ...context, time: 'all' };
  const { log, time } = context;
  if (time === 'all') {
    return row => counts(log, row) && passes(ofAllTime, row);
  }
  const range = resolveRange(context);
  return row =>
    counts(log, row) && endsIn(log, range, row) && passes(ofAllTime, row);
}

function timesIn(context: FoldContext): (t: number) => boolean {
  if (context.time === 'all') {
    return () => true;
  }
  const { from, to } = resolveRange(context);
  return t => t >= from && t < to;
}

/** Whether an event of this kind is of what ended without a run of which a worker told. */
function endedWithoutRun(kind: string, run: number): boolean {
  return kind === 'task-lost' || (kind === 'task-failed' && run === NONE_U32);
}

/** The texts of a list as JSON. */
function textsIn(json: string): readonly string[] {
  try {
    const list: unknown = JSON.parse(json);
    return Array.isArray(list) ? list.map(String) : [json];
  } catch {
    // Of a source that writes them otherwise.
    return [json];
  }
}

function endsIn(log: LogStore, { from, to }: Range, row: number): boolean {
  const columns = log.runs.chunkOf(row)?.columns;
  if (columns === undefined) {
    return false;
  }
  const i = row & CHUNK_MASK;
  const start = columns.start[i]!;
  const end = start + columns.duration[i]!;
  // No part ends after its run, so most rows need no look at their parts.
  if (end < from || start >= to) {
    return false;
  }
  const last = lastPartEnd(log, columns.run[i]!, start) ?? end;
  return last >= from && last < to;
}

/** When the last part of a run ended. Null: its computing is not among its parts, so the run's own end counts. */
function lastPartEnd(log: LogStore, run: number, start: number): number | null {
  let last = -Infinity;
  let hasComputed = false;
  for (const row of log.partRows(run)) {
    const part = log.part(row);
    last = Math.max(last, start + part.offset + part.duration);
    hasComputed ||= part.kind === PartKind.Compute;
  }
  return hasComputed ? last : null;
}

type Writable<T> = {
  -readonly [K in keyof T]: T[K] extends readonly (infer E)[] ? E[] : T[K];
};
type RecordColumns = Writable<
  Omit<
    RecordsResult,
    'view' | 'next' | 'end' | 'marksEnd' | keyof RecordsDetails
  >
>;

/** The columns of one answer. Texts that repeat (functions, workers, spans) stand in it once. */
class RecordsPage {
  readonly columns: RecordColumns = {
    names: [],
    spans: [],
    lanes: [],
    errors: [],
    marks: [],
    run: [],
    key: [],
    function: [],
    span: [],
    lane: [],
    status: [],
    attempt: [],
    start: [],
    duration: [],
    nbytes: [],
    type: [],
    parts: [],
    partFrom: [],
    partHeld: [],
    partKind: [],
    partFunction: [],
    partSpan: [],
    partOffset: [],
    partDuration: []
  };
  private readonly _names = new Map<string, number>();
  private readonly _spans = new Map<SpanId, number>();
  /** By lane and thread, which may change. */
  private readonly _lanes = new Map<string, number>();
  private readonly _cells = new Map<SpanId, number | null>();
  private readonly _ownerOf: (span: SpanId) => string;
  private _bytes = 0;
  /** What panels ask for beside. */
  readonly details: Writable<RecordsDetails> | null;

  constructor(
    private readonly _log: LogStore,
    isDetailed: boolean
  ) {
    this._ownerOf = isDetailed ? ownersOf(_log) : () => '';
    this.details = isDetailed
      ? {
          cells: [],
          cell: [],
          client: [],
          origin: [],
          cpu: [],
          waitReady: [],
          waitInputs: [],
          waitThread: [],
          partBytes: []
        }
      : null;
  }

  get isFull(): boolean {
    return this._bytes >= MOST_BYTES;
  }

  /** @returns the part with which the run goes on in the next answer; 0: the run is complete. */
  add(row: number, firstPart: number): number {
    const { columns, _log: log } = this;
    const runs = log.runs.chunkOf(row)!.columns;
    const i = row & CHUNK_MASK;
    const run = runs.run[i]!;
    const key = log.key(runs.node[i]!);
    const type = runs.type[i]!;
    const end = runs.start[i]! + Math.max(0, runs.duration[i]!);
    if (firstPart === 0 && mayHaveRaised(runs.status[i]!)) {
      this._error(run);
    }
    columns.run.push(run);
    columns.key.push(key);
    columns.function.push(this._name(log.name(mainFunction(log, row))));
    columns.span.push(this._span(runs.span[i]!));
    columns.lane.push(this._lane(runs.lane[i]!, end));
    columns.status.push(this._name(STATUSES[runs.status[i]!] ?? 'ok'));
    columns.attempt.push(runs.attempt[i]!);
    columns.start.push(runs.start[i]!);
    columns.duration.push(runs.duration[i]!);
    columns.nbytes.push(known(runs.nbytes[i]!));
    columns.type.push(type === NONE_U32 ? null : this._name(log.name(type)));
    this._bytes += BYTES_PER_RUN + key.length * 3;
    this._detail(row);
    const parts = log.partRows(run);
    let at = firstPart;
    // At least one, so that every answer makes progress.
    while (at < parts.length && (at === firstPart || !this.isFull)) {
      this._part(parts[at]!);
      at += 1;
    }
    columns.parts.push(at - firstPart);
    return at < parts.length ? at : 0;
  }

  /**
   * Adds what ended without a run, from a row of `events` on.
   *
   * @returns the row with which they go on in the next answer; null: that is all.
   */
  addMarks(from: number, context: FoldContext): number | null {
    const { events } = this._log;
    const isTold = timesIn(context);
    for (
      let row = Math.max(from, events.firstRow);
      row < events.endRow;
      row++
    ) {
      const { columns } = events.chunkOf(row)!;
      const i = row & CHUNK_MASK;
      const t = columns.t[i]!;
      const isMark = endedWithoutRun(
        this._log.name(columns.kind[i]!),
        columns.run[i]!
      );
      if (!isMark || !isTold(t)) {
        continue;
      }
      if (this.isFull) {
        return row;
      }
      const worker = columns.worker[i]!;
      const [key = '', why = ''] = textsIn(events.text('text', row));
      this.columns.marks.push([
        t,
        key,
        worker === NONE_U16 ? null : this._address(worker),
        this._span(columns.span[i]!),
        why
      ]);
      this._bytes += 40 + (key.length + why.length) * 3;
    }
    return null;
  }

  private _detail(row: number): void {
    const { details, _log: log } = this;
    if (details === null) {
      return;
    }
    const { columns } = log.runs.chunkOf(row)!;
    const i = row & CHUNK_MASK;
    const span = columns.span[i]!;
    const client = this._ownerOf(span);
    details.cell.push(this._cell(span));
    details.client.push(client === '' ? null : this._name(client));
    details.origin.push(this._name(originOf(log, columns.node[i]!)));
    details.cpu.push(known(columns.cpu[i]!));
    details.waitReady.push(known(columns.waitReady[i]!));
    details.waitInputs.push(known(columns.waitInputs[i]!));
    details.waitThread.push(known(columns.waitThread[i]!));
    this._bytes += BYTES_PER_DETAILED_RUN;
  }

  /** The cell in which what is in a span was written; null: none, or not told. */
  private _cell(span: SpanId): number | null {
    let index = this._cells.get(span);
    if (index === undefined) {
      const { cell } = cellOf(this._log, span);
      index = cell === undefined ? null : this.details!.cells.push(cell) - 1;
      this._cells.set(span, index);
      this._bytes += 30 + (cell?.title.length ?? 0) * 3;
    }
    return index;
  }

  private _part(row: number): void {
    const { columns, _log: log } = this;
    const part = log.part(row);
    const from = log.parts.chunkOf(row)!.columns.from[row & CHUNK_MASK]!;
    columns.partFrom.push(from === NONE_U16 ? null : this._address(from));
    columns.partHeld.push(part.held ? 1 : 0);
    columns.partKind.push(this._name(PART_KINDS[part.kind] ?? ''));
    columns.partFunction.push(this._name(log.name(part.function)));
    columns.partSpan.push(this._span(part.span));
    columns.partOffset.push(part.offset);
    columns.partDuration.push(part.duration);
    this._bytes += BYTES_PER_PART;
    if (this.details !== null) {
      const { bytes } = log.parts.chunkOf(row)!.columns;
      this.details.partBytes.push(known(bytes[row & CHUNK_MASK]!));
      this._bytes += BYTES_PER_DETAILED_PART;
    }
  }

  /** Of the run whose row comes next. */
  private _error(run: number): void {
    const text = errorOf(this._log, run, false);
    if (text !== undefined) {
      this.columns.errors.push([this.columns.run.length, text]);
      this._bytes += 12 + text.length * 3;
    }
  }

  private _lane(lane: LaneId, end: number): number {
    const { shape } = this._log;
    const ident = shape.laneThreads.of(lane, end);
    const key = `${lane} ${ident}`;
    let index = this._lanes.get(key);
    if (index === undefined) {
      const row = shape.lanes[shape.laneIndex(lane)]!;
      const { worker, thread } = row;
      const beside = this._log.besideOf(row);
      const { address = '', why = '' } = shape.workers.get(worker) ?? {};
      const name = workerName(this._log, worker);
      index =
        this.columns.lanes.push({
          worker: name,
          address,
          why,
          thread,
          ...(beside !== undefined && { beside }),
          ident: known(ident)
        }) - 1;
      this._lanes.set(key, index);
      this._bytes += 70 + (name.length + address.length + why.length) * 3;
    }
    return index;
  }

  private _address(worker: number): number {
    const address = this._log.shape.workers.get(worker)?.address ?? '';
    return this._name(address === '' ? workerName(this._log, worker) : address);
  }

  private _name(name: string): number {
    let index = this._names.get(name);
    if (index === undefined) {
      index = this.columns.names.push(name) - 1;
      this._names.set(name, index);
      this._bytes += name.length * 3;
    }
    return index;
  }

  private _span(span: SpanId): number {
    let index = this._spans.get(span);
    if (index === undefined) {
      const path = this._log.spans.nameOf(span);
      index = this.columns.spans.push(path) - 1;
      this._spans.set(span, index);
      this._bytes += path.reduce((sum, tag) => sum + tag.length * 3 + 5, 0);
    }
    return index;
  }
}
