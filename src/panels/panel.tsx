/**
 * What all panels have in common: title, toolbar, chips, states, table twin, export, and a watch only while the panel is visible. A panel
 * adds its view, its params, its chart and its figures as a table; docs/panels.md shows how.
 *
 *   ┌ tab: Task Stream · first-look ┐
 *   │ tools of the panel      ⊞ ⤓ ⋯ │ toolbar `Task Stream tools`
 *   │ Filter (any data load ×) …    │ chips, only when something is filtered
 *   │ Ended at 09:22:10 …           │ strips
 *   │ chart, or table, or state     │
 *   └───────────────────────────────┘ region `Task Stream, first-look`
 */
import type { TranslationBundle } from '@jupyterlab/translation';
import {
  downloadIcon,
  ellipsesIcon,
  type LabIcon,
  ReactWidget
} from '@jupyterlab/ui-components';
import type { JSONObject } from '@lumino/coreutils';
import type { Message } from '@lumino/messaging';
import { type ISignal, Signal } from '@lumino/signaling';
import * as React from 'react';
import { shownText } from '../base/shown-text';
import { createElement } from '../charts/shown-element';
import { type ClusterTarget, targetKey } from '../feed/cluster-ref';
import type { IWatch } from '../feed/feed-types';
import { conditionsOf, type SelectionModel } from '../feed/selection';
import type {
  ClusterInfo,
  Filter,
  Snapshot,
  ViewName,
  ViewResult
} from '../wire/panel-link';
import { ChipRow } from './chip-row';
import { downloadText } from './download-text';
import { pinIcon, tableIcon } from './icons';
import { LiveLine } from './live-line';
import { Loading } from './loading';
import { PanelBoundary } from './panel-boundary';
import { formatClock, type TableData } from './format';
import { shownContext } from './shown-context';
import type { PanelContext, PanelFace, PanelOptions } from './panel-context';
import { type MenuItem, openMenu } from './panel-menu';
import {
  clusterState,
  filterEmptyState,
  type Hidden,
  linkState
} from './panel-states';
import { type Asked, PanelWatch } from './panel-watch';
import { type PanelState, type StateButton, StateView } from './state-view';
import { StripList } from './strip-list';
import { TableTwin, tableAsCsv } from './table-twin';
import { ToolButton } from './toolbar';
import { undoOnKey } from './undo-key';

/** A panel as the gallery, the palette and the launcher know it. */
export type PanelDescription = PanelFace & {
  create(options: PanelOptions): SpanwisePanel;
};

export abstract class SpanwisePanel<
  R extends ViewResult = ViewResult
> extends ReactWidget {
  readonly face: PanelFace;

  // ------------------------------------------------------------ what a panel may use

  protected readonly trans: TranslationBundle;

  private _context: PanelContext;
  private _isListening = false;
  private _isPinned: boolean;
  /** How often it was turned to another context: what is drawn of the next one is made anew. */
  private _turns = 0;
  private _watching: PanelWatch | null = null;
  private _showsTable: boolean;
  private _savedTarget = '';
  private _icon: LabIcon;
  private readonly _stateChanged = new Signal<this, void>(this);

  constructor(face: PanelFace, options: PanelOptions) {
    super();
    this.face = face;
    this._context = options.context;
    this.trans = options.context.translator.load('spanwise');
    this._showsTable = options.state?.showsTable === true;
    this._isPinned = options.state?.isPinned === true;
    this.addClass('sw-panel-widget');
    this._icon = this._isPinned ? pinIcon : face.icon;
    this.title.icon = this._icon;
    this.title.closable = true;
    this.title.className = 'sw-tab';
  }

  /** Something that `savedState` holds changed; the layout restorer saves it. */
  get stateChanged(): ISignal<this, void> {
    return this._stateChanged;
  }

  /** What comes back as `options.state` after a reload. A panel adds its own parts. */
  savedState(): JSONObject {
    return {
      showsTable: this._showsTable,
      ...(this._isPinned && { isPinned: true })
    };
  }

  /** The notebook or cluster name that the panel belongs to. */
  get clusterTarget(): ClusterTarget {
    return this.context.cluster.target;
  }

  /** The cluster that it shows; null: there is none. */
  get cluster(): ClusterInfo | null {
    return this.context.cluster.current;
  }

  /** All that it shows. */
  get clusters(): readonly (ClusterInfo | null)[] {
    return [this.cluster];
  }

  /** Whether it was told to stay with its cluster when another is chosen in the sidebar. */
  get isPinned(): boolean {
    return this._isPinned;
  }

  /** Whether it turns to a cluster that is chosen in the sidebar. */
  get turns(): boolean {
    return !this._isPinned;
  }

  /** Stay with the cluster that it shows, or follow again. */
  setPinned(isPinned: boolean): void {
    const { cluster } = this;
    if (cluster !== null && isPinned !== this._isPinned) {
      this._isPinned = isPinned;
      this.turnTo(this.context.of(cluster, isPinned ? 'pinned' : 'follows'));
      this.retitle();
      this._stateChanged.emit();
    }
  }

  /**
   * Show another cluster, with the filter that it has.
   *
   * @param context - of that, given for a while: the panel releases it.
   */
  turnTo(context: PanelContext): void {
    if (context === this._context) {
      context.release();
      return;
    }
    const lastContext = this._context;
    const last = this._watching;
    const isListening = this._isListening;
    this._listen(false);
    this._context = context;
    this._turns++;
    this._watching = null;
    this._listen(isListening);
    if (last !== null) {
      this._watchNow().takeOver(last);
      last.dispose();
    }
    this.onTurned();
    if (this.isVisible) {
      this._setWatching(true);
    }
    lastContext.release();
    this.retitle();
  }

  /** `Task Stream, first-look`: the region's and the table's name. */
  get accessibleName(): string {
    const name = this.clusterName;
    const title = this.face.title(this.trans);
    return name === undefined ? title : this.trans.__('%1, %2', title, name);
  }

  override dispose(): void {
    if (this.isDisposed) {
      return;
    }
    this._watching?.dispose();
    this._listen(false);
    // Who tracks open panels hears of it.
    super.dispose();
    this._context.release();
  }

  // ------------------------------------------------------------ what a panel supplies

  /** The view of the observer that the panel draws. */
  protected abstract get view(): ViewName;

  /** The view's params as they are now; call `paramsChanged()` after changing one. */
  protected params(): Readonly<Record<string, unknown>> {
    return {};
  }

  /** What of the selection it asks for. */
  protected asked({ filter, time }: SelectionModel): Asked {
    return { filter, time };
  }

  /** What it asks for beside the selection, in this filter; call `narrowedChanged()` after changing it. */
  protected narrowed(filter: Filter): Filter {
    return filter;
  }

  /** Whether the table is in the place of the chart. */
  protected get showsTable(): boolean {
    return this._showsTable;
  }

  /** How far the selection is honoured; a panel that asks for less of it says so. */
  protected honoured(snapshot: Snapshot): Snapshot['honoured'] {
    return snapshot.honoured;
  }

  /** Its figures are watched from now on, or no more; for panels that watch more than one view. */
  protected onWatching(_isOn: boolean): void {
    // Most panels have one view.
  }

  /** Answers a second at most. */
  protected get maxHz(): number {
    return 4;
  }

  /** A sentence above the chart about how far its figures can be trusted; '': none. */
  protected remark(_result: R): string {
    return '';
  }

  /** Controls at the left of the toolbar; `result` is null before the first answer. */
  protected renderTools(_result: R | null): React.ReactNode {
    return null;
  }

  /** The chart. It is called only with an answer for the present cluster. */
  protected abstract renderChart(
    result: R,
    snapshot: Snapshot
  ): React.ReactNode;

  /** The chart's figures, for the table twin and the export. */
  protected abstract tableData(result: R): TableData;

  /** What *Export* calls the table that `tableData` holds. */
  protected get tableLabel(): string {
    return this.trans.__('Export table as CSV');
  }

  /** Entries of *Export* before the common ones. */
  protected exportItems(_disabledBecause?: string): readonly MenuItem[] {
    return [];
  }

  /** The name of a file for the user, without what it ends with. */
  protected get fileName(): string {
    return `${this.face.name} ${this.clusterName ?? ''}`.trim();
  }

  /** The figures of the export as JSON. */
  protected exported(result: R): unknown {
    return result;
  }

  /** The table twin; a panel whose table is another view draws it itself (see `useWatch`). */
  protected renderTable(result: R, _snapshot: Snapshot): React.ReactNode {
    return (
      <TableTwin label={this.accessibleName} data={this.tableData(result)} />
    );
  }

  /** What the filter or the range leaves out, if it leaves nothing; then the panel says so. */
  protected isEmpty(_result: R): Hidden | null {
    return null;
  }

  /** The button of a state that the filter brings about. */
  protected liftButton(): StateButton {
    const { trans } = this;
    const watching = this._watchNow();
    return watching.isUnlinked
      ? {
          label: trans.__('Link again'),
          hint: trans.__(
            'The panel is unlinked, and keeps the filter that it had then. Linked, it has that of the others.'
          ),
          onClick: () => this._unfilter(() => watching.setUnlinked(false))
        }
      : {
          label: trans.__('Clear filter'),
          onClick: () => this._unfilter(() => this.context.selection.clear())
        };
  }

  /** A state of the panel's own, e.g. "No run is recorded yet."; asked after the common ones. */
  protected ownState(_result: R): PanelState | null {
    return null;
  }

  /** Whether the panel shows figures although its cluster has run no task yet. */
  protected get showsWithoutTasks(): boolean {
    return false;
  }

  /** What the title says after the panel's own name: the cluster's name, and which one it is if several of that name run. */
  protected get clusterName(): string | undefined {
    const { name } = this.context.cluster;
    const { cluster } = this;
    const isOneOfMany =
      cluster !== null &&
      cluster.state !== 'ended' &&
      this.context.feed.clusters.some(
        other =>
          other.name === cluster.name &&
          other.cluster !== cluster.cluster &&
          other.state !== 'ended'
      );
    return isOneOfMany
      ? this.trans.__(
          '%1, started %2',
          cluster.name,
          formatClock(cluster.startedAt, Date.now() / 1000)
        )
      : name;
  }

  /** The same, and whether it has ended: as the title says it. */
  protected get nameWithState(): string | undefined {
    const { clusterName, cluster } = this;
    return clusterName === undefined || cluster === null
      ? clusterName
      : this.withState(clusterName, cluster);
  }

  protected withState(name: string, { state, unwatched }: ClusterInfo): string {
    return state !== 'ended'
      ? name
      : unwatched === true
        ? this.trans.__('%1 (not watched)', name)
        : this.trans.__('%1 (ended)', name);
  }

  /** What the strips call the run that they are of; undefined: the panel shows no other. */
  protected get nameInStrips(): string | undefined {
    return undefined;
  }

  /** The panel has another context: what holds on to the last one is to be made anew. */
  protected onTurned(): void {
    // Most panels hold nothing.
  }

  /** By the user, in the panel itself. */
  protected setTurns(turns: boolean): void {
    this.setPinned(!turns);
  }

  /** Entries of `More` before the common ones. */
  protected moreItems(): readonly MenuItem[] {
    return [];
  }

  /** One line said to screen readers, at most every 5 s. */
  protected liveLine(_result: R): string {
    return '';
  }

  protected get context(): PanelContext {
    return this._context;
  }

  /** The running watch, for `requestTiles`; null while hidden. */
  protected get watch(): IWatch | null {
    return this._watching?.watch ?? null;
  }

  /** What the last answer is to: of an unlinked panel that is not the selection. */
  protected get answered(): Asked {
    return this._watchNow().answered;
  }

  /** What is asked for now. */
  protected get asking(): Asked {
    const { filter, time } = this._watchNow();
    return { filter, time };
  }

  protected get result(): R | null {
    const result = this._watching?.snapshot?.result;
    return result?.view === this.view ? (result as R) : null;
  }

  /** Tell the observer the new params, draw, and have them saved. */
  protected paramsChanged(): void {
    this._stateChanged.emit();
    this.paramsMoved();
  }

  /** The same of params that are not saved. */
  protected paramsMoved(): void {
    this.askAnew();
    this.update();
  }

  /** Tell the observer the params, if they are others. */
  protected askAnew(): void {
    this._watching?.setParams(this.params());
  }

  protected narrowedChanged(): void {
    this._watching?.askAgain();
  }

  /** Call after changing a part of `savedState` that is no param. */
  protected stateHasChanged(): void {
    this._stateChanged.emit();
  }

  /** Called after each answer, before drawing; for canvases that draw by themselves. */
  protected onSnapshot(_snapshot: Snapshot): void {
    // Most panels draw in renderChart alone.
  }

  // ------------------------------------------------------------ Lumino

  protected override onBeforeAttach(msg: Message): void {
    super.onBeforeAttach(msg);
    this._listen(true);
    this.node.addEventListener('keydown', this._onKeyDown);
    this.retitle();
  }

  protected override onAfterAttach(msg: Message): void {
    super.onAfterAttach(msg);
    if (this.isVisible) {
      this._setWatching(true);
    }
  }

  protected override onAfterShow(msg: Message): void {
    super.onAfterShow(msg);
    this._setWatching(true);
    this.update();
  }

  protected override onAfterHide(msg: Message): void {
    super.onAfterHide(msg);
    this._setWatching(false);
    // Its components hear of it.
    this.update();
  }

  /** JupyterLab only takes it out of the main area. */
  protected override onCloseRequest(): void {
    this.dispose();
  }

  protected override onBeforeDetach(msg: Message): void {
    this._setWatching(false);
    this.node.removeEventListener('keydown', this._onKeyDown);
    super.onBeforeDetach(msg);
  }

  protected override onActivateRequest(msg: Message): void {
    super.onActivateRequest(msg);
    this.node.tabIndex = -1;
    if (!this.node.contains(document.activeElement)) {
      this.node.focus();
    }
  }

  // ------------------------------------------------------------ drawing

  render(): JSX.Element {
    const watching = this._watchNow();
    const snapshot = watching.snapshot;
    const result = this.result;
    const { feed, cluster, selection } = this.context;
    const early = this._stateBeforeFigures(result);
    const found =
      early !== null || result === null ? null : this._stateOf(result);
    // What was found under another filter is no word about this one.
    const isOutdated = found !== null && watching.isOutdated;
    const state = early ?? (isOutdated ? null : found);
    const showsTools = cluster.current !== null;
    return (
      <section className="sw-panel" aria-label={this.accessibleName}>
        {showsTools && this._renderToolbar(result)}
        {showsTools && state === null && this._renderLoading(result)}
        <ChipRow
          conditions={watching.isUnlinked ? [] : selection.conditions}
          honoured={
            snapshot === null || isOutdated ? null : this.honoured(snapshot)
          }
          trans={this.trans}
          label={this.trans.__('Filter')}
          onRemove={id => this._unfilter(() => selection.remove(id))}
          onClear={() => this._unfilter(() => selection.clear())}
        />
        <StripList
          feed={feed}
          cluster={cluster}
          hasFigures={result !== null}
          figuresTo={figuresTo(result)}
          failure={result === null ? null : watching.failure}
          name={this.nameInStrips}
          tellsWhatWaits={state?.tellsWhatWaits === true}
          remark={result === null ? '' : this.remark(result)}
          trans={this.trans}
        />
        <div className="sw-panel-body">
          <PanelBoundary key={this._turns} trans={this.trans}>
            <shownContext.Provider value={this.isVisible}>
              <Drawn
                draw={() =>
                  state !== null ? (
                    <StateView state={state} />
                  ) : result === null ||
                    snapshot === null ||
                    isOutdated ? null : this._showsTable ? (
                    this.renderTable(result, snapshot)
                  ) : (
                    this.renderChart(result, snapshot)
                  )
                }
              />
            </shownContext.Provider>
          </PanelBoundary>
        </div>
        <LiveLine text={result === null ? '' : this.liveLine(result)} />
      </section>
    );
  }

  private _renderToolbar(result: R | null): JSX.Element {
    return (
      <div
        className="sw-toolbar"
        role="toolbar"
        aria-label={this.trans.__('%1 tools', this.face.title(this.trans))}
      >
        {this.renderTools(result)}
        <span className="sw-toolbar-spacer" />
        <ToolButton
          className="sw-tool-table"
          label={this.trans.__('Show as table')}
          icon={tableIcon}
          pressed={this._showsTable}
          onClick={() => this._toggleTable()}
        />
        <ToolButton
          className="sw-tool-export"
          label={this.trans.__('Export')}
          icon={downloadIcon}
          hasMenu
          onClick={event => openMenu(event.currentTarget, this._exportItems())}
        />
        <ToolButton
          label={this.trans.__('More')}
          icon={ellipsesIcon}
          hasMenu
          onClick={event => openMenu(event.currentTarget, this._moreItems())}
        />
      </div>
    );
  }

  /** While an answer is on its way: the first one, or the first to a new question. */
  private _renderLoading(result: R | null): React.ReactNode {
    const { trans } = this;
    if (result === null) {
      const text = trans.__(
        'Loading the figures of %1…',
        this.context.cluster.name
      );
      return <Loading key="first" text={text} />;
    }
    return this._watchNow().isAsking ? (
      <Loading key="next" text={trans.__('Loading the new figures…')} />
    ) : null;
  }

  /** What is shown whatever figures there are, or null. */
  private _stateBeforeFigures(result: R | null): PanelState | null {
    const { feed, cluster } = this.context;
    const link = linkState(feed.status, this.trans, {
      reload: () => window.location.reload(),
      tryAgain: () => feed.reconnect()
    });
    if (link !== null && result === null) {
      return link;
    }
    const early = clusterState(cluster, this.face.icon, this.trans, {
      offer: this.context.offers?.of(cluster.target),
      show: info => this._showInstead(info),
      result
    });
    if (early !== null && !(this.showsWithoutTasks && cluster.current)) {
      return early;
    }
    if (this._watching?.failure && result === null) {
      return {
        title: this.trans.__('The observer could not answer.'),
        sentence: this._watching.failure,
        broken: true
      };
    }
    return null;
  }

  /** What is shown in place of the chart of these figures, or null. */
  private _stateOf(result: R): PanelState | null {
    const { answered } = this;
    const empty = this.isEmpty(result);
    if (empty !== null && conditionsOf(answered).length > 0) {
      return filterEmptyState(answered, empty, this.trans, this.liftButton());
    }
    return this.ownState(result);
  }

  /** In this panel, whatever it was tied to, and in those that turn. */
  private _showInstead(info: ClusterInfo): void {
    const { turnPanels } = this.context;
    this.turnTo(this.context.of(info, this._isPinned ? 'pinned' : 'follows'));
    turnPanels?.(info);
  }

  private _moreItems(): readonly (MenuItem | 'separator')[] {
    const own = this.moreItems();
    const isUnlinked = this._watchNow().isUnlinked;
    return [
      ...own,
      ...(own.length > 0 ? (['separator'] as const) : []),
      {
        label: this.trans.__('Show as table'),
        isToggled: this._showsTable,
        run: () => this._toggleTable()
      },
      ...this._exportItems(),
      {
        label: this.trans.__('Unlink'),
        isToggled: isUnlinked,
        run: () => this._watchNow().setUnlinked(!isUnlinked)
      },
      {
        label: this.trans.__('Pin to %1', this.clusterName ?? ''),
        isToggled: !this.turns,
        run: () => this.setTurns(!this.turns)
      }
    ];
  }

  private _exportItems(): readonly MenuItem[] {
    const result = this.result;
    const disabledBecause =
      result === null ? this.trans.__('there are no figures yet') : undefined;
    const file = this.fileName;
    return [
      ...this.exportItems(disabledBecause),
      {
        label: this.tableLabel,
        disabledBecause,
        run: () => {
          if (result !== null) {
            downloadText(
              `${file}.csv`,
              'text/csv',
              tableAsCsv(this.tableData(result))
            );
          }
        }
      },
      {
        label: this.trans.__('Export figures as JSON'),
        disabledBecause,
        run: () =>
          downloadText(
            `${file}.json`,
            'application/json',
            JSON.stringify(result && this.exported(result), null, 1)
          )
      }
    ];
  }

  /** The chip that was clicked goes, and the focus stays in the panel: Ctrl Z brings it back. */
  private _unfilter(step: () => void): void {
    step();
    this.node.tabIndex = -1;
    this.node.focus();
  }

  private _toggleTable(): void {
    this._showsTable = !this._showsTable;
    this._stateChanged.emit();
    this.update();
  }

  /** Made at first use: `params()` and `view` belong to the subclass, whose constructor has run by then. */
  private _watchNow(): PanelWatch {
    if (this._watching === null) {
      this._watching = new PanelWatch({
        context: this.context,
        view: this.view,
        params: () => this.params(),
        asked: selection => this.asked(selection),
        narrowed: filter => this.narrowed(filter),
        maxHz: this.maxHz
      });
      this._watching.changed.connect(sender => {
        if (sender.snapshot !== null) {
          this.onSnapshot(sender.snapshot);
        }
        this.update();
      });
    }
    return this._watching;
  }

  private _setWatching(isOn: boolean): void {
    if (isOn) {
      this._watchNow().start();
    } else {
      this._watching?.stop();
    }
    this.onWatching(isOn);
  }

  private _listen(isOn: boolean): void {
    this._isListening = isOn;
    const { cluster, feed, offers } = this._context;
    if (isOn) {
      cluster.changed.connect(this.retitle, this);
      feed.statusChanged.connect(this._onStatus, this);
      offers?.changed.connect(this._onOffers, this);
    } else {
      cluster.changed.disconnect(this.retitle, this);
      feed.statusChanged.disconnect(this._onStatus, this);
      offers?.changed.disconnect(this._onOffers, this);
    }
  }

  private _onOffers(): void {
    if (this.cluster === null) {
      this.update();
    }
  }

  /** The title has the names of clusters; called when one has another name, or is another. */
  protected retitle(): void {
    const name =
      this.clusterName === undefined ? undefined : shownText(this.clusterName);
    const title = this.face.title(this.trans);
    const withState = this.nameWithState;
    this.title.label =
      withState === undefined
        ? title
        : this.trans.__('%1 · %2', title, shownText(withState));
    this.title.caption = [
      this.title.label,
      this.face.question(this.trans),
      ...(this.turns ? [] : [this.trans.__('Pinned to %1.', name ?? '')])
    ].join('\n');
    this._setIcon(this.turns ? this.face.icon : pinIcon);
    const target = targetKey(this.clusterTarget);
    if (target !== this._savedTarget) {
      this._savedTarget = target;
      this._stateChanged.emit();
    }
    this.update();
  }

  /** As the dock has it: an icon is bound to the place that it is in. */
  private _setIcon(icon: LabIcon): void {
    if (icon !== this._icon) {
      this._icon = icon;
      this.title.icon = icon.bindprops({ stylesheet: 'mainAreaTab' });
    }
  }

  private _onStatus(): void {
    this.update();
  }

  private readonly _onKeyDown = (event: KeyboardEvent) =>
    undoOnKey(event, () => this.context.selection.undo());
}

/** Draws inside the boundary around it: an error of the panel's own `render` would not be caught. */
function Drawn(props: { readonly draw: () => React.ReactNode }): JSX.Element {
  return <>{props.draw()}</>;
}

/** Seconds since the start up to which a result's figures go, as far as it says. */
function figuresTo(result: ViewResult | null): number | null {
  switch (result?.view) {
    case 'task-stream':
      return result.now;
    case 'fine-metrics':
    case 'summary':
      return result.wallSeconds;
    default:
      return null;
  }
}
