/**
 * Which worker runs which roots: tasks without inputs that any worker may run.
 *
 * Neighbours in the graph's order mostly have a dependent in common. So when there are more roots than threads, each worker gets one stretch
 * of them into its queue, and what uses neighbours finds them at one worker (`root-line.ts` says in which line they are cut):
 *
 * ```
 *   common queue   a b c d e f g h i j k l  ──►  worker 0  a b c d     worker 1  e f g h     worker 2  i j k l
 *                                                          └─┬─┘ └─ two per thread are sent (`room.ts`)
 * ```
 *
 * They stay here until their worker has room: few are sent ahead, so that what uses them runs before more of them is made, and a worker
 * that has nothing else takes the last ones of another (`balance.ts`).
 */
import { NONE } from './edge-table';
import { lineOf, MOST_JOINED } from './root-line';
import type { SchedulerState } from './scheduler-state';
import type { WorkerRecord } from './worker-table';

/** Deals the roots in the common queue to workers, in stretches by their threads, if there are more than threads. */
export function dealRoots(s: SchedulerState): void {
  const { saturation } = s.options;
  if (
    s.commonCount < 2 ||
    s.workers.all.length < 2 ||
    // Clients in turn: each takes the next place that is free anywhere.
    s.turns.areContending ||
    // As in `distributed`: what is kept back goes to whichever worker is free first.
    (saturation !== null && saturation !== Infinity)
  ) {
    return;
  }
  const takers = s.workers.all.filter(
    worker => !worker.paused && worker.freeThreads > 0
  );
  let threads = 0;
  for (const worker of takers) {
    threads += worker.freeThreads;
  }
  if (
    takers.length < 2 ||
    s.commonCount <= threads ||
    !isOfLayer(s, s.anyQueued(null))
  ) {
    return;
  }
  const line = lineOf(s.tasks, takeRoots(s, takers[0]!));
  let first = 0;
  for (const worker of takers) {
    const left = line.length - first;
    const end = first + Math.round((left * worker.freeThreads) / threads);
    threads -= worker.freeThreads;
    for (; first < end; first++) {
      s.enqueue(line[first]!, worker);
    }
  }
}

/**
 * Takes all out of the common queue, in their order, since the line of all must be known before the first is dealt.
 *
 * @param home - whose they count as until each is queued for its worker: entries of the common queue are alive while a task has no worker.
 */
function takeRoots(s: SchedulerState, home: WorkerRecord): Int32Array {
  const roots = new Int32Array(s.commonCount);
  for (let i = 0; i < roots.length; i++) {
    const root = s.anyQueued(null);
    s.commonQueue.pop();
    s.dequeue(root);
    // So an older entry of it, left from when it was queued before, is dead as well.
    s.tasks.worker[root] = home.id;
    roots[i] = root;
  }
  return roots;
}

/**
 * Whether a root is one of a layer whose tasks are used together with few others. If some tasks of its function have inputs it is part of an
 * irregular graph, where neighbours have little in common: there the order is worth more.
 */
function isOfLayer(s: SchedulerState, root: number): boolean {
  const { edges, firstInput, firstDependent, functionRow } = s.tasks;
  const edge = firstDependent[root]!;
  if (edge === NONE || s.durations.hasInputs(functionRow[root]!)) {
    return false;
  }
  const user = edges.dependent[edge]!;
  let count = 0;
  while (
    count <= MOST_JOINED &&
    edges.dependent[firstInput[user]! + count] === user
  ) {
    count++;
  }
  return count <= MOST_JOINED;
}
