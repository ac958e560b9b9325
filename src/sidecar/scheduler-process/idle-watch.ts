/** Ends a cluster in which nothing has been computed for long. In the scheduler process. */
import type { ClusterState } from './cluster-state';

/** Between two looks; with a shorter limit, a quarter of that. */
const LOOK_SECONDS = 1;

interface IIdleHost {
  /** Does something in this turn. */
  gather(act: () => void): void;
  /** Changes when a client comes or goes. */
  readonly clientsSeen: number;
  /** Somebody holds what has been computed, and that counts here. */
  readonly isHeld: boolean;
  idleTooLong(seconds: number): void;
}

export class IdleWatch {
  private readonly _timer: NodeJS.Timeout | undefined;
  private _since: number;
  /** Counts of what has happened, at the last look. */
  private _seen = '';

  /** @param _seconds - how long; 0: for ever. */
  constructor(
    private readonly _cluster: ClusterState,
    private readonly _host: IIdleHost,
    private readonly _seconds: number
  ) {
    this._since = _cluster.clock();
    if (_seconds > 0) {
      const interval = Math.min(LOOK_SECONDS, _seconds / 4);
      this._timer = setInterval(
        () => _host.gather(() => this._look()),
        interval * 1000
      ).unref();
    }
  }

  close(): void {
    clearInterval(this._timer);
  }

  /** There are tasks to be done. Those that nobody can run are too: a worker may come for them. So are those that have left their threads. */
  get isBusy(): boolean {
    const { core } = this._cluster;
    return (
      core.queuedCount > 0 ||
      core.unplacedCount > 0 ||
      core.workers.all.some(({ underWayCount }) => underWayCount > 0)
    );
  }

  private _look(): void {
    const { core, clock } = this._cluster;
    const now = clock();
    const isBusy = this._host.isHeld || this.isBusy;
    const seen = `${core.stepsAhead} ${this._host.clientsSeen}`;
    if (isBusy || seen !== this._seen) {
      this._seen = seen;
      this._since = now;
    } else if (now - this._since >= this._seconds) {
      this.close();
      this._host.idleTooLong(this._seconds);
    }
  }
}

/** "30 min", "90 s" */
export function idleTime(seconds: number): string {
  return seconds >= 60 && seconds % 60 === 0
    ? `${seconds / 60} min`
    : `${seconds} s`;
}
