/** State that the parts of the scheduler process share. */
import {
  FailureReason,
  Scheduler,
  type SchedulerEvent,
  TaskState,
  type SchedulerOptions,
  type UnrunFailure
} from '../../scheduler';
import type { DenseTaskId, OuterTaskId } from '../../records/ids';
import { EmbeddedClusterLog } from '../../sources';
import type { SealedBlock } from '../../records/log-writer';
import { LARGEST_U32 } from '../../records/enumerations';
import { BlobStore } from './blob-store';
import { Copies } from './copies';
import { Follows } from './follows';
import { describe, type InlineResult, type TaskError } from './report-message';
import { RunWatchers } from './run-watchers';
import { SchedulerWatchers } from './scheduler-watchers';
import { OwnEvents } from './own-events';
import { TallyNumbers } from './tally-numbers';
import { TaskEvents } from './task-events';
import { TaskRows } from './task-rows';
import { WorkerRequests } from './worker-requests';
import { Holds, HOLDER } from './holds';
import { SharedState } from './shared-state';
import { SharedNumbers, SpanNumbers } from './span-numbers';
import type { WorkerSession } from './worker-session';

/** Where workers are to look for modules, in which folder they work, and what to import while they wait; changes come with submissions. */
export type Launch = {
  readonly path: string[];
  readonly cwd: string;
  readonly modules: string[];
};

export class ClusterState {
  readonly core: Scheduler;
  readonly rows: TaskRows;
  readonly blobs = new BlobStore();
  readonly log: EmbeddedClusterLog;
  readonly workers = new Map<number, WorkerSession>();
  readonly requests = new WorkerRequests();
  readonly shared: SharedState;
  readonly holds: Holds;
  readonly follows = new Follows(this);
  readonly copies: Copies;
  readonly runWatchers: RunWatchers;
  readonly events = new TaskEvents(this);
  readonly watchers = new SchedulerWatchers(this.events);
  readonly ownEvents: OwnEvents;
  /** The kind of the last event. */
  eventType = '';
  /** Of all clients. */
  readonly spanNumbers = new SpanNumbers();
  readonly tallies = new TallyNumbers();
  readonly memoryRunNumbers = new SharedNumbers(LARGEST_U32);
  /** Errors of tasks that raised, by dense id, until the task is forgotten. */
  readonly errors = new Map<DenseTaskId, TaskError>();
  /** Small results of this turn; `rows.inline` counts them from 1. */
  readonly inlines: InlineResult[] = [];
  /** Counts signs of progress: runs that ended, workers that continue. */
  moves = 0;
  /** Why the last worker died, and why the last stall was given up: for the errors of tasks that fail because of it. */
  deathSentence = '';
  stallSentence = '';
  /** What clients and workers dial, once the door is open. */
  address = '';
  /** The wall clock at the scheduler's start, once the log has its header. */
  wallEpoch = 0;
  /** Of the worker that is leaving: its number, why, and the rows of tasks whose runs there the log has as lost. */
  leaving: {
    readonly worker: number;
    readonly why: string;
    readonly nodes: ReadonlySet<number>;
  } | null = null;
  launch: Launch | null = null;
  /** As the log says. */
  private _hasTasksWithoutWorker = false;
  /** Counts the changes of `launch`. */
  launchVersion = 0;

  /**
   * @param clock - the monotonic clock in seconds.
   * @param start - what it said at the scheduler's start.
   * @param isRecording - false: see {@link EmbeddedClusterLog}.
   * @param mostTasks - how many tasks there may be at a time; as many as there are ids if left out.
   * @param gather - does something in the scheduler's turn; at once if left out.
   */
  constructor(
    readonly clock: () => number,
    readonly start: number,
    emit: (block: SealedBlock) => void,
    isRecording = true,
    options?: Partial<SchedulerOptions>,
    mostTasks?: number,
    gather: (act: () => void) => void = act => act()
  ) {
    this.core = new Scheduler(options === undefined ? {} : { options });
    this.rows = new TaskRows(this.core.tasks, mostTasks);
    this.holds = new Holds(
      this.rows,
      (type, taskIds) =>
        this.handle({ type, at: this.at, client: HOLDER, taskIds }),
      gather
    );
    this.shared = new SharedState(
      clock,
      this.workers,
      this.requests,
      gather,
      this.holds
    );
    this.shared.onEvent = (topic, content) =>
      this.events.logged(topic, content);
    this.ownEvents = new OwnEvents((topics, event) => {
      this.shared.logOwn(topics, event);
      this.events.loggedOwn(topics, event);
    });
    this.events.onMember = member => this.ownEvents.member(member);
    this.copies = new Copies(this, gather);
    this.runWatchers = new RunWatchers(this.rows);
    this.log = new EmbeddedClusterLog(start, emit, isRecording);
  }

  /** Seconds since the scheduler's start: the core's time. */
  get at(): number {
    return this.clock() - this.start;
  }

  handle(event: SchedulerEvent): void {
    this.eventType = event.type;
    this.core.handle(event);
    if (this.core.hasTasksWithoutWorker !== this._hasTasksWithoutWorker) {
      this._hasTasksWithoutWorker = this.core.hasTasksWithoutWorker;
      this.log.unplaced(this.clock(), this._hasTasksWithoutWorker);
    }
    for (const failure of this.core.takeUnrunFailures()) {
      this._logUnrun(failure);
    }
  }

  /** Whether a task is needed, and not done. */
  isUnfinished(taskId: OuterTaskId): boolean {
    const task = this.rows.ids.resolve(taskId);
    if (task < 0) {
      return false;
    }
    const state = this.core.tasks.state[task]!;
    return state >= TaskState.Waiting && state <= TaskState.Processing;
  }

  /** How many workers died while the task could have been running there, if it fails for that; else 0. */
  deathsUnder(task: DenseTaskId): number {
    const { options, tasks } = this.core;
    const deaths = tasks.suspicious[task]!;
    return deaths > options.allowedFailures ? deaths : 0;
  }

  /** Why a graph was refused. */
  get roomSentence(): string {
    return (
      `The cluster has room for ${this.rows.ids.limit.toLocaleString('en')} tasks at a time, and this graph does not fit ` +
      'beside those that it holds. Release results that you no longer need, or compute in several steps.'
    );
  }

  /** Why a task failed, for the user. */
  failureOf(
    cause: DenseTaskId,
    reason: FailureReason
  ): { readonly key: string; readonly type: string; readonly message: string } {
    const key = this.keyOf(cause);
    const error = this.errors.get(cause);
    return { key, ...(error ?? describe(reason, cause, key, this)) };
  }

  private _logUnrun({ task, cause, reason }: UnrunFailure): void {
    const { leaving, log, rows } = this;
    const isLost = reason === FailureReason.None;
    if (isLost && leaving?.nodes.has(rows.node[task]!) === true) {
      return;
    }
    let why = `its worker ${leaving?.why ?? 'left'} while it may have been running there`;
    if (!isLost) {
      const { key, type, message } = this.failureOf(cause, reason);
      const what = message === '' ? type : `${type}: ${message}`;
      why = cause === task ? what : `its input ${key} failed (${what})`;
    }
    log.taskLost(
      !isLost && cause === task ? 'task-failed' : 'task-lost',
      this.clock(),
      isLost ? (leaving?.worker ?? null) : null,
      rows.span[task]!,
      this.keyOf(task),
      why
    );
  }

  /** A task's key as text. */
  keyOf(task: DenseTaskId): string {
    return this._keyText(this.rows.group[task]!, this.rows.keySuffix(task));
  }

  /** The key of a task that may be forgotten, if its result may have moved; empty: it is not known any more. */
  keyOfMoved(taskId: OuterTaskId): string {
    const task = this.rows.ids.resolve(taskId);
    if (task >= 0) {
      return this.keyOf(task);
    }
    const kept = this.rows.movedKeys.get(taskId);
    return kept === undefined ? '' : this._keyText(kept.group, kept.suffix);
  }

  private _keyText(group: number, suffix: Uint8Array): string {
    return this.log.names.text(group) + new TextDecoder().decode(suffix);
  }
}
