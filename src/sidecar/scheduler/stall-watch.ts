/**
 * Ends waits that would never end, with a sentence that says why. In the scheduler process.
 *
 * ```
 *   all workers full, nothing runs ── stallSeconds, and nothing has moved ──► what waits fails
 *   workers end for want of memory ── again and again, and no task is new ──► what they ran and held fails
 *   no worker there may run a task ── some seconds ─────────────────────────► a notice, once
 * ```
 */
import { NONE, TaskState } from '../../scheduler';
import type { ClusterState } from './cluster-state';
import type { IWorkerFleet } from './worker-fleet';
import type { WorkerSession } from './worker-session';

/** How often to look. */
const LOOK_SECONDS = 1;
/** A worker that ended is replaced within this time as a rule. */
const NO_WORKER_SECONDS = 5;
/** As many workers as would convict a task on each of them, times this, may end for nothing. */
const MOST_FRUITLESS = 2;
/** So many kinds of results are named. */
const MOST_KINDS = 3;

export interface IStallHost {
  readonly fleet: IWorkerFleet | null;
  /** Does something in this turn. */
  gather(act: () => void): void;
  /** A notice for the user. */
  warn(sentence: string): void;
  note(sentence: string): void;
}

export class StallWatch {
  private readonly _timer: NodeJS.Timeout;
  /** Since when nothing has moved, and how much had then. */
  private _since: number | null = null;
  private _moves = -1;
  /** Workers that have ended for want of memory since the work was last a step ahead, and where it was then. */
  private _fruitlessEnds = 0;
  private _stepsAhead = 0;
  /** Since when some task has had no worker; Infinity: the user has been told. */
  private _lonelySince: number | null = null;

  /**
   * @param _seconds - how long a stall may last; 0: for ever.
   * @param _workers - how many the cluster has.
   */
  constructor(
    private readonly _cluster: ClusterState,
    private readonly _host: IStallHost,
    private readonly _seconds: number,
    private readonly _workers: number
  ) {
    const interval = Math.min(LOOK_SECONDS, _seconds / 4 || LOOK_SECONDS);
    this._timer = setInterval(() => this._look(), interval * 1000);
    this._timer.unref();
  }

  close(): void {
    clearInterval(this._timer);
  }

  /**
   * Whether a worker that has ended was one too many: many have needed more memory than they may use, no task among those that ran was
   * found guilty, and none of them has brought the work a step ahead. What one does is lost with it, and done again by the next.
   */
  isHopeless({ isOutOfMemory }: WorkerSession): boolean {
    const { stepsAhead, options } = this._cluster.core;
    if (!isOutOfMemory) {
      return false;
    }
    if (stepsAhead !== this._stepsAhead) {
      this._stepsAhead = stepsAhead;
      this._fruitlessEnds = 0;
    }
    const most =
      MOST_FRUITLESS *
      (options.allowedFailures + 1) *
      Math.max(1, this._workers);
    return ++this._fruitlessEnds > most;
  }

  private _look(): void {
    const now = this._cluster.clock();
    this._lookForStall(now);
    this._lookForLonely(now);
  }

  private _lookForStall(now: number): void {
    const { core, moves } = this._cluster;
    const isStarting = (this._host.fleet?.startingCount ?? 0) > 0;
    if (this._seconds === 0 || isStarting || !core.isStalled) {
      this._since = null;
      return;
    }
    if (this._since === null || moves !== this._moves) {
      this._since = now;
      this._moves = moves;
    } else if (now - this._since >= this._seconds) {
      this._since = null;
      this._host.gather(() => this._giveUp());
    }
  }

  private _giveUp(): void {
    if (!this._cluster.core.isStalled) {
      return;
    }
    const { log, clock } = this._cluster;
    const sentence =
      `Nothing has moved for ${this._seconds} s: all workers that could go on are short of memory, and nothing frees it. ` +
      `${this._whatIsFull()} ` +
      'Release results that are not needed any more, give workers more memory (Client(memory_limit=…)), or make room where results are ' +
      'written to. (How long to wait: spanwise.scheduler.stall-timeout in the configuration of Dask.)';
    this._cluster.stallSentence = sentence;
    this._host.note(sentence);
    log.event(clock(), 'stall-given-up', null, sentence);
    this._cluster.handle({ type: 'stallGivenUp', at: this._cluster.at });
  }

  /** Per worker: what it says itself, and the functions whose results take most. */
  private _whatIsFull(): string {
    const kinds = this._bytesByKind();
    return [...this._cluster.workers.values()]
      .filter(session => session.isPaused)
      .map(({ id, whyPaused }) => {
        const largest = [...(kinds.get(id) ?? [])]
          .sort(([, a], [, b]) => b.bytes - a.bytes)
          .slice(0, MOST_KINDS)
          .map(
            ([name, { count, bytes }]) =>
              `${count} of ${name} (${mebibytes(bytes)})`
          );
        const held =
          largest.length > 0
            ? `; results kept, also on disk: ${largest.join(', ')}`
            : '';
        return `worker-${id}: ${whyPaused}${held}.`;
      })
      .join(' ');
  }

  private _bytesByKind(): Map<
    number,
    Map<string, { count: number; bytes: number }>
  > {
    const { core, rows, log } = this._cluster;
    const { state, nbytes, firstReplica, replicas } = core.tasks;
    const kinds = new Map<
      number,
      Map<string, { count: number; bytes: number }>
    >();
    for (let task = 0; task < state.length; task++) {
      if (state[task] !== TaskState.Memory) {
        continue;
      }
      for (
        let node = firstReplica[task]!;
        node !== NONE;
        node = replicas.next(node)
      ) {
        const worker = replicas.value(node);
        const name = log.names.text(rows.functionId[task]!);
        const byName = kinds.get(worker) ?? new Map();
        kinds.set(worker, byName);
        const sum = byName.get(name) ?? { count: 0, bytes: 0 };
        byName.set(name, sum);
        sum.count++;
        sum.bytes += nbytes[task]!;
      }
    }
    return kinds;
  }

  private _lookForLonely(now: number): void {
    const { core, workers } = this._cluster;
    const isStarting = (this._host.fleet?.startingCount ?? 0) > 0;
    const lonely =
      workers.size === 0 || isStarting ? [] : core.tasksWithoutWorker();
    if (lonely.length === 0) {
      this._lonelySince = null;
      return;
    }
    this._lonelySince ??= now;
    if (now - this._lonelySince >= NO_WORKER_SECONDS) {
      this._lonelySince = Infinity;
      const first = this._cluster.keyOf(lonely[0]!);
      const which =
        lonely.length === 1
          ? `The task ${first} waits`
          : `${lonely.length} tasks, ${first} among them, wait`;
      this._host.warn(
        `${which} for a worker that is not there: workers= names others than the cluster has now. ` +
          'They run when such a worker joins; else cancel them and submit them again.'
      );
    }
  }
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(bytes < 10 * 2 ** 20 ? 1 : 0)} MiB`;
}
