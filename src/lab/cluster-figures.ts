/** Figures of a cluster that are shown in several places. */
import type { Trans } from '../base/trans';
import { processesText } from '../panels/format';
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

/** Workers there are, or were: an ended cluster has none any more. */
export function workersOf(cluster: ClusterInfo): number {
  return cluster.workers.filter(
    ({ state }) => cluster.state === 'ended' || state !== 'gone'
  ).length;
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
