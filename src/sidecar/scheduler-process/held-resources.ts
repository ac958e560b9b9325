/**
 * Resources that tasks hold which nobody waits for any more. In the scheduler process.
 *
 * Once tasks wait for resources of which such tasks leave no worker enough, whoever else ends, and have waited so for 10 s, a notice says so,
 * once as long as that lasts.
 */
import { formatExactCount } from '../../panels/format';
import type { DenseTaskId } from '../../records/ids';
import type { WorkerRecord } from '../../scheduler';
import type { ClusterState } from './cluster-state';
import {
  byWhom,
  type FormerTasks,
  formerTasks,
  functionsOf,
  hasAnswered,
  MOST_NAMED,
  PATIENCE_SECONDS
} from './former-tasks';
import { HeldSpell } from './held-spell';
import { listed } from './listed';

/**
 * The tasks that hold resources of these workers though nobody waits for them.
 *
 * @param namesAt - which resources of a worker.
 */
export function onResources(
  cluster: ClusterState,
  workers: readonly WorkerRecord[],
  namesAt: (worker: WorkerRecord) => readonly string[]
): FormerTasks {
  return formerTasks(cluster, workers, worker =>
    cluster.core.keptAt(worker, namesAt(worker))
  );
}

/**
 * A sentence on who holds resources, and on how to have those back that nobody waits for; empty: nobody does.
 *
 * @param others - tasks that somebody waits for.
 */
export function theResources(
  names: readonly string[],
  former: FormerTasks,
  others: ReadonlyMap<string, number>
): string {
  const by = byWhom(former, others, '');
  return by === ''
    ? ''
    : `${listed(names, MOST_NAMED)} ${names.length === 1 ? 'is' : 'are'} held by ${by}`;
}

/** The resources that are short of all those with too little of some; or, if that is another one with each, all those. */
export function shortOf(lacking: readonly (readonly string[])[]): string[] {
  const all = [...new Set(lacking.flat())];
  const everywhere = all.filter(name =>
    lacking.every(names => names.includes(name))
  );
  return everywhere.length > 0 ? everywhere : all;
}

/** Tasks that wait for the same resources. */
type Waiting = {
  readonly names: readonly string[];
  count: number;
  readonly workers: Set<WorkerRecord>;
};

export class HeldResources {
  /** By the names of the resources. */
  private readonly _known = new Map<string, HeldSpell>();

  constructor(
    private readonly _cluster: ClusterState,
    private readonly _host: { warn(sentence: string): void }
  ) {}

  /** @param areThreadsHeld - by such tasks, all of them: that is told instead. */
  look(now: number, areThreadsHeld: boolean): void {
    const waiting = areThreadsHeld
      ? new Map<string, Waiting>()
      : this._waiting();
    for (const key of this._known.keys()) {
      if (!waiting.has(key)) {
        this._known.delete(key);
      }
    }
    for (const [key, tasks] of waiting) {
      const newest = this._newest(tasks);
      const spell = this._known.get(key) ?? new HeldSpell(now, newest);
      this._known.set(key, spell);
      if (spell.look(now, newest)) {
        this._host.warn(this._sentence(tasks));
      }
    }
  }

  /** The notices that were told, while they are true. */
  get told(): string[] {
    return this._told().map(waiting => this._sentence(waiting));
  }

  /** Those of them that are of resources which these tasks need. */
  standing(tasks: readonly DenseTaskId[]): string[] {
    const { core } = this._cluster;
    return this._told()
      .filter(({ names }) =>
        tasks.some(task => {
          const need = core.resourcesOf(task);
          return need !== null && names.some(name => name in need);
        })
      )
      .map(waiting => this._sentence(waiting));
  }

  private _told(): Waiting[] {
    return [...this._known.values()].some(({ isTold }) => isTold)
      ? [...this._waiting()].flatMap(([key, waiting]) =>
          this._known.get(key)?.isTold === true ? [waiting] : []
        )
      : [];
  }

  private _newest({ names, workers }: Waiting): number {
    return Math.max(
      ...[...workers].flatMap(worker =>
        this._cluster.core.keptAt(worker, names).map(({ since }) => since)
      )
    );
  }

  /** Tasks that cannot begin until such tasks end, by the names of the resources. */
  private _waiting(): Map<string, Waiting> {
    const found = new Map<string, Waiting>();
    const { core } = this._cluster;
    if (!core.workers.all.some(({ resources }) => resources.hasKept)) {
      return found;
    }
    for (const { task, count } of core.waitingForResources()) {
      const able = core.eligibleFor(task).filter(({ retiring }) => !retiring);
      const barred = able.map(worker => core.barredAt(worker, task));
      if (
        able.length > 0 &&
        able.every((worker, i) => this._isHeld(worker, barred[i]!))
      ) {
        const names = shortOf(barred);
        const key = JSON.stringify(names);
        const same = found.get(key) ?? { names, count: 0, workers: new Set() };
        found.set(key, same);
        same.count += count;
        able.forEach(worker => same.workers.add(worker));
      }
    }
    return found;
  }

  /** Whether runs hold some of these resources of which the worker has had time to say that it had not begun them. */
  private _isHeld(worker: WorkerRecord, names: readonly string[]): boolean {
    const { core, workers } = this._cluster;
    return (
      names.length > 0 &&
      workers.get(worker.id)?.standing === 'well' &&
      core
        .keptAt(worker, names)
        .every(({ since }) => hasAnswered(this._cluster, worker, since))
    );
  }

  private _sentence({ names, count, workers }: Waiting): string {
    const able = [...workers];
    const holders = able.flatMap(worker =>
      this._cluster.core.holdersAt(worker, names)
    );
    return (
      `${formatExactCount(count)} ${count === 1 ? 'task waits' : 'tasks wait'} for ${listed(names, MOST_NAMED)}, ` +
      `and for ${PATIENCE_SECONDS} s too little has come free. ` +
      theResources(
        names,
        onResources(this._cluster, able, () => names),
        functionsOf(this._cluster, holders as DenseTaskId[])
      )
    );
  }
}
