/**
 * The states of a task, Dask's. `Forgotten` is zero, so that a fresh row of the task table is forgotten.
 *
 * ```
 *                     ┌────────────► NoWorker ───────┐
 *   Released ──► Waiting ──────────► Queued ─────────┴─► Processing ──► Memory ──► Released ──► Forgotten
 *                     └─ (shipped with its inputs) ──────► ┘     └────► Erred
 * ```
 *
 * The whole table of moves is in `transitions.ts`.
 */
export enum TaskState {
  /** Not in the scheduler: the id is free. */
  Forgotten = 0,
  /** Known, not needed by anybody now, result nowhere. */
  Released = 1,
  /** Needed; some input is not in memory yet. */
  Waiting = 2,
  /** Needed, all inputs in memory, and no worker in the cluster may run it. */
  NoWorker = 3,
  /** Needed, all inputs in memory; no worker has room yet. Lies in the common queue or in the queue of one worker. */
  Queued = 4,
  /** Assigned to a worker. Its unfinished inputs, if any, are assigned to the same worker. */
  Processing = 5,
  /** The result lies at one worker or more. */
  Memory = 6,
  /** It failed, or an input did. */
  Erred = 7
}

/** The number of states: the width of the transition table. */
export const STATE_COUNT = 8;

/** Why a task is `Erred`. */
export enum FailureReason {
  None = 0,
  /** The task's own function raised; the error is kept by the task's id outside the core. */
  Raised = 1,
  /** Workers died `allowedFailures` + 1 times while it could have been running. */
  KilledWorker = 2,
  /** It names an input that the scheduler does not know any more. */
  LostDependencies = 3,
  /** Data that a client had placed was at workers that are gone, and nothing can compute it again. */
  LostData = 4,
  /** Every worker that could run it was full for so long that none of them ever will. */
  Stalled = 5,
  /** There was no room for the rest of its graph. */
  NoRoom = 6,
  /** It asked to be run anew more often than is allowed. */
  Rescheduled = 7
}

/** Whether a task in this state keeps its inputs: it counts among their waiters. */
export function holdsInputs(state: TaskState): boolean {
  return state >= TaskState.Waiting && state <= TaskState.Processing;
}
