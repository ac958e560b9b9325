import type { DenseTaskIds } from '../records/ids';

/**
 * What the scheduler's process is to do, in columns. The instructions of one batch are carried out in the order given: a worker is told what
 * to drop before it is told what to run, since a task that comes back to the same worker may be in both lists; and what to give back after
 * that, since it cannot give back what has not come, and would be taken to have begun it.
 */
export type Instruction =
  | TakeBack
  | Release
  | Assign
  | Acquire
  | Report
  | Forgotten;

/** Ask the worker to give back these runs if it has not started them; answered by the event `takeBackAnswered`. */
type TakeBack = {
  readonly type: 'takeBack';
  readonly worker: number;
  readonly taskIds: DenseTaskIds;
  readonly runIds: Uint32Array;
};

/** The worker is to drop these tasks' results, copies and runs; what is running may end, its result is dropped. */
export type Release = {
  readonly type: 'release';
  readonly worker: number;
  readonly taskIds: DenseTaskIds;
  /** 1: as far as the scheduler knows, the worker holds the result; 0: it has a run, or nothing. */
  readonly held: Uint8Array;
  /** The runs that are given up; NONE_U32: of this row none is. */
  readonly runIds: Uint32Array;
  /** Of the results that it holds; the task table no longer has those of tasks that are forgotten with them. */
  readonly nbytes: Float64Array;
};

/**
 * The worker is to run these tasks. A task comes after the inputs that the same worker is still to make. Inputs, their sizes and holders
 * are read from the task table when the instruction is carried out.
 */
export type Assign = {
  readonly type: 'assign';
  readonly worker: number;
  readonly taskIds: DenseTaskIds;
  readonly runIds: Uint32Array;
  /** The order in which the worker runs them, smaller first; null: their ranks. */
  readonly priorities: Float64Array | null;
};

/** The worker is to copy these results from those that hold them, as the task table says when the instruction is carried out. */
type Acquire = {
  readonly type: 'acquire';
  readonly worker: number;
  readonly taskIds: DenseTaskIds;
};

/** Tell the client the outcomes of keys that it wants. */
export type Report = {
  readonly type: 'report';
  readonly client: number;
  readonly taskIds: DenseTaskIds;
  /** `ReportStatus` */
  readonly status: Uint8Array;
  /** For erred tasks: the task that failed first, else −1. */
  readonly cause: DenseTaskIds;
  /** For erred tasks: `FailureReason`. */
  readonly reason: Uint8Array;
};

/** These ids are free: nobody wants the tasks and nothing depends on them. */
export type Forgotten = {
  readonly type: 'forgotten';
  readonly taskIds: DenseTaskIds;
};
