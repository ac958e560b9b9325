import type { DenseTaskIds } from '../records/ids';
import type { Amounts } from './worker-resources';

/**
 * What can happen to a scheduler. Every event carries its time (`at`, seconds, never decreasing) and columns instead of rows: row `i` of
 * an event is index `i` of each of its arrays. Task ids are dense and chosen by the caller (see `VersionedIds`), who may reuse one after
 * the instruction `forgotten` named it.
 */
export type SchedulerEvent =
  | GraphSubmitted
  | GraphRefused
  | DataPlaced
  | ClientWants
  | ClientReleases
  | ClientCancels
  | ClientRetries
  | ClientLeft
  | WorkerJoined
  | WorkerLeft
  | WorkerRetires
  | WorkerStays
  | CopiesAsked
  | CopiesDropped
  | WorkerPaused
  | WorkerResumed
  | StallGivenUp
  | TasksFinished
  | TasksSeceded
  | ReplicasChanged
  | TransfersMeasured
  | TakeBackAnswered;

/** Where a task may run. */
export type Restriction = {
  /** Ids, or any text that workers answer to (see {@link WorkerJoined}); null: all. */
  readonly workers: readonly (number | string)[] | null;
  /** Whether another worker will do when none of `workers` that has the resources is there. */
  readonly allowOther: boolean;
  /** What it holds of its worker's resources while it is there; nothing if left out. */
  readonly resources?: Amounts;
};

/** A graph, or a part of a large one. */
export type GraphSubmitted = {
  readonly type: 'graphSubmitted';
  readonly at: number;
  readonly client: number;
  /** Counts the client's submissions; several events with one generation are parts of one graph. */
  readonly generation: number;
  /**
   * False: more parts of this graph follow. If they say who has `users`, each part starts when it comes. Otherwise wanted tasks that need
   * nothing of this graph start at once, and the rest with the last part, in the order of the whole; none is forgotten before.
   */
  readonly last: boolean;
  /** The running task that submits it, which waits for it perhaps: it goes before that task's like; −1 or left out: none. */
  readonly within?: number;
  /** Ids that are free now; inputs stand before their users. Of tasks that the static order does not tell apart, the first runs first. */
  readonly taskIds: DenseTaskIds;
  /** Larger runs first, before generation and static order; null: all 0. Clamped to ±2047. */
  readonly userPriority: Int32Array | null;
  /** The task's function. Its average duration is the estimate for the task. */
  readonly functionIds: Uint32Array;
  /** With which others each is counted, see `Tallies`; left out: all with one another. */
  readonly tallies?: Uint16Array;
  /** How often to run it again after an error; null: never. */
  readonly retries: Uint8Array | null;
  /** Index + 1 into `restrictionSets`, 0: none; null: all 0. */
  readonly restrictions: Uint16Array | null;
  readonly restrictionSets: readonly Restriction[];
  /** Row i's inputs are `inputs[firstInput[i]]` up to `inputs[firstInput[i + 1]]`; as long as `taskIds`, plus one. */
  readonly firstInput: Uint32Array;
  /** Ids of tasks of this event or of earlier ones; −1: one that is not known any more. */
  readonly inputs: DenseTaskIds;
  /** 1: data, not work: the static order takes it to cost nothing where several tasks use it; null: none. */
  readonly data: Uint8Array | null;
  /** 1: the client wants this row's result; null: none. */
  readonly wanted: Uint8Array | null;
  /**
   * How many tasks of the whole graph, later parts included, have this row among their inputs: its result stays until so many have come. Said
   * in all parts of a graph or in none (without rows, null or left out).
   */
  readonly users?: Uint32Array | null;
};

/** There is no room for the rest of the client's present graph: its tasks without a result fail, and no further part of it comes. */
type GraphRefused = {
  readonly type: 'graphRefused';
  readonly at: number;
  readonly client: number;
};

/** A client has put data at workers: tasks that are in memory from the start and cannot be computed. */
export type DataPlaced = {
  readonly type: 'dataPlaced';
  readonly at: number;
  readonly client: number;
  /** Ids that are free now. */
  readonly taskIds: DenseTaskIds;
  readonly functionIds: Uint32Array;
  readonly nbytes: Float64Array;
  readonly wanted: Uint8Array;
  /** Pairs (row, worker): which worker holds which row. */
  readonly holderRows: Uint32Array;
  readonly holderWorkers: Uint16Array;
};

export type ClientWants = {
  readonly type: 'clientWants';
  readonly at: number;
  readonly client: number;
  readonly taskIds: DenseTaskIds;
};

export type ClientReleases = {
  readonly type: 'clientReleases';
  readonly at: number;
  readonly client: number;
  readonly taskIds: DenseTaskIds;
};

/** The client cancels these keys and all that depend on them. */
export type ClientCancels = {
  readonly type: 'clientCancels';
  readonly at: number;
  readonly client: number;
  readonly taskIds: DenseTaskIds;
};

/** The client wants erred keys tried again, with the failed tasks they depend on. */
export type ClientRetries = {
  readonly type: 'clientRetries';
  readonly at: number;
  readonly client: number;
  readonly taskIds: DenseTaskIds;
};

/** The client no longer wants anything. */
type ClientLeft = {
  readonly type: 'clientLeft';
  readonly at: number;
  readonly client: number;
};

export type WorkerJoined = {
  readonly type: 'workerJoined';
  readonly at: number;
  /** An id that no worker of this cluster has had. */
  readonly worker: number;
  readonly threads: number;
  /** Bytes; 0: no limit. */
  readonly memoryLimit: number;
  readonly host: string;
  /** Names by which restrictions may mean it, besides its id; several workers may share a name. */
  readonly names?: readonly string[];
  /** What tasks may hold of it beside threads; nothing if left out. */
  readonly resources?: Amounts;
  /** It is to stay without work, see {@link WorkerRetires}; false if left out. */
  readonly retiring?: boolean;
};

export type WorkerLeft = {
  readonly type: 'workerLeft';
  readonly at: number;
  readonly worker: number;
  /**
   * `closed`: it left in order, no task is blamed. `died`: a task that it ran may have killed it. `hopeless`: its tasks and results killed
   * it, as they killed many workers before it, and would kill the next one too: all of them are blamed.
   */
  readonly why: 'closed' | 'died' | 'hopeless';
};

/** The worker starts no more tasks until it resumes; it goes on serving its results. The event comes again when `stalled` changes. */
export type WorkerPaused = {
  readonly type: 'workerPaused';
  readonly at: number;
  readonly worker: number;
  /** Nothing runs there, and nothing frees memory. */
  readonly stalled: boolean;
};

/** Nothing can move any more (`Scheduler.isStalled`): tasks that wait for a worker fail. */
type StallGivenUp = {
  readonly type: 'stallGivenUp';
  readonly at: number;
};

type WorkerResumed = {
  readonly type: 'workerResumed';
  readonly at: number;
  readonly worker: number;
};

/**
 * The worker gets no more tasks, and what it alone holds is copied to others. Said again now and then until `WorkerRecord.unmoved` is 0: then
 * it may be closed.
 */
export type WorkerRetires = {
  readonly type: 'workerRetires';
  readonly at: number;
  readonly worker: number;
};

/** It does not retire after all. */
type WorkerStays = {
  readonly type: 'workerStays';
  readonly at: number;
  readonly worker: number;
};

/** The worker is to have copies of these results, for no task's sake. */
export type CopiesAsked = {
  readonly type: 'copiesAsked';
  readonly at: number;
  readonly worker: number;
  /** −1: the task is gone. */
  readonly taskIds: DenseTaskIds;
};

/** The worker need not have copies of these results, as far as others have. */
export type CopiesDropped = {
  readonly type: 'copiesDropped';
  readonly at: number;
  readonly worker: number;
  readonly taskIds: DenseTaskIds;
};

/** Runs that ended, in the order in which they ended. */
export type TasksFinished = {
  readonly type: 'tasksFinished';
  readonly at: number;
  readonly worker: number;
  /** −1: a task that is not known any more. */
  readonly taskIds: DenseTaskIds;
  /** The run that ended; one that the scheduler has given up, or that is another worker's, is ignored. */
  readonly runIds: Uint32Array;
  /** {@link RunStatus} */
  readonly status: Uint8Array;
  /** Size of the result in bytes. */
  readonly nbytes: Float64Array;
  /** Seconds for which the task held its thread. */
  readonly duration: Float64Array;
  /** Of runs that are `RunStatus.Missing`: pairs (input, worker that did not have it). */
  readonly missingInputs: DenseTaskIds;
  readonly missingWorkers: Uint16Array;
};

/** Runs that leave their worker's threads to others while they go on, or (`back`) hold a thread again. */
export type TasksSeceded = {
  readonly type: 'tasksSeceded';
  readonly at: number;
  readonly worker: number;
  /** −1: a task that is not known any more. */
  readonly taskIds: DenseTaskIds;
  readonly runIds: Uint32Array;
  /** Seconds for which each has held its thread. */
  readonly duration: Float64Array;
  readonly back: boolean;
};

/**
 * What workers have measured of transfers between them. They say so a few times a second also if there were none: what is guessed depends on
 * the time.
 */
export type TransfersMeasured = {
  readonly type: 'transfersMeasured';
  readonly at: number;
  readonly bytes: Float64Array;
  readonly seconds: Float64Array;
};

/** A worker has copied results from its peers, or dropped its copies. */
export type ReplicasChanged = {
  readonly type: 'replicasChanged';
  readonly at: number;
  readonly worker: number;
  readonly added: DenseTaskIds;
  readonly removed: DenseTaskIds;
};

/** The answer to the instruction `takeBack`, row by row. */
export type TakeBackAnswered = {
  readonly type: 'takeBackAnswered';
  readonly at: number;
  readonly worker: number;
  /** −1: a task that is not known any more. */
  readonly taskIds: DenseTaskIds;
  readonly runIds: Uint32Array;
  /** 1: given back, it will not run. 0: too late, it has started. */
  readonly taken: Uint8Array;
};
