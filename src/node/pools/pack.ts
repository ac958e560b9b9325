import type { BatchOutcome, TaskCall, TaskOutcome } from '../local/executor';
import type { PoolExecutor } from './pool-executor';

/** What the loop submitted together. */
export type Batch = {
  readonly done: (outcome: BatchOutcome) => void;
  /** By place, with holes while some are missing; empty if it is told in parts. */
  readonly outcomes: TaskOutcome[];
  /** Each task is told as it comes, and may run in any worker; else they run in one worker and are told together. */
  readonly inParts: boolean;
  /** Outcomes end here: after the first failure. */
  end: number;
  /** Tasks before `end` without an outcome. */
  left: number;
};

/** A task on its way. */
export type Entry = {
  readonly call: TaskCall;
  readonly batch: Batch;
  /** Its place in the batch. */
  readonly at: number;
  /** How many workers have died with it still waiting there. */
  losses: number;
};

/** Tasks that one run has sent to one worker. */
export class Pack {
  /** How many have an outcome; they get theirs in order. */
  received = 0;
  /** What the worker has measured of tasks that have no outcome yet, in order; see task-meter.ts. */
  measures: readonly number[] = [];
  /** Tasks of this pack are the entries before this one; those from here on were taken back. */
  end: number;

  /** @param taskMs - what a task of it is expected to take */
  constructor(
    readonly id: number,
    readonly owner: PoolExecutor,
    readonly entries: readonly Entry[],
    readonly cell: number,
    readonly taskMs: number
  ) {
    this.end = entries.length;
  }

  get left(): number {
    return this.end - this.received;
  }
}
