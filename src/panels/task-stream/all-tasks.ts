/** All tasks of a selection, page by page, for a file. */
import type { RunDetail, TasksResult } from '../../wire/panel-link';

/** A trace of so many is some 30 MB: about what a page makes and a viewer opens within seconds. */
export const MOST_TASKS = 50_000;
const PAGE_ROWS = 500;

/** There are more than a file holds. */
export class TooManyTasks extends Error {
  constructor(readonly total: number) {
    super(`${total} tasks`);
  }
}

/**
 * Those that were known at the beginning, in the order of their start. Tasks that end meanwhile have their places among these and move others
 * to later pages, so that some come twice:
 *
 *     page 1   a b c d │ e f        a, b, c, d
 *     page 2   a b N c │ d e f      d again, e, f; N ended later than `until`, and is left out
 *
 * @param ask - for one page.
 * @param until - seconds: the time of the first question.
 * @param onPage - how much is here, 0…1; it may throw to end the series.
 */
export async function allTasks(
  ask: (page: { offset: number; limit: number }) => Promise<TasksResult>,
  until: number,
  onPage: (share: number) => void
): Promise<RunDetail[]> {
  const found = new Map<number, RunDetail>();
  let offset = 0;
  for (;;) {
    const { rows, total } = await ask({ offset, limit: PAGE_ROWS });
    if (total > MOST_TASKS) {
      throw new TooManyTasks(total);
    }
    for (const row of rows) {
      if (row.start + row.duration <= until) {
        found.set(row.run, row);
      }
    }
    offset += rows.length;
    onPage(total === 0 ? 1 : Math.min(1, offset / total));
    if (rows.length === 0 || offset >= total) {
      return [...found.values()];
    }
  }
}
