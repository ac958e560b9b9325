/**
 * One cluster reference and one selection per notebook (or name of a cluster without one), shared by all its panels and the sidebar.
 * Panels that are pinned to one of the notebook's clusters have a reference of their own. Who shows the same cluster has the same filter,
 * whichever notebook it is open for, so that one filter acts on all that show the cluster and on nothing else:
 *
 *     {notebook: a}                    first-look ┐           survey
 *     {notebook: a, name: first-look}  first-look │ one       first-look ┐ one
 *     {notebook: b}                    first-look ┘ filter    first-look ┘ filter
 *
 * Selections are kept in JupyterLab's state database.
 */
import type { IStateDB } from '@jupyterlab/statedb';
import type { ITranslator } from '@jupyterlab/translation';
import { JSONExt, type ReadonlyPartialJSONValue } from '@lumino/coreutils';
import {
  belongsTo,
  ClusterRef,
  type ClusterTarget,
  followingTarget,
  type NotebookOf,
  pinnedTarget,
  targetKey,
  targetOf
} from '../feed/cluster-ref';
import { Disposing } from '../feed/disposing';
import type { IFeed } from '../feed/feed-types';
import {
  forNextLog,
  SelectionModel,
  selectionFromJSON
} from '../feed/selection';
import type {
  IClusterOffers,
  ITheme,
  PanelContext,
  Stay
} from '../panels/panel-context';
import { TimeViews } from '../panels/time-views';
import type { ClusterInfo } from '../wire/panel-link';

/** A selection is written this long after its last change, so that typing in a filter is one write. */
const SAVE_AFTER_MS = 300;

export class ContextPool extends Disposing {
  private readonly _entries = new Map<string, Entry>();
  private readonly _timeViews = new TimeViews();

  constructor(private readonly _options: ContextPool.IOptions) {
    super();
  }

  /** The context of a target, made at first use; its saved selection comes in a moment (see `restored`). */
  get(target: ClusterTarget): PanelContext {
    const entry = this._entry(target);
    entry.isKept = true;
    return entry.context;
  }

  /** The same until it is released: after that the context of one run is forgotten, if nobody else has it. */
  lend(target: ClusterTarget): PanelContext {
    const entry = this._entry(target);
    entry.isKept ||= target.cluster === undefined;
    entry.users++;
    return entry.context;
  }

  /** What a target means now; no context is made for it. */
  clusterOf(target: ClusterTarget): ClusterInfo | null {
    const known = this._entries.get(targetKey(target));
    if (known !== undefined) {
      return known.context.cluster.current;
    }
    const { feed, notebookOf } = this._options;
    const cluster = new ClusterRef({ feed, target, notebookOf });
    cluster.dispose();
    return cluster.current;
  }

  /** The target that a cluster is followed by, or kept by; in the notebook of `near`, if that uses it. */
  targetOf(
    info: ClusterInfo,
    stay: Stay,
    { notebook }: ClusterTarget = {}
  ): ClusterTarget {
    const { feed, notebookOf } = this._options;
    const own =
      notebook !== undefined && belongsTo(info, { notebook }, notebookOf)
        ? { notebook }
        : targetOf(info, notebookOf);
    switch (stay) {
      case 'follows':
        return followingTarget(info, feed.clusters, notebookOf, own);
      case 'pinned':
        return pinnedTarget(info, feed.clusters, notebookOf, own);
      case 'run':
        return { ...own, name: info.name, cluster: info.cluster };
    }
  }

  /** The context of that target, lent. */
  of(info: ClusterInfo, stay: Stay, near?: ClusterTarget): PanelContext {
    return this.lend(this.targetOf(info, stay, near));
  }

  clearFilter(target: ClusterTarget): void {
    const context = this.lend(target);
    context.selection.clear();
    context.release();
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
    for (const entry of new Set(this._entries.values())) {
      this._free(entry);
    }
  }

  /** Of a run that others have as well the context stays. */
  private _release(entry: Entry): void {
    entry.users--;
    if (entry.users === 0 && !entry.isKept) {
      if (entry.timer.id !== undefined) {
        this._save(entry);
      }
      this._free(entry);
    }
  }

  private _free(entry: Entry): void {
    clearTimeout(entry.timer.id);
    entry.context.cluster.dispose();
    entry.context.selection.dispose();
    for (const [key, known] of this._entries) {
      if (known === entry) {
        this._entries.delete(key);
      }
    }
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
    const context: PanelContext = {
      feed,
      cluster,
      selection,
      theme,
      translator,
      offers: this._options.offers,
      timeViews: this._timeViews,
      of: (info, stay) => this.of(info, stay, cluster.target),
      turnPanels: this._options.turnPanels,
      release: () => this._release(entry)
    };
    const [peer] = this._peersOf(context);
    const entry: Entry = {
      context,
      timer: {},
      users: 0,
      isKept: false,
      log: logOf(cluster.current),
      restored: Promise.resolve()
    };
    this._entries.set(key, entry);
    this._entries.set(targetKey(cluster.target), entry);
    cluster.changed.connect(sender => {
      // An open target finds its notebook later; from then on it is that notebook's context.
      const boundKey = targetKey(sender.target);
      if (!this._entries.has(boundKey)) {
        this._entries.set(boundKey, entry);
      }
      this._onCluster(entry);
    });
    selection.changed.connect(() => {
      for (const other of this._peersOf(context)) {
        other.selection.follow(selection.state);
      }
      this._saveSoon(entry);
    });
    if (peer === undefined) {
      entry.restored = this._restore(entry);
    } else {
      // After `changed` is connected, so that it is saved too: after a reload each asks for its own.
      selection.restore(peer.selection.state);
    }
    return entry;
  }

  /** Other contexts that show the same cluster, of its other notebooks too. */
  private _peersOf({ cluster }: PanelContext): PanelContext[] {
    const log = logOf(cluster.current);
    const contexts = [...this._entries.values()].map(({ context }) => context);
    return log === undefined
      ? []
      : [...new Set(contexts)].filter(
          other =>
            other.cluster !== cluster && logOf(other.cluster.current) === log
        );
  }

  /** Who comes to a cluster takes the filter that it has there, and leaves what is only of the one before. */
  private _onCluster(entry: Entry): void {
    const { cluster, selection } = entry.context;
    const had = entry.log;
    entry.log = logOf(cluster.current);
    if (had !== entry.log) {
      const [peer] = this._peersOf(entry.context);
      if (had !== undefined) {
        selection.enterLog(peer?.selection.state);
      } else if (peer !== undefined) {
        selection.restore(peer.selection.state);
      }
    }
  }

  private async _restore(entry: Entry): Promise<void> {
    const { cluster, selection } = entry.context;
    const saved = await this._options.state?.fetch(saveKey(cluster.target));
    // A change that the user made meanwhile is newer.
    if (saved === undefined || selection.isDisposed || selection.isFiltered) {
      return;
    }
    const state = selectionFromJSON(saved);
    const log = savedLog(saved);
    entry.log ??= log;
    if (log === undefined || log === entry.log) {
      selection.restore(state);
    } else if (this._peersOf(entry.context).length === 0) {
      // The notebook has gone on to another cluster since.
      selection.restore(forNextLog(state));
    }
  }

  private _saveSoon(entry: Entry): void {
    clearTimeout(entry.timer.id);
    entry.timer.id = setTimeout(() => this._save(entry), SAVE_AFTER_MS);
  }

  private _save({ context, timer, log }: Entry): void {
    timer.id = undefined;
    const { filter, time } = context.selection.state;
    void this._options.state?.save(
      saveKey(context.cluster.target),
      // Plain data throughout; JSON drops what is undefined.
      JSON.parse(
        JSON.stringify({ filter, time, log })
      ) as ReadonlyPartialJSONValue
    );
  }
}

type Entry = {
  readonly context: PanelContext;
  readonly timer: { id?: ReturnType<typeof setTimeout> | undefined };
  /** How often it was given for a while, and not yet released. */
  users: number;
  /** It was asked for by its target: nobody says when it is needed no more. */
  isKept: boolean;
  /** The log that its selection is of (see `logOf`): of the cluster that it showed last, be it before a reload. */
  log: string | undefined;
  restored: Promise<void>;
};

export namespace ContextPool {
  export interface IOptions {
    readonly feed: IFeed;
    readonly notebookOf: NotebookOf;
    readonly theme: ITheme;
    readonly translator: ITranslator;
    readonly offers?: IClusterOffers | undefined;
    readonly turnPanels?: PanelContext['turnPanels'];
    /** Without one, selections last as long as the page. */
    readonly state: Pick<IStateDB, 'fetch' | 'save'> | null;
  }
}

function saveKey(target: ClusterTarget): string {
  return `spanwise:selection:${targetKey(target)}`;
}

/** A cluster that is attached anew may keep its id and begin another log. */
function logOf(info: ClusterInfo | null): string | undefined {
  return info === null ? undefined : JSON.stringify([info.cluster, info.logId]);
}

function savedLog(saved: ReadonlyPartialJSONValue): string | undefined {
  const log = JSONExt.isObject(saved) ? saved.log : undefined;
  return typeof log === 'string' ? log : undefined;
}
