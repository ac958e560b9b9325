/**
 * Threads that tasks hold which nobody waits for any more. In the scheduler process.
 *
 * No thread can be stopped: a task that was cancelled or released while it ran goes on, and has its thread until it ends. Once all threads are
 * held so while other tasks wait, and have been for 10 s, a notice says so, once as long as that lasts.
 */
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
  /** The workers on which they are. */
  readonly workers: readonly number[];
};

/** The tasks that hold threads of these workers though nobody waits for them. */
export function formerTasks(
  { core, log }: ClusterState,
  workers: readonly WorkerRecord[]
): FormerTasks {
  const functions = new Map<string, number>();
  const theirs: number[] = [];
  for (const worker of workers) {
    const counts = core.givenUpAt(worker);
    if (counts.size > 0) {
      theirs.push(worker.id);
    }
    for (const [functionId, count] of counts) {
      const name = log.names.text(functionId);
      functions.set(name, (functions.get(name) ?? 0) + count);
    }
  }
  return { functions, workers: theirs };
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
      ? `${held} of the ${threads} threads`
      : threads === 1
        ? 'The only thread'
        : `All ${threads} threads`;
  const by = [
    formerCount > 0
      ? `${formerCount} ${formerCount === 1 ? 'task that was' : 'tasks that were'} cancelled or released and still ` +
        `${formerCount === 1 ? 'runs' : 'run'} (${functionNames(former.functions)})`
      : '',
    otherCount > 0
      ? `${otherCount} other ${otherCount === 1 ? 'task' : 'tasks'} (${functionNames(others)})`
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
    const staying = this._cluster.core.workers.all.filter(
      ({ retiring }) => !retiring
    );
    return (
      staying.length > 0 &&
      waitingCount(this._cluster) > 0 &&
      staying.every(worker => this._isHeld(worker))
    );
  }

  /** Whether all threads of a worker are held, by runs of which it has had time to say that it had not begun them. */
  private _isHeld({ id, freeThreads, lingering }: WorkerRecord): boolean {
    const session = this._cluster.workers.get(id);
    const heardAt = (session?.heardAt ?? 0) - this._cluster.start;
    return (
      freeThreads === 0 &&
      session?.standing === 'well' &&
      [...lingering.values()].every(
        ({ since }) => heardAt - since > ANSWER_SECONDS
      )
    );
  }

  private _sentence(): string {
    const { core } = this._cluster;
    const staying = core.workers.all.filter(({ retiring }) => !retiring);
    const threads = staying.reduce((sum, worker) => sum + worker.threads, 0);
    const count = waitingCount(this._cluster);
    return (
      `${count} ${count === 1 ? 'task waits' : 'tasks wait'} for a thread, and for ${PATIENCE_SECONDS} s none has come free. ` +
      theThreads(threads, 'the cluster', formerTasks(this._cluster, staying))
    );
  }
}

/** Tasks that wait for a thread, those at workers included. */
function waitingCount({ core }: ClusterState): number {
  return core.workers.all.reduce(
    (sum, { processingCount }) => sum + processingCount,
    core.queuedCount
  );
}
