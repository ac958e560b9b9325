/**
 * Says why tasks are not done, to a client that has waited for them in vain. In the scheduler process.
 *
 * ```
 *   how far it is     sum-1 waits for 12 tasks; of these 2 run, and 3 more wait at workers; inc-7 has run longest, for 58 s on worker-0.
 *   what is amiss     All 2 threads of the cluster are held by 2 tasks that were cancelled or released and still run (inc). …
 * ```
 *
 * Nothing is kept for it: the tables are looked at when somebody asks.
 */
import { formatExactCount } from '../../panels/format';
import type { DenseTaskId } from '../../records/ids';
import { TaskState, type WorkerRecord } from '../../scheduler';
import type { ClusterState } from './cluster-state';
import { functionsOf, MOST_NAMED } from './former-tasks';
import { onResources, shortOf, theResources } from './held-resources';
import { onThreads, theThreads } from './held-threads';
import { listed } from './listed';
import { inOrder, MOST_IN_CALL, restartCall } from './restart-call';
import { MOST_LOOKED_AT, unfinished } from './unfinished-tasks';
import { workerCommand } from './worker-command';
import type { WorkerSession } from './worker-session';

/** A key is cut here. */
const MOST_CHARACTERS = 200;
/** A worker has told of what runs there for so long. */
const TOLD_SECONDS = 3;

/**
 * @param starting - how many workers are being started.
 * @param named - what the client waits for.
 * @param most - so many tasks are looked at.
 * @returns one sentence or a few; empty: all is done.
 */
export function whyNotDone(
  cluster: ClusterState,
  starting: number,
  named: readonly DenseTaskId[],
  most = MOST_LOOKED_AT
): string {
  const look = new Look(cluster, starting, named, most);
  return look.isEmpty ? '' : [look.progress(), ...look.obstacles()].join(' ');
}

/** What a look at the tables finds. */
class Look {
  /** Those that are not done: what the client waits for, then what that needs. */
  private readonly _tasks: readonly DenseTaskId[];
  private readonly _namedCount: number;
  private readonly _isAll: boolean;
  private readonly _isTheirs: Uint8Array;
  /** When tasks have begun that have run for some time, by the scheduler's clock: of all clients. */
  private readonly _began = new Map<DenseTaskId, number>();
  /** Those of them that hold a thread, by worker. */
  private readonly _onThreads = new Map<number, DenseTaskId[]>();

  constructor(
    private readonly _cluster: ClusterState,
    private readonly _starting: number,
    named: readonly DenseTaskId[],
    most: number
  ) {
    const { tasks } = _cluster.core;
    const found = unfinished(tasks, named, most);
    this._tasks = found.tasks;
    this._namedCount = found.namedCount;
    this._isAll = found.isAll;
    this._isTheirs = found.seen;
    for (const { id, running } of _cluster.workers.values()) {
      const held: DenseTaskId[] = [];
      for (const { task, run, started } of running.values()) {
        if (tasks.isRunOf(id, task, run)) {
          this._began.set(task, started);
          if (!tasks.hasSeceded(task)) {
            held.push(task);
          }
        }
      }
      this._onThreads.set(id, held);
    }
  }

  get isEmpty(): boolean {
    return this._tasks.length === 0;
  }

  /** How far the tasks are. */
  progress(): string {
    const [first, second] = this._tasks;
    const others = this._tasks.length - this._namedCount;
    if (this._namedCount === 1 && others === 0) {
      return `${this._key(first!)} ${this._doing(first!)}.`;
    }
    if (this._namedCount === 1 && others === 1 && this._isAll) {
      return `${this._key(first!)} waits for ${this._key(second!)}, which ${this._doing(second!)}.`;
    }
    const count = `${this._isAll ? '' : 'more than '}${formatExactCount(others)}`;
    const places = this._places();
    const isNone = places === '';
    const begin =
      this._namedCount === 1
        ? `${this._key(first!)} waits for ${count} ${others === 1 ? 'task' : 'tasks'}${isNone ? ', none of which is at a worker' : `; of these ${places}`}`
        : `${others > 0 ? `They wait for ${count} other${others > 1 ? 's' : ''}; of all these ` : 'Of them '}` +
          (isNone ? 'none is at a worker' : places);
    let longest: DenseTaskId | null = null;
    for (const task of this._tasks) {
      const began = this._began.get(task) ?? Infinity;
      if (longest === null || began < this._began.get(longest)!) {
        longest = began === Infinity ? longest : task;
      }
    }
    return longest === null
      ? `${begin}.`
      : `${begin}; ${this._key(longest)} has run longest, ${this._howLong(longest)}.`;
  }

  /** What keeps tasks back. */
  obstacles(): string[] {
    const found: string[] = [];
    const unplaced = this._tasks.filter(task => this._isUnplaced(task));
    if (unplaced.length > 0) {
      found.push(this._unplaced(unplaced[0]!));
    }
    const kept = this._keptBack();
    const barred = kept === null ? [] : this._barred(kept);
    const standing = standingText([...this._homes(), ...barred]);
    if (standing !== '') {
      found.push(standing);
    }
    if (kept !== null && found.length < 2) {
      const why =
        barred.length > 0 ? pausedText(barred) : this._whyKeptBack(kept);
      if (why !== '') {
        found.push(why);
      }
    }
    return found;
  }

  /** How many run, as workers have told, how many may have begun since, and how many others are at workers; empty: none is. */
  private _places(): string {
    let running = 0;
    let waiting = 0;
    const ready = new Map<WorkerRecord, number>();
    for (const task of this._tasks) {
      if (this._began.has(task)) {
        running++;
      } else if (this._isGiven(task)) {
        const home = this._home(task)!;
        if (this._cluster.core.tasks.lackingOf(task) > 0) {
          waiting++;
        } else {
          ready.set(home, (ready.get(home) ?? 0) + 1);
        }
      }
    }
    let starting = 0;
    for (const [home, count] of ready) {
      const begun = Math.min(count, this._freeThreads([home]));
      starting += begun;
      waiting += count - begun;
    }
    return placesText(running, starting, waiting);
  }

  private _key(task: DenseTaskId): string {
    const key = this._cluster.keyOf(task);
    return key.length > MOST_CHARACTERS
      ? `${key.slice(0, MOST_CHARACTERS)}…`
      : key;
  }

  private _howLong(task: DenseTaskId): string {
    const { clock, core } = this._cluster;
    const seconds = clock() - this._began.get(task)!;
    return `for ${inSeconds(seconds)} on worker-${core.tasks.worker[task]}`;
  }

  /** What a task does, as the end of a sentence. */
  private _doing(task: DenseTaskId): string {
    const { core } = this._cluster;
    if (this._began.has(task)) {
      return `has run ${this._howLong(task)}`;
    }
    switch (core.tasks.state[task] as TaskState) {
      case TaskState.Processing: {
        const at = `worker-${core.tasks.worker[task]}`;
        if (core.tasks.lackingOf(task) > 0) {
          return `is at ${at}, to which its inputs come from other workers`;
        }
        const since = this._givenSeconds(task);
        return this._isKeptBack(task) &&
          this._freeThreads([this._home(task)!]) === 0
          ? `waits at ${at} for a thread`
          : `was given to ${at}${since === null ? '' : ` ${inSeconds(since)} ago`} and may run there by now`;
      }
      case TaskState.Queued:
      case TaskState.NoWorker: {
        if (this._isUnplaced(task)) {
          return 'waits for a worker';
        }
        const able = this._able(task);
        const short = this._short(task, able);
        return able.length === 0
          ? 'waits for a worker that begins tasks'
          : short.length > 0
            ? `waits for ${amountsText(core.resourcesOf(task)!, short)}`
            : 'waits for a thread';
      }
      case TaskState.Released:
        return 'waits for the rest of its graph, which has not come yet';
      default:
        return 'waits for its inputs';
    }
  }

  /** It is at a worker, and needs nothing of other tasks any more. */
  private _isGiven(task: DenseTaskId): boolean {
    const { state, waitingOn } = this._cluster.core.tasks;
    return state[task] === TaskState.Processing && waitingOn[task] === 0;
  }

  /** When it was given to its worker, in seconds before now; null: too long ago to be known. */
  private _givenSeconds(task: DenseTaskId): number | null {
    const { core, at } = this._cluster;
    const last = core.story(task).at(-1);
    return last?.to === 'Processing' ? at - last.at : null;
  }

  /** It is at a worker that would have told if it ran, or whose threads others have. */
  private _isKeptBack(task: DenseTaskId): boolean {
    return (
      this._isGiven(task) &&
      !this._began.has(task) &&
      this._cluster.core.tasks.lackingOf(task) === 0 &&
      (this._freeThreads([this._home(task)!]) === 0 ||
        (this._givenSeconds(task) ?? Infinity) > TOLD_SECONDS)
    );
  }

  /** No worker that takes tasks may run it. */
  private _isUnplaced(task: DenseTaskId): boolean {
    const { core } = this._cluster;
    const state: TaskState = core.tasks.state[task]!;
    return (
      state === TaskState.NoWorker ||
      (state === TaskState.Queued &&
        core.eligibleFor(task).every(({ retiring }) => retiring))
    );
  }

  private _unplaced(task: DenseTaskId): string {
    const { core, workers } = this._cluster;
    const preparing = [...workers.values()]
      .filter(({ isReady, leaving }) => !isReady && leaving === null)
      .map(({ id }) => `worker-${id}`);
    const coming =
      preparing.length > 0
        ? ` ${listed(preparing, MOST_NAMED)} ${isOrAre(preparing.length)} still setting up plugins.`
        : this._starting > 0
          ? ` ${this._starting} more ${isOrAre(this._starting)} being started.`
          : '';
    if (core.isDeserted && !core.areUnplacedInVain) {
      const start =
        coming === '' ? ': client.scale(1), or more, starts some' : '';
      return `The cluster has no worker that takes tasks${start}.${coming}`;
    }
    const need = core.resourcesOf(task);
    const names = core.namedWorkers(task)?.map(textOf);
    const what = [
      need === null ? '' : `has ${amountsText(need, Object.keys(need))}`,
      names === undefined
        ? ''
        : `is named by workers=[${[...names.slice(0, MOST_NAMED), ...(names.length > MOST_NAMED ? ['…'] : [])].join(', ')}]`
    ].filter(Boolean);
    const command = coming === '' ? workerCommand(this._cluster, task) : null;
    const start =
      command === null ? '' : ` In a terminal, \`${command}\` starts one.`;
    return `No worker that takes tasks ${what.join(' and ')}, as ${this._key(task)} needs it.${start}${coming}`;
  }

  /** Workers that have some of the tasks. */
  private _homes(): WorkerSession[] {
    const { core, workers } = this._cluster;
    const homes = new Set(
      this._tasks
        .filter(task => core.tasks.state[task] === TaskState.Processing)
        .map(task => core.tasks.worker[task]!)
    );
    return [...homes]
      .map(home => workers.get(home))
      .filter(session => session !== undefined);
  }

  /** A task that could run, and does not. */
  private _keptBack(): DenseTaskId | null {
    const { state } = this._cluster.core.tasks;
    return (
      this._tasks.find(
        task => state[task] === TaskState.Queued && !this._isUnplaced(task)
      ) ??
      // (each of these looks into the story)
      this._tasks
        .filter(task => this._isGiven(task) && !this._began.has(task))
        .slice(0, MOST_NAMED)
        .find(task => this._isKeptBack(task)) ??
      null
    );
  }

  private _home(task: DenseTaskId): WorkerRecord | undefined {
    const { core } = this._cluster;
    return core.workers.get(core.tasks.worker[task]!);
  }

  /** The workers that could run a task now, if they had room. */
  private _able(task: DenseTaskId): readonly WorkerRecord[] {
    return this._allowed(task).filter(({ full }) => !full);
  }

  /** The workers that may run a task, those that are to leave apart. One that has it and has not begun it gives it back if another has a thread. */
  private _allowed(task: DenseTaskId): readonly WorkerRecord[] {
    return this._cluster.core
      .eligibleFor(task)
      .filter(({ retiring }) => !retiring);
  }

  /** The workers that may run a task, if none of them begins any now. */
  private _barred(task: DenseTaskId): WorkerSession[] {
    return this._able(task).length > 0
      ? []
      : this._allowed(task)
          .map(({ id }) => this._cluster.workers.get(id))
          .filter(session => session !== undefined);
  }

  private _whyKeptBack(task: DenseTaskId): string {
    const { core } = this._cluster;
    const able = this._able(task);
    const { state } = core.tasks;
    if (state[task] !== TaskState.Queued) {
      // It holds its resources itself, and is begun there or where they are free too.
      return this._whoRuns(
        able.filter(
          worker =>
            worker === this._home(task) ||
            core.lackingAt(worker, task).length === 0
        )
      );
    }
    const short = this._short(task, able);
    return short.length > 0
      ? this._whoHolds(task, short, able)
      : this._whoRuns(able);
  }

  /** The resources for which a task waits: of which each of these workers has too little free; or, if that is another one with each, all those. */
  private _short(
    task: DenseTaskId,
    able: readonly WorkerRecord[]
  ): readonly string[] {
    const lacking = able.map(worker =>
      this._cluster.core.lackingAt(worker, task)
    );
    return lacking.some(names => names.length === 0) ? [] : shortOf(lacking);
  }

  /** Which tasks have the threads of workers, if others do than those that are waited for. */
  private _whoRuns(able: readonly WorkerRecord[]): string {
    const former = onThreads(this._cluster, able, worker =>
      Math.max(0, worker.threads - this._runningAt(worker).length)
    );
    const others = functionsOf(
      this._cluster,
      able
        .flatMap(worker => this._runningAt(worker))
        .filter(task => this._isTheirs[task] !== 1)
    );
    const threads = able.reduce((sum, worker) => sum + worker.threads, 0);
    const where =
      able.length === this._cluster.core.workers.all.length
        ? 'the cluster'
        : able.length === 1
          ? `worker-${able[0]!.id}`
          : `the ${formatExactCount(able.length)} workers that may run it`;
    return theThreads(threads, where, former, others);
  }

  private _whoHolds(
    waiting: DenseTaskId,
    short: readonly string[],
    able: readonly WorkerRecord[]
  ): string {
    const { core } = this._cluster;
    const namesAt = (worker: WorkerRecord): readonly string[] =>
      core.lackingAt(worker, waiting).filter(name => short.includes(name));
    const holders = able.flatMap(
      worker => core.holdersAt(worker, namesAt(worker)) as DenseTaskId[]
    );
    return theResources(
      short,
      onResources(this._cluster, able, namesAt),
      functionsOf(this._cluster, holders)
    );
  }

  /** How many threads of workers run nothing, as far as is known. */
  private _freeThreads(workers: readonly WorkerRecord[]): number {
    return workers.reduce(
      (free, worker) =>
        free + Math.max(0, worker.freeThreads - this._runningAt(worker).length),
      0
    );
  }

  /** The tasks that hold threads of a worker, as far as it has told. */
  private _runningAt({ id }: WorkerRecord): readonly DenseTaskId[] {
    return this._onThreads.get(id) ?? [];
  }
}

function placesText(
  running: number,
  starting: number,
  waiting: number
): string {
  const found: string[] = [];
  const add = (count: number, one: string, several: string): void => {
    if (count > 0) {
      const more = found.length > 0 ? ' more' : '';
      found.push(
        `${formatExactCount(count)}${more} ${count === 1 ? one : several}`
      );
    }
  };
  add(running, 'runs', 'run');
  add(
    starting,
    'is at a worker and may run there by now',
    'are at workers and may run there by now'
  );
  add(waiting, 'waits at a worker', 'wait at workers');
  const last = found.pop();
  return last === undefined || found.length === 0
    ? (last ?? '')
    : `${found.join(', ')}, and ${last}`;
}

/** Sentences on workers that do not go on, and on how to have them back; empty: all do, as far as is known. */
function standingText(sessions: readonly WorkerSession[]): string {
  const those = (standing: WorkerSession['standing']): number[] => [
    ...new Set(
      sessions.filter(each => each.standing === standing).map(({ id }) => id)
    )
  ];
  const [stopped, silent] = [those('stopped'), those('silent')];
  const sentences: string[] = [];
  if (stopped.length > 0) {
    const [are, them] = stopped.length === 1 ? ['is', 'it'] : ['are', 'them'];
    sentences.push(
      `${listed(inOrder(stopped), MOST_IN_CALL)} ${are} stopped (SIGSTOP or a debugger): continue ${them}, or ${replaced(stopped)}.`
    );
  }
  if (silent.length > 0) {
    const [say, and] = silent.length === 1 ? ['says', 'does'] : ['say', 'do'];
    sentences.push(
      `${listed(inOrder(silent), MOST_IN_CALL)} ${say} nothing, and ${and} nothing that can be seen: ${replaced(silent)}.`
    );
  }
  return sentences.join(' ');
}

function replaced(workers: readonly number[]): string {
  const which =
    workers.length === 1
      ? 'it'
      : workers.length > MOST_IN_CALL
        ? `these ${MOST_IN_CALL}`
        : 'them';
  return `${restartCall(workers)} replaces ${which}`;
}

/** Sentences on workers that go on, and begin no task. */
function pausedText(sessions: readonly WorkerSession[]): string {
  return sessions
    .filter(({ standing, isPaused }) => standing === 'well' && isPaused)
    .slice(0, MOST_NAMED)
    .map(
      ({ id, whyPaused }) =>
        `worker-${id} begins no task, for it is short of memory: ${whyPaused}.`
    )
    .join(' ');
}

function amountsText(
  need: Readonly<Record<string, number>>,
  names: readonly string[]
): string {
  return names.map(name => `${name}=${need[name]}`).join(', ');
}

function textOf(named: number | string): string {
  return typeof named === 'number' ? String(named) : `'${named}'`;
}

function isOrAre(count: number): string {
  return count === 1 ? 'is' : 'are';
}

function inSeconds(seconds: number): string {
  return `${Math.max(0, seconds).toFixed(seconds < 9.95 ? 1 : 0)} s`;
}
