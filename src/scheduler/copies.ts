/** Copies of results that clients ask for, beside those that tasks need. */
import type { CopiesAsked, CopiesDropped } from './events';
import type { SchedulerState } from './scheduler-state';
import { TaskState } from './task-state';
import type { WorkerRecord } from './worker-table';

/** What is not in memory, or is there already, is not copied; and nothing to a worker that is full or is to leave. */
export function copiesAsked(s: SchedulerState, event: CopiesAsked): void {
  const worker = s.workers.get(event.worker);
  if (worker === undefined || worker.paused) {
    return;
  }
  for (const task of event.taskIds) {
    if (
      task >= 0 &&
      s.tasks.state[task] === TaskState.Memory &&
      !s.hasReplica(task, worker)
    ) {
      s.output.acquire(worker, task);
    }
  }
}

/** A copy stays if no worker that stays has another, or if a task that was given to this worker, or is queued for it, needs it. */
export function copiesDropped(s: SchedulerState, event: CopiesDropped): void {
  const worker = s.workers.get(event.worker);
  if (worker === undefined) {
    return;
  }
  for (const task of event.taskIds) {
    if (
      task >= 0 &&
      s.tasks.state[task] === TaskState.Memory &&
      s.hasReplica(task, worker) &&
      hasAnotherHome(s, task, worker) &&
      !isNeededAt(s, task, worker)
    ) {
      s.removeReplica(task, worker);
      s.output.release(worker, task, true);
    }
  }
}

function hasAnotherHome(
  s: SchedulerState,
  task: number,
  worker: WorkerRecord
): boolean {
  return s.tasks
    .holdersOf(task)
    .some(id => id !== worker.id && s.workers.get(id)?.retiring === false);
}

function isNeededAt(
  s: SchedulerState,
  task: number,
  worker: WorkerRecord
): boolean {
  const { worker: place } = s.tasks;
  return s.tasks.dependentsOf(task).some(user => place[user] === worker.id);
}
