/**
 * Ends waits that would never end, with a sentence that says why. In the scheduler process.
 *
 * ```
 *   all workers full, nothing runs ── the client has waited for stallSeconds, and nothing has moved ──► what waits fails
 *                                  ── it works meanwhile, and may release what fills them ────────────► a notice, and again after a minute without a stall
 *   workers end for want of memory ── again and again, and no task is new ──► what they ran and held fails
 * ```
 *
 * Tasks for which there is no worker are no stall: see `unplaced-tasks.ts`; nor are those for which there is no thread: `held-threads.ts`, or no resource: `held-resources.ts`.
 */
import { WaitReason } from '../../records/enumerations';
import type { DenseTaskId } from '../../records/ids';
import { NONE, TaskState } from '../../scheduler';
import { QUIET_SECONDS } from './disk-notices';
import type { ClusterState } from './cluster-state';
import { HeldResources } from './held-resources';
import { HeldThreads } from './held-threads';
import { MOST_LOOKED_AT, unfinished } from './unfinished-tasks';
import { UnplacedTasks } from './unplaced-tasks';
import { ToldProgress } from './told-progress';
import { type Notice, type Told, WaitingTasks } from './waiting-tasks';
import type { IWorkerFleet } from './worker-fleet';
import type { WorkerSession } from './worker-session';

/** How often to look. */
const LOOK_SECONDS = 1;
/**
 * For each worker, this many times the deaths after which one task is blamed (`allowedFailures` + 1). If more workers than that run out of
 * memory without progress, their tasks fail.
 */
const MOST_FRUITLESS = 2;
/** How many kinds of results are named. */
const MOST_KINDS = 3;

interface IStallHost {
  readonly fleet: IWorkerFleet | null;
  /** Does something in this turn. */
  gather(act: () => void): void;
  /** A notice for the user. */
  warn(sentence: string): void;
  note(sentence: string): void;
  /** Has {@link StallWatch.clientsWait} called, if a client is there and not stopped. */
  askWhetherClientsWait(): void;
}

export class StallWatch {
  private readonly _timer: NodeJS.Timeout;
  private readonly _interval: number;
  /** Since when the cluster has been stalled, and the count of moves then. */
  private _since: number | null = null;
  private _moves = -1;
  /** How much of that time the client is known to have waited; and the time since the previous look, which its next answer decides. */
  private _waited = 0;
  private _unanswered = 0;
  private _lookedAt = 0;
  /** The client has been asked and has not answered: a stopped client is asked only once. */
  private _isAsked = false;
  /** The count of progress when the user was told last; -1: never. */
  private _warnedAt = -1;
  /**
   * The last time that the cluster was stalled while the client waited for nothing. A program that works for long on each result stalls it
   * again and again.
   */
  private _lastUnawaited = -Infinity;
  /** Workers that have ended for want of memory since the last progress, and the count of progress then. */
  private _fruitlessEnds = 0;
  private _stepsAhead = 0;
  private readonly _unplaced: UnplacedTasks;
  private readonly _heldThreads: HeldThreads;
  private readonly _heldResources: HeldResources;
  private readonly _progress: ToldProgress;
  private readonly _waiting: WaitingTasks;

  /**
   * @param _seconds - how long a stall may last; 0: for ever.
   * @param _workers - how many the cluster has.
   * @param _ttlSeconds - after which a stopped worker is taken out; 0: never.
   * @param _quietSeconds - after a stall in which the client waited for nothing, the next such stall is reported only after this long.
   */
  constructor(
    private readonly _cluster: ClusterState,
    private readonly _host: IStallHost,
    private readonly _seconds: number,
    private readonly _workers: number,
    private readonly _ttlSeconds: number,
    private readonly _quietSeconds = QUIET_SECONDS
  ) {
    this._unplaced = new UnplacedTasks(_cluster, _host);
    this._heldThreads = new HeldThreads(_cluster, _host);
    this._heldResources = new HeldResources(_cluster, _host);
    this._progress = new ToldProgress(_cluster, _host);
    this._waiting = new WaitingTasks(_cluster, _host, this._progress);
    this._interval = Math.min(LOOK_SECONDS, _seconds / 4 || LOOK_SECONDS);
    this._timer = setInterval(() => this._look(), this._interval * 1000);
    this._timer.unref();
  }

  /** The cluster ends: the log is told how far tasks were, though nobody may have looked. */
  tellProgress(): void {
    this._progress.look();
  }

  close(): void {
    clearInterval(this._timer);
  }

  /** Whether somebody may see what the log has. */
  viewed(isSeen: boolean): void {
    this._waiting.viewed(isSeen);
    this._waiting.look(() => this._told());
  }

  /**
   * Whether too many workers in a row have ended: each exceeded its memory limit, none made progress, and no task that ran on them was
   * found guilty. The work of each is lost with it, and repeated by the next.
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

  /** What users were told that still keeps these tasks, or what they need, from being done; empty: nothing. */
  standing(named: readonly DenseTaskId[]): string {
    const { tasks } = unfinished(
      this._cluster.core.tasks,
      named,
      MOST_LOOKED_AT
    );
    return tasks.length === 0
      ? ''
      : [
          this._unplaced.standing(tasks),
          this._heldThreads.standing(),
          ...this._heldResources.standing(tasks)
        ]
          .filter(Boolean)
          .join(' ');
  }

  private _look(): void {
    const now = this._cluster.clock();
    this._lookForStall(now);
    this._unplaced.look(now);
    this._heldResources.look(now, this._heldThreads.look(now));
    this._waiting.look(() => this._told());
  }

  private _told(): Told {
    const unplaced = this._unplaced.told;
    return new Map<WaitReason, Notice>([
      ...(unplaced === null ? [] : [[unplaced.reason, unplaced] as const]),
      [WaitReason.Thread, { notice: this._heldThreads.standing() }],
      [WaitReason.Resource, { notice: this._heldResources.told.join(' ') }]
    ]);
  }

  private _lookForStall(now: number): void {
    const { core, moves } = this._cluster;
    const isStarting = (this._host.fleet?.startingCount ?? 0) > 0;
    // What a stopped worker said last may be out of date: nothing is given up before it goes on or is taken out. If stopped workers are
    // never taken out, they do not count: that wait might never end.
    const isHeldUp =
      this._ttlSeconds > 0 &&
      [...this._cluster.workers.values()].some(session => session.isHeldUp);
    if (this._seconds === 0 || isStarting || isHeldUp || !core.isStalled) {
      this._since = null;
      return;
    }
    if (this._since === null || moves !== this._moves) {
      this._since = now;
      this._moves = moves;
      this._waited = 0;
      this._unanswered = 0;
    } else {
      // At most two intervals count per answer, so that time in which the client or this process was stopped does not.
      this._unanswered = Math.min(now - this._lookedAt, 2 * this._interval);
      if (!this._isAsked) {
        this._isAsked = true;
        this._host.askWhetherClientsWait();
      }
    }
    this._lookedAt = now;
  }

  /**
   * The answer: the time since the previous look counts if a client waits. A client that works on a result may release it later.
   *
   * @param waiting - null: not all have answered, and nobody waits as far as is known.
   */
  clientsWait(waiting: boolean | null): void {
    const { core, moves, clock } = this._cluster;
    this._isAsked = false;
    if (
      waiting === null ||
      this._since === null ||
      moves !== this._moves ||
      !core.isStalled
    ) {
      return;
    }
    if (waiting) {
      this._waited += this._unanswered;
      this._unanswered = 0;
      if (this._waited >= this._seconds) {
        this._since = null;
        this._giveUp();
      }
    } else if (clock() - this._since >= this._seconds) {
      // Told once per stall. Releases, pauses and resumes do not end a stall; only a task that fails, or finishes for the first time, does.
      const isNews =
        core.stepsAhead !== this._warnedAt &&
        this._since - this._lastUnawaited >= this._quietSeconds;
      this._lastUnawaited = clock();
      this._warnedAt = core.stepsAhead;
      if (isNews) {
        this._host.warn(
          `${this._whyStalled()} Your program is not waiting for a task, so none is failed. The tasks go on when results are released.`
        );
      }
    }
  }

  private _giveUp(): void {
    const { log, clock } = this._cluster;
    const sentence =
      `${this._whyStalled()} ` +
      'Release results that are not needed any more, give workers more memory (Client(memory_limit=…)), or free space on the disk ' +
      'that workers spill to. (How long to wait: spanwise.scheduler.stall-timeout in the configuration of Dask.)';
    this._cluster.stallSentence = sentence;
    this._host.note(sentence);
    log.event(clock(), 'stall-given-up', null, sentence);
    this._cluster.handle({ type: 'stallGivenUp', at: this._cluster.at });
  }

  private _whyStalled(): string {
    return (
      `Nothing has moved for ${this._seconds} s: all workers that could go on are short of memory, and nothing frees it. ` +
      this._whatIsFull()
    );
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
    for (let i = 0; i < state.length; i++) {
      const task = i as DenseTaskId;
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
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(bytes < 10 * 2 ** 20 ? 1 : 0)} MiB`;
}
