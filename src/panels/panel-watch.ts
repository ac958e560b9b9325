/**
 * The watch behind a panel: running while the panel is visible and has a cluster, stopped while it is hidden; follows the selection
 * unless the panel is unlinked from it. Keeps the last answer, so that a panel shown again is not empty.
 */
import { type ISignal, Signal } from '@lumino/signaling';
import { Disposing } from '../feed/disposing';
import type { IWatch } from '../feed/feed-types';
import type { SelectionModel } from '../feed/selection';
import type { Filter, Snapshot, TimeRange, ViewName } from '../wire/panel-link';
import type { PanelContext } from './panel-context';

/** Filter and range of a question. */
export type Asked = { readonly filter: Filter; readonly time: TimeRange };

export class PanelWatch extends Disposing {
  private _watch: IWatch | null = null;
  private _snapshot: Snapshot | null = null;
  private _failure: string | null = null;
  /** What the last answer is to. */
  private _answered: Asked | null = null;
  private _frozen: Asked | null = null;
  private _clusterId: string | null = null;
  private _isWanted = false;
  private readonly _changed = new Signal<this, void>(this);

  constructor(private readonly _options: PanelWatch.IOptions) {
    super();
    const { cluster, selection } = _options.context;
    cluster.changed.connect(this._onCluster, this);
    selection.changed.connect(this._onSelection, this);
  }

  /** A new answer, a failure, another cluster, or another filter. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get snapshot(): Snapshot | null {
    return this._snapshot;
  }

  get failure(): string | null {
    return this._failure;
  }

  /** The running watch, for tiles; null while hidden or without a cluster. */
  get watch(): IWatch | null {
    return this._watch;
  }

  /** The newest question has no answer yet, and the link is there. */
  get isAsking(): boolean {
    return (
      this._watch?.isAsking === true &&
      this._options.context.feed.status.kind === 'open'
    );
  }

  /** Filter and range that the last answer is to; before it, those that are asked for. */
  get answered(): Asked {
    return this._answered ?? { filter: this.filter, time: this.time };
  }

  /** The last answer is to another filter or range, and the one to these is on its way. */
  get isOutdated(): boolean {
    const { filter, time } = this;
    return (
      this.isAsking &&
      JSON.stringify(this.answered) !== JSON.stringify({ filter, time })
    );
  }

  get filter(): Filter {
    const filter = this._frozen?.filter ?? this._asked().filter;
    return this._options.narrowed?.(filter) ?? filter;
  }

  get time(): TimeRange {
    return this._frozen?.time ?? this._asked().time;
  }

  /** An unlinked panel keeps the filter it had, whatever the selection does. */
  get isUnlinked(): boolean {
    return this._frozen !== null;
  }

  setUnlinked(isUnlinked: boolean): void {
    const { filter, time } = this._asked();
    this._frozen = isUnlinked ? { filter, time } : null;
    this._onSelection();
  }

  /** Goes on from the last answer of another watch of the same cluster, and from its filter if it was unlinked. */
  takeOver(last: PanelWatch): void {
    const id = this._options.context.cluster.current?.cluster ?? null;
    if (id !== null && id === last._clusterId) {
      this._clusterId = id;
      this._snapshot = last._snapshot;
      this._answered = last._answered;
      this._frozen = last._frozen;
    }
  }

  start(): void {
    this._isWanted = true;
    // Without a link there is no cluster to watch either; the first panel opens it.
    if (this._options.context.feed.status.kind === 'connecting') {
      this._options.context.feed.reconnect();
    }
    this._open();
  }

  stop(): void {
    this._isWanted = false;
    this._close();
  }

  /** The panel's own params changed. */
  setParams(params: Readonly<Record<string, unknown>>): void {
    this._watch?.change({ params });
  }

  /** What it is narrowed to changed. */
  askAgain(): void {
    this._onSelection();
  }

  protected override end(): void {
    const { cluster, selection } = this._options.context;
    cluster.changed.disconnect(this._onCluster, this);
    selection.changed.disconnect(this._onSelection, this);
    this._close();
  }

  private _open(): void {
    const { context, view, params, maxHz, sharedFunctions } = this._options;
    const cluster = context.cluster.current;
    if (!this._isWanted || this._watch !== null || cluster === null) {
      return;
    }
    this._clusterId = cluster.cluster;
    this._watch = context.feed.watch(
      {
        cluster: cluster.cluster,
        view,
        filter: this.filter,
        time: this.time,
        params: params(),
        maxHz,
        ...(sharedFunctions === true && { sharedFunctions })
      },
      watch => {
        if (watch.snapshot !== null && watch.snapshot !== this._snapshot) {
          this._snapshot = watch.snapshot;
          this._answered = { filter: this.filter, time: this.time };
        }
        this._failure = watch.failure;
        this._changed.emit();
      }
    );
  }

  private _close(): void {
    this._watch?.dispose();
    this._watch = null;
  }

  private _onCluster(): void {
    const id = this._options.context.cluster.current?.cluster ?? null;
    if (id !== this._clusterId) {
      this._close();
      this._snapshot = null;
      this._answered = null;
      this._failure = null;
      this._clusterId = id;
      this._open();
    }
    this._changed.emit();
  }

  private _asked(): Asked {
    const { context, asked } = this._options;
    return asked?.(context.selection) ?? context.selection;
  }

  private _onSelection(): void {
    // Called when a run is selected, too; the watch sends only what has changed.
    this._watch?.change({ filter: this.filter, time: this.time });
    this._changed.emit();
  }
}

export namespace PanelWatch {
  export interface IOptions {
    readonly context: PanelContext;
    readonly view: ViewName;
    readonly params: () => Readonly<Record<string, unknown>>;
    /** What of the selection is asked for; all of it if left out. */
    readonly asked?: (selection: SelectionModel) => Asked;
    /** What is asked for beside the selection, also while the watch is unlinked from it. */
    readonly narrowed?: (filter: Filter) => Filter;
    readonly maxHz?: number;
    /** Whether runs are compared with this one. */
    readonly sharedFunctions?: boolean;
  }
}
