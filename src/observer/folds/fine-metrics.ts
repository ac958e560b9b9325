import { NONE_U32 } from '../../records/enumerations';
import type { ActivitySeconds, FineMetricsResult } from '../../wire/panel-link';
import { passesFineRow, passesFunction, passesWorker } from '../filter';
import {
  ACTIVITIES,
  BLOCKED,
  COMPUTE,
  CORE,
  GIL,
  THREAD_NONCPU,
  type ActivityCells
} from '../store/activity-cells';
import { FineSums } from '../store/fine-sums';
import type { MeterSums } from '../store/meter-sums';
import type { LogStore } from '../store/log-store';
import {
  resolveRange,
  type FoldContext,
  type Honoured,
  type Range,
  type Slices
} from './context';
import { cellPasses, fineCells, type FineCells } from './fine-cells';
import { fineSums } from './fine-rows';
import { hasMeters, honouredBy, type Exception } from './honoured';
import { accountIdle, IDLE_CAUSES, type IdleAccount } from './idle';
import { IN_TASKS, isLockWait, LockWaits } from './lock-waits';
import { outsideTasks } from './outside-tasks';
import { ThreadAccount } from './thread-account';
import type { ParamsOf } from '../../wire/question';

/** Those of activities; what tasks measure themselves may have any. */
const UNITS: readonly string[] = ['seconds', 'bytes', 'count'];
const DEFAULT_TOP = 12;
const MOST_TOP = 500;
/**
 * A task may make up a label of each of its inputs, and an answer must fit in one message of the panel link: so many labels and units are
 * named, and so many characters of labels over all rows; the figures of the others are added up under one label.
 */
const MOST_LABELS = 100;
const MOST_UNITS = 32;
const LABEL_CHARACTERS = 200_000;
const ENTRY_CHARACTERS = 250_000;
/** About as long as a figure. */
const FIGURE_CHARACTERS = 12;
/** Also what workers call names for which they have no room. */
const OTHER_LABELS = '(others)';

/** One function's figures in the unit asked for. */
type FunctionSum = {
  readonly name: string;
  executions: number;
  total: number;
  readonly byActivity: Float64Array;
  /** By label, what the function measured itself. */
  byLabel: ReadonlyMap<string, number>;
};

/**
 * Where the thread time went: by activity, by function, and what was idle; docs/measures.md says how each figure is made.
 */
export function* foldFineMetrics(
  context: FoldContext,
  params: ParamsOf<'fine-metrics'>
): Slices<{ readonly result: FineMetricsResult; readonly honoured: Honoured }> {
  const { log, filter } = context;
  const cells = yield* fineCells(context);
  const units = [...new Set([...UNITS, ...unitsOf(context, cells.meters)])];
  const unit = units.find(known => known === params.unit) ?? 'seconds';
  const range = resolveRange(context);
  const idle = yield* accountIdle({ log, range, filter, perSpan: false });
  const fine = yield* fineSums(context);
  const known = new LockWaits(log, fine);
  // Workers report waits for the GIL for all runs together: the share of one status is not known, so under a filter by status blocked time
  // is not divided.
  const waits = filter.byStatus ? new LockWaits(log, new FineSums()) : known;
  const account = new ThreadAccount(cells.held, waits, cells.meters);
  const byFunction = sumByFunction(context, cells, account, unit);
  const byActivity = new Float64Array(ACTIVITIES.length);
  let attributedNanoseconds = 0;
  let gilErrorNanoseconds = 0;
  for (let cell = 0; cell < cells.held.length; cell++) {
    if (cellPasses(context, cells.held, cell)) {
      attributedNanoseconds += cells.held.totalNanoseconds(cell);
      gilErrorNanoseconds += waits.errorNanoseconds(cells.held, cell);
    }
  }
  const isUndivided = filter.byStatus && known.anyOf(context, cells.held);
  const exceptions: Exception[] = [
    ...(isUndivided ? (['lockByStatus'] as const) : []),
    ...(filter.byStatus && hasMeters(context)
      ? (['metersByStatus'] as const)
      : [])
  ];
  const top = Math.min(MOST_TOP, Math.max(1, params.top ?? DEFAULT_TOP));
  poolLabels(byFunction, top);
  const byLabel = new Map<string, number>();
  for (const sum of byFunction) {
    sum.byActivity.forEach((value, a) => (byActivity[a]! += value));
    sum.byLabel.forEach((value, label) => addTo(byLabel, label, value));
  }
  const whole =
    unit === 'seconds'
      ? idle.capacitySeconds
      : byFunction.reduce((sum, { total }) => sum + total, 0);
  const share = (value: number): number | null =>
    whole > 0 ? value / whole : null;
  return {
    result: {
      view: 'fine-metrics',
      unit,
      units: units.slice(0, MOST_UNITS),
      wallSeconds: idle.wallSeconds,
      threads:
        idle.wallSeconds > 0
          ? idle.capacitySeconds / idle.wallSeconds
          : log.shape.threads,
      capacitySeconds: idle.capacitySeconds,
      byActivity: activityRows(byActivity, byLabel, idle, unit, share),
      byFunction: byFunction.slice(0, top).map(sum => ({
        function: sum.name,
        ...log.slots.of(
          sum.name,
          unit === 'seconds' ? (sum.total * 1e9) / cells.totalNanoseconds : 0
        ),
        executions: sum.executions,
        total: sum.total,
        share: share(sum.total),
        activities: named(sum)
      })),
      others: othersOf(byFunction.slice(top)),
      idle: IDLE_CAUSES.map((cause, i) => ({
        cause,
        seconds: idle.selectedIdle[i]!
      })).filter(({ seconds }) => seconds > 0),
      background: [
        ...backgroundOf(context, cells.background),
        ...outsideTasks(context, fine)
      ],
      otherSpansSeconds: (cells.totalNanoseconds - attributedNanoseconds) / 1e9,
      otherIdleSeconds: Math.max(
        0,
        idle.idle.reduce(add, 0) - idle.selectedIdle.reduce(add, 0)
      ),
      gilErrorSeconds: gilErrorNanoseconds / 1e9,
      attributedNanoseconds,
      totalNanoseconds: cells.totalNanoseconds,
      ...(params.entries === true
        ? entriesOf(
            context,
            cells,
            account,
            idle,
            fine,
            notesOf(context, range)
          )
        : {})
    },
    honoured: honouredBy('fine-metrics', context, exceptions)
  };
}

const add = (a: number, b: number): number => a + b;

function addTo(sums: Map<string, number>, name: string, value: number): void {
  sums.set(name, (sums.get(name) ?? 0) + value);
}

/** Adds up the smaller labels of all functions where there are too many. */
function poolLabels(byFunction: readonly FunctionSum[], top: number): void {
  const sizes = new Map<string, number>();
  for (const { byLabel } of byFunction) {
    byLabel.forEach((value, label) => addTo(sizes, label, Math.abs(value)));
  }
  const shown = new Set<string>();
  // (rows of functions, that of the others, and that of all)
  let room = LABEL_CHARACTERS / (top + 2);
  for (const [label] of [...sizes].sort(([, a], [, b]) => b - a)) {
    const needed = label.length + FIGURE_CHARACTERS;
    // (no message may have __proto__ for a key)
    if (shown.size < MOST_LABELS && needed <= room && label !== '__proto__') {
      shown.add(label);
      room -= needed;
    }
  }
  if (shown.size === sizes.size) {
    return;
  }
  for (const sum of byFunction) {
    const pooled = new Map<string, number>();
    for (const [label, value] of sum.byLabel) {
      addTo(pooled, shown.has(label) ? label : OTHER_LABELS, value);
    }
    sum.byLabel = pooled;
  }
}

function valueOf(
  cells: ActivityCells,
  cell: number,
  activity: number,
  account: ThreadAccount,
  unit: string
): number {
  switch (unit) {
    case 'seconds':
      return account.nanoseconds(cell, activity) / 1e9;
    case 'bytes':
      return cells.bytes(cell, activity);
    case 'count':
      return countOf(cells, cell, activity);
    default:
      return 0;
  }
}

/** What passing tasks measured beside their runs' time: all that is no seconds. */
function* measuredBeside(
  { log, filter }: FoldContext,
  meters: MeterSums
): Generator<{
  readonly function: string;
  readonly label: string;
  readonly unit: string;
  readonly value: number;
}> {
  for (const sum of meters.all()) {
    if (
      sum.beside !== 0 &&
      filter.spans[sum.span] === 1 &&
      passesFunction(filter, sum.function)
    ) {
      yield {
        function: log.name(sum.function),
        label: log.name(sum.label),
        unit: log.name(sum.unit),
        value: sum.beside
      };
    }
  }
}

function* unitsOf(context: FoldContext, meters: MeterSums): Generator<string> {
  for (const { unit } of measuredBeside(context, meters)) {
    yield unit;
  }
}

/** How often an activity occurred: its parts. For computing, executions: a run that is not divided is one execution and has no part. */
function countOf(cells: ActivityCells, cell: number, activity: number): number {
  return activity === COMPUTE
    ? cells.executions(cell)
    : cells.events(cell, activity);
}

/** Largest first. Names that several ids share are one function. */
function sumByFunction(
  context: FoldContext,
  { held: cells, meters }: FineCells,
  account: ThreadAccount,
  unit: string
): FunctionSum[] {
  const { log } = context;
  const sums = new Map<
    string,
    FunctionSum & { readonly byLabel: Map<string, number> }
  >();
  const sumOf = (name: string) => {
    let sum = sums.get(name);
    if (sum === undefined) {
      sum = {
        name,
        executions: 0,
        total: 0,
        byActivity: new Float64Array(ACTIVITIES.length),
        byLabel: new Map()
      };
      sums.set(name, sum);
    }
    return sum;
  };
  for (let cell = 0; cell < cells.length; cell++) {
    if (!cellPasses(context, cells, cell)) {
      continue;
    }
    const sum = sumOf(log.name(cells.function(cell)));
    sum.executions += cells.executions(cell);
    for (let activity = 0; activity < ACTIVITIES.length; activity++) {
      const value = valueOf(cells, cell, activity, account, unit);
      sum.byActivity[activity]! += value;
      sum.total += value;
    }
    if (unit === 'seconds') {
      for (const [label, ns] of account.labels(cell)) {
        addTo(sum.byLabel, log.name(label), ns / 1e9);
        sum.total += ns / 1e9;
      }
    }
  }
  if (unit !== 'seconds') {
    for (const beside of measuredBeside(context, meters)) {
      if (beside.unit === unit) {
        const sum = sumOf(beside.function);
        addTo(sum.byLabel, beside.label, beside.value);
        sum.total += beside.value;
      }
    }
  }
  return [...sums.values()].sort(
    (a, b) => b.total - a.total || (a.name < b.name ? -1 : 1)
  );
}

/** (a label may be what an activity is called) */
function named({
  byActivity,
  byLabel
}: Pick<FunctionSum, 'byActivity' | 'byLabel'>): ActivitySeconds {
  const activities = new Map(byLabel);
  byActivity.forEach((value, activity) =>
    addTo(activities, ACTIVITIES[activity]!, value)
  );
  return Object.fromEntries([...activities].filter(([, value]) => value !== 0));
}

function activityRows(
  byActivity: Float64Array,
  byLabel: ReadonlyMap<string, number>,
  idle: IdleAccount,
  unit: string,
  share: (value: number) => number | null
): FineMetricsResult['byActivity'] {
  const rows = ACTIVITIES.map((activity, i) => ({
    activity: activity as string,
    value: byActivity[i]!,
    share: share(byActivity[i]!)
  }));
  const known = new Map(rows.map(row => [row.activity, row]));
  for (const [label, value] of byLabel) {
    const same = known.get(label);
    if (same === undefined) {
      rows.push({ activity: label, value, share: share(value) });
    } else {
      same.value += value;
      same.share = share(same.value);
    }
  }
  if (unit === 'seconds') {
    IDLE_CAUSES.forEach((cause, i) => {
      const value = idle.selectedIdle[i]!;
      rows.push({ activity: `idle:${cause}`, value, share: share(value) });
    });
  }
  return rows.filter(({ value }) => value !== 0);
}

function othersOf(rest: readonly FunctionSum[]): FineMetricsResult['others'] {
  if (rest.length === 0) {
    return null;
  }
  const byActivity = new Float64Array(ACTIVITIES.length);
  const byLabel = new Map<string, number>();
  let executions = 0;
  let total = 0;
  for (const sum of rest) {
    executions += sum.executions;
    total += sum.total;
    sum.byActivity.forEach((value, i) => (byActivity[i]! += value));
    sum.byLabel.forEach((value, label) => addTo(byLabel, label, value));
  }
  return {
    functions: rest.length,
    executions,
    total,
    activities: named({ byActivity, byLabel })
  };
}

function backgroundOf(
  context: FoldContext,
  cells: ActivityCells
): FineMetricsResult['background'] {
  return ACTIVITIES.map((activity, i) => {
    let ns = 0;
    let bytes = 0;
    let count = 0;
    for (let cell = 0; cell < cells.length; cell++) {
      if (cellPasses(context, cells, cell)) {
        ns += cells.nanoseconds(cell, i);
        bytes += cells.bytes(cell, i);
        count += cells.events(cell, i);
      }
    }
    return {
      activity: activity as string,
      seconds: ns / 1e9,
      // 0 bytes means that bytes were not counted.
      bytes: bytes > 0 ? bytes : null,
      count
    };
  }).filter(({ count }) => count > 0);
}

/** The activities that Dask calls `thread-noncpu`; context `noncpu` lists them one by one. */
const OFF_CORE: readonly number[] = [CORE, GIL, BLOCKED];

/** What Dask calls the function and the activity of idle time. */
const IDLE_ENTRY = ['N/A', 'idle or other spans'] as const;

/**
 * Exact sums for `client.fine_metrics`: each cell's, added up over spans. Those of context `execute` add up to the thread time and what was
 * idle; its activities are Dask's, and the labels of users. Context `user` has seconds that tasks told beyond their runs' time.
 */
function entriesOf(
  context: FoldContext,
  cells: FineCells,
  account: ThreadAccount,
  idle: IdleAccount,
  fine: FineSums,
  missing: readonly string[]
): Required<Pick<FineMetricsResult, 'entries' | 'notes'>> {
  const { log } = context;
  let room = ENTRY_CHARACTERS;
  const sums = new Map<string, { key: EntryKey; value: number }>();
  const book = (key: EntryKey, value: number): void => {
    const text = key.join('\0');
    const sum = sums.get(text);
    if (sum === undefined) {
      sums.set(text, { key, value });
    } else {
      sum.value += value;
    }
  };
  /** What tasks measured themselves, under its label as long as there is room. */
  const bookOwn = (key: EntryKey, value: number): void => {
    const [where, fn, , unit] = key;
    const text = key.join('\0');
    if (!sums.has(text)) {
      room -= text.length + FIGURE_CHARACTERS;
    }
    book(
      sums.has(text) || room >= 0 ? key : [where, fn, OTHER_LABELS, unit],
      value
    );
  };
  for (const [where, from] of [
    ['execute', cells.held],
    ['background', cells.background]
  ] as const) {
    for (let cell = 0; cell < from.length; cell++) {
      if (!cellPasses(context, from, cell)) {
        continue;
      }
      const fn = log.name(from.function(cell));
      ACTIVITIES.forEach((activity, i) => {
        const ns =
          from === cells.held
            ? account.nanoseconds(cell, i)
            : from.nanoseconds(cell, i);
        if (OFF_CORE.includes(i)) {
          book([where, fn, ACTIVITIES[THREAD_NONCPU]!, 'seconds'], ns);
          book(['noncpu', fn, activity, 'seconds'], ns);
        } else {
          book([where, fn, activity, 'seconds'], ns);
        }
        book([where, fn, activity, 'bytes'], from.bytes(cell, i));
        book([where, fn, activity, 'count'], countOf(from, cell, i));
      });
      if (from === cells.held) {
        for (const [label, ns] of account.labels(cell)) {
          bookOwn([where, fn, log.name(label), 'seconds'], ns);
        }
      }
    }
  }
  for (const beside of measuredBeside(context, cells.meters)) {
    const isSeconds = beside.unit === 'seconds';
    bookOwn(
      [
        isSeconds ? 'user' : 'execute',
        beside.function,
        beside.label,
        beside.unit
      ],
      isSeconds ? beside.value * 1e9 : beside.value
    );
  }
  IDLE_CAUSES.forEach((cause, i) => {
    const ns = idle.selectedIdle[i]! * 1e9;
    book(['execute', ...IDLE_ENTRY, 'seconds'], ns);
    book(['idle', IDLE_ENTRY[0], cause, 'seconds'], ns);
  });
  const entries = [
    ...[...sums.values()]
      .filter(({ value }) => value !== 0)
      .map(({ key, value }) => {
        const [where, fn, activity, unit] = key;
        const shown = unit === 'seconds' ? value / 1e9 : value;
        return [where, fn, activity, unit, shown] as const;
      }),
    ...fineEntries(context, fine)
  ];
  return { entries, notes: room < 0 ? [TOO_MANY, ...missing] : missing };
}

const TOO_MANY = `Tasks measured more labels than one answer holds: the last ones are added up as “${OTHER_LABELS}”.`;

const WORKER_LOST = 'worker-lost';
const MOST_NOTES = 10;

/** What is missing in the figures: workers tell what they measure at least once a second, and one that dies tells nothing any more. */
function notesOf({ log, filter }: FoldContext, { from, to }: Range): string[] {
  const notes: string[] = [];
  for (const { columns, rows } of log.events.chunks) {
    for (let i = 0; i < rows; i++) {
      const worker = columns.worker[i]!;
      const t = columns.t[i]!;
      if (
        t >= from &&
        t <= to + 1 &&
        passesWorker(filter, worker) &&
        log.name(columns.kind[i]!) === WORKER_LOST
      ) {
        const name = log.shape.workers.get(worker)?.name ?? `worker ${worker}`;
        notes.push(
          `${name} was lost: what it had measured in its last second may be missing.`
        );
      }
    }
  }
  const more = notes.length - MOST_NOTES;
  return more > 0
    ? [...notes.slice(0, MOST_NOTES), `So it is of ${more} more workers.`]
    : notes;
}

type EntryKey = readonly [string, string, string, string];

/** Sums that workers measured outside tasks, or users with meters of their own, unchanged. */
function fineEntries(
  { log, filter }: FoldContext,
  fine: FineSums
): (readonly [string, string, string, string, number])[] {
  const sums = new Map<string, { ids: readonly number[]; value: number }>();
  for (const row of fine.all()) {
    // Of one status, how many inputs of tasks were in memory is not known.
    const isHidden =
      isLockWait(log, row.context) ||
      (filter.byStatus && log.name(row.context) === IN_TASKS);
    if (isHidden || !passesFineRow(filter, row)) {
      continue;
    }
    const ids = [row.context, row.function, row.activity, row.unit];
    const text = ids.join(' ');
    const sum = sums.get(text);
    if (sum === undefined) {
      sums.set(text, { ids, value: row.value });
    } else {
      sum.value += row.value;
    }
  }
  return [...sums.values()].map(({ ids, value }) => {
    const [where, fn, activity, unit] = ids;
    return [
      log.name(where!),
      fineFunction(log, fn!),
      log.name(activity!),
      log.name(unit!),
      value
    ] as const;
  });
}

function fineFunction(log: LogStore, fn: number): string {
  return fn === NONE_U32 ? '' : log.name(fn);
}
