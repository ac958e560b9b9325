import type { Trans } from '../../base/trans';
import { formatCount } from './count';

/**
 * How many workers there are, and the number in that. Of an observation the first is the program that hands out the tasks, and runs those
 * that no pool of processes does: it is none of the processes that its user has asked for. A part of an observation may be without it.
 */
export function processesText(
  workers: number,
  of: 'cluster' | 'observation' | 'part of an observation',
  trans: Trans
): { readonly text: string; readonly figure: string } {
  const processes = of === 'observation' ? Math.max(0, workers - 1) : workers;
  const figure = formatCount(processes);
  if (of === 'cluster') {
    const text = trans._n('%2\u00a0worker', '%2\u00a0workers', workers, figure);
    return { text, figure };
  }
  if (of === 'part of an observation') {
    const text = trans._n(
      '%2\u00a0process',
      '%2\u00a0processes',
      workers,
      figure
    );
    return { text, figure };
  }
  return processes === 0
    ? { text: trans.__('main program'), figure: '' }
    : {
        text: trans._n(
          '%2\u00a0process and the main program',
          '%2\u00a0processes and the main program',
          processes,
          figure
        ),
        figure
      };
}
