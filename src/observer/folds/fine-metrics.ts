import { NONE_U32 } from '../../records/enumerations';
import type { ActivitySeconds, FineMetricsResult } from '../../wire/panel-link';
import { passesFineRow } from '../filter';
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
import type { LogStore } from '../store/log-store';
import {
  resolveRange,
  type FoldContext,
  type Honoured,
  type Slices
} from './context';
import { cellPasses, fineCells, type FineCells } from './fine-cells';
import { fineSums } from './fine-rows';
import { hasMeters, honouredBy, type Exception } from './honoured';
import { accountIdle, IDLE_CAUSES, type IdleAccount } from './idle';
import { isLockWait, LockWaits } from './lock-waits';
import { outsideTasks } from './outside-tasks';
import type { ParamsOf } from '../../wire/question';

type Unit = 'seconds' | 'bytes' | 'count';
const UNITS: readonly Unit[] = ['seconds', 'bytes', 'count'];
const DEFAULT_TOP = 12;
const MOST_TOP = 500;

/** One function's figures in the unit asked for. */
type FunctionSum = {
  readonly name: string;
  executions: number;
  total: number;
  readonly byActivity: Float64Array;
};

/**
 * Where the thread time went: by activity, by function, and what was idle; docs/measures.md says how each figure is made.
 */
export function* foldFineMetrics(
  context: FoldContext,
  params: ParamsOf<'fine-metrics'>
): Slices<{ readonly result: FineMetricsResult; readonly honoured: Honoured }> {
  const { log, filter } = context;
  const unit = UNITS.find(known => known === params.unit) ?? 'seconds';
  const cells = yield* fineCells(context);
  const range = resolveRange(context);
  const idle = yield* accountIdle({ log, range, filter, perSpan: false });
  const fine = yield* fineSums(context);
  const known = new LockWaits(log, fine);
  // Workers report waits for the GIL for all runs together: the share of one status is not known, so under a filter by status blocked time
  // is not divided.
  const waits = filter.byStatus ? new LockWaits(log, new FineSums()) : known;
  const byFunction = sumByFunction(context, cells.held, waits, unit);
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
  for (const sum of byFunction) {
    sum.byActivity.forEach((value, a) => (byActivity[a]! += value));
  }
  const whole =
    unit === 'seconds' ? idle.capacitySeconds : byActivity.reduce(add, 0);
  const share = (value: number): number | null =>
    whole > 0 ? value / whole : null;
  const top = Math.min(MOST_TOP, Math.max(1, params.top ?? DEFAULT_TOP));
  return {
    result: {
      view: 'fine-metrics',
      unit,
      units: [...UNITS],
      wallSeconds: idle.wallSeconds,
      threads:
        idle.wallSeconds > 0
          ? idle.capacitySeconds / idle.wallSeconds
          : log.shape.threads,
      capacitySeconds: idle.capacitySeconds,
      byActivity: activityRows(byActivity, idle, unit, share),
      byFunction: byFunction.slice(0, top).map(sum => ({
        function: sum.name,
        ...log.slots.of(
          sum.name,
          unit === 'seconds' ? (sum.total * 1e9) / cells.totalNanoseconds : 0
        ),
        executions: sum.executions,
        total: sum.total,
        share: share(sum.total),
        activities: named(sum.byActivity)
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
        ? { entries: entriesOf(context, cells, waits, fine) }
        : {})
    },
    honoured: honouredBy('fine-metrics', context, exceptions)
  };
}

const add = (a: number, b: number): number => a + b;

function valueOf(
  cells: ActivityCells,
  cell: number,
  activity: number,
  waits: LockWaits,
  unit: Unit
): number {
  switch (unit) {
    case 'seconds':
      return waits.nanoseconds(cells, cell, activity) / 1e9;
    case 'bytes':
      return cells.bytes(cell, activity);
    case 'count':
      return countOf(cells, cell, activity);
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
  cells: ActivityCells,
  waits: LockWaits,
  unit: Unit
): FunctionSum[] {
  const sums = new Map<string, FunctionSum>();
  for (let cell = 0; cell < cells.length; cell++) {
    if (!cellPasses(context, cells, cell)) {
      continue;
    }
    const name = context.log.name(cells.function(cell));
    let sum = sums.get(name);
    if (sum === undefined) {
      sum = {
        name,
        executions: 0,
        total: 0,
        byActivity: new Float64Array(ACTIVITIES.length)
      };
      sums.set(name, sum);
    }
    sum.executions += cells.executions(cell);
    for (let activity = 0; activity < ACTIVITIES.length; activity++) {
      const value = valueOf(cells, cell, activity, waits, unit);
      sum.byActivity[activity]! += value;
      sum.total += value;
    }
  }
  return [...sums.values()].sort(
    (a, b) => b.total - a.total || (a.name < b.name ? -1 : 1)
  );
}

function named(values: Float64Array): ActivitySeconds {
  const activities: Record<string, number> = {};
  values.forEach((value, activity) => {
    if (value !== 0) {
      activities[ACTIVITIES[activity]!] = value;
    }
  });
  return activities;
}

function activityRows(
  byActivity: Float64Array,
  idle: IdleAccount,
  unit: Unit,
  share: (value: number) => number | null
): FineMetricsResult['byActivity'] {
  const rows = ACTIVITIES.map((activity, i) => ({
    activity: activity as string,
    value: byActivity[i]!,
    share: share(byActivity[i]!)
  }));
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
  let executions = 0;
  let total = 0;
  for (const sum of rest) {
    executions += sum.executions;
    total += sum.total;
    sum.byActivity.forEach((value, i) => (byActivity[i]! += value));
  }
  return {
    functions: rest.length,
    executions,
    total,
    activities: named(byActivity)
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

/**
 * Exact sums for `client.fine_metrics`: each cell's, added up over spans. Those of context `execute` add up to the thread time; its activities
 * are Dask's.
 */
function entriesOf(
  context: FoldContext,
  cells: FineCells,
  waits: LockWaits,
  fine: FineSums
): NonNullable<FineMetricsResult['entries']> {
  const { log } = context;
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
        const ns = waits.nanoseconds(from, cell, i);
        if (OFF_CORE.includes(i)) {
          book([where, fn, ACTIVITIES[THREAD_NONCPU]!, 'seconds'], ns);
          book(['noncpu', fn, activity, 'seconds'], ns);
        } else {
          book([where, fn, activity, 'seconds'], ns);
        }
        book([where, fn, activity, 'bytes'], from.bytes(cell, i));
        book([where, fn, activity, 'count'], countOf(from, cell, i));
      });
    }
  }
  return [
    ...[...sums.values()]
      .filter(({ value }) => value !== 0)
      .map(({ key, value }) => {
        const [where, fn, activity, unit] = key;
        const shown = unit === 'seconds' ? value / 1e9 : value;
        return [where, fn, activity, unit, shown] as const;
      }),
    ...fineEntries(context, fine)
  ];
}

type EntryKey = readonly [string, string, string, string];

/** Sums that workers measured outside tasks, or users with meters of their own, unchanged. */
function fineEntries(
  { log, filter }: FoldContext,
  fine: FineSums
): (readonly [string, string, string, string, number])[] {
  const sums = new Map<string, { ids: readonly number[]; value: number }>();
  for (const row of fine.all()) {
    if (isLockWait(log, row.context) || !passesFineRow(filter, row)) {
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
