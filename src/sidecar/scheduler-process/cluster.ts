/**
 * One cluster: the loop between the links and the pure scheduler. In the scheduler process.
 *
 * ```
 *   sockets are read ─► messages gather ─► (set-immediate) events into the core ─► instructions go out ─► the log is written
 * ```
 *
 * One turn of the event loop takes in everything that the sockets had; no timer is on this path. The timers here seal the log, sample
 * memory and limit waiting.
 */
import { CapacityState, NONE_U16 } from '../../records/enumerations';
import type { DenseTaskId } from '../../records/ids';
import { randomUUID } from 'node:crypto';
import {
  type ClusterSettings,
  sampleSecondsOf
} from '../../wire/cluster-settings';
import type { Intro } from '../../wire/handshake';
import { BUILD, VERSION } from '../build';
import { Door, type AcceptedLink } from '../../link/door';
import type { ClientSession, ExtraReport } from './client-messages';
import { ClientRoster } from './client-roster';
import { ClusterState } from './cluster-state';
import { InstructionPerformer, type AlsoReported } from './instructions';
import { IdleWatch, idleTime } from './idle-watch';
import { MemoryRuns } from './memory-runs';
import { NameKeeper } from './name-keeper';
import { OutsideWorkers } from './outside-workers';
import { OwnProfile } from './own-profile';
import { OwnSystem } from './own-system';
import { ObserverLink, type EndReason } from '../../link/observer-link';
import type { Refusal } from './report-message';
import {
  WorkerFleet,
  type FleetOptions,
  type IWorkerFleet
} from './worker-fleet';
import { Roster, type IRosterHost, type Phase } from './roster';
import { type ModuleOrder, SchedulerPlugins } from './scheduler-plugins';
import { StallWatch } from './stall-watch';
import type { FinishedRuns } from './worker-messages';
import { WorkerControl, type Command, type Done } from './worker-control';
import type { MeasuredTable } from '../../sources';
import type { SystemUse, WorkerSession } from './worker-session';

/** Why a cluster of the Jupyter server ends with it. */
const JUPYTER_ENDS = 'the Jupyter server that started it has ended';
/** How often workers measure memory when nobody asks for more. */
const MEMORY_SECONDS = 0.2;
/** The same while somebody samples memory, if not oftener: a worker without work would measure less often otherwise. */
const SAMPLED_SECONDS = 0.1;
/** How long the end of the cluster may wait for workers' last measurements, and for the observer. */
const LAST_WORDS_SECONDS = 2;
/** How long a question about measurements waits for a worker that does not answer. */
const FLUSH_SECONDS = 5;

type ClusterOptions = {
  readonly settings: ClusterSettings;
  /** Where the door's socket lies, of mode 0700. */
  readonly folder: string;
  readonly clock: () => number;
  /** For the program's own log. */
  note(sentence: string): void;
  /** Creates the workers; tests pass their own. */
  readonly fleet?: (options: FleetOptions) => IWorkerFleet;
  /** {@link FLUSH_SECONDS} if left out. */
  readonly flushSeconds?: number;
  /** After a stall in which the client waited for nothing, the next such stall is reported only after this long; a minute if left out. */
  readonly quietSeconds?: number;
};

export class Cluster implements IRosterHost {
  readonly memoryRuns: MemoryRuns;
  /** Fulfilled with the reason when the cluster has ended. */
  readonly ended: Promise<EndReason>;
  private readonly _state: ClusterState;
  private readonly _performer: InstructionPerformer;
  private readonly _roster: Roster;
  private readonly _control: WorkerControl;
  private readonly _names: NameKeeper;
  private readonly _plugins: SchedulerPlugins;
  private readonly _stalls: StallWatch;
  private readonly _logId = randomUUID().replaceAll('-', '');
  private _observer: ObserverLink | null = null;
  private _door: Door<'client' | 'worker'> | null = null;
  private _fleet: OutsideWorkers | null = null;
  private _nextWorker = 0;
  private readonly _clients: ClientRoster;
  private readonly _idle: IdleWatch;
  /** The numbers of clients that have been welcomed and whose links have not come yet. */
  private readonly _admitted = new WeakMap<Intro, number>();
  /** Null: nobody would read it. */
  private readonly _system: OwnSystem | null;
  private readonly _profile: OwnProfile;
  private _phase: Phase = 'starting';
  /** Counts what clients say. */
  private _uses = 0;
  private _inbox: (() => void)[] = [];
  private _finished: FinishedRuns[] = [];
  /** By client, what the core does not report. */
  private _also = new Map<number, AlsoReported>();
  private _sealTimer: NodeJS.Timeout | undefined;

  /** Opens the door and starts the workers. */
  static async start(options: ClusterOptions): Promise<Cluster> {
    const cluster = new Cluster(options);
    await cluster._open();
    return cluster;
  }
  private _resolveEnded: (why: EndReason) => void = () => undefined;

  private constructor(private readonly _options: ClusterOptions) {
    const { clock, settings } = _options;
    this._state = new ClusterState(
      clock,
      clock(),
      block => this._observer?.push(block, this._state.at),
      isRecorded(settings),
      {
        saturation: saturationOf(settings),
        allowedFailures: settings.allowedFailures
      },
      settings.mostTasks,
      act => this.gather(act)
    );
    this._performer = new InstructionPerformer(this._state);
    this._roster = new Roster(
      this._state,
      this,
      settings.workerTtlSeconds,
      settings.profile
    );
    this._control = new WorkerControl(this._state, this._roster, this);
    this._clients = new ClientRoster(
      this._state,
      this,
      settings.name,
      settings.launch,
      settings.owner === 'server',
      waiting => this._stalls.clientsWait(waiting)
    );
    this._names = new NameKeeper(this._state);
    this._plugins = new SchedulerPlugins(this._state, this);
    this._stalls = new StallWatch(
      this._state,
      this,
      settings.stallSeconds,
      settings.nWorkers,
      settings.workerTtlSeconds,
      _options.quietSeconds
    );
    this._idle = new IdleWatch(this._state, this, settings.idleSeconds);
    this.memoryRuns = new MemoryRuns(this._state.log, clock, () =>
      [...this._state.workers.values()].map(session => session.memory)
    );
    const { measured } = this._state.log;
    this._system = isRecorded(settings)
      ? new OwnSystem(
          clock,
          () => this._idle.isBusy,
          row => this.gather(() => measured.system(NONE_U16, columnsOf(row)))
        )
      : null;
    this._profile = new OwnProfile(() => this._state.at, settings.profile);
    if (settings.profile.scheduler) {
      this._profile.begin();
    }
    this.ended = new Promise(resolve => (this._resolveEnded = resolve));
  }

  /** The address that clients and workers dial. */
  get address(): string {
    return this._state.address;
  }

  // ---- what clients ask for

  reportAlso(client: ClientSession, report: ExtraReport): void {
    this._alsoFor(client).reports.push(report);
  }

  refuse(client: ClientSession, refusal: Refusal): void {
    this._alsoFor(client).refusals.push(refusal);
  }

  freeIds(): void {
    this._carryOut();
  }

  flush(client: ClientSession, request: number): void {
    const { requests, workers, log, clock } = this._state;
    const limit = this._options.flushSeconds ?? FLUSH_SECONDS;
    const sessions = [...workers.values()];
    const isStopped = (session: WorkerSession): boolean =>
      session.standing === 'stopped';
    const stopped = sessions.filter(isStopped).map(({ id }) => id);
    const asked = sessions.filter(session => !isStopped(session));
    requests.flush(asked, limit, unanswered => {
      this._system?.look();
      // The workers' answers belong to this turn: they are in the log when the turn is over.
      setImmediate(() => {
        this._clients.closeIdleSpans();
        const seq = log.seal(clock());
        client.link.send('flushed', {
          request,
          logId: this._logId,
          seq,
          note: [
            stoppedSentence(stopped),
            unansweredSentence(unanswered, limit)
          ]
            .filter(Boolean)
            .join(' ')
        });
      });
    });
  }

  memoryRatesChanged(): void {
    const shortest = this.memoryRuns.shortestSeconds;
    const memorySeconds =
      shortest === null ? MEMORY_SECONDS : Math.min(SAMPLED_SECONDS, shortest);
    for (const { link } of this._state.workers.values()) {
      link.send('rates', { memorySeconds });
    }
  }

  clientWaits(client: ClientSession, waiting: boolean): void {
    this._clients.waiting.answered(client, waiting);
  }

  /** Workers that get no task soon have time to import what later ones want. */
  launchChanged(): void {
    const state = this._state;
    const launch = this._clients.launch();
    state.launch = launch;
    state.launchVersion++;
    for (const session of state.workers.values()) {
      session.launchVersion = state.launchVersion;
      session.link.send('assign', { templates: [], chunks: [], launch });
    }
  }

  command(command: Command, done: Done): void {
    this._control.command(command, done);
  }

  reserve(
    client: ClientSession,
    count: number,
    names: readonly string[]
  ): { readonly workers: number[]; readonly sentence: string } {
    return this._fleet === null || this._phase === 'closing'
      ? { workers: [], sentence: 'The cluster is closing.' }
      : this._fleet.reserve(client, count, names);
  }

  workerEnded(
    client: ClientSession,
    worker: number,
    why: string,
    isReplaced: boolean
  ): void {
    if (!isReplaced && this._fleet?.starterOf(worker) === client) {
      this._roster.hasNoSuccessor(worker);
    }
    this._fleet?.ended(client, worker, why);
  }

  guestLeft(client: ClientSession): void {
    this._fleet?.starterLeft(client);
    this._roster.starterLeft(client);
  }

  close(client: ClientSession, endsAll: boolean, why: string): void {
    if (this._clients.isOwner(client)) {
      void (this._isServers
        ? this.end('stopped', why || JUPYTER_ENDS, why || JUPYTER_ENDS)
        : this.end('closed', 'the program that started it has closed it'));
    } else if (endsAll) {
      const who = this._clients.nameOf(client);
      void this.end('closed', `${who} has shut it down`, `${who} shut it down`);
    } else {
      this._clients.goodbye(client);
    }
  }

  module(
    order: ModuleOrder,
    done: (known: boolean, why: string) => void
  ): void {
    this._plugins.take(order, done);
  }

  get startingCount(): number {
    return this._fleet?.startingCount ?? 0;
  }

  standing(tasks: readonly DenseTaskId[]): string {
    return this._stalls.standing(tasks);
  }

  ownProfile(begins: boolean): string {
    return JSON.stringify(this._profile.answer(begins));
  }

  clientNumbers(): number[] {
    return [...this._clients.links.keys()];
  }

  othersThan(client: ClientSession): number {
    return this._clients.othersThan(client);
  }

  /** It goes with the program, or the Jupyter server, that has started it. */
  ownerLeft(): void {
    void (this._isServers
      ? this.end('stopped', JUPYTER_ENDS, JUPYTER_ENDS)
      : this.end('kernel-ended', 'the program that started it has ended'));
  }

  used(): void {
    this._uses++;
  }

  // ---- IIdleHost

  get clientsSeen(): number {
    return this._clients.seen + (this._isServers ? this._uses : 0);
  }

  /** Who opens a notebook again after lunch is to find what he holds; and who has just come may wait for the first workers. */
  get isHeld(): boolean {
    const { rows, requests } = this._state;
    const isStarting = (this._fleet?.startingCount ?? 0) > 0;
    // Of a program's too: a short limit would end it before its first worker has come.
    return (
      isStarting ||
      (this._isServers && (rows.ids.size > 0 || requests.size > 0))
    );
  }

  /** The owner is a Jupyter server, whose notebooks share the cluster. */
  private get _isServers(): boolean {
    return this._options.settings.owner === 'server';
  }

  idleTooLong(seconds: number): void {
    const time = idleTime(seconds);
    void (this._isServers
      ? this.end('idle', `it was idle for ${time}`, `idle for ${time}`)
      : this.end('closed', `nothing was computed for ${seconds} s`));
  }

  warn(sentence: string): void {
    this._clients.warn(sentence);
  }

  // ---- IRosterHost

  get phase(): Phase {
    return this._phase;
  }

  get fleet(): IWorkerFleet | null {
    return this._fleet;
  }

  workersChanged(): void {
    if (this._phase === 'starting' && this._state.workers.size > 0) {
      this._phase = 'running';
    }
    this._tellCluster();
    this.memoryRatesChanged();
  }

  stateChanged(): void {
    this._tellCluster();
  }

  isHopeless(session: WorkerSession): boolean {
    return this._stalls.isHopeless(session);
  }

  finished(runs: FinishedRuns): void {
    this._finished.push(runs);
  }

  note(sentence: string): void {
    this._options.note(sentence);
  }

  askWhetherClientsWait(): void {
    this._clients.askWhetherTheyWait();
  }

  /** Does something in this turn, after all sockets were read. */
  gather(act: () => void): void {
    if (this._inbox.push(act) === 1) {
      setImmediate(() => this._turn());
    }
  }

  /**
   * Ends workers, log and links. Twice is safe.
   *
   * @param told - why, for clients, as half a sentence.
   * @param shown - the same for panels, if they are to say more than `why`.
   */
  async end(why: EndReason, told = '', shown = ''): Promise<void> {
    if (this._phase === 'closing') {
      await this.ended;
      return;
    }
    this._phase = 'closing';
    const { log, workers, clock } = this._state;
    this._tellCluster();
    this._clients.tell('closed', { why: told, idle: why === 'idle' });
    this._clients.flush();
    this.memoryRuns.close();
    this._roster.close();
    this._control.close();
    this._stalls.tellProgress();
    this._stalls.close();
    this._idle.close();
    this._system?.close();
    this._profile.close();
    this._plugins.close();
    this._state.shared.close();
    this._state.copies.close();
    for (const { id, link } of workers.values()) {
      log.capacity(clock(), id, CapacityState.Closing);
      link.send('close', {});
      link.flush();
    }
    await this._fleet?.close();
    await this._roster.emptied(LAST_WORDS_SECONDS);
    clearTimeout(this._sealTimer);
    log.seal(clock());
    await this._observer?.end(why, this._state.at, LAST_WORDS_SECONDS, shown);
    this._clients.close('The cluster was closed.');
    await this._door?.close();
    this._resolveEnded(why);
  }

  // ---- starting

  private async _open(): Promise<void> {
    const { settings, folder, note } = this._options;
    const secret = Uint8Array.from(Buffer.from(settings.secretHex, 'hex'));
    this._describe();
    this._door = await Door.open({
      transport: settings.transport,
      port: settings.port,
      folder,
      name: 'scheduler',
      secret,
      build: BUILD,
      roles: ['client', 'worker'],
      welcome: (role, intro) =>
        role === 'client'
          ? this._welcomeClient(intro)
          : this._roster.welcome(intro),
      onLink: link => {
        if (link.role === 'client') {
          const id = this._admitted.get(link.intro)!;
          this._clients.came(link as AcceptedLink<'client'>, id);
        } else {
          this._roster.came(link as AcceptedLink<'worker'>);
        }
      },
      onRefused: note
    });
    this._state.address = this._door.address;
    const makeFleet =
      this._options.fleet ?? (options => new WorkerFleet(options));
    const takeNumber = (): number => this._nextWorker++;
    const onExit = (worker: number, why: string): void =>
      this._roster.processEnded(worker, why);
    const own = makeFleet({
      launch: settings.launch,
      client: settings.client,
      address: this._door.address,
      secretHex: settings.secretHex,
      folder,
      transport: settings.transport,
      threads: settings.threadsPerWorker,
      memoryLimit: settings.memoryLimit,
      memory: settings.memory,
      resources: settings.resources,
      transferLogLength: settings.transferLogLength,
      recording: isRecorded(settings),
      takeNumber,
      onExit,
      onGiveUp: sentence => {
        this._control.startsFail();
        this._problem(sentence);
        if (settings.owner === 'server') {
          // Who joins next would wait in vain: another cluster is started for him.
          void this.end('scheduler-lost', sentence);
        }
      },
      note
    });
    const { workers } = this._state;
    this._fleet = new OutsideWorkers(own, {
      count: () => ({ count: workers.size, numbers: this._nextWorker }),
      takeNumber,
      onExit
    });
    this._fleet.start(settings.nWorkers);
    this._commit();
  }

  /** The log's header, and the same for the observer. */
  private _describe(): void {
    const { settings, note } = this._options;
    const { log, clock, start } = this._state;
    const open = {
      logId: this._logId,
      clusterId: settings.clusterId,
      name: settings.name,
      kind: 'embedded' as const,
      notebook: settings.notebook,
      // The clock's zero: the wall time at the scheduler's start.
      wallEpoch: Date.now() / 1000 - (clock() - start),
      pid: process.pid,
      environment: this._isServers
        ? (settings.launch.prefix ?? settings.launch.executable)
        : '',
      versions: { ...settings.launch.versions, spanwise: VERSION },
      capabilities: {
        waits: true,
        cpu: true,
        lanes: true,
        spans: true,
        samples: settings.profile.enabled,
        memory: true
      }
    };
    log.header(clock(), {
      ...open,
      sampleSeconds: sampleSecondsOf(settings.profile)
    });
    const place = settings.observer;
    if (place === null) {
      this._stalls.viewed(false);
    } else {
      this._observer = new ObserverLink({
        place: () => place,
        build: BUILD,
        open,
        isPatient: true,
        onGap: gaps => {
          for (const { table, from, to, rows } of gaps) {
            log.gap(table, from, to, rows, 'replay ring');
          }
          this._commit();
        },
        onViewers: hasViewers => {
          log.viewed(hasViewers);
          this._stalls.viewed(hasViewers);
          clearTimeout(this._sealTimer);
          this._sealTimer = undefined;
          this._commit();
        },
        onRefused: sentence => this.warn(sentence),
        who: 'This cluster',
        // If the protocols differ, the sentence already says which side is to be upgraded.
        remedy: code =>
          code === 'protocol'
            ? ''
            : 'Restart JupyterLab, then this kernel, so that both know the same connection file.',
        note
      });
    }
    this._state.wallEpoch = open.wallEpoch;
  }

  private _welcomeClient(intro: Intro): Intro {
    const { settings } = this._options;
    const client = this._clients.admit(intro);
    this._admitted.set(intro, client);
    return {
      clusterId: settings.clusterId,
      name: settings.name,
      logId: this._logId,
      client,
      schedulerStart: this._state.start,
      clock: this._state.clock(),
      wallEpoch: this._state.wallEpoch,
      observer: settings.observer?.address ?? null,
      workers: this._roster.list(),
      coming: this._fleet?.startingCount ?? 0,
      cwd: settings.launch.cwd
    };
  }

  private _tellCluster(): void {
    this._clients.tell('cluster', {
      state: this._phase,
      workers: this._roster.list()
    });
  }

  // ---- the turn

  private _turn(): void {
    const acts = this._inbox;
    this._inbox = [];
    try {
      for (const act of acts) {
        act();
      }
      this._carryOut();
      this._clients.askForUnused();
    } catch (error) {
      // A bug: the state can no longer be trusted.
      const text = error instanceof Error ? (error.stack ?? '') : String(error);
      this._options.note(text);
      this._problem(
        `The scheduler of ${this._options.settings.name} has failed: ${String(error).split('\n')[0]} ` +
          'This is a bug of Spanwise; its log has the details.'
      );
      void this.end('scheduler-lost');
    }
  }

  private _carryOut(): void {
    const also = this._also;
    if (also.size > 0) {
      this._also = new Map();
    }
    this._state.events.flush();
    this._performer.perform(this._clients.links, also);
    this._writeLog();
    this._performer.giveBackIds();
  }

  private _alsoFor({ id }: ClientSession): AlsoReported {
    let also = this._also.get(id);
    if (also === undefined) {
      also = { reports: [], refusals: [] };
      this._also.set(id, also);
    }
    return also;
  }

  private _writeLog(): void {
    const { log, rows } = this._state;
    for (const { worker, message, tasks } of this._finished) {
      log.finished(worker, message.tables, tasks, rows);
    }
    this._finished = [];
    this._names.keepBound();
    this._commit();
  }

  private _commit(): void {
    const due = this._state.log.commit(this._state.clock());
    if (due !== null && this._sealTimer === undefined) {
      const seconds = Math.max(0, due - this._state.clock());
      this._sealTimer = setTimeout(
        () => {
          this._sealTimer = undefined;
          this._clients.closeIdleSpans();
          this._commit();
        },
        // A timer drops fractions: it would end before anything is due, and another follow it.
        Math.ceil(seconds * 1000)
      );
    }
  }

  private _problem(sentence: string): void {
    this._options.note(sentence);
    this._clients.tell('problem', { sentence, fatal: true });
    this._clients.flush();
  }
}

/** Why the figures are incomplete, for the user; empty: they are complete. */
function unansweredSentence(
  workers: readonly number[],
  seconds: number
): string {
  if (workers.length === 0) {
    return '';
  }
  const names = workers.map(worker => `worker-${worker}`).join(', ');
  return (
    `${names} did not answer within ${seconds} s: what ran there last is missing in these figures. ` +
    'A task may be in compiled code that keeps the interpreter lock; ask again when it has ended.'
  );
}

function stoppedSentence(workers: readonly number[]): string {
  if (workers.length === 0) {
    return '';
  }
  const names = workers.map(worker => `worker-${worker}`).join(', ');
  const verb = workers.length === 1 ? 'is' : 'are';
  return `${names} ${verb} stopped (SIGSTOP or a debugger): what ran there last is missing in these figures.`;
}

/** A row as a table of one. */
function columnsOf(row: SystemUse): MeasuredTable<'system'> {
  const columns = Object.entries(row).map(([name, value]) => [name, [value]]);
  return {
    rows: 1,
    ...Object.fromEntries(columns)
  } as MeasuredTable<'system'>;
}

/** Without an observer nobody would ever read the log. */
function isRecorded({ recording, observer }: ClusterSettings): boolean {
  return recording && observer !== null;
}

function saturationOf({ workerSaturation }: ClusterSettings): number | null {
  return workerSaturation === 'inf' ? Infinity : workerSaturation;
}
