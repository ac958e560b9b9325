/**
 * Tells the user of tasks that wait for workers which are not there. In the scheduler process.
 *
 * ```
 *   no worker takes tasks, and none comes ──────────► 3 s: a notice that says how to start some
 *   workers= names none that takes tasks ───────────► 3 s: a notice that such a worker must join
 *   none that takes tasks has the resources ────────► 3 s: a notice that such a worker must join
 *   no worker takes tasks, though some are started ─► 60 s: a notice that none has come
 * ```
 *
 * Each is told once, and again after it was over or another of them was the case. They may wait for ever: workers may come at any time.
 */
import { formatExactCount } from '../../panels/format';
import { WaitReason } from '../../records/enumerations';
import type { DenseTaskId } from '../../records/ids';
import { TaskState } from '../../scheduler';
import type { ClusterState } from './cluster-state';
import { workerCommand } from './worker-command';
import type { IWorkerFleet } from './worker-fleet';

/** So long after it began to wait, a notebook's cell asks why, and panels show it. (While a worker is being started nothing is told.) */
const NO_WORKER_SECONDS = 3;
/** After so long a worker that has not come is ended, and another is started. */
const NONE_CAME_SECONDS = 60;
/** What else can be done: a cell that waits for the result lets nothing be called. */
const CANCEL =
  'cancel what waits (while a cell waits for it, interrupt the kernel first)';

/** In a notebook. */
const START_ONE = 'client.scale(1)';

type Why = 'deserted' | 'bound' | 'none came';

interface IUnplacedHost {
  readonly fleet: IWorkerFleet | null;
  /** A notice for the user. */
  warn(sentence: string): void;
}

export class UnplacedTasks {
  private _why: Why | null = null;
  private _since = 0;
  private _isTold = false;
  private _stepsAhead = 0;

  constructor(
    private readonly _cluster: ClusterState,
    private readonly _host: IUnplacedHost
  ) {}

  look(now: number): void {
    const why = this._whyNow();
    // Workers may have come, run what waited and gone between two looks: without a worker nothing is finished.
    const { stepsAhead, isDeserted } = this._cluster.core;
    const wasOver = isDeserted && stepsAhead !== this._stepsAhead;
    this._stepsAhead = stepsAhead;
    if (why !== this._why || wasOver) {
      this._why = why;
      this._since = now;
      this._isTold = false;
    }
    const patience =
      why === 'none came' ? NONE_CAME_SECONDS : NO_WORKER_SECONDS;
    if (why !== null && !this._isTold && now - this._since >= patience) {
      this._isTold = true;
      this._host.warn(this._sentence(why));
    }
  }

  /** The notice that was told, while it is true, the command in it, if any, and for what the task waits that it names; null: there is none. */
  get told(): {
    readonly reason: WaitReason;
    readonly notice: string;
    readonly command: string;
  } | null {
    const why = this._isTold ? this._whyNow() : null;
    return why !== null && why === this._why
      ? {
          reason: this._reason(why),
          notice: this._sentence(why),
          command: this._command(why)
        }
      : null;
  }

  /** The same, while it is true of some of these tasks; empty: there is none. */
  standing(tasks: readonly DenseTaskId[]): string {
    const { state } = this._cluster.core.tasks;
    const { told } = this;
    return told !== null &&
      tasks.some(task => state[task] === TaskState.NoWorker)
      ? told.notice
      : '';
  }

  private _reason(why: Why): WaitReason {
    const { core } = this._cluster;
    return why !== 'bound'
      ? WaitReason.NoWorker
      : core.resourcesOf(core.anUnplaced()) === null
        ? WaitReason.NoNamed
        : WaitReason.NoResource;
  }

  /** '': there is none. */
  private _command(why: Why): string {
    return why === 'deserted'
      ? START_ONE
      : why === 'bound'
        ? (workerCommand(this._cluster, this._cluster.core.anUnplaced()) ?? '')
        : '';
  }

  private _whyNow(): Why | null {
    const { core, workers } = this._cluster;
    if (core.unplacedCount === 0) {
      return null;
    }
    const preparing = [...workers.values()].some(
      ({ isReady, leaving }) => !isReady && leaving === null
    );
    if (preparing) {
      return null; // `plugins.ts` tells of those that take long
    }
    const isStarting = (this._host.fleet?.startingCount ?? 0) > 0;
    if (!core.isDeserted || core.areUnplacedInVain) {
      return isStarting ? null : 'bound';
    }
    return isStarting ? 'none came' : 'deserted';
  }

  private _sentence(why: Why): string {
    const { core } = this._cluster;
    const count = core.unplacedCount;
    const first = this._cluster.keyOf(core.anUnplaced());
    const [which, they] =
      count === 1
        ? [`The task ${first} waits`, 'It runs']
        : [
            `${formatExactCount(count)} tasks, ${first} among them, wait`,
            'They run'
          ];
    switch (why) {
      case 'deserted':
        return (
          `${which}, and the cluster has no worker that takes tasks. ` +
          `${they} when one comes: ${START_ONE}, or more, starts some. Else ${CANCEL}.`
        );
      case 'bound': {
        const need = core.resourcesOf(core.anUnplaced());
        const command = this._command(why);
        const starts =
          command === '' ? '' : ` (in a terminal, \`${command}\` starts one)`;
        if (need !== null) {
          const amounts = Object.entries(need).map(
            ([name, amount]) => `${name}=${amount}`
          );
          return (
            `${which} for a worker that is not there: the cluster has none that has ${amounts.join(', ')} and takes tasks` +
            `${core.isBound(core.anUnplaced()) ? ', and that workers= names' : ''}. ` +
            `${they} when such a worker joins${starts}; otherwise ${CANCEL} and submit it again.`
          );
        }
        return (
          `${which} for a worker that is not there: the cluster has none that workers= names and that takes tasks. ` +
          `${they} when such a worker joins${starts}; otherwise ${CANCEL} and submit it again.`
        );
      }
      case 'none came':
        return (
          `${which}, and none of the workers that are being started has come for ${NONE_CAME_SECONDS} s. ` +
          'The cluster keeps starting others. If the machine is not just busy, read what they print: ' +
          'client.get_scheduler_logs().'
        );
    }
  }
}
