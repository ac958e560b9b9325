/**
 * What the sidebar shows: the cluster in front (that of the notebook or panel one works in, or the one chosen; until there was one, as after a
 * reload, that of the open panels), its spans, and how the tree is arranged. Watches spans only while the sidebar is visible.
 */
import { type ISignal, Signal } from '@lumino/signaling';
import {
  belongsTo,
  type ClusterTarget,
  newestOf,
  type NotebookOf,
  targetOf
} from '../feed/cluster-ref';
import { Disposing } from '../feed/disposing';
import type { IFeed, IWatch } from '../feed/feed-types';
import type { PanelContext } from '../panels/panel-context';
import {
  REFUSED_CLUSTER,
  type ClusterInfo,
  type SpansResult
} from '../wire/panel-link';
import { clusterUsers, type ClusterUsers } from './cluster-users';
import type { ContextPool } from './context-pool';
import { type Arrange, usualArrange } from './span-tree-rows';

type FrontClosed = ISignal<unknown, void>;

export class SidebarModel extends Disposing {
  private _context: PanelContext;
  private _front: ClusterTarget | null = null;
  /** Emits when the notebook or panel in front is closed. */
  private _frontClosed: FrontClosed | null = null;
  /** The user chose a cluster since the last turn to a notebook or panel. */
  private _hasChosen = false;
  /** It has shown what was in front, or was chosen: until then it shows what the open panels show, or what there is. */
  private _hasTurned = false;
  /** A running cluster was shown in place of what had ended, or of nothing, and stays when it ends: nobody asked for another one. */
  private _hasGivenWay = false;
  /** Id of a cluster to be shown as soon as the page hears of it. */
  private _awaited: string | null = null;
  private _watch: IWatch | null = null;
  private _watchedCluster: string | null = null;
  private _lastSpans: SpansResult | null = null;
  private _isVisible = false;
  /** By the user; null: as is usual for what there is. */
  private _arrange: Arrange | null = null;
  /** What was usual when the tree of this cluster was first used: it turns no more under the user's hand. */
  private _keptArrange: Arrange | null = null;
  /** What was usual when the pointer came over the tree: nothing turns below it. */
  private _heldArrange: Arrange | null = null;
  private _search = '';
  private _turned: ReadonlySet<string> = new Set();
  private readonly _changed = new Signal<this, void>(this);

  constructor(private readonly _options: SidebarModel.IOptions) {
    super();
    this._context = _options.contexts.lend({});
    this._connect();
    _options.feed.clustersChanged.connect(this._onClusters, this);
    _options.feed.statusChanged.connect(this._emit, this);
    this._onClusters();
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get feed(): IFeed {
    return this._options.feed;
  }

  get context(): PanelContext {
    return this._context;
  }

  get target(): ClusterTarget {
    return this._context.cluster.target;
  }

  /** Path of the notebook that one works in, whatever cluster is shown; undefined: in none. */
  get notebookInFront(): string | undefined {
    return this._front?.notebook;
  }

  /** The notebook that one works in, if the cluster that is shown is not of it. */
  get notOf(): string | undefined {
    const { cluster, notebookInFront } = this;
    return cluster === null ||
      notebookInFront === undefined ||
      belongsTo(
        cluster,
        { notebook: notebookInFront },
        this._options.notebookOf
      )
      ? undefined
      : notebookInFront;
  }

  get cluster(): ClusterInfo | null {
    return this._context.cluster.current;
  }

  /** As of {@link IClusterInFront}. */
  get running(): ClusterInfo | null {
    const { cluster } = this;
    if (cluster === null || cluster.state !== 'ended') {
      return cluster;
    }
    const { feed, notebookOf } = this._options;
    const running = feed.clusters.filter(
      ({ cluster: id, state }) => state !== 'ended' && id !== REFUSED_CLUSTER
    );
    const { notebooks } = this.users;
    return (
      newestOf(
        running.filter(info =>
          notebooks.some(notebook => belongsTo(info, { notebook }, notebookOf))
        )
      ) ?? newestOf(running)
    );
  }

  /** Of the same notebook: what else goes on, if one of them records computations without a cluster. Others are runs that one chooses from. */
  get beside(): ClusterInfo | null {
    const { cluster } = this;
    const [notebook] = this.users.notebooks;
    const { feed, notebookOf } = this._options;
    return cluster === null || notebook === undefined
      ? null
      : newestOf(
          feed.clusters.filter(
            info =>
              info.state !== 'ended' &&
              (info.kind === 'local') !== (cluster.kind === 'local') &&
              belongsTo(info, { notebook }, notebookOf)
          )
        );
  }

  /** The notebook in front is the first of those that use it: of the others there may be no room for a name. */
  get users(): ClusterUsers {
    if (this.cluster === null) {
      return { owner: undefined, notebooks: [], programs: [] };
    }
    const users = this.usersOf(this.cluster);
    const isInFront = (path: string) => path === this.notebookInFront;
    return {
      ...users,
      notebooks: users.notebooks.toSorted(
        (a, b) => Number(isInFront(b)) - Number(isInFront(a))
      )
    };
  }

  get ownedBy(): string | undefined {
    return this.users.owner;
  }

  usersOf(cluster: ClusterInfo): ClusterUsers {
    return clusterUsers(cluster, this._options.notebookOf);
  }

  get spans(): SpansResult | null {
    const result = this._watch?.snapshot?.result;
    return result?.view === 'spans' ? result : this._lastSpans;
  }

  /** Why the spans cannot be told; null: nothing has failed. */
  get spansFailure(): string | null {
    return this._watch?.failure ?? null;
  }

  /** The question for spans has no answer yet, and the link is there. */
  get isAskingSpans(): boolean {
    return this._watch?.isAsking === true && this.feed.status.kind === 'open';
  }

  get arrange(): Arrange {
    return (
      this._arrange ??
      this._keptArrange ??
      this._heldArrange ??
      usualArrange(this.spans)
    );
  }

  /** By the user; null: by nobody. */
  get chosenArrange(): Arrange | null {
    return this._arrange;
  }

  setArrange(arrange: Arrange): void {
    this._arrange = arrange;
    this._changed.emit();
  }

  /** The tree is used: it stays as it is arranged now, until one chooses or the sidebar turns to another cluster. */
  keepArrange(): void {
    const { spans } = this;
    if (spans !== null && spans.rows.length > 0) {
      this._keptArrange ??= usualArrange(spans);
    }
  }

  /** The pointer is over the tree, or no more. */
  holdArrange(isHeld: boolean): void {
    const had = this.arrange;
    const { spans } = this;
    this._heldArrange =
      isHeld && spans !== null && spans.rows.length > 0 ? had : null;
    if (this.arrange !== had) {
      this._changed.emit();
    }
  }

  get search(): string {
    return this._search;
  }

  setSearch(search: string): void {
    this.keepArrange();
    this._search = search;
    this._changed.emit();
  }

  /** Rows of the tree that are collapsed, or expanded if they are folded at first. */
  get turned(): ReadonlySet<string> {
    return this._turned;
  }

  setTurned(keys: readonly string[], isTurned: boolean): void {
    this.keepArrange();
    const next = new Set(this._turned);
    for (const key of keys) {
      if (isTurned) {
        next.add(key);
      } else {
        next.delete(key);
      }
    }
    this._turned = next;
    this._changed.emit();
  }

  /** Show a cluster that was chosen; the notebook or panel one turns to next takes over again. */
  choose(cluster: ClusterInfo): void {
    this._hasChosen = true;
    this._hasTurned = true;
    // A notebook that shares the cluster goes on with its own next one.
    const near = this._front ?? undefined;
    this.follow(this._options.contexts.targetOf(cluster, 'follows', near));
  }

  /** Shows a cluster that the page may not have heard of yet. */
  showWhenHeardOf(cluster: string): void {
    this._awaited = cluster;
    this.feed.reconnect();
    this._onClusters();
  }

  /**
   * Turn to the notebook or panel that came to the front. While other notebooks have a cluster, one without a cluster changes nothing.
   *
   * @param closed - emits when it is closed: then it is in front no more, whatever comes after it.
   * @param isNew - false: it is in front already, and more is known of it; what was chosen since stays.
   */
  turnTo(
    target: ClusterTarget,
    closed: FrontClosed | null = null,
    isNew = true
  ): void {
    this._setFront(target, closed);
    if (isNew) {
      this._hasChosen = false;
      this._awaited = null;
    }
    if (!this._hasChosen) {
      this._followFront();
    }
    // What the notebook has to offer is shown, whatever cluster is.
    this._emit();
  }

  /** No notebook or panel is in front: a running cluster may take the place of an ended one. */
  forgetFront(): void {
    if (this._front !== null) {
      this._setFront(null, null);
      this._onClusters();
    }
  }

  private _setFront(
    target: ClusterTarget | null,
    closed: FrontClosed | null
  ): void {
    this._frontClosed?.disconnect(this.forgetFront, this);
    this._front = target;
    this._frontClosed = closed;
    closed?.connect(this.forgetFront, this);
  }

  private _onClusters(): void {
    this._look();
    this._emit();
  }

  /** Look again at what is in front; its cluster may have come since. */
  private _look(): void {
    const awaited = this.feed.clusters.find(
      ({ cluster }) => cluster === this._awaited
    );
    if (awaited !== undefined) {
      this._awaited = null;
      this.choose(awaited);
    }
    if (!this._hasChosen) {
      this._followFront();
    }
    const newest = newestOf(this.feed.clusters);
    if (
      newest !== null &&
      !this._followPanels(newest) &&
      this._givesWayTo(newest)
    ) {
      this._hasGivenWay = newest.state !== 'ended';
      this.follow(targetOf(newest, this._options.notebookOf));
    }
    // An open target that has found its notebook gives way to the selection that the notebook's panels share already.
    this.follow(this.target);
  }

  /** Look again at what the open panels show: one was opened, came back after a reload, or its notebook is known now. */
  lookAtPanels(): void {
    if (!this._hasTurned) {
      this._look();
    }
  }

  /**
   * Until a notebook or panel with a cluster was in front, as after a reload until one clicks, the sidebar shows what the open panels show, and
   * stays with it as long as one of them does. What has ended gives way to what runs, as without panels.
   */
  private _followPanels(newest: ClusterInfo): boolean {
    const target = this._hasTurned ? undefined : this._options.inPanels?.();
    if (target === undefined) {
      return false;
    }
    // As they are now: the context and the panels may hear of it after this.
    const { clusters } = this.feed;
    const id = this.cluster?.cluster;
    const current = clusters.find(({ cluster }) => cluster === id);
    if (
      current !== undefined &&
      this._options.isInPanels?.(current) === true &&
      (current.state !== 'ended' || newest.state === 'ended')
    ) {
      return true;
    }
    const known = this._options.contexts.clusterOf(target)?.cluster;
    const shown = clusters.find(({ cluster }) => cluster === known);
    if (
      shown === undefined ||
      (shown.state === 'ended' &&
        (newest.state !== 'ended' || this._hasGivenWay))
    ) {
      return false;
    }
    this.follow(target);
    return true;
  }

  /** If what is in front has no cluster, a running cluster replaces an ended one: a program was started in a terminal. */
  private _givesWayTo(newest: ClusterInfo): boolean {
    return (
      this.cluster === null ||
      (this.cluster.state === 'ended' &&
        newest.state !== 'ended' &&
        !this._hasChosen &&
        !this._isFrontKnown())
    );
  }

  private _followFront(): void {
    if (this._front !== null && this._isFrontKnown()) {
      this._hasTurned = true;
      this.follow(this._front);
    }
  }

  /** Whether what is in front has a cluster. */
  private _isFrontKnown(): boolean {
    const { feed, notebookOf } = this._options;
    const front = this._front;
    return (
      front !== null &&
      feed.clusters.some(info => belongsTo(info, front, notebookOf))
    );
  }

  follow(target: ClusterTarget): void {
    const context = this._options.contexts.lend(target);
    if (context === this._context) {
      context.release();
      return;
    }
    this._disconnect();
    this._context.release();
    this._context = context;
    this._connect();
    this._rewatch();
    this._changed.emit();
  }

  setVisible(isVisible: boolean): void {
    this._isVisible = isVisible;
    if (isVisible && this.feed.status.kind === 'connecting') {
      this.feed.reconnect();
    }
    this._rewatch();
  }

  protected override end(): void {
    this._disconnect();
    this._context.release();
    this._setFront(null, null);
    this.feed.clustersChanged.disconnect(this._onClusters, this);
    this.feed.statusChanged.disconnect(this._emit, this);
    this._watch?.dispose();
  }

  private _connect(): void {
    this._context.cluster.changed.connect(this._onCluster, this);
    this._context.selection.changed.connect(this._emit, this);
  }

  private _disconnect(): void {
    this._context.cluster.changed.disconnect(this._onCluster, this);
    this._context.selection.changed.disconnect(this._emit, this);
  }

  private _onCluster(): void {
    if (this.cluster?.cluster !== this._watchedCluster) {
      this._rewatch();
    }
    this._changed.emit();
  }

  private _emit(): void {
    this._changed.emit();
  }

  private _rewatch(): void {
    const cluster = this.cluster?.cluster ?? null;
    if (
      this._isVisible === (this._watch !== null) &&
      cluster === this._watchedCluster
    ) {
      return;
    }
    if (cluster !== this._watchedCluster) {
      this._keptArrange = null;
      this._heldArrange = null;
    }
    this._lastSpans = cluster === this._watchedCluster ? this.spans : null;
    this._watch?.dispose();
    this._watch = null;
    this._watchedCluster = cluster;
    if (this._isVisible && cluster !== null) {
      this._watch = this.feed.watch(
        {
          cluster,
          view: 'spans',
          filter: {},
          time: 'all',
          params: {},
          maxHz: 2
        },
        () => this._changed.emit()
      );
    }
  }
}

export namespace SidebarModel {
  export interface IOptions {
    readonly feed: IFeed;
    readonly contexts: ContextPool;
    readonly notebookOf: NotebookOf;
    /** What the open panels are tied to; undefined: none is open. */
    readonly inPanels?: () => ClusterTarget | undefined;
    /** Whether one of them, pinned or not, shows the cluster. */
    readonly isInPanels?: (cluster: ClusterInfo) => boolean;
  }
}
