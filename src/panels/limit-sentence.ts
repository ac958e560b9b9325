import type { Trans } from '../base/trans';
import type { ClusterInfo } from '../wire/panel-link';

/**
 * Of a limit that stands for a whole cluster: each worker has its own, from its own share of the machine.
 *
 * @param chosen - the workers that a filter chooses; empty: all.
 * @returns null for no limit, and for that of a single worker.
 */
export function limitSentence(
  limit: number,
  cluster: ClusterInfo | null,
  chosen: readonly number[],
  trans: Trans
): string | null {
  return isSumOfLimits(limit, cluster, chosen)
    ? trans.__(
        'The limit is the workers’ limits added up, which may be more memory than there is.'
      )
    : null;
}

/** Whether several workers have a part in the limit. */
export function isSumOfLimits(
  limit: number,
  cluster: ClusterInfo | null,
  chosen: readonly number[]
): boolean {
  const limited = (cluster?.workers ?? []).filter(
    ({ worker, memoryLimit }) =>
      memoryLimit > 0 && (chosen.length === 0 || chosen.includes(worker))
  );
  if (limit === 0) {
    return false;
  }
  const present = limited.filter(({ state }) => state !== 'gone');
  if (
    cluster?.state === 'ended' ||
    (present.length === 0 && limited.length > 0)
  ) {
    // All of them are gone. Nothing says which of them left before the others, and so have no part in the limit.
    return (
      limited.length !== 1 &&
      !limited.some(({ memoryLimit }) => memoryLimit === limit)
    );
  }
  return present.length !== 1;
}
