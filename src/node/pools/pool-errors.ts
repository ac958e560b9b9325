import { type Key, keyText } from '../graph/key';
import type { PoolWorker } from './pool-worker';
import type { WorkerEnd } from './worker-transport';

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
  /** The task that it was running; several if only one of them was, and it is not known which. */
  readonly keys: readonly Key[];

  constructor(message: string, keys: readonly Key[], cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.keys = keys;
  }
}

/** @param keys - of the tasks that the worker may have been running */
export function workerEnded(
  { isReady, transport }: PoolWorker,
  end: WorkerEnd,
  keys: readonly Key[]
): WorkerEndedError {
  // Errors of another realm are no `instanceof Error`.
  const detail = (end.error as Error | undefined)?.message;
  const how = `${transport.label} ${end.how}`;
  const reason = detail === undefined ? how : `${how}: ${detail}`;
  const message = !isReady
    ? `A worker could not start (${reason}).`
    : keys.length === 0
      ? `Workers keep ending before they run anything (${reason}).`
      : keys.length === 1
        ? `The worker that ran ${namesOf(keys)} is gone (${reason}).`
        : `The worker that ran one of ${namesOf(keys)} is gone (${reason}).`;
  return new WorkerEndedError(message, keys, end.error);
}

/** @param error - what starting a worker threw */
export function workerNotStarted(error: unknown): WorkerEndedError {
  return new WorkerEndedError(
    `A worker could not start (${(error as Error).message}).`,
    [],
    error
  );
}

function namesOf(keys: readonly Key[]): string {
  const named = keys.slice(0, NAMED).map(keyText).join(', ');
  return keys.length > NAMED
    ? `${named} and ${keys.length - NAMED} more`
    : named;
}
