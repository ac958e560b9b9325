import type { ActivitySeconds, FineMetricsResult } from '../../wire/panel-link';
import { OTHER_TASKS } from '../../records/enumerations';
import { ACTIVITIES } from '../store/activity-cells';
import type { FunctionSlots } from '../function-slots';

/**
 * A task may make up a label of each of its inputs, and an answer must fit in one message of the panel link: so many labels and units are
 * named, and so many characters of labels over all rows; the figures of the others are added up under one label.
 */
const MOST_LABELS = 100;
export const MOST_UNITS = 32;
const LABEL_CHARACTERS = 200_000;
export const ENTRY_CHARACTERS = 250_000;
/** About as long as a figure. */
export const FIGURE_CHARACTERS = 12;
/** Also what workers call names for which they have no room. */
export const OTHER_LABELS = '(others)';
/** Those of activities; what tasks measure themselves may have any. */
export const UNITS: readonly string[] = ['seconds', 'bytes', 'count'];

const DEFAULT_TOP = 12;
const MOST_TOP = 500;

/** One function's figures in the unit asked for. */
export type FunctionSum = {
  readonly name: string;
  executions: number;
  total: number;
  readonly byActivity: Float64Array;
  /** What has no place among the activities, such as what the function measured itself. */
  byLabel: Map<string, number>;
};

/** Figures by function. Names that several ids share are one function. */
export class FunctionSums {
  private readonly _sums = new Map<string, FunctionSum>();

  of(name: string): FunctionSum {
    let sum = this._sums.get(name);
    if (sum === undefined) {
      sum = {
        name,
        executions: 0,
        total: 0,
        byActivity: new Float64Array(ACTIVITIES.length),
        byLabel: new Map()
      };
      this._sums.set(name, sum);
    }
    return sum;
  }

  get(name: string): FunctionSum | undefined {
    return this._sums.get(name);
  }

  /** Largest first. */
  sorted(): FunctionSum[] {
    return [...this._sums.values()].sort(
      (a, b) => b.total - a.total || (a.name < b.name ? -1 : 1)
    );
  }
}

export function addTo(
  sums: Map<string, number>,
  name: string,
  value: number
): void {
  sums.set(name, (sums.get(name) ?? 0) + value);
}

export function totalOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** How many functions an answer has beside the sum of the others. */
export function topOf(asked: number | undefined): number {
  return Math.min(MOST_TOP, Math.max(1, asked ?? DEFAULT_TOP));
}

/** Adds up the smaller labels of all functions where there are too many. */
export function poolLabels(
  byFunction: readonly FunctionSum[],
  top: number
): void {
  const sizes = new Map<string, number>();
  for (const { byLabel } of byFunction) {
    byLabel.forEach((value, label) => addTo(sizes, label, Math.abs(value)));
  }
  const shown = new Set<string>();
  if (sizes.has(OTHER_TASKS)) {
    // (an activity of threads, whatever else is told)
    shown.add(OTHER_TASKS);
  }
  // (rows of functions, that of the others, and that of all)
  let room = LABEL_CHARACTERS / (top + 2);
  for (const [label] of [...sizes].sort(([, a], [, b]) => b - a)) {
    const needed = label.length + FIGURE_CHARACTERS;
    // (no message may have __proto__ for a key)
    if (shown.has(label)) {
      room -= needed;
    } else if (
      shown.size < MOST_LABELS &&
      needed <= room &&
      label !== '__proto__'
    ) {
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

export function functionRow(
  slots: FunctionSlots,
  sum: FunctionSum,
  share: (value: number) => number | null
): FineMetricsResult['byFunction'][number] {
  return {
    function: sum.name,
    ...slots.of(sum.name),
    executions: sum.executions,
    total: sum.total,
    share: share(sum.total),
    activities: named(sum)
  };
}

/** What all functions have of each activity and label, in drawing order. */
export function activityRows(
  byFunction: readonly FunctionSum[],
  share: (value: number) => number | null
): { activity: string; value: number; share: number | null }[] {
  const byActivity = new Float64Array(ACTIVITIES.length);
  const byLabel = new Map<string, number>();
  for (const sum of byFunction) {
    sum.byActivity.forEach((value, a) => (byActivity[a]! += value));
    sum.byLabel.forEach((value, label) => addTo(byLabel, label, value));
  }
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
  return rows.filter(({ value }) => value !== 0);
}

/** The functions that an answer does not name, added up. */
export function othersOf(
  rest: readonly FunctionSum[]
): FineMetricsResult['others'] {
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
