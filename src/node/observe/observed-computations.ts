/** Follows the computations of the local schedulers: what they share, the lanes of this process and the processes that compute. */
import type { LaneId } from '../../records/ids';
import { inspect } from 'node:util';
import { Callback } from '../local/callback';
import type { Executor } from '../local/executor';
import type { RunPlan } from '../local/plan';
import {
  FOLLOW,
  type FollowedComputation,
  type ComputationFollower
} from '../local/computation-follower';
import { ObservedComputation, type IFollowing } from './observed-computation';
import { HOME } from './home';
import { KeyCutter } from './key-parts';
import { HomeLanes, type LaneRange } from './lanes';
import type { LiveLog } from './live-log';
import { type ProcessSlot, ProcessSlots } from './process-slots';
import type { RunningBoard } from './running-board';
import { threadCpuClock } from './thread-cpu';
import { warn } from '../warning';

/** A callback that follows every computation in whose scope it is. */
export class ObservedComputations
  extends Callback
  implements ComputationFollower, IFollowing
{
  readonly lanes = new HomeLanes();
  readonly slots = new ProcessSlots(HOME + 1);
  readonly keys = new KeyCutter();
  readonly cpuOfThread = threadCpuClock();
  /** Stands for this thread among the owners of lanes. */
  private readonly _thisThread = {};
  /** Nothing is followed any more. */
  isClosed = false;

  /** @param _onProcess - hears of each process that computes, with its number in the log. */
  constructor(
    readonly live: LiveLog,
    readonly board: RunningBoard,
    private readonly _onProcess: (worker: number, pid: number) => void
  ) {
    super();
  }

  [FOLLOW](plan: RunPlan, executor: Executor): FollowedComputation | null {
    if (this.isClosed) {
      return null;
    }
    try {
      return new ObservedComputation(this, plan, executor);
    } catch (error) {
      this.giveUp(error);
      return null;
    }
  }

  /** Never lets observing break a computation. */
  harmless(write: () => void): void {
    if (this.isClosed) {
      return;
    }
    try {
      write();
    } catch (error) {
      this.giveUp(error);
    }
  }

  /** A fault of Spanwise itself: it is reported, and the computation goes on. */
  giveUp(error: unknown): void {
    this.isClosed = true;
    warn(
      `Spanwise records nothing more of this program, which goes on: ${inspect(error)}`
    );
  }

  /** Lanes for a computation that begins. */
  takeLanes(executor: Executor): LaneRange | ProcessSlot[] {
    const { live, lanes, slots } = this;
    const { remote } = executor;
    const size = tasksAtATime(executor);
    if (remote?.kind === 'processes') {
      const taken = slots.acquire(remote.pool, size, remote.size);
      for (const { worker, pid } of taken) {
        if (pid === null) {
          live.worker(worker, 0, 1, `process ${worker}`);
        }
        live.capacity(worker, 1);
      }
      return taken;
    }
    const owner = remote?.pool ?? this._thisThread;
    const range = lanes.acquire(owner, size, remote?.size);
    live.capacity(HOME, lanes.count);
    return range;
  }

  giveLanes(place: LaneRange | ProcessSlot[], executor: Executor): void {
    if (Array.isArray(place)) {
      this.slots.release(place);
      for (const { worker, users } of place) {
        if (users === 0) {
          this.live.capacity(worker, 0);
        }
      }
    } else {
      this.lanes.release(place, tasksAtATime(executor));
      this.live.capacity(HOME, this.lanes.count);
    }
  }

  /** The lane of a process. */
  laneOfProcess(pool: object, pid: number): LaneId {
    const { slot, isNew } = this.slots.of(pool, pid);
    if (isNew) {
      this.live.worker(slot.worker, pid, 1, `process ${slot.worker}`);
      this._onProcess(slot.worker, pid);
    }
    return this.live.laneId(slot.worker, 0);
  }

  /** A process is gone: another one may take its number. */
  processEnded(worker: number): void {
    const slot = this.slots.all.find(each => each.worker === worker);
    if (slot !== undefined) {
      this.slots.ended(slot);
      this.live.workerLeft(worker, 'The process has ended.');
      this.live.commit();
    }
  }
}

/** This thread computes one task at a time, however many of its promises wait. */
function tasksAtATime({ remote, numWorkers }: Executor): number {
  return remote === undefined ? 1 : numWorkers;
}
