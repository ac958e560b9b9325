/** Ctrl-C during a run on workers ends the run, as an abort does; the second one, or one that finds no run, ends the program as ever. */
import { isMainThread } from 'node:worker_threads';

/**
 * The run in threads or processes was ended by Ctrl-C (SIGINT).
 *
 * @group Errors
 * @example
 * ```ts
 * import { getThreads, InterruptedError, task } from 'spanwise';
 *
 * const run = getThreads({ endless: task(() => { for (;;); }) }, 'endless');
 * process.kill(process.pid, 'SIGINT'); // as Ctrl-C does
 * try {
 *   await run;
 * } catch (error) {
 *   console.log(error instanceof InterruptedError && error.code); // → SIGINT
 * }
 * ```
 */
export class InterruptedError extends Error {
  /** The class's name. */
  override readonly name = 'InterruptedError';
  /** For programs that look at the `code` of errors. */
  readonly code = 'SIGINT';

  constructor() {
    super('The run was interrupted (SIGINT).');
  }
}

const ours = Symbol('spanwise.interrupt');
type Handler = (() => void) & { readonly [ours]?: true };

/**
 * Gives the body a signal that Ctrl-C aborts too. Programs with a SIGINT handler of their own decide for themselves what it means, and pass
 * a signal if it means the end of the run.
 */
export async function interruptible<R>(
  signal: AbortSignal | undefined,
  body: (signal: AbortSignal | undefined) => Promise<R>
): Promise<R> {
  const others = process
    .listeners('SIGINT')
    .some(handler => (handler as Handler)[ours] === undefined);
  if (others || !isMainThread) {
    return body(signal);
  }
  const interrupt = new AbortController();
  const handler: Handler = Object.assign(
    () => interrupt.abort(new InterruptedError()),
    { [ours]: true as const }
  );
  process.once('SIGINT', handler);
  try {
    return await body(
      signal === undefined
        ? interrupt.signal
        : AbortSignal.any([signal, interrupt.signal])
    );
  } finally {
    process.removeListener('SIGINT', handler);
  }
}
