/**
 * Workers that are to leave: they get no more tasks, and what they alone hold is copied to others before they go.
 *
 * ```
 *   workerRetires ──► emptied queue, tasks asked back ──► acquire at others ──► replicasChanged … ──► unmoved = 0: it may be closed
 *        ▲ said again now and then, until nothing is left ─────────────┘
 * ```
 */
import type { WorkerRetires } from './events';
import type { SchedulerState } from './scheduler-state';
import { emptyQueue, relievePaused } from './stall';
import { TaskState } from './task-state';
import type { WorkerRecord } from './worker-table';

/** A copy that has not come by then is asked for again, elsewhere if possible: its taker may have failed to get it. */
const ASK_AGAIN_SECONDS = 5;
/** Copies that are under way at a time, for one worker: each takes memory of its taker. */
const MOST_UNDER_WAY = 512;

export function workerRetires(s: SchedulerState, event: WorkerRetires): void {
  const worker = s.workers.get(event.worker);
  if (worker === undefined) {
    return;
  }
  if (!worker.retiring) {
    worker.retiring = true;
    emptyQueue(s, worker);
    relievePaused(s);
  }
  moveResults(s, worker);
}

/** It goes on as before; copies that are under way stay where they come. */
export function workerStays(s: SchedulerState, workerId: number): void {
  const worker = s.workers.get(workerId);
  if (worker !== undefined && worker.retiring) {
    worker.retiring = false;
    worker.moving.clear();
    worker.unmoved = 0;
    worker.results = null;
    relievePaused(s);
  }
}

/** Goes through all tasks, as the end of a worker does, but only once: from now on the state keeps the set. */
function resultsOf(s: SchedulerState, worker: WorkerRecord): Set<number> {
  if (worker.results === null) {
    worker.results = new Set();
    const { state, capacity } = s.tasks;
    for (let task = 0; task < capacity; task++) {
      if (state[task] === TaskState.Memory && s.hasReplica(task, worker)) {
        worker.results.add(task);
      }
    }
  }
  return worker.results;
}

/** Asks others for copies of what this worker alone holds. It is looked at many times a second, so only its own results are gone through. */
function moveResults(s: SchedulerState, worker: WorkerRecord): void {
  const takers = s.workers.all.filter(other => !other.paused);
  const before = worker.moving;
  const coming = new Map(takers.map(({ id }) => [id, 0]));
  worker.moving = new Map();
  worker.unmoved = 0;
  const { nbytes } = s.tasks;
  for (const task of resultsOf(s, worker)) {
    if (hasHomeElsewhere(s, task)) {
      continue;
    }
    worker.unmoved++;
    const asked = before.get(task);
    const isUnderWay =
      asked !== undefined &&
      coming.has(asked.taker) &&
      s.now - asked.at < ASK_AGAIN_SECONDS;
    if (isUnderWay) {
      worker.moving.set(task, asked);
      coming.set(asked.taker, coming.get(asked.taker)! + nbytes[task]!);
    } else if (worker.moving.size < MOST_UNDER_WAY) {
      const taker = emptiest(takers, coming, asked?.taker);
      if (taker !== null) {
        worker.moving.set(task, { taker: taker.id, at: s.now });
        coming.set(taker.id, coming.get(taker.id)! + nbytes[task]!);
        s.output.acquire(taker, task);
      }
    }
  }
}

/** Whether a worker that stays holds it. */
function hasHomeElsewhere(s: SchedulerState, task: number): boolean {
  return s.tasks
    .holdersOf(task)
    .some(id => s.workers.get(id)?.retiring === false);
}

/** The taker with the fewest bytes; another than the one that was asked in vain, if there is another. */
function emptiest(
  takers: readonly WorkerRecord[],
  coming: ReadonlyMap<number, number>,
  inVain: number | undefined
): WorkerRecord | null {
  let best: WorkerRecord | null = null;
  let fewest = Infinity;
  for (const taker of takers) {
    const bytes = taker.storedBytes + coming.get(taker.id)!;
    if (bytes < fewest && (taker.id !== inVain || takers.length === 1)) {
      best = taker;
      fewest = bytes;
    }
  }
  return best;
}
