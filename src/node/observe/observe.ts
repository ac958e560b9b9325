import { checkBody } from '../body';
import { SHOWN } from '../graph/shown';
import { asGiven, checkOptionNames } from '../option-names';
import { ObservedComputations } from './observed-computations';
import { LiveLog } from './live-log';
import { type ConnectionOptions, ObserverSink } from './observer-sink';
import { scriptName } from './script-name';
import { orUnobserved } from './warning';

/**
 * Options of {@link observe}.
 *
 * @group Observing
 * @example
 * ```ts
 * import { getSync, observe, task, type ObserveOptions } from 'spanwise';
 *
 * const options: ObserveOptions = { name: 'daily' };
 * console.log(await observe(() => getSync({ a: task(() => 6 * 7) }, 'a'), options)); // → 42
 * ```
 */
export type ObserveOptions = ConnectionOptions & {
  /** Shown by the panels; the script's name by default. */
  readonly name?: string | undefined;
};

/**
 * What {@link observe} returns without a body: it lasts until `close`, the end of an `await using` block, or the end of the process.
 *
 * @group Observing
 * @example
 * ```ts
 * import { getSync, observe, task, type Observation } from 'spanwise';
 *
 * const seen: Observation = observe({ name: 'daily' });
 * console.log(getSync({ a: task(() => 6 * 7) }, 'a')); // → 42
 * await seen.close();
 * ```
 */
export class Observation implements AsyncDisposable {
  /** Shown by the panels. */
  readonly name: string;
  private _live: LiveLog | null = null;
  private _following: ObservedComputations | null = null;
  private _isRegistered = false;
  private _hasEnded = false;

  /** @internal */
  constructor(options: ObserveOptions) {
    checkOptionNames('observe', options, { name: true, connection: true });
    const { name = scriptName(), connection } = options;
    if (typeof name !== 'string') {
      throw new TypeError(
        `observe: name is a text, as in { name: 'daily' }, not ${shownName(name)}.`
      );
    }
    this.name = name;
    orUnobserved(() => this._begin(connection));
  }

  /** `off` if there is no JupyterLab to show anything. */
  get status(): 'observing' | 'ended' | 'off' {
    return this._hasEnded
      ? 'ended'
      : this._following === null
        ? 'off'
        : 'observing';
  }

  /** Observes the computations that `body`, or what it awaits, starts. @internal */
  run<T>(body: () => T): T {
    return this._following === null ? body() : this._following.run(body);
  }

  /** Observes every computation of the program. @internal */
  register(): this {
    this._following?.register();
    this._isRegistered = this._following !== null;
    return this;
  }

  /**
   * Waits until the panels have what was recorded so far; ten seconds at most.
   */
  async flush(): Promise<void> {
    await this._live?.flush();
  }

  /** Observes no more, and waits until the panels have everything, ten seconds at most. They keep it. Twice is safe. */
  async close(): Promise<void> {
    const live = this._live;
    if (this._leave()) {
      await live?.end('closed');
    }
  }

  /** The same as `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** What consoles print. @internal */
  [SHOWN](): string {
    return `Observation '${this.name}': ${this.status}`;
  }

  private _begin(connection: string | undefined): void {
    const sink = new ObserverSink(
      { connection },
      () => this._abandon(),
      worker => this._following?.processEnded(worker)
    );
    const live = new LiveLog(this.name, sink, { overlapping: true });
    this._live = live;
    this._following = new ObservedComputations(
      live,
      sink.board,
      (worker, pid) => sink.process(worker, pid)
    );
  }

  /** Nobody will get what is recorded. */
  private _abandon(): void {
    if (this._leave()) {
      this._live?.drop();
      this._hasEnded = false;
      this._following = null;
    }
  }

  /** Follows no more computations. @returns whether it did until now. */
  private _leave(): boolean {
    const following = this._following;
    if (following === null || this._hasEnded) {
      return false;
    }
    this._hasEnded = true;
    following.isClosed = true;
    if (this._isRegistered) {
      this._isRegistered = false;
      following.unregister();
    }
    return true;
  }
}

/**
 * Shows the computations of this program in the Spanwise panels of a JupyterLab on this machine: of a body and what it awaits, or, without one, of
 * everything from now on.
 *
 * Without a JupyterLab to show it, a warning says what to do, and everything computes all the same.
 *
 * @returns a promise of what `body` returns, once the panels have what was recorded (they are waited for ten seconds at most); without a
 * body, a handle to close.
 * @throws UnsafeConnectionError if others could read what is recorded; nothing has been computed then.
 *
 * @group Observing
 * @example
 * ```ts
 * import { getThreads, observe, ref, span, task } from 'spanwise';
 *
 * const graph = { a: 20, b: task((x: number) => x + 1, ref('a')) };
 * const total = await observe(
 *   () => span('analysis', () => getThreads(graph, 'b')),
 *   { name: 'daily' }
 * );
 * console.log(total); // → 21
 *
 * await using _seen = observe({ name: 'the whole program' });
 * await getThreads(graph, 'b');
 * ```
 */
export function observe(options?: ObserveOptions): Observation;
export function observe<T>(
  body: () => T,
  options?: ObserveOptions
): Promise<Awaited<T>>;
export function observe<T>(
  first?: (() => T) | ObserveOptions,
  options: ObserveOptions = {}
): Observation | Promise<Awaited<T>> {
  if (first instanceof Promise) {
    checkBody('observe', first);
  }
  if (typeof options === 'function') {
    throw new TypeError(
      "observe takes the body first: observe(() => …, { name: 'daily' })."
    );
  }
  return typeof first === 'function'
    ? observeBody(first, options)
    : new Observation(first ?? {}).register();
}

function shownName(name: unknown): string {
  return typeof name === 'object' && name !== null
    ? 'an object'
    : asGiven(name);
}

async function observeBody<T>(
  body: () => T,
  options: ObserveOptions
): Promise<Awaited<T>> {
  const seen = new Observation(options);
  try {
    return await seen.run(body);
  } finally {
    await seen.close();
  }
}
