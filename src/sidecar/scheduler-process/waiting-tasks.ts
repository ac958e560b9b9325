/**
 * Tells the log how many tasks wait, for what, and which notice users have for it: panels show both. In the scheduler process.
 *
 * Looked at once a second, or less often where that takes long, and only while somebody may see it; of what has changed a row is written. How
 * far tasks are is counted with it, so that both together take no more of the process's time.
 */
import { WaitReason } from '../../records/enumerations';
import { MOST_NEEDS, type Need, type WorkerRecord } from '../../scheduler';
import { cutInTheMiddle } from '../../sources/cut-text';
import type { ClusterState } from './cluster-state';
import { beginsNothing } from './held-up';
import type { ToldProgress } from './told-progress';

/** Of a notice: the key in it may be long. */
const MOST_CHARACTERS = 2000;
/** Of what tasks need, whose names are the users'. */
const MOST_NEED_CHARACTERS = 300;
/** A look takes 0.7 s with a thousand workers and ten thousand tasks that each need other resources: the next one comes after so many times that. */
const REST = 50;
const REASONS = Object.values(WaitReason).filter(
  reason => typeof reason === 'number'
);

/** Notices that are still true, by what the tasks wait for of which they tell. */
export type Told = ReadonlyMap<WaitReason, Notice>;
/** What users are told, and what does what it says, to be pasted. */
export type Notice = { readonly notice: string; readonly command?: string };

interface IWaitingHost {
  /** Does something in this turn. */
  gather(act: () => void): void;
}

type Row = {
  readonly reason: WaitReason;
  readonly tasks: number;
  readonly told: string;
  /** What they need of which there is none, or none free: "GPU=1, MEM=2; TPU=1". */
  readonly need: string;
  /** What does what the notice says, to be pasted. */
  readonly command: string;
};

function nothing(reason: WaitReason): Row {
  return { reason, tasks: 0, told: '', need: '', command: '' };
}

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
    private readonly _host: IWaitingHost,
    private readonly _progress: Pick<ToldProgress, 'look' | 'unseen'>
  ) {}

  /**
   * Whether somebody may see it. What nobody looks at changes untold: the log then says that none waits, so that who comes is not shown what
   * was so when the last one left.
   */
  viewed(isSeen: boolean): void {
    this._isSeen = isSeen;
    this._nextLook = -Infinity;
    if (!isSeen) {
      this._write(REASONS.map(nothing));
      this._progress.unseen();
    }
  }

  /** @param told - asked for only if somebody may see it. */
  look(told: () => Told): void {
    const { clock } = this._cluster;
    const begun = clock();
    if (!this._isSeen || begun < this._nextLook) {
      return;
    }
    const { counts, needs } = this._counts();
    const notices = told();
    this._write(
      REASONS.map(reason => {
        const tasks = counts[reason];
        if (tasks === 0) {
          return nothing(reason);
        }
        const { notice = '', command = '' } = notices.get(reason) ?? {};
        return {
          reason,
          tasks,
          told: cutInTheMiddle(notice, MOST_CHARACTERS),
          need: needText(needs.get(reason) ?? []),
          // (one that is cut does something else)
          command: command.length > MOST_CHARACTERS ? '' : command
        };
      })
    );
    this._progress.look();
    const done = clock();
    const takes = done - begun;
    // (one alone may have been interrupted)
    this._nextLook = done + REST * Math.min(takes, this._took);
    this._took = takes;
  }

  /** What the log does not say already. */
  private _write(rows: readonly Row[]): void {
    const changed = rows.filter(row => {
      const logged = this._logged.get(row.reason) ?? nothing(row.reason);
      return (
        row.tasks !== logged.tasks ||
        row.told !== logged.told ||
        row.need !== logged.need ||
        row.command !== logged.command
      );
    });
    if (changed.length > 0) {
      changed.forEach(row => this._logged.set(row.reason, row));
      const { clock, log } = this._cluster;
      this._host.gather(() => log.waiting(clock(), changed));
    }
  }

  private _counts(): ReturnType<ClusterState['core']['waitingTasks']> {
    const { core, workers } = this._cluster;
    const heldUp = new Map<number, number>();
    for (const session of workers.values()) {
      const worker = core.workers.get(session.id);
      if (worker !== undefined && beginsNothing(session)) {
        heldUp.set(session.id, this._goingAt(worker));
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

/** Of the last of so many that are found it is only said that there are more. */
function needText(needs: readonly Need[]): string {
  const texts = needs
    .slice(0, MOST_NEEDS - 1)
    .map(need =>
      need.map(({ name, amount }) => `${name}=${amount}`).join(', ')
    );
  const more = needs.length === MOST_NEEDS ? ['…'] : [];
  return cutInTheMiddle([...texts, ...more].join('; '), MOST_NEED_CHARACTERS);
}
