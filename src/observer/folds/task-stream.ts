import { BoxKind, RunStatus } from '../../records/enumerations';
import type { FunctionSlot, TaskStreamResult } from '../../wire/panel-link';
import { passesFunction } from '../filter';
import { heldByRow, scanHeld } from '../tiles/held-places';
import { atLeast } from '../tiles/scan-rows';
import type { ActivityCells } from '../store/activity-cells';
import { CHUNK_MASK, type ColumnsOf } from '../store/column-table';
import { LONG_PAUSE, type LogStore } from '../store/log-store';
import { isRoot } from '../store/span-tree';
import type { LaneId, SpanId } from '../../records/ids';
import { besideRuns, type HeldPlace } from './beside-runs';
import { BOX_OF_PART } from '../../records/box-kinds';
import {
  resolveRange,
  ROWS_PER_SLICE,
  type FoldContext,
  type Honoured,
  type Range,
  type Slices
} from './context';
import { Coverage } from './coverage';
import { cellPasses, fineCells } from './fine-cells';
import { honouredBy } from './honoured';
import { ownersOf } from './owners';
import { firstRunning } from './idle';

const STRIP_BINS = 240;
/** Functions that the answer names; those beyond the third dozen look alike anyway. */
const MOST_FUNCTIONS = 200;
/** More are seldom told apart in a picture; an answer of so many is 80 kB, several times a second while tasks run. */
const MOST_BANDS = 1000;
/** Of their names: an answer must fit into a message, whatever spans are called. */
const MOST_BAND_CHARACTERS = 128 * 1024;
/** Stretches for which a running task held threads, to be drawn: more of them it seldom has, and an answer must be bounded. */
const MOST_HELD = 8;
/** {@link BoxKind} of a part → its series in the whole-run strip, and the count that it adds to. */
const STRIP_OF_BOX: Readonly<
  Record<
    BoxKind,
    readonly [
      series: 'compute' | 'transfer' | 'disk' | 'other',
      counted?: keyof KindCounts
    ]
  >
> = {
  [BoxKind.Compute]: ['compute'],
  [BoxKind.Transfer]: ['transfer', 'transfer'],
  [BoxKind.Disk]: ['disk', 'disk'],
  [BoxKind.Serialize]: ['other', 'serialize'],
  [BoxKind.Failed]: ['other'],
  [BoxKind.Import]: ['other', 'import'],
  [BoxKind.Seceded]: ['other'],
  [BoxKind.Cancelled]: ['other']
};
/** For kinds of parts that only newer workers know. */
const UNKNOWN_PART = ['other', undefined] as const;

/**
 * All of the task stream but the boxes: extent, lanes, legend, what runs now, whole-run strip, span bands. A range of time is marked in the
 * chart, which shows all of the run: the legend counts it, and nothing else does.
 */
export function* foldTaskStream(
  context: FoldContext
): Slices<{ readonly result: TaskStreamResult; readonly honoured: Honoured }> {
  const { log, moment, now, ended } = context;
  const { begin: from, end: to } = moment;
  const { running, heldBefore } = runningOf(context);
  const first = firstTimers(log, running);
  const bands = bandsOf(context);
  const workers = workersOf(context);
  const settledBefore = log.settledBefore(ended);
  const newest = stretchFrom(context, Infinity);
  const { lateSeq, runCount } = log;
  const { held } = yield* fineCells({ ...context, time: 'all' });
  const shownBands = chosenBands(context, bands, selectedSpans(context, held));
  const whole = sumsOf(context, held);
  const chosen =
    context.time === 'all'
      ? whole
      : sumsOf(context, (yield* fineCells(context)).held);
  const functions = functionsOf(log, whole, chosen, running, first);
  const scan = yield* scanStrip(context, from, to, heldBefore);
  const seceded = heldCount(context);
  const newestStart = running.reduce(
    (newest, { started }) => Math.max(newest, started),
    scan.newestStart
  );
  const firstStart = running.reduce(
    (first, { started }) => Math.min(first, started),
    scan.firstStart
  );
  return {
    result: {
      view: 'task-stream',
      from,
      to,
      newestFrom: Number.isFinite(newestStart)
        ? stretchFrom(context, newestStart)
        : newest,
      ...(firstStart < Infinity && {
        selected: {
          from: firstStart,
          to: running.length > 0 ? to : scan.lastStop
        }
      }),
      now: ended ? to : Math.max(now, moment.newest),
      live: !ended,
      // Infinity is no JSON number: everything is settled before the end of the run.
      settledBefore: Number.isFinite(settledBefore) ? settledBefore : to + 1,
      lateSeq,
      lanes: log.shape.lanes.map(lane => {
        const { worker, thread } = lane;
        const beside = log.besideOf(lane);
        return {
          laneIndex: log.shape.laneIndex(lane.lane),
          worker,
          thread,
          ...(beside !== undefined && { beside })
        };
      }),
      workers: workers.map(worker => ({
        ...worker,
        busy: scan.busy.get(worker.worker) ?? 0
      })),
      ...namedFunctions(functions, running),
      running,
      othersRunning: moment.running.size - running.length,
      strip: { ...scan.strip, threads: log.shape.mostThreads },
      ...shownBands,
      tasks: scan.tasks,
      executions: [...whole.values()].reduce(
        (sum, { executions }) => sum + executions,
        0
      ),
      hidden: runCount - scan.tasks,
      kinds: {
        ...scan.kinds,
        ...(scan.failedTasks > 0 && { failedTasks: scan.failedTasks }),
        ...(seceded > 0 && { seceded }),
        ...(scan.cancelled > 0 && { cancelled: scan.cancelled }),
        ...(scan.missing > 0 && { missing: scan.missing })
      }
    },
    honoured: honouredBy('task-stream', context)
  };
}

type KindCounts = Record<
  Exclude<
    keyof TaskStreamResult['kinds'],
    'failedTasks' | 'seceded' | 'cancelled' | 'missing'
  >,
  number
>;

/** Of the selection, in the range. */
function heldCount(context: FoldContext): number {
  const { log, filter } = context;
  const { from, to } = resolveRange(context);
  let count = 0;
  scanHeld(log, filter, atLeast(0), from, to, () => (count += 1));
  return count;
}

type Scan = {
  readonly strip: TaskStreamResult['strip'];
  /** Seconds by worker. */
  readonly busy: ReadonlyMap<number, number>;
  /** -Infinity, and Infinity of the first: no task of the selection has ended. */
  readonly newestStart: number;
  readonly firstStart: number;
  readonly lastStop: number;
  tasks: number;
  readonly kinds: KindCounts;
  readonly failedTasks: number;
  readonly cancelled: number;
  readonly missing: number;
};

/** @param heldBefore - what running tasks held that their rows do not tell of. */
function* scanStrip(
  context: FoldContext,
  from: number,
  to: number,
  heldBefore: readonly HeldPlace[]
): Slices<Scan> {
  const { log, moment } = context;
  const covers = {
    compute: new Coverage(STRIP_BINS, from, to),
    transfer: new Coverage(STRIP_BINS, from, to),
    disk: new Coverage(STRIP_BINS, from, to),
    other: new Coverage(STRIP_BINS, from, to)
  };
  const failed = new Array<number>(STRIP_BINS).fill(0);
  const busy = new Map<number, number>();
  const kinds = {
    transfer: 0,
    disk: 0,
    import: 0,
    serialize: 0,
    failed: 0,
    lost: 0
  };
  const { time } = context;
  const range =
    time === 'all' ? { from: -Infinity, to: Infinity } : resolveRange(context);
  const isInRange = (start: number, stop: number) =>
    start < range.to && stop >= range.from;
  let tasks = 0;
  const failedNodes = new Set<number>();
  let cancelled = 0;
  let missing = 0;
  let newestStart = -Infinity;
  let firstStart = Infinity;
  let lastStop = -Infinity;
  let seen = 0;
  const addBusy = (lane: LaneId, seconds: number): void => {
    const { worker } = log.shape.lanes[log.shape.laneIndex(lane)]!;
    busy.set(worker, (busy.get(worker) ?? 0) + seconds);
  };
  for (const { lane, ...place } of heldBefore) {
    addBusy(lane, addHeld(covers.compute, place.from, place.to, undefined));
  }
  const heldOf = heldByRow(log);
  for (const [rows, first, end] of log.runZones.zones(
    -Infinity,
    Infinity,
    moment.rows.runs
  )) {
    for (let i = first; i < end; i++) {
      const columns = log.runs.chunkOf(rows[i]!)?.columns;
      const j = rows[i]! & CHUNK_MASK;
      if (columns === undefined || !laneAndStatusPass(context, columns, j)) {
        continue;
      }
      const start = columns.start[j]!;
      const stop = start + Math.max(0, columns.duration[j]!);
      const own = ownPasses(context, columns.span[j]!, columns.function[j]!);
      const run = columns.run[j]!;
      const places = heldOf.get(rows[i]!);
      let seconds = 0;
      let isShown = own;
      if (log.lastParts.get(run) >= 0) {
        const parts = addParts(
          context,
          { run, start, stop, own, places },
          covers,
          kinds,
          isInRange
        );
        seconds = parts.seconds;
        isShown ||= parts.anyHeld;
      } else if (own) {
        seconds = addHeld(covers.compute, start, stop, places);
      }
      if (isShown) {
        newestStart = Math.max(newestStart, start);
        if (columns.status[j] !== RunStatus.Missing) {
          tasks += 1;
          firstStart = Math.min(firstStart, start);
          lastStop = Math.max(lastStop, stop);
        }
        addBusy(columns.lane[j]!, seconds);
        // A run that was given back gets no mark, for it runs again; nor one whose result nobody wanted: its box shows that. They are counted.
        if (columns.status[j] === RunStatus.Cancelled) {
          cancelled += isInRange(start, stop) ? 1 : 0;
        } else if (columns.status[j] === RunStatus.Missing) {
          missing += stop > start && isInRange(start, stop) ? 1 : 0;
        } else if (
          columns.status[j] === RunStatus.Failed ||
          columns.status[j] === RunStatus.Lost
        ) {
          if (isInRange(start, stop)) {
            if (columns.status[j] === RunStatus.Failed) {
              kinds.failed++;
              failedNodes.add(columns.node[j]!);
            } else {
              kinds.lost++;
            }
          }
          const bin = Math.floor(
            ((start - from) / Math.max(1e-9, to - from)) * STRIP_BINS
          );
          failed[Math.min(STRIP_BINS - 1, Math.max(0, bin))]! += 1;
        }
      }
    }
    seen += end - first;
    if (seen >= ROWS_PER_SLICE) {
      seen = 0;
      yield;
    }
  }
  return {
    strip: {
      compute: [...covers.compute.read()],
      transfer: [...covers.transfer.read()],
      disk: [...covers.disk.read()],
      other: [...covers.other.read()],
      failed
    },
    busy,
    newestStart,
    firstStart,
    lastStop,
    tasks,
    kinds,
    failedTasks: failedNodes.size,
    cancelled,
    missing
  };
}

/**
 * Where the stretch of work begins in which a task began at `t`, or the newest stretch, looked up in the log's: there may be a million, too many
 * to copy for an answer. A cluster's first stretch begins with the run, unless no task could begin for long.
 *
 *     ▕ first cell ▏      8 s      ▕ second cell, 2 s, third cell ▏
 *                                  ↑
 */
function stretchFrom({ log, moment }: FoldContext, t: number): number {
  const { stretches } = log;
  const started = firstRunning(moment);
  const at = stretches.firstEndingAfter(t);
  let from = stretches.from(Math.min(at, stretches.length - 1));
  if (started < Infinity && stretches.to(at) >= started) {
    // Running tasks go on: their stretch is the last, with what touches it.
    from = Math.min(started, stretches.from(stretches.firstReaching(started)));
  }
  const { begin } = moment;
  return from > begin + LONG_PAUSE && from < Infinity
    ? from
    : Math.min(begin, from);
}

/**
 * Adds the time that held the thread to its series. Time that no part explains is `other` and belongs to the run. Returns the seconds that
 * pass, and whether any part passes.
 */
function addParts(
  context: FoldContext,
  {
    run,
    start,
    stop,
    own,
    places
  }: {
    readonly run: number;
    readonly start: number;
    readonly stop: number;
    readonly own: boolean;
    readonly places: Places;
  },
  covers: Readonly<Record<'compute' | 'transfer' | 'disk' | 'other', Coverage>>,
  kinds: KindCounts,
  isCounted: (from: number, to: number) => boolean
): { readonly seconds: number; readonly anyHeld: boolean } {
  let isDivided = false;
  let anyHeld = false;
  let seconds = 0;
  let explained = start;
  const { log, moment } = context;
  for (const row of log.partRows(run, moment.rows.parts)) {
    const part = log.part(row);
    const passes = ownPasses(context, part.span, part.function);
    const box = BOX_OF_PART[part.kind];
    const [series, counted] =
      box === undefined ? UNKNOWN_PART : STRIP_OF_BOX[box];
    const from = start + part.offset;
    const to = from + part.duration;
    if (passes && counted !== undefined && isCounted(from, to)) {
      kinds[counted]++;
    }
    if (!part.held) {
      continue;
    }
    isDivided = true;
    if (passes) {
      anyHeld = true;
      seconds += addHeld(covers[series], from, to, places);
    }
    if (own && from > explained) {
      seconds += addHeld(covers.other, explained, from, places);
    }
    explained = Math.max(explained, to);
  }
  if (own && !isDivided) {
    seconds = addHeld(covers.compute, start, stop, places);
  } else if (own && stop > explained) {
    seconds += addHeld(covers.other, explained, stop, places);
  }
  return { seconds, anyHeld };
}

/** When a run that has seceded held a thread; undefined: it has not, and held its own throughout, or it is not known when it has. */
type Places = readonly Range[] | undefined;

/** Adds what a run did from one time to another while it held a thread; returns the seconds. */
function addHeld(
  cover: Coverage,
  from: number,
  to: number,
  places: Places
): number {
  if (places === undefined) {
    cover.add(from, to);
    return to - from;
  }
  let seconds = 0;
  for (const place of places) {
    const begin = Math.max(from, place.from);
    const end = Math.min(to, place.to);
    if (end > begin) {
      cover.add(begin, end);
      seconds += end - begin;
    }
  }
  return seconds;
}

function laneAndStatusPass(
  context: FoldContext,
  columns: ColumnsOf<'runs'>,
  j: number
): boolean {
  return (
    context.filter.statuses[columns.status[j]!] === 1 &&
    context.filter.lanes[columns.lane[j]!] === 1
  );
}

function ownPasses(context: FoldContext, span: SpanId, fn: number): boolean {
  return context.filter.spans[span] === 1 && passesFunction(context.filter, fn);
}

/**
 * Each worker's thread seconds while some task was unfinished, from its joining to its leaving: the whole of which "busy" and Fine Metrics
 * show shares.
 */
function capacityByWorker({ log, moment }: FoldContext): Map<number, number> {
  const to = moment.end;
  const started = firstRunning(moment);
  const capacities = log.shape.laneCapacities(to);
  const borders = capacities.flatMap(({ stretches }) =>
    stretches.flatMap(({ from, to }) => [
      Math.min(from, started),
      Math.min(to, started)
    ])
  );
  const before = log.active.lengthsBefore(borders);
  /** Some task is unfinished from where the first of the running ones began. */
  const activeBefore = (t: number): number =>
    before.get(Math.min(t, started))! + Math.max(0, t - started);
  const capacity = new Map<number, number>();
  for (const { worker, threads, stretches } of capacities) {
    const seconds = stretches.reduce(
      (sum, { from, to }) => sum + activeBefore(to) - activeBefore(from),
      0
    );
    capacity.set(worker, (capacity.get(worker) ?? 0) + threads * seconds);
  }
  return capacity;
}

/** But for how long each was busy, which its runs tell. */
function workersOf(
  context: FoldContext
): Omit<TaskStreamResult['workers'][number], 'busy'>[] {
  const { log } = context;
  const process = newestProcessMemory(log);
  const capacity = capacityByWorker(context);
  return [...log.shape.workers.values()].map(worker => {
    const clock = log.clocks.get(worker.worker);
    return {
      worker: worker.worker,
      name: worker.name,
      threads: worker.threads,
      capacity: capacity.get(worker.worker) ?? 0,
      process: process.get(worker.worker) ?? 0,
      memoryLimit: worker.memoryLimit,
      joined: worker.joined,
      left: Number.isNaN(worker.left) ? null : worker.left,
      ...(clock === undefined ? {} : { within: clock.within })
    };
  });
}

/** Process memory by worker. Each worker reports every fraction of a second: the newest rows tell of all of them. */
export function newestProcessMemory(log: LogStore): Map<number, number> {
  const process = new Map<number, number>();
  const wanted = log.shape.workers.size;
  const oldest = Math.max(log.memory.firstRow, log.memory.endRow - 4096);
  for (
    let row = log.memory.endRow - 1;
    row >= oldest && process.size < wanted;
    row--
  ) {
    const columns = log.memory.chunkOf(row)!.columns;
    const worker = columns.worker[row & CHUNK_MASK]!;
    if (!process.has(worker)) {
      process.set(worker, columns.process[row & CHUNK_MASK]!);
    }
  }
  return process;
}

type FunctionSums = ReadonlyMap<
  string,
  { readonly seconds: number; readonly executions: number }
>;

/** Of the functions of the selection, by name. */
function sumsOf(context: FoldContext, held: ActivityCells): FunctionSums {
  const sums = new Map<string, { seconds: number; executions: number }>();
  for (let cell = 0; cell < held.length; cell++) {
    if (!cellPasses(context, held, cell)) {
      continue;
    }
    const name = context.log.name(held.function(cell));
    const sum = sums.get(name) ?? { seconds: 0, executions: 0 };
    sums.set(name, sum);
    sum.seconds += held.totalNanoseconds(cell) / 1e9;
    sum.executions += held.executions(cell);
  }
  return sums;
}

/**
 * The legend: functions of the selection by time in the range; at its end those of which it has nothing there, or nothing that has ended. Their
 * boxes are in the chart, which shows all of the run.
 */
function functionsOf(
  log: LogStore,
  whole: FunctionSums,
  chosen: FunctionSums,
  running: TaskStreamResult['running'],
  first: ReadonlySet<string>
): TaskStreamResult['functions'] {
  const names = new Set([
    ...whole.keys(),
    ...running.map(({ function: name }) => name)
  ]);
  // Of those with nothing in the range the ones with large boxes come first.
  const secondsOf = (name: string) => whole.get(name)?.seconds ?? 0;
  return [...names]
    .map(name => ({
      name,
      ...(chosen.get(name) ?? { seconds: 0, executions: 0 })
    }))
    .sort(
      (a, b) =>
        b.seconds - a.seconds ||
        secondsOf(b.name) - secondsOf(a.name) ||
        (a.name < b.name ? -1 : 1)
    )
    .map(({ name, ...sum }) => ({
      name,
      ...log.slots.of(name),
      ...sum,
      ...(first.has(name) ? { isFirst: true as const } : {})
    }));
}

/**
 * Of very many functions as many as an answer holds: first those that run and those with a colour, which boxes find here; then those with the
 * most time. The others are added up.
 */
function namedFunctions(
  all: TaskStreamResult['functions'],
  running: TaskStreamResult['running']
): Pick<TaskStreamResult, 'functions' | 'otherFunctions'> {
  if (all.length <= MOST_FUNCTIONS) {
    return { functions: all };
  }
  const run = new Set(running.map(({ function: name }) => name));
  const needed = ({ name, slot }: FunctionSlot) => run.has(name) || slot >= 0;
  const named = new Set(
    [...all.filter(needed), ...all.filter(each => !needed(each))].slice(
      0,
      MOST_FUNCTIONS
    )
  );
  const others = all.filter(each => !named.has(each));
  return {
    functions: all.filter(each => named.has(each)),
    otherFunctions: {
      functions: others.length,
      seconds: others.reduce((sum, { seconds }) => sum + seconds, 0),
      executions: others.reduce((sum, { executions }) => sum + executions, 0)
    }
  };
}

/** The functions that run for the first time: no run of them has ended, whatever is selected. As of now: sums of the log go on. */
function firstTimers(
  log: LogStore,
  running: TaskStreamResult['running']
): ReadonlySet<string> {
  const names = new Set(running.map(({ function: name }) => name));
  for (let cell = 0; cell < log.held.length && names.size > 0; cell++) {
    if (log.held.executions(cell) > 0) {
      names.delete(log.name(log.held.function(cell)));
    }
  }
  return names;
}

/** What runs now of the selection. */
function runningPassing(context: FoldContext) {
  const { filter, moment } = context;
  return filter.byStatus
    ? []
    : [...moment.running]
        .filter(
          ([lane, running]) =>
            filter.lanes[lane] === 1 &&
            ownPasses(context, running.span, running.function)
        )
        .map(([lane, running]) => ({ lane, ...running }));
}

/** `heldBefore`: stretches for which these have held threads, and of which their rows have no room to tell. */
function runningOf(context: FoldContext): {
  readonly running: TaskStreamResult['running'];
  readonly heldBefore: readonly HeldPlace[];
} {
  const { log } = context;
  const ownerOf = ownersOf(log);
  const all = runningPassing(context);
  const placesOf = all.some(({ lane }) => log.besideLanes[lane] === 1)
    ? placesOfRunning(context)
    : undefined;
  const heldBefore: HeldPlace[] = [];
  const running = all.map(running => {
    const places = placesOf?.get(running.lane) ?? [];
    heldBefore.push(...places.slice(0, -MOST_HELD));
    return {
      laneIndex: log.shape.laneIndex(running.lane),
      key: log.key(running.node),
      function: log.name(running.function),
      span: log.spans.numberOf(running.span),
      started: running.started,
      ...(running.givenUp !== undefined && { cancelled: running.givenUp }),
      ...ownedBy(ownerOf(running.span)),
      ...(places.length > 0 && {
        held: places.slice(-MOST_HELD).map(({ lane, from, to }) => ({
          laneIndex: log.shape.laneIndex(lane),
          from,
          to: to === Infinity ? null : to
        }))
      })
    };
  });
  return { running, heldBefore };
}

/** What tasks that have seceded and go on held of threads, by their lanes. */
function placesOfRunning({
  log,
  moment
}: FoldContext): ReadonlyMap<LaneId, readonly HeldPlace[]> {
  const now = { from: moment.end, to: Infinity };
  return new Map(
    besideRuns(log, moment, now)
      .filter(({ running }) => running !== null)
      .map(({ lane, places }) => [lane, places])
  );
}

type Band = TaskStreamResult['bands'][number];
type SpanBand = { readonly slot: SpanId; readonly band: Band };

/** Spans as bands over the lanes: from the first start to the last stop of their subtree, parents before children. */
function bandsOf({ log, moment }: FoldContext): readonly SpanBand[] {
  const extents = new Map<SpanId, { from: number; to: number }>();
  for (const { span } of log.spans.all()) {
    extents.set(span, {
      from: log.figures.firstStart(span),
      to: log.figures.lastStop(span)
    });
  }
  for (const { span, started } of moment.running.values()) {
    const extent = extents.get(span);
    if (extent !== undefined) {
      extent.from = Math.min(extent.from, started);
      extent.to = moment.end;
    }
  }
  const widen = (span: SpanId): { from: number; to: number } => {
    const extent = extents.get(span)!;
    for (const child of log.spans.childrenOf(span)) {
      if (extents.has(child)) {
        const below = widen(child);
        extent.from = Math.min(extent.from, below.from);
        extent.to = Math.max(extent.to, below.to);
      }
    }
    return extent;
  };
  for (const span of log.spans.all()) {
    if (span.parent === null) {
      widen(span.span);
    }
  }
  const ownerOf = ownersOf(log);
  return [...log.spans.all()]
    .map(({ span, number, origin, tag, name }) => ({
      origin,
      slot: span,
      band: {
        span: number,
        tag,
        depth: name.length - 1,
        ...extents.get(span)!,
        ...ownedBy(ownerOf(span))
      }
    }))
    .filter(
      ({ origin, band: { from, to } }) =>
        origin !== 'default' &&
        !isRoot(origin) &&
        Number.isFinite(from) &&
        to >= from
    );
}

/** The spans in which anything of the selection ran or runs, and those around them; null: all. */
function selectedSpans(
  context: FoldContext,
  held: ActivityCells
): ReadonlySet<SpanId> | null {
  const { log, filter } = context;
  if (filter.isOpen) {
    return null;
  }
  const own = new Set<SpanId>();
  for (let cell = 0; cell < held.length; cell++) {
    if (cellPasses(context, held, cell)) {
      own.add(log.spans.now(held.span(cell)));
    }
  }
  for (const { span } of runningPassing(context)) {
    own.add(log.spans.now(span));
  }
  const found = new Set<SpanId>();
  for (const span of own) {
    let around: SpanId | null = span;
    while (around !== null && !found.has(around)) {
      found.add(around);
      around = log.spans.get(around)?.parent ?? null;
    }
  }
  return found;
}

/**
 * Of the spans of a selection as many as an answer holds: first those in the range of time, of each the longest. So no span is there without
 * the ones around it.
 */
function chosenBands(
  context: FoldContext,
  bands: readonly SpanBand[],
  selected: ReadonlySet<SpanId> | null
): Pick<TaskStreamResult, 'bands' | 'bandsLeftOut'> {
  const own = bands.filter(
    ({ slot }) => selected?.has(context.log.spans.now(slot)) ?? true
  );
  const range = resolveRange(context);
  const isInRange = ({ from, to }: Band) =>
    from <= range.to && to >= range.from;
  let characters = 0;
  const chosen = new Set(
    own
      .toSorted(
        ({ band: a }, { band: b }) =>
          Number(isInRange(b)) - Number(isInRange(a)) ||
          b.to - b.from - (a.to - a.from) ||
          a.depth - b.depth
      )
      .slice(0, MOST_BANDS)
      .filter(({ band: { tag, client = '' } }) => {
        characters += tag.length + client.length;
        return characters <= MOST_BAND_CHARACTERS;
      })
  );
  const leftOut = own.length - chosen.size;
  return {
    bands: own.filter(each => chosen.has(each)).map(({ band }) => band),
    ...(leftOut > 0 && { bandsLeftOut: leftOut })
  };
}

function ownedBy(owner: string): { readonly client?: string } {
  return owner === '' ? {} : { client: owner };
}
