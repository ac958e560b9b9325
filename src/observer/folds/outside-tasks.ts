import { NONE_U32 } from '../../records/enumerations';
import type { FineMetricsResult } from '../../wire/panel-link';
import { passesFineRow } from '../filter';
import { type FineSums, IN_TASKS } from '../store/fine-sums';
import type { FoldContext } from './context';
import { isLockWait } from './lock-waits';

/** Transfers once more, by request, where parts have them by task; and what tasks did. */
const NOT_OUTSIDE: readonly string[] = ['gather-dep', IN_TASKS];
/** What tasks did for a shuffle: context `execute` has it too. */
const SHUFFLE_IN_TASKS = ['p2p', 'foreground'] as const;

/** null: not measured. */
type Sum = {
  seconds: number | null;
  bytes: number | null;
  count: number | null;
};

/** What workers did outside tasks (serving peers, spilling in the background), by "context, activity". */
export function outsideTasks(
  { log, filter }: FoldContext,
  fine: FineSums
): FineMetricsResult['background'] {
  const sums = new Map<string, Sum>();
  for (const row of fine.all()) {
    if (!isOutside(log, row) || !passesFineRow(filter, row)) {
      continue;
    }
    const where = log.name(row.context);
    const activity = log.name(row.activity);
    const name = where === activity ? activity : `${where}: ${activity}`;
    const sum = sums.get(name) ?? {
      seconds: null,
      bytes: null,
      count: null
    };
    sums.set(name, sum);
    const unit = log.name(row.unit);
    if (unit === 'seconds' || unit === 'bytes' || unit === 'count') {
      sum[unit] = (sum[unit] ?? 0) + row.value;
    }
  }
  return [...sums].map(([activity, sum]) => ({ activity, ...sum }));
}

/** Whether the filter leaves out something of it: that is of no span, function or status. */
export function hidesOutside(
  { log, filter }: FoldContext,
  fine: FineSums
): boolean {
  if (filter.outsideTasks === 1) {
    return false;
  }
  for (const row of fine.all()) {
    if (row.function === NONE_U32 && isOutside(log, row)) {
      return true;
    }
  }
  return false;
}

function isOutside(
  log: FoldContext['log'],
  row: { readonly context: number; readonly function: number }
): boolean {
  const where = log.name(row.context);
  return !(
    isLockWait(log, row.context) ||
    NOT_OUTSIDE.includes(where) ||
    (where === SHUFFLE_IN_TASKS[0] &&
      log.name(row.function) === SHUFFLE_IN_TASKS[1])
  );
}
