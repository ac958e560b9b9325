/**
 * Threads that tasks hold which nobody waits for any more. In the scheduler process.
 *
 * No thread can be stopped: a task that was cancelled or released while it ran goes on, and has its thread until it ends. Once all threads are
 * held so while other tasks wait, and have been for 10 s, a notice says so, once as long as that lasts.
 */
import { formatExactCount } from '../../panels/format';
import type { WorkerRecord } from '../../scheduler';
import type { ClusterState } from './cluster-state';

const PATIENCE_SECONDS = 10;
/** A worker that is heard of so long after a run was given up has said whether it had begun it. */
const ANSWER_SECONDS = 1;
/** So many functions and workers are named. */
const MOST_NAMED = 3;

/** By function, how many tasks hold threads of workers that were given up while they ran. */
type FormerTasks = {
  readonly functions: ReadonlyMap<string, number>;
  /** Their workers have had time to say that they had not begun them. */
  readonly areKnown: boolean;
  /** The workers on which they are. */
  readonly workers: readonly number[];
};

/**
 * The tasks that hold threads of these workers though nobody waits for them.
 *
 * @param threadsOf - how many threads of a worker they may have: others have the rest.
 */
export function formerTasks(
  cluster: ClusterState,
  workers: readonly WorkerRecord[],
  threadsOf: (worker: WorkerRecord) => number = ({ threads }) => threads
): FormerTasks {
  const functions = new Map<string, number>();
  const theirs: number[] = [];
  let areKnown = true;
  for (const worker of workers) {
    // (of more of them some were sent ahead, and never begun)
    const runs = cluster.core.givenUpAt(worker).slice(0, threadsOf(worker));
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
function hasAnswered(
  { start, workers }: ClusterState,
  { id }: WorkerRecord,
  since: number
): boolean {
  const heardAt = (workers.get(id)?.heardAt ?? 0) - start;
  return heardAt - since > ANSWER_SECONDS;
}

/**
 * A sentence on who holds threads, and on how to have those back that nobody waits for; empty: no such tasks do.
 *
 * @param where - "the cluster".
 * @param others - tasks that somebody waits for.
 */
export function theThreads(
  threads: number,
  where: string,
  former: FormerTasks,
  others: ReadonlyMap<string, number> = new Map()
): string {
  const [formerCount, otherCount] = [former.functions, others].map(counts =>
    [...counts.values()].reduce((sum, count) => sum + count, 0)
  ) as [number, number];
  if (formerCount + otherCount === 0) {
    return '';
  }
  const held = Math.min(threads, formerCount + otherCount);
  const which =
    held < threads
      ? `${formatExactCount(held)} of the ${formatExactCount(threads)} threads`
      : threads === 1
        ? 'The only thread'
        : `All ${formatExactCount(threads)} threads`;
  const go = former.areKnown
    ? `still ${formerCount === 1 ? 'runs' : 'run'}`
    : 'may still run';
  const by = [
    formerCount > 0
      ? `${formerTasksText(formerCount)} cancelled or released and ${go} (${functionNames(former.functions)})`
      : '',
    otherCount > 0
      ? `${formatExactCount(otherCount)} other ${otherCount === 1 ? 'task' : 'tasks'} (${functionNames(others)})`
      : ''
  ].filter(Boolean);
  const remedy =
    formerCount > 0
      ? ` A thread cannot be stopped: client.restart_workers([${listed(
          [...former.workers].sort((a, b) => a - b).map(id => `"worker-${id}"`),
          MOST_NAMED
        )}]) ends what it runs.`
      : '';
  return (
    `${which} of ${where} ${held === 1 ? 'is' : 'are'} held by ${by.join(' and ')}.` +
    remedy
  );
}

/** "1 task that was". */
export function formerTasksText(count: number): string {
  return `${formatExactCount(count)} ${count === 1 ? 'task that was' : 'tasks that were'}`;
}

/** The functions of most tasks. */
export function functionNames(counts: ReadonlyMap<string, number>): string {
  const names = [...counts]
    .sort(([a, many], [b, more]) => more - many || (a < b ? -1 : 1))
    .map(([name]) => name);
  return listed(names, MOST_NAMED);
}

/** Some names of many: "a, b and 3 more". */
export function listed(names: readonly string[], most: number): string {
  const more = names.length - most;
  return (
    names.slice(0, most).join(', ') + (more > 0 ? ` and ${more} more` : '')
  );
}

export class HeldThreads {
  private _since: number | null = null;
  private _isTold = false;

  constructor(
    private readonly _cluster: ClusterState,
    private readonly _host: { warn(sentence: string): void }
  ) {}

  look(now: number): void {
    if (!this._areHeld()) {
      this._since = null;
      this._isTold = false;
      return;
    }
    this._since ??= now;
    if (!this._isTold && now - this._since >= PATIENCE_SECONDS) {
      this._isTold = true;
      this._host.warn(this._sentence());
    }
  }

  /** Whether tasks wait for a thread, and all threads run what nobody waits for. */
  private _areHeld(): boolean {
    const staying = this._staying();
    return (
      staying.length > 0 &&
      this._waitingCount(staying) > 0 &&
      staying.every(worker => this._isHeld(worker))
    );
  }

  /** Whether all threads of a worker are held, by runs of which it has had time to say that it had not begun them. */
  private _isHeld(worker: WorkerRecord): boolean {
    return (
      worker.freeThreads === 0 &&
      this._cluster.workers.get(worker.id)?.standing === 'well' &&
      [...worker.lingering.values()].every(({ since }) =>
        hasAnswered(this._cluster, worker, since)
      )
    );
  }

  private _sentence(): string {
    const staying = this._staying();
    const threads = staying.reduce((sum, worker) => sum + worker.threads, 0);
    const count = this._waitingCount(staying);
    return (
      `${formatExactCount(count)} ${count === 1 ? 'task waits' : 'tasks wait'} for a thread, and for ${PATIENCE_SECONDS} s none has come free. ` +
      theThreads(threads, 'the cluster', formerTasks(this._cluster, staying))
    );
  }

  /** The workers that are not to leave. */
  private _staying(): WorkerRecord[] {
    return this._cluster.core.workers.all.filter(({ retiring }) => !retiring);
  }

  /** Tasks that wait for a thread, those at workers that stay included: at one that is to leave they go on as before. */
  private _waitingCount(staying: readonly WorkerRecord[]): number {
    return staying.reduce(
      (sum, { processingCount }) => sum + processingCount,
      this._cluster.core.queuedCount
    );
  }
}
