import { monotonicOffset } from '../../link/monotonic';
import type { BatchOutcome, TaskOutcome } from '../local/executor';
import type { TaskCall } from '../local/execution';
import { Measures } from './task-meter';

/** The tasks that the loop submitted together, and their outcomes. */
export class Batch {
  /** By place, with holes while some are missing; empty if it is told in parts. */
  private readonly _outcomes: TaskOutcome[] = [];
  /** Outcomes end here: after the first failure. */
  private _end: number;
  /** Tasks before the end without an outcome. */
  private _left: number;

  /** @param inParts - each task is told as it comes, and may run in any worker; else they run in one worker and are told together */
  constructor(
    size: number,
    readonly inParts: boolean,
    private readonly _done: (outcome: BatchOutcome) => void
  ) {
    this._end = size;
    this._left = size;
  }

  /** Whether an outcome of the task at this place would still be told. */
  isOpen(at: number): boolean {
    return this._left > 0 && at < this._end;
  }

  settle(at: number, outcome: TaskOutcome, workerId: number | null): void {
    if (!this.isOpen(at)) {
      return;
    }
    if (this.inParts) {
      this._done({ workerId, results: [outcome], first: at });
      return;
    }
    this._outcomes[at] = outcome;
    this._left -= 1;
    if ('error' in outcome) {
      // Later tasks do not count any more; earlier ones may still be under way.
      for (let later = at + 1; later < this._end; later++) {
        this._left -= this._outcomes[later] === undefined ? 1 : 0;
      }
      this._end = at + 1;
      this._outcomes.length = this._end;
    }
    if (this._left === 0) {
      this._done({ workerId, results: this._outcomes });
    }
  }

  /** Tells outcomes of neighbours at once; of batches in parts only. */
  settlePart(
    first: number,
    results: readonly TaskOutcome[],
    workerId: number
  ): void {
    this._done({ workerId, results, first });
  }
}

/** A task on its way. */
export type Entry = {
  readonly call: TaskCall;
  readonly batch: Batch;
  /** Its place in the batch. */
  readonly at: number;
  /** How many workers have died with it still waiting there. */
  losses: number;
};

/**
 * Tells outcomes of entries, from one on: neighbours of one batch together.
 *
 * @param isOver - asked before each: what is told may end the run
 */
export function settleValues(
  entries: readonly Entry[],
  from: number,
  results: readonly TaskOutcome[],
  workerId: number,
  isOver: () => boolean
): void {
  let at = 0;
  while (at < results.length && !isOver()) {
    const { batch, at: first } = entries[from + at]!;
    if (!batch.inParts) {
      batch.settle(first, results[at++]!, workerId);
      continue;
    }
    const begin = at;
    for (; at < results.length; at++) {
      const next = entries[from + at]!;
      if (next.batch !== batch || next.at !== first + at - begin) {
        break;
      }
    }
    const isAll = at - begin === results.length;
    const part = isAll ? results : results.slice(begin, at);
    batch.settlePart(first, part, workerId);
  }
}

/** Milliseconds of this thread's clock when that of all processes is at 0. */
const ZERO_MS = -1000 * monotonicOffset();

/**
 * Results as the loop takes them.
 *
 * @param rows - what the worker measured of them, so many numbers of each; start and stop come first
 */
export function outcomes(
  values: readonly unknown[],
  rows: readonly number[],
  measures: Measures
): TaskOutcome[] {
  if (measures === Measures.none) {
    return values.map(value => ({ value }));
  }
  return values.map((value, at) => ({
    value,
    startMs: ZERO_MS + 1000 * rows[measures * at]!,
    stopMs: ZERO_MS + 1000 * rows[measures * at + 1]!
  }));
}
