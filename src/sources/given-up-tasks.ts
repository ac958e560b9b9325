import { BoundedMap } from '../base/bounded-map';
import type { OuterTaskId, SpanId } from '../records/ids';

/** The facts about a task that the rows of its runs need. */
type GivenUpTask = {
  readonly node: number;
  readonly functionId: number;
  readonly span: SpanId;
  readonly unfinishedSince: number;
  /** How many runs of it were logged. */
  attempts: number;
};

/** Workers are sent some hundred tasks per thread ahead. Of given-up tasks only those that a thread has begun are still reported. */
const MOST_TASKS = 65_536;

/**
 * Tasks whose run the scheduler has given up while a worker had it. The scheduler may forget such a task at once, but its thread is held
 * until the run ends, and then its row needs a name and a span.
 *
 * Most of these runs had not begun and never report, so entries are not waited for: the oldest go when there are too many.
 */
export class GivenUpTasks {
  private readonly _tasks = new BoundedMap<OuterTaskId, GivenUpTask>(
    MOST_TASKS
  );
  private readonly _runs = new BoundedMap<number, { readonly at: number }>(
    MOST_TASKS
  );

  /** @param taskId - as the worker link names it. */
  keep(taskId: OuterTaskId, task: GivenUpTask): void {
    this._tasks.set(taskId, task);
  }

  get(taskId: OuterTaskId): GivenUpTask | undefined {
    return this._tasks.peek(taskId);
  }

  /** A run that is cancelled: other runs of its task need not be. @param at - seconds since the scheduler's start. */
  keepRun(run: number, at: number): void {
    this._runs.set(run, { at });
  }

  /** When a run was given up; undefined: it was not, or long before. */
  runAt(run: number): number | undefined {
    return this._runs.size === 0 ? undefined : this._runs.peek(run)?.at;
  }
}
