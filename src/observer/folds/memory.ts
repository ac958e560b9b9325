import {
  MEMORY_MEASURES,
  type MemoryMeasure
} from '../../records/enumerations';
import { measureMemory } from '../../records/memory-measures';
import { RankedHeap } from '../../base/ranked-heap';
import { stayedWorkers } from '../../records/stayed-workers';
import type {
  LimitStep,
  LostWorker,
  MemoryResult
} from '../../wire/panel-link';
import { passesFunction } from '../filter';
import { CHUNK_MASK } from '../store/column-table';
import type { LogStore, MemoryRunRow } from '../store/log-store';
import {
  resolveRange,
  type FoldContext,
  type Honoured,
  type Range,
  type Slices
} from './context';
import { HeldFigures } from './held-figures';
import { LineThinner, type DrawnLine } from './line-thinner';
import { honouredBy as ruleOf, type Exception } from './honoured';
import { endOfWorker } from './lost-worker';
import { workerName } from './run-detail';
import type { ParamsOf } from '../../wire/question';

/**
 * Two points per pixel of a wide panel; fewer when many workers must fit in one message of the panel link (18 bytes a point, and as many
 * for what its bin holds).
 */
const MOST_POINTS = 1200;
const MOST_POINTS_IN_ALL = 20_000;
const MOST_LOST = 100;
const MOST_LIMIT_STEPS = 400;
/**
 * For so long a sample of memory counts at most. Workers at rest tell every 2 s, those of a large Dask cluster less often; who tells nothing
 * for longer may have had any amount meanwhile, so that nothing is drawn.
 */
const HOLD_SECONDS = 15;
/** Shares of the memory limit at which workers act; as in Dask. */
const TARGET = 0.6;
const SPILL = 0.7;
const PAUSE = 0.8;

type Series = MemoryResult['series'][number];

/**
 * Memory over time, of the cluster or per worker; the labelled runs; the newest figures.
 *
 * The cluster's line is the sum of each worker's newest figure at that time, from its first sample until it leaves. Process memory has no
 * owner: under a span filter it stays whole and says so; `managed` of the selection is summed up from what was stored and released.
 */
export function* foldMemory(
  context: FoldContext,
  params: ParamsOf<'memory'>
): Slices<{ readonly result: MemoryResult; readonly honoured: Honoured }> {
  const { log, filter } = context;
  const measure =
    MEMORY_MEASURES.find(known => known === params.measure) ?? 'process';
  const range = memoryRange(context);
  // All of one moment: rows come and go between two breaks.
  const memory = log.memory.rowsBefore(Infinity);
  const stored = log.stored.rowsBefore(Infinity);
  const recorded = log.memorySamples.rowsBefore(Infinity);
  const recordings = [...log.memoryRuns.values()];
  const limits = limitsOf(log, filter.workers);
  const last = newestRows(log);
  const now = newest(log, last, filter.workers);
  const lost = lostWorkers(context, last, range);
  const byWorker = yield* samplesByWorker(memory, filter.workers, measure);
  const ranges = { of: range, drawn: drawnRange(range, params) };
  const series: Series[] = [clusterSeries(log, byWorker, ranges)];
  if (params.show === 'workers') {
    const points = Math.min(
      MOST_POINTS,
      Math.max(16, Math.floor(MOST_POINTS_IN_ALL / byWorker.size))
    );
    for (const [worker, samples] of byWorker) {
      series.push(workerSeries(log, worker, samples, ranges, points));
    }
  }
  const ofSelection =
    measure === 'managed' && (filter.bySpan || filter.byFunction);
  if (ofSelection) {
    series.push(yield* selectionSeries(context, stored, ranges));
  }
  const runs = yield* memoryRuns(recordings, recorded);
  return {
    result: {
      view: 'memory',
      measure,
      series,
      limits,
      ...lost,
      runs,
      now
    },
    honoured: honouredBy(context, measure, log.memoryRuns.size > 0)
  };
}

function honouredBy(
  context: FoldContext,
  measure: MemoryMeasure,
  hasRuns: boolean
): Honoured {
  const { log, filter } = context;
  const { bySpan, byFunction } = filter;
  const exceptions: Exception[] = [];
  if (hasRuns && (!filter.isOpen || context.time !== 'all')) {
    exceptions.push('recordedRuns');
  }
  if (measure !== 'managed') {
    return ruleOf('memory: others', context, exceptions);
  }
  if ((bySpan || byFunction) && log.stored.firstRow > 0) {
    exceptions.push('storedDropped');
  }
  const honoured = ruleOf('memory: managed', context, exceptions);
  return honoured.how === 'exact' && (bySpan || byFunction)
    ? {
        how: 'exact',
        why: 'Results kept are drawn for the filter, over the whole cluster.'
      }
    : honoured;
}

/** Samples go on while no task runs: the line reaches to the newest of them. */
function memoryRange(context: FoldContext): Range {
  if (context.time !== 'all') {
    return resolveRange(context);
  }
  const { log, moment } = context;
  const chunk = log.memory.chunks[0];
  const first = chunk === undefined ? Infinity : chunk.columns.t[0]!;
  return { from: Math.min(first, moment.begin), to: moment.newest };
}

/** What is asked for: figures are of all of the range, what is drawn may be a part of it. */
type Ranges = { readonly of: Range; readonly drawn: Range };

function drawnRange(
  { from, to }: Range,
  { from: left = -Infinity, to: right = Infinity }: ParamsOf<'memory'>
): Range {
  return { from: Math.max(from, left), to: Math.min(to, right) };
}

/** One line: its points to draw, and its figures. */
class MeasuredLine {
  private readonly _drawn: LineThinner;
  private readonly _figures: HeldFigures;

  constructor({ of, drawn }: Ranges, points: number, holdSeconds: number) {
    this._drawn = new LineThinner(drawn, points, holdSeconds);
    this._figures = new HeldFigures(of, holdSeconds);
  }

  add(t: number, bytes: number): void {
    this._drawn.add(t, bytes);
    this._figures.add(t, bytes);
  }

  drawn(): Omit<Series, 'name' | 'worker'> {
    return { ...this._drawn.drawn(), ...this._figures.figures() };
  }
}

type Samples = { readonly t: number[]; readonly bytes: number[] };

/** Rows of a table, as they were when the fold began. */
type RowsOf<T extends 'memory' | 'stored' | 'memorySamples'> = ReturnType<
  LogStore[T]['rowsBefore']
>;

function* samplesByWorker(
  memory: RowsOf<'memory'>,
  workers: Uint8Array,
  measure: MemoryMeasure
): Slices<Map<number, Samples>> {
  const byWorker = new Map<number, Samples>();
  for (const { columns: c, rows } of memory) {
    for (let i = 0; i < rows; i++) {
      const worker = c.worker[i]!;
      if (workers[worker] === 0) {
        continue;
      }
      let samples = byWorker.get(worker);
      if (samples === undefined) {
        samples = { t: [], bytes: [] };
        byWorker.set(worker, samples);
      }
      samples.t.push(c.t[i]!);
      samples.bytes.push(
        measureMemory(measure, {
          process: c.process[i]!,
          managed: c.managed[i]!,
          spilled: c.spilled[i]!,
          unmanagedOld: c.unmanagedOld[i]!
        })
      );
    }
    yield;
  }
  return byWorker;
}

/**
 * The sum of the newest figures of all workers that live, at each sample of any of them and when one leaves: a peak between two points of
 * the drawing is in it.
 */
function clusterSeries(
  log: LogStore,
  byWorker: ReadonlyMap<number, Samples>,
  ranges: Ranges
): Series {
  const line = new MeasuredLine(ranges, MOST_POINTS, HOLD_SECONDS);
  const newest = new Map<number, number>();
  let sum = 0;
  let unknown = 0;
  const book = (bytes: number | undefined, sign: 1 | -1): void => {
    if (Number.isNaN(bytes)) {
      unknown += sign;
    } else {
      sum += sign * (bytes ?? 0);
    }
  };
  for (const [t, worker, bytes] of figuresInTime(log, byWorker)) {
    book(newest.get(worker), -1);
    if (bytes === null) {
      newest.delete(worker);
    } else {
      newest.set(worker, bytes);
      book(bytes, 1);
    }
    line.add(t, newest.size === 0 || unknown > 0 ? NaN : sum);
  }
  return { name: 'cluster', worker: null, ...line.drawn() };
}

/** The samples of all workers, one after another in time; null: the worker has left. */
function* figuresInTime(
  log: LogStore,
  byWorker: ReadonlyMap<number, Samples>
): Generator<readonly [t: number, worker: number, bytes: number | null]> {
  const cursors = [...byWorker].map(([worker, { t, bytes }]) => ({
    worker,
    t,
    bytes,
    left: log.shape.workers.get(worker)?.left ?? NaN,
    next: 0
  }));
  const due = new RankedHeap();
  const push = (index: number): void => {
    const { t, left, next } = cursors[index]!;
    // A sample of a worker that has left belongs to no worker.
    if (next < t.length && !(t[next]! >= left)) {
      due.push(index, t[next]!);
    } else if (next <= t.length && !Number.isNaN(left)) {
      due.push(index, left);
    }
  };
  cursors.forEach((_, index) => push(index));
  while (due.length > 0) {
    const at = due.peekRank();
    const index = due.pop();
    const cursor = cursors[index]!;
    const { worker, t, bytes, next } = cursor;
    if (next < t.length && !(t[next]! >= cursor.left)) {
      yield [at, worker, bytes[next]!];
      cursor.next += 1;
      push(index);
    } else {
      yield [at, worker, null];
    }
  }
}

function workerSeries(
  log: LogStore,
  worker: number,
  { t, bytes }: Samples,
  ranges: Ranges,
  points: number
): Series {
  const line = new MeasuredLine(ranges, points, HOLD_SECONDS);
  t.forEach((at, i) => line.add(at, bytes[i]!));
  return { name: workerName(log, worker), worker, ...line.drawn() };
}

function drawn({ t, bytes }: Samples, range: Range, points: number): DrawnLine {
  const line = new LineThinner(range, points);
  t.forEach((at, i) => line.add(at, bytes[i]!));
  return line.drawn();
}

/**
 * Results kept of the selection: the running sum of what was stored and released in its spans. When a worker leaves, all that it kept is
 * gone, without a row per result; it leaves before what is stored elsewhere at that time.
 */
function* selectionSeries(
  context: FoldContext,
  stored: RowsOf<'stored'>,
  ranges: Ranges
): Slices<Series> {
  const { log, filter } = context;
  // What is kept is known at any time, by what was stored and released.
  const line = new MeasuredLine(ranges, MOST_POINTS, Infinity);
  let sum = 0;
  const change = (time: number, by: number): void => {
    sum += by;
    line.add(time, sum);
  };
  const keptBy = new Map<number, number>();
  const leaving = [...log.shape.workers.values()]
    .filter(({ left }) => !Number.isNaN(left))
    .sort((one, other) => one.left - other.left);
  const gone = new Set<number>();
  const leave = (until: number): void => {
    for (
      let first = leaving[0];
      first !== undefined && first.left <= until;
      first = leaving[0]
    ) {
      leaving.shift();
      gone.add(first.worker);
      const kept = keptBy.get(first.worker) ?? 0;
      if (kept !== 0) {
        change(first.left, -kept);
      }
    }
  };
  for (const { columns: c, rows } of stored) {
    for (let i = 0; i < rows; i++) {
      const worker = c.worker[i]!;
      if (
        filter.spans[c.span[i]!] === 0 ||
        filter.workers[worker] === 0 ||
        !passesFunction(filter, c.function[i]!)
      ) {
        continue;
      }
      leave(c.t[i]!);
      if (!gone.has(worker)) {
        keptBy.set(worker, (keptBy.get(worker) ?? 0) + c.change[i]!);
        change(c.t[i]!, c.change[i]!);
      }
    }
    yield;
  }
  leave(ranges.of.to);
  return { name: 'selection', worker: null, ...line.drawn() };
}

/** Of the filter's workers that live; once none does, of those that stayed longest: after a cluster's end its limits are still asked for. */
function limitsOf(log: LogStore, workers: Uint8Array): MemoryResult['limits'] {
  const chosen = [...log.shape.workers.values()]
    .filter(({ worker }) => workers[worker] === 1)
    .map(({ joined, left, memoryLimit }) => ({
      joined,
      left: Number.isNaN(left) ? null : left,
      memoryLimit
    }));
  const stayed = stayedWorkers(chosen);
  const isStayed = new Set(stayed);
  const memoryLimit = stayed.reduce(
    (sum, worker) => sum + worker.memoryLimit,
    0
  );
  const steps = limitSteps(
    // (what they were at the end they stay)
    chosen.map(each => (isStayed.has(each) ? { ...each, left: null } : each))
  );
  return memoryLimit > 0
    ? {
        memoryLimit,
        target: memoryLimit * TARGET,
        spill: memoryLimit * SPILL,
        pause: memoryLimit * PAUSE,
        ...(steps.length > 1 && { steps })
      }
    : null;
}

/** What the limits added up to; of too many changes the last one of each stretch. */
function limitSteps(
  workers: readonly {
    readonly joined: number;
    readonly left: number | null;
    readonly memoryLimit: number;
  }[]
): LimitStep[] {
  const changes = workers
    .filter(({ memoryLimit }) => memoryLimit > 0)
    .flatMap(({ joined, left, memoryLimit }) => [
      { t: joined, by: memoryLimit },
      ...(left === null ? [] : [{ t: left, by: -memoryLimit }])
    ])
    .sort((one, other) => one.t - other.t);
  const first = changes[0]?.t ?? 0;
  const seconds = (changes.at(-1)?.t ?? 0) - first;
  const stretch =
    changes.length > MOST_LIMIT_STEPS ? seconds / MOST_LIMIT_STEPS : 0;
  const steps: LimitStep[] = [];
  let sum = 0;
  let began = -Infinity;
  for (const { t, by } of changes) {
    sum += by;
    if (t - began > stretch) {
      began = t;
    } else if (steps.at(-1)?.from === began) {
      steps.pop();
    }
    if (steps.at(-1)?.memoryLimit !== sum) {
      steps.push({ from: began, memoryLimit: sum });
    }
  }
  return steps;
}

/** @param last - see {@link newestRows}. */
function lostWorkers(
  { log, filter, time }: FoldContext,
  last: ReadonlyMap<number, number>,
  { from, to }: Range
): Pick<MemoryResult, 'lost' | 'lostLeftOut'> {
  const lost: LostWorker[] = [];
  for (const worker of log.lostWorkers) {
    const row = log.shape.workers.get(worker);
    if (
      row === undefined ||
      Number.isNaN(row.left) ||
      filter.workers[worker] === 0 ||
      (time !== 'all' && (row.left < from || row.left > to))
    ) {
      continue;
    }
    lost.push(endOfWorker(log, worker, last.get(worker))!);
  }
  lost.sort((one, other) => one.t - other.t);
  const leftOut = lost.length - MOST_LOST;
  return {
    ...(lost.length > 0 && { lost: lost.slice(-MOST_LOST) }),
    ...(leftOut > 0 && { lostLeftOut: leftOut })
  };
}

function* memoryRuns(
  recordings: readonly MemoryRunRow[],
  recorded: RowsOf<'memorySamples'>
): Slices<MemoryResult['runs']> {
  const samples = new Map<number, Samples>();
  for (const { columns: c, rows } of recorded) {
    for (let i = 0; i < rows; i++) {
      let of = samples.get(c.run[i]!);
      if (of === undefined) {
        of = { t: [], bytes: [] };
        samples.set(c.run[i]!, of);
      }
      of.t.push(c.t[i]!);
      of.bytes.push(c.bytes[i]!);
    }
    yield;
  }
  const points = Math.min(
    MOST_POINTS,
    Math.max(16, Math.floor(MOST_POINTS_IN_ALL / 2 / (samples.size + 1)))
  );
  const runs = recordings.toSorted((a, b) => a.run - b.run);
  const labels = labelsApart(runs.map(({ label }) => label));
  return runs.map((row, i) => {
    const of = samples.get(row.run) ?? { t: [], bytes: [] };
    const range = { from: of.t[0] ?? row.start, to: of.t.at(-1) ?? row.start };
    return {
      run: row.run,
      label: labels[i]!,
      measure: row.measure,
      intervalSeconds: row.interval,
      start: row.start,
      stopped: Number.isNaN(row.stopped) ? null : row.stopped,
      ...figuresOf(of),
      ...drawn(of, range, points)
    };
  });
}

/** Runs with one label are told apart by a number, as files of one name are: "fit", "fit (2)", "fit (3)". The first keeps its label as it is. */
function labelsApart(labels: readonly string[]): string[] {
  const taken = new Set(labels);
  const numbers = new Map<string, number>();
  return labels.map(label => {
    let number = (numbers.get(label) ?? 0) + 1;
    let apart = label;
    if (number > 1) {
      for (; taken.has(`${label} (${number})`); number++);
      apart = `${label} (${number})`;
      taken.add(apart);
    }
    numbers.set(label, number);
    return apart;
  });
}

/** Over all known samples, with straight lines between neighbours; stretches without a known sample do not count. */
function figuresOf({
  t,
  bytes
}: Samples): Pick<
  MemoryResult['runs'][number],
  'samples' | 'first' | 'last' | 'peak' | 'peakAt' | 'mean' | 'area'
> {
  let first: number | null = null;
  let last: number | null = null;
  let peak = 0;
  let peakAt: number | null = null;
  let area = 0;
  let seconds = 0;
  for (let i = 0; i < t.length; i++) {
    const value = bytes[i]!;
    if (Number.isNaN(value)) {
      continue;
    }
    first ??= value;
    last = value;
    if (peakAt === null || value > peak) {
      peak = value;
      peakAt = t[i]!;
    }
    if (i > 0 && !Number.isNaN(bytes[i - 1])) {
      const width = t[i]! - t[i - 1]!;
      area += (width * (value + bytes[i - 1]!)) / 2;
      seconds += width;
    }
  }
  const mean = seconds > 0 ? area / seconds : first;
  return { samples: t.length, first, last, peak, peakAt, mean, area };
}

/** Worker → its newest row of `memory`. */
function newestRows(log: LogStore): ReadonlyMap<number, number> {
  const last = new Map<number, number>();
  for (let row = log.memory.firstRow; row < log.memory.endRow; row++) {
    const columns = log.memory.chunkOf(row)!.columns;
    last.set(columns.worker[row & CHUNK_MASK]!, row);
  }
  return last;
}

function newest(
  log: LogStore,
  last: ReadonlyMap<number, number>,
  workers: Uint8Array
): MemoryResult['now'] {
  if (last.size === 0) {
    return null;
  }
  const sum = { process: 0, managed: 0, spilled: 0, unmanagedOld: 0 };
  for (const [worker, row] of last) {
    const left = log.shape.workers.get(worker)?.left ?? NaN;
    if (!Number.isNaN(left) || workers[worker] === 0) {
      continue;
    }
    const c = log.memory.chunkOf(row)!.columns;
    const i = row & CHUNK_MASK;
    sum.process += c.process[i]!;
    sum.managed += c.managed[i]!;
    sum.spilled += c.spilled[i]!;
    sum.unmanagedOld += c.unmanagedOld[i]!;
  }
  return sum;
}
