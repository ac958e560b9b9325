import type { FineMetricsResult } from '../../wire/panel-link';
import { passesFunction } from '../filter';
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
import {
  resolveRange,
  type FoldContext,
  type Honoured,
  type Slices
} from './context';
import { backgroundOf } from './background';
import { besideOf, besideSeconds, type BesideSums } from './beside-seconds';
import { cellPasses, fineCells, type FineCells } from './fine-cells';
import { EntryBook, fineEntries, IDLE_ENTRY, TOO_MANY } from './fine-entries';
import { fineSums } from './fine-rows';
import {
  activityRows,
  addTo,
  functionRow,
  type FunctionSum,
  FunctionSums,
  MOST_UNITS,
  othersOf,
  poolLabels,
  topOf,
  totalOf,
  UNITS
} from './function-sums';
import { hasMeters, honouredBy, type Exception } from './honoured';
import { accountIdle, IDLE_CAUSES, type IdleAccount } from './idle';
import { idleFigures } from './idle-figures';
import { LockWaits } from './lock-waits';
import { notesOf } from './missing-notes';
import { hidesOutside, outsideTasks } from './outside-tasks';
import { ThreadAccount } from './thread-account';
import { foldToldMetrics } from './told-metrics';
import type { ParamsOf } from '../../wire/question';

/**
 * Where the thread time went: by activity, by function, and what was idle; docs/measures.md says how each figure is made.
 */
export function* foldFineMetrics(
  context: FoldContext,
  params: ParamsOf<'fine-metrics'>
): Slices<{ readonly result: FineMetricsResult; readonly honoured: Honoured }> {
  const { log, filter } = context;
  if (log.hasTaskSums) {
    return yield* foldToldMetrics(context, params);
  }
  const range = resolveRange(context);
  const idling = accountIdle({
    context,
    range,
    perSpan: false,
    names: true
  });
  const fine = yield* fineSums(context);
  // Where it is the log's own, it is read before the next break; so are the cells below.
  const known = new LockWaits(log, fine);
  const outside = outsideTasks(context, fine);
  const outsideHidden = hidesOutside(context, fine);
  const outsideEntries = fineEntries(context, fine);
  const cells = yield* fineCells(context);
  const units = [...new Set([...UNITS, ...unitsOf(context, cells.meters)])];
  const unit = units.find(known => known === params.unit) ?? 'seconds';
  // Workers report waits for the GIL for all runs together: the share of one status is not known, so under a filter by status blocked time
  // is not divided.
  const waits = filter.byStatus ? new LockWaits(log, new FineSums()) : known;
  const account = new ThreadAccount(cells.held, waits, cells.meters, name =>
    log.name(name)
  );
  const byFunction = sumByFunction(context, cells, account, unit);
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
  const top = topOf(params.top);
  poolLabels(byFunction, top);
  const background = backgroundOf(context, cells.background);
  const { totalNanoseconds } = cells;
  const book =
    params.entries === true ? bookOf(context, cells, account) : undefined;
  const notes = book === undefined ? [] : notesOf(context, range);
  const beside: BesideSums =
    unit === 'seconds'
      ? yield* besideSeconds(context, context.time === 'all' ? null : range)
      : new Map();
  const idle = yield* idling;
  const wholeSeconds =
    filter.bySpan || filter.byFunction || filter.byStatus
      ? attributedNanoseconds / 1e9 -
        totalOf(Object.values(besideOf(beside, beside.keys()) ?? {})) +
        idle.runningSeconds +
        totalOf(idle.selectedIdle)
      : idle.capacitySeconds;
  const whole =
    unit === 'seconds'
      ? idle.capacitySeconds
      : totalOf(byFunction.map(({ total }) => total));
  const share = (value: number): number | null =>
    whole > 0 ? value / whole : null;
  return {
    result: {
      view: 'fine-metrics',
      unit,
      units: units.slice(0, MOST_UNITS),
      ...idleFigures(log, idle),
      byActivity: [
        ...activityRows(byFunction, share),
        ...(unit === 'seconds' ? idleRows(idle, share) : [])
      ],
      byFunction: byFunction.slice(0, top).map(sum => ({
        ...functionRow(log.slots, sum, share),
        ...besideField(beside, [sum.name])
      })),
      others: othersWith(byFunction.slice(top), beside),
      ...besideField(beside, beside.keys()),
      background: [...background, ...outside],
      ...(outsideHidden && { outsideHidden }),
      wholeSeconds,
      runningSeconds: idle.runningSeconds,
      otherSpansSeconds: (totalNanoseconds - attributedNanoseconds) / 1e9,
      gilErrorSeconds: gilErrorNanoseconds / 1e9,
      attributedNanoseconds,
      totalNanoseconds,
      ...(book === undefined
        ? {}
        : entriesOf(book, idle, outsideEntries, notes))
    },
    honoured: honouredBy('fine-metrics', context, exceptions)
  };
}

/** Left out where nothing is. */
function besideField(
  sums: BesideSums,
  functions: Iterable<string>
): Pick<FineMetricsResult, 'beside'> {
  const beside = besideOf(sums, functions);
  return beside === undefined ? {} : { beside };
}

function othersWith(
  rest: readonly FunctionSum[],
  sums: BesideSums
): FineMetricsResult['others'] {
  const others = othersOf(rest);
  return others === null
    ? null
    : {
        ...others,
        ...besideField(
          sums,
          rest.map(({ name }) => name)
        )
      };
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

/** Largest first. */
function sumByFunction(
  context: FoldContext,
  { held: cells, meters }: FineCells,
  account: ThreadAccount,
  unit: string
): FunctionSum[] {
  const { log } = context;
  const sums = new FunctionSums();
  for (let cell = 0; cell < cells.length; cell++) {
    if (!cellPasses(context, cells, cell)) {
      continue;
    }
    const sum = sums.of(log.name(cells.function(cell)));
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
        const sum = sums.of(beside.function);
        addTo(sum.byLabel, beside.label, beside.value);
        sum.total += beside.value;
      }
    }
  }
  return sums.sorted();
}

function idleRows(
  idle: IdleAccount,
  share: (value: number) => number | null
): FineMetricsResult['byActivity'] {
  return IDLE_CAUSES.map((cause, i) => {
    const value = idle.selectedIdle[i]!;
    return { activity: `idle:${cause}`, value, share: share(value) };
  }).filter(({ value }) => value !== 0);
}

/** The activities that Dask calls `thread-noncpu`; context `noncpu` lists them one by one. */
const OFF_CORE: readonly number[] = [CORE, GIL, BLOCKED];

/**
 * Exact sums for `client.fine_metrics`: each cell's, added up over spans. Those of context `execute` add up to the thread time and what was
 * idle, which comes later; its activities are Dask's, and the labels of users. Context `user` has seconds that tasks told beyond their
 * runs' time.
 */
function bookOf(
  context: FoldContext,
  cells: FineCells,
  account: ThreadAccount
): EntryBook {
  const { log } = context;
  const book = new EntryBook();
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
          book.add([where, fn, ACTIVITIES[THREAD_NONCPU]!, 'seconds'], ns);
          book.add(['noncpu', fn, activity, 'seconds'], ns);
        } else {
          book.add([where, fn, activity, 'seconds'], ns);
        }
        book.add([where, fn, activity, 'bytes'], from.bytes(cell, i));
        book.add([where, fn, activity, 'count'], countOf(from, cell, i));
      });
      if (from === cells.held) {
        for (const [label, ns] of account.labels(cell)) {
          book.addOwn([where, fn, log.name(label), 'seconds'], ns);
        }
      }
    }
  }
  for (const beside of measuredBeside(context, cells.meters)) {
    const isSeconds = beside.unit === 'seconds';
    book.addOwn(
      [
        isSeconds ? 'user' : 'execute',
        beside.function,
        beside.label,
        beside.unit
      ],
      isSeconds ? beside.value * 1e9 : beside.value
    );
  }
  return book;
}

function entriesOf(
  book: EntryBook,
  idle: IdleAccount,
  outside: ReturnType<typeof fineEntries>,
  missing: readonly string[]
): Required<Pick<FineMetricsResult, 'entries' | 'notes'>> {
  IDLE_CAUSES.forEach((cause, i) => {
    const ns = idle.selectedIdle[i]! * 1e9;
    book.add(['execute', ...IDLE_ENTRY, 'seconds'], ns);
    book.add(['idle', IDLE_ENTRY[0], cause, 'seconds'], ns);
  });
  const entries = [
    ...book.entries((value, unit) =>
      unit === 'seconds' ? value / 1e9 : value
    ),
    ...outside
  ];
  return { entries, notes: book.isFull ? [TOO_MANY, ...missing] : missing };
}
