import { AsyncLocalStorage } from 'node:async_hooks';
import { checkBody } from '../body';
import { rememberWhereWritten } from '../graph/written-in';
import { monotonicClock } from '../../link/monotonic';

// One per process: async contexts are the process's own.
const storage = new AsyncLocalStorage<Span>();
const now = monotonicClock();

/**
 * A named stretch of a program. Tasks that are written or computed in it count to it in Spanwise's panels.
 *
 * @group Observing
 * @example
 * ```ts
 * import { currentSpan, span, type Span } from 'spanwise';
 *
 * const around: Span | null = span('load', () => span('images', () => currentSpan()));
 * console.log(around?.tag, around?.parent?.tag); // → images load
 * ```
 */
export class Span implements Disposable {
  /** Tags from the outermost span to this one. */
  readonly path: readonly string[];
  /** @internal */
  readonly opened = now();
  private _closed: number | null = null;
  private readonly _watchers = new Set<(span: Span) => void>();

  /** @internal */
  constructor(
    /** The last tag of its path. */
    readonly tag: string,
    /** The span around it. */
    readonly parent: Span | null
  ) {
    this.path = parent === null ? [tag] : [...parent.path, tag];
  }

  /** @internal */
  get closed(): number | null {
    return this._closed;
  }

  /** Hears when the span closes. @internal */
  watch(watcher: (span: Span) => void): void {
    this._watchers.add(watcher);
  }

  /** @internal */
  unwatch(watcher: (span: Span) => void): void {
    this._watchers.delete(watcher);
  }

  /** Ends the span. Twice is once. */
  [Symbol.dispose](): void {
    if (this._closed === null) {
      this._closed = now();
      this._watchers.forEach(watcher => watcher(this));
      this._watchers.clear();
    }
  }
}

/** Spans of several tags, one inside the other, end together. */
class SpanChain extends Span {
  constructor(
    tag: string,
    parent: Span | null,
    private readonly _outer: readonly Span[]
  ) {
    super(tag, parent);
  }

  override [Symbol.dispose](): void {
    super[Symbol.dispose]();
    for (const span of this._outer) {
      span[Symbol.dispose]();
    }
  }
}

/**
 * Opens a span for a body and what it awaits, or, without a body, for the rest of the current block (`using`).
 *
 * Inside an open span it is that one's child; several tags are spans one inside the other. Tasks and delayed calls belong to the span in
 * which they are *written*; those that are written in none belong to the span in which their computation starts.
 *
 * @param tags - one tag, or several from the outside to the inside.
 * @returns what `body` returns; without one, the span.
 *
 * @group Observing
 * @example
 * ```ts
 * import { currentSpan, getSync, ref, span, task } from 'spanwise';
 *
 * const total = span('analysis', () =>
 *   getSync({ a: 20, b: task((x: number) => x + 1, ref('a')) }, 'b')
 * );
 * {
 *   using load = span(['daily', 'load']);
 *   console.log(load.path, currentSpan() === load); // → [ 'daily', 'load' ] true
 * }
 * console.log(total, currentSpan()); // → 21 null
 * ```
 */
export function span(tags: string | readonly string[]): Span;
export function span<T>(tags: string | readonly string[], body: () => T): T;
export function span<T>(
  tags: string | readonly string[],
  body?: () => T
): Span | T {
  if (body !== undefined) {
    checkBody('span', body);
  }
  const opened = openSpan(typeof tags === 'string' ? [tags] : tags);
  if (body === undefined) {
    storage.enterWith(opened);
    return opened;
  }
  let result: T;
  try {
    result = storage.run(opened, body);
  } catch (error) {
    opened[Symbol.dispose]();
    throw error;
  }
  if (result instanceof Promise) {
    return result.finally(() => opened[Symbol.dispose]()) as T;
  }
  opened[Symbol.dispose]();
  return result;
}

/**
 * The innermost span that is open here.
 *
 * @returns null outside of all spans.
 *
 * @group Observing
 * @example
 * ```ts
 * import { currentSpan, span } from 'spanwise';
 *
 * const path = span('load', () => span('images', () => currentSpan()?.path));
 * console.log(path); // → [ 'load', 'images' ]
 * ```
 */
export function currentSpan(): Span | null {
  let found = storage.getStore() ?? null;
  // A block that has ended may leave its span behind in its caller's async context.
  while (found !== null && found.closed !== null) {
    found = found.parent;
  }
  return found;
}

function openSpan(tags: readonly string[]): Span {
  const last = Array.isArray(tags) ? (tags as string[]).at(-1) : undefined;
  if (last === undefined || tags.some(tag => typeof tag !== 'string')) {
    throw new TypeError("span() needs at least one tag, as span('load').");
  }
  rememberWhereWritten(currentSpan);
  const outer: Span[] = [];
  let parent = currentSpan();
  for (const tag of tags.slice(0, -1)) {
    parent = new Span(tag, parent);
    outer.unshift(parent);
  }
  return new SpanChain(last, parent, outer);
}
