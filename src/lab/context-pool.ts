/**
 * One cluster reference and one selection per notebook (or name of a cluster without one), shared by all its panels and the sidebar, so
 * that one filter acts on all of them and on no other notebook's. Selections are kept in JupyterLab's state database.
 */
import type { IStateDB } from '@jupyterlab/statedb';
import type { ITranslator } from '@jupyterlab/translation';
import type { ReadonlyPartialJSONValue } from '@lumino/coreutils';
import {
  ClusterRef,
  type ClusterTarget,
  type NotebookOf,
  targetKey
} from '../feed/cluster-ref';
import { Disposing } from '../feed/disposing';
import type { IFeed } from '../feed/feed-types';
import { SelectionModel, selectionFromJSON } from '../feed/selection';
import type { ITheme, PanelContext } from '../panels/panel-context';

/** A selection is written this long after its last change, so that typing in a filter is one write. */
const SAVE_AFTER_MS = 300;

export class ContextPool extends Disposing {
  private readonly _entries = new Map<string, Entry>();

  constructor(private readonly _options: ContextPool.IOptions) {
    super();
  }

  /** The context of a target, made at first use; its saved selection comes in a moment (see `restored`). */
  get(target: ClusterTarget): PanelContext {
    return this._entry(target).context;
  }

  /** Resolves when the saved selection of the target is in place, or there is none. */
  restored(target: ClusterTarget): Promise<void> {
    return this._entry(target).restored;
  }

  /** Look again which cluster each target means; call when the notebook of a kernel became known. */
  refresh(): void {
    for (const { context } of this._entries.values()) {
      context.cluster.refresh();
    }
  }

  protected override end(): void {
    for (const { context, timer } of this._entries.values()) {
      clearTimeout(timer.id);
      context.cluster.dispose();
      context.selection.dispose();
    }
    this._entries.clear();
  }

  private _entry(target: ClusterTarget): Entry {
    const key = targetKey(target);
    const known = this._entries.get(key);
    if (known !== undefined) {
      return known;
    }
    const { feed, notebookOf, theme, translator } = this._options;
    const cluster = new ClusterRef({ feed, target, notebookOf });
    const bound = this._entries.get(targetKey(cluster.target));
    if (bound !== undefined) {
      // An open target met a cluster whose panels are open already.
      cluster.dispose();
      return bound;
    }
    const selection = new SelectionModel();
    const entry: Entry = {
      context: { feed, cluster, selection, theme, translator },
      timer: {},
      restored: this._restore(cluster, selection)
    };
    this._entries.set(key, entry);
    this._entries.set(targetKey(cluster.target), entry);
    // An open target finds its notebook later; from then on it is that notebook's context.
    cluster.changed.connect(sender => {
      const boundKey = targetKey(sender.target);
      if (!this._entries.has(boundKey)) {
        this._entries.set(boundKey, entry);
      }
    });
    selection.changed.connect(() => this._saveSoon(entry));
    return entry;
  }

  private async _restore(
    cluster: ClusterRef,
    selection: SelectionModel
  ): Promise<void> {
    const saved = await this._options.state?.fetch(saveKey(cluster.target));
    // A change that the user made meanwhile is newer.
    if (saved !== undefined && !selection.isDisposed && !selection.isFiltered) {
      selection.restore(selectionFromJSON(saved));
    }
  }

  private _saveSoon(entry: Entry): void {
    clearTimeout(entry.timer.id);
    entry.timer.id = setTimeout(() => {
      const { cluster, selection } = entry.context;
      const { filter, time } = selection.state;
      void this._options.state?.save(
        saveKey(cluster.target),
        // Plain data throughout; JSON drops what is undefined.
        JSON.parse(JSON.stringify({ filter, time })) as ReadonlyPartialJSONValue
      );
    }, SAVE_AFTER_MS);
  }
}

type Entry = {
  readonly context: PanelContext;
  readonly timer: { id?: ReturnType<typeof setTimeout> };
  readonly restored: Promise<void>;
};

export namespace ContextPool {
  export interface IOptions {
    readonly feed: IFeed;
    readonly notebookOf: NotebookOf;
    readonly theme: ITheme;
    readonly translator: ITranslator;
    /** Without one, selections last as long as the page. */
    readonly state: Pick<IStateDB, 'fetch' | 'save'> | null;
  }
}

function saveKey(target: ClusterTarget): string {
  return `spanwise:selection:${targetKey(target)}`;
}
