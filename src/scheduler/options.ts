/** The scheduler's settings; see {@link DEFAULT_OPTIONS} for what each is when not given. */
export type SchedulerOptions = {
  /** A task is blamed after so many + 1 deaths of workers on which it could have been running. */
  readonly allowedFailures: number;
  /** A task fails that asks more often than this to be run anew. */
  readonly mostReschedules: number;
  /** The most seconds that a task is taken to need of whose function none has ended. */
  readonly unknownSeconds: number;
  /** Seconds of work that a worker should have per thread, running and ahead, by what is usual (`durations.ts`). */
  readonly aheadSeconds: number;
  /** The same while several clients take turns: a client that has few tasks waits behind what the others have there. */
  readonly aheadSecondsInTurns: number;
  /** Tasks per thread, running and ahead, that a worker may always have, of those that have their inputs there. */
  readonly aheadPerThread: number;
  /** Tasks per thread whose inputs come from other workers, that a worker may always have: transfers begin before a thread is free. */
  readonly fetchingPerThread: number;
  /**
   * Bytes of results per thread, of tasks running and ahead, from which on a worker gets no further root by `aheadSeconds`: roots make data
   * which others only then use up.
   */
  readonly aheadBytes: number;
  /** The most tasks, running and ahead, that a worker has, though it may always have `aheadPerThread` per thread. */
  readonly aheadMost: number;
  /**
   * `distributed`'s worker-saturation: roots go to a worker that has fewer than so many tasks per thread, rounded up and one at least; Infinity:
   * to all at once. Null: by the three above, as other tasks.
   */
  readonly saturation: number | null;
  /** Bytes per second between two workers, until transfers have been measured. */
  readonly bandwidth: number;
  /** Seconds that any transfer takes, however small. */
  readonly transferLatency: number;
  /** Seconds of work per thread, running and ahead, from which on it pays to ask a worker to give some back. */
  readonly takeBackSeconds: number;
  /** Transitions that are kept for stories. */
  readonly storyLength: number;
};

export const DEFAULT_OPTIONS: SchedulerOptions = {
  allowedFailures: 3,
  mostReschedules: 1000,
  unknownSeconds: 0.5,
  // A batch of finishes takes 0.2-0.5 ms to come in and be answered, and on a shared machine a process may have to wait some ms for its
  // core: 10 ms of work outlast that, and let workers report 256 finishes at a time.
  aheadSeconds: 0.01,
  aheadSecondsInTurns: 0.005,
  aheadPerThread: 2,
  // With 2, the transfers of a task that begins late slow those of one that begins soon: a rechunk on 4 workers of 2 threads took 2.5 % longer.
  fetchingPerThread: 1.5,
  // Loads of 5 MB that take 2 ms each were made by five at a time, and by nine and more where the scheduler had to wait for a core, before
  // anything used the first; `distributed` holds three. 10 MB is less than the caches of many machines hold.
  aheadBytes: 10e6,
  aheadMost: 1024,
  saturation: null,
  // Between processes of one machine by sockets; descriptor passing is faster, but only for large results.
  bandwidth: 500e6,
  transferLatency: 0.001,
  // As much as a worker has ahead: with less, each would be above it for much of the time, and be asked for single short tasks.
  takeBackSeconds: 0.01,
  storyLength: 65536
};
