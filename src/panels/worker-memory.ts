/** What the processes of workers hold: for the heads of the Task Stream's lanes. */
import type { ClusterInfo } from '../wire/panel-link';

/**
 * Bytes by worker, from the list of clusters. It is sent on whenever memory is measured, as cluster card and status bar show it; answers of
 * views that look at no memory stay as they are while nothing runs.
 */
export function processBytes(
  cluster: ClusterInfo | null
): ReadonlyMap<number, number> {
  return new Map(
    (cluster?.workers ?? []).map(({ worker, process }) => [worker, process])
  );
}
