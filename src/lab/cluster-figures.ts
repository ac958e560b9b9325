/** Figures of a cluster that are shown in several places. */
import { pathEnds } from '../base/path-ends';
import type { Trans } from '../base/trans';
import { processesText } from '../panels/format';
import { stayedWorkers } from '../records/stayed-workers';
import type { ClusterInfo } from '../wire/panel-link';

/** Bytes that the processes of the workers there are hold, and their limits together; 0 = no limit. */
export function memoryOf(cluster: ClusterInfo): {
  readonly used: number;
  readonly limit: number;
  readonly workers: number;
  /** The limit of each; 0 = they have not the same. */
  readonly ofEach: number;
} {
  const present = cluster.workers.filter(({ state }) => state !== 'gone');
  return {
    used: present.reduce((sum, { process }) => sum + process, 0),
    limit: present.reduce((sum, { memoryLimit }) => sum + memoryLimit, 0),
    workers: present.length,
    ofEach: present.every(
      ({ memoryLimit }) => memoryLimit === present[0]?.memoryLimit
    )
      ? (present[0]?.memoryLimit ?? 0)
      : 0
  };
}

/** Workers there are; of a cluster that has ended those that were there to its end, of an observation all. */
function countedWorkers(cluster: ClusterInfo): ClusterInfo['workers'] {
  if (cluster.state !== 'ended') {
    return cluster.workers.filter(({ state }) => state !== 'gone');
  }
  return cluster.kind === 'local'
    ? cluster.workers
    : stayedWorkers(cluster.workers);
}

export function workersOf(cluster: ClusterInfo): number {
  return countedWorkers(cluster).length;
}

/** Of the workers that are counted; while it is there, what the cluster says. */
export function threadsOf(cluster: ClusterInfo): number {
  return cluster.state === 'ended'
    ? countedWorkers(cluster).reduce((sum, { threads }) => sum + threads, 0)
    : cluster.threads;
}

/** How many workers there are, in words, and the number in that. */
export function workersText(
  cluster: ClusterInfo,
  trans: Trans
): ReturnType<typeof processesText> {
  return processesText(
    workersOf(cluster),
    cluster.kind === 'local' ? 'observation' : 'cluster',
    trans
  );
}

/** Whose a cluster is not, of a notebook that one works in, and whose it is; by the ends of their paths. */
export function notOfSentence(
  notebook: string,
  owner: string | undefined,
  trans: Trans
): string {
  const ends = pathEnds(owner === undefined ? [notebook] : [notebook, owner]);
  return owner === undefined
    ? trans.__('%1 does not use this cluster.', ends.get(notebook)!)
    : trans.__(
        '%1 does not use this cluster, which is that of %2.',
        ends.get(notebook)!,
        ends.get(owner)!
      );
}
