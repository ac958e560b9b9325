/** The services that the plugins provide to each other. */
import { Token } from '@lumino/coreutils';
import type { ISignal } from '@lumino/signaling';
import type { IFeed } from '../feed/feed-types';
import type { ITheme } from '../panels/panel-context';
import type { ClusterInfo } from '../wire/panel-link';
import type { ContextPool } from './context-pool';
import type { KernelClusters } from './kernel-clusters';
import type { NotebookKernels } from './notebook-kernels';
import type { PanelOpener } from './panel-opener';

export const IFeedToken = new Token<IFeed>(
  '@spanwise/lab:IFeed',
  'The link of the page to the observer, and the clusters it tells of.'
);

export const IThemeToken = new Token<ITheme>(
  '@spanwise/lab:ITheme',
  'The colours that fit the theme of the page.'
);

/** Opens panels, knows the open ones, and holds the cluster and selection that a notebook's panels share. */
export interface IPanels {
  readonly contexts: ContextPool;
  readonly opener: PanelOpener;
  readonly kernels: NotebookKernels;
}

export const IPanelsToken = new Token<IPanels>(
  '@spanwise/lab:IPanels',
  'Opens panels and lays them out.'
);

/** The cluster of the notebook or panel one works in, or the one chosen in the sidebar. */
export interface IClusterInFront {
  /** Null: there is none. */
  readonly cluster: ClusterInfo | null;
  /** The same; in place of one that has ended what runs: of the same notebook, if something does, else the newest. Null: nothing runs. */
  readonly running: ClusterInfo | null;
  /** The notebook that one works in, if the cluster is not of it; undefined also where there is none. */
  readonly notOf: string | undefined;
  /** The notebook that started the cluster; undefined: none did. */
  readonly ownedBy: string | undefined;
  /** Another cluster, or its figures. */
  readonly changed: ISignal<unknown, unknown>;
}

export const IClusterInFrontToken = new Token<IClusterInFront>(
  '@spanwise/lab:IClusterInFront',
  'The cluster that the sidebar shows.'
);

/** The Dask clusters that kernels of notebooks are connected to. */
export interface IDaskClusters {
  readonly clusters: KernelClusters;
  /** Attaches to a cluster of the notebook and opens the panels; `clusters` says what came of it. */
  show(notebook: string, address: string): void;
  /** Asks for the address of a cluster, attaches to it and opens the panels; a notification says what did not work. */
  attach(): void;
  /** The id of a cluster that was attached to since the user asked for it, once the panels show it. */
  readonly shown: ISignal<object, string>;
}

export const IDaskClustersToken = new Token<IDaskClusters>(
  '@spanwise/lab:IDaskClusters',
  'The Dask clusters of open notebooks.'
);
