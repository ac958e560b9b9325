import { isThenable } from '../graph/thenable';
import { warn } from '../warning';

/**
 * The promises of hooks in one run. A hook may be an async function: its rejection ends the run, as an error that it throws does. It never
 * ends the program, as a rejection without a handler would in Node.
 */
export class HookPromises {
  private readonly _pending = new Set<Promise<void>>();
  private _failure: { readonly error: unknown } | null = null;
  private _isHeard = true;

  /** @param _onFailure - ends the run, if it is still under way */
  constructor(private readonly _onFailure: (error: unknown) => void) {}

  /** Takes what a hook returned: mostly nothing. */
  note(returned: unknown): void {
    if (returned === undefined || !isThenable(returned)) {
      return;
    }
    const pending = Promise.resolve(returned).then(
      () => void this._pending.delete(pending),
      (error: unknown) => {
        this._pending.delete(pending);
        this._failed(error);
      }
    );
    this._pending.add(pending);
  }

  /**
   * Everything else of the run is over: waits for the promises, unless the signal says that the run is not wanted any more.
   *
   * @returns the first failure; later ones are only told.
   */
  async settled(
    signal: AbortSignal | undefined
  ): Promise<{ readonly error: unknown } | null> {
    if (this._pending.size > 0) {
      let hear = (): void => undefined;
      const aborted = new Promise<void>(resolve => {
        hear = resolve;
      });
      signal?.addEventListener('abort', hear);
      while (this._pending.size > 0 && signal?.aborted !== true) {
        await Promise.race([Promise.all(this._pending), aborted]);
      }
      signal?.removeEventListener('abort', hear);
      if (this._pending.size > 0) {
        this._failure ??= { error: signal?.reason };
      }
    }
    this._isHeard = false;
    return this._failure;
  }

  /** The run is over, and its caller waits for nothing: failures are only told. */
  leave(): void {
    this._isHeard = false;
  }

  private _failed(error: unknown): void {
    if (this._isHeard && this._failure === null) {
      this._failure = { error };
      this._onFailure(error);
      return;
    }
    tellLate(error);
  }
}

/** Reports a failure that can end no run any more. */
export function tellLate(error: unknown): void {
  const text = error instanceof Error ? (error.stack ?? error) : error;
  warn(
    `A callback's hook promised something and failed when its run was over: ${String(text)}`
  );
}
