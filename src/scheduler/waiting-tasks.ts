/**
 * How many tasks wait, and for what: sums of counters that the scheduler keeps for its decisions, so that a look costs as much as there are
 * workers and restrictions, however many tasks there are.
 *
 * ```
 *   needed, not done ─┬─ begun at a worker, as far as is known
 *                     └─ waits ─┬─ inputs
 *                               ├─ thread, resource                     others have them
 *                               ├─ paused                               who may run it begins nothing
 *                               └─ no worker, none named, none with it  nobody is there who may run it
 * ```
 *
 * A task that has seceded has begun, and does not wait.
 */
import { WaitReason } from '../records/enumerations';
import type { SchedulerState } from './scheduler-state';
import { areUnplacedInVain, isDeserted } from './stall';
import type { Need } from './worker-resources';
import type { WorkerRecord } from './worker-table';

/** So many tasks wait, by {@link WaitReason}. */
type WaitingCounts = Readonly<Record<WaitReason, number>>;
/** What some of those need that wait for resources, by their reason: different ones, the first of them. */
type WaitingNeeds = ReadonlyMap<WaitReason, readonly Need[]>;

/** So many different needs are found of one reason. A user reads no more, and there may be ten thousand. */
export const MOST_NEEDS = 4;

/** @param heldUp - workers that begin no task now, by id: how many of those that they have begun go on. */
export function waitingTasks(
  s: SchedulerState,
  heldUp: ReadonlyMap<number, number>
): { readonly counts: WaitingCounts; readonly needs: WaitingNeeds } {
  const needs = new Map<WaitReason, Need[]>();
  const counts = {
    [WaitReason.Input]: s.waitingCount,
    [WaitReason.Thread]: 0,
    [WaitReason.Resource]: 0,
    [WaitReason.Paused]: 0,
    [WaitReason.NoWorker]: 0,
    [WaitReason.NoNamed]: 0,
    [WaitReason.NoResource]: 0,
    [WaitReason.Unplaced]: 0
  };
  // As in the notice: who starts any worker helps, unless all wait for others.
  const isNobodyThere = isDeserted(s) && !areUnplacedInVain(s);
  const unplaced = (needsResources: boolean): WaitReason =>
    isNobodyThere
      ? WaitReason.NoWorker
      : needsResources
        ? WaitReason.NoResource
        : WaitReason.NoNamed;
  const areHeldUp = (workers: readonly WorkerRecord[]): boolean =>
    workers.every(({ id, retiring }) => retiring || heldUp.has(id));
  const add = (
    reason: WaitReason,
    count: number,
    need: Need | null = null
  ): void => {
    counts[reason] += count;
    if (
      need !== null &&
      (reason === WaitReason.Resource || reason === WaitReason.NoResource)
    ) {
      const known = needs.get(reason) ?? [];
      needs.set(reason, known);
      if (
        known.length < MOST_NEEDS &&
        !known.some(other => areTheSame(other, need))
      ) {
        known.push(need);
      }
    }
  };
  for (const worker of s.workers.all) {
    const { processingCount, runnableCount, queuedCount } = worker;
    const going = heldUp.get(worker.id);
    const reason = going === undefined ? WaitReason.Thread : WaitReason.Paused;
    add(WaitReason.Input, processingCount - runnableCount);
    add(reason, Math.max(0, runnableCount - (going ?? worker.freeThreads)));
    // (what is queued for one that is to leave goes nowhere else now)
    add(worker.retiring ? unplaced(false) : reason, queuedCount);
  }
  add(
    isDeserted(s)
      ? unplaced(false)
      : areHeldUp(s.workers.all)
        ? WaitReason.Paused
        : WaitReason.Thread,
    s.commonCount
  );
  for (const { head, count } of s.waitingForResources.lines()) {
    const able = s.eligibleFor(head).filter(({ retiring }) => !retiring);
    const need = s.needOf(head)!;
    add(
      able.length === 0
        ? unplaced(true)
        : areHeldUp(able)
          ? WaitReason.Paused
          : able.some(({ resources }) => resources.hasFree(need))
            ? WaitReason.Thread
            : WaitReason.Resource,
      count,
      need
    );
  }
  for (const [restriction, count] of s.noWorkerBy) {
    const need = s.restrictions.needOf(restriction);
    add(unplaced(need !== null), count, need);
  }
  return { counts, needs };
}

/** Both are sorted by name. */
function areTheSame(need: Need, other: Need): boolean {
  return (
    need.length === other.length &&
    need.every(
      ({ name, amount }, i) =>
        name === other[i]!.name && amount === other[i]!.amount
    )
  );
}
