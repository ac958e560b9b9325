import { countOption, type RunOptions } from './run';

/**
 * Checks options for mistakes that only programs without types can make. Options that a scheduler does not have are ignored, so that
 * another can take its place.
 *
 * @throws TypeError for a cache without one of its methods, or a signal that is none; RangeError for workers that are no count, also from
 * `getSync`, which has one whatever it is told.
 */
export function checkRunOptions({
  cache,
  signal,
  numWorkers
}: RunOptions & { readonly numWorkers?: number }): void {
  countOption('numWorkers', numWorkers, 1);
  if (cache !== undefined) {
    for (const method of ['get', 'set', 'delete', 'has'] as const) {
      if (typeof cache[method] !== 'function') {
        throw new TypeError(`A cache needs a method '${method}'.`);
      }
    }
  }
  if (signal !== undefined && typeof signal.throwIfAborted !== 'function') {
    throw new TypeError(
      'The option signal is an AbortSignal, such as that of an AbortController.'
    );
  }
}
