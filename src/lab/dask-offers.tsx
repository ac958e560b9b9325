/** The Dask clusters of the notebook in front that Spanwise does not show yet: a line and a button each. */
import type { TranslationBundle } from '@jupyterlab/translation';
import { launchIcon } from '@jupyterlab/ui-components';
import * as React from 'react';
import { createElement } from '../charts/shown-element';
import { pathEnds } from '../base/path-ends';
import { ToolButton } from '../panels/toolbar';
import type { KernelClusters } from './kernel-clusters';
import type { KernelCluster } from './kernel-snippet';

type DaskOffersProps = {
  /** Path of the notebook in front; undefined: none is. */
  readonly notebook: string | undefined;
  readonly clusters: KernelClusters;
  readonly trans: TranslationBundle;
  onShow(notebook: string, address: string): void;
};

export function DaskOffers(props: DaskOffersProps): JSX.Element | null {
  const { notebook, clusters } = props;
  const offers = clusters.offers(notebook);
  return notebook === undefined || offers.length === 0 ? null : (
    <>
      {offers.map(offer => (
        <Offer
          key={offer.address}
          {...props}
          notebook={notebook}
          offer={offer}
        />
      ))}
    </>
  );
}

function Offer(
  props: DaskOffersProps & {
    readonly notebook: string;
    readonly offer: KernelCluster;
  }
): JSX.Element {
  const { notebook, clusters, offer, trans } = props;
  const { address, workers, threads } = offer;
  const isUnderWay = clusters.isUnderWay(notebook, address);
  const problem = clusters.problemOf(notebook, address);
  return (
    <div
      className="sw-cluster sw-dask-offer"
      role="group"
      aria-label={trans.__('Dask cluster %1', address)}
    >
      <div className="sw-cluster-line">
        <span className="sw-cluster-name" title={notebook}>
          {trans.__('Dask cluster of %1', pathEnds([notebook]).get(notebook)!)}
        </span>
        <span className="sw-cluster-spacer" />
        <ToolButton
          label={trans.__('Show Dask cluster %1', address)}
          text={trans.__('Show')}
          icon={launchIcon}
          busyText={isUnderWay ? trans.__('Attaching…') : undefined}
          disabledBecause={
            isUnderWay ? trans.__('it is being attached to') : undefined
          }
          onClick={() => props.onShow(notebook, address)}
        />
      </div>
      <div className="sw-cluster-figures">
        {trans.__(
          '%1, %2',
          trans._n('%1 worker', '%1 workers', workers),
          trans._n('%1 thread', '%1 threads', threads)
        )}
      </div>
      <div className="sw-cluster-kind" title={address}>
        {address}
      </div>
      {problem !== undefined && (
        <div className="sw-cluster-trouble" role="alert">
          <span>
            <strong>{trans.__('The cluster is not shown.')}</strong> {problem}
          </span>
        </div>
      )}
    </div>
  );
}
