import { warn } from '../warning';
import { NoObserverError } from './connections';

/** What `begin` gives. Null if there is no JupyterLab to show anything: a warning says so, and everything computes as ever. */
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
