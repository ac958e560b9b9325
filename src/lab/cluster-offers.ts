/** The Dask clusters of notebooks, as panels without a cluster offer them. */
import type { IClusterOffers } from '../panels/panel-context';
import type { IDaskClusters } from './tokens';

export function offersOf({
  clusters,
  show
}: Pick<IDaskClusters, 'clusters' | 'show'>): IClusterOffers {
  /** What the user has asked for, and what came of it, before what else there is. */
  const interest = (notebook = '', address: string) =>
    clusters.isUnderWay(notebook, address)
      ? 2
      : Number(clusters.problemOf(notebook, address) !== undefined);
  return {
    changed: clusters.changed,
    of: ({ notebook }) => {
      const [offer] = clusters
        .offers(notebook)
        .toSorted(
          (a, b) =>
            interest(notebook, b.address) - interest(notebook, a.address)
        );
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
