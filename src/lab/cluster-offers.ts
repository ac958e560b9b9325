/** The Dask clusters of notebooks, as panels without a cluster offer them. */
import type { IClusterOffers } from '../panels/panel-context';
import type { IDaskClusters } from './tokens';

export function offersOf({
  clusters,
  show
}: Pick<IDaskClusters, 'clusters' | 'show'>): IClusterOffers {
  return {
    changed: clusters.changed,
    of: ({ notebook }) => {
      const [offer] = clusters.offers(notebook);
      if (notebook === undefined || offer === undefined) {
        return null;
      }
      const { address } = offer;
      return {
        address,
        isUnderWay: clusters.isUnderWay(notebook, address),
        problem: clusters.problemOf(notebook, address),
        show: () => show(notebook, address)
      };
    }
  };
}
