/** Changes the number of workers: restart, retire, scale, adapt. In the scheduler process. */
import { formatExactCount } from '../../panels/format';
import type { Message } from '../../wire/schema';
import type { ClusterState } from './cluster-state';
import type { Roster } from './roster';
import { wantedWorkers } from './wanted-workers';
import type { IWorkerFleet } from './worker-fleet';
import type { WorkerSession } from './worker-session';

/** How often a worker that retires is looked at. */
const LOOK_SECONDS = 0.05;
/** Its results must have moved by then, or it stays. */
const MOVE_SECONDS = 60;
/** Tasks on a retiring worker have this long to end; then they run again elsewhere. */
const GRACE_SECONDS = 10;
/** A worker that was told to close is killed after this long. */
const CLOSE_SECONDS = 5;
/** How often the number of workers is adapted, and in how many looks in a row fewer workers must suffice before one is retired. */
const ADAPT_SECONDS = 1;
const LOOKS_UNTIL_FEWER = 3;

export type Command = Omit<
  Message<'client', 'up', 'command'>['fields'],
  'alone'
>;
/** What became of it: the workers that it was done to, and why not to the others. */
export type Done = (workers: readonly number[], sentence: string) => void;

interface IControlHost {
  readonly fleet: IWorkerFleet | null;
  /** Does something in this turn. */
  gather(act: () => void): void;
  workersChanged(): void;
  warn(sentence: string): void;
}

type Retirement = {
  readonly since: number;
  closes: boolean;
  /** It goes even if its results have nowhere to go. */
  isForced: boolean;
  closedAt: number | null;
  /** All who wait for it: it may be asked for several times. */
  readonly ended: ((sentence: string) => void)[];
};

export class WorkerControl {
  private readonly _retirements = new Map<number, Retirement>();
  private readonly _killTimers = new Set<NodeJS.Timeout>();
  private _lookTimer: NodeJS.Timeout | undefined;
  private _adaptTimer: NodeJS.Timeout | undefined;
  private _range: { minimum: number; maximum: number } | null = null;
  private _looksWithFewer = 0;
  private _isClosed = false;

  constructor(
    private readonly _cluster: ClusterState,
    private readonly _roster: Roster,
    private readonly _host: IControlHost
  ) {}

  command(command: Command, done: Done): void {
    if (this._isClosed) {
      // A worker that starts now would outlive the fleet's end.
      return done([], 'The cluster was closed.');
    }
    const { workers, count, minimum, maximum, closes } = command;
    switch (command.what) {
      case 'restart':
        return done(this._restart(workers), '');
      case 'retire':
        return this._retireAll(workers, closes, done);
      case 'scale':
        this._range = null;
        this._scale(count, true);
        return done([], '');
      case 'adapt':
        this._range = maximum === null ? null : { minimum, maximum };
        this._looksWithFewer = 0;
        this._adapt();
        return done([], '');
    }
  }

  /** Workers cannot be started: who adapts their number would try for ever. */
  startsFail(): void {
    this._range = null;
    this._adapt();
  }

  close(): void {
    this._isClosed = true;
    clearInterval(this._lookTimer);
    clearInterval(this._adaptTimer);
    this._killTimers.forEach(timer => clearTimeout(timer));
    [...this._retirements.keys()].forEach(id =>
      this._end(id, 'The cluster was closed.')
    );
  }

  // ---- restart

  /** What they hold is computed again; no task is blamed. */
  private _restart(ids: readonly number[]): number[] {
    const sessions = this._sessions(ids);
    for (const session of sessions) {
      this._end(session.id, 'It was restarted.');
      session.leaving = 'restarted';
      this._host.fleet?.leave(session.id, false);
      this._host.fleet?.replace(session.id);
      this._roster.dismiss(session, 'was restarted');
      this._host.fleet?.kill(session.id);
    }
    return sessions.map(({ id }) => id);
  }

  // ---- retire

  private _retireAll(
    ids: readonly number[],
    closes: boolean,
    done: Done
  ): void {
    const sessions = this._sessions(ids);
    const gone: number[] = [];
    const why: string[] = [];
    let left = sessions.length;
    const ended = (id: number, sentence: string): void => {
      if (sentence === '') {
        gone.push(id);
      } else {
        why.push(`worker-${id}: ${sentence}`);
      }
      if (--left === 0) {
        done(gone, why.join(' '));
      }
    };
    if (left === 0) {
      done([], '');
    }
    for (const session of sessions) {
      this._retire(session, closes, false, sentence =>
        ended(session.id, sentence)
      );
    }
    this._look();
  }

  private _retire(
    session: WorkerSession,
    closes: boolean,
    isForced: boolean,
    ended: (sentence: string) => void
  ): void {
    const { log, clock } = this._cluster;
    const present = this._retirements.get(session.id);
    if (present !== undefined) {
      present.closes ||= closes;
      present.isForced ||= isForced;
      present.ended.push(ended);
      return;
    }
    this._retirements.set(session.id, {
      since: clock(),
      closes,
      isForced,
      closedAt: null,
      ended: [ended]
    });
    // Also if it dies meanwhile, no other comes in its place.
    this._host.fleet?.leave(session.id, true);
    session.isRetiring = true;
    session.logCapacity(log, clock());
    this._lookTimer ??= setInterval(
      () => this._host.gather(() => this._look()),
      LOOK_SECONDS * 1000
    );
    this._host.workersChanged();
  }

  /** Has each retiring worker take its next step. */
  private _look(): void {
    const { workers } = this._cluster;
    for (const [id, retirement] of [...this._retirements]) {
      const session = workers.get(id);
      if (session === undefined) {
        this._end(id, '');
      } else if (retirement.closedAt === null) {
        this._step(session, retirement);
      }
    }
    if (this._retirements.size === 0) {
      clearInterval(this._lookTimer);
      this._lookTimer = undefined;
    }
  }

  private _step(session: WorkerSession, retirement: Retirement): void {
    const { core, clock, at } = this._cluster;
    const { id } = session;
    if (!session.isReady) {
      // It sets up plugins, perhaps for long: it has no task and no result.
      this._letGo(session, retirement);
      return;
    }
    this._cluster.handle({ type: 'workerRetires', at, worker: id });
    const { unmoved, underWayCount } = core.workers.get(id)!;
    const waited = clock() - retirement.since;
    const hasTakers = core.workers.all.some(({ retiring }) => !retiring);
    const isLost = unmoved > 0 && !hasTakers;
    if (isLost && !retirement.isForced) {
      this._stay(session, 'No other worker is there to take its results.');
    } else if (unmoved > 0 && !isLost) {
      if (waited > MOVE_SECONDS) {
        this._stay(
          session,
          `${formatExactCount(unmoved)} of its results could not be moved within ${MOVE_SECONDS} s; the other workers may be full.`
        );
      }
    } else if (underWayCount === 0 || waited > GRACE_SECONDS) {
      if (isLost) {
        const [results, they] =
          unmoved === 1
            ? ['1 result', 'It is']
            : [`${formatExactCount(unmoved)} results`, 'They are'];
        this._host.warn(
          `worker-${id} goes with ${results} that no other worker could take. ${they} computed again when there are workers; ` +
            'data that was put there by scatter() is lost.'
        );
      }
      this._letGo(session, retirement);
    }
  }

  private _stay(session: WorkerSession, why: string): void {
    const { log, clock, at } = this._cluster;
    session.isRetiring = false;
    session.logCapacity(log, clock());
    this._host.fleet?.leave(session.id, false);
    this._cluster.handle({ type: 'workerStays', at, worker: session.id });
    this._host.workersChanged();
    this._end(session.id, why);
  }

  /** Tells those who wait for a retirement that it is over; empty: the worker has gone. */
  private _end(id: number, sentence: string): void {
    const retirement = this._retirements.get(id);
    this._retirements.delete(id);
    retirement?.ended.forEach(ended => ended(sentence));
  }

  private _letGo(session: WorkerSession, retirement: Retirement): void {
    const { clock } = this._cluster;
    if (!retirement.closes) {
      // It stays as it is: without tasks.
      this._end(session.id, '');
      return;
    }
    retirement.closedAt = clock();
    session.leaving = 'retired';
    session.link.send('close', {});
    session.link.flush();
    const timer = setTimeout(() => {
      this._killTimers.delete(timer);
      this._host.fleet?.kill(session.id);
    }, CLOSE_SECONDS * 1000);
    this._killTimers.add(timer.unref());
    this._host.workersChanged();
  }

  // ---- scale and adapt

  /** @param isCommanded - the user asked for this count; 0 then also closes workers that retired without closing. */
  private _scale(count: number, isCommanded = false): void {
    const { fleet } = this._host;
    if (fleet === null) {
      return;
    }
    const closesAll = isCommanded && count === 0;
    if (closesAll) {
      // Workers that are already retiring hand over their results if another worker can take them, and close in any case.
      this._retirements.forEach(retirement => {
        retirement.closes = true;
        retirement.isForced = true;
      });
    }
    let excess = this._staying().length + fleet.startingCount - count;
    if (excess > 0 || closesAll) {
      excess -= fleet.dropStarts(excess);
      const going = closesAll
        ? this._notRetiredYet()
        : this._leastNeeded().slice(0, excess);
      going.forEach(session =>
        this._retire(session, true, count === 0, sentence => {
          if (sentence !== '' && !this._isClosed) {
            this._host.warn(`worker-${session.id} stays. ${sentence}`);
          }
        })
      );
      this._look();
      return;
    }
    // Those that have not been let go stay.
    for (const [id, retirement] of [...this._retirements]) {
      const session = this._cluster.workers.get(id);
      if (excess < 0 && session && retirement.closedAt === null) {
        this._stay(session, 'More workers are wanted again.');
        excess++;
      }
    }
    fleet.start(-excess);
  }

  /** The idle ones that hold little first, of those the youngest. */
  private _leastNeeded(): WorkerSession[] {
    const { core } = this._cluster;
    const need = ({ id }: WorkerSession): [number, number] => {
      // The core does not know those that set up plugins.
      const known = core.workers.get(id);
      return [known?.underWayCount ?? 0, known?.storedBytes ?? 0];
    };
    return this._staying()
      .map(session => ({ session, need: need(session) }))
      .sort(
        (a, b) =>
          a.need[0] - b.need[0] ||
          a.need[1] - b.need[1] ||
          b.session.id - a.session.id
      )
      .map(({ session }) => session);
  }

  private _adapt(): void {
    if (this._range === null) {
      clearInterval(this._adaptTimer);
      this._adaptTimer = undefined;
      return;
    }
    this._adaptTimer ??= setInterval(
      () => this._host.gather(() => this._adapt()),
      ADAPT_SECONDS * 1000
    );
    const { core } = this._cluster;
    const here =
      this._staying().length + (this._host.fleet?.startingCount ?? 0);
    const idle = this._staying().filter(
      ({ id }) => (core.workers.get(id)?.underWayCount ?? 0) === 0
    ).length;
    const wanted = wantedWorkers(
      core,
      this._threads,
      this._host.fleet?.resources ?? {},
      this._range
    );
    this._looksWithFewer = wanted < here ? this._looksWithFewer + 1 : 0;
    if (wanted > here) {
      this._scale(wanted);
    } else if (this._looksWithFewer >= LOOKS_UNTIL_FEWER && idle > 0) {
      this._scale(Math.max(wanted, here - idle, this._range.minimum));
    }
  }

  /** Threads of each worker. */
  private get _threads(): number {
    return this._host.fleet?.threads ?? 1;
  }

  private _staying(): WorkerSession[] {
    return [...this._cluster.workers.values()].filter(
      ({ isRetiring, leaving }) => !isRetiring && leaving === null
    );
  }

  /** Those that stay, and those that were retired and have stayed without tasks. */
  private _notRetiredYet(): WorkerSession[] {
    return [...this._cluster.workers.values()].filter(
      ({ id, leaving }) => leaving === null && !this._retirements.has(id)
    );
  }

  private _sessions(ids: readonly number[]): WorkerSession[] {
    const { workers } = this._cluster;
    return [...new Set(ids)].flatMap(id => workers.get(id) ?? []);
  }
}
