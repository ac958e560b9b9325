/**
 * Which of a worker's tasks have begun. It says so of each that has run for 0.1 s; and it takes the next one as soon as a thread is free:
 *
 * ```
 *   in Processing, oldest first      a b c d e f    2 threads
 *   said to have begun                 b
 *   taken for begun                  a               the first of the others that could run, one for each thread that is left
 * ```
 */
import { NONE } from './edge-table';
import type { SchedulerState } from './scheduler-state';
import { TaskFlag } from './task-table';
import type { WorkerRecord } from './worker-table';

/**
 * @param told - those that it says have begun.
 * @returns the others that have begun, as far as is known. Of tasks that are given to it at once and run in another order these are others,
 *   but as many.
 */
export function takenForBegun(
  { tasks }: SchedulerState,
  worker: WorkerRecord,
  told: ReadonlySet<number>
): number[] {
  let left = worker.freeThreads;
  for (const task of told) {
    left -= tasks.hasSeceded(task) ? 0 : 1;
  }
  const begun: number[] = [];
  for (
    let task = worker.firstProcessing;
    task !== NONE && left > 0;
    task = tasks.nextProcessing(task)
  ) {
    if (tasks.hasFlag(task, TaskFlag.Runnable) && !told.has(task)) {
      begun.push(task);
      left--;
    }
  }
  return begun;
}
