/** Which workers begin no task, and why: for the cluster card, the strips above the panels and the Task Stream's lanes. */
import type { ClusterInfo } from '../wire/panel-link';

export type ClusterWorker = ClusterInfo['workers'][number];
/** paused: its memory is full. stopped: by a signal or a debugger. */
export type Standing = 'paused' | 'stopped';

type HeldUp = {
  readonly paused: readonly ClusterWorker[];
  readonly stopped: readonly ClusterWorker[];
  /** Workers that are there. */
  readonly present: number;
};

/** None where nothing is known: the cluster has ended, or its source is away. */
export function heldUp(cluster: ClusterInfo | null): HeldUp {
  if (cluster?.state !== 'starting' && cluster?.state !== 'running') {
    return { paused: [], stopped: [], present: 0 };
  }
  const present = cluster.workers.filter(({ state }) => state !== 'gone');
  const having = (wanted: Standing) =>
    present.filter(worker => standingOf(worker) === wanted);
  return {
    paused: having('paused'),
    stopped: having('stopped'),
    present: present.length
  };
}

/** By worker; those that begin tasks are left out. */
export function standings(
  cluster: ClusterInfo | null
): ReadonlyMap<number, Standing> {
  const { paused, stopped } = heldUp(cluster);
  return new Map([
    ...paused.map(({ worker }) => [worker, 'paused'] as const),
    ...stopped.map(({ worker }) => [worker, 'stopped'] as const)
  ]);
}

/** Decided by the worker's state alone. A paused worker may have no reason: rows of `events` are dropped first. */
function standingOf({ state }: ClusterWorker): Standing | null {
  return state === 'paused' || state === 'stopped' ? state : null;
}
