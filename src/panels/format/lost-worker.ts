import type { Trans } from '../../base/trans';
import { formatBytes } from './bytes';
import { workerLabel } from './legend-word';
import { formatMoment } from './point-in-time';
import { formatShare } from './share';

/** As of the observer's answers. */
type LostWorker = {
  readonly name: string;
  readonly t: number;
  readonly why: string;
  readonly process: number | null;
  readonly memoryLimit: number;
  readonly inOrder?: true;
};

/** "worker 1 was lost at 12.3 s. What is told of its end: “was ended by SIGKILL”. Its process last had 3.88 GiB, 97 % of its limit of 4.00 GiB." */
export function lostSentence(
  { name, t, why, process, memoryLimit, inOrder }: LostWorker,
  trans: Trans
): string {
  const label = workerLabel(name, trans);
  const at = formatMoment(t);
  const sentences = [
    inOrder === true
      ? trans.__('%1 left at %2.', label, at)
      : trans.__('%1 was lost at %2.', label, at)
  ];
  // (of a worker of Dask nothing else is known)
  if (why !== '' && why !== 'lost') {
    // The scheduler's words, which are English and may be a sentence or the end of one: none of another language has a place for them.
    sentences.push(trans.__('What is told of its end: “%1”.', why));
  }
  if (process !== null) {
    const held = formatBytes(process);
    sentences.push(
      memoryLimit > 0
        ? trans.__(
            'Its process last had %1, %2 of its limit of %3.',
            held,
            formatShare(process / memoryLimit),
            formatBytes(memoryLimit)
          )
        : trans.__('Its process last had %1, without a limit.', held)
    );
  }
  return sentences.join(' ');
}
