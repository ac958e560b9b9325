import type { Key, ReadonlyKeyMap } from '../graph/key';
import type { TaskNode } from '../graph/nodes';

/** A task together with the values that it needs. */
export type TaskCall = {
  /** The run's own number of the task; means nothing outside of the run. */
  readonly id: number;
  readonly key: Key;
  readonly node: TaskNode;
  /** The value of each dependency, by key. */
  readonly inputs: ReadonlyKeyMap<unknown>;
};

/** One task as it ran, measured where it ran. Times are seconds of the clock that all processes of a machine share. */
export type Execution = {
  readonly call: TaskCall;
  readonly workerId: number;
  readonly start: number;
  readonly stop: number;
  /** CPU seconds of its thread; NaN where that is not to be had. */
  readonly cpu: number;
  /** Of the result, about; NaN without one. */
  readonly nbytes: number;
  /** What it threw. */
  readonly failure?: { readonly error: unknown };
};

/** What an executor with workers of its own tells the observer of a run. */
export type RemoteWorkers = {
  readonly kind: 'threads' | 'processes';
  /** Runs with the same pool share its workers. */
  readonly pool: object;
  /** How many workers it has at most. */
  readonly size: number;
  /** To be called before the first task: every execution is told, at the latest with its result. */
  measure(take: (execution: Execution) => void): void;
  /** Whether there may still be executions of a worker. */
  readonly lives: (workerId: number) => boolean;
  /** The tasks of this run that workers have, as far as is known here, and since when at the earliest. */
  running(): readonly {
    readonly call: TaskCall;
    readonly workerId: number;
    /** As `performance.now()` here. */
    readonly sinceMs: number;
  }[];
};
