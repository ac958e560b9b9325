/** Which rows a tile has: all lanes, the lanes of some workers, or groups of workers with a row each. */
import type { LaneIndex } from '../../records/ids';
import type { ClusterShape, ThreadStep } from '../store/cluster-shape';

/** Workers in the order of their numbers, so many in a group; 0: they are not grouped. `group`: whose lanes are wanted; −1: a row a group. */
export type Grouping = {
  readonly groupSize: number;
  readonly group: number;
};

export const NOT_GROUPED: Grouping = { groupSize: 0, group: -1 };

/** Rows never change their place when lanes and workers join. */
export type LaneRows = {
  readonly count: number;
  /** By lane index: its row, −1 if it has none. null: its index. */
  readonly rowOf: Int32Array | null;
  /** By row: what boxes say in the column `laneIndex`. null: the row. */
  readonly laneOf: readonly LaneIndex[] | null;
  /** By row: how many threads share it, so that none of their runs is a box of its own. null: each lane has a row. */
  readonly threads: readonly (readonly ThreadStep[])[] | null;
};

export function laneRows(
  shape: ClusterShape,
  { groupSize, group }: Grouping
): LaneRows {
  const { lanes } = shape;
  if (groupSize === 0) {
    return { count: lanes.length, rowOf: null, laneOf: null, threads: null };
  }
  const groupOf = groupsOf(shape, groupSize);
  const rowOf = new Int32Array(lanes.length).fill(-1);
  if (group >= 0) {
    const laneOf: LaneIndex[] = [];
    lanes.forEach(({ worker }, index) => {
      if (groupOf.get(worker) === group) {
        rowOf[index] = laneOf.length;
        laneOf.push(index as LaneIndex);
      }
    });
    return { count: laneOf.length, rowOf, laneOf, threads: null };
  }
  const lanesOf = new Map<number, number>();
  lanes.forEach(({ worker }, index) => {
    rowOf[index] = groupOf.get(worker)!;
    lanesOf.set(worker, (lanesOf.get(worker) ?? 0) + 1);
  });
  const changes: ThreadStep[][] = [];
  for (const [worker, number] of groupOf) {
    const told = shape.threadSteps(worker);
    const steps = told.some(({ threads }) => threads > 0)
      ? told
      : [{ from: -Infinity, threads: lanesOf.get(worker) ?? 0 }];
    const ofGroup = (changes[number] ??= []);
    steps.forEach(({ from, threads }, i) =>
      ofGroup.push({ from, threads: threads - (steps[i - 1]?.threads ?? 0) })
    );
  }
  const threads = changes.map(addedUp);
  return { count: threads.length, rowOf, laneOf: null, threads };
}

/** How many there are from each of the changes on. */
function addedUp(changes: readonly ThreadStep[]): ThreadStep[] {
  let sum = 0;
  return [...changes]
    .sort((one, other) => one.from - other.from)
    .map(({ from, threads }) => ({ from, threads: (sum += threads) }));
}

/** Worker → its group. A lane may be of a worker that is not known. */
function groupsOf(
  shape: ClusterShape,
  groupSize: number
): ReadonlyMap<number, number> {
  const workers = new Set(shape.workers.keys());
  for (const { worker } of shape.lanes) {
    workers.add(worker);
  }
  return new Map(
    [...workers]
      .sort((a, b) => a - b)
      .map((worker, rank) => [worker, Math.floor(rank / groupSize)])
  );
}
