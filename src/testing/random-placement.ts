import type { IPlacementPolicy } from '../scheduler/placement';
import type { SchedulerState } from '../scheduler/scheduler-state';
import type { WorkerRecord } from '../scheduler/worker-table';

/** Takes any worker, so that tests reach unusual states. */
export class RandomPlacement implements IPlacementPolicy {
  choose(
    state: SchedulerState,
    _task: number,
    candidates: readonly WorkerRecord[]
  ): WorkerRecord {
    return state.random.pick(candidates);
  }
}
