/** Figures of a cluster that are shown in several places. */
import type { Trans } from '../base/trans';
import { formatCount } from '../panels/format';
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

/**
 * How many workers there are, and the number in that. Of an observation the first is the program that hands out the tasks, and runs those
 * that no pool of processes does: it is none of the processes that its user has asked for.
 */
export function workersText(
  cluster: ClusterInfo,
  trans: Trans
): { readonly text: string; readonly figure: string } {
  const workers = workersOf(cluster);
  const processes = Math.max(0, workers - 1);
  const isLocal = cluster.kind === 'local';
  const figure = formatCount(isLocal ? processes : workers);
  if (!isLocal) {
    const text = trans._n('%2\u00a0worker', '%2\u00a0workers', workers, figure);
    return { text, figure };
  }
  return processes === 0
    ? { text: trans.__('main program'), figure: '' }
    : {
        text: trans._n(
          '%2\u00a0process and the main program',
          '%2\u00a0processes and the main program',
          processes,
          figure
        ),
        figure
      };
}
