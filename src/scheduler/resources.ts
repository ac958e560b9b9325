/**
 * What tasks hold of their worker beside a thread: `{ GPU: 1 }`.
 *
 * A task that names resources waits in a queue for these until a worker has them free, and holds them from the moment in which it is given
 * to that worker until its run has ended there. So it is never sent ahead of what it needs, and nothing that waits for resources stands
 * before tasks that need none. A run that is given up holds them until its worker says that it has ended or will not begin: a thread cannot
 * be stopped.
 */
import { ClientQueue } from './client-queue';
import { NONE } from './edge-table';
import { hasRoomFor } from './room';
import type { SchedulerState } from './scheduler-state';
import { mayFollow } from './tasks-ahead';
import { assign } from './transitions';
import type { Need } from './worker-resources';
import type { WorkerRecord } from './worker-table';

/** Resources are kept free for at most so many tasks; then the rest is looked at with the next event. */
const MAX_BLOCKED = 64;

/** Resources that are kept free at a worker for a task that goes before others. */
type Kept = Map<WorkerRecord, Set<string>>;

/**
 * Gives tasks to workers that have their resources free: by turn and rank among those of all needs. Of one that finds no worker, the worker
 * that has most of its need free is kept for it: otherwise those that need less would go before it for ever.
 */
export function giveResources(s: SchedulerState): void {
  for (const worker of s.workers.all) {
    worker.isClearing = false;
  }
  if (s.waitingForResources.count === 0) {
    return;
  }
  const first = new ClientQueue(s.turns);
  for (const restriction of s.waitingForResources.restrictions()) {
    enter(s, first, restriction);
  }
  const kept: Kept = new Map();
  for (let blocked = 0; blocked < MAX_BLOCKED;) {
    const task = first.pop();
    if (task === NONE) {
      return;
    }
    const restriction = s.tasks.restriction[task]!;
    const need = s.needOf(task)!;
    const able = ableTo(s, task, need, kept);
    if (able.length === 0) {
      // Nothing is kept for it, so it keeps nobody else waiting.
      continue;
    }
    const free = able.filter(worker => couldBegin(s, task, worker));
    if (free.length === 0) {
      keep(s, task, need, able, kept);
      blocked++;
    } else {
      const worker = s.policy.choose(s, task, free);
      assign(s, task, worker, true);
      enter(s, first, restriction);
    }
  }
}

function enter(
  s: SchedulerState,
  first: ClientQueue,
  restriction: number
): void {
  const task = s.waitingForResources.peek(restriction);
  if (task !== NONE) {
    first.push(task, s.tasks.rank[task]!, s.tasks.client[task]!);
  }
}

/** The workers that take tasks, may run this one, and keep nothing of its need for another. */
function ableTo(
  s: SchedulerState,
  task: number,
  need: Need,
  kept: Kept
): WorkerRecord[] {
  return s.workers.all.filter(
    worker =>
      !worker.paused &&
      !need.some(({ name }) => kept.get(worker)?.has(name)) &&
      s.isEligible(task, worker)
  );
}

/** Of those that cannot begin a task now, the one that has most of its need free keeps this, and a thread too if that is all it lacks. */
function keep(
  s: SchedulerState,
  task: number,
  need: Need,
  able: readonly WorkerRecord[],
  kept: Kept
): void {
  let best = able[0]!;
  for (const worker of able) {
    if (worker.resources.share(need) > best.resources.share(need)) {
      best = worker;
    }
  }
  const names = kept.get(best) ?? new Set();
  need.forEach(({ name }) => names.add(name));
  kept.set(best, names);
  // Otherwise tasks that need nothing would be sent behind one another there, and no thread would ever be free.
  best.isClearing ||= !mayFollow(s, task, best) && hasResources(s, task, best);
}

/** Whether a worker has what a queued task needs. */
function couldBegin(
  s: SchedulerState,
  task: number,
  worker: WorkerRecord
): boolean {
  return (
    hasRoomFor(s, task, worker) &&
    mayFollow(s, task, worker) &&
    hasResources(s, task, worker)
  );
}

/** Whether the worker has free what the task is to hold. */
export function hasResources(
  s: SchedulerState,
  task: number,
  worker: WorkerRecord
): boolean {
  const need = s.needOf(task);
  return need === null || worker.resources.hasFree(need);
}

/** The task that is first among those that wait for resources, if a worker could begin it: for tests. */
export function neglected(s: SchedulerState): number {
  const first = new ClientQueue(s.turns);
  for (const restriction of s.waitingForResources.restrictions()) {
    enter(s, first, restriction);
  }
  const task = first.peek();
  const isNeglected =
    task !== NONE &&
    s.workers.all.some(
      worker => s.isEligible(task, worker) && couldBegin(s, task, worker)
    );
  return isNeglected ? task : NONE;
}

/** Queued tasks that wait for resources and can have them only of workers that are to leave. */
export function unplacedForResources(s: SchedulerState): number[] {
  const firsts: number[] = [];
  for (const restriction of s.waitingForResources.restrictions()) {
    const task = s.waitingForResources.peek(restriction);
    if (
      task !== NONE &&
      !s.workers.all.some(w => !w.retiring && s.isEligible(task, w))
    ) {
      firsts.push(task);
    }
  }
  return firsts;
}
