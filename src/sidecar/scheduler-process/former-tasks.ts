/**
 * Tasks that nobody waits for any more and that still run, for sentences on what they hold. In the scheduler process.
 *
 * No thread can be stopped: a task that was cancelled or released while it ran goes on, and has its thread and its resources until it ends.
 */
import { formatExactCount } from '../../panels/format';
import type { DenseTaskId } from '../../records/ids';
import type { GivenUpRun, WorkerRecord } from '../../scheduler';
import type { ClusterState } from './cluster-state';
import { listed } from './listed';
import { MOST_IN_CALL, restartCall } from './restart-call';

/** A worker that is heard of so long after a run was given up has said whether it had begun it. */
const ANSWER_SECONDS = 1;
/** What such tasks hold is told of once others have waited for it so long. */
export const PATIENCE_SECONDS = 10;
/** So many functions and workers are named. */
export const MOST_NAMED = 3;

/** By function, how many tasks hold something of workers that were given up while they ran. */
export type FormerTasks = {
  readonly functions: ReadonlyMap<string, number>;
  /** Their workers have had time to say that they had not begun them. */
  readonly areKnown: boolean;
  /** The workers on which they are. */
  readonly workers: readonly number[];
};

/**
 * The tasks that hold something of these workers though nobody waits for them.
 *
 * @param runsAt - those of one worker.
 */
export function formerTasks(
  cluster: ClusterState,
  workers: readonly WorkerRecord[],
  runsAt: (worker: WorkerRecord) => readonly GivenUpRun[]
): FormerTasks {
  const functions = new Map<string, number>();
  const theirs: number[] = [];
  let areKnown = true;
  for (const worker of workers) {
    const runs = runsAt(worker);
    if (runs.length > 0) {
      theirs.push(worker.id);
    }
    for (const { functionId, since } of runs) {
      const name = cluster.log.names.text(functionId);
      functions.set(name, (functions.get(name) ?? 0) + 1);
      areKnown &&= hasAnswered(cluster, worker, since);
    }
  }
  return { functions, areKnown, workers: theirs };
}

/** Whether a worker has had time to say that it had not begun a run that was given up then. */
export function hasAnswered(
  { start, workers }: ClusterState,
  { id }: WorkerRecord,
  since: number
): boolean {
  const heardAt = (workers.get(id)?.heardAt ?? 0) - start;
  return heardAt - since > ANSWER_SECONDS;
}

/**
 * By whom something is held, as the end of a sentence, and how to have back what nobody waits for; empty: nobody holds it.
 *
 * @param others - tasks that somebody waits for, by function.
 * @param other - "other ", if these are not the tasks of which the sentence tells.
 */
export function byWhom(
  former: FormerTasks,
  others: ReadonlyMap<string, number>,
  other: string
): string {
  const formerCount = sumOf(former.functions);
  const otherCount = sumOf(others);
  const go = former.areKnown
    ? `still ${formerCount === 1 ? 'runs' : 'run'}`
    : 'may still run';
  const by = [
    formerCount > 0
      ? `${formatExactCount(formerCount)} ${formerCount === 1 ? 'task that was' : 'tasks that were'} cancelled or released and ${go} ` +
        `(${functionNames(former.functions)})`
      : '',
    otherCount > 0
      ? `${formatExactCount(otherCount)} ${other}${otherCount === 1 ? 'task' : 'tasks'} (${functionNames(others)})`
      : ''
  ].filter(Boolean);
  return by.length === 0
    ? ''
    : `${by.join(' and ')}.${formerCount > 0 ? remedy(former.workers) : ''}`;
}

/** How to have back what these workers run. */
function remedy(workers: readonly number[]): string {
  const more = workers.length - MOST_IN_CALL;
  const others =
    more > 0
      ? ` ${formatExactCount(more)} more ${more === 1 ? 'worker has' : 'workers have'} such tasks.`
      : '';
  return ` A thread cannot be stopped: ${restartCall(workers)} ends what it runs.${others}`;
}

/** By function, how many of these tasks run it. */
export function functionsOf(
  { log, rows }: ClusterState,
  tasks: readonly DenseTaskId[]
): Map<string, number> {
  const counts = new Map<string, number>();
  for (const task of tasks) {
    const name = log.names.text(rows.functionId[task]!);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

/** How many tasks these are. */
export function sumOf(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}

/** The functions of most tasks. */
function functionNames(counts: ReadonlyMap<string, number>): string {
  const names = [...counts]
    .sort(([a, many], [b, more]) => more - many || (a < b ? -1 : 1))
    .map(([name]) => name);
  return listed(names, MOST_NAMED);
}
