/** The Spanwise tab: the cluster, its spans, the panels. */
import type { TranslationBundle } from '@jupyterlab/translation';
import { launchIcon, ReactWidget } from '@jupyterlab/ui-components';
import type { Message } from '@lumino/messaging';
import { type ISignal, Signal } from '@lumino/signaling';
import type { Widget } from '@lumino/widgets';
import * as React from 'react';
import { createElement } from '../charts/shown-element';
import { linkState } from '../panels/panel-states';
import { taskStreamIcon } from '../panels/icons';
import type { PanelName } from '../panels/panel-context';
import type { PanelDescription } from '../panels/panel';
import { StateView } from '../panels/state-view';
import { ToolButton } from '../panels/toolbar';
import type { ClusterInfo } from '../wire/panel-link';
import type { ClusterActions } from './cluster-actions';
import { ClusterCard, type Pin } from './cluster-card';
import { DaskOffers } from './dask-offers';
import { SIDEBAR_ID } from './default-layout';
import { Gallery } from './gallery';
import type { PanelOpener, PanelPlace } from './panel-opener';
import { Section } from './section';
import type { SidebarModel } from './sidebar-model';
import { SpansSection } from './spans-section';
import type { IDaskClusters } from './tokens';

export class Sidebar extends ReactWidget {
  private readonly _shown = new Signal<this, void>(this);

  constructor(private readonly _options: Sidebar.IOptions) {
    super();
    const { model, trans } = _options;
    this.id = SIDEBAR_ID;
    this.addClass('sw-sidebar');
    this.title.icon = taskStreamIcon;
    this.title.caption = trans.__('Spanwise');
    this.node.setAttribute('aria-label', trans.__('Spanwise'));
    model.changed.connect(this._redraw, this);
    _options.actions.changed.connect(this._redraw, this);
    _options.dask?.clusters.changed.connect(this._redraw, this);
  }

  override dispose(): void {
    if (this.isDisposed) {
      return;
    }
    this._options.model.changed.disconnect(this._redraw, this);
    this._options.actions.changed.disconnect(this._redraw, this);
    this._options.dask?.clusters.changed.disconnect(this._redraw, this);
    Signal.clearData(this);
    super.dispose();
  }

  /** The tab came to the front. */
  get shown(): ISignal<this, void> {
    return this._shown;
  }

  protected override onAfterAttach(msg: Message): void {
    super.onAfterAttach(msg);
    this._options.model.setVisible(this.isVisible);
  }

  protected override onAfterShow(msg: Message): void {
    super.onAfterShow(msg);
    this._options.model.setVisible(true);
    this._shown.emit();
    this.update();
  }

  protected override onAfterHide(msg: Message): void {
    super.onAfterHide(msg);
    this._options.model.setVisible(false);
  }

  protected override onBeforeDetach(msg: Message): void {
    this._options.model.setVisible(false);
    super.onBeforeDetach(msg);
  }

  render(): JSX.Element {
    const { model, opener, panels, dask, trans } = this._options;
    const { feed } = model;
    const problem = linkState(feed.status, trans, {
      reload: () => window.location.reload(),
      tryAgain: () => feed.reconnect()
    });
    // Where Dask's cluster is to be had, nobody need be told that there is none.
    const hasOffer =
      dask !== null && dask.clusters.offers(model.notebookInFront).length > 0;
    const open = new Set<PanelName>(
      panels
        .filter(({ name }) => opener.find(name, model.target) !== undefined)
        .map(({ name }) => name)
    );
    return (
      <>
        <Section name={trans.__('Cluster')}>
          {problem !== null ? (
            <StateView state={problem} />
          ) : model.cluster === null && hasOffer ? null : (
            <ClusterCard
              cluster={model.cluster}
              users={model.users}
              usersOf={cluster => model.usersOf(cluster)}
              actions={this._options.actions}
              clusters={feed.clusters}
              status={feed.status}
              trans={trans}
              address={dask?.clusters.addressOf(model.cluster?.cluster)}
              pin={this._pinOf(model.cluster)}
              notOf={model.notOf}
              beside={model.beside}
              inPanels={
                model.cluster === null
                  ? undefined
                  : opener.insteadOf(model.cluster)
              }
              onChoose={cluster => this._options.choose(cluster)}
              onAttach={dask?.attach ?? null}
            />
          )}
          {dask !== null && (
            <DaskOffers
              notebook={model.notebookInFront}
              clusters={dask.clusters}
              trans={trans}
              onShow={dask.show}
            />
          )}
        </Section>
        <SpansSection model={model} trans={trans} />
        <Section
          name={trans.__('Panels')}
          action={
            <ToolButton
              label={trans.__('Default layout')}
              icon={launchIcon}
              text={trans.__('Default layout')}
              onClick={() => this._options.openLayout()}
            />
          }
        >
          <Gallery
            panels={panels}
            open={open}
            trans={trans}
            onOpen={(name, place) => this._options.openPanel(name, place)}
            dragOf={panel => ({
              panel,
              trans,
              create: () => opener.forDrop(panel.name, model.target),
              docked: () => this._options.docked()
            })}
          />
        </Section>
      </>
    );
  }

  /** Whether the panels of the cluster are pinned to it. */
  private _pinOf(cluster: ClusterInfo | null): Pin | null {
    const { opener } = this._options;
    const panels = cluster === null ? [] : opener.showing(cluster);
    const isPinned = panels.length > 0 && panels.every(panel => panel.isPinned);
    return cluster === null
      ? null
      : {
          isPinned,
          panels: panels.length,
          toggle: () => {
            opener.setPinned(cluster, !isPinned);
            this.update();
          }
        };
  }

  private _redraw(): void {
    this.update();
  }
}

export namespace Sidebar {
  export interface IOptions {
    readonly model: SidebarModel;
    readonly opener: PanelOpener;
    readonly panels: readonly PanelDescription[];
    readonly actions: ClusterActions;
    /** The Dask clusters of notebooks; null if there are no notebooks. */
    readonly dask: IDaskClusters | null;
    readonly trans: TranslationBundle;
    /** Shows a cluster here, and in the open panels. */
    readonly choose: (cluster: ClusterInfo) => void;
    readonly openPanel: (name: PanelName, place?: PanelPlace) => void;
    readonly openLayout: () => void;
    /** The widgets of the main area. */
    readonly docked: () => Iterable<Widget>;
  }
}
