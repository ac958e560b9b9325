/**
 * The spans of what a client computes outside of all spans, one after another: when none of its tasks is unfinished, a default span closes, and
 * the next graph with such tasks begins another. In the scheduler's process.
 *
 * ```
 *   tasks   ├── a ──┤                     ├── d ──┤
 *              ├── b ──┤ ├─ c (idle between)
 *   span    0 ─────────┤ 2³¹ ────┤        2³¹+1 ──┤
 * ```
 */
import { randomUUID } from 'node:crypto';
import { Int32List } from '../../base/int-list';
import { SpanOrigin } from '../../records/enumerations';
import { DEFAULT_SPAN, type OuterTaskId, type SpanId } from '../../records/ids';
import type { SpanRow } from '../../sources';
import type { SpanNumbers } from './span-numbers';

/** What spans are called in which nothing was opened. */
const DEFAULT_TAG = 'default';

const LEAST_TASKS = 1024;

export class DefaultSpans {
  /** As it was last told; null: the client has none of its own. */
  private _row: SpanRow | null = null;
  /** Tasks of the present one, but for those at the end that were found finished. */
  private readonly _tasks = new Int32List();
  private _hasTasks = false;
  /** At so many tasks those that are finished are dropped. */
  private _most = LEAST_TASKS;

  constructor(
    private readonly _numbers: SpanNumbers,
    private readonly _whose: string,
    private readonly _client: number
  ) {}

  /** The log's number of the present one. */
  get span(): SpanId {
    return this._row?.id ?? DEFAULT_SPAN;
  }

  /** The present one, if it is the client's own and has not closed. */
  get open(): SpanRow | null {
    return this._row?.closed === null ? this._row : null;
  }

  /** Gives the client one that is not the log's. @returns its row, the first time. */
  takeOwn(now: number): SpanRow[] {
    return this._row === null ? this._begin(now) : [];
  }

  /**
   * A graph is about to come with tasks outside of all spans.
   *
   * @returns rows of spans that close and begin with it.
   */
  next(now: number, isUnfinished: (task: OuterTaskId) => boolean): SpanRow[] {
    // The log's default span is there from its beginning.
    this._row ??= defaultRow(DEFAULT_SPAN, now);
    const closed = this.closeIdle(now, isUnfinished);
    return this.open === null ? [...closed, ...this._begin(now)] : closed;
  }

  /** Such a task has come. */
  add(task: OuterTaskId): void {
    if (this._row !== null) {
      this._hasTasks = true;
      this._tasks.push(task);
    }
  }

  /** Closes the present one if it has had tasks, and all are finished. @returns its row then. */
  closeIdle(
    now: number,
    isUnfinished: (task: OuterTaskId) => boolean
  ): SpanRow[] {
    const row = this.open;
    if (row === null || !this._hasTasks || this._isBusy(isUnfinished)) {
      return [];
    }
    this._hasTasks = false;
    return [this._tell({ ...row, closed: now })];
  }

  private _isBusy(isUnfinished: (task: OuterTaskId) => boolean): boolean {
    const tasks = this._tasks;
    let left = tasks.length;
    while (left > 0 && !isUnfinished(outerId(tasks.at(left - 1)))) {
      left--;
    }
    tasks.truncate(left);
    if (left > this._most) {
      const unfinished = tasks
        .toArray()
        .filter(task => isUnfinished(outerId(task)));
      tasks.clear();
      for (const task of unfinished) {
        tasks.push(task);
      }
      this._most = Math.max(LEAST_TASKS, 2 * tasks.length);
    }
    return left > 0;
  }

  private _begin(now: number): SpanRow[] {
    const id = this._numbers.takeDefault(this._whose, this._client);
    return [this._tell({ ...defaultRow(id, now), uuid: randomUUID() })];
  }

  private _tell(row: SpanRow): SpanRow {
    this._row = row;
    return row;
  }
}

function defaultRow(id: SpanId, now: number): SpanRow {
  return {
    id,
    parent: DEFAULT_SPAN,
    tag: DEFAULT_TAG,
    opened: now,
    closed: null,
    origin: SpanOrigin.Default
  };
}

/** Lists hold 32 bits, signed. */
function outerId(item: number): OuterTaskId {
  return (item >>> 0) as OuterTaskId;
}
