/**
 * The feed of a page: one link to the observer, the clusters it tells of, and the watches of all panels. When the link breaks, watches
 * keep their last answer; when it is back, each is asked again with what it has.
 */
import { type ISignal, Signal } from '@lumino/signaling';
import { Disposing } from './disposing';
import type { Trans } from '../base/trans';
import {
  MOST_WATCHES,
  type ClusterInfo,
  type RunDetail
} from '../wire/panel-link';
import type { IFeed, IWatch, LinkStatus, WatchSpec } from './feed-types';
import { type ObserverFrame, PageLink } from './page-link';
import { TileCache } from './tile-cache';
import { Watch } from './watch';

const DETAIL_LIMIT_MS = 10_000;

type Asked = {
  readonly resolve: (run: RunDetail | null) => void;
  readonly reject: (error: Error) => void;
  readonly timer: ReturnType<typeof setTimeout>;
};

export class Feed extends Disposing implements IFeed {
  private _clusters: readonly ClusterInfo[] = [];
  private _nextId = 1;
  private _isStarted = false;
  private readonly _trans: Trans;
  private readonly _link: PageLink;
  private readonly _tiles: TileCache;
  private readonly _watches = new Map<number, Watch>();
  private readonly _details = new Map<number, Asked>();
  private readonly _clustersChanged = new Signal<this, readonly ClusterInfo[]>(
    this
  );
  private readonly _statusChanged = new Signal<this, LinkStatus>(this);

  constructor(options: PageLink.IOptions, tiles = new TileCache()) {
    super();
    this._trans = options.trans;
    this._link = new PageLink(options);
    this._tiles = tiles;
    this._link.received.connect(this._onMessage, this);
    this._link.opened.connect(this._onOpened, this);
    this._link.statusChanged.connect(this._onStatus, this);
  }

  get clusters(): readonly ClusterInfo[] {
    return this._clusters;
  }

  get clustersChanged(): ISignal<this, readonly ClusterInfo[]> {
    return this._clustersChanged;
  }

  get status(): LinkStatus {
    return this._link.status;
  }

  get statusChanged(): ISignal<this, LinkStatus> {
    return this._statusChanged;
  }

  watch(spec: WatchSpec, listener: (watch: IWatch) => void): IWatch {
    if (!this._isStarted) {
      this.reconnect();
    }
    return new Watch(
      {
        link: this._link,
        tiles: this._tiles,
        register: watch => {
          const id = this._nextId;
          this._nextId += 1;
          this._watches.set(id, watch);
          return id;
        },
        unregister: id => {
          this._watches.delete(id);
        },
        ended: () => this._fillPlace(),
        lists: cluster => this._clusters.some(info => info.cluster === cluster)
      },
      spec,
      listener
    );
  }

  detail(cluster: string, run: number): Promise<RunDetail | null> {
    return new Promise((resolve, reject) => {
      if (!this._link.isOpen) {
        reject(
          new Error(this._trans.__('There is no connection to the observer.'))
        );
        return;
      }
      const request = this._nextId;
      this._nextId += 1;
      const timer = setTimeout(() => {
        this._details.delete(request);
        reject(
          new Error(this._trans.__('The observer did not answer in 10 s.'))
        );
      }, DETAIL_LIMIT_MS);
      this._details.set(request, { resolve, reject, timer });
      this._link.send('detail', { request, cluster, run });
    });
  }

  reconnect(): void {
    this._isStarted = true;
    this._link.connect();
  }

  protected override end(): void {
    this._rejectDetails(this._trans.__('The page is closing.'));
    for (const watch of [...this._watches.values()]) {
      watch.dispose();
    }
    this._link.dispose();
    this._tiles.clear();
  }

  private _onMessage(_sender: PageLink, message: ObserverFrame): void {
    switch (message.type) {
      case 'clusters':
        this._clusters = message.fields.clusters;
        this._clustersChanged.emit(this._clusters);
        return;
      case 'snapshot':
        this._watches.get(message.fields.id)?.onSnapshot(message);
        return;
      case 'tile':
        this._watches.get(message.fields.id)?.onTile(message);
        return;
      case 'failure':
        this._watches.get(message.fields.id)?.onFailure(message);
        return;
      case 'detail': {
        const asked = this._details.get(message.fields.request);
        if (asked !== undefined) {
          this._details.delete(message.fields.request);
          clearTimeout(asked.timer);
          asked.resolve(message.fields.run);
        }
        return;
      }
      default:
        // The handshake's messages are between relay and observer; `state` and `refused` have become the status.
        return;
    }
  }

  private _onOpened(): void {
    for (const watch of this._watches.values()) {
      watch.askAgain();
    }
  }

  /**
   * The observer keeps MOST_WATCHES watches and refuses the rest. When one of this page goes, a refused watch may find a place: all that
   * failed ask again.
   */
  private _fillPlace(): void {
    if (this.isDisposed || this._watches.size < MOST_WATCHES) {
      return;
    }
    for (const watch of this._watches.values()) {
      if (watch.failure !== null) {
        watch.askAgain();
      }
    }
  }

  private _onStatus(_sender: PageLink, status: LinkStatus): void {
    if (status.kind !== 'open') {
      this._rejectDetails(
        this._trans.__('The connection to the observer was lost.')
      );
    }
    this._statusChanged.emit(status);
  }

  private _rejectDetails(why: string): void {
    for (const { reject, timer } of this._details.values()) {
      clearTimeout(timer);
      reject(new Error(why));
    }
    this._details.clear();
  }
}
