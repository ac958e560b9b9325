import { FineSums } from '../store/fine-sums';
import {
  resolveRange,
  ROWS_PER_SLICE,
  type FoldContext,
  type Slices
} from './context';

/**
 * The rows of `fine` that the filter's workers and the range let pass, added up; spans and functions are told apart by the sums.
 *
 * For the whole run there are the log's own sums, which forget nothing; a range of time or a choice of workers needs a scan of the rows
 * that are kept. Rows are per whole second: a row counts if its second reaches into the range. As {@link fineCells}, the log's own sums go on.
 */
export function* fineSums(context: FoldContext): Slices<FineSums> {
  const { log, filter, time, moment } = context;
  if (time === 'all' && !filter.byWorker) {
    return log.fineSums;
  }
  const { from, to } =
    time === 'all' ? { from: -Infinity, to: Infinity } : resolveRange(context);
  const sums = new FineSums();
  for (const { columns, rows } of log.fine.rowsBefore(moment.rows.fine)) {
    const { second, worker, context, activity, unit, span, value, ...rest } =
      columns;
    for (let first = 0; first < rows; first += ROWS_PER_SLICE) {
      const end = Math.min(rows, first + ROWS_PER_SLICE);
      for (let i = first; i < end; i++) {
        if (
          second[i]! + 1 > from &&
          second[i]! < to &&
          filter.workers[worker[i]!] === 1
        ) {
          sums.add(
            context[i]!,
            activity[i]!,
            unit[i]!,
            span[i]!,
            rest.function[i]!,
            value[i]!
          );
        }
      }
      yield;
    }
  }
  return sums;
}
