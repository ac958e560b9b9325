import type { Int32List } from '../base/int-list';
import { NONE } from './edge-table';
import { rankAt } from './rank';
import {
  hasRoom,
  hasRoomForRoots,
  isHeldBack,
  hasRoomToFetch,
  hasRoomToShip,
  queuedBefore,
  shipTarget
} from './room';
import { dealRoots } from './roots';
import type { SchedulerState } from './scheduler-state';
import { TaskState } from './task-state';
import { TaskFlag } from './task-table';
import { assign, move, settle } from './transitions';
import type { WorkerRecord } from './worker-table';

/** Ships the tasks that were held back to workers that have room again, each after those that are queued there and come first. */
export function shipHeldBack(s: SchedulerState): void {
  if (s.turns.areContending) {
    return;
  }
  for (const worker of s.workers.all) {
    const { heldBack, queue } = worker;
    while (heldBack.length > 0 && hasRoomToShip(s, worker)) {
      const task = heldBack.peek();
      if (
        s.tasks.state[task] !== TaskState.Waiting ||
        s.tasks.waitingOn[task] === 0 ||
        shipTarget(s, task) !== worker
      ) {
        heldBack.shift();
        continue;
      }
      const first = queuedBefore(s, task, worker);
      if (first === NONE) {
        heldBack.shift();
        move(s, task, TaskState.Processing);
      } else if (hasRoom(s, worker) && mayFollow(s, first, worker)) {
        queue.pop();
        assign(s, first, worker, s.tasks.hasFlag(first, TaskFlag.Lacks));
      } else {
        break;
      }
    }
  }
}

/**
 * Gives queued tasks to the workers that have room, the least loaded first.
 *
 * Each worker takes one run of neighbours from the common queue, for neighbours in the graph's order often have a dependent in common; but
 * not more than its share by threads, so that two tasks go to two idle workers and not to one. What is left because some worker had less
 * room than its share goes round again.
 */
export function fillWorkers(s: SchedulerState): void {
  dealRoots(s);
  while (hasQueued(s) && fillOnce(s)) {
    // Another round.
  }
}

function hasQueued(s: SchedulerState): boolean {
  return s.commonCount > 0 || s.workers.all.some(w => w.queuedCount > 0);
}

function fillOnce(s: SchedulerState): boolean {
  const open = s.workers.all.filter(
    worker =>
      hasRoom(s, worker) ||
      hasRoomForRoots(s, worker) ||
      (worker.queuedCount > 0 && hasRoomToFetch(s, worker))
  );
  open.sort(byRunning);
  let threads = 0;
  for (const worker of open) {
    threads += worker.freeThreads;
  }
  let hasAssigned = false;
  for (const worker of open) {
    const share = Math.ceil((s.commonCount * worker.freeThreads) / threads);
    hasAssigned = fillWorker(s, worker, share) || hasAssigned;
    threads -= worker.freeThreads;
  }
  return hasAssigned;
}

function byRunning(a: WorkerRecord, b: WorkerRecord): number {
  return a.runnableCount / a.freeThreads - b.runnableCount / b.freeThreads;
}

function fillWorker(
  s: SchedulerState,
  worker: WorkerRecord,
  share: number
): boolean {
  const { commonQueue } = s;
  const { queue, fetchQueue, rootQueue } = worker;
  let left = share;
  let hasAssigned = false;
  for (;;) {
    // (First: it moves tasks to the other queue.)
    const far = s.nextToFetch(worker);
    let best = NONE;
    let from = commonQueue;
    const isRoomy = hasRoom(s, worker);
    const isRoomyForRoots = hasRoomForRoots(s, worker, isRoomy);
    if (isRoomyForRoots && left > 0 && s.commonCount > 0) {
      best = sentRoot(s, worker, s.peekQueue(commonQueue, null));
    }
    if (isRoomyForRoots && rootQueue.length > 0) {
      const root = sentRoot(s, worker, s.peekQueue(rootQueue, worker));
      if (root !== NONE && (best === NONE || !s.turns.isBefore(best, root))) {
        best = root;
        from = rootQueue;
      }
    }
    if (isRoomy && queue.length > 0) {
      const own = following(s, worker, s.peekQueue(queue, worker));
      if (own !== NONE && (best === NONE || !s.turns.isBefore(best, own))) {
        best = own;
        from = queue;
      }
    }
    if (
      far !== NONE &&
      hasRoomToFetch(s, worker) &&
      mayFollow(s, far, worker) &&
      (best === NONE || s.turns.isBefore(far, best))
    ) {
      best = far;
      from = fetchQueue;
    }
    if (best === NONE) {
      return hasAssigned;
    }
    hasAssigned = true;
    left -= Number(from === commonQueue);
    from.pop();
    // (An entry may be older than what is known now.)
    assign(
      s,
      best,
      worker,
      from !== commonQueue && s.tasks.hasFlag(best, TaskFlag.Lacks)
    );
    // What is shipped with it comes before the next one.
    settle(s);
  }
}

function following(
  s: SchedulerState,
  worker: WorkerRecord,
  task: number
): number {
  return task !== NONE && mayFollow(s, task, worker) ? task : NONE;
}

function sentRoot(
  s: SchedulerState,
  worker: WorkerRecord,
  task: number
): number {
  const root = following(s, worker, task);
  return root !== NONE && isHeldBack(s, root, worker) ? NONE : root;
}

/**
 * Whether a task may be sent behind those that a worker has. A task that was at a worker when the worker died goes only to a free
 * thread: so the guilty task is found after `allowedFailures` more deaths, and the tasks that happened to be ahead with it are not
 * blamed (unless no death is allowed).
 */
export function mayFollow(
  s: SchedulerState,
  task: number,
  worker: WorkerRecord
): boolean {
  return (
    s.tasks.suspicious[task] === 0 ||
    // (What waits there for unfinished inputs has no thread. These may wait for this task, if they have seceded.)
    worker.idleThreads > 0
  );
}

/**
 * While clients take turns, a worker runs what it is sent in the order in which it is sent: by rank it would run each new task of the client
 * that came first before all of the other's. Null: by rank.
 */
export function prioritiesAmongClients(
  s: SchedulerState,
  tasks: Int32List
): Float64Array | null {
  return s.turns.areContending
    ? Float64Array.from({ length: tasks.length }, (_, i) =>
        rankAt(s.nextPlace++, s.tasks.rank[tasks.at(i)]!)
      )
    : null;
}
