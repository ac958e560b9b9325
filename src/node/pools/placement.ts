/** Which worker is given a run's next tasks, and how much it is given ahead. */
import type { IPoolRun, PoolWorker } from './pool-worker';
import type { WorkerPool } from './worker-pool';

/** Work that a worker is given before it has finished what it has: some twenty times what a message and a wake-up take. */
export const AHEAD_MS = 2;
/** Tasks given ahead at most: the loop's choices for later ones are made with what it knows then. */
export const AHEAD_TASKS = 1024;
/** How long a worker may stay without a result before others are given what waits behind its task. */
export const STUCK_MS = 5;

/**
 * The worker with the least to do that has room; one that ran tasks of this run before rather than another, a new one rather than one that
 * is busy; null if none has room.
 *
 * @param hasServed - whether a worker has run something of this run
 * @throws what starting a new one throws.
 */
export function freestWorker(
  pool: WorkerPool,
  run: IPoolRun,
  hasServed: (worker: PoolWorker) => boolean
): PoolWorker | null {
  const now = performance.now();
  let used = 0;
  let own: PoolWorker | null = null;
  let other: PoolWorker | null = null;
  for (const worker of pool.workers) {
    used += worker.worksFor(run) ? 1 : 0;
    const hasRoom =
      worker.canTakePack &&
      worker.leftOver() === undefined &&
      mayWaitIn(worker, pool, run) &&
      worker.aheadMs < AHEAD_MS / 2 &&
      worker.aheadTasks < AHEAD_TASKS / 2 &&
      !worker.isSilent(now, STUCK_MS);
    if (!hasRoom) {
      continue;
    }
    if (hasServed(worker)) {
      own = own === null || worker.aheadMs < own.aheadMs ? worker : own;
    } else {
      other = other === null || worker.aheadMs < other.aheadMs ? worker : other;
    }
  }
  if (own?.aheadTasks === 0 || used >= run.numWorkers) {
    return own;
  }
  if (other?.aheadTasks === 0) {
    return other;
  }
  return pool.grow() ?? own ?? other;
}

/**
 * Tasks that wait in a process cannot be taken back. So they wait only behind tasks of their own run, which end or fail together with them,
 * and not while another run could have the process next.
 */
function mayWaitIn(
  worker: PoolWorker,
  pool: WorkerPool,
  run: IPoolRun
): boolean {
  return (
    worker.packs.size === 0 ||
    worker.transport.canTakeBack ||
    !(worker.worksForOthers(run) || pool.isWantedByOthers(run))
  );
}
