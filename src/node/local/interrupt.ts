/** Ctrl-C ends the runs that are under way, as an abort does; the second one, or one that finds no run, ends the program as ever. */
import { isMainThread } from 'node:worker_threads';

/**
 * The run was ended by Ctrl-C (SIGINT). Runs of `getSync` never throw this: Ctrl-C ends their program.
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

/** One listener for all runs: from eleven on Node would warn of a leak. */
class Interruptions {
  private readonly _runs = new Set<AbortController>();

  /** Whether the program decides for itself what Ctrl-C means. */
  get areOthers(): boolean {
    return process
      .listeners('SIGINT')
      .some(listener => listener !== this._interrupt);
  }

  begin(): AbortController {
    if (this._runs.size === 0) {
      process.once('SIGINT', this._interrupt);
    }
    const run = new AbortController();
    this._runs.add(run);
    return run;
  }

  end(run: AbortController): void {
    this._runs.delete(run);
    if (this._runs.size === 0) {
      process.removeListener('SIGINT', this._interrupt);
    }
  }

  private readonly _interrupt = () => {
    const runs = [...this._runs];
    // Runs that begin from here on add a listener of their own.
    this._runs.clear();
    runs.forEach(run => run.abort(new InterruptedError()));
  };
}

// One per process, as Ctrl-C is.
const interruptions = new Interruptions();

/**
 * Gives the body a signal that Ctrl-C aborts too. Programs with a SIGINT handler of their own decide for themselves what it means, and pass
 * a signal if it means the end of the run.
 */
export async function interruptible<R>(
  signal: AbortSignal | undefined,
  body: (signal: AbortSignal | undefined) => Promise<R>
): Promise<R> {
  if (!isMainThread || interruptions.areOthers) {
    return body(signal);
  }
  const run = interruptions.begin();
  try {
    return await body(
      signal === undefined ? run.signal : AbortSignal.any([signal, run.signal])
    );
  } finally {
    interruptions.end(run);
  }
}
