import type { LogStore } from '../store/log-store';
import type { Slices } from './context';

/** Folding comes after 2,048 new spans, so a question that meets it three times is a long one: better some spans' figures divided wrongly, and said so, than none. */
const MOST_BEGINNINGS = 3;

/**
 * Slices that begin again when spans are folded before they are over: a filter that was compiled before lets the rows of a folded span pass
 * until it is folded, and then no longer.
 *
 * @param divided - tells so in an answer that counted rows before and after spans were folded.
 */
export function* restartedByFolding<R>(
  log: LogStore,
  begin: () => Slices<R>,
  divided: (answer: R) => R
): Slices<R> {
  for (let begun = 1; ; begun++) {
    const { spanFolds } = log;
    const isWhole = (): boolean => log.spanFolds === spanFolds;
    const goesOn = (): boolean => isWhole() || begun === MOST_BEGINNINGS;
    const slices = begin();
    let step = slices.next();
    while (step.done !== true && goesOn()) {
      yield;
      step = slices.next();
    }
    if (step.done === true && goesOn()) {
      return isWhole() ? step.value : divided(step.value);
    }
  }
}
