import { type Key, keyText } from '../graph/key';

/** Keys named in a message; the error's `keys` has all. */
const NAMED = 5;

/**
 * A worker ended while it ran a task: the task called `process.exit`, ran out of memory, was killed. The pool starts another one.
 *
 * @group Errors
 * @example
 * ```ts
 * import { getThreads, task, WorkerEndedError } from 'spanwise';
 *
 * try {
 *   await getThreads({ a: task(() => process.exit(3)) }, 'a');
 * } catch (error) {
 *   if (error instanceof WorkerEndedError) {
 *     console.log(error.keys); // → [ 'a' ]
 *   }
 * }
 * ```
 */
export class WorkerEndedError extends Error {
  /** The class's name. */
  override readonly name = 'WorkerEndedError';
  /** What it was running: one task, or those of which one was running. */
  readonly keys: readonly Key[];

  constructor(message: string, keys: readonly Key[], cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.keys = keys;
  }
}

export function namesOf(keys: readonly Key[]): string {
  const named = keys.slice(0, NAMED).map(keyText).join(', ');
  return keys.length > NAMED
    ? `${named} and ${keys.length - NAMED} more`
    : named;
}
