import { ReportStatus } from '../records/enumerations';
import { SeededRandom } from '../base/seeded-random';
import { MeasuredBandwidth } from './bandwidth';
import type { BookedSum } from './booked-sum';
import { ClientQueue } from './client-queue';
import { ClientTurns } from './client-turns';
import { FunctionDurations } from './durations';
import { NONE } from './edge-table';
import { InstructionBuffer } from './instruction-buffer';
import type { SchedulerOptions } from './options';
import type { IPlacementPolicy } from './placement';
import { FIRST_PLACE } from './rank';
import { RecalledRuns } from './recalled-runs';
import { Recommendations } from './recommendations';
import { ResourceQueues } from './resource-queues';
import { Restrictions } from './restrictions';
import { ResultSizes } from './result-sizes';
import { Tallies } from './tallies';
import { FailureReason, TaskState } from './task-state';
import { TaskFlag, TaskTable } from './task-table';
import { Int32Queue } from '../base/int-queue';
import { TransitionLog } from './transition-log';
import { UnrunFailures } from './unrun-failures';
import type { Need } from './worker-resources';
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
  readonly resultSizes: ResultSizes;
  readonly measuredBandwidth: MeasuredBandwidth;
  readonly random: SeededRandom;
  readonly log: TransitionLog;
  readonly output: InstructionBuffer;
  readonly recommendations = new Recommendations();
  readonly recalled = new RecalledRuns();
  readonly unrunFailures = new UnrunFailures();
  readonly restrictions = new Restrictions(this.workers);
  /** `Queued` tasks that any worker may take. May hold dead entries. */
  readonly commonQueue = new ClientQueue(this.turns);
  /** The living entries of `commonQueue`. */
  commonCount = 0;
  /** `Queued` tasks that wait for resources. */
  readonly waitingForResources = new ResourceQueues(
    this.turns,
    this.tasks,
    this.restrictions
  );
  readonly tallies = new Tallies();
  /** Tasks that a worker gives back in the present event, with the worker for which it was asked, or NONE. */
  readonly takers = new Map<number, number>();
  /** Tasks in `Waiting`. */
  waitingCount = 0;
  /** Tasks that entered `NoWorker`, oldest first. May hold dead entries. */
  readonly noWorker = new Int32Queue();
  /** How many are in `NoWorker`. */
  noWorkerCount = 0;
  /** By their restrictions, or NONE: they are looked at each second, and may be millions. */
  readonly noWorkerBy = new Map<number, number>();
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
    // (as many results of less as are ever ahead are not too much)
    this.resultSizes = new ResultSizes(options.aheadBytes / options.aheadMost);
    this.measuredBandwidth = new MeasuredBandwidth(
      options.bandwidth,
      options.transferLatency
    );
    this.random = new SeededRandom(seed);
    this.log = new TransitionLog(options.storyLength);
    this.output = new InstructionBuffer(this.tasks);
  }

  /** Bytes per second between two workers. */
  get bandwidth(): number {
    return this.measuredBandwidth.bytesPerSecond;
  }

  /** What a task holds of its worker's resources, or null. */
  needOf(task: number): Need | null {
    return this.restrictions.needOf(this.tasks.restriction[task]!);
  }

  /** Whether the task's restriction, if it has one, lets it run at this worker, now or when its resources are free. */
  isEligible(task: number, worker: WorkerRecord): boolean {
    return this.restrictions.allows(this.tasks.restriction[task]!, worker);
  }

  /** The workers that may run a task, now or when its resources are free. */
  eligibleFor(task: number): readonly WorkerRecord[] {
    return this.restrictions.able(this.tasks.restriction[task]!);
  }

  hasEligibleWorker(task: number): boolean {
    return this.eligibleFor(task).length > 0;
  }

  /** Counts a task that enters `NoWorker` (1), or leaves it (−1). */
  countWithoutWorker(task: number, by: 1 | -1): void {
    const restriction = this.tasks.restriction[task]!;
    const count = (this.noWorkerBy.get(restriction) ?? 0) + by;
    this.noWorkerCount += by;
    if (count === 0) {
      this.noWorkerBy.delete(restriction);
    } else {
      this.noWorkerBy.set(restriction, count);
    }
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

  /** Puts a task into a queue: of one worker, from whose peers some inputs must come perhaps, (null) the common one, or that of its needs. */
  enqueue(task: number, home: WorkerRecord | null, lacksInputs = false): void {
    const tasks = this.tasks;
    const rank = tasks.rank[task]!;
    const client = tasks.client[task]!;
    if (this.needOf(task) !== null) {
      tasks.worker[task] = NONE;
      this.waitingForResources.push(task);
    } else if (home === null) {
      tasks.worker[task] = NONE;
      this.commonQueue.push(task, rank, client);
      this.commonCount++;
    } else {
      tasks.worker[task] = home.id;
      if (lacksInputs) {
        tasks.flags[task]! |= TaskFlag.Lacks;
      } else {
        tasks.flags[task]! &= ~TaskFlag.Lacks;
      }
      const queue = tasks.isRoot(task)
        ? home.rootQueue
        : lacksInputs
          ? home.fetchQueue
          : home.queue;
      queue.push(task, rank, client);
      home.queuedCount++;
      home.lackingCount += Number(lacksInputs);
      this._book(task, this._timeOfQueued(task, home));
    }
  }

  /** Takes a task off its queue's books. Its entry in the heap is dead from now on, or was popped. */
  dequeue(task: number): void {
    const tasks = this.tasks;
    const homeId = tasks.worker[task]!;
    tasks.worker[task] = NONE;
    if (this.needOf(task) !== null) {
      this.waitingForResources.remove(task);
      return;
    }
    if (homeId === NONE) {
      this.commonCount--;
      if (this.commonQueue.length > 2 * this.commonCount + 64) {
        this.commonQueue.retain(other => this.isQueuedAt(other, NONE));
      }
      return;
    }
    const home = this.workers.get(homeId)!;
    home.queuedCount--;
    home.lackingCount -= Number(tasks.hasFlag(task, TaskFlag.Lacks));
    this._unbook(task, this._timeOfQueued(task, home));
    let entries = 0;
    for (const { length } of home.queues) {
      entries += length;
    }
    if (entries > 2 * home.queuedCount + 64) {
      for (const queue of home.queues) {
        queue.retain(other => this.isQueuedAt(other, homeId));
      }
    }
  }

  /** A task that is queued for a worker, or (null) for any; or NONE. */
  anyQueued(home: WorkerRecord | null): number {
    if (home === null) {
      return this.peekQueue(this.commonQueue, null);
    }
    for (const queue of home.queues) {
      const task = this.peekQueue(queue, home);
      if (task !== NONE) {
        return task;
      }
    }
    return NONE;
  }

  /**
   * The best task that is queued for a worker and lacks inputs there, or NONE. Those whose inputs have come meanwhile move to its other
   * queue: one common input may have been all that hundreds lacked.
   */
  nextToFetch(home: WorkerRecord): number {
    const { rank, client } = this.tasks;
    const { queue, fetchQueue } = home;
    for (;;) {
      const task = this.peekQueue(fetchQueue, home);
      if (task === NONE || !this.hasInputs(task, home)) {
        return task;
      }
      fetchQueue.pop();
      if (this.tasks.hasFlag(task, TaskFlag.Lacks)) {
        this._unbook(task, this._timeOfQueued(task, home));
        this.tasks.flags[task]! &= ~TaskFlag.Lacks;
        home.lackingCount--;
        this._book(task, this._timeOfQueued(task, home));
        queue.push(task, rank[task]!, client[task]!);
      }
    }
  }

  /** The best task of a queue of a worker (null: the common one), or NONE; drops dead entries on the way. */
  peekQueue(queue: ClientQueue, home: WorkerRecord | null): number {
    const homeId = home === null ? NONE : home.id;
    for (;;) {
      const task = queue.peek();
      if (task === NONE || this.isQueuedAt(task, homeId)) {
        return task;
      }
      queue.pop();
    }
  }

  /**
   * Enters a task into its worker's list and books.
   *
   * @param mayLack - whether it could lack inputs there that other workers hold.
   */
  linkProcessing(task: number, worker: WorkerRecord, mayLack: boolean): void {
    const tasks = this.tasks;
    const last = worker.lastProcessing;
    tasks.worker[task] = worker.id;
    const row = tasks.runs.take();
    tasks.runRow[task] = row;
    tasks.runs.previous[row] = last;
    if (last === NONE) {
      worker.firstProcessing = task;
    } else {
      tasks.runs.next[tasks.runRow[last]!] = task;
    }
    worker.lastProcessing = task;
    this._takeThread(task, worker);
    if (mayLack) {
      this.countLacking(task, worker);
    } else if (tasks.waitingOn[task] === 0) {
      tasks.flags[task]! |= TaskFlag.Runnable;
      this._countRunnable(worker);
      this.durations.begin(tasks.functionRow[task]!, this.now);
    }
    const need = this.needOf(task);
    if (need !== null) {
      tasks.flags[task]! |= TaskFlag.Holds;
      worker.resources.take(need);
    }
  }

  /** The present run of a task has ended, or will not begin: what it holds is free. */
  endRun(task: number, worker: WorkerRecord): void {
    this.tasks.flags[task]! |= TaskFlag.Over;
    this._giveBackResources(task, worker);
  }

  /** A run has ended, or will not begin: if it was given up, what it held is free. @param task - −1: not known any more. */
  endGivenUp(task: number, run: number, worker: WorkerRecord): void {
    this.recalled.ended(task, run);
    worker.resources.ended(run);
    worker.lingering.delete(run);
  }

  /** Estimates how long runs that were given up go on: as long as others of their function, or as they have gone on since. */
  reckonLingering(): void {
    for (const worker of this.workers.all) {
      worker.lingeringSeconds = 0;
      let left = worker.lingering.size === 0 ? 0 : worker.threads;
      for (const { row, since } of worker.lingering.values()) {
        if (left-- === 0) {
          break;
        }
        worker.lingeringSeconds += Math.max(
          this.durations.booked(row),
          this.now - since
        );
      }
    }
  }

  private _giveBackResources(task: number, worker: WorkerRecord): void {
    if (this.tasks.hasFlag(task, TaskFlag.Holds)) {
      this.tasks.flags[task]! &= ~TaskFlag.Holds;
      worker.resources.giveBack(this.needOf(task)!);
    }
  }

  /** A run is given up. If its worker has begun it, it cannot be stopped: it has its thread and its resources until it ends. */
  private _giveUpRun(task: number, worker: WorkerRecord): void {
    const { runId, flags, functionRow, waitingOn } = this.tasks;
    const run = runId[task]!;
    const holds = (flags[task]! & TaskFlag.Holds) !== 0;
    // One that was shipped ahead of its inputs has hardly begun: workers tell of what they have finished before anything that takes long.
    const mayHaveThread =
      (flags[task]! & TaskFlag.Seceded) === 0 && waitingOn[task] === 0;
    if (!holds && !mayHaveThread) {
      return;
    }
    if (this.output.isUnsent(worker, run)) {
      this._giveBackResources(task, worker);
      return;
    }
    const row = functionRow[task]!;
    if (holds) {
      const need = this.needOf(task)!;
      worker.resources.keepFor(run, { need, row, since: this.now });
    }
    if (mayHaveThread) {
      if (worker.freeThreads > 0) {
        worker.lingeringSeconds += this.durations.booked(row);
      }
      worker.lingering.set(run, { row, since: this.now });
    }
    // Also if it was asked back just now: then the worker would forget it first.
    if ((flags[task]! & TaskFlag.TakeBackRefused) === 0) {
      this.output.askWhetherBegun(worker, task, run);
    }
  }

  /** Looks anew which inputs of a processing task are still to come to its worker. */
  countLacking(task: number, worker: WorkerRecord): void {
    const { edges, state, firstInput } = this.tasks;
    let count = 0;
    for (let e = firstInput[task]!; edges.dependent[e] === task; e++) {
      const input = edges.input[e]!;
      if (
        state[input] === TaskState.Memory &&
        !this.hasReplica(input, worker)
      ) {
        count++;
      }
    }
    this._setLacking(task, worker, count);
    this.judgeRunnable(task, worker);
  }

  private _setLacking(task: number, worker: WorkerRecord, count: number): void {
    const { runs, runRow } = this.tasks;
    const row = runRow[task]!;
    worker.fetchingCount += Number(count > 0) - Number(runs.lacking[row]! > 0);
    runs.lacking[row] = count;
  }

  private _countRunnable(worker: WorkerRecord): void {
    if (worker.runnableCount++ < worker.threads) {
      worker.busySince = this.now;
    }
  }

  /** Counts a processing task among those that could run, or no longer. */
  judgeRunnable(task: number, worker: WorkerRecord): void {
    const { flags, waitingOn } = this.tasks;
    const isRunnable =
      waitingOn[task] === 0 &&
      this.tasks.lackingOf(task) === 0 &&
      (flags[task]! & TaskFlag.Seceded) === 0;
    if (isRunnable !== ((flags[task]! & TaskFlag.Runnable) !== 0)) {
      flags[task]! ^= TaskFlag.Runnable;
      if (isRunnable) {
        this._countRunnable(worker);
      } else {
        worker.runnableCount--;
      }
      this.durations.begin(this.tasks.functionRow[task]!, this.now);
    }
  }

  /** Notes that a worker has got a copy of a result: tasks there may lack one input less. */
  addCopy(task: number, worker: WorkerRecord): void {
    this.addReplica(task, worker);
    if (worker.fetchingCount === 0) {
      return;
    }
    const { edges, state, worker: place, firstDependent } = this.tasks;
    for (
      let e = firstDependent[task]!;
      e !== NONE;
      e = edges.nextDependent[e]!
    ) {
      const dependent = edges.dependent[e]!;
      if (
        state[dependent] === TaskState.Processing &&
        place[dependent] === worker.id
      ) {
        const lacking = this.tasks.lackingOf(dependent);
        this._setLacking(dependent, worker, lacking - 1);
        this.judgeRunnable(dependent, worker);
      }
    }
  }

  /** A run leaves its worker's threads to others; it stays in the worker's list. */
  secede(task: number, worker: WorkerRecord): void {
    worker.busySince = this.now;
    // It has begun: it will not be given back.
    this.tasks.flags[task]! |= TaskFlag.Seceded | TaskFlag.TakeBackRefused;
    worker.secededCount++;
    this._leaveThread(task, worker);
    this.judgeRunnable(task, worker);
  }

  /** A run that has seceded holds a thread again. */
  rejoin(task: number, worker: WorkerRecord): void {
    this.tasks.flags[task]! &= ~TaskFlag.Seceded;
    worker.secededCount--;
    this._takeThread(task, worker);
    this.judgeRunnable(task, worker);
  }

  /** Learns how long a task of a function held its thread; what is booked for others is booked anew if need be. */
  learn(task: number, seconds: number): void {
    const row = this.tasks.functionRow[task]!;
    const isNew = !this.durations.isKnown(row);
    const usual = this.durations.usual(row);
    const change = this.durations.add(row, seconds);
    const usualChange = this.durations.usual(row) - usual;
    if (isNew || change !== 0) {
      this._rebook(row, change, isNew);
    }
    if (usualChange !== 0) {
      for (const worker of this.workers.all) {
        worker.usualSeconds.change(row, usualChange);
      }
    }
  }

  /** Learns how large the result of a task of a function is. */
  learnSize(task: number, nbytes: number): void {
    const row = this.tasks.functionRow[task]!;
    const change = this.resultSizes.add(row, nbytes);
    if (change !== 0) {
      for (const worker of this.workers.all) {
        worker.resultBytes.change(row, change);
      }
    }
  }

  /** Lets the guesses grow that are due. */
  growGuesses(): void {
    const { durations, now } = this;
    for (
      let row = durations.nextDue(now);
      row !== -1;
      row = durations.nextDue(now)
    ) {
      this._rebook(row, durations.grow(row, now), false);
    }
  }

  private _rebook(row: number, change: number, becomesKnown: boolean): void {
    for (const worker of this.workers.all) {
      worker.processingSeconds.change(row, change, becomesKnown);
      worker.queuedSeconds.change(row, change, becomesKnown);
      worker.rootSeconds.change(row, change, becomesKnown);
    }
  }

  private _timeOfQueued(task: number, home: WorkerRecord): BookedSum {
    return this.tasks.isRoot(task) ? home.rootSeconds : home.queuedSeconds;
  }

  private _book(task: number, time: BookedSum): void {
    const row = this.tasks.functionRow[task]!;
    time.add(row, this.durations.booked(row), this.durations.isKnown(row));
  }

  private _unbook(task: number, time: BookedSum): void {
    const row = this.tasks.functionRow[task]!;
    time.remove(row, this.durations.booked(row), this.durations.isKnown(row));
  }

  /** Books a task among those that run on threads, or will: it may be sent ahead. */
  private _takeThread(task: number, worker: WorkerRecord): void {
    const row = this.tasks.functionRow[task]!;
    worker.processingCount++;
    this._book(task, worker.processingSeconds);
    worker.usualSeconds.add(row, this.durations.usual(row));
    worker.resultBytes.add(row, this.resultSizes.booked(row));
  }

  private _leaveThread(task: number, worker: WorkerRecord): void {
    const row = this.tasks.functionRow[task]!;
    worker.processingCount--;
    this._unbook(task, worker.processingSeconds);
    worker.usualSeconds.remove(row, this.durations.usual(row));
    worker.resultBytes.remove(row, this.resultSizes.booked(row));
  }

  /** Takes a task off its worker's list and books. */
  unlinkProcessing(task: number): WorkerRecord {
    const tasks = this.tasks;
    const worker = this.workers.get(tasks.worker[task]!)!;
    const { runs, runRow } = tasks;
    const row = runRow[task]!;
    const previous = runs.previous[row]!;
    const next = runs.next[row]!;
    if (previous === NONE) {
      worker.firstProcessing = next;
    } else {
      runs.next[runRow[previous]!] = next;
    }
    if (next === NONE) {
      worker.lastProcessing = previous;
    } else {
      runs.previous[runRow[next]!] = previous;
    }
    tasks.worker[task] = NONE;
    if (!tasks.hasFlag(task, TaskFlag.Over)) {
      this._giveUpRun(task, worker);
    }
    if (tasks.hasFlag(task, TaskFlag.Seceded)) {
      worker.secededCount--;
    } else {
      this._leaveThread(task, worker);
    }
    if (tasks.hasFlag(task, TaskFlag.Runnable)) {
      worker.runnableCount--;
    } else if (runs.lacking[row]! > 0) {
      this._setLacking(task, worker, 0);
    }
    runs.giveBack(row);
    tasks.flags[task]! &= ~RUN_FLAGS;
    return worker;
  }

  /** Asks a worker to give a run back if it has not begun it. @param taker - for whom; null: for whoever may. */
  askBack(
    task: number,
    worker: WorkerRecord,
    taker: WorkerRecord | null
  ): void {
    const runId = this.tasks.runId[task]!;
    this.tasks.flags[task]! |= TaskFlag.TakeBackAsked;
    worker.askedBack.set(runId, taker?.id ?? NONE);
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

  /** Whether a worker holds all inputs of a task. */
  hasInputs(task: number, worker: WorkerRecord): boolean {
    const { edges, firstInput } = this.tasks;
    for (let e = firstInput[task]!; edges.dependent[e] === task; e++) {
      if (!this.hasReplica(edges.input[e]!, worker)) {
        return false;
      }
    }
    return true;
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

  /** Whether a task is queued for a worker, or (`NONE`) for any; not those that wait for resources. */
  isQueuedAt(task: number, homeId: number): boolean {
    return (
      this.tasks.state[task] === TaskState.Queued &&
      this.tasks.worker[task] === homeId &&
      (homeId !== NONE || this.needOf(task) === null)
    );
  }
}

// Flags of a run, not of a task.
const RUN_FLAGS =
  TaskFlag.TakeBackAsked |
  TaskFlag.TakeBackRefused |
  TaskFlag.Seceded |
  TaskFlag.Runnable |
  TaskFlag.Holds |
  TaskFlag.Over;
