/** What watching a run of tasks that do nothing costs, per task; and what benchmarks that measure it share. */
import { ref, task } from '../src/node';
import { type Figure, median } from './findings';

const nothing = () => 1;

/** Independent tasks, and a binary tree over them: about twice `leaves` tasks. */
export function treeGraph(leaves: number): {
  graph: Map<string, unknown>;
  top: string;
} {
  const graph = new Map<string, unknown>();
  let level: string[] = [];
  for (let leaf = 0; leaf < leaves; leaf++) {
    graph.set(`leaf-${leaf}`, task(nothing));
    level.push(`leaf-${leaf}`);
  }
  for (let height = 1; level.length > 1; height++) {
    const next: string[] = [];
    for (let at = 0; at < level.length; at += 2) {
      const key = `sum-${height}-${at / 2}`;
      const inputs = level.slice(at, at + 2).map(input => ref(input));
      graph.set(key, task(nothing, ...inputs));
      next.push(key);
    }
    level = next;
  }
  return { graph, top: level[0]! };
}

/** Rounds of either until the compiler has warmed up. */
export const WARM_UP = 5;

/** CPU microseconds of a bare task, and how many more a watched one takes: medians, and each round's. */
export type ExtraCost = {
  readonly bare: number;
  readonly extra: number;
  readonly bares: readonly number[];
  readonly extras: readonly number[];
};

/**
 * Runs bare, watched, bare, watched …: the cost is the median of what a watched run needs more than the mean of its neighbours, in CPU
 * time, which repeats on a shared machine where wall time does not.
 */
export function extraPerTask(
  bare: () => void,
  watched: () => void,
  tasks: number,
  rounds: number
): ExtraCost {
  // The collector is not called in between: it would throw compiled code and warm pages away.
  const spent = (body: () => void): number => {
    const before = process.cpuUsage();
    body();
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  for (let round = 0; round < WARM_UP; round++) {
    bare();
    watched();
  }
  const extras: number[] = [];
  const bares: number[] = [];
  let before = spent(bare);
  for (let round = 0; round < rounds; round++) {
    const between = spent(watched);
    const after = spent(bare);
    extras.push((between - (before + after) / 2) / tasks);
    bares.push(after / tasks);
    before = after;
  }
  return { bare: median(bares), extra: median(extras), bares, extras };
}

/** The same for bodies that give promises; CPU of all threads of this process counts. */
export async function extraPerTaskAsync(
  bare: () => Promise<unknown>,
  watched: () => Promise<unknown>,
  tasks: number,
  rounds: number
): Promise<ExtraCost> {
  const spent = async (body: () => Promise<unknown>): Promise<number> => {
    const before = process.cpuUsage();
    await body();
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  for (let round = 0; round < WARM_UP; round++) {
    await bare();
    await watched();
  }
  const extras: number[] = [];
  const bares: number[] = [];
  let before = await spent(bare);
  for (let round = 0; round < rounds; round++) {
    const between = await spent(watched);
    const after = await spent(bare);
    extras.push((between - (before + after) / 2) / tasks);
    bares.push(after / tasks);
    before = after;
  }
  return { bare: median(bares), extra: median(extras), bares, extras };
}

/**
 * The figures of a cost. What is more is a difference, often of nearly nothing: it has limits, and is not compared with earlier runs.
 *
 * @param limit - microseconds that watching may cost.
 */
export function figuresOf(
  row: string,
  { bares, extras }: ExtraCost,
  limit?: number
): Figure[] {
  const common = { row, unit: 'us', better: 'lower' } as const;
  return [
    { ...common, column: 'a bare task', samples: bares, tracked: true },
    { ...common, column: 'watched, more', samples: extras, limit }
  ];
}
