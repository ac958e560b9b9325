import type { LogStore } from '../store/log-store';
import type { Slices } from './context';

/** Folding comes after 2,048 new spans, so a question that meets it three times is a long one: better some spans' figures divided wrongly than none. */
const MOST_BEGINNINGS = 3;

/**
 * Slices that begin again when spans are folded before they are over: a filter that was compiled before lets the rows of a folded span pass
 * until it is folded, and then no longer.
 */
export function* restartedByFolding<R>(
  log: LogStore,
  begin: () => Slices<R>
): Slices<R> {
  for (let begun = 1; ; begun++) {
    const { spanFolds } = log;
    const isWhole = (): boolean =>
      log.spanFolds === spanFolds || begun === MOST_BEGINNINGS;
    const slices = begin();
    let step = slices.next();
    while (step.done !== true && isWhole()) {
      yield;
      step = slices.next();
    }
    if (step.done === true && isWhole()) {
      return step.value;
    }
  }
}
