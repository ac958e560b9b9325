/** A feed whose answers the test gives; for specs of panels and of the sidebar too. */
import { type ISignal, Signal } from '@lumino/signaling';
import type {
  ClusterInfo,
  RunDetail,
  Snapshot,
  ViewResult
} from '../../wire/panel-link';
import type {
  IFeed,
  IWatch,
  LinkStatus,
  TileData,
  WatchChange,
  WatchSpec
} from '../feed-types';

export function clusterInfo(over: Partial<ClusterInfo> = {}): ClusterInfo {
  return {
    cluster: 'c1',
    name: 'first-look',
    kind: 'embedded',
    logId: 'log-1',
    state: 'running',
    startedAt: 1000,
    clients: [],
    workers: [0, 1].map(worker => ({
      worker,
      name: `worker ${worker}`,
      threads: 2,
      memoryLimit: 2 ** 32,
      process: 2 ** 30,
      state: 'running'
    })),
    threads: 4,
    running: 0,
    tasks: 10,
    capabilities: {},
    ...over
  };
}

class FakeWatch implements IWatch {
  snapshot: Snapshot | null = null;
  failure: string | null = null;
  isAsking = true;
  isDisposed = false;
  readonly changes: WatchChange[] = [];
  readonly tileArrived: Signal<IWatch, TileData> = new Signal(this);

  constructor(
    public spec: WatchSpec,
    private readonly _listener: (watch: IWatch) => void
  ) {}

  answer(result: ViewResult, over: Partial<Snapshot> = {}): void {
    this.failure = null;
    this.isAsking = false;
    this.snapshot = {
      type: 'snapshot',
      id: 1,
      seq: (this.snapshot?.seq ?? 0) + 1,
      logId: 'log-1',
      logSeq: 1,
      honoured: { how: 'exact' },
      result,
      ...over
    };
    this._listener(this);
  }

  fail(sentence: string): void {
    this.failure = sentence;
    this.isAsking = false;
    this._listener(this);
  }

  change(change: WatchChange): void {
    this.changes.push(change);
    const before = JSON.stringify(this.spec);
    this.spec = { ...this.spec, ...change };
    // The same question has no answer.
    this.isAsking ||= JSON.stringify(this.spec) !== before;
  }

  tile(): TileData | null {
    return null;
  }

  isFresh(tile: TileData, answer = this.snapshot): boolean {
    return tile.logSeq >= (answer?.logSeq ?? 0);
  }

  requestTiles(): void {
    // Specs that need tiles put their own in place.
  }

  dispose(): void {
    this.isDisposed = true;
  }
}

export class FakeFeed implements IFeed {
  clusters: readonly ClusterInfo[] = [];
  status: LinkStatus = { kind: 'open' };
  isDisposed = false;
  readonly watches: FakeWatch[] = [];
  private readonly _clustersChanged = new Signal<this, readonly ClusterInfo[]>(
    this
  );
  private readonly _statusChanged = new Signal<this, LinkStatus>(this);

  get clustersChanged(): ISignal<this, readonly ClusterInfo[]> {
    return this._clustersChanged;
  }

  get statusChanged(): ISignal<this, LinkStatus> {
    return this._statusChanged;
  }

  /** The watches that run now. */
  get running(): FakeWatch[] {
    return this.watches.filter(watch => !watch.isDisposed);
  }

  setClusters(...clusters: ClusterInfo[]): void {
    this.clusters = clusters;
    this._clustersChanged.emit(clusters);
  }

  setStatus(status: LinkStatus): void {
    this.status = status;
    this._statusChanged.emit(status);
  }

  watch(spec: WatchSpec, listener: (watch: IWatch) => void): FakeWatch {
    const watch = new FakeWatch(spec, listener);
    this.watches.push(watch);
    return watch;
  }

  detail(): Promise<RunDetail | null> {
    return Promise.resolve(null);
  }

  reconnect(): void {
    // Nothing to connect.
  }

  dispose(): void {
    this.isDisposed = true;
  }
}
