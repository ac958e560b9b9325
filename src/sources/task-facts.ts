import type { ArrayOf, IndexedBy } from '../base/typed-arrays';
import type { DenseTaskId, SpanId } from '../records/ids';

/** A column by dense task id. */
export type PerTask<A extends { readonly [index: number]: unknown }> =
  IndexedBy<DenseTaskId, A>;

/**
 * What a source must know of the scheduler's tasks, as columns indexed by the scheduler's dense task id. The sidecar keeps them.
 */
export type TaskFacts = {
  /** The task's row in `nodes`, unique in the log. */
  readonly node: PerTask<Uint32Array>;
  /** The log's name of its function. */
  readonly functionId: PerTask<Uint32Array>;
  readonly span: PerTask<ArrayOf<Uint32Array, SpanId>>;
  /**
   * When it last became unfinished, in seconds since the scheduler's start: by its submission, a retry, the loss of its result. The log
   * moves it on to the end of each run, from which the next one's waits count.
   */
  readonly unfinishedSince: PerTask<Float64Array>;
  /** How many runs of it were logged. */
  readonly attempts: PerTask<Uint8Array>;
};

/** The `attempt` of a task's next row in `runs`, after so many others: the first is 1, and 255 stands for all later ones. */
export function nextAttempt(attempts: number): number {
  return Math.min(255, attempts + 1);
}
