/**
 * How much work a worker may have in hand, and which unfinished work may be sent along.
 *
 * A worker that gets its next task only after it has reported the last one is idle for a round trip (80 us at best). So it has about
 * 10 ms of work per thread in hand. And a task whose inputs are all at one worker, or are being made there, is sent before they are
 * finished: a chain of 1000 then costs a batch of finishes per 200 links, not a round trip per link. Behind runs that were given up and go on
 * nothing is sent: nobody knows when they end, and another worker may be idle.
 */
import { NONE } from './edge-table';
import { isSilent } from './overdue';
import type { SchedulerState } from './scheduler-state';
import { TaskState } from './task-state';
import { TaskFlag } from './task-table';
import type { WorkerRecord } from './worker-table';

/**
 * What a worker has ahead may take so many times as long by the average as by what is usual. It is much longer where some tasks waited for
 * a core, but also where some really take long: without this bound, work for many seconds would be tied to one worker.
 */
const MOST_BY_AVERAGE = 10;

/** A task with more inputs is never shipped: looking at all of them each time one is assigned would be quadratic. */
const MAX_SHIPPED_INPUTS = 8;

/**
 * Whether a worker may be given one more task that can run there at once. Those that wait for inputs do not count: threads would be idle
 * behind them.
 */
export function hasRoom(s: SchedulerState, worker: WorkerRecord): boolean {
  return hasRoomBeside(
    s,
    worker,
    worker.runnableCount,
    s.options.aheadPerThread
  );
}

/**
 * Whether a worker may be given one more root, unless {@link isHeldBack}.
 *
 * @param isRoomy - whether it may be given another task, if that is known.
 */
export function hasRoomForRoots(
  s: SchedulerState,
  worker: WorkerRecord,
  isRoomy?: boolean
): boolean {
  const { saturation } = s.options;
  if (saturation === null) {
    return isRoomy ?? hasRoom(s, worker);
  }
  const { freeThreads } = worker;
  return (
    !worker.paused &&
    !worker.isClearing &&
    freeThreads > 0 &&
    // (Not what was shipped behind them: of eight threads four would have no root.)
    worker.runnableCount + worker.fetchingCount <
      Math.max(1, Math.ceil(saturation * freeThreads))
  );
}

/**
 * Whether a root waits, although its worker has room by time, because what is ahead there makes 10 MB per thread already and the root's
 * result is for others to use up. It does not wait where a thread has less than two tasks that could run.
 *
 * ```
 *   load 2 ms, 5 MB     ahead by time    five loads: 25 MB are made before a scheduler without a core sends what uses the first
 *                       by bytes as well two loads
 * ```
 *
 * A result that nothing uses stays anyway, however early it is made.
 */
export function isHeldBack(
  { options, tasks }: SchedulerState,
  root: number,
  worker: WorkerRecord
): boolean {
  const { freeThreads } = worker;
  return (
    options.saturation === null &&
    worker.resultBytes.sum >= options.aheadBytes * freeThreads &&
    worker.runnableCount >= options.aheadPerThread * freeThreads &&
    (tasks.firstDependent[root] !== NONE ||
      tasks.hasFlag(root, TaskFlag.Expected))
  );
}

/** Whether a worker may be given one more task whose inputs must come from other workers. */
export function hasRoomToFetch(
  s: SchedulerState,
  worker: WorkerRecord
): boolean {
  return hasRoomBeside(
    s,
    worker,
    worker.fetchingCount,
    s.options.fetchingPerThread
  );
}

/** Whether a worker may be given this task, whose inputs are in memory somewhere. */
export function hasRoomFor(
  s: SchedulerState,
  task: number,
  worker: WorkerRecord
): boolean {
  if (s.tasks.isRoot(task)) {
    return hasRoomForRoots(s, worker) && !isHeldBack(s, task, worker);
  }
  return s.hasInputs(task, worker)
    ? hasRoom(s, worker)
    : hasRoomToFetch(s, worker);
}

/** Whether a worker may be given one more task together with its unfinished inputs. */
export function hasRoomToShip(
  s: SchedulerState,
  worker: WorkerRecord
): boolean {
  return hasRoomBeside(
    s,
    worker,
    worker.processingCount,
    s.options.aheadPerThread
  );
}

/**
 * A task that is queued for a worker, and that comes before another one in the order: if that one was shipped now, it would pass it. Or NONE.
 * (Roots do not count: what uses earlier ones may pass them.)
 */
export function queuedBefore(
  s: SchedulerState,
  task: number,
  worker: WorkerRecord
): number {
  if (worker.queue.length === 0) {
    return NONE;
  }
  const { rank } = s.tasks;
  const first = s.peekQueue(worker.queue, worker);
  return first !== NONE && rank[first]! < rank[task]! ? first : NONE;
}

function hasRoomBeside(
  s: SchedulerState,
  worker: WorkerRecord,
  count: number,
  perThread: number
): boolean {
  const { options, turns } = s;
  const ahead =
    worker.freeThreads *
    (turns.areContending ? options.aheadSecondsInTurns : options.aheadSeconds);
  return (
    !worker.paused &&
    !worker.isClearing &&
    (count < perThread * worker.freeThreads ||
      (worker.processingSeconds.unknownCount === 0 &&
        worker.processingCount < options.aheadMost &&
        !isSilent(s, worker) &&
        worker.usualSeconds.sum < ahead &&
        worker.occupancy < MOST_BY_AVERAGE * ahead))
  );
}

/**
 * The worker to which a waiting task can be shipped with its unfinished inputs, or null: all inputs are in its memory or processing there,
 * and one at least is processing. Not behind an input that was asked back: it would most likely come back with it. Nor behind a suspicious
 * one: a task that kills the worker before that has told of the input would have the input blamed for it. Neither suspicious tasks (see
 * `mayFollow`) are shipped nor those that need resources, which they would hold while they wait.
 */
export function shipTarget(
  s: SchedulerState,
  task: number
): WorkerRecord | null {
  const { edges, state, worker, firstInput, suspicious, flags } = s.tasks;
  if (suspicious[task]! > 0 || s.needOf(task) !== null) {
    return null;
  }
  let target = NONE;
  let count = 0;
  for (let e = firstInput[task]!; edges.dependent[e] === task; e++) {
    const input = edges.input[e]!;
    if (++count > MAX_SHIPPED_INPUTS) {
      return null;
    }
    if (state[input] === TaskState.Processing) {
      const isAskedBack = (flags[input]! & TaskFlag.TakeBackAsked) !== 0;
      if (isAskedBack || suspicious[input]! > 0) {
        return null;
      }
      if (target === NONE) {
        target = worker[input]!;
      } else if (target !== worker[input]) {
        return null;
      }
    } else if (state[input] !== TaskState.Memory) {
      return null;
    }
  }
  const record = target === NONE ? undefined : s.workers.get(target);
  if (record === undefined || record.paused || !s.isEligible(task, record)) {
    return null;
  }
  for (let e = firstInput[task]!; edges.dependent[e] === task; e++) {
    const input = edges.input[e]!;
    if (state[input] === TaskState.Memory && !s.hasReplica(input, record)) {
      return null;
    }
  }
  return record;
}
