/** Finds tasks that wait in a worker behind a long one, and workers that a task of a finished run still holds. */
import type { Entry } from './batch';
import { STUCK_MS } from './placement';
import type { IPoolRun } from './pool-worker';
import type { WorkerPool } from './worker-pool';

/** How long a worker that still runs a task of a failed run is waited for before another takes its place. */
const LEFT_OVER_MS = 50;

/** Whether tasks of the run wait behind another although a worker is free, or in its queue because of a run that is over. */
export function couldStick(
  { workers, size }: WorkerPool,
  run: IPoolRun
): boolean {
  if (run.isWaiting) {
    return workers.some(worker => worker.leftOver() !== undefined);
  }
  const used = workers.filter(worker => worker.worksFor(run));
  if (used.some(worker => worker.leftOver() !== undefined)) {
    return true;
  }
  const someoneIsFree =
    used.length < run.numWorkers &&
    (workers.length < size || workers.some(worker => worker.packs.size === 0));
  return (
    someoneIsFree &&
    !run.isExact &&
    used.some(worker => worker.aheadTasks > 1 && worker.transport.canTakeBack)
  );
}

/** Takes back the run's tasks that wait in workers which have sent nothing for a while. @returns them, for the front of its queue */
export function takeBackStuck(pool: WorkerPool, run: IPoolRun): Entry[] {
  const now = performance.now();
  const entries: Entry[] = [];
  for (const worker of pool.workers) {
    if (!worker.isSilent(now, STUCK_MS)) {
      continue;
    }
    const hasLeftOver = worker.leftOver() !== undefined;
    // Each pack is put before those already taken back, so the last pack goes first.
    for (const pack of [...worker.packs.values()].reverse()) {
      // A batch of a size that the caller asked for stays together where it is, unless that could be for ever.
      const mayMove = hasLeftOver || pack.entries[0]!.batch.inParts;
      if (pack.owner === run && mayMove) {
        const { end } = pack;
        const taken = worker.takeBack(pack);
        entries.unshift(...pack.entries.slice(end - taken, end));
      }
    }
  }
  return entries;
}

/** Replaces workers that are held by tasks of a run that is over. They end when their task does. */
export function retireHeld(pool: WorkerPool): void {
  const now = performance.now();
  for (const worker of pool.workers.slice()) {
    if (worker.leftOver() !== undefined && worker.isSilent(now, LEFT_OVER_MS)) {
      pool.retire(worker);
    }
  }
}
