/**
 * Of very many workers groups have a row each, coloured by what most of their threads did and paler the fewer were busy; one group is opened
 * at a time, and shows its lanes. Workers of groups are in the order of their numbers, as in the observer (`src/observer/tiles/lane-rows.ts`).
 *
 *   ▸ worker 0 – worker 49    50 workers · 100 threads · busy 83 %
 *     █████████▓▓▓▓▓▓███████▓▓▓▒▒
 *   ▸ worker 50 – worker 99 …
 */
import type { Trans } from '../../base/trans';
import type { LaneIndex } from '../../records/ids';
import type { TileRows } from '../../feed/feed-types';
import type { TaskStreamResult } from '../../wire/panel-link';
import { formatCount, processesText, workerLabel } from '../format';
import { stayedWorkers } from '../../records/stayed-workers';
import type { LaneRows } from './lane-layout';
import {
  busySentence,
  busyText,
  runningSeconds,
  uncountedTasks,
  threadsText,
  type WorkerHeader
} from './rows';

/** So many workers have lanes side by side: some 3,000 pixels of them, where each has two threads. */
const MOST_WORKERS = 64;
const MOST_GROUPS = 24;

/** What has rows: lanes of workers, or groups that are told as workers of one lane. */
export type Shown = LaneRows & {
  readonly rows: TileRows | undefined;
  readonly headed: ReadonlySet<number>;
};

/** How many workers are in a group: 10, 20, 50, 100, 200 …; 0: each has its lanes. */
export function groupSizeFor(workers: number): number {
  if (workers <= MOST_WORKERS) {
    return 0;
  }
  for (let ten = 10; ; ten *= 10) {
    for (const size of [ten, 2 * ten, 5 * ten]) {
      if (workers <= size * MOST_GROUPS) {
        return size;
      }
    }
  }
}

/** All workers in order: a lane may be of one that is not known. */
function workersInOrder(result: TaskStreamResult): number[] {
  const workers = new Set([
    ...result.workers.map(({ worker }) => worker),
    ...result.lanes.map(({ worker }) => worker)
  ]);
  return [...workers].sort((a, b) => a - b);
}

/**
 * Workers that have left are below those that are there, or were to the end: where workers are replaced again and again, as those that a task
 * ends, what runs now would be below many empty lanes.
 */
function presentFirst(
  result: TaskStreamResult,
  workers: readonly number[]
): number[] {
  const known = new Map(result.workers.map(each => [each.worker, each]));
  const stayed = new Set(
    stayedWorkers(
      workers.map(worker => ({ ...known.get(worker), worker }))
    ).map(({ worker }) => worker)
  );
  return [
    ...workers.filter(worker => stayed.has(worker)),
    ...workers.filter(worker => !stayed.has(worker))
  ];
}

/** Their lanes may come one by one: they keep their form meanwhile. */
function ofSeveralThreads({ workers }: TaskStreamResult): ReadonlySet<number> {
  return new Set(
    workers.filter(({ threads }) => threads > 1).map(({ worker }) => worker)
  );
}

/** @param opened - a worker of the group that is opened; null: none is. */
export function shownLanes(
  result: TaskStreamResult,
  opened: number | null
): Shown {
  const workers = workersInOrder(result);
  const groupSize = groupSizeFor(workers.length);
  if (groupSize === 0) {
    return {
      rows: undefined,
      lanes: result.lanes,
      workers: presentFirst(result, workers),
      headed: ofSeveralThreads(result)
    };
  }
  const rank = opened === null ? -1 : workers.indexOf(opened);
  if (rank < 0) {
    const groups = Math.ceil(workers.length / groupSize);
    const numbers = Array.from({ length: groups }, (_, group) => group);
    return {
      rows: { groupSize, group: null },
      workers: numbers,
      headed: new Set(numbers),
      lanes: numbers.map(group => ({
        laneIndex: group as LaneIndex,
        worker: group,
        thread: 0
      }))
    };
  }
  const group = Math.floor(rank / groupSize);
  const own = workers.slice(group * groupSize, (group + 1) * groupSize);
  const wanted = new Set(own);
  return {
    rows: { groupSize, group },
    workers: own,
    headed: ofSeveralThreads(result),
    lanes: result.lanes.filter(({ worker }) => wanted.has(worker))
  };
}

type LaneGroup = {
  readonly group: number;
  /** The first of its workers. */
  readonly worker: number;
  readonly name: string;
  readonly workers: readonly TaskStreamResult['workers'][number][];
};

/** The groups of the workers; none if each has its lanes. */
export function laneGroups(
  result: TaskStreamResult,
  trans: Trans
): LaneGroup[] {
  const workers = workersInOrder(result);
  const groupSize = groupSizeFor(workers.length);
  if (groupSize === 0) {
    return [];
  }
  const known = new Map(result.workers.map(each => [each.worker, each]));
  const nameOf = (worker: number) => known.get(worker)?.name ?? String(worker);
  const groups: LaneGroup[] = [];
  for (let first = 0; first < workers.length; first += groupSize) {
    const own = workers.slice(first, first + groupSize);
    groups.push({
      group: groups.length,
      worker: own[0]!,
      name: groupName(own.map(nameOf), trans),
      workers: own.flatMap(worker => known.get(worker) ?? [])
    });
  }
  return groups;
}

/** The group that has a lane's worker; null: there are no groups, or no such lane. */
export function groupOfLane(
  result: TaskStreamResult,
  lane: LaneIndex
): number | null {
  const workers = workersInOrder(result);
  const groupSize = groupSizeFor(workers.length);
  const worker = result.lanes[lane]?.worker;
  return groupSize === 0 || worker === undefined
    ? null
    : Math.floor(workers.indexOf(worker) / groupSize);
}

/** The lanes of a group's workers. */
export function groupLanes(
  result: TaskStreamResult,
  group: number
): LaneIndex[] {
  const workers = workersInOrder(result);
  const groupSize = groupSizeFor(workers.length);
  const own = new Set(
    workers.slice(group * groupSize, (group + 1) * groupSize)
  );
  return result.lanes
    .filter(({ worker }) => own.has(worker))
    .map(({ laneIndex }) => laneIndex);
}

/** A range only of names that count up: who reads "worker 3 – worker 9" looks for worker 5 there. */
function groupName(names: readonly string[], trans: Trans): string {
  const [begin, end] = [names[0]!, names.at(-1)!].map(name =>
    workerLabel(name, trans)
  );
  if (names.length === 1) {
    return begin!;
  }
  const numbers = names.map(name =>
    Number(/^(?:worker-)?(\d+)$/.exec(name)?.[1] ?? NaN)
  );
  const isRange = numbers.every(
    (number, i) => number > (numbers[i - 1] ?? -Infinity)
  );
  return isRange
    ? `${begin} – ${end}`
    : trans._n(
        '%2 and %3\u00a0more',
        '%2 and %3\u00a0more',
        names.length - 1,
        begin,
        formatCount(names.length - 1)
      );
}

/**
 * What the header of each group says; its number is in the place of a worker's.
 *
 * @param isLocal - of an observation, whose workers are processes, and the program itself.
 */
export function groupHeaders(
  result: TaskStreamResult,
  trans: Trans,
  isLocal: boolean
): WorkerHeader[] {
  const running = runningSeconds(result);
  const uncounted = uncountedTasks(result);
  return laneGroups(result, trans).map(({ group, name, workers }) => {
    const sum = (of: (worker: (typeof workers)[number]) => number) =>
      workers.reduce((all, worker) => all + of(worker), 0);
    const capacity = sum(worker => worker.capacity);
    const seconds = Math.min(
      sum(worker => worker.busy + (running.get(worker.worker) ?? 0)),
      capacity
    );
    const unknown = sum(worker => uncounted.get(worker.worker) ?? 0);
    const left = workers.filter(worker => worker.left !== null).length;
    const parts = [
      processesText(
        workers.length,
        !isLocal
          ? 'cluster'
          : group === 0
            ? 'observation'
            : 'part of an observation',
        trans
      ).text,
      threadsText(
        sum(worker => worker.threads),
        trans
      ),
      busyText(seconds, capacity, unknown, trans)
    ];
    if (left > 0) {
      parts.push(trans._n('%2 left', '%2 left', left, formatCount(left)));
    }
    return {
      worker: group,
      name,
      text: parts.join(' · '),
      explanation: busySentence(seconds, capacity, unknown, trans)
    };
  });
}
