import type { Trans } from '../../base/trans';
import { formatCount } from './count';

/** "40 task runs": a task that was tried four times has run four times. */
export function taskRunsText(
  count: number,
  trans: Trans,
  figure = formatCount(count)
): string {
  return trans._n('%2\u00a0task run', '%2\u00a0task runs', count, figure);
}

/** "8 running", "8 running, 3 of them cancelled", "2 cancelled, still running" of cancelled ones alone: their code goes on. */
export function runningText(
  count: number,
  cancelled: number | undefined,
  trans: Trans
): string {
  if (cancelled === undefined || cancelled === 0) {
    return trans.__('%1 running', formatCount(count));
  }
  return cancelled === count
    ? trans.__('%1 cancelled, still running', formatCount(count))
    : trans.__(
        '%1 running, %2 of them cancelled',
        formatCount(count),
        formatCount(cancelled)
      );
}

/** "12 executions" of functions: of the parts of a fused task each is one. */
export function executionsText(
  count: number,
  trans: Trans,
  figure = formatCount(count)
): string {
  return trans._n('%2\u00a0execution', '%2\u00a0executions', count, figure);
}

/**
 * "15 failed runs of 3 tasks": most of them were tried again.
 *
 * @param tasks - undefined: by an observer that does not tell it.
 */
export function failedRunsText(
  runs: number,
  tasks: number | undefined,
  trans: Trans
): string {
  return tasks === undefined || runs === 1
    ? trans._n(
        '%2\u00a0failed run',
        '%2\u00a0failed runs',
        runs,
        formatCount(runs)
      )
    : trans._n(
        '%3\u00a0failed runs of %2\u00a0task',
        '%3\u00a0failed runs of %2\u00a0tasks',
        tasks,
        formatCount(tasks),
        formatCount(runs)
      );
}

/**
 * What failed: "15 failed runs of 3 tasks", "2 failed tasks" where no run of them did, as of tasks that ended each worker that ran them, or both:
 * "1 failed run · 1 task failed otherwise".
 */
export function failedText(
  {
    failed,
    failedTasks,
    failedUnrun
  }: {
    /** Runs, and the tasks of `failedUnrun`. */
    readonly failed: number;
    readonly failedTasks: number | undefined;
    readonly failedUnrun: number;
  },
  trans: Trans
): string {
  const runs = failed - failedUnrun;
  const figure = formatCount(failedUnrun);
  if (runs <= 0) {
    return trans._n(
      '%2\u00a0failed task',
      '%2\u00a0failed tasks',
      failedUnrun,
      figure
    );
  }
  const text = failedRunsText(runs, failedTasks, trans);
  // (one of these may be a task whose failed run was tried again)
  return failedUnrun === 0
    ? text
    : trans._n(
        '%3 · %2\u00a0task failed otherwise',
        '%3 · %2\u00a0tasks failed otherwise',
        failedUnrun,
        figure,
        text
      );
}
