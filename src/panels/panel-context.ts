/**
 * What a panel is given, and how a panel describes itself to the sidebar, palette, launcher and layout restorer.
 */
import type { ITranslator } from '@jupyterlab/translation';
import type { LabIcon } from '@jupyterlab/ui-components';
import type { JSONObject } from '@lumino/coreutils';
import type { ISignal } from '@lumino/signaling';
import type { Trans } from '../base/trans';
import type { Palette } from '../charts/theme';
import type { ClusterRef, ClusterTarget } from '../feed/cluster-ref';
import type { IFeed } from '../feed/feed-types';
import type { SelectionModel } from '../feed/selection';
import type { ClusterInfo } from '../wire/panel-link';
import type { TimeViews } from './time-views';

/** The present colours. Canvases redraw on `changed`; HTML uses the custom properties and need not. */
export interface ITheme {
  readonly palette: Palette;
  readonly changed: ISignal<ITheme, Palette>;
}

/**
 * For how long a panel stays with a cluster. follows: until its notebook has another; pinned: until it is told otherwise, also with the
 * next run of the same name; run: with this one alone.
 */
export type Stay = 'follows' | 'pinned' | 'run';

/** A Dask cluster that a notebook's kernel is connected to, and that is not shown yet. */
export type ClusterOffer = {
  readonly address: string;
  /** It is being attached to. */
  readonly isUnderWay: boolean;
  /** Why the last attempt failed. */
  readonly problem: string | undefined;
  /** Attaches to it, and shows it in the panels. */
  show(): void;
};

export interface IClusterOffers {
  readonly changed: ISignal<unknown, void>;
  /** What the notebook of a target has to offer. */
  of(target: ClusterTarget): ClusterOffer | null;
}

/** `cluster` and `selection` are shared by all panels of one notebook or cluster name; the panel does not dispose them. */
export type PanelContext = {
  readonly feed: IFeed;
  readonly cluster: ClusterRef;
  readonly selection: SelectionModel;
  readonly theme: ITheme;
  readonly translator: ITranslator;
  /** Left out where there are no notebooks. */
  readonly offers?: IClusterOffers | undefined;
  /** One for all panels of a page. Left out where panels stand alone. */
  readonly timeViews?: TimeViews | undefined;
  /** What a panel of this cluster is given for a while; of the same notebook, if that uses the cluster too. */
  of(cluster: ClusterInfo, stay: Stay): PanelContext;
  /** Turns the open panels to a cluster, as choosing it in the sidebar does. Left out where panels stand alone. */
  turnPanels?: ((cluster: ClusterInfo) => void) | undefined;
  /** Who was given it needs it no more; once for each time that it was given. */
  release(): void;
};

export type PanelOptions = {
  /** Given for a while: the panel releases it. */
  readonly context: PanelContext;
  /** What `savedState()` returned before a reload; may come from another version. */
  readonly state?: JSONObject;
};

export type PanelName =
  | 'task-stream'
  | 'fine-metrics'
  | 'profile'
  | 'memory'
  | 'bandwidth'
  | 'system'
  | 'progress'
  | 'compare';

/** One line of the gallery. `title` is also the panel's accessible name and the start of its tab's title. */
export type PanelFace = {
  readonly name: PanelName;
  title(trans: Trans): string;
  /** The question it answers, shown under the title. */
  question(trans: Trans): string;
  readonly icon: LabIcon;
};
