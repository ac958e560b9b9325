import type { DenseTaskId } from '../records/ids';
import { assertUnreachable } from '../base/assert';
import { balance } from './balance';
import {
  clientCancels,
  clientLeft,
  clientReleases,
  clientRetries,
  clientWants
} from './client-events';
import { copiesAsked, copiesDropped } from './copies';
import type { SchedulerEvent } from './events';
import { NONE } from './edge-table';
import { GraphIntake } from './graph-intake';
import type { Instruction } from './instructions';
import { DEFAULT_OPTIONS, type SchedulerOptions } from './options';
import { CheapestPlacement, type IPlacementPolicy } from './placement';
import { giveResources } from './resources';
import { workerRetires, workerStays } from './retirement';
import { SchedulerState } from './scheduler-state';
import {
  anUnplaced,
  areUnplacedInVain,
  giveUpStalled,
  isDeserted,
  isStalled,
  unplacedCount
} from './stall';
import { TaskFlag, type TaskTable } from './task-table';
import {
  fillWorkers,
  prioritiesAmongClients,
  shipHeldBack
} from './tasks-ahead';
import type { MoveListener, StoryLine } from './transition-log';
import { settle } from './transitions';
import type { UnrunFailure } from './unrun-failures';
import { validateState } from './validate-state';
import { countByTally, type TallyCounts } from './tallies';
import { takenForBegun } from './begun-tasks';
import { waitingTasks } from './waiting-tasks';
import {
  replicasChanged,
  takeBackAnswered,
  tasksFinished,
  tasksSeceded,
  transfersMeasured,
  workerJoined,
  workerLeft,
  workerPaused,
  workerResumed
} from './worker-events';
import { type Amounts, type Need, WorkerResources } from './worker-resources';
import type { WorkerRecord, WorkerTable } from './worker-table';

/** How to make a {@link Scheduler}. */
export type SchedulerSetup = {
  /** Settings that differ from {@link DEFAULT_OPTIONS}. */
  readonly options?: Partial<SchedulerOptions>;
  /** Where tasks with inputs go; the cheapest place when not given. */
  readonly policy?: IPlacementPolicy;
  /** Seed of the generator behind every random choice. */
  readonly seed?: number;
};

/** A run that was given up and may go on: of which function, and since when. */
export type GivenUpRun = {
  readonly functionId: number;
  readonly since: number;
};

/**
 * The scheduler: a pure machine. Events go in, instructions come out; the same events and seed give the same instructions.
 *
 * ```ts
 *   scheduler.handle({ type: 'workerJoined', at: 0, worker: 0, threads: 2, memoryLimit: 0, host: 'a' });
 *   scheduler.handle({ type: 'graphSubmitted', at: 0.1, … });
 *   for (const instruction of scheduler.takeInstructions()) perform(instruction);
 * ```
 */
export class Scheduler {
  private readonly _state: SchedulerState;
  private readonly _intake = new GraphIntake();
  private _rounds = 0;

  constructor(setup: SchedulerSetup = {}) {
    this._state = new SchedulerState(
      { ...DEFAULT_OPTIONS, ...setup.options },
      setup.policy ?? new CheapestPlacement(),
      setup.seed ?? 0
    );
  }

  /** How many rounds of decisions the last event took: at most two, and one for each run that was begun. */
  get rounds(): number {
    return this._rounds;
  }

  /** Counts the runs that were begun; it wraps. */
  get runsBegun(): number {
    return this._state.nextRunId - 1;
  }

  get options(): SchedulerOptions {
    return this._state.options;
  }

  /** The scheduler's columns per task; to be read only, and between events (except `unfinishedSince`, see there). */
  get tasks(): TaskTable {
    return this._state.tasks;
  }

  /** The scheduler's facts per worker; to be read only, and between events. */
  get workers(): WorkerTable {
    return this._state.workers;
  }

  /** Bytes a second from one worker to another, as measured last. */
  get bandwidth(): number {
    return this._state.bandwidth;
  }

  /** Tasks that could run but lie in a queue, since no worker has room. */
  get queuedCount(): number {
    const { commonCount, waitingForResources } = this._state;
    let count = commonCount + waitingForResources.count;
    for (const worker of this._state.workers.all) {
      count += worker.queuedCount;
    }
    return count;
  }

  /** Estimated seconds of the tasks that a worker has or that are queued for it, those of unknown functions reckoned at their most. */
  secondsAt({
    processingSeconds,
    queuedSeconds,
    rootSeconds
  }: WorkerRecord): number {
    const { durations } = this._state;
    const secondsOf = (row: number): number => durations.cautious(row);
    return [processingSeconds, queuedSeconds, rootSeconds].reduce(
      (sum, time) => sum + time.sumOf(secondsOf),
      0
    );
  }

  /** Whether tasks wait for workers that are full while nothing runs anywhere and nothing frees memory. */
  get isStalled(): boolean {
    return isStalled(this._state);
  }

  /** Counts the tasks that have failed, or been finished for the first time. */
  get stepsAhead(): number {
    return this._state.stepsAhead;
  }

  /** Whether no worker takes tasks: there is none, or all are to leave. */
  get isDeserted(): boolean {
    return isDeserted(this._state);
  }

  /** How many tasks that no worker of the cluster may run a new worker might run that has these resources. A name that `workers=` gives may be that of the first one that starts, until one has joined in vain. */
  placeableCount(resources: Amounts): number {
    const s = this._state;
    if (s.noWorkerCount === 0) {
      return 0;
    }
    const worker = new WorkerResources(resources);
    const isFirst = s.workers.all.length === 0;
    let placeable = 0;
    for (const [restriction, count] of s.noWorkerBy) {
      const need = s.restrictions.needOf(restriction);
      const mayBeNamed =
        !s.restrictions.isBound(restriction) ||
        (isFirst && !s.restrictions.isInVain(restriction));
      placeable +=
        mayBeNamed && (need === null || worker.has(need)) ? count : 0;
    }
    return placeable;
  }

  /** Whether there are tasks that could run, and that no worker may run. */
  get hasTasksWithoutWorker(): boolean {
    return this._state.noWorkerCount > 0;
  }

  /** Whether all of {@link Scheduler.unplacedCount} have waited beside workers that `workers=` does not name, so that starting another one is no help. */
  get areUnplacedInVain(): boolean {
    return areUnplacedInVain(this._state);
  }

  /** How many tasks could run, and have no worker that would take them: those, and what only waits for workers that are to leave. */
  get unplacedCount(): number {
    return unplacedCount(this._state);
  }

  /**
   * How many tasks wait, by what they wait for, and what some of them need.
   *
   * @param heldUp - workers that begin no task now, by id: how many of those that they have begun go on.
   */
  waitingTasks(
    heldUp: ReadonlyMap<number, number>
  ): ReturnType<typeof waitingTasks> {
    return waitingTasks(this._state, heldUp);
  }

  /** Which tasks of a worker have begun beside those that it says: see {@link takenForBegun}. */
  takenForBegun(
    worker: WorkerRecord,
    told: ReadonlySet<number>
  ): readonly number[] {
    return takenForBegun(this._state, worker, told);
  }

  /** How far tasks are, by the tallies that they came with. Looks at all tasks. */
  countByTally(): TallyCounts {
    return countByTally(this._state.tasks, this._state.tallies);
  }

  /** One of the tasks that {@link Scheduler.unplacedCount} counts, or NONE. */
  anUnplaced(): DenseTaskId {
    return anUnplaced(this._state) as DenseTaskId;
  }

  /** What a task holds of its worker's resources, or null. */
  resourcesOf(task: number): Amounts | null {
    const need = this._state.needOf(task);
    return need === null
      ? null
      : Object.fromEntries(need.map(({ name, amount }) => [name, amount]));
  }

  /** The workers that may run a task, now or when they have room. */
  eligibleFor(task: number): readonly WorkerRecord[] {
    return this._state.eligibleFor(task);
  }

  /** The workers that a task's `workers=` names, as the user wrote them; null: any. */
  namedWorkers(task: number): readonly (number | string)[] | null {
    const { restrictions, tasks } = this._state;
    return restrictions.namedBy(tasks.restriction[task]!);
  }

  /** The runs that were given up and hold threads of a worker, as far as is known: their functions, and since when. Those that were sent first come first. */
  givenUpAt({ lingering }: WorkerRecord): GivenUpRun[] {
    return [...lingering]
      .sort(([run], [other]) => run - other)
      .map(([, { row, since }]) => ({
        functionId: this._state.durations.functionOf(row),
        since
      }));
  }

  /** Of which resources a worker has not as much free as a task is to hold. */
  lackingAt({ resources }: WorkerRecord, task: number): readonly string[] {
    const need = this._state.needOf(task);
    return need === null ? [] : resources.lacking(need);
  }

  /** The tasks that hold some of these resources of a worker. */
  holdersAt(
    worker: WorkerRecord,
    resources: readonly string[]
  ): readonly number[] {
    const { tasks } = this._state;
    const found: number[] = [];
    for (
      let task = worker.firstProcessing;
      task !== NONE;
      task = tasks.nextProcessing(task)
    ) {
      if (
        tasks.hasFlag(task, TaskFlag.Holds) &&
        namesSome(this._state.needOf(task), resources)
      ) {
        found.push(task);
      }
    }
    return found;
  }

  /** The runs that were given up and hold some of these resources of a worker. */
  keptAt({ resources }: WorkerRecord, names: readonly string[]): GivenUpRun[] {
    return [...resources.kept()]
      .filter(({ need }) => namesSome(need, names))
      .map(({ row, since }) => ({
        functionId: this._state.durations.functionOf(row),
        since
      }));
  }

  /** Of which resources runs that were given up leave a worker too little for a task, even if all others end. */
  barredAt({ resources }: WorkerRecord, task: number): readonly string[] {
    const need = this._state.needOf(task);
    return need === null ? [] : resources.barred(need);
  }

  /** Tasks that wait for resources: of each kind one, and how many there are. */
  waitingForResources(): { readonly task: number; readonly count: number }[] {
    return this._state.waitingForResources
      .lines()
      .map(({ head, count }) => ({ task: head, count }));
  }

  /** Whether a task may run only at workers that are named. */
  isBound(task: number): boolean {
    const { restrictions, tasks } = this._state;
    return restrictions.isBound(tasks.restriction[task]!);
  }

  /**
   * Applies an event and decides what follows. Instructions gather until {@link Scheduler.takeInstructions}.
   *
   * @throws InvalidTransition when the scheduler is wrong.
   */
  handle(event: SchedulerEvent): void {
    const s = this._state;
    s.now = event.at;
    s.log.begin(event.type, event.at);
    s.growGuesses();
    this._note(event);
    s.reckonLingering();
    if (this._intake.hasComplete) {
      settle(s);
      this._intake.letGoOfComplete(s);
    }
    this._rounds = 0;
    do {
      this._rounds++;
      settle(s);
      shipHeldBack(s);
      settle(s);
      giveResources(s);
      settle(s);
      fillWorkers(s);
      settle(s);
      // It ends: `balance` says yes only if it has given queued tasks to workers, and nothing here queues them again.
    } while (balance(s) || s.recommendations.length > 0);
    s.takers.clear();
  }

  /** All instructions since the last call, to be carried out in their order and at once: they refer to the tables as they are now. */
  takeInstructions(): Instruction[] {
    const s = this._state;
    return s.output.take(tasks => prioritiesAmongClients(s, tasks));
  }

  /** What ended without a worker telling of it, in the events since the last call; of each event the first thousand. */
  takeUnrunFailures(): readonly UnrunFailure[] {
    return this._state.unrunFailures.take();
  }

  /** The number of the last event. */
  get event(): number {
    return this._state.log.event;
  }

  /** Has a listener told of every move from now on, or (null) nobody. */
  listen(listener: MoveListener | null): void {
    this._state.log.onMove = listener;
  }

  /** The newest moves of a task, oldest first. */
  story(task: number): StoryLine[] {
    return this._state.log.story(task);
  }

  /**
   * Checks every invariant; slow, for tests.
   *
   * @throws InvariantError naming what does not hold.
   */
  validateState(): void {
    validateState(this._state);
  }

  private _note(event: SchedulerEvent): void {
    const s = this._state;
    switch (event.type) {
      case 'graphSubmitted':
        return this._intake.submit(s, event);
      case 'graphRefused':
        return this._intake.refuse(s, event.client);
      case 'dataPlaced':
        return this._intake.place(s, event);
      case 'clientWants':
        return clientWants(s, event);
      case 'clientReleases':
        return clientReleases(s, event);
      case 'clientCancels':
        return clientCancels(s, event);
      case 'clientRetries':
        return clientRetries(s, event);
      case 'clientLeft':
        this._intake.close(s, event.client);
        return clientLeft(s, event.client);
      case 'workerJoined':
        return workerJoined(s, event);
      case 'workerLeft':
        return workerLeft(s, event);
      case 'workerPaused':
        return workerPaused(s, event);
      case 'workerResumed':
        return workerResumed(s, event.worker);
      case 'workerRetires':
        return workerRetires(s, event);
      case 'workerStays':
        return workerStays(s, event.worker);
      case 'copiesAsked':
        return copiesAsked(s, event);
      case 'copiesDropped':
        return copiesDropped(s, event);
      case 'stallGivenUp':
        return giveUpStalled(s);
      case 'tasksFinished':
        return tasksFinished(s, event);
      case 'tasksSeceded':
        return tasksSeceded(s, event);
      case 'replicasChanged':
        return replicasChanged(s, event);
      case 'transfersMeasured':
        return transfersMeasured(s, event);
      case 'takeBackAnswered':
        return takeBackAnswered(s, event);
      default:
        return assertUnreachable(event);
    }
  }
}

function namesSome(need: Need | null, names: readonly string[]): boolean {
  return need?.some(({ name }) => names.includes(name)) === true;
}
