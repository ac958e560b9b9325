import { NONE } from './edge-table';
import { transferSeconds } from './placement';
import { hasRoom } from './room';
import type { SchedulerState } from './scheduler-state';
import { mayFollow } from './tasks-ahead';
import { TaskFlag } from './task-table';
import { assign } from './transitions';
import type { WorkerRecord } from './worker-table';

/** At most this many tasks are looked at per idle worker, so that a batch of finishes stays cheap however long the queues are. */
const MAX_LOOKED_AT = 64;

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
  for (const thief of workers) {
    if (!thief.paused && thief.processingCount < thief.threads) {
      hasMoved = takeFromQueue(s, thief) || hasMoved;
      if (thief.processingCount < thief.threads) {
        askBack(s, thief);
      }
    }
  }
  return hasMoved;
}

function takeFromQueue(s: SchedulerState, thief: WorkerRecord): boolean {
  const victim = mostLoaded(s, thief, other => other.queuedCount > 0);
  if (victim === null) {
    return false;
  }
  const passedOver: number[] = [];
  const share = Math.ceil(victim.queuedCount / 2);
  let left = share;
  for (
    let looked = 0;
    left > 0 && looked < MAX_LOOKED_AT && hasRoom(s, thief);
    looked++
  ) {
    const task = s.peekQueue(victim);
    if (task === NONE) {
      break;
    }
    victim.queue.pop();
    if (
      s.isEligible(task, thief) &&
      mayFollow(s, task, thief) &&
      transferSeconds(s, task, thief) < victim.load
    ) {
      assign(s, task, thief);
      left--;
    } else {
      passedOver.push(task);
    }
  }
  for (const task of passedOver) {
    victim.queue.push(task, s.tasks.rank[task]!, s.tasks.client[task]!);
  }
  return left < share;
}

function askBack(s: SchedulerState, thief: WorkerRecord): void {
  const victim = mostLoaded(
    s,
    thief,
    other =>
      other.takeBacksPending === 0 &&
      (other.paused || other.processingCount > other.threads) &&
      other.occupancy > s.options.takeBackSeconds * other.threads
  );
  if (victim === null) {
    return;
  }
  const unstarted = probablyUnstarted(s, victim);
  const wait = victim.load;
  let left = Math.min(
    thief.threads - thief.processingCount,
    Math.ceil(unstarted.length / 2)
  );
  // The newest first: the worker would start them last.
  for (let i = unstarted.length - 1; left > 0 && i >= 0; i--) {
    const task = unstarted[i]!;
    if (s.isEligible(task, thief) && transferSeconds(s, task, thief) < wait) {
      s.askBack(task, victim);
      left--;
    }
  }
}

/**
 * The tasks that a worker has probably not started, oldest first: all that could run, except the oldest one per thread. A paused worker
 * starts nothing, so there even these are asked back.
 */
function probablyUnstarted(s: SchedulerState, worker: WorkerRecord): number[] {
  const tasks = s.tasks;
  const asked = TaskFlag.TakeBackAsked | TaskFlag.TakeBackRefused;
  const unstarted: number[] = [];
  let running = worker.paused ? 0 : worker.threads;
  for (
    let task = worker.firstProcessing;
    task !== NONE;
    task = tasks.nextProcessing[task]!
  ) {
    if (tasks.waitingOn[task]! > 0) {
      continue;
    }
    if (running > 0) {
      running--;
    } else if ((tasks.flags[task]! & asked) === 0) {
      unstarted.push(task);
    }
  }
  return unstarted;
}

function mostLoaded(
  s: SchedulerState,
  thief: WorkerRecord,
  isVictim: (worker: WorkerRecord) => boolean
): WorkerRecord | null {
  let best: WorkerRecord | null = null;
  for (const worker of s.workers.all) {
    if (
      worker !== thief &&
      isVictim(worker) &&
      (best === null || worker.load > best.load)
    ) {
      best = worker;
    }
  }
  return best;
}
