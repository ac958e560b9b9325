import type { FineMetricsResult } from '../../wire/panel-link';
import type { ParamsOf } from '../../wire/question';
import { passesFineRow } from '../filter';
import { ACTIVITIES } from '../store/activity-cells';
import { type FineSums, IN_TASKS } from '../store/fine-sums';
import { backgroundOf } from './background';
import {
  resolveRange,
  type FoldContext,
  type Honoured,
  type Slices
} from './context';
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
import { honouredBy, whyNotKnown } from './honoured';
import { accountIdle, IDLE_CAUSES, type IdleAccount } from './idle';
import { idleFigures } from './idle-figures';
import { notesOf } from './missing-notes';
import { hidesOutside, outsideTasks } from './outside-tasks';

/** The other parts of a task are in the sums already. */
const BEHIND: readonly string[] = ['transfer'];
const activityIndex = new Map<string, number>(
  ACTIVITIES.map((activity, i) => [activity, i])
);

/** A figure of tasks as their cluster adds it up. */
type Told = {
  readonly function: string;
  readonly activity: string;
  readonly unit: string;
  readonly value: number;
  readonly passes: boolean;
};

/**
 * Fine metrics of a log whose cluster itself adds up what its tasks took (Dask: from when the worker takes a task up until its result is
 * stored), and tells the sums by span and function. From the runs come executions, transfers and idle time alone:
 *
 *     thread         · ▒▒▒▒ │████ run ████│ ▒▒▒ │███          idle: ▒, by start and stop
 *     told         ├ other ─┼─ thread-cpu … ┼ other ┤          so idle and these seconds overlap, and their sum is nobody's
 */
export function* foldToldMetrics(
  context: FoldContext,
  params: ParamsOf<'fine-metrics'>
): Slices<{ readonly result: FineMetricsResult; readonly honoured: Honoured }> {
  const { log } = context;
  const range = resolveRange(context);
  const idling = accountIdle({
    context,
    range,
    perSpan: false,
    names: true
  });
  const ever = secondsOf(toldOf(context, log.fineSums));
  const fine = yield* fineSums(context);
  const notKnown = whyNotKnown(context);
  // Where these are the log's own, they are read before the next break; so are the cells below.
  const all = notKnown === '' ? [...toldOf(context, fine)] : [];
  const outside = outsideTasks(context, fine);
  const outsideHidden = hidesOutside(context, fine);
  const outsideEntries = fineEntries(context, fine);
  const cells = yield* fineCells(context);
  const told = all.filter(({ passes }) => passes);
  const units = [...new Set([...UNITS, ...told.map(({ unit }) => unit)])];
  const unit = units.find(known => known === params.unit) ?? 'seconds';
  const byFunction = sumByFunction(context, told, cells, unit);
  const top = topOf(params.top);
  poolLabels(byFunction, top);
  const background = backgroundOf(context, cells.background, BEHIND);
  const book =
    params.entries === true ? bookOf(context, told, cells) : undefined;
  const notes = book === undefined ? [] : notesOf(context, range);
  const seconds = secondsOf(told);
  const allSeconds = secondsOf(all);
  const hidden = Math.max(0, ever - seconds);
  const whole =
    unit === 'seconds'
      ? allSeconds
      : totalOf(byFunction.map(({ total }) => total));
  const idle = yield* idling;
  const share = (value: number): number | null =>
    whole > 0 ? value / whole : null;
  return {
    result: {
      view: 'fine-metrics',
      account: 'told',
      ...(notKnown === '' ? {} : { notKnown }),
      unit,
      units: units.slice(0, MOST_UNITS),
      ...idleFigures(log, idle),
      byActivity: activityRows(byFunction, share),
      byFunction: byFunction
        .slice(0, top)
        .map(sum => functionRow(log.slots, sum, share)),
      others: othersOf(byFunction.slice(top)),
      background: [...background, ...outside],
      ...(outsideHidden && { outsideHidden }),
      wholeSeconds: seconds,
      runningSeconds: idle.runningSeconds,
      otherSpansSeconds: Math.max(0, allSeconds - seconds),
      hiddenSeconds: hidden,
      gilErrorSeconds: 0,
      attributedNanoseconds: Math.round(seconds * 1e9),
      totalNanoseconds: Math.round(allSeconds * 1e9),
      ...(book === undefined
        ? {}
        : entriesOf(book, idle, outsideEntries, [
            ...(notKnown === '' ? [] : [notKnown]),
            ...notes
          ]))
    },
    honoured: honouredBy('fine-metrics: told', context)
  };
}

function* toldOf(
  { log, filter }: FoldContext,
  fine: FineSums
): Generator<Told> {
  for (const row of fine.all()) {
    if (log.name(row.context) === IN_TASKS) {
      yield {
        function: log.name(row.function),
        activity: log.name(row.activity),
        unit: log.name(row.unit),
        value: row.value,
        passes: passesFineRow(filter, row)
      };
    }
  }
}

function secondsOf(told: Iterable<Told>): number {
  return totalOf(
    [...told].filter(({ unit }) => unit === 'seconds').map(({ value }) => value)
  );
}

/** Largest first. */
function sumByFunction(
  context: FoldContext,
  told: readonly Told[],
  { held }: FineCells,
  unit: string
): FunctionSum[] {
  const sums = new FunctionSums();
  for (const each of told) {
    if (each.unit === unit) {
      const sum = sums.of(each.function);
      const activity = activityIndex.get(each.activity);
      if (activity === undefined) {
        addTo(sum.byLabel, each.activity, each.value);
      } else {
        sum.byActivity[activity]! += each.value;
      }
      sum.total += each.value;
    }
  }
  for (let cell = 0; cell < held.length; cell++) {
    if (cellPasses(context, held, cell)) {
      // (what has just run is told later)
      const sum = sums.get(context.log.name(held.function(cell)));
      if (sum !== undefined) {
        sum.executions += held.executions(cell);
      }
    }
  }
  return sums.sorted();
}

function bookOf(
  context: FoldContext,
  told: readonly Told[],
  { background }: FineCells
): EntryBook {
  const { log } = context;
  const book = new EntryBook();
  for (const { function: fn, activity, unit, value } of told) {
    book.addOwn([IN_TASKS, fn, activity, unit], value);
  }
  for (let cell = 0; cell < background.length; cell++) {
    if (cellPasses(context, background, cell)) {
      const fn = log.name(background.function(cell));
      for (const activity of BEHIND) {
        const i = activityIndex.get(activity)!;
        const seconds = background.nanoseconds(cell, i) / 1e9;
        book.add(['background', fn, activity, 'seconds'], seconds);
        book.add(
          ['background', fn, activity, 'count'],
          background.events(cell, i)
        );
      }
    }
  }
  return book;
}

/** As those of runs, but that idle time stands apart: it is no rest of these seconds. */
function entriesOf(
  book: EntryBook,
  idle: IdleAccount,
  outside: ReturnType<typeof fineEntries>,
  missing: readonly string[]
): Required<Pick<FineMetricsResult, 'entries' | 'notes'>> {
  IDLE_CAUSES.forEach((cause, i) => {
    book.add(['idle', IDLE_ENTRY[0], cause, 'seconds'], idle.selectedIdle[i]!);
  });
  return {
    entries: [...book.entries(value => value), ...outside],
    notes: book.isFull ? [TOO_MANY, ...missing] : missing
  };
}
