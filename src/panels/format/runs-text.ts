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
