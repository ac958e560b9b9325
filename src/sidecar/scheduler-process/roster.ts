/** The workers of the cluster: they join and leave here, and core, client and log are told. In the scheduler process. */
import { RunStatus } from '../../records/enumerations';
import { hostname } from 'node:os';
import {
  type ProfileSettings,
  sampleSecondsOf
} from '../../wire/cluster-settings';
import { BrokenFrame } from '../../wire/broken-frame';
import { HandshakeRefused, type Intro } from '../../wire/handshake';
import type { Message } from '../../wire/schema';
import { check } from '../../wire/validate';
import { workerIntro } from '../../wire/worker-link';
import type { AcceptedLink } from '../../link/door';
import { deathSentence } from './death-sentence';
import type { ClusterState } from './cluster-state';
import { DiskNotices } from './disk-notices';
import { Liveness } from './liveness';
import type { PluginFailure } from './plugins';
import { WorkerPlaces } from './worker-places';
import type { IWorkerFleet } from './worker-fleet';
import { takeWorkerMessage, type FinishedRuns } from './worker-messages';
import { WorkerSession } from './worker-session';

/** How long link and process of a worker may take to end one after the other; then the other is ended too. */
const EXIT_SECONDS = 0.5;
/** The user is told of new workers on which plugins fail no more often than this. */
const QUIET_SECONDS = 60;

export type Phase = 'starting' | 'running' | 'closing';

/** A worker as the client is told of it. */
type ListedWorker = {
  id: number;
  address: string;
  pid: number;
  host: string;
  threads: number;
  memoryLimit: number;
  resources: Readonly<Record<string, number>>;
  state: string;
  lastSeen: number;
  directory: string;
  names: string[];
  /** Why it is paused. */
  why?: string;
};

/** What the roster needs of its cluster. */
export interface IRosterHost {
  readonly phase: Phase;
  readonly fleet: IWorkerFleet | null;
  gather(act: () => void): void;
  finished(runs: FinishedRuns): void;
  workersChanged(): void;
  /** A worker has paused, or goes on. */
  stateChanged(): void;
  /** Whether a dead worker's tasks must be blamed, since the next worker would die in the same way. */
  isHopeless(session: WorkerSession): boolean;
  warn(sentence: string): void;
  note(sentence: string): void;
}

/**
 * A worker counts from its first message until its link has ended: what it sent before it died is still handled. As a rule its process ends
 * first, and its exit code says why. If only one of the two ends (a child of a task may hold the socket), the other is ended too.
 */
export class Roster {
  /** How the processes ended whose links have not. */
  private readonly _exits = new Map<number, string>();
  private _onEmpty: (() => void) | null = null;
  private readonly _liveness: Liveness;
  private readonly _places = new WorkerPlaces();
  private readonly _lookTimer: NodeJS.Timeout;
  private readonly _disk = new DiskNotices();
  /** When the user was told last that a plugin failed on a new worker. */
  private _unfitTold = -Infinity;
  /** When the user was told last that a worker ended for want of memory. */
  private _outOfMemoryTold = -Infinity;

  /**
   * @param ttlSeconds - after which a stopped worker is taken out; 0: never.
   * @param _profile - what workers are told of it.
   */
  constructor(
    private readonly _cluster: ClusterState,
    private readonly _host: IRosterHost,
    ttlSeconds: number,
    private readonly _profile: ProfileSettings
  ) {
    this._liveness = new Liveness(
      {
        standingChanged: session =>
          _host.gather(() => this._standingChanged(session)),
        takeOut: (session, why) =>
          _host.gather(() => this._takeOut(session, why))
      },
      ttlSeconds
    );
    _cluster.shared.plugins.host = {
      warn: sentence => _host.gather(() => _host.warn(sentence)),
      end: worker => _host.fleet?.kill(worker)
    };
    this._lookTimer = setInterval(
      () => this._liveness.look(_cluster.workers.values(), _cluster.clock()),
      this._liveness.lookSeconds * 1000
    ).unref();
  }

  /** @throws HandshakeRefused for a worker that was not started here. */
  welcome(intro: Intro): Intro {
    const said = check(workerIntro, intro, 'What the worker says of itself');
    const { worker } = said;
    if (
      this._host.fleet?.has(worker) !== true ||
      this._cluster.workers.has(worker)
    ) {
      throw new HandshakeRefused(
        'unknown-worker',
        'This worker was not started by this scheduler.'
      );
    }
    return {
      schedulerStart: this._cluster.start,
      clock: this._cluster.clock(),
      // Its link comes at once, and with it the place is taken.
      name: this._places.nameOfNext(said, this._starterOf(worker)),
      sampleSeconds: sampleSecondsOf(this._profile),
      cycleSeconds: this._profile.cycle
    };
  }

  came(link: AcceptedLink<'worker'>): void {
    const intro = check(workerIntro, link.intro, 'intro');
    const session = new WorkerSession(link, intro);
    session.heardAt = this._cluster.clock();
    // Not when it joins: the next one would be told the same name until then.
    this._places.joined(intro, this._starterOf(intro.worker));
    this._host.gather(() => this._joined(session));
    link.start({
      messages: batch => this._host.gather(() => this._take(session, batch)),
      closed: why => this._host.gather(() => this._linkEnded(session.id, why))
    });
  }

  /** A worker that sends an impossible message is dropped, like one whose link breaks: its tasks run elsewhere. */
  private _take(
    session: WorkerSession,
    batch: readonly Message<'worker', 'up'>[]
  ): void {
    session.heard++;
    session.heardAt = this._cluster.clock();
    try {
      for (const message of batch) {
        const runs = takeWorkerMessage(this._cluster, session, message);
        if (runs !== null) {
          this._host.finished(runs);
          this._worked(session, runs);
        } else if (message.type === 'state') {
          this._cluster.moves += message.fields.stalled ? 0 : 1;
          this._host.stateChanged();
        } else if (message.type === 'event') {
          this._said(session, message.fields);
        }
      }
    } catch (error) {
      if (!(error instanceof BrokenFrame)) {
        throw error;
      }
      this._host.note(`Worker ${session.id}: ${error.message}`);
      session.link.refuse('broken-frame', error.message);
    }
  }

  processEnded(worker: number, why: string): void {
    if (this._host.phase !== 'closing') {
      this._host.note(`Worker ${worker} ${why}.`);
    }
    // Noted at once: if the end of its link is handled in the same turn, that handler needs to know how the process ended.
    this._exits.set(worker, why);
    this._host.gather(() => {
      const session = this._cluster.workers.get(worker);
      if (session === undefined) {
        this._exits.delete(worker);
        return;
      }
      if (session.hasLinkEnded) {
        this._left(session, why);
      } else {
        // Mostly the link ends right after, and the scheduler, if it ends too, has nothing to wait for.
        setTimeout(
          () => session.link.destroy(why),
          EXIT_SECONDS * 1000
        ).unref();
      }
    });
  }

  /** The program that has started a worker, which has ended, starts no other for it. */
  hasNoSuccessor(worker: number): void {
    this._places.hasNoSuccessor(worker);
  }

  /** A program that has started workers has gone. */
  starterLeft(starter: object): void {
    this._places.starterLeft(starter);
  }

  list(): ListedWorker[] {
    const ready = [...this._cluster.workers.values()].filter(
      session => session.isReady
    );
    return ready.map(session => ({
      id: session.intro.worker,
      address: session.intro.address,
      pid: session.intro.pid,
      host: session.intro.host,
      threads: session.intro.threads,
      memoryLimit: session.intro.memoryLimit,
      resources: session.intro.resources,
      state: stateOf(session),
      lastSeen: session.heardAt,
      directory: session.intro.directory,
      names: this._places.namesOf(session.intro),
      ...(session.isPaused ? { why: session.whyPaused } : {})
    }));
  }

  /** Stops looking after the workers. */
  close(): void {
    clearInterval(this._lookTimer);
  }

  /** Waits until all have left, at most `limitSeconds`; workers that are still there then are dropped. */
  async emptied(limitSeconds: number): Promise<void> {
    const { workers } = this._cluster;
    if (workers.size > 0) {
      await new Promise<void>(resolve => {
        const limit = setTimeout(resolve, limitSeconds * 1000);
        this._onEmpty = () => {
          clearTimeout(limit);
          resolve();
        };
      });
    }
    for (const session of [...workers.values()]) {
      this._left(session, 'did not close in time');
    }
  }

  /** All events of a worker go into the log; some are also told to the user, or decide what its end means. */
  private _said(
    session: WorkerSession,
    { kind, text }: { readonly kind: string; readonly text: string }
  ): void {
    const { clock } = this._cluster;
    if (kind === 'memory-limit') {
      session.isOutOfMemory = true;
    } else if (kind === 'spill-failed') {
      const sentence = this._disk.failed(session.id, text, clock());
      if (sentence !== '') {
        this._host.warn(sentence);
      }
    } else if (kind === 'spill-resumed') {
      this._disk.ended(session.id);
    }
  }

  private _worked(session: WorkerSession, { message }: FinishedRuns): void {
    this._cluster.moves++;
    if (
      !session.hasWorked &&
      message.tables.runs.status.includes(RunStatus.Ok)
    ) {
      session.hasWorked = true;
      this._host.fleet?.worked(session.id);
    }
  }

  private _joined(session: WorkerSession): void {
    const { workers, log, clock } = this._cluster;
    const { worker, threads, memoryLimit, host, pid, address } = session.intro;
    this._host.fleet?.joined(worker);
    workers.set(worker, session);
    const { plugins } = this._cluster.shared;
    session.isReady = plugins.size === 0;
    const joined = {
      worker,
      pid,
      threads,
      memoryLimit,
      name: session.intro.name || `worker-${worker}`,
      address,
      host: host === '' ? hostname() : host
    };
    log.workerJoined(clock(), joined, false);
    log.event(clock(), 'worker-joined', worker, '');
    this._tellPeers();
    if (session.isReady) {
      this._ready(session);
      return;
    }
    const { launch, launchVersion } = this._cluster;
    if (launch !== null) {
      // Plugins may be of modules that only later clients' folders have.
      session.launchVersion = launchVersion;
      session.link.send('assign', { templates: [], chunks: [], launch });
    }
    plugins.prepare(session, failures => {
      if (workers.get(worker) !== session) {
        return;
      }
      if (failures.length === 0) {
        this._ready(session);
      } else {
        this._unfit(session, failures[0]!);
      }
    });
  }

  /** Gives it tasks from now on. */
  private _ready(session: WorkerSession): void {
    const { worker, threads, memoryLimit, host, resources } = session.intro;
    if (session.leaving !== null) {
      return; // it has been told to close meanwhile
    }
    session.isReady = true;
    session.logCapacity(this._cluster.log, this._cluster.clock());
    this._host.workersChanged();
    const { at } = this._cluster;
    this._cluster.events.workerCame(session);
    this._cluster.handle({
      type: 'workerJoined',
      at,
      worker,
      threads,
      memoryLimit,
      host,
      names: this._places.namesOf(session.intro),
      resources,
      retiring: session.isRetiring
    });
    if (session.isPaused || session.isHeldUp) {
      this._cluster.handle({
        type: 'workerPaused',
        at,
        worker,
        stalled: false
      });
    }
  }

  /** A plugin cannot be set up there: tasks that need it would fail, or answer otherwise. Another worker is started, after a pause if need be. */
  private _unfit(session: WorkerSession, { name, why }: PluginFailure): void {
    const { clock } = this._cluster;
    const sentence =
      `Plugin "${name}" cannot be set up on a new worker (${why}), which is replaced and gets no task. ` +
      'Fix the plugin and register it again, or end it with unregister_worker_plugin(name).';
    this._host.note(sentence);
    if (clock() >= this._unfitTold + QUIET_SECONDS) {
      this._unfitTold = clock();
      this._host.warn(sentence);
    }
    this._host.fleet?.kill(session.id);
  }

  /** A stopped worker gets no more tasks until it continues. */
  private _standingChanged(session: WorkerSession): void {
    const { workers, log, clock, at } = this._cluster;
    const worker = session.id;
    if (workers.get(worker) !== session) {
      return;
    }
    const isStopped = session.standing === 'stopped';
    if (isStopped !== session.isHeldUp) {
      session.isHeldUp = isStopped;
      if (!session.isPaused && session.isReady) {
        this._cluster.handle(
          isStopped
            ? { type: 'workerPaused', at, worker, stalled: false }
            : { type: 'workerResumed', at, worker }
        );
      }
      const now = clock();
      session.logCapacity(log, now);
      log.event(now, isStopped ? 'stopped' : 'continued', worker, '');
    }
    this._host.workersChanged();
  }

  /** It counts no more, whether its process has ended or not. */
  dismiss(session: WorkerSession, why: string): void {
    this._left(session, why);
  }

  /** Its tasks run elsewhere, another worker takes its place; when it continues, it finds that it is not needed, and ends. */
  private _takeOut(session: WorkerSession, why: string): void {
    if (this._cluster.workers.get(session.id) === session) {
      const { fleet } = this._host;
      if (session.isRetiring) {
        // It was to go: stopped, it cannot go by itself.
        this._host.note(`Worker ${session.id} ${why} while it retired.`);
        this._left(session, why);
        fleet?.kill(session.id);
        return;
      }
      this._host.note(`Worker ${session.id} ${why}: another takes its place.`);
      fleet?.replace(session.id);
      this._left(session, why);
    }
  }

  private _linkEnded(worker: number, why: string): void {
    const session = this._cluster.workers.get(worker);
    if (session === undefined) {
      return;
    }
    session.hasLinkEnded = true;
    const { fleet } = this._host;
    const exit = this._exits.get(worker);
    if (exit !== undefined || fleet?.has(worker) !== true) {
      this._left(session, exit ?? why);
    } else {
      setTimeout(() => fleet.kill(worker), EXIT_SECONDS * 1000).unref();
    }
  }

  private _left(session: WorkerSession, why: string): void {
    const { workers, log, requests, clock, at, rows } = this._cluster;
    const worker = session.id;
    const hasDied = this._host.phase !== 'closing' && session.leaving === null;
    const isHopeless = hasDied && this._host.isHopeless(session);
    this._cluster.deathSentence = deathSentence(this._cluster, session, why);
    if (hasDied && session.isOutOfMemory) {
      this._tellOutOfMemory();
    }
    this._cluster.moves++;
    this._disk.ended(worker);
    workers.delete(worker);
    // None is started for one that was to go.
    const isReplaced = hasDied && !session.isRetiring;
    this._places.left(worker, isReplaced || session.leaving === 'restarted');
    this._exits.delete(worker);
    session.link.destroy();
    const nodes = log.workerLeft(clock(), worker, why, rows);
    if (hasDied) {
      log.event(clock(), 'worker-lost', worker, why);
    }
    requests.workerLeft(worker);
    this._cluster.shared.workerLeft(session.link);
    this._tellPeers();
    this._host.workersChanged();
    if (session.isReady) {
      this._cluster.leaving = { worker, why, nodes };
      this._cluster.handle({
        type: 'workerLeft',
        at,
        worker,
        why: hasDied ? (isHopeless ? 'hopeless' : 'died') : 'closed'
      });
      this._cluster.leaving = null;
      this._cluster.events.workerLeft(session, why, !hasDied);
    }
    if (workers.size === 0) {
      this._onEmpty?.();
    }
  }

  /** What it ran is tried again, which takes time: nobody is to wait for that without knowing why. */
  private _tellOutOfMemory(): void {
    const { clock, core, deathSentence: sentence } = this._cluster;
    if (clock() >= this._outOfMemoryTold + QUIET_SECONDS) {
      this._outOfMemoryTold = clock();
      const most = core.options.allowedFailures;
      const then =
        most === 0
          ? 'Results that were lost with it are made again; tasks that it ran, or had ready, fail.'
          : `What was lost with it is run again all the same; a task fails when ${most + 1} workers have ended with it.`;
      this._host.warn(`A worker ${sentence}. ${then}`);
    }
  }

  private _starterOf(worker: number): object | null {
    return this._host.fleet?.starterOf(worker) ?? null;
  }

  private _tellPeers(): void {
    const sessions = [...this._cluster.workers.values()];
    const workers = sessions.map(({ intro }) => ({
      id: intro.worker,
      address: intro.address
    }));
    for (const { link } of sessions) {
      link.send('peers', { workers });
    }
  }
}

function stateOf(session: WorkerSession): string {
  const { standing, isPaused, isRetiring, leaving } = session;
  if (isRetiring) {
    return leaving === null ? 'closing_gracefully' : 'closing';
  }
  if (standing !== 'well') {
    return standing;
  }
  return isPaused ? 'paused' : 'running';
}
