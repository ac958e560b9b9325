/** What the profilers record. Times are seconds since the epoch. */
import type { Key } from '../graph/key';
import type { Node } from '../graph/nodes';

/** A task that ran to its end. */
export type TaskData = {
  readonly key: Key;
  readonly task: Node;
  /** When it was handed to a worker. */
  readonly startTime: number;
  /** When the scheduler took its answer. */
  readonly endTime: number;
  /** null for this thread, else the thread's or the process's id. */
  readonly workerId: number | null;
};

/** What this process and everything that it started used at one moment. */
export type ResourceData = {
  readonly time: number;
  /** Resident memory, MB (10⁶ bytes), summed over processes; what they share is counted in each. */
  readonly mem: number;
  /** Per cent of one core since the sample before, summed over processes: four busy threads are about 400. */
  readonly cpu: number;
};

/** A result, from entering the scheduler's cache to leaving it. */
export type CacheData = {
  readonly key: Key;
  readonly task: Node;
  /** What the profiler's metric said of the result. */
  readonly metric: number;
  /** When its task finished. */
  readonly cacheTime: number;
  /** When the task finished that needed it last, or the run. */
  readonly freeTime: number;
};
