import { RunStatus } from '../records/enumerations';
import { NONE } from './edge-table';
import type {
  ReplicasChanged,
  TakeBackAnswered,
  TasksFinished,
  TasksSeceded,
  TransfersMeasured,
  WorkerJoined,
  WorkerLeft,
  WorkerPaused
} from './events';
import type { SchedulerState } from './scheduler-state';
import { emptyQueue, relievePaused } from './stall';
import { FailureReason, TaskState } from './task-state';
import { TaskFlag } from './task-table';
import { blame, move, recommendShipping } from './transitions';
import { WorkerRecord } from './worker-table';

/** Handles workers' events. The moves that these recommend are settled by `Scheduler.handle`, not here. */

export function workerJoined(s: SchedulerState, event: WorkerJoined): void {
  const worker = new WorkerRecord(
    event.worker,
    event.threads,
    event.memoryLimit,
    event.host,
    s.turns,
    event.names,
    event.resources
  );
  worker.retiring = event.retiring ?? false;
  s.workers.add(worker);
  for (let n = s.noWorker.length; n > 0; n--) {
    const task = s.noWorker.shift();
    if (s.tasks.state[task] === TaskState.NoWorker) {
      const isEligible = s.hasEligibleWorker(task);
      s.restrictions.noteInVain(s.tasks.restriction[task]!, !isEligible);
      if (isEligible) {
        s.recommendations.push(task, TaskState.Queued);
      } else {
        s.noWorker.push(task);
      }
    }
  }
  relievePaused(s);
}

export function workerLeft(s: SchedulerState, event: WorkerLeft): void {
  const worker = s.workers.get(event.worker);
  if (worker === undefined) {
    return;
  }
  emptyQueue(s, worker);
  giveUpRuns(s, worker, event.why);
  giveUpReplicas(s, worker, event.why === 'hopeless');
  s.workers.remove(worker);
  s.recalled.workerLeft(worker);
  s.output.dropWorker(worker);
  for (const line of s.waitingForResources.lines()) {
    const isHopeless = !s.hasEligibleWorker(line.head);
    while (isHopeless && line.count > 0) {
      move(s, line.head, TaskState.NoWorker);
    }
  }
  if (s.workers.all.length === 0) {
    while (s.commonCount > 0) {
      move(s, s.anyQueued(null), TaskState.NoWorker);
    }
    s.commonQueue.clear();
  }
}

function giveUpRuns(
  s: SchedulerState,
  worker: WorkerRecord,
  why: WorkerLeft['why']
): void {
  const tasks = s.tasks;
  let mayHaveBegun = why === 'closed' ? 0 : worker.threads;
  while (worker.firstProcessing !== NONE) {
    const task = worker.firstProcessing;
    // A task that still lacked an input cannot have been running.
    const mayHaveRun = tasks.waitingOn[task] === 0;
    // The oldest ones of those that could: as many as there were threads.
    const mayBeLost = mayHaveRun && mayHaveBegun > 0;
    mayHaveBegun -= mayBeLost ? 1 : 0;
    if (why !== 'closed' && mayHaveRun) {
      tasks.suspicious[task]!++;
    }
    if (
      tasks.suspicious[task]! > s.options.allowedFailures ||
      (why === 'hopeless' && mayHaveRun)
    ) {
      blame(s, task, task, FailureReason.KilledWorker);
      move(s, task, TaskState.Erred);
    } else {
      if (mayBeLost) {
        s.unrunFailures.add(task, task, FailureReason.None);
      }
      move(s, task, TaskState.Waiting);
    }
  }
}

// Workers come and go seldom: going through all tasks (a few ms for a million) is cheaper than a list per worker kept for this alone.
function giveUpReplicas(
  s: SchedulerState,
  worker: WorkerRecord,
  isHopeless: boolean
): void {
  const tasks = s.tasks;
  for (let task = 0; task < tasks.capacity; task++) {
    if (tasks.state[task] === TaskState.Memory && s.hasReplica(task, worker)) {
      loseReplica(
        s,
        task,
        worker,
        isHopeless ? FailureReason.KilledWorker : FailureReason.None
      );
    }
  }
}

/** A worker turns out not to hold a result. Without another holder the result is lost: it is made again, unless `reason` says why not. */
function loseReplica(
  s: SchedulerState,
  task: number,
  worker: WorkerRecord,
  reason = FailureReason.None
): void {
  s.removeReplica(task, worker);
  if (s.tasks.firstReplica[task] !== NONE) {
    recallUsers(s, task, worker);
    return;
  }
  const isPlaced = s.tasks.hasFlag(task, TaskFlag.Placed);
  if (isPlaced || reason !== FailureReason.None) {
    blame(s, task, task, isPlaced ? FailureReason.LostData : reason);
    move(s, task, TaskState.Erred);
  } else {
    move(s, task, TaskState.Released);
  }
}

/**
 * Takes back tasks that were sent to a worker, or queued for it, because of an input that is lost there: they would wait for it for ever, or
 * belong elsewhere now.
 */
function recallUsers(
  s: SchedulerState,
  input: number,
  worker: WorkerRecord
): void {
  const { edges, worker: place, firstDependent } = s.tasks;
  for (
    let e = firstDependent[input]!;
    e !== NONE;
    e = edges.nextDependent[e]!
  ) {
    const dependent = edges.dependent[e]!;
    if (place[dependent] === worker.id) {
      move(s, dependent, TaskState.Waiting);
    }
  }
}

export function workerPaused(s: SchedulerState, event: WorkerPaused): void {
  const worker = s.workers.get(event.worker);
  if (worker === undefined) {
    return;
  }
  worker.stalled = event.stalled;
  if (!worker.full) {
    worker.full = true;
    emptyQueue(s, worker);
    relievePaused(s);
  }
}

export function workerResumed(s: SchedulerState, workerId: number): void {
  const worker = s.workers.get(workerId);
  if (worker !== undefined) {
    worker.full = false;
    // (It could end nothing since it began nothing.)
    worker.busySince = s.now;
    worker.stalled = false;
    relievePaused(s);
  }
}

export function tasksFinished(s: SchedulerState, event: TasksFinished): void {
  const { taskIds, runIds, status, nbytes, duration } = event;
  const tasks = s.tasks;
  const worker = s.workers.get(event.worker);
  if (worker === undefined) {
    return;
  }
  worker.busySince = s.now;
  for (let k = 0; k < event.missingInputs.length; k++) {
    inputMissing(s, event.missingInputs[k]!, event.missingWorkers[k]!);
  }
  for (let i = 0; i < taskIds.length; i++) {
    const task = taskIds[i]!;
    if (!tasks.isRunOf(worker.id, task, runIds[i]!)) {
      // A run that was given up: its worker has been told to drop the result.
      s.endGivenUp(task, runIds[i]!, worker);
      continue;
    }
    s.endRun(task, worker);
    switch (status[i] as RunStatus) {
      case RunStatus.Ok:
        tasks.setBytes(task, nbytes[i]!);
        s.learnSize(task, nbytes[i]!);
        if (!tasks.hasFlag(task, TaskFlag.Seceded)) {
          s.learn(task, duration[i]!);
        }
        move(s, task, TaskState.Memory);
        break;
      case RunStatus.Failed:
        if (tasks.retries[task]! > 0) {
          tasks.retries[task]!--;
          move(s, task, TaskState.Waiting);
        } else {
          blame(s, task, task, FailureReason.Raised);
          move(s, task, TaskState.Erred);
        }
        break;
      case RunStatus.Rescheduled:
        if (++tasks.reschedules[task]! > s.options.mostReschedules) {
          blame(s, task, task, FailureReason.Rescheduled);
          move(s, task, TaskState.Erred);
        } else {
          move(s, task, TaskState.Waiting);
        }
        break;
      default:
        move(s, task, TaskState.Waiting);
    }
  }
}

export function tasksSeceded(s: SchedulerState, event: TasksSeceded): void {
  const { tasks } = s;
  const worker = s.workers.get(event.worker);
  if (worker === undefined) {
    return;
  }
  for (let i = 0; i < event.taskIds.length; i++) {
    const task = event.taskIds[i]!;
    if (
      !tasks.isRunOf(worker.id, task, event.runIds[i]!) ||
      tasks.hasFlag(task, TaskFlag.Seceded) !== event.back
    ) {
      // One that was given up has no thread any more.
      if (worker.lingering.delete(event.runIds[i]!)) {
        worker.busySince = s.now;
      }
      continue;
    }
    if (event.back) {
      s.rejoin(task, worker);
    } else {
      // What it takes beside the threads keeps nobody waiting for one.
      s.learn(task, event.duration[i]!);
      s.secede(task, worker);
    }
  }
}

function inputMissing(s: SchedulerState, task: number, workerId: number): void {
  const worker = s.workers.get(workerId);
  if (
    worker !== undefined &&
    s.tasks.state[task] === TaskState.Memory &&
    s.hasReplica(task, worker)
  ) {
    // The holder may have the result after all (its connection broke). It must drop it: the scheduler no longer counts that copy.
    s.output.release(worker, task, true);
    loseReplica(s, task, worker);
  }
}

export function transfersMeasured(
  s: SchedulerState,
  { bytes, seconds }: TransfersMeasured
): void {
  for (let i = 0; i < bytes.length; i++) {
    s.measuredBandwidth.add(bytes[i]!, seconds[i]!);
  }
}

export function replicasChanged(
  s: SchedulerState,
  event: ReplicasChanged
): void {
  const { state, worker: place } = s.tasks;
  const worker = s.workers.get(event.worker);
  if (worker === undefined) {
    return;
  }
  // (One that it is about to be told to drop is no copy.)
  const drops = s.output.dropsOf(worker);
  for (const task of event.added) {
    if (state[task] === TaskState.Memory) {
      if (!s.hasReplica(task, worker) && !drops.has(task)) {
        s.addCopy(task, worker);
      }
    } else if (
      state[task] !== TaskState.Processing ||
      place[task] !== worker.id
    ) {
      // A copy of a result that was given up meanwhile. No release goes to a worker that runs the task itself: it would
      // end the run.
      s.output.release(worker, task, false);
    }
  }
  for (const task of event.removed) {
    if (state[task] === TaskState.Memory && s.hasReplica(task, worker)) {
      loseReplica(s, task, worker);
    }
  }
}

export function takeBackAnswered(
  s: SchedulerState,
  event: TakeBackAnswered
): void {
  const { tasks } = s;
  const worker = s.workers.get(event.worker);
  if (worker === undefined) {
    return;
  }
  for (let i = 0; i < event.taskIds.length; i++) {
    const task = event.taskIds[i]!;
    if (event.taken[i] === 1) {
      s.endGivenUp(task, event.runIds[i]!, worker);
    }
    const taker = worker.askedBack.get(event.runIds[i]!);
    if (taker === undefined) {
      continue; // nobody has asked, or it has answered before
    }
    worker.askedBack.delete(event.runIds[i]!);
    if (!tasks.isRunOf(worker.id, task, event.runIds[i]!)) {
      continue;
    }
    if (event.taken[i] === 1) {
      tasks.countTakenBack(task);
      s.endRun(task, worker);
      s.takers.set(task, taker);
      move(s, task, TaskState.Waiting);
    } else {
      tasks.flags[task]! &= ~TaskFlag.TakeBackAsked;
      tasks.flags[task]! |= TaskFlag.TakeBackRefused;
      // It stays, and its dependents may follow.
      recommendShipping(s, task);
    }
  }
}
