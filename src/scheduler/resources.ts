/**
 * What tasks hold of their worker beside a thread: `{ GPU: 1 }`.
 *
 * A task that names resources waits in a queue for these until a worker has them free, and holds them from the moment in which it is given
 * to that worker until its run has ended there. So it is never sent ahead of what it needs, and nothing that waits for resources stands
 * before tasks that need none. A run that is given up holds them until its worker says that it has ended or will not begin: a thread cannot
 * be stopped.
 */
import { NONE } from './edge-table';
import { takerOf } from './queueing';
import type { ResourceLine } from './resource-queues';
import { hasRoom, hasRoomFor, hasRoomToFetch } from './room';
import type { SchedulerState } from './scheduler-state';
import { TaskState } from './task-state';
import { mayFollow } from './tasks-ahead';
import { assign } from './transitions';
import type { Need } from './worker-resources';
import type { WorkerRecord } from './worker-table';

/** Resources are kept free for at most so many tasks; then the rest is looked at with the next event. */
const MAX_BLOCKED = 64;

/**
 * Gives tasks to workers that have their resources free: by turn and rank among those of all needs. Of one that finds no worker, the worker
 * that has most of its need free is kept for it: otherwise those that need less would go before it for ever.
 */
export function giveResources(s: SchedulerState): void {
  const { all } = s.workers;
  for (const worker of all) {
    worker.isClearing = false;
  }
  const waiting = s.waitingForResources;
  waiting.first = NONE;
  if (waiting.count === 0) {
    return;
  }
  if (
    waiting.suspiciousCount === 0 &&
    !all.some(worker => hasRoom(s, worker) || hasRoomToFetch(s, worker))
  ) {
    // (What is kept for a task is known in this event alone, unless a thread is: for those that were at a worker when it died.)
    return;
  }
  const kept = new KeptResources(all);
  const looked = new Set<number>();
  const blockedNeeds = new Set<number>();
  const isOpen = (names: readonly string[]): boolean => kept.hasOpen(names);
  // Of those whose resources are all kept none can begin, and nothing more be kept.
  for (let blocked = 0; blocked < MAX_BLOCKED;) {
    const task = waiting.pop(isOpen);
    if (task === NONE) {
      break;
    }
    const { restriction, isSuspicious } = waiting.lineOf(task);
    const place = 2 * restriction + Number(isSuspicious);
    if (looked.has(task) || blockedNeeds.has(place)) {
      // (Another client's, of the same need.)
      looked.add(task);
      continue;
    }
    const need = s.needOf(task)!;
    const able = s.eligibleFor(task).filter(w => kept.isOpen(w, need));
    if (able.length === 0) {
      // Nothing is kept for it, so it keeps nobody else waiting.
      looked.add(task);
      continue;
    }
    const free = able.filter(worker => couldBegin(s, task, worker));
    if (free.length === 0) {
      looked.add(task);
      blockedNeeds.add(place);
      keep(s, task, need, able, kept);
      blocked++;
    } else {
      // The next one of its line comes into its place.
      const taker = takerOf(s, task);
      const worker =
        taker !== null && free.includes(taker)
          ? taker
          : s.policy.choose(s, task, free);
      assign(s, task, worker, true);
    }
  }
  [waiting.first = NONE] = looked;
  waiting.putBack(looked);
}

/** Resources that are kept free at workers for tasks that go before others. */
class KeptResources {
  private readonly _names = new Map<WorkerRecord, Set<string>>();
  /** Workers that take tasks and have a resource that is not kept. */
  private readonly _left = new Set<WorkerRecord>();
  /** Lists of names of which {@link KeptResources.hasOpen} has found none: nothing that is kept becomes free again. */
  private readonly _closed = new Set<readonly string[]>();

  constructor(workers: readonly WorkerRecord[]) {
    for (const worker of workers) {
      if (!worker.paused && worker.resources.size > 0) {
        this._left.add(worker);
      }
    }
  }

  /** Whether a worker takes tasks that has all of these, and keeps none of them. The same list is asked for again and again. */
  hasOpen(names: readonly string[]): boolean {
    if (this._closed.has(names)) {
      return false;
    }
    for (const worker of this._left) {
      const kept = this._names.get(worker);
      if (
        names.every(
          name => worker.resources.hasSome(name) && kept?.has(name) !== true
        )
      ) {
        return true;
      }
    }
    this._closed.add(names);
    return false;
  }

  /** Whether a worker takes tasks, and keeps nothing of this need for another task. */
  isOpen(worker: WorkerRecord, need: Need): boolean {
    if (!this._left.has(worker)) {
      return false;
    }
    const names = this._names.get(worker);
    return names === undefined || !need.some(({ name }) => names.has(name));
  }

  add(worker: WorkerRecord, need: Need): void {
    const names = this._names.get(worker) ?? new Set();
    this._names.set(worker, names);
    need.forEach(({ name }) => names.add(name));
    if (names.size === worker.resources.size) {
      this._left.delete(worker);
    }
  }
}

/** Of those that cannot begin a task now, the one that has most of its need free keeps this, and a thread too if that is all it lacks. */
function keep(
  s: SchedulerState,
  task: number,
  need: Need,
  able: readonly WorkerRecord[],
  kept: KeptResources
): void {
  let best = able[0]!;
  let most = -Infinity;
  for (const worker of able) {
    const share = worker.resources.share(need);
    if (share > most) {
      best = worker;
      most = share;
    }
  }
  kept.add(best, need);
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

/** The task that was first when resources were given last, if it still waits and a worker could begin it: for tests. */
export function neglected(s: SchedulerState): number {
  const task = s.waitingForResources.first;
  const isNeglected =
    task !== NONE &&
    s.needOf(task) !== null &&
    s.tasks.state[task] === TaskState.Queued &&
    s.eligibleFor(task).some(worker => couldBegin(s, task, worker));
  return isNeglected ? task : NONE;
}

/** The lines of queued tasks that wait for resources and can have them only of workers that are to leave. */
export function unplacedForResources(s: SchedulerState): ResourceLine[] {
  return s.waitingForResources
    .lines()
    .filter(({ head }) => s.eligibleFor(head).every(w => w.retiring));
}
