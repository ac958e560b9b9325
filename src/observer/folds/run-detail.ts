import {
  PartKind,
  RunStatus,
  TaskOrigin,
  wordsOf
} from '../../records/enumerations';
import type { SpanId } from '../../records/ids';
import type { PartDetail, RunDetail } from '../../wire/panel-link';
import { CHUNK_MASK } from '../store/column-table';
import type { LogStore } from '../store/log-store';
import { endOfWorker, newestSample } from './lost-worker';
import { fusedOf, mainFunction } from './main-function';
import { ownersOf } from './owners';

const ORIGINS = wordsOf(TaskOrigin);
export const STATUSES = wordsOf(RunStatus);
export const PART_KINDS = wordsOf(PartKind);

/** NaN is "not known". */
export function known(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}

/** Parts in the answer of `detail`, and in a row of the table twin: 500 rows must fit in one message of the panel link. */
const MOST_PARTS = 2000;
const SHORT_PARTS = 4;
/** Labels with units of what a run measured itself. */
const MOST_MEASURED = 200;
/** Characters of an error there. */
const SHORT_ERROR = 200;

/** One run: whole as the answer of `detail`; in short, with its longest parts, as a row of the table twin. */
export function runDetail(
  log: LogStore,
  row: number,
  inShort = false,
  ownerOf = ownersOf(log)
): RunDetail | null {
  const columns = log.runs.chunkOf(row)?.columns;
  if (columns === undefined) {
    return null;
  }
  const i = row & CHUNK_MASK;
  const laneIndex = log.shape.laneIndex(columns.lane[i]!);
  const lane = log.shape.lanes[laneIndex]!;
  const node = columns.node[i]!;
  const run = columns.run[i]!;
  const status = STATUSES[columns.status[i]!] ?? 'ok';
  const error = mayHaveRaised(columns.status[i]!)
    ? errorOf(log, run, inShort)
    : undefined;
  const client = ownerOf(columns.span[i]!);
  const beside = log.besideOf(lane);
  const measured = inShort ? [] : measuredBy(log, run);
  const cancelled =
    columns.status[i] === RunStatus.Cancelled
      ? log.givenUp.of(columns.lane[i]!, columns.start[i]!)
      : undefined;
  const parts = log.partRows(run);
  const shownParts = longestParts(
    log,
    parts,
    inShort ? SHORT_PARTS : MOST_PARTS
  );
  const partsLeftOut = parts.length - shownParts.length;
  const fused = fusedOf(log, row);
  const lost =
    columns.status[i] === RunStatus.Lost && !inShort
      ? endOfWorker(log, lane.worker, newestSample(log, lane.worker))
      : undefined;
  return {
    run,
    key: log.key(node),
    function: log.name(mainFunction(log, row)),
    ...(fused.length > 1 && { fused }),
    span: log.spans.nameOf(columns.span[i]!),
    ...cellOf(log, columns.span[i]!),
    ...(client === '' ? {} : { client }),
    origin: originOf(log, node),
    worker: workerName(log, lane.worker),
    thread: lane.thread,
    ...(beside !== undefined && { beside }),
    laneIndex,
    status,
    ...(cancelled !== undefined && { cancelled }),
    attempt: columns.attempt[i]!,
    start: columns.start[i]!,
    duration: columns.duration[i]!,
    cpu: known(columns.cpu[i]!),
    waitReady: known(columns.waitReady[i]!),
    waitInputs: known(columns.waitInputs[i]!),
    waitThread: known(columns.waitThread[i]!),
    nbytes: known(columns.nbytes[i]!),
    ...(error === undefined ? {} : { error }),
    ...(lost !== undefined && {
      lost: log.lostWorkers.has(lane.worker)
        ? lost
        : { ...lost, inOrder: true as const }
    }),
    parts: shownParts.map(part => partDetail(log, part)),
    ...(partsLeftOut > 0 && { partsLeftOut }),
    ...(inShort || measured.length === 0 ? {} : { measured })
  };
}

export function originOf(log: LogStore, node: number): RunDetail['origin'] {
  const row = log.nodeRows.get(node);
  const origin = log.nodes.chunkOf(row)?.columns.origin[row & CHUNK_MASK];
  return ORIGINS[origin ?? TaskOrigin.Default] ?? 'default';
}

export function cellOf(log: LogStore, span: SpanId): Pick<RunDetail, 'cell'> {
  const cell = log.spans.cellOf(span);
  if (cell === undefined) {
    return {};
  }
  const { execution } = cell.cellRun;
  const isOne = execution > 0 && cell.joined === 0;
  return { cell: { title: cell.tag, ...(isOne && { execution }) } };
}

/** The first labels that it told, each with its sum. */
function measuredBy(
  log: LogStore,
  run: number
): NonNullable<RunDetail['measured']> {
  const sums = new Map<
    string,
    { label: number; unit: number; value: number }
  >();
  for (const { label, unit, value } of [...log.metersOf(run)].reverse()) {
    const id = `${label} ${unit}`;
    const sum = sums.get(id);
    if (sum !== undefined) {
      sum.value += value;
    } else if (sums.size < MOST_MEASURED) {
      sums.set(id, { label, unit, value });
    }
  }
  return [...sums.values()].map(({ label, unit, value }) => ({
    label: log.name(label),
    unit: log.name(unit),
    value
  }));
}

/** In the order in which they ran. */
function longestParts(
  log: LogStore,
  rows: readonly number[],
  most: number
): readonly number[] {
  if (rows.length <= most) {
    return rows;
  }
  const duration = (row: number): number => log.part(row).duration;
  return [...rows]
    .sort((a, b) => duration(b) - duration(a))
    .slice(0, most)
    .sort((a, b) => a - b);
}

export function workerName(log: LogStore, worker: number): string {
  return log.shape.workers.get(worker)?.name ?? String(worker);
}

function partDetail(log: LogStore, row: number): PartDetail {
  const columns = log.parts.chunkOf(row)!.columns;
  const i = row & CHUNK_MASK;
  return {
    kind: PART_KINDS[columns.kind[i]!] ?? '',
    held: columns.held[i] === 1,
    function: log.name(columns.function[i]!),
    span: log.spans.nameOf(columns.span[i]!),
    offset: columns.offset[i]!,
    duration: columns.duration[i]!,
    cpu: known(columns.cpu[i]!),
    bytes: known(columns.bytes[i]!)
  };
}

/** A cancelled run may have raised to its end, which is no failure: nobody waited for it. */
export function mayHaveRaised(status: number): boolean {
  return status === RunStatus.Failed || status === RunStatus.Cancelled;
}

/** The run's error: its traceback, or in short the last line of that. */
export function errorOf(
  log: LogStore,
  run: number,
  inShort: boolean
): string | undefined {
  const row = log.failureRows.get(run);
  if (row < 0 || !log.events.has(row)) {
    return undefined;
  }
  const text = log.events.text('text', row);
  return inShort
    ? text.trimEnd().split('\n').at(-1)!.slice(0, SHORT_ERROR)
    : text;
}
