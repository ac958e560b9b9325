import { NONE } from './edge-table';
import { overdueSeconds } from './overdue';
import { transferSeconds } from './placement';
import { hasResources } from './resources';
import { hasRoomFor } from './room';
import type { SchedulerState } from './scheduler-state';
import { mayFollow } from './tasks-ahead';
import { TaskFlag } from './task-table';
import { assign } from './transitions';
import type { WorkerRecord } from './worker-table';

/** At most this many tasks of each of a victim's queues are looked at, so that a batch of finishes stays cheap however long they are. */
const MAX_LOOKED_AT = 64;

/**
 * A task is moved only if the transfers of its inputs take at most so many times as long as the task itself. An idle thread might do with more,
 * but the links are shared: others wait for what is behind.
 */
const MOST_TRANSFER = 4;

/** What workers have probably not started: of one that was asked for some of it nothing more is asked in the same event. */
type Unstarted = Map<WorkerRecord, readonly number[]>;

/**
 * Finds work for workers that have threads free: first from another worker's queue, which costs nothing; else by asking a worker to give
 * back what it has not started.
 *
 * @returns whether it moved tasks between queues and workers, so that others may fit now.
 */
export function balance(s: SchedulerState): boolean {
  const workers = s.workers.all;
  if (workers.length < 2) {
    return false;
  }
  let hasMoved = false;
  const unstarted: Unstarted = new Map();
  for (const thief of workers) {
    if (!thief.paused && thief.idleThreads > 0) {
      hasMoved = takeFromQueue(s, thief) || hasMoved;
      if (thief.idleThreads > 0) {
        askBack(s, thief, unstarted);
      }
    }
  }
  return hasMoved;
}

function takeFromQueue(s: SchedulerState, thief: WorkerRecord): boolean {
  const victims = mostLoaded(s, thief, other => other.queuedCount > 0);
  return victims.some(victim => takeFromQueueOf(s, thief, victim));
}

function takeFromQueueOf(
  s: SchedulerState,
  thief: WorkerRecord,
  victim: WorkerRecord
): boolean {
  const isLiving = (task: number) => s.isQueuedAt(task, victim.id);
  let left = Math.ceil(victim.queuedCount / 2);
  let hasMoved = false;
  // The last ones: the victim would begin them last.
  for (const task of [
    ...victim.fetchQueue.lastOnes(MAX_LOOKED_AT, isLiving),
    ...victim.rootQueue.lastOnes(MAX_LOOKED_AT, isLiving),
    ...victim.queue.lastOnes(MAX_LOOKED_AT, isLiving)
  ]) {
    if (left === 0) {
      break;
    }
    if (
      isLiving(task) &&
      s.isEligible(task, thief) &&
      mayFollow(s, task, thief) &&
      isSoonerAt(s, task, thief, victim) &&
      hasRoomFor(s, task, thief)
    ) {
      assign(s, task, thief, true);
      hasMoved = true;
      left--;
    }
  }
  return hasMoved;
}

/** Whether the last task of a worker would end sooner at another one, and is worth the transfers. */
function isSoonerAt(
  s: SchedulerState,
  task: number,
  thief: WorkerRecord,
  victim: WorkerRecord
): boolean {
  const own = s.durations.booked(s.tasks.functionRow[task]!);
  const transfer = transferSeconds(s, task, thief);
  // Behind runs that were given up on all threads it waits for as long as these go on, and behind those that take longer than known, too.
  const overdue = overdueSeconds(s, victim);
  const wait =
    victim.freeThreads === 0
      ? victim.lingeringSeconds / victim.threads
      : overdue;
  return (
    transfer <= MOST_TRANSFER * Math.max(own, wait) &&
    thief.fullLoad + transfer + own < victim.fullLoad + overdue
  );
}

function askBack(
  s: SchedulerState,
  thief: WorkerRecord,
  unstarted: Unstarted
): void {
  const victims = mostLoaded(
    s,
    thief,
    other =>
      other.takeBacksPending === 0 &&
      (other.paused ||
        (other.processingCount > other.freeThreads &&
          (other.freeThreads === 0 ||
            other.occupancy > s.options.takeBackSeconds * other.freeThreads ||
            overdueSeconds(s, other) > 0)))
  );
  victims.some(victim => {
    let tasks = unstarted.get(victim);
    if (tasks === undefined) {
      tasks = probablyUnstarted(s, victim);
      unstarted.set(victim, tasks);
    }
    return askBackFrom(s, thief, victim, tasks);
  });
}

function askBackFrom(
  s: SchedulerState,
  thief: WorkerRecord,
  victim: WorkerRecord,
  unstarted: readonly number[]
): boolean {
  const { restriction } = s.tasks;
  let hasAsked = false;
  // The restriction that was last found to bar it: neighbours mostly have the same.
  let barring = NONE;
  let left = Math.min(thief.idleThreads, Math.ceil(unstarted.length / 2));
  // The newest first: the worker would start them last.
  for (let i = unstarted.length - 1; left > 0 && i >= 0; i--) {
    const task = unstarted[i]!;
    if (barring !== NONE && restriction[task] === barring) {
      continue;
    }
    if (!s.isEligible(task, thief)) {
      barring = restriction[task]!;
      continue;
    }
    if (
      hasResources(s, task, thief) &&
      // (A paused worker starts nothing: whatever another takes is sooner.)
      (victim.paused || isSoonerAt(s, task, thief, victim))
    ) {
      s.askBack(task, victim, thief);
      hasAsked = true;
      left--;
    }
  }
  return hasAsked;
}

/**
 * The tasks that a worker has probably not started, oldest first: all whose inputs are made, except the oldest one per thread of those
 * that could run. A paused worker starts nothing, so there even these are asked back, and those that were given back before.
 */
function probablyUnstarted(s: SchedulerState, worker: WorkerRecord): number[] {
  const tasks = s.tasks;
  const asked = TaskFlag.TakeBackAsked | TaskFlag.TakeBackRefused;
  const unstarted: number[] = [];
  let running = worker.paused ? 0 : worker.freeThreads;
  for (
    let task = worker.firstProcessing;
    task !== NONE;
    task = tasks.nextProcessing(task)
  ) {
    if (tasks.waitingOn[task]! > 0) {
      continue;
    }
    // (What still fetches its inputs has not begun.)
    if (running > 0 && tasks.lackingOf(task) === 0) {
      running--;
    } else if (
      (tasks.flags[task]! & asked) === 0 &&
      (worker.paused || !tasks.wasOftenTakenBack(task))
    ) {
      unstarted.push(task);
    }
  }
  return unstarted;
}

/**
 * Of the workers that are fit the one that has most to do, with what it is overdue by, and the one that has most by what is booked, if that is
 * another: of one that is overdue for an hour perhaps nothing can be taken.
 */
function mostLoaded(
  s: SchedulerState,
  thief: WorkerRecord,
  isVictim: (worker: WorkerRecord) => boolean
): readonly WorkerRecord[] {
  let best: WorkerRecord | null = null;
  let mostBooked: WorkerRecord | null = null;
  let most = -1;
  let booked = -1;
  for (const worker of s.workers.all) {
    if (worker !== thief && isVictim(worker)) {
      const { fullLoad } = worker;
      const load = fullLoad + overdueSeconds(s, worker);
      if (load > most) {
        best = worker;
        most = load;
      }
      if (fullLoad > booked) {
        mostBooked = worker;
        booked = fullLoad;
      }
    }
  }
  if (best === null || mostBooked === null) {
    return [];
  }
  return best === mostBooked ? [best] : [best, mostBooked];
}
