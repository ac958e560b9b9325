/**
 * Tasks that wait for workers that are full.
 *
 * A worker that is short of memory pauses: it starts no task until something leaves its memory. Its unstarted tasks go to other workers,
 * if there are any. When all workers are full and no task runs, nothing will ever leave memory: that is a stall.
 */
import { NONE } from './edge-table';
import type { SchedulerState } from './scheduler-state';
import type { ResourceLine } from './resource-queues';
import { unplacedForResources } from './resources';
import { FailureReason, TaskState } from './task-state';
import { TaskFlag } from './task-table';
import { blame, move } from './transitions';
import type { WorkerRecord } from './worker-table';

/** Moves the unstarted tasks of paused workers to others: their queues at once, the rest when they give it back. */
export function relievePaused(s: SchedulerState): void {
  const workers = s.workers.all;
  if (workers.every(({ paused }) => paused === workers[0]!.paused)) {
    return;
  }
  for (const worker of workers) {
    if (worker.paused) {
      emptyQueue(s, worker);
      askAllBack(s, worker);
    }
  }
}

/** Takes all tasks out of a worker's queue; they are placed again when the moves settle. */
export function emptyQueue(s: SchedulerState, worker: WorkerRecord): void {
  while (worker.queuedCount > 0) {
    move(s, s.anyQueued(worker), TaskState.Waiting);
  }
}

function askAllBack(s: SchedulerState, worker: WorkerRecord): void {
  const { flags, waitingOn } = s.tasks;
  const asked = TaskFlag.TakeBackAsked | TaskFlag.TakeBackRefused;
  for (
    let task = worker.firstProcessing;
    task !== NONE;
    task = s.tasks.nextProcessing(task)
  ) {
    // A task that waits for an input here comes back with that input.
    if (
      waitingOn[task] === 0 &&
      (flags[task]! & asked) === 0 &&
      s.workers.all.some(other => !other.paused && s.isEligible(task, other))
    ) {
      s.askBack(task, worker, null);
    }
  }
}

/** Whether tasks wait for workers that are full while nothing runs anywhere and nothing frees memory. */
export function isStalled(s: SchedulerState): boolean {
  let waiting = s.commonCount;
  for (const worker of s.workers.all) {
    // A run that was given up frees what it holds when it ends.
    const hasWork = worker.underWayCount > 0 || worker.goesOn;
    if (worker.full ? !worker.stalled : hasWork) {
      return false;
    }
    if (worker.takeBacksPending > 0) {
      return false;
    }
    waiting += worker.processingCount + worker.queuedCount;
  }
  for (const line of stalledLines(s)) {
    waiting += line.count;
  }
  return waiting > 0 && s.workers.all.some(w => w.full && !w.retiring);
}

/** The lines in which tasks wait for resources that only full workers have. */
function stalledLines(s: SchedulerState): ResourceLine[] {
  return s.waitingForResources.lines().filter(({ head }) => {
    const able = s.eligibleFor(head);
    return (
      able.every(({ paused }) => paused) &&
      able.some(({ retiring }) => !retiring)
    );
  });
}

/** Fails the tasks that wait for a worker, and the tasks that depend on them. */
export function giveUpStalled(s: SchedulerState): void {
  if (!isStalled(s)) {
    return;
  }
  for (const worker of s.workers.all) {
    for (let task = worker.firstProcessing; task !== NONE;) {
      const next = s.tasks.nextProcessing(task);
      // One that has seceded waits for others, which end here.
      if (!s.tasks.hasFlag(task, TaskFlag.Seceded)) {
        s.output.release(worker, task, false, s.tasks.runAtWorker(task));
        fail(s, task);
      }
      task = next;
    }
    while (worker.queuedCount > 0) {
      fail(s, s.anyQueued(worker));
    }
  }
  while (s.commonCount > 0) {
    fail(s, s.anyQueued(null));
  }
  for (const line of stalledLines(s)) {
    while (line.count > 0) {
      fail(s, line.head);
    }
  }
}

function fail(s: SchedulerState, task: number): void {
  blame(s, task, task, FailureReason.Stalled);
  move(s, task, TaskState.Erred);
}

/** Whether no worker takes tasks: there is none, or all are to leave. */
export function isDeserted({ workers }: SchedulerState): boolean {
  return workers.all.every(({ retiring }) => retiring);
}

/** How many tasks could run, and have no worker that would take them. */
export function unplacedCount(s: SchedulerState): number {
  let count = s.noWorkerCount + (isDeserted(s) ? s.commonCount : 0);
  for (const worker of s.workers.all) {
    count += worker.retiring ? worker.queuedCount : 0;
  }
  for (const line of unplacedForResources(s)) {
    count += line.count;
  }
  return count;
}

/** Whether all of these have waited beside workers that `workers=` does not name. */
export function areUnplacedInVain(s: SchedulerState): boolean {
  return (
    s.noWorkerCount === unplacedCount(s) &&
    [...s.noWorkerBy.keys()].every(each => s.restrictions.isInVain(each))
  );
}

/** One of the tasks that {@link unplacedCount} counts; NONE: there is none. */
export function anUnplaced(s: SchedulerState): number {
  const [first] = s.tasksWithoutWorker();
  if (first !== undefined) {
    return first;
  }
  const leaving = s.workers.all.find(w => w.retiring && w.queuedCount > 0);
  if (leaving !== undefined) {
    return s.anyQueued(leaving);
  }
  const [waiting] = unplacedForResources(s);
  return waiting?.head ?? (isDeserted(s) ? s.anyQueued(null) : NONE);
}
