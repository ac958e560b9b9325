/** Opens panels where they belong, shows those that are open, and lays all four out. */
import type { ILabShell } from '@jupyterlab/application';
import type { WidgetTracker } from '@jupyterlab/apputils';
import { LabIcon } from '@jupyterlab/ui-components';
import { type JSONObject, UUID } from '@lumino/coreutils';
import { type DockLayout, DockPanel, type Widget } from '@lumino/widgets';
import { type ClusterTarget, targetKey } from '../feed/cluster-ref';
import type { PanelDescription, SpanwisePanel } from '../panels/panel';
import type { PanelName } from '../panels/panel-context';
import type { ContextPool } from './context-pool';
import { defaultLayout, LAID_OUT, SIDEBAR_ID } from './default-layout';

export type PanelPlace = 'split-right' | 'split-bottom' | 'tab-after';

/** What the layout restorer saves, enough to make the panel again. */
type SavedPanel = {
  readonly panel: PanelName;
  readonly id: string;
  readonly target: ClusterTarget;
  readonly state: JSONObject;
};

export class PanelOpener {
  constructor(private readonly _options: PanelOpener.IOptions) {}

  /** Open panels, newest last. */
  get open(): readonly SpanwisePanel[] {
    const found: SpanwisePanel[] = [];
    this._options.tracker.forEach(panel => {
      found.push(panel);
    });
    return found;
  }

  /** The open panel of this kind and target. */
  find(name: PanelName, target: ClusterTarget): SpanwisePanel | undefined {
    return this.open.find(
      panel =>
        panel.face.name === name &&
        targetKey(this.targetOf(panel)) === targetKey(target)
    );
  }

  targetOf(panel: SpanwisePanel): ClusterTarget {
    return panel.clusterTarget;
  }

  /** Show the panel if it is open, else open it: beside `reference` or, by default, where other panels are. */
  show(
    name: PanelName,
    target: ClusterTarget,
    place?: PanelPlace,
    reference?: Widget
  ): SpanwisePanel {
    const { shell } = this._options;
    const had = this.find(name, target);
    if (had !== undefined && place === undefined) {
      shell.activateById(had.id);
      return had;
    }
    const panel = had ?? this.create(name, target);
    const lastPanel = this.open.filter(other => other !== panel).pop();
    const ref = reference ?? lastPanel;
    shell.add(panel, 'main', {
      mode: place ?? (lastPanel === undefined ? 'split-right' : 'tab-after'),
      ref: ref?.id
    });
    shell.activateById(panel.id);
    return panel;
  }

  /** The panel for a drop: the open one, which moves, or a new one that the dock will take. */
  forDrop(name: PanelName, target: ClusterTarget): SpanwisePanel {
    return this.find(name, target) ?? prepareForDock(this.create(name, target));
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
      context: this._options.contexts.get(target),
      state: saved?.state
    });
    panel.id = saved?.id ?? `spanwise-${name}-${UUID.uuid4()}`;
    void this._options.tracker.add(panel);
    panel.stateChanged.connect(sender => {
      void this._options.tracker.save(sender);
    });
    return panel;
  }

  /** Put a restored panel into the shell; the layout restorer has reserved its place. */
  restore(saved: SavedPanel): SpanwisePanel {
    const panel = this.create(saved.panel, saved.target, saved);
    this._options.shell.add(panel, 'main', { activate: false });
    return panel;
  }

  /** The default layout around `front`; everything else that is open goes into tabs behind it. */
  layOut(target: ClusterTarget, front: Widget | null): void {
    const { shell, panels } = this._options;
    if (shell.mode !== 'multiple-document') {
      shell.mode = 'multiple-document';
    }
    const four = Object.fromEntries(
      panels
        .filter(({ name }) => LAID_OUT.includes(name))
        .map(({ name }) => [name, this.forDrop(name, target)])
    ) as Partial<Record<PanelName, SpanwisePanel>>;
    const ours = new Set<Widget>(Object.values(four));
    const others = [...shell.widgets('main')].filter(
      widget => !ours.has(widget)
    );
    const dock = this._dock(others[0] ?? Object.values(four)[0]);
    if (dock === null) {
      return;
    }
    const layout: DockLayout.ILayoutConfig = defaultLayout(four, others, front);
    dock.restoreLayout(layout);
    // Before the notebook, which keeps the keyboard.
    shell.activateById(SIDEBAR_ID);
    if (front !== null) {
      shell.activateById(front.id);
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

/** Does what the shell does to a widget that it adds, for a widget that a dock panel takes by itself. */
function prepareForDock<W extends Widget>(widget: W): W {
  const { title } = widget;
  title.dataset = { ...title.dataset, id: widget.id };
  if (title.icon instanceof LabIcon) {
    title.icon = title.icon.bindprops({ stylesheet: 'mainAreaTab' });
  }
  return widget;
}
