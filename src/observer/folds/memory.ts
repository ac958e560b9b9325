import type { MemoryResult } from '../../wire/panel-link';
import { CHUNK_MASK } from '../store/column-table';
import type { LogStore } from '../store/log-store';
import { EXACT, resolveRange, runBegin } from './context';
import type { FoldContext, Honoured, Range, Slices } from './context';
import { workerName } from './run-detail';

export type MemoryParams = {
  readonly measure?: string;
  readonly show?: string;
};
const MEASURES = ['process', 'managed', 'unmanaged', 'spilled'] as const;
type Measure = (typeof MEASURES)[number];
/** Two points per pixel of a wide panel; fewer when many workers must fit in one message of the panel link (18 bytes a point). */
const MOST_POINTS = 1200;
const MOST_POINTS_IN_ALL = 40_000;
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
  params: MemoryParams
): Slices<{ readonly result: MemoryResult; readonly honoured: Honoured }> {
  const { log, filter } = context;
  const measure = MEASURES.find(known => known === params.measure) ?? 'process';
  const range = memoryRange(context);
  const byWorker = samplesByWorker(log, filter.workers, measure);
  yield;
  const series: Series[] = [clusterSeries(log, byWorker, range)];
  if (params.show === 'workers') {
    const points = Math.min(
      MOST_POINTS,
      Math.max(16, Math.floor(MOST_POINTS_IN_ALL / byWorker.size))
    );
    for (const [worker, samples] of byWorker) {
      series.push(workerSeries(log, worker, samples, range, points));
    }
  }
  const ofSelection = measure === 'managed' && filter.bySpan;
  if (ofSelection) {
    series.push(selectionSeries(context, range));
  }
  return {
    result: {
      view: 'memory',
      measure,
      series,
      limits: limitsOf(log, filter.workers),
      runs: memoryRuns(log),
      now: newest(log, filter.workers)
    },
    honoured: honouredBy(context, measure)
  };
}

function honouredBy(context: FoldContext, measure: Measure): Honoured {
  const { bySpan, byFunction, byStatus } = context.filter;
  if (!bySpan && !byFunction && !byStatus) {
    return EXACT;
  }
  return measure === 'managed' && bySpan
    ? {
        how: 'exact',
        why: 'Results kept are drawn for the filter, over the whole cluster.'
      }
    : {
        how: 'not filtered',
        why: 'The memory of a process has no owner: it is shown whole.'
      };
}

/** Samples go on while no task runs: the line reaches to the newest of them. */
function memoryRange(context: FoldContext): Range {
  if (context.time !== 'all') {
    return resolveRange(context);
  }
  const { log } = context;
  const chunk = log.memory.chunks[0];
  const first = chunk === undefined ? Infinity : chunk.columns.t[0]!;
  return { from: Math.min(first, runBegin(log)), to: log.now };
}

type Samples = { readonly t: number[]; readonly bytes: number[] };

function samplesByWorker(
  log: LogStore,
  workers: Uint8Array,
  measure: Measure
): Map<number, Samples> {
  const byWorker = new Map<number, Samples>();
  for (const chunk of log.memory.chunks) {
    const c = chunk.columns;
    for (let i = 0; i < chunk.rows; i++) {
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
        measure === 'unmanaged'
          ? Math.max(0, c.process[i]! - c.managed[i]!)
          : c[measure][i]!
      );
    }
  }
  return byWorker;
}

/** At the middle of each of up to 1,200 steps: the newest figure of each worker that lives, added up. */
function clusterSeries(
  log: LogStore,
  byWorker: ReadonlyMap<number, Samples>,
  range: Range
): Series {
  const longest = Math.max(
    0,
    ...[...byWorker.values()].map(({ t }) => t.length)
  );
  const points = Math.min(MOST_POINTS, Math.max(2, longest));
  const t: number[] = [];
  const bytes: (number | null)[] = [];
  const cursors = [...byWorker].map(([worker, samples]) => ({
    samples,
    left: log.shape.workers.get(worker)?.left ?? NaN,
    at: -1
  }));
  for (let point = 0; point < points && range.to > range.from; point++) {
    const time = range.from + ((range.to - range.from) * point) / (points - 1);
    let sum: number | null = null;
    for (const cursor of cursors) {
      while (
        cursor.at + 1 < cursor.samples.t.length &&
        cursor.samples.t[cursor.at + 1]! <= time
      ) {
        cursor.at++;
      }
      if (cursor.at >= 0 && !(cursor.left <= time)) {
        sum = (sum ?? 0) + cursor.samples.bytes[cursor.at]!;
      }
    }
    t.push(time);
    bytes.push(known(sum));
  }
  return { name: 'cluster', worker: null, t, bytes };
}

/** Every sample, or of each stretch the lowest and the highest: peaks are what one looks for. */
function workerSeries(
  log: LogStore,
  worker: number,
  samples: Samples,
  range: Range,
  points: number
): Series {
  const chosen: number[] = [];
  const inside = samples.t
    .map((_, i) => i)
    .filter(i => samples.t[i]! >= range.from && samples.t[i]! <= range.to);
  if (inside.length <= points) {
    chosen.push(...inside);
  } else {
    const stretch = inside.length / (points / 2);
    for (let first = 0; first < inside.length; first += stretch) {
      const part = inside.slice(Math.floor(first), Math.floor(first + stretch));
      let low = part[0]!;
      let high = low;
      for (const i of part) {
        if (samples.bytes[i]! < samples.bytes[low]!) {
          low = i;
        }
        if (samples.bytes[i]! > samples.bytes[high]!) {
          high = i;
        }
      }
      chosen.push(...new Set([Math.min(low, high), Math.max(low, high)]));
    }
  }
  return {
    name: workerName(log, worker),
    worker,
    t: chosen.map(i => samples.t[i]!),
    bytes: chosen.map(i => known(samples.bytes[i]!))
  };
}

/** What a source does not measure is NaN in the log, and nothing in a line. */
function known(bytes: number | null): number | null {
  return Number.isNaN(bytes) ? null : bytes;
}

/**
 * Results kept of the selection: the running sum of what was stored and released in its spans. What a worker kept is gone when it leaves,
 * and nobody says so result by result.
 */
function selectionSeries(context: FoldContext, range: Range): Series {
  const { log, filter } = context;
  const t: number[] = [];
  const bytes: number[] = [];
  const step = (range.to - range.from) / MOST_POINTS;
  let sum = 0;
  const change = (time: number, by: number): void => {
    sum += by;
    if (t.length > 0 && time - t[t.length - 1]! < step) {
      bytes[bytes.length - 1] = sum;
    } else {
      t.push(time);
      bytes.push(sum);
    }
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
  for (const chunk of log.stored.chunks) {
    const c = chunk.columns;
    for (let i = 0; i < chunk.rows; i++) {
      const worker = c.worker[i]!;
      if (filter.spans[c.span[i]!] === 0 || filter.workers[worker] === 0) {
        continue;
      }
      leave(c.t[i]!);
      if (!gone.has(worker)) {
        keptBy.set(worker, (keptBy.get(worker) ?? 0) + c.change[i]!);
        change(c.t[i]!, c.change[i]!);
      }
    }
  }
  leave(range.to);
  return { name: 'selection', worker: null, t, bytes };
}

/** Of the filter's workers that live. */
function limitsOf(log: LogStore, workers: Uint8Array): MemoryResult['limits'] {
  let memoryLimit = 0;
  for (const worker of log.shape.workers.values()) {
    if (Number.isNaN(worker.left) && workers[worker.worker] === 1) {
      memoryLimit += worker.memoryLimit;
    }
  }
  return memoryLimit > 0
    ? {
        memoryLimit,
        target: memoryLimit * TARGET,
        spill: memoryLimit * SPILL,
        pause: memoryLimit * PAUSE
      }
    : null;
}

function memoryRuns(log: LogStore): MemoryResult['runs'] {
  const samples = new Map<number, Samples>();
  for (const chunk of log.memorySamples.chunks) {
    const c = chunk.columns;
    for (let i = 0; i < chunk.rows; i++) {
      let of = samples.get(c.run[i]!);
      if (of === undefined) {
        of = { t: [], bytes: [] };
        samples.set(c.run[i]!, of);
      }
      of.t.push(c.t[i]!);
      of.bytes.push(c.bytes[i]!);
    }
  }
  const points = Math.min(
    MOST_POINTS,
    Math.max(16, Math.floor(MOST_POINTS_IN_ALL / 2 / (samples.size + 1)))
  );
  return [...log.memoryRuns.values()].map(row => {
    const of = samples.get(row.run) ?? { t: [], bytes: [] };
    const { t, bytes } = thinned(of, points);
    return {
      run: row.run,
      label: row.label,
      measure: row.measure,
      intervalSeconds: row.interval,
      start: row.start,
      stopped: Number.isNaN(row.stopped) ? null : row.stopped,
      t,
      bytes,
      peak: of.bytes.reduce((peak, value) => Math.max(peak, value), 0)
    };
  });
}

/** Of each stretch the highest. */
function thinned(samples: Samples, points: number): Samples {
  if (samples.t.length <= points) {
    return samples;
  }
  const stretch = samples.t.length / points;
  const t: number[] = [];
  const bytes: number[] = [];
  for (let point = 0; point < points; point++) {
    let high = Math.floor(point * stretch);
    for (let i = high; i < Math.floor((point + 1) * stretch); i++) {
      if (samples.bytes[i]! > samples.bytes[high]!) {
        high = i;
      }
    }
    t.push(samples.t[high]!);
    bytes.push(samples.bytes[high]!);
  }
  return { t, bytes };
}

function newest(log: LogStore, workers: Uint8Array): MemoryResult['now'] {
  const last = new Map<number, number>();
  for (let row = log.memory.firstRow; row < log.memory.endRow; row++) {
    const columns = log.memory.chunkOf(row)!.columns;
    last.set(columns.worker[row & CHUNK_MASK]!, row);
  }
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
