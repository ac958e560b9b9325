import type { Nanoseconds } from '../../base/brand';
import { DEFAULT_SPAN, type LaneIndex } from '../../records/ids';
import { decodeText } from '../../records/decode-text';
import {
  NONE_U32,
  PartKind,
  RunStatus,
  TaskOrigin
} from '../../records/enumerations';
import type { Row } from '../../records/block';
import { TABLES, type ColumnType, type TableName } from '../../records/tables';
import {
  CHUNK_MASK,
  SPAN_COLUMN,
  type AnyColumn,
  type BlockRows,
  type ColumnsOf,
  type ColumnTable
} from './column-table';
import { implausible, ImplausibleBlock } from './block-bounds';
import { ACTIVITY_OF_PART, OTHER } from './activity-cells';
import { IN_TASKS } from './fine-sums';
import { foldSpans } from './fold-spans';
import { dropOverdueParts, dropOverdueRuns } from './drop-oldest';
import type { IdIndex } from './id-index';
import { LONG_PAUSE, STATUS_REPLACED, type LogStore } from './log-store';
import { makeRoomForName } from './name-bound';
import { fileOf, framesOf } from './stack-frames';
import {
  bookRun,
  bookUndivided,
  hasBegun,
  nanoseconds,
  undividedExecutions,
  type NanosecondSink,
  type PartFigures
} from './run-book';

/**
 * Takes a block in: rows are copied column by column, then what every question needs is brought up to date row by row (about half a
 * microsecond a run).
 *
 * A block that is here already (a source that replays after a break) changes nothing. Missing numbers tell nothing: the source says in rows
 * of `gaps` what it could not keep.
 *
 * @throws ImplausibleBlock if the block states something impossible; nothing of it is taken in
 */
export function ingestBlock(log: LogStore, block: BlockRows): void {
  if (block.seq <= log.seq) {
    return;
  }
  const why = implausible(block);
  if (why !== undefined) {
    throw new ImplausibleBlock(why);
  }
  log.seq = block.seq;
  const ingest: Ingest<never> = ingestOf[block.table];
  ingest(log, inSlots(log, block) as never);
  log.blocks.set(block.table, (log.blocks.get(block.table) ?? 0) + 1);
}

/**
 * A block that cannot be read: its rows are missing from here on, and the log goes on. Its number counts only if it is the next one: an
 * unreadable header may hold any number.
 */
export function ingestBroken(log: LogStore, seq: number, why: string): void {
  if (seq === log.seq + 1) {
    log.seq = seq;
  }
  // The source believes that the observer has the block, so only the observer can record the loss. The block's table is not known.
  log.addGap({ table: 0, from: log.now, to: log.now, rows: 0, why });
  log.lostBefore = Math.max(log.lostBefore, log.now);
}

/** In the Python viewer of Dask clusters, too. */
const NOBODY_WATCHED = 'nobody watched';
/** Said by the viewer of a Dask cluster, too, whenever sums change that it has no room for. */
const MORE_SUMS = 'more sums than are kept';

/** Rows of the table `T`. */
type RowsOf<T extends TableName> = BlockRows & { readonly table: T };
type Ingest<T extends TableName> = (log: LogStore, block: RowsOf<T>) => void;

const ingestOf: { readonly [T in TableName]: Ingest<T> } = {
  header: (log, block) => {
    const json: unknown = JSON.parse(textAt(block, 'json', block.rows - 1));
    if (typeof json === 'object' && json !== null) {
      log.header = json as Record<string, unknown>;
    }
  },
  names: (log, block) => {
    const { id } = columnsOf(block);
    for (let i = 0; i < block.rows; i++) {
      if (log.names.has(id[i]!) || makeRoomForName(log)) {
        log.names.set(id[i]!, textAt(block, 'text', i));
        log.namesVersion++;
      }
    }
  },
  spans: (log, block) => {
    rowsOf(block).forEach(row => setSpan(log, row));
    foldSpans(log);
  },
  workers: (log, block) => {
    rowsOf(block).forEach(row => log.shape.setWorker(row));
  },
  lanes: (log, block) => {
    for (const row of rowsOf(block)) {
      log.shape.setLane(row);
      const isBeside = log.besideOf(row)?.[0] === 'seceded';
      log.besideLanes[row.lane] = isBeside ? 1 : 0;
    }
  },
  capacity: (log, block) => {
    for (const { worker, ...step } of rowsOf(block)) {
      if (!log.shape.addCapacity(worker, step)) {
        log.noteDropped('capacity', 1, step.t, 'threads change too often');
      }
      log.now = Math.max(log.now, step.t);
    }
  },
  nodes: ingestNodes,
  edges: (log, block) => appended(log, log.edges, block),
  runs: ingestRuns,
  parts: ingestParts,
  running: (log, block) => {
    for (const { lane, node, ...row } of rowsOf(block)) {
      const stop = log.laneStops[log.shape.laneIndex(lane)] ?? -Infinity;
      // A worker may report a task as running just after it reported its end.
      const isOver = row.started < stop - 1e-6;
      log.shape.setRunning(lane, { ...row, node: isOver ? NONE_U32 : node });
      if (node !== NONE_U32) {
        // It is drawn from now on, and keeps its colour when its first task has ended.
        log.slots.begin(log.name(row.function));
      }
      if (row.started > log.now) {
        log.now = row.started;
      }
    }
  },
  givenUp: (log, block) => {
    for (const { lane, started, t } of rowsOf(block)) {
      log.shape.setGivenUp(lane, started, t);
      log.givenUp.note(lane, started, t);
      log.now = Math.max(log.now, t);
    }
  },
  waiting: (log, block) => {
    for (const row of rowsOf(block)) {
      log.shape.setWaiting(row);
      log.now = Math.max(log.now, row.t);
    }
  },
  unplaced: (log, block) => {
    for (const { t, waits } of rowsOf(block)) {
      log.unplaced.change(t, waits > 0);
      log.now = Math.max(log.now, t);
    }
  },
  progress: (log, block) => {
    let left = 0;
    for (const row of rowsOf(block)) {
      left += Number(!log.progress.set(row));
      log.now = Math.max(log.now, row.t);
    }
    if (left > 0) {
      log.noteDropped('progress', left, log.now, 'more functions and spans');
    }
  },
  fine: ingestFine,
  meters: ingestMeters,
  totals: (log, block) => appended(log, log.totals, block),
  stacks: (log, block) => {
    indexed(log, log.stacks, log.stackRows, block, 'stack');
  },
  frames: (log, block) => {
    indexed(log, log.frames, log.frameRows, block, 'frame');
  },
  samples: ingestSamples,
  memory: (log, block) => {
    appended(log, log.memory, block);
    noteNewest(log, columnsOf(block).t);
  },
  stored: (log, block) => appended(log, log.stored, block),
  memoryRuns: (log, block) => {
    for (const row of rowsOf(block)) {
      log.memoryRuns.set(row.run, { ...row, measure: log.name(row.measure) });
    }
  },
  memorySamples: (log, block) => appended(log, log.memorySamples, block),
  transfers: (log, block) => appended(log, log.transfers, block),
  system: (log, block) => {
    appended(log, log.system, block);
    noteNewest(log, columnsOf(block).t);
  },
  events: ingestEvents,
  clocks: (log, block) => {
    for (const row of rowsOf(block)) {
      log.clocks.set(row.worker, row);
      log.now = Math.max(log.now, row.t);
    }
  },
  clients: (log, block) => {
    rowsOf(block).forEach(row => log.clients.set(row));
  },
  gaps: (log, block) => {
    for (const gap of rowsOf(block)) {
      log.addGap({ ...gap });
      if (gap.why === NOBODY_WATCHED) {
        noteUnwatched(log, gap.from, gap.to);
        continue;
      }
      if (gap.why === MORE_SUMS) {
        const { rows, from } = log.lostSums ?? { rows: 0, from: gap.from };
        log.lostSums = {
          rows: rows + gap.rows,
          from: Math.min(from, gap.from)
        };
        continue;
      }
      log.lostBefore = Math.max(log.lostBefore, gap.to);
      if (gap.table === TABLES.runs.number) {
        log.lostRuns += gap.rows;
      }
    }
  }
};

/** The block with the store's own numbers of spans. */
function inSlots(log: LogStore, block: BlockRows): BlockRows {
  const numbers = block.columns[SPAN_COLUMN];
  if (numbers === undefined) {
    return block;
  }
  const span = log.spanSlots.ofColumn(numbers, block.rows);
  return { ...block, columns: { ...block.columns, [SPAN_COLUMN]: span } };
}

function setSpan(log: LogStore, { id, tag, ...row }: Row<'spans'>): void {
  const parent =
    row.parent === NONE_U32 ? DEFAULT_SPAN : log.spanSlots.take(row.parent);
  const isNew = !log.spanSlots.isKnown(id);
  const span = log.spanSlots.take(id, parent);
  if (log.spanSlots.numberOf(span) === id) {
    log.spans.set({ ...row, span, number: id, parent, tag: log.name(tag) });
  } else {
    log.spans.addCounted(span, { ...row, id }, isNew);
  }
}

function ingestNodes(log: LogStore, block: RowsOf<'nodes'>): void {
  indexed(log, log.nodes, log.nodeRows, block, 'node');
  const { group, span, origin, submitted } = columnsOf(block);
  for (let i = 0; i < block.rows; i++) {
    if (i === 0 || group[i] !== group[i - 1]) {
      log.groupNames.add(group[i]!);
    }
    log.figures.addTask(span[i]!, origin[i]!, submitted[i]!);
    if (submitted[i]! < log.firstSubmitted) {
      log.firstSubmitted = submitted[i]!;
    }
  }
  noteNewest(log, submitted);
}

function ingestFine(log: LogStore, block: RowsOf<'fine'>): void {
  appended(log, log.fine, block);
  const {
    context,
    activity,
    unit,
    span,
    function: fn,
    value
  } = columnsOf(block);
  for (let i = 0; i < block.rows; i++) {
    log.fineSums.add(
      context[i]!,
      activity[i]!,
      unit[i]!,
      span[i]!,
      fn[i]!,
      value[i]!
    );
  }
  if (log.hasTaskSums) {
    noteTold(log, block);
    settleSeconds(log);
  }
}

/** The seconds of tasks as the cluster itself adds them up. */
function noteTold(log: LogStore, block: RowsOf<'fine'>): void {
  const { context, unit, function: fn, value } = columnsOf(block);
  const isOf = (id: number, name: string): boolean => log.name(id) === name;
  for (let i = 0; i < block.rows; i++) {
    if (isOf(unit[i]!, 'seconds') && isOf(context[i]!, IN_TASKS)) {
      log.toldSeconds += value[i]!;
      log.functionSeconds.add(fn[i]!, value[i]!);
    }
  }
}

function ingestMeters(log: LogStore, block: RowsOf<'meters'>): void {
  const first = appended(log, log.meters, block);
  log.lastMeters.dropBelow(log.meters.firstRow);
  const { run, label, unit, span, function: fn, value, cpu } = columnsOf(block);
  for (let i = 0; i < block.rows; i++) {
    const row = first + i;
    const { columns } = log.meters.chunkOf(row)!;
    columns.previous[row & CHUNK_MASK] = log.lastMeters.get(run[i]!) + 1;
    log.lastMeters.set(run[i]!, row);
    log.meterSums.add({
      label: label[i]!,
      unit: unit[i]!,
      span: span[i]!,
      function: fn[i]!,
      value: value[i]!,
      cpu: cpu[i]!
    });
  }
}

function ingestEvents(log: LogStore, block: RowsOf<'events'>): void {
  const row = appended(log, log.events, block);
  const { run, kind, worker, span, t } = columnsOf(block);
  for (let i = 0; i < block.rows; i++) {
    const name = log.name(kind[i]!);
    if (run[i] !== NONE_U32 && name.includes('failed')) {
      log.failureRows.set(run[i]!, row + i);
    } else if (name === 'task-failed') {
      log.figures.addFailed(span[i]!);
    } else if (name === 'paused') {
      log.pauseRows.set(worker[i]!, row + i);
    } else if (name === 'resumed') {
      log.pauseRows.delete(worker[i]!);
    } else if (name === 'worker-lost') {
      log.lostWorkers.add(worker[i]!);
    } else if (name === 'unreachable') {
      log.outage = outageOf(t[i]!, textAt(block, 'text', i));
    } else if (name === 'reached') {
      log.outage = null;
    }
  }
  noteNewest(log, t);
}

/** What the viewer of a Dask cluster says of a scheduler that it cannot reach; null: nothing that can be read. */
function outageOf(since: number, said: string): LogStore['outage'] {
  let fields: unknown;
  try {
    fields = JSON.parse(said);
  } catch {
    // A scheduler may publish events of this name, too.
    return null;
  }
  const { because, until, hasAnswered } = (fields ?? {}) as Record<
    string,
    unknown
  >;
  return typeof because === 'string' && typeof until === 'number'
    ? { since, because, until, hasAnswered: hasAnswered === true }
    : null;
}

function noteUnwatched(log: LogStore, from: number, to: number): void {
  const known = log.unwatched ?? { from, to };
  log.unwatched = {
    from: Math.min(known.from, from),
    to: Math.max(known.to, to)
  };
}

/** Many samples of a block share few stacks. */
function ingestSamples(log: LogStore, block: RowsOf<'samples'>): void {
  appended(log, log.samples, block);
  const { stack, n } = columnsOf(block);
  const byStack = new Map<number, number>();
  for (let i = 0; i < block.rows; i++) {
    byStack.set(stack[i]!, (byStack.get(stack[i]!) ?? 0) + n[i]!);
  }
  const byFile = new Map<string, number>();
  for (const [id, samples] of byStack) {
    for (const frame of framesOf(log, id)) {
      const file = fileOf(log, frame);
      if (file !== '') {
        byFile.set(file, (byFile.get(file) ?? 0) + samples);
      }
    }
  }
  log.fileSlots.add(byFile);
}

function ingestRuns(log: LogStore, block: RowsOf<'runs'>): void {
  let row = appended(log, log.runs, block);
  const { run, span, lane, status, start, duration, cpu } = columnsOf(block);
  const { function: fn, waitReady, waitInputs, waitThread } = columnsOf(block);
  const { nbytes, node } = columnsOf(block);
  const isGiven = log.hasGivenSpans;
  const plain = log.parts.endRow === 0;
  const sink = heldSink(log);
  const { wholeFrom } = log;
  const { running } = log.shape;
  // Many runs of one lane follow each other: a worker's, or a thread's.
  let lastLane = -1;
  let laneIndex = 0 as LaneIndex;
  for (let i = 0; i < block.rows; i++, row++) {
    const earlier = log.runRows.get(run[i]!);
    if (earlier >= 0 && log.runs.has(earlier)) {
      takeBack(log, earlier);
    }
    log.runRows.set(run[i]!, row);
    const begin = start[i]!;
    const length = duration[i]! > 0 ? duration[i]! : 0;
    const end = begin + length;
    const wait = waitThread[i]! > 0 ? waitThread[i]! : 0;
    const before =
      (waitReady[i]! > 0 ? waitReady[i]! : 0) +
      (waitInputs[i]! > 0 ? waitInputs[i]! : 0);
    log.noteTime(begin, end);
    log.runZones.push(row, begin, end);
    log.runClasses.push(row, begin, length);
    if (hasBegun(length, waitThread[i]!)) {
      log.active.add(begin - before - wait, end);
      log.stretches.add(begin, end + LONG_PAUSE);
      log.waiting.add(begin - wait, begin);
      if (lane[i] !== lastLane) {
        lastLane = lane[i]!;
        laneIndex = log.shape.laneIndex(lane[i]!);
      }
      noteLane(log, laneIndex, begin, end);
      if (log.besideLanes[lane[i]!] === 1) {
        log.besideRows.push(row);
      }
      // (mostly none: a run is told of while it lasts only if that is long)
      if (running.size > 0) {
        const told = running.get(lane[i]!);
        if (told !== undefined && told.started <= end) {
          running.delete(lane[i]!);
        }
      }
      log.figures.addExtent(span[i]!, begin, end);
    }
    const cell = log.held.cell(span[i]!, fn[i]!);
    countRun(log, cell, status[i]!, 1);
    if (status[i] === RunStatus.Failed && log.failedNodes.add(node[i]!)) {
      log.figures.addFailedInRuns(span[i]!);
    }
    if (nbytes[i]! > 0) {
      log.figures.addBytes(span[i]!, nbytes[i]!);
    }
    log.totalNanoseconds += nanoseconds(length);
    if (begin < wholeFrom) {
      log.earlyNanoseconds += early(begin, length, wholeFrom);
    }
    if (isGiven) {
      const origin = originOf(log, node[i]!);
      const isInferred = origin === TaskOrigin.Inferred;
      log.inferredTime.add(span[i]!, nanoseconds(length), isInferred);
    }
    const parts = plain
      ? NO_PARTS
      : attachEarlierParts(log, run[i]!, row, begin);
    if (parts === NO_PARTS && status[i] === RunStatus.Ok) {
      // As below: of most runs.
      log.held.addExecutions(cell, 1);
      bookUndivided(log.held, cell, length, cpu[i]!);
      noteSeconds(log, fn[i]!, nanoseconds(length));
      continue;
    }
    log.held.addExecutions(cell, undividedExecutions(status[i]!, parts));
    bookRun(
      {
        span: span[i]!,
        function: fn[i]!,
        start: begin,
        duration: length,
        cpu: cpu[i]!,
        status: status[i]!
      },
      parts,
      null,
      1,
      sink
    );
  }
  settleSeconds(log);
  dropOverdueRuns(log);
}

function originOf(log: LogStore, node: number): number | undefined {
  const row = log.nodeRows.get(node);
  const chunk = row < 0 ? undefined : log.nodes.chunkOf(row);
  return chunk?.columns.origin[row & CHUNK_MASK];
}

const NO_PARTS: readonly PartFigures[] = [];

/**
 * Parts may come before or after their run: the later one ties them together. A run that is here is rebooked once per block, not for each
 * of its parts: it may have thousands, mixed with those of other runs.
 */
function ingestParts(log: LogStore, block: RowsOf<'parts'>): void {
  const first = appended(log, log.parts, block);
  const { run } = columnsOf(block);
  /** Run → its row, of the runs that are here. */
  const here = new Map<number, number>();
  for (let i = 0; i < block.rows; i++) {
    const row = first + i;
    const id = run[i]!;
    if (i === 0 || id !== run[i - 1]) {
      const runRow = log.runRows.get(id);
      if (runRow >= 0 && log.runs.has(runRow) && !here.has(id)) {
        here.set(id, runRow);
        rebook(log, id, runRow, -1);
      }
    }
    const columns = log.parts.chunkOf(row)!.columns;
    columns.previous[row & CHUNK_MASK] = log.lastParts.get(id) + 1;
    log.lastParts.set(id, row);
  }
  for (const [id, runRow] of here) {
    rebook(log, id, runRow, 1);
  }
  for (let i = 0; i < block.rows && here.size > 0; i++) {
    const runRow = here.get(run[i]!);
    if (runRow !== undefined) {
      const { columns } = log.runs.chunkOf(runRow)!;
      attachPart(log, first + i, runRow, columns.start[runRow & CHUNK_MASK]!);
    }
  }
  settleSeconds(log);
  dropOverdueParts(log);
}

function attachEarlierParts(
  log: LogStore,
  run: number,
  runRow: number,
  begin: number
): readonly PartFigures[] {
  if (log.lastParts.get(run) < 0) {
    return NO_PARTS;
  }
  return log.partRows(run).map(row => {
    attachPart(log, row, runRow, begin);
    return log.part(row);
  });
}

/** From here on the part has a lane and a place in time. */
function attachPart(
  log: LogStore,
  row: number,
  runRow: number,
  begin: number
): void {
  const columns = log.parts.chunkOf(row)!.columns;
  const i = row & CHUNK_MASK;
  if (columns.runRow[i] !== 0) {
    return;
  }
  columns.runRow[i] = runRow + 1;
  const duration = columns.duration[i]!;
  const run = log.runs.chunkOf(runRow)!.columns;
  const j = runRow & CHUNK_MASK;
  const isRunOnceMore =
    columns.kind[i] === PartKind.Compute &&
    columns.function[i] === run.function[j] &&
    columns.span[i] === run.span[j];
  if (!isRunOnceMore) {
    log.partClasses.push(row, begin + columns.offset[i]!, duration);
  }
  const held = columns.held[i] === 1;
  const cells = held ? log.held : log.background;
  const cell = cells.cell(columns.span[i]!, columns.function[i]!);
  const activity = ACTIVITY_OF_PART[columns.kind[i]!] ?? OTHER;
  cells.addEvent(cell, activity, columns.bytes[i]!);
  if (!held) {
    cells.addNanoseconds(cell, activity, nanoseconds(duration));
  } else if (columns.kind[i] === PartKind.Compute) {
    cells.addExecutions(cell, 1);
    if (!isRunOnceMore || followsExecution(log, columns.previous[i]! - 1)) {
      log.fusedRuns.set(columns.run[i]!, row);
    }
  }
  log.figures.addExtent(
    columns.span[i]!,
    begin + columns.offset[i]!,
    begin + columns.offset[i]! + duration
  );
}

/** Whether an earlier part of the run, from `row` back, computes too. The walk stops at the first one, so it passes no part twice. */
function followsExecution(log: LogStore, row: number): boolean {
  for (let at = row; log.parts.has(at);) {
    const columns = log.parts.chunkOf(at)!.columns;
    const i = at & CHUNK_MASK;
    if (columns.held[i] === 1 && columns.kind[i] === PartKind.Compute) {
      return true;
    }
    at = columns.previous[i]! - 1;
  }
  return false;
}

/** Books the run with the parts that are tied to it now (sign 1), or takes that booking back (−1). */
function rebook(
  log: LogStore,
  run: number,
  runRow: number,
  sign: 1 | -1
): void {
  const columns = log.runs.chunkOf(runRow)!.columns;
  const i = runRow & CHUNK_MASK;
  const parts = log.partRows(run).map(row => log.part(row));
  log.held.addExecutions(
    log.held.cell(columns.span[i]!, columns.function[i]!),
    sign * undividedExecutions(columns.status[i]!, parts)
  );
  bookRun(
    {
      span: columns.span[i]!,
      function: columns.function[i]!,
      start: columns.start[i]!,
      duration: columns.duration[i]! > 0 ? columns.duration[i]! : 0,
      cpu: columns.cpu[i]!,
      status: columns.status[i]!
    },
    parts,
    null,
    sign,
    heldSink(log)
  );
}

/** What of a run lies before a second. */
function early(begin: number, length: number, wholeFrom: number): Nanoseconds {
  return nanoseconds(Math.max(0, Math.min(length, wholeFrom - begin)));
}

/** A later row of the same run replaces the earlier one. */
function takeBack(log: LogStore, row: number): void {
  const columns = log.runs.chunkOf(row)!.columns;
  const i = row & CHUNK_MASK;
  rebook(log, columns.run[i]!, row, -1);
  const cell = log.held.cell(columns.span[i]!, columns.function[i]!);
  countRun(log, cell, columns.status[i]!, -1);
  if (columns.nbytes[i]! > 0) {
    log.figures.addBytes(columns.span[i]!, -columns.nbytes[i]!);
  }
  const length = columns.duration[i]! > 0 ? columns.duration[i]! : 0;
  log.totalNanoseconds -= nanoseconds(length);
  log.earlyNanoseconds -= early(columns.start[i]!, length, log.wholeFrom);
  columns.status[i] = STATUS_REPLACED;
}

/** A task that was given back for want of an input has not run. */
function countRun(
  log: LogStore,
  cell: number,
  status: number,
  sign: 1 | -1
): void {
  if (status === RunStatus.Missing) {
    return;
  }
  log.held.addRun(cell, status === RunStatus.Failed, sign);
  log.runCount += sign;
}

/** Books what held threads. */
function heldSink(log: LogStore): NanosecondSink {
  return (span, fn, activity, ns) => {
    log.held.addNanoseconds(log.held.cell(span, fn), activity, ns);
    noteSeconds(log, fn, ns);
  };
}

function noteSeconds(log: LogStore, fn: number, ns: Nanoseconds): void {
  // (else rows of `fine` say it, also of tasks that ran before anybody watched)
  if (!log.hasTaskSums) {
    log.functionSeconds.add(fn, ns * 1e-9);
  }
}

function settleSeconds(log: LogStore): void {
  log.functionSeconds.settle(
    fn => log.name(fn),
    log.hasTaskSums ? log.toldSeconds : log.totalNanoseconds * 1e-9
  );
}

/** A microsecond and the rounding of float32 durations: runs that merely touch are in order. */
function noteLane(
  log: LogStore,
  laneIndex: LaneIndex,
  begin: number,
  end: number
): void {
  const stop = log.laneStops[laneIndex] ?? -Infinity;
  if (begin < stop - 1e-6 * (1 + (end - begin))) {
    log.laneDisorder[laneIndex] = true;
  }
  log.laneStops[laneIndex] = Math.max(stop, end);
}

/** Here the log's numbers get the types that the table declares. */
function columnsOf<T extends TableName>(block: RowsOf<T>): ColumnsOf<T> {
  return block.columns as unknown as ColumnsOf<T>;
}

/** Of tables that have few. */
function rowsOf<T extends TableName>(block: RowsOf<T>): Row<T>[] {
  const columns = Object.entries<ColumnType>(TABLES[block.table].columns);
  return Array.from(
    { length: block.rows },
    (_, i) =>
      Object.fromEntries(
        columns.map(([name, type]) => [
          name,
          type === 'text' ? textAt(block, name, i) : block.columns[name]![i]
        ])
      ) as unknown as Row<T>
  );
}

function textAt(block: BlockRows, name: string, row: number): string {
  const ends = block.columns[name]!;
  const start = row === 0 ? (block.textStarts?.[name] ?? 0) : ends[row - 1]!;
  return decodeText(block.text, start, ends[row]!);
}

type Appendable = Pick<
  ColumnTable<TableName>,
  'append' | 'overdue' | 'dropOldest'
>;

/** Appends, and keeps the bound of tables whose oldest rows may simply go. */
function appended(log: LogStore, table: unknown, block: BlockRows): number {
  const into = table as Appendable & { readonly name: TableName };
  const first = into.append(block);
  if (into.name !== 'runs' && into.name !== 'parts') {
    for (let chunk = into.overdue; chunk !== undefined; chunk = into.overdue) {
      const { t, submitted, start, second } =
        chunk.columns as unknown as Readonly<
          Record<string, AnyColumn | undefined>
        >;
      const times = t ?? submitted ?? start ?? second;
      const to = times?.[chunk.rows - 1] ?? log.now;
      log.noteDropped(into.name, chunk.rows, to, 'oldest rows are dropped');
      into.dropOldest();
    }
  }
  return first;
}

function indexed(
  log: LogStore,
  table: ColumnTable<'nodes'> | ColumnTable<'stacks'> | ColumnTable<'frames'>,
  index: IdIndex,
  block: BlockRows,
  id: string
): void {
  const before = table.firstRow;
  const row = appended(log, table, block);
  if (table.firstRow > before) {
    index.dropBelow(table.firstRow);
  }
  const ids = block.columns[id]!;
  for (let i = 0; i < block.rows; i++) {
    index.set(ids[i]!, row + i);
  }
}

function noteNewest(log: LogStore, times: Float64Array): void {
  for (let i = 0; i < times.length; i++) {
    if (times[i]! > log.now) {
      log.now = times[i]!;
    }
  }
}
