/**
 * For how long a worker has ended nothing although it should have.
 *
 * What tasks take is known of those that have ended. A task that takes a thousand times as long as others of its function is in no average until
 * then, and what waits behind it seems to be done at once:
 *
 * ```
 *   worker 0  a ▏a ▏a ▏a ──────────────────────────      195 more of 20 us each are here, 4 ms by the books
 *   worker 1  a ▏a ▏a ▏                                  idle
 *                        └─ busySince ──► now            overdue
 * ```
 *
 * So a worker whose threads are all taken, and that has ended nothing for longer than its tasks take, is reckoned to go on like this for as long
 * again: an idle worker takes what waits there, and nothing is sent there ahead.
 */
import type { SchedulerState } from './scheduler-state';
import type { WorkerRecord } from './worker-table';

/** Less is no sign: its process may have waited for a core. */
const LEAST_SECONDS = 0.05;

/** Whether it has ended nothing for a while; of a worker that has little in hand, so that all of it should have ended. */
export function isSilent(s: SchedulerState, worker: WorkerRecord): boolean {
  return (
    s.now - worker.busySince > LEAST_SECONDS &&
    worker.runnableCount >= worker.freeThreads
  );
}

/** For how long its threads go on beyond what is booked; 0: as booked, as far as is known. */
export function overdueSeconds(
  s: SchedulerState,
  worker: WorkerRecord
): number {
  if (!isSilent(s, worker) || worker.freeThreads === 0) {
    return 0;
  }
  const expected = worker.occupancy / worker.processingCount;
  const overdue = s.now - worker.busySince - expected;
  return overdue > LEAST_SECONDS ? overdue : 0;
}
