import type { ClusterInfo } from '../wire/panel-link';

/** Whether a Node program computes: of the sources without a cluster, those of Python have samples. */
export function isNodeProgram(cluster: ClusterInfo | null): boolean {
  return cluster?.kind === 'local' && cluster.capabilities.samples === false;
}
