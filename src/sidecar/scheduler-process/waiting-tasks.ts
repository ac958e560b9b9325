/**
 * Tells the log how many tasks wait, for what, and which notice users have for it: panels show both. In the scheduler process.
 *
 * Looked at once a second, or less often where that takes long, and only while somebody may see it; of what has changed a row is written.
 */
import { WaitReason } from '../../records/enumerations';
import { type WaitingCounts, type WorkerRecord } from '../../scheduler';
import { cutInTheMiddle } from '../../sources/cut-text';
import type { ClusterState } from './cluster-state';

/** Of a notice: the key in it may be long. */
const MOST_CHARACTERS = 2000;
/** A look takes 0.7 s with a thousand workers and ten thousand tasks that each need other resources: the next one comes after so many times that. */
const REST = 50;
const REASONS = Object.values(WaitReason).filter(
  reason => typeof reason === 'number'
);

/** Notices that are still true, by what the tasks wait for of which they tell. */
export type Told = ReadonlyMap<WaitReason, string>;

interface IWaitingHost {
  /** Does something in this turn. */
  gather(act: () => void): void;
}

type Row = {
  readonly reason: WaitReason;
  readonly tasks: number;
  readonly told: string;
};

export class WaitingTasks {
  private _isSeen = true;
  /** Seconds of the cluster's clock: before, nothing is looked for. */
  private _nextLook = -Infinity;
  /** Seconds that the last look took. */
  private _took = 0;
  /** By reason, what the log says; left out: that none waits. */
  private readonly _logged = new Map<WaitReason, Row>();

  constructor(
    private readonly _cluster: ClusterState,
    private readonly _host: IWaitingHost
  ) {}

  /**
   * Whether somebody may see it. What nobody looks at changes untold: the log then says that none waits, so that who comes is not shown what
   * was so when the last one left.
   */
  viewed(isSeen: boolean): void {
    this._isSeen = isSeen;
    this._nextLook = -Infinity;
    if (!isSeen) {
      this._write(REASONS.map(reason => ({ reason, tasks: 0, told: '' })));
    }
  }

  /** @param told - asked for only if somebody may see it. */
  look(told: () => Told): void {
    const { clock } = this._cluster;
    const begun = clock();
    if (!this._isSeen || begun < this._nextLook) {
      return;
    }
    const counts = this._counts();
    const notices = told();
    this._write(
      REASONS.map(reason => {
        const tasks = counts[reason];
        const notice = tasks === 0 ? '' : (notices.get(reason) ?? '');
        return { reason, tasks, told: cutInTheMiddle(notice, MOST_CHARACTERS) };
      })
    );
    const done = clock();
    const takes = done - begun;
    // (one alone may have been interrupted)
    this._nextLook = done + REST * Math.min(takes, this._took);
    this._took = takes;
  }

  /** What the log does not say already. */
  private _write(rows: readonly Row[]): void {
    const changed = rows.filter(({ reason, tasks, told }) => {
      const logged = this._logged.get(reason);
      return tasks !== (logged?.tasks ?? 0) || told !== (logged?.told ?? '');
    });
    if (changed.length > 0) {
      changed.forEach(row => this._logged.set(row.reason, row));
      const { clock, log } = this._cluster;
      this._host.gather(() => log.waiting(clock(), changed));
    }
  }

  private _counts(): WaitingCounts {
    const { core, workers } = this._cluster;
    const heldUp = new Map<number, number>();
    for (const { id, isPaused, standing } of workers.values()) {
      const worker = core.workers.get(id);
      if (worker !== undefined && (isPaused || standing === 'stopped')) {
        heldUp.set(id, this._goingAt(worker));
      }
    }
    return core.waitingTasks(heldUp);
  }

  /** How many of a worker's tasks hold threads there, as far as it has told. */
  private _goingAt({ id }: WorkerRecord): number {
    const { core, workers } = this._cluster;
    let going = 0;
    for (const { task, run } of workers.get(id)!.running.values()) {
      going += Number(
        core.tasks.isRunOf(id, task, run) && !core.tasks.hasSeceded(task)
      );
    }
    return going;
  }
}
