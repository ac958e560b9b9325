/**
 * Tells the log how many tasks wait, for what, and which notice users have for it: panels show both. In the scheduler process.
 *
 * Looked at once a second, and only while somebody may see it; of what has changed a row is written.
 */
import { WaitReason } from '../../records/enumerations';
import { type WaitingCounts, type WorkerRecord } from '../../scheduler';
import { cutInTheMiddle } from '../../sources/cut-text';
import type { ClusterState } from './cluster-state';

/** Of a notice: the key in it may be long. */
const MOST_CHARACTERS = 2000;
const REASONS = Object.values(WaitReason).filter(
  reason => typeof reason === 'number'
);

/** Notices that are still true, by what the tasks wait for of which they tell. */
export type Told = ReadonlyMap<WaitReason, string>;

interface IWaitingHost {
  /** Does something in this turn. */
  gather(act: () => void): void;
}

/** A row that says that none waits. */
const NONE_WAITS = '0 ';

export class WaitingTasks {
  private _isSeen = true;
  private _hasRows = false;
  /** By reason, what the log says. */
  private readonly _logged = new Map<WaitReason, string>();

  constructor(
    private readonly _cluster: ClusterState,
    private readonly _host: IWaitingHost
  ) {}

  /** Whether somebody may see it. Who comes may have lost what was written before: all is written anew. */
  viewed(isSeen: boolean): void {
    this._isSeen = isSeen;
    this._logged.clear();
  }

  /** @param told - asked for only if somebody may see it. */
  look(told: () => Told): void {
    if (!this._isSeen) {
      return;
    }
    const counts = this._counts();
    const notices = told();
    const rows = REASONS.flatMap(reason => {
      const tasks = counts[reason];
      const notice = tasks === 0 ? '' : (notices.get(reason) ?? '');
      const row = {
        reason,
        tasks,
        told: cutInTheMiddle(notice, MOST_CHARACTERS)
      };
      const text = `${tasks} ${row.told}`;
      // (a log in which nothing has waited has no rows)
      const logged =
        this._logged.get(reason) ?? (this._hasRows ? '' : NONE_WAITS);
      this._logged.set(reason, text);
      return text === logged ? [] : [row];
    });
    if (rows.length > 0) {
      this._hasRows = true;
      const { clock, log } = this._cluster;
      this._host.gather(() => log.waiting(clock(), rows));
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
