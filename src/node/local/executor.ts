import type { Key } from '../graph/key';
import type { TaskNode } from '../graph/nodes';
import type { RemoteWorkers, TaskCall } from './execution';

export type TaskValue = {
  readonly value: unknown;
  /** When the task began and ended where it ran, by this thread's `performance.now()`; only if {@link Executor.stamp} was called. */
  readonly startMs?: number;
  readonly stopMs?: number;
};

export type TaskOutcome =
  | TaskValue
  | {
      readonly error: unknown;
      /** false: the task did not throw the error, and calling the task again would be useless or do harm. */
      readonly isOfTask?: boolean;
    };

export type BatchOutcome = {
  /** As callbacks see it: null for this thread, a thread's id, a process's id. */
  readonly workerId: number | null;
  /** In the order of the batch; nothing after the first error. */
  readonly results: readonly TaskOutcome[];
  /** If the batch is answered in parts: where in it these results begin. Parts come in any order; an error ends its own part only. */
  readonly first?: number;
};

/** Takes the answer to a batch. One function serves all batches of a run, so that a small task need not make one. */
export type BatchDone = (
  batch: readonly TaskCall[],
  outcome: BatchOutcome
) => void;

/** What the scheduling loop needs from threads, processes, or this thread. */
export type Executor = {
  readonly numWorkers: number;
  /** Whether answers come in the async context of `submit`, as those of promises do; those of sockets and threads do not. */
  readonly answersInContext?: boolean;
  /**
   * How many tasks it wants to hold at a time, if it keeps a queue of its own: asked again at each hand-out. Up to that many ready tasks
   * come in one `submit` and are answered in parts; otherwise batches of `chunkSize` come, one per worker. So a worker need not wait for
   * this thread after each small task.
   */
  readonly slots?: number | undefined;
  /** For executors whose tasks run elsewhere: how to learn when they ran there. */
  readonly remote?: RemoteWorkers | undefined;
  /** Called before the first task by callers that want to know when tasks ran: outcomes then say it, except for aliases, which run nowhere. */
  stamp?(): void;
  /** Asked once for each task that the request reaches, before anything runs. @throws if it could not run the task. */
  check?(key: Key, node: TaskNode): void;
  /**
   * Runs the tasks one after the other in one worker, stopping at the first error, and calls `done` once (or for each part): later, or
   * (this thread) before returning. An error that it throws (for a call that cannot be serialised) ends the run.
   */
  submit(batch: readonly TaskCall[], done: BatchDone): void;
  /**
   * After an error or an abort: forget what was submitted. Resolves when nothing of this run is running any more in a pool that the run
   * owns; of borrowed pools, at once.
   */
  stop(reason: unknown): Promise<void>;
};
