/**
 * Threads that tasks hold which nobody waits for any more. In the scheduler process.
 *
 * Once all threads are held so while other tasks wait, and have been for 10 s, a notice says so, once as long as that lasts.
 */
import { formatExactCount } from '../../panels/format';
import type { WorkerRecord } from '../../scheduler';
import type { ClusterState } from './cluster-state';
import {
  byWhom,
  type FormerTasks,
  formerTasks,
  hasAnswered,
  PATIENCE_SECONDS,
  sumOf
} from './former-tasks';
import { HeldSpell } from './held-spell';

/**
 * The tasks that hold threads of these workers though nobody waits for them.
 *
 * @param threadsOf - how many threads of a worker they may have: others have the rest.
 */
export function onThreads(
  cluster: ClusterState,
  workers: readonly WorkerRecord[],
  threadsOf: (worker: WorkerRecord) => number = ({ threads }) => threads
): FormerTasks {
  return formerTasks(cluster, workers, worker =>
    // (of more of them some were sent ahead, and never begun)
    cluster.core.givenUpAt(worker).slice(0, threadsOf(worker))
  );
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
  const held = Math.min(threads, sumOf(former.functions) + sumOf(others));
  if (held === 0) {
    return '';
  }
  const which =
    held < threads
      ? `${formatExactCount(held)} of the ${formatExactCount(threads)} threads`
      : threads === 1
        ? 'The only thread'
        : `All ${formatExactCount(threads)} threads`;
  return `${which} of ${where} ${held === 1 ? 'is' : 'are'} held by ${byWhom(former, others, 'other ')}`;
}

export class HeldThreads {
  /** Null: they were not held at the last look. */
  private _spell: HeldSpell | null = null;

  constructor(
    private readonly _cluster: ClusterState,
    private readonly _host: { warn(sentence: string): void }
  ) {}

  /** @returns whether all threads are held. */
  look(now: number): boolean {
    if (!this._areHeld()) {
      this._spell = null;
      return false;
    }
    const newest = this._newest();
    this._spell ??= new HeldSpell(now, newest);
    if (this._spell.look(now, newest)) {
      this._host.warn(this._sentence());
    }
    return true;
  }

  /** The notice that was told, while it is true; empty: there is none. */
  standing(): string {
    return this._spell?.isTold === true && this._areHeld()
      ? this._sentence()
      : '';
  }

  private _newest(): number {
    return Math.max(
      ...this._staying().flatMap(({ lingering }) =>
        [...lingering.values()].map(({ since }) => since)
      )
    );
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
      theThreads(threads, 'the cluster', onThreads(this._cluster, staying))
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
