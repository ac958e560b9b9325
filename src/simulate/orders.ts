/** What a scheduler tells a simulated worker, and what it is told. Tasks are the numbers of the graph. */

type Input = {
  readonly task: number;
  /** A worker that holds it, or the worker itself if it is still to make it. */
  readonly holder: number;
};

export type RunOrder = {
  readonly task: number;
  readonly run: number;
  /** Smaller runs first. */
  readonly priority: number;
  readonly inputs: readonly Input[];
};

export type Order =
  | {
      readonly type: 'run';
      readonly worker: number;
      readonly runs: readonly RunOrder[];
    }
  | {
      readonly type: 'drop';
      readonly worker: number;
      readonly tasks: readonly number[];
    }
  | {
      /** Give these back if they have not begun. */
      readonly type: 'giveBack';
      readonly worker: number;
      readonly runs: readonly { readonly task: number; readonly run: number }[];
    };

export type Report =
  | {
      readonly type: 'finished';
      readonly worker: number;
      readonly task: number;
      readonly run: number;
    }
  | {
      /** Results have come from another worker. */
      readonly type: 'copied';
      readonly worker: number;
      readonly from: number;
      readonly tasks: readonly number[];
      readonly bytes: number;
      readonly seconds: number;
    }
  | {
      readonly type: 'answered';
      readonly worker: number;
      readonly task: number;
      readonly run: number;
      readonly taken: boolean;
    };

/** The cluster that is simulated. */
export type SimulatedCluster = {
  readonly workers: number;
  /** Of each worker. */
  readonly threads: number;
  /** Bytes per second of one transfer. */
  readonly bandwidth: number;
  /** Seconds that a transfer takes besides its bytes. */
  readonly transferLatency: number;
  /** Transfers that a worker may receive at once, and may send at once; between two workers it is one. */
  readonly transfersAtOnce: number;
  /** Seconds for which a message between scheduler and worker is under way. */
  readonly messageSeconds: number;
};

/** Neither side's first guess of a bandwidth is true here: ours is 500 MB/s, `distributed`'s 100. */
export const DEFAULT_CLUSTER: SimulatedCluster = {
  workers: 4,
  threads: 2,
  bandwidth: 250e6,
  transferLatency: 0.001,
  transfersAtOnce: 4,
  messageSeconds: 0.0002
};
