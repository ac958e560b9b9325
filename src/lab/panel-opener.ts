/** Opens panels where they belong, shows those that are open, turns them to another cluster, and lays all four out. */
import type { ILabShell } from '@jupyterlab/application';
import type { WidgetTracker } from '@jupyterlab/apputils';
import { LabIcon } from '@jupyterlab/ui-components';
import { type JSONObject, UUID } from '@lumino/coreutils';
import { type ISignal, Signal } from '@lumino/signaling';
import { type DockLayout, DockPanel, type Widget } from '@lumino/widgets';
import { type ClusterTarget, targetKey } from '../feed/cluster-ref';
import { type PanelDescription, SpanwisePanel } from '../panels/panel';
import type { PanelName } from '../panels/panel-context';
import { type ClusterInfo, REFUSED_CLUSTER } from '../wire/panel-link';
import type { ContextPool } from './context-pool';
import { behind, defaultLayout, LAID_OUT, SIDEBAR_ID } from './default-layout';

export type PanelPlace = 'split-right' | 'split-bottom' | 'tab-after';

/** What the layout restorer saves, enough to make the panel again. */
type SavedPanel = {
  readonly panel: PanelName;
  readonly id: string;
  readonly target: ClusterTarget;
  readonly state: JSONObject;
};

/** What open panels show that would turn to a cluster. */
export type InsteadOfCluster = {
  /** Each once; null: one shows none. */
  readonly clusters: readonly (ClusterInfo | null)[];
  /** Whether pinned panels, and those that compare, show nothing else. */
  readonly isAll: boolean;
};

export class PanelOpener {
  private readonly _changed = new Signal<this, void>(this);

  constructor(private readonly _options: PanelOpener.IOptions) {}

  /** An open panel turned to another cluster, or was pinned. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** Open panels, newest last. */
  get open(): readonly SpanwisePanel[] {
    const found: SpanwisePanel[] = [];
    this._options.tracker.forEach(panel => {
      found.push(panel);
    });
    return found;
  }

  /**
   * The open panel of this kind and target; else one that shows the cluster which the target means now, pinned or not. Of the two runs that
   * are compared either is shown: a second table of them would say nothing else.
   */
  find(name: PanelName, target: ClusterTarget): SpanwisePanel | undefined {
    const current = this._options.contexts.clusterOf(target);
    const ofKind = this.open.filter(panel => panel.face.name === name);
    return (
      ofKind.find(
        panel => targetKey(panel.clusterTarget) === targetKey(target)
      ) ??
      ofKind.find(
        panel =>
          current !== null &&
          shows(panel, current) &&
          (compares(panel) || panel.clusterTarget.notebook === target.notebook)
      )
    );
  }

  /**
   * A cluster was chosen: the open panels turn to it. Pinned ones stay, and so does one in which the user chose what it compares. Of each kind
   * one panel turns, unless one shows the cluster already:
   *
   *     chosen: survey     Task Stream · first-look              Task Stream · survey
   *                        Profile · first-look (pinned)   ──►   Profile · first-look (pinned)
   *                        System · first-look                   System · first-look
   *                        System · survey                       System · survey
   */
  turn(target: ClusterTarget): void {
    for (const name of this._openKinds) {
      const had = this.find(name, target);
      if (had === undefined) {
        this._turnOne(name, target);
      } else if (!compares(had)) {
        this._bringForward(had);
      }
    }
  }

  /** Open panels of the cluster. */
  showing(cluster: ClusterInfo): readonly SpanwisePanel[] {
    return this.open.filter(
      panel => panel.cluster?.cluster === cluster.cluster
    );
  }

  /**
   * What the open panels show that would turn to the cluster; undefined if there are none. If a panel shows the cluster, pinned or not, others
   * are left to what they show; those that show none would turn.
   */
  insteadOf(cluster: ClusterInfo): InsteadOfCluster | undefined {
    const kinds = new Set(this.showing(cluster).map(({ face }) => face.name));
    const turning = this._turning.filter(
      panel =>
        !shows(panel, cluster) &&
        (kinds.size === 0 || (isEmpty(panel) && !kinds.has(panel.face.name)))
    );
    if (turning.length === 0) {
      return undefined;
    }
    const shown = infosById(turning.map(panel => panel.cluster));
    return {
      clusters: [...shown.values()],
      isAll: [
        ...infosById(this.open.flatMap(panel => panel.clusters)).keys()
      ].every(id => shown.has(id))
    };
  }

  /** What the newest open panel is tied to, of those that turn: of none that is pinned. */
  get lastTarget(): ClusterTarget | undefined {
    return this._turning.pop()?.clusterTarget;
  }

  private get _openKinds(): ReadonlySet<PanelName> {
    return new Set(this.open.map(({ face }) => face.name));
  }

  /** Open panels that turn to a cluster that is chosen, newest last. */
  private get _turning(): SpanwisePanel[] {
    return this.open.filter(({ turns }) => turns);
  }

  /** All open panels that show the cluster stay with it, or follow again. */
  setPinned(cluster: ClusterInfo, isPinned: boolean): void {
    for (const panel of this.showing(cluster)) {
      panel.setPinned(isPinned);
    }
  }

  /**
   * Show the panel if it is open, also if it is open for what has no cluster or compares other runs, else open it: at `place` of `reference` or, by default, where
   * other panels are. It never hides what is none, as the notebook whose cell was run.
   */
  show(
    name: PanelName,
    target: ClusterTarget,
    place?: PanelPlace,
    reference?: Widget
  ): SpanwisePanel {
    const { shell } = this._options;
    const had = this._had(name, target);
    if (had !== undefined && place === undefined) {
      shell.activateById(had.id);
      return had;
    }
    const panel = had ?? this.create(name, target);
    const others = this.open.filter(other => other !== panel);
    const newest = others.at(-1);
    const among = others.filter(hidesOnlyPanels);
    const home =
      among.findLast(({ face }) => face.name === behind(name)) ?? among.at(-1);
    shell.add(panel, 'main', {
      mode: place ?? (home === undefined ? 'split-right' : 'tab-after'),
      ref: (place === undefined
        ? (home ?? newest ?? reference)
        : (reference ?? newest)
      )?.id
    });
    shell.activateById(panel.id);
    return panel;
  }

  /** The panel for a drop: the open one, which moves, or a new one that the dock will take. */
  forDrop(name: PanelName, target: ClusterTarget): SpanwisePanel {
    return this._had(name, target) ?? prepareForDock(this.create(name, target));
  }

  /** Make a panel without placing it. */
  create(
    name: PanelName,
    target: ClusterTarget,
    saved?: Pick<SavedPanel, 'id' | 'state'>
  ): SpanwisePanel {
    const description = this._options.panels.find(panel => panel.name === name);
    if (description === undefined) {
      throw new Error(`There is no panel “${name}”.`);
    }
    const panel = description.create({
      context: this._options.contexts.lend(target),
      state: saved?.state
    });
    panel.id = saved?.id ?? `spanwise-${name}-${UUID.uuid4()}`;
    void this._options.tracker.add(panel);
    panel.stateChanged.connect(sender => {
      void this._options.tracker.save(sender);
      this._changed.emit();
    });
    return panel;
  }

  /** Put a restored panel into the shell; the layout restorer has reserved its place. */
  restore(saved: SavedPanel): SpanwisePanel {
    const panel = this.create(saved.panel, saved.target, saved);
    this._options.shell.add(panel, 'main', { activate: false });
    return panel;
  }

  /**
   * The default layout around `front`. Panels that are open and not pinned are used for it; those that have no place in it turn, too, as if the
   * cluster were chosen. Other panels go into tabs behind those of their kind, and everything else into tabs behind `front`.
   *
   * @returns whether the main area had a place for them.
   */
  layOut(target: ClusterTarget, front: Widget | null): boolean {
    const { shell, panels } = this._options;
    if (shell.mode !== 'multiple-document') {
      shell.mode = 'multiple-document';
    }
    for (const name of this._openKinds) {
      if (!LAID_OUT.includes(name) && this.find(name, target) === undefined) {
        this._turnOne(name, target);
      }
    }
    const four = panels
      .map(({ name }) => name)
      .filter(name => LAID_OUT.includes(name))
      .map(
        name =>
          this.find(name, target) ??
          this._turnOne(name, target) ??
          prepareForDock(this.create(name, target))
      );
    const stacks = Object.fromEntries(
      four.map(panel => [panel.face.name, [panel]])
    ) as Partial<Record<PanelName, Widget[]>>;
    const ours = new Set<Widget>(four);
    const rest = [...shell.widgets('main')].filter(widget => !ours.has(widget));
    const others = rest.filter(widget => {
      const stack =
        widget instanceof SpanwisePanel
          ? stacks[behind(widget.face.name) ?? widget.face.name]
          : undefined;
      stack?.push(widget);
      return stack === undefined;
    });
    const dock = this._dock(rest[0] ?? four[0]);
    if (dock === null) {
      return false;
    }
    const layout: DockLayout.ILayoutConfig = defaultLayout(
      stacks,
      others,
      front
    );
    dock.restoreLayout(layout);
    // Before the notebook, which keeps the keyboard.
    shell.activateById(SIDEBAR_ID);
    if (front !== null) {
      shell.activateById(front.id);
    }
    return true;
  }

  /**
   * The open panel, else one of its kind that turns and is empty, or compares other runs: beside that a second would only take room.
   */
  private _had(name: PanelName, target: ClusterTarget) {
    const had = this.find(name, target);
    if (
      had !== undefined ||
      this._options.contexts.clusterOf(target) === null
    ) {
      return had;
    }
    const free = this._turning
      .filter(({ face }) => face.name === name)
      .findLast(panel => isEmpty(panel) || compares(panel));
    free?.turnTo(this._options.contexts.lend(target));
    return free;
  }

  /** Turns the panel of this kind that is most in view, and says which; undefined: there is none that turns. */
  private _turnOne(
    name: PanelName,
    target: ClusterTarget
  ): SpanwisePanel | undefined {
    const turning = this._turning.filter(({ face }) => face.name === name);
    const panel =
      turning.filter(({ isVisible }) => isVisible).pop() ?? turning.pop();
    panel?.turnTo(this._options.contexts.lend(target));
    return panel;
  }

  private _bringForward(panel: SpanwisePanel): void {
    if (!panel.isVisible) {
      this._options.shell.activateById(panel.id);
    }
  }

  /** The dock panel of the main area, found by a widget in it; an empty area gets one. */
  private _dock(widget: Widget | undefined): DockPanel | null {
    if (widget !== undefined && !widget.isAttached) {
      this._options.shell.add(widget, 'main', { activate: false });
    }
    return widget?.parent instanceof DockPanel ? widget.parent : null;
  }
}

export namespace PanelOpener {
  export interface IOptions {
    readonly shell: Pick<
      ILabShell,
      'add' | 'activateById' | 'widgets' | 'mode'
    >;
    readonly tracker: Pick<
      WidgetTracker<SpanwisePanel>,
      'add' | 'save' | 'forEach'
    >;
    readonly contexts: ContextPool;
    readonly panels: readonly PanelDescription[];
  }
}

/** Whether it shows no cluster. */
function isEmpty({ cluster }: SpanwisePanel): boolean {
  return cluster === null;
}

/** Also beside another one. */
function shows(panel: SpanwisePanel, { cluster }: ClusterInfo): boolean {
  return panel.clusters.some(info => info?.cluster === cluster);
}

/** Whether it shows a cluster beside another. */
function compares({ clusters }: SpanwisePanel): boolean {
  return clusters.length > 1;
}

/** Whether what is put into a tab beside it hides panels alone. One that no dock has yet will be where the layout had it. */
function hidesOnlyPanels(panel: SpanwisePanel): boolean {
  if (!(panel.parent instanceof DockPanel)) {
    return true;
  }
  const bar = [...panel.parent.tabBars()].find(({ titles }) =>
    titles.includes(panel.title)
  );
  return (
    bar?.titles.every(({ owner }) => owner instanceof SpanwisePanel) ?? true
  );
}

/** By their ids; undefined: there is none. */
function infosById(
  infos: readonly (ClusterInfo | null)[]
): ReadonlyMap<string | undefined, ClusterInfo | null> {
  return new Map(
    infos
      // A refusal is a sentence, no cluster.
      .map(info => (info?.cluster === REFUSED_CLUSTER ? null : info))
      .map(info => [info?.cluster, info])
  );
}

/** Does what the shell does to a widget that it adds, for a widget that a dock panel takes by itself. */
function prepareForDock<W extends Widget>(widget: W): W {
  const { title } = widget;
  title.dataset = { ...title.dataset, id: widget.id };
  if (title.icon instanceof LabIcon) {
    title.icon = title.icon.bindprops({ stylesheet: 'mainAreaTab' });
  }
  return widget;
}
