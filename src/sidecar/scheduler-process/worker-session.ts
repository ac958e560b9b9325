/** One worker that has joined: its link and what it was told. In the scheduler process. */
import type { Seconds } from '../../base/brand';
import { CapacityState } from '../../records/enumerations';
import type { DenseTaskId } from '../../records/ids';
import { LaneThreads } from '../../records/lane-threads';
import type { MemoryUse } from '../../records/memory-measures';
import type { TablesOf } from '../../wire/schema';
import type { WorkerIntro } from '../../wire/worker-link';
import { ClockChanges } from '../../sources';
import type { AcceptedLink } from '../../link/door';
import type { WorkerBlobs } from './blob-store';

type Measured = TablesOf<'worker', 'up', 'measured'>;
/** A row of a table of the message `measured`. */
type RowOf<T extends 'system' | 'load'> = {
  readonly [C in Exclude<keyof Measured[T], 'rows'>]: number;
};
export type SystemUse = RowOf<'system'>;
export type WorkerLoad = RowOf<'load'>;

/** started: seconds of the scheduler's clock. */
type RunningTask = {
  readonly task: DenseTaskId;
  readonly run: number;
  readonly started: Seconds;
};

type CapacityLog = {
  capacity(t: number, worker: number, state: CapacityState): void;
};

export class WorkerSession {
  readonly blobs: WorkerBlobs = { templates: new Set(), chunks: new Set() };
  /** The newest launch change that it was told of. */
  launchVersion = 0;
  isPaused = false;
  /** See `liveness.ts`. */
  standing: 'well' | 'stopped' | 'silent' = 'well';
  /** It was seen stopped, and is given nothing to do. */
  isHeldUp = false;
  /** How many messages came from it, and when the last one came. */
  heard = 0;
  heardAt = 0;
  /** Why it is paused; empty: it is not. */
  whyPaused = '';
  /** It ends because it needs more memory than its limit. */
  isOutOfMemory = false;
  hasLinkEnded = false;
  /** It gets no more tasks, and is to leave. */
  isRetiring = false;
  /** Why it leaves, if it was told to. */
  leaving: 'retired' | 'restarted' | null = null;
  /** The core knows it; false while it sets up plugins. */
  isReady = true;
  /** Its state of capacity as the log has it; null: none yet. */
  private _loggedState: CapacityState | null = null;
  /** Whether it has finished a task. */
  hasWorked = false;
  /** The newest measurement. */
  memory: MemoryUse = { process: 0, managed: 0, spilled: 0, unmanagedOld: 0 };
  /** What it adds to its clock to get the scheduler's. */
  readonly clock = new ClockChanges();
  /** The offset that an event has told; seconds. */
  loggedClockOffset = 0;
  /** The newest row of what the system counts for it, and of how much it has to do; null: none yet. */
  system: SystemUse | null = null;
  load: WorkerLoad | null = null;
  /** Thread → the run that has gone on there for some time, as far as it has said. It may have ended since. */
  readonly running = new Map<number, RunningTask>();
  /** Which threads of the system ran its lanes' tasks. */
  readonly laneThreads = new LaneThreads<number>();

  constructor(
    readonly link: AcceptedLink<'worker'>,
    readonly intro: WorkerIntro
  ) {}

  get id(): number {
    return this.intro.worker;
  }

  /**
   * Writes into the log whether the worker begins tasks, if that has changed. *Stopped* wins over *paused*. While
   * the worker sets up plugins, nothing is written.
   */
  logCapacity(log: CapacityLog, t: number): void {
    const state = this.isRetiring
      ? CapacityState.Closing
      : this.isHeldUp
        ? CapacityState.Stopped
        : this.isPaused
          ? CapacityState.Paused
          : CapacityState.Running;
    if (this.isReady && state !== this._loggedState) {
      this._loggedState = state;
      log.capacity(t, this.id, state);
    }
  }
}
