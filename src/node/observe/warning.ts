import { warn } from '../warning';
import { NoObserverError } from './connections';

/** The result of `begin`, or null if there is no JupyterLab to show anything: then a warning says so, and everything computes as before. */
export function orUnobserved<T>(begin: () => T): T | null {
  try {
    return begin();
  } catch (error) {
    if (!(error instanceof NoObserverError)) {
      throw error;
    }
    warnUnobserved(error.message);
    return null;
  }
}

/** Tells the user that nothing is observed, and why. */
export function warnUnobserved(sentence: string): void {
  warn(`Computations run as ever, but nothing is observed: ${sentence}`);
}
