import type { FineMetricsResult } from '../../wire/panel-link';
import type { FoldContext, Range } from './context';
import { isLockWait } from './lock-waits';

type Sum = { seconds: number; bytes: number; count: number };

/**
 * What workers did outside tasks (serving peers, spilling in the background), by "context, activity". Rows are per whole second: a range
 * takes those whose second reaches into it.
 */
export function outsideTasks(
  context: FoldContext,
  range: Range
): FineMetricsResult['background'] {
  const { log, filter, time } = context;
  const sums = new Map<string, Sum>();
  const meaning = new Map<number, boolean>();
  for (const chunk of log.fine.chunks) {
    const columns = chunk.columns;
    for (let i = 0; i < chunk.rows; i++) {
      if (isLockWait(log, meaning, columns.context[i]!)) {
        continue;
      }
      const second = columns.second[i]!;
      if (time !== 'all' && (second + 1 <= range.from || second >= range.to)) {
        continue;
      }
      if (
        filter.spans[columns.span[i]!] === 0 ||
        filter.workers[columns.worker[i]!] === 0
      ) {
        continue;
      }
      const where = log.name(columns.context[i]!);
      const activity = log.name(columns.activity[i]!);
      const name = where === activity ? activity : `${where}: ${activity}`;
      const sum = sums.get(name) ?? { seconds: 0, bytes: 0, count: 0 };
      sums.set(name, sum);
      const unit = log.name(columns.unit[i]!);
      if (unit === 'seconds' || unit === 'bytes' || unit === 'count') {
        sum[unit] += columns.value[i]!;
      }
    }
  }
  return [...sums].map(([activity, sum]) => ({ activity, ...sum }));
}
