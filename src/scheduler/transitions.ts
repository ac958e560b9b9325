import { NONE_U32, ReportStatus } from '../records/enumerations';
import { NONE } from './edge-table';
import type { SchedulerState } from './scheduler-state';
import { placeInQueue } from './queueing';
import { hasRoomToShip, queuedBefore, shipTarget } from './room';
import {
  FailureReason,
  holdsInputs,
  STATE_COUNT,
  TaskState
} from './task-state';
import { TaskFlag } from './task-table';
import { formatStory } from './transition-log';
import type { WorkerRecord } from './worker-table';

const { Forgotten, Released, Waiting, NoWorker, Queued, Processing } =
  TaskState;
const { Memory, Erred } = TaskState;

/** A move that the table does not list: a bug of the scheduler. The message carries the task's story. */
export class InvalidTransition extends Error {
  override readonly name = 'InvalidTransition';

  constructor(state: SchedulerState, task: number, from: number, to: number) {
    super(
      `Task ${task} cannot go from ${TaskState[from]} to ${TaskState[to]}. Its story:\n` +
        formatStory(state.log.story(task))
    );
  }
}

/**
 * What else changes when a task moves. It runs after the task's state was set; it may recommend moves of any task, and makes none itself.
 */
type Transition = (state: SchedulerState, task: number) => void;

/**
 * The table of moves. Read: from the row's state to the column's.
 *
 * ```
 *              Released  Waiting  NoWorker  Queued  Processing  Memory  Erred  Forgotten
 *  Forgotten                (rows are added as Released by graph intake)
 *  Released       –         ●                                     ●(1)              ●
 *  Waiting        ●         –        ●        ●        ●(2)               ●
 *  NoWorker       ●         ●        –        ●                            ●
 *  Queued         ●         ●        ●        –        ●                   ●
 *  Processing     ●         ●                          –          ●        ●
 *  Memory         ●                                               –        ●(3)
 *  Erred          ●                                                        –        ●
 *    (1) data placed by a client   (2) shipped with unfinished inputs   (3) placed data, lost
 * ```
 */
export const MOVES: readonly [TaskState, TaskState, Transition][] = [
  [Released, Waiting, startWaiting],
  [Released, Memory, enterMemory],
  [Released, Forgotten, forgetReleased],
  [Waiting, Released, letInputsGo],
  [Waiting, NoWorker, enterNoWorker],
  [Waiting, Queued, placeInQueue],
  [Waiting, Processing, enterProcessing],
  [Waiting, Erred, abandonErred],
  [NoWorker, Released, letInputsGo],
  [NoWorker, Waiting, waitAgain],
  [NoWorker, Queued, placeInQueue],
  [NoWorker, Erred, abandonErred],
  [Queued, Released, leaveQueueReleased],
  [Queued, Waiting, leaveQueueWaiting],
  [Queued, NoWorker, leaveQueueNoWorker],
  [Queued, Processing, leaveQueueProcessing],
  [Queued, Erred, leaveQueueErred],
  [Processing, Released, recallReleased],
  [Processing, Waiting, recallWaiting],
  [Processing, Memory, finishInMemory],
  [Processing, Erred, stopErred],
  [Memory, Released, leaveMemory],
  [Memory, Erred, loseErred],
  [Erred, Released, clearError],
  [Erred, Forgotten, forgetErred]
];

const BY_PAIR: (Transition | undefined)[] = [];
for (const [from, to, transition] of MOVES) {
  BY_PAIR[from * STATE_COUNT + to] = transition;
}

/** 1: in a queue or at a worker. */
const isUnderWay = new Uint8Array(STATE_COUNT);
isUnderWay[Queued] = 1;
isUnderWay[Processing] = 1;

/**
 * Moves a task.
 *
 * @throws InvalidTransition when the table does not list the move.
 */
export function move(s: SchedulerState, task: number, to: TaskState): void {
  const from = s.tasks.state[task]! as TaskState;
  const transition = BY_PAIR[from * STATE_COUNT + to];
  if (transition === undefined) {
    throw new InvalidTransition(s, task, from, to);
  }
  s.log.record(task, from, to);
  s.tasks.state[task] = to;
  const change = isUnderWay[to]! - isUnderWay[from]!;
  if (change !== 0) {
    s.turns.change(s.tasks.client[task]!, change as 1 | -1);
  }
  if (to === Waiting) {
    s.waitingCount++;
  } else if (from === Waiting) {
    s.waitingCount--;
  }
  if (to === NoWorker) {
    s.countWithoutWorker(task, 1);
  } else if (from === NoWorker) {
    s.countWithoutWorker(task, -1);
    // From now on it waits for a thread.
    s.tasks.readyAt[task] = s.now;
  }
  transition(s, task);
}

/**
 * Makes the recommended moves, and those that they recommend, until there are none.
 *
 * A recommendation may be overtaken by an earlier one (an input is recommended for release, then a new task needs it): each is judged
 * when its turn comes.
 */
export function settle(s: SchedulerState): void {
  const recommendations = s.recommendations;
  while (recommendations.length > 0) {
    const task = recommendations.task;
    const target = recommendations.target;
    recommendations.shift();
    const from = s.tasks.state[task]! as TaskState;
    if (from === target || !isDue(s, task, from, target)) {
      continue;
    }
    if (target === Queued && !s.hasEligibleWorker(task)) {
      if (from !== NoWorker) {
        move(s, task, NoWorker);
      }
    } else {
      move(s, task, target);
    }
  }
}

/** Whether a recommended move still makes sense. */
function isDue(
  s: SchedulerState,
  task: number,
  from: TaskState,
  target: TaskState
): boolean {
  const tasks = s.tasks;
  switch (target) {
    case Released:
      return (
        from !== Forgotten &&
        from !== Released &&
        from !== Erred &&
        !tasks.isNeeded(task)
      );
    case Waiting:
      if (from === Released) {
        return tasks.isNeeded(task);
      }
      // An input was lost or given up. A task that was shipped with this input cannot run at its worker.
      return (
        tasks.waitingOn[task]! > 0 &&
        (from === Queued ||
          from === NoWorker ||
          (from === Processing && !keepsItsInputs(s, task)))
      );
    case Queued:
      // Even if nothing needs it now: something may need it again before its recommended release is judged.
      return (
        (from === Waiting || from === NoWorker) && tasks.waitingOn[task] === 0
      );
    case Processing: {
      if (from !== Waiting || tasks.waitingOn[task] === 0) {
        return false;
      }
      if (s.turns.areContending) {
        // It would pass the queues, where clients take turns.
        return false;
      }
      const worker = shipTarget(s, task);
      if (
        worker !== null &&
        (!hasRoomToShip(s, worker) || queuedBefore(s, task, worker) !== NONE)
      ) {
        worker.heldBack.push(task);
        return false;
      }
      return worker !== null;
    }
    case Erred:
      return holdsInputs(from) && tasks.reason[task] !== FailureReason.None;
    case Forgotten:
      return (
        (from === Released || from === Erred) &&
        tasks.firstDependent[task] === NONE &&
        !tasks.hasFlag(task, TaskFlag.Open) &&
        !tasks.isNeeded(task)
      );
    case NoWorker:
    case Memory:
      return false;
  }
}

/** If a task is not needed: recommends to release it, or to forget it if it is released or erred and has no dependents. */
export function dropIfUnneeded(s: SchedulerState, task: number): void {
  const tasks = s.tasks;
  if (tasks.isNeeded(task)) {
    return;
  }
  const from = tasks.state[task]!;
  if (from !== Released && from !== Erred) {
    s.recommendations.push(task, Released);
  } else if (tasks.firstDependent[task] === NONE) {
    s.recommendations.push(task, Forgotten);
  }
}

/** Whether all unfinished inputs of a processing task are still to be made at its worker. */
export function keepsItsInputs(s: SchedulerState, task: number): boolean {
  const { edges, state, worker, firstInput } = s.tasks;
  for (let e = firstInput[task]!; edges.dependent[e] === task; e++) {
    const input = edges.input[e]!;
    if (
      state[input] !== Memory &&
      !(state[input] === Processing && worker[input] === worker[task])
    ) {
      return false;
    }
  }
  return true;
}

/** Sets the cause of a task's failure; {@link enterErred} tells clients and dependents. */
export function blame(
  s: SchedulerState,
  task: number,
  cause: number,
  reason: FailureReason
): void {
  s.tasks.cause[task] = cause;
  s.tasks.reason[task] = reason;
}

// ---- to Waiting

function startWaiting(s: SchedulerState, task: number): void {
  const { edges, state, waitingOn, firstInput } = s.tasks;
  s.tasks.readyAt[task] = s.now;
  s.tasks.unfinishedSince[task] = s.now;
  let unfinished = 0;
  let isBeingMade = false;
  for (let e = firstInput[task]!; edges.dependent[e] === task; e++) {
    const input = edges.input[e]!;
    s.tasks.addWaiter(input);
    if (state[input] === Memory) {
      continue;
    }
    unfinished++;
    if (state[input] === Processing) {
      isBeingMade = true;
    } else if (state[input] === Released) {
      s.recommendations.push(input, Waiting);
    } else if (state[input] === Erred) {
      failBy(s, task, input);
    }
  }
  waitingOn[task] = unfinished;
  if (s.tasks.hasFlag(task, TaskFlag.Placed)) {
    blame(s, task, task, FailureReason.LostData);
    s.recommendations.push(task, Erred);
  } else if (s.tasks.hasFlag(task, TaskFlag.Refused)) {
    blame(s, task, task, FailureReason.NoRoom);
    s.recommendations.push(task, Erred);
  } else if (s.tasks.hasFlag(task, TaskFlag.Orphan)) {
    blame(s, task, task, FailureReason.LostDependencies);
    s.recommendations.push(task, Erred);
  } else if (unfinished === 0) {
    s.recommendations.push(task, Queued);
  } else if (isBeingMade) {
    // It has come after its input was sent.
    s.recommendations.push(task, Processing);
  }
}

function waitAgain(s: SchedulerState, task: number): void {
  if (s.tasks.waitingOn[task] === 0) {
    s.recommendations.push(task, Queued);
  }
  dropIfUnneeded(s, task);
}

function leaveQueueWaiting(s: SchedulerState, task: number): void {
  s.dequeue(task);
  waitAgain(s, task);
}

function recallWaiting(s: SchedulerState, task: number): void {
  recall(s, task);
  waitAgain(s, task);
}

/** Takes a run off its worker's books, tells the worker, and has the tasks that were shipped with it recalled too. */
function recall(s: SchedulerState, task: number): void {
  const run = s.tasks.runAtWorker(task);
  // One whose task is to run anew, for want of an input, nobody has given up.
  const isGivenUp = !s.tasks.isNeeded(task);
  const worker = s.unlinkProcessing(task);
  s.output.release(worker, task, false, isGivenUp ? run : NONE_U32);
  if (!isGivenUp && run !== NONE_U32 && hadItsInputs(s, task)) {
    s.recalled.add(task, run, worker);
  }
  const { edges, state, firstDependent } = s.tasks;
  for (let e = firstDependent[task]!; e !== NONE; e = edges.nextDependent[e]!) {
    const dependent = edges.dependent[e]!;
    if (state[dependent] === Processing) {
      s.recommendations.push(dependent, Waiting);
    }
  }
}

/** Whether all inputs have had results: else no run of the task can have begun. */
function hadItsInputs({ tasks }: SchedulerState, task: number): boolean {
  const { edges, firstInput } = tasks;
  for (let e = firstInput[task]!; edges.dependent[e] === task; e++) {
    if (!tasks.hadResult(edges.input[e]!)) {
      return false;
    }
  }
  return true;
}

/** A task ends without a result: runs of it that were recalled before, and may go on, are given up with it. */
function giveUpRecalled(s: SchedulerState, task: number): void {
  for (const { run, worker } of s.recalled.take(task)) {
    s.output.release(worker, task, false, run);
  }
}

// ---- to NoWorker

function enterNoWorker(s: SchedulerState, task: number): void {
  if (s.workers.all.length > 0) {
    s.restrictions.noteNone(s.tasks.restriction[task]!);
  }
  s.putAside(task);
}

function leaveQueueNoWorker(s: SchedulerState, task: number): void {
  s.dequeue(task);
  enterNoWorker(s, task);
}

// ---- to Processing

function leaveQueueProcessing(s: SchedulerState, task: number): void {
  // `assign` has taken it off the queue and entered it into its worker's list.
  recommendShipping(s, task);
}

function enterProcessing(s: SchedulerState, task: number): void {
  const worker = shipTarget(s, task);
  if (worker === null) {
    throw new InvalidTransition(s, task, Waiting, Processing);
  }
  startRun(s, task, worker, false);
  recommendShipping(s, task);
}

/**
 * Moves a queued task to a worker.
 *
 * @param mayLack - whether some of its inputs could have to come from other workers.
 */
export function assign(
  s: SchedulerState,
  task: number,
  worker: WorkerRecord,
  mayLack: boolean
): void {
  s.dequeue(task);
  startRun(s, task, worker, mayLack);
  move(s, task, Processing);
}

function startRun(
  s: SchedulerState,
  task: number,
  worker: WorkerRecord,
  mayLack: boolean
): void {
  const runId = s.nextRunId;
  s.nextRunId = (runId + 1) >>> 0;
  s.turns.take(s.tasks.client[task]!);
  s.tasks.runId[task] = runId;
  s.linkProcessing(task, worker, mayLack);
  s.output.assign(worker, task, runId);
}

/** Recommends to ship the waiting dependents of a processing task to its worker. */
export function recommendShipping(s: SchedulerState, task: number): void {
  const { edges, state, firstDependent } = s.tasks;
  for (let e = firstDependent[task]!; e !== NONE; e = edges.nextDependent[e]!) {
    const dependent = edges.dependent[e]!;
    if (state[dependent] === Waiting && shipTarget(s, dependent) !== null) {
      s.recommendations.push(dependent, Processing);
    }
  }
}

// ---- to Memory

function finishInMemory(s: SchedulerState, task: number): void {
  const worker = s.unlinkProcessing(task);
  if (!s.tasks.hasFlag(task, TaskFlag.Again)) {
    s.tasks.flags[task]! |= TaskFlag.Again;
    s.tallies.done[s.tasks.tally[task]!]!++;
    s.stepsAhead++;
  }
  s.addReplica(task, worker);
  s.recalled.take(task);
  letGoOfInputs(s, task);
  enterMemory(s, task);
}

function enterMemory(s: SchedulerState, task: number): void {
  const { edges, state, waitingOn, firstDependent, firstWant, readyAt } =
    s.tasks;
  s.tasks.suspicious[task] = 0;
  for (let e = firstDependent[task]!; e !== NONE; e = edges.nextDependent[e]!) {
    const dependent = edges.dependent[e]!;
    const dependentState = state[dependent]!;
    if (dependentState === Waiting || dependentState === Processing) {
      if (--waitingOn[dependent]! > 0) {
        continue;
      }
      readyAt[dependent] = s.now;
      if (dependentState === Waiting) {
        s.recommendations.push(dependent, Queued);
      } else {
        s.judgeRunnable(dependent, s.workers.get(s.tasks.worker[dependent]!)!);
      }
    }
  }
  if (firstWant[task] !== NONE) {
    s.report(task, ReportStatus.Memory);
  }
  dropIfUnneeded(s, task);
}

// ---- to Erred

function enterErred(s: SchedulerState, task: number): void {
  s.stepsAhead++;
  const { edges, state, firstDependent, cause, reason } = s.tasks;
  s.unrunFailures.add(task, cause[task]!, reason[task]! as FailureReason);
  s.report(task, ReportStatus.Erred);
  for (let e = firstDependent[task]!; e !== NONE; e = edges.nextDependent[e]!) {
    const dependent = edges.dependent[e]!;
    if (holdsInputs(state[dependent]!)) {
      failBy(s, dependent, task);
    }
  }
  dropIfUnneeded(s, task);
}

function failBy(s: SchedulerState, task: number, input: number): void {
  const { cause, reason } = s.tasks;
  blame(s, task, cause[input]!, reason[input]! as FailureReason);
  s.recommendations.push(task, Erred);
}

function abandonErred(s: SchedulerState, task: number): void {
  giveUpRecalled(s, task);
  letGoOfInputs(s, task);
  enterErred(s, task);
}

function leaveQueueErred(s: SchedulerState, task: number): void {
  s.dequeue(task);
  abandonErred(s, task);
}

function stopErred(s: SchedulerState, task: number): void {
  const run = s.tasks.runAtWorker(task);
  const worker = s.unlinkProcessing(task);
  // A task that raised has ended on its worker; one that fails because of an input, or with its graph, must still be taken off.
  if (
    s.tasks.cause[task] !== task ||
    s.tasks.reason[task] === FailureReason.NoRoom
  ) {
    s.output.release(worker, task, false, run);
  }
  abandonErred(s, task);
}

function loseErred(s: SchedulerState, task: number): void {
  dropReplicas(s, task);
  enterErred(s, task);
}

// ---- to Released

function letInputsGo(s: SchedulerState, task: number): void {
  letGoOfInputs(s, task);
  if (!s.tasks.isNeeded(task)) {
    giveUpRecalled(s, task);
  }
  enterReleased(s, task);
}

/** Stops counting a task among the waiters of its inputs; those that nobody needs any more are recommended for release. */
function letGoOfInputs(s: SchedulerState, task: number): void {
  const { edges, waiters, waitingOn, firstInput } = s.tasks;
  waitingOn[task] = 0;
  for (let e = firstInput[task]!; edges.dependent[e] === task; e++) {
    const input = edges.input[e]!;
    if (--waiters[input]! === 0) {
      dropIfUnneeded(s, input);
    }
  }
}

function enterReleased(s: SchedulerState, task: number): void {
  if (s.tasks.isNeeded(task)) {
    s.recommendations.push(task, Waiting);
  } else {
    blame(s, task, NONE, FailureReason.None);
    dropIfUnneeded(s, task);
  }
}

function leaveQueueReleased(s: SchedulerState, task: number): void {
  s.dequeue(task);
  letInputsGo(s, task);
}

function recallReleased(s: SchedulerState, task: number): void {
  recall(s, task);
  letInputsGo(s, task);
}

function leaveMemory(s: SchedulerState, task: number): void {
  const { edges, state, waiters, waitingOn, firstDependent } = s.tasks;
  dropReplicas(s, task);
  s.report(task, ReportStatus.Lost);
  if (waiters[task]! > 0) {
    for (
      let e = firstDependent[task]!;
      e !== NONE;
      e = edges.nextDependent[e]!
    ) {
      const dependent = edges.dependent[e]!;
      if (holdsInputs(state[dependent]!)) {
        waitingOn[dependent]!++;
        if (state[dependent] === Processing) {
          s.countLacking(dependent, s.workers.get(s.tasks.worker[dependent]!)!);
        }
        s.recommendations.push(dependent, Waiting);
      }
    }
  }
  enterReleased(s, task);
}

/** Tells all holders to drop the result. */
function dropReplicas(s: SchedulerState, task: number): void {
  const tasks = s.tasks;
  while (tasks.firstReplica[task] !== NONE) {
    const worker = s.workers.get(
      tasks.replicas.value(tasks.firstReplica[task]!)
    )!;
    s.removeReplica(task, worker);
    s.output.release(worker, task, true);
  }
}

function clearError(s: SchedulerState, task: number): void {
  blame(s, task, NONE, FailureReason.None);
  s.tasks.suspicious[task] = 0;
  s.report(task, ReportStatus.Lost);
  enterReleased(s, task);
}

// ---- to Forgotten

function forgetReleased(s: SchedulerState, task: number): void {
  if (!s.tasks.hadResult(task)) {
    s.tallies.dropped[s.tasks.tally[task]!]!++;
  }
  forget(s, task);
}

function forgetErred(s: SchedulerState, task: number): void {
  const { flags, tally } = s.tasks;
  if ((flags[task]! & TaskFlag.Placed) === 0) {
    const of = tally[task]!;
    s.tallies.failedAndGone[of]!++;
    s.tallies.done[of]! -= flags[task]! & TaskFlag.Again ? 1 : 0;
  }
  forget(s, task);
}

function forget(s: SchedulerState, task: number): void {
  const tasks = s.tasks;
  const { input, dependent } = tasks.edges;
  const first = tasks.firstInput[task]!;
  let e = first;
  for (; dependent[e] === task; e++) {
    tasks.detachDependent(e);
    if (tasks.firstDependent[input[e]!] === NONE) {
      dropIfUnneeded(s, input[e]!);
    }
  }
  if (e > first) {
    tasks.edges.giveBack(first, e - first);
  }
  if (tasks.restriction[task] !== NONE) {
    s.restrictions.letGo(tasks.restriction[task]!);
  }
  tasks.clear(task);
  s.output.forgotten(task);
}
