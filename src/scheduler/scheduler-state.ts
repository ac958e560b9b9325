import { ReportStatus } from '../records/enumerations';
import { SeededRandom } from '../base/seeded-random';
import type { BookedTime } from './booked-time';
import { ClientQueue } from './client-queue';
import { ClientTurns } from './client-turns';
import { FunctionDurations } from './durations';
import { NONE } from './edge-table';
import type { Restriction } from './events';
import { InstructionBuffer } from './instruction-buffer';
import type { SchedulerOptions } from './options';
import type { IPlacementPolicy } from './placement';
import { FIRST_PLACE } from './rank';
import { Recommendations } from './recommendations';
import { FailureReason, TaskState } from './task-state';
import { TaskFlag, TaskTable } from './task-table';
import { Int32Queue } from '../base/int-queue';
import { TransitionLog } from './transition-log';
import { type WorkerRecord, WorkerTable } from './worker-table';

/**
 * The scheduler's state, and the small moves that keep its parts consistent with each other. Decisions are made in `transitions.ts`,
 * `tasks-ahead.ts` and `balance.ts`.
 */
export class SchedulerState {
  readonly tasks = new TaskTable();
  readonly turns = new ClientTurns(this.tasks);
  readonly workers = new WorkerTable();
  readonly durations: FunctionDurations;
  readonly random: SeededRandom;
  readonly log: TransitionLog;
  readonly output: InstructionBuffer;
  readonly recommendations = new Recommendations();
  readonly restrictions: Restriction[] = [];
  private _restrictionIndex = new Map<string, number>();
  /** `Queued` tasks that any worker may take. May hold dead entries. */
  readonly commonQueue = new ClientQueue(this.turns);
  /** The living entries of `commonQueue`. */
  commonCount = 0;
  /** Tasks that entered `NoWorker`, oldest first. May hold dead entries. */
  readonly noWorker = new Int32Queue();
  /** How many are in `NoWorker`. */
  noWorkerCount = 0;
  /** The present time in seconds: that of the present event. */
  now = 0;
  /** Tasks that have failed, or been finished for the first time: a run that only makes up for a loss is no progress. */
  stepsAhead = 0;
  /** The run id of the next assignment. */
  nextRunId = 1;
  /** The place of the next task in the order of all, see `rank.ts`. */
  nextPlace = FIRST_PLACE;

  constructor(
    readonly options: SchedulerOptions,
    readonly policy: IPlacementPolicy,
    seed: number
  ) {
    this.durations = new FunctionDurations(options.unknownSeconds);
    this.random = new SeededRandom(seed);
    this.log = new TransitionLog(options.storyLength);
    this.output = new InstructionBuffer(this.tasks);
  }

  /** The index of a restriction in `restrictions`; equal ones share one. */
  internRestriction(restriction: Restriction): number {
    const key = JSON.stringify([restriction.allowOther, restriction.workers]);
    let index = this._restrictionIndex.get(key);
    if (index === undefined) {
      index = this.restrictions.push(restriction) - 1;
      this._restrictionIndex.set(key, index);
    }
    return index;
  }

  /** Whether the task's restriction, if it has one, lets it run at this worker. */
  isEligible(task: number, worker: WorkerRecord): boolean {
    const index = this.tasks.restriction[task]!;
    if (index === NONE) {
      return true;
    }
    const restriction = this.restrictions[index]!;
    if (isMeant(restriction, worker)) {
      return true;
    }
    return (
      restriction.allowOther &&
      !this.workers.all.some(other => isMeant(restriction, other))
    );
  }

  hasEligibleWorker(task: number): boolean {
    if (this.tasks.restriction[task] === NONE) {
      return this.workers.all.length > 0;
    }
    return this.workers.all.some(worker => this.isEligible(task, worker));
  }

  /** Notes that a task has entered `NoWorker`. */
  putAside(task: number): void {
    this.noWorker.push(task);
    if (this.noWorker.length > 2 * this.noWorkerCount + 64) {
      this.tasksWithoutWorker();
    }
  }

  /** The tasks in `NoWorker`, in the order of their first entries; drops the others. */
  tasksWithoutWorker(): number[] {
    const { noWorker, tasks } = this;
    const found = new Set<number>();
    for (let left = noWorker.length; left > 0; left--) {
      const task = noWorker.shift();
      if (tasks.state[task] === TaskState.NoWorker && !found.has(task)) {
        found.add(task);
        noWorker.push(task);
      }
    }
    return [...found];
  }

  /** Puts a task into a queue: of one worker, or (null) the common one. */
  enqueue(task: number, home: WorkerRecord | null): void {
    const tasks = this.tasks;
    const rank = tasks.rank[task]!;
    const client = tasks.client[task]!;
    if (home === null) {
      tasks.worker[task] = NONE;
      this.commonQueue.push(task, rank, client);
      this.commonCount++;
    } else {
      tasks.worker[task] = home.id;
      home.queue.push(task, rank, client);
      home.queuedCount++;
      this._book(task, home.queuedTime);
    }
  }

  /** Takes a task off its queue's books. Its entry in the heap is dead from now on, or was popped. */
  dequeue(task: number): void {
    const tasks = this.tasks;
    const homeId = tasks.worker[task]!;
    tasks.worker[task] = NONE;
    if (homeId === NONE) {
      this.commonCount--;
      if (this.commonQueue.length > 2 * this.commonCount + 64) {
        this.commonQueue.retain(other => this._isQueuedAt(other, NONE));
      }
      return;
    }
    const home = this.workers.get(homeId)!;
    home.queuedCount--;
    this._unbook(task, home.queuedTime);
    if (home.queue.length > 2 * home.queuedCount + 64) {
      home.queue.retain(other => this._isQueuedAt(other, homeId));
    }
  }

  /** The best task of a queue (null: the common one), or NONE; drops dead entries on the way. */
  peekQueue(home: WorkerRecord | null): number {
    const queue = home === null ? this.commonQueue : home.queue;
    const homeId = home === null ? NONE : home.id;
    for (;;) {
      const task = queue.peek();
      if (task === NONE || this._isQueuedAt(task, homeId)) {
        return task;
      }
      queue.pop();
    }
  }

  /** Enters a task into its worker's list and books. */
  linkProcessing(task: number, worker: WorkerRecord): void {
    const tasks = this.tasks;
    const last = worker.lastProcessing;
    tasks.worker[task] = worker.id;
    tasks.previousProcessing[task] = last;
    tasks.nextProcessing[task] = NONE;
    if (last === NONE) {
      worker.firstProcessing = task;
    } else {
      tasks.nextProcessing[last] = task;
    }
    worker.lastProcessing = task;
    worker.processingCount++;
    this._book(task, worker.processingTime);
  }

  /** A run leaves its worker's threads to others; it stays in the worker's list. */
  secede(task: number, worker: WorkerRecord): void {
    // It has begun: it will not be given back.
    this.tasks.flags[task]! |= TaskFlag.Seceded | TaskFlag.TakeBackRefused;
    worker.secededCount++;
    this._leaveThread(task, worker);
  }

  /** A run that has seceded holds a thread again. */
  rejoin(task: number, worker: WorkerRecord): void {
    this.tasks.flags[task]! &= ~TaskFlag.Seceded;
    worker.secededCount--;
    worker.processingCount++;
    this._book(task, worker.processingTime);
  }

  /** Learns how long a task of a function held its thread; what is booked for others is booked anew if need be. */
  learn(task: number, seconds: number): void {
    const row = this.tasks.functionRow[task]!;
    const change = this.durations.add(row, seconds);
    if (change !== 0) {
      for (const worker of this.workers.all) {
        worker.processingTime.change(row, change);
        worker.queuedTime.change(row, change);
      }
    }
  }

  private _book(task: number, time: BookedTime): void {
    const row = this.tasks.functionRow[task]!;
    time.add(row, this.durations.booked(row));
  }

  private _unbook(task: number, time: BookedTime): void {
    const row = this.tasks.functionRow[task]!;
    time.remove(row, this.durations.booked(row));
  }

  private _leaveThread(task: number, worker: WorkerRecord): void {
    worker.processingCount--;
    this._unbook(task, worker.processingTime);
  }

  /** Takes a task off its worker's list and books. */
  unlinkProcessing(task: number): WorkerRecord {
    const tasks = this.tasks;
    const worker = this.workers.get(tasks.worker[task]!)!;
    const previous = tasks.previousProcessing[task]!;
    const next = tasks.nextProcessing[task]!;
    if (previous === NONE) {
      worker.firstProcessing = next;
    } else {
      tasks.nextProcessing[previous] = next;
    }
    if (next === NONE) {
      worker.lastProcessing = previous;
    } else {
      tasks.previousProcessing[next] = previous;
    }
    tasks.worker[task] = NONE;
    if (tasks.hasFlag(task, TaskFlag.Seceded)) {
      worker.secededCount--;
    } else {
      this._leaveThread(task, worker);
    }
    tasks.flags[task]! &= ~RUN_FLAGS;
    return worker;
  }

  /** Asks a worker to give a run back if it has not begun it. */
  askBack(task: number, worker: WorkerRecord): void {
    const runId = this.tasks.runId[task]!;
    this.tasks.flags[task]! |= TaskFlag.TakeBackAsked;
    worker.askedBack.add(runId);
    this.output.takeBack(worker, task, runId);
  }

  /** Notes that a worker holds a task's result. */
  addReplica(task: number, worker: WorkerRecord): void {
    const tasks = this.tasks;
    tasks.firstReplica[task] = tasks.replicas.add(
      tasks.firstReplica[task]!,
      worker.id
    );
    worker.storedBytes += tasks.nbytes[task]!;
    worker.results?.add(task);
  }

  /** Notes that a worker does not hold a task's result any more. */
  removeReplica(task: number, worker: WorkerRecord): void {
    const tasks = this.tasks;
    const head = tasks.firstReplica[task]!;
    tasks.firstReplica[task] = tasks.replicas.remove(head, worker.id);
    worker.storedBytes = Math.max(0, worker.storedBytes - tasks.nbytes[task]!);
    worker.results?.delete(task);
  }

  hasReplica(task: number, worker: WorkerRecord): boolean {
    return this.tasks.replicas.has(this.tasks.firstReplica[task]!, worker.id);
  }

  /** Tells every client that wants the task what it has become. */
  report(task: number, status: ReportStatus): void {
    const tasks = this.tasks;
    const { wants } = tasks;
    const isErred = status === ReportStatus.Erred;
    for (
      let cell = tasks.firstWant[task]!;
      cell !== NONE;
      cell = wants.next(cell)
    ) {
      this.output.report(
        wants.value(cell),
        task,
        status,
        isErred ? tasks.cause[task]! : NONE,
        isErred ? (tasks.reason[task]! as FailureReason) : FailureReason.None
      );
    }
  }

  private _isQueuedAt(task: number, homeId: number): boolean {
    return (
      this.tasks.state[task] === TaskState.Queued &&
      this.tasks.worker[task] === homeId
    );
  }
}

// Flags of a run, not of a task.
const RUN_FLAGS =
  TaskFlag.TakeBackAsked | TaskFlag.TakeBackRefused | TaskFlag.Seceded;

function isMeant({ workers }: Restriction, worker: WorkerRecord): boolean {
  return workers.some(named => worker.answersTo(named));
}
