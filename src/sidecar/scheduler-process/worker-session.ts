/** One worker that has joined: its link and what it was told. In the scheduler process. */
import { CapacityState } from '../../records/enumerations';
import type { WorkerIntro } from '../../wire/worker-link';
import type { AcceptedLink } from '../../link/door';
import type { WorkerBlobs } from './blob-store';
import type { MemoryUse } from './memory-runs';

type CapacityLog = {
  capacity(t: number, worker: number, state: CapacityState): void;
};

export class WorkerSession {
  readonly blobs: WorkerBlobs = { templates: new Set(), chunks: new Set() };
  /** Counts the launch changes that it was told of. */
  launchVersion = 0;
  isPaused = false;
  /** See `liveness.ts`. */
  standing: 'well' | 'stopped' | 'silent' = 'well';
  /** It was seen stopped, and is given nothing to do. */
  isHeldUp = false;
  /** Counts messages from it, and the time of the last one. */
  heard = 0;
  heardAt = 0;
  /** Why it is paused; empty: it is not. */
  whyPaused = '';
  /** It ends because it needs more memory than its limit. */
  isOutOfMemory = false;
  hasLinkEnded = false;
  /** What the log was told last of its capacity. */
  private _loggedState = CapacityState.Running;
  /** Whether it has finished a task. */
  hasWorked = false;
  /** The newest measurement. */
  memory: MemoryUse = { process: 0, managed: 0, spilled: 0 };

  constructor(
    readonly link: AcceptedLink<'worker'>,
    readonly intro: WorkerIntro
  ) {}

  get id(): number {
    return this.intro.worker;
  }

  /** Writes into the log whether it begins tasks, if that has changed. A stopped worker is stopped whether its memory is full or not. */
  logCapacity(log: CapacityLog, t: number): void {
    const state = this.isHeldUp
      ? CapacityState.Stopped
      : this.isPaused
        ? CapacityState.Paused
        : CapacityState.Running;
    if (state !== this._loggedState) {
      this._loggedState = state;
      log.capacity(t, this.id, state);
    }
  }
}
