/** What a page that compares runs is told of each. In the observer process. */
import { sharedNames } from '../../observer/store/name-sketch';
import type { ClusterInfo } from '../../wire/panel-link';
import type { Clusters } from './clusters';

/** @param compared - the clusters of which the page asks it. */
export function withSharedFunctions(
  infos: readonly ClusterInfo[],
  compared: ReadonlySet<string>,
  clusters: Clusters
): readonly ClusterInfo[] {
  return compared.size === 0
    ? infos
    : infos.map(info => {
        const sharedFunctions = [...compared].flatMap(cluster => {
          const count = countShared(clusters, info.cluster, cluster);
          return count === null ? [] : [{ cluster, count }];
        });
        return sharedFunctions.length > 0 ? { ...info, sharedFunctions } : info;
      });
}

function countShared(clusters: Clusters, a: string, b: string): number | null {
  const [ofA, ofB] = [a, b].map(cluster => clusters.functionsOf(cluster));
  return a === b || ofA === undefined || ofB === undefined
    ? null
    : sharedNames(ofA, ofB);
}
