/** How many workers the present work is worth. */
import type { Scheduler } from '../../scheduler';

/** So long the present work should take. */
const TARGET_SECONDS = 5;

/**
 * Enough workers to end the present work in {@link TARGET_SECONDS}, as far as the durations of tasks are known, and no more than it can
 * fill; one at least while there is work.
 *
 * ```
 *   40 tasks of 1 s, workers of 2 threads: 40 / 5 / 2 = 4         3 tasks of 60 s: 3 / 2 → 2, more would idle
 * ```
 *
 * @param resources - what each worker that is started has.
 */
export function wantedWorkers(
  core: Scheduler,
  threads: number,
  resources: Readonly<Record<string, number>>,
  { minimum, maximum }: { minimum: number; maximum: number }
): number {
  let seconds = 0;
  let processing = 0;
  let queued = 0;
  let seceded = 0;
  let taken = 0;
  for (const worker of core.workers.all) {
    seconds += core.secondsAt(worker);
    processing += worker.processingCount;
    queued += worker.queuedCount;
    seceded += worker.secededCount;
    taken += worker.threads - worker.freeThreads;
  }
  // Tasks that lie in the common queue, or wait for any worker at all, take as long as the others do.
  const others = core.queuedCount - queued + core.placeableCount(resources);
  const estimated = processing + queued;
  const mean =
    estimated > 0 ? seconds / estimated : core.options.unknownSeconds;
  const tasks = estimated + others;
  const byTime = Math.ceil(
    (seconds + others * mean) / TARGET_SECONDS / threads
  );
  const byCount = Math.ceil(tasks / threads);
  // Threads on which runs go on that were given up take no task: others are wanted in their place, while there is work.
  const wanted =
    Math.max(Math.min(byTime, byCount), tasks + seceded > 0 ? 1 : 0) +
    (tasks > 0 ? Math.floor(taken / threads) : 0);
  return Math.min(Math.max(wanted, minimum), maximum);
}
