import { NONE } from './edge-table';
import type { SeededRandom } from '../base/seeded-random';
import type { SchedulerOptions } from './options';
import type { TaskTable } from './task-table';
import type { WorkerRecord } from './worker-table';

/**
 * A task's transfer takes longer if its worker fetches for other tasks too: for each of those tasks, and for each input that this one lacks,
 * by this share of its own time. Transfers from several workers run side by side, but share links: one input takes one link and
 * hardly waits, many inputs take all links.
 */
const BESIDE_PER_INPUT = 1 / 16;
/** The share of all inputs together is at most this, which eight inputs reach: half of the others' transfers come before. */
const MOST_BESIDE = 1 / 2;

/** What placing reads of the scheduler's state. */
type PlacementState = {
  readonly tasks: TaskTable;
  readonly options: SchedulerOptions;
  readonly random: SeededRandom;
  /** Bytes per second between two workers, as measured. */
  readonly bandwidth: number;
  hasReplica(task: number, worker: WorkerRecord): boolean;
};

/** Decides for which worker a task with inputs queues. Called once all its inputs are in memory. */
export interface IPlacementPolicy {
  /** One of `candidates`, which are eligible for the task and at least one. */
  choose(
    state: PlacementState,
    task: number,
    candidates: readonly WorkerRecord[]
  ): WorkerRecord;
}

/**
 * Takes of the workers that hold inputs, if any do, the one where the task could start first: the work already there, plus the time to move
 * the inputs that are elsewhere, behind those that are to come before. A worker without any gets it when it is idle (`balance.ts`), for by
 * then it is known whether that is worth the transfers. Equal costs: the one that stores less, then the one that joined first.
 */
export class CheapestPlacement implements IPlacementPolicy {
  private _heldBytes = new Float64Array(16);
  private _heldInputs = new Int32Array(16);

  choose(
    state: PlacementState,
    task: number,
    candidates: readonly WorkerRecord[]
  ): WorkerRecord {
    const { tasks, options, bandwidth } = state;
    const { edges, replicas, nbytes, firstReplica } = tasks;
    this._reset(candidates);
    const heldBytes = this._heldBytes;
    const heldInputs = this._heldInputs;
    let bytes = 0;
    let inputs = 0;
    for (let e = tasks.firstInput[task]!; edges.dependent[e] === task; e++) {
      const input = edges.input[e]!;
      const inputBytes = nbytes[input]!;
      bytes += inputBytes;
      inputs++;
      for (
        let cell = firstReplica[input]!;
        cell !== NONE;
        cell = replicas.next(cell)
      ) {
        const holder = replicas.value(cell);
        if (holder < heldBytes.length) {
          heldBytes[holder]! += inputBytes;
          heldInputs[holder]!++;
        }
      }
    }
    const isHeld = candidates.some(({ id }) => heldInputs[id]! > 0);
    let best = candidates[0]!;
    let bestCost = Infinity;
    for (const worker of candidates) {
      if (isHeld && heldInputs[worker.id] === 0) {
        continue;
      }
      const transfer =
        (heldInputs[worker.id] === inputs ? 0 : options.transferLatency) +
        (bytes - heldBytes[worker.id]!) / bandwidth;
      const before = worker.fetchingCount + worker.lackingCount;
      let cost = worker.load + transfer;
      if (transfer > 0 && before > 0) {
        const lacking = inputs - heldInputs[worker.id]!;
        const beside = Math.min(MOST_BESIDE, BESIDE_PER_INPUT * lacking);
        cost += transfer * beside * before;
      }
      if (
        cost < bestCost ||
        (cost === bestCost && worker.storedBytes < best.storedBytes)
      ) {
        best = worker;
        bestCost = cost;
      }
    }
    return best;
  }

  private _reset(candidates: readonly WorkerRecord[]): void {
    let extent = 0;
    for (const worker of candidates) {
      extent = Math.max(extent, worker.id + 1);
    }
    if (extent > this._heldBytes.length) {
      this._heldBytes = new Float64Array(2 * extent);
      this._heldInputs = new Int32Array(2 * extent);
    } else {
      this._heldBytes.fill(0, 0, extent);
      this._heldInputs.fill(0, 0, extent);
    }
  }
}

/** Estimated seconds to move to `worker` those inputs of `task` that it does not hold. */
export function transferSeconds(
  state: PlacementState,
  task: number,
  worker: WorkerRecord
): number {
  const { tasks, options, bandwidth } = state;
  const { edges } = tasks;
  let seconds = 0;
  for (let e = tasks.firstInput[task]!; edges.dependent[e] === task; e++) {
    const input = edges.input[e]!;
    if (!state.hasReplica(input, worker)) {
      seconds +=
        (seconds === 0 ? options.transferLatency : 0) +
        tasks.nbytes[input]! / bandwidth;
    }
  }
  return seconds;
}
