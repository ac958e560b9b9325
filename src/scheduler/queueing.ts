import type { SchedulerState } from './scheduler-state';
import type { WorkerRecord } from './worker-table';

/**
 * Puts a task that could run into a queue: one without inputs or restriction into the common queue, any other into that of the worker
 * which the placement policy chooses. What needs resources is placed when a worker has them free (`resources.ts`). The caller has made sure
 * that some worker is eligible.
 */
export function placeInQueue(s: SchedulerState, task: number): void {
  if (s.needOf(task) !== null || s.tasks.isRoot(task)) {
    s.enqueue(task, null);
    return;
  }
  const home =
    takerOf(s, task) ?? s.policy.choose(s, task, candidates(s, task));
  s.enqueue(task, home, !s.hasInputs(task, home));
}

/** The worker for which a task was asked back, if it still has nothing to do: others would be chosen by what is booked, as before. */
export function takerOf(s: SchedulerState, task: number): WorkerRecord | null {
  const id = s.takers.size === 0 ? undefined : s.takers.get(task);
  if (id === undefined) {
    return null;
  }
  s.takers.delete(task);
  const taker = s.workers.get(id);
  return taker !== undefined &&
    !taker.paused &&
    taker.idleThreads > 0 &&
    s.isEligible(task, taker)
    ? taker
    : null;
}

// Paused workers only when there is no other: a task may be bound to them.
function candidates(s: SchedulerState, task: number): readonly WorkerRecord[] {
  const eligible = s.eligibleFor(task);
  if (!eligible.some(worker => worker.paused)) {
    return eligible;
  }
  const running = eligible.filter(worker => !worker.paused);
  return running.length > 0 ? running : eligible;
}
