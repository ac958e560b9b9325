import type { Trans } from '../base/trans';
import type { ClusterInfo } from '../wire/panel-link';

/**
 * Of a limit that stands for a whole cluster: each worker has its own, from its own share of the machine.
 *
 * @returns null for no limit, and for that of a single worker.
 */
export function limitSentence(
  limit: number,
  cluster: ClusterInfo | null,
  trans: Trans
): string | null {
  return isSumOfLimits(limit, cluster)
    ? trans.__(
        'The limit is the workers’ limits added up, which may be more memory than there is.'
      )
    : null;
}

/** Whether the limit is none of a single worker (with a filter it may be, though the cluster has several). */
export function isSumOfLimits(
  limit: number,
  cluster: ClusterInfo | null
): boolean {
  const isEnded = cluster?.state === 'ended';
  return (
    limit > 0 &&
    !cluster?.workers.some(
      ({ state, memoryLimit }) =>
        memoryLimit === limit && (isEnded || state !== 'gone')
    )
  );
}
