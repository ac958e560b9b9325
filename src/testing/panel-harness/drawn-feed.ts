/** A feed that answers from a drawn run, after a given delay, as the relay would. */
import { Signal } from '@lumino/signaling';
import type {
  IFeed,
  IWatch,
  LinkStatus,
  TileData,
  WatchChange,
  WatchSpec
} from '../../feed/feed-types';
import type {
  ClusterInfo,
  RunDetail,
  Snapshot,
  ViewResult
} from '../../wire/panel-link';
import {
  detailOf,
  fineMetricsOf,
  memoryOf,
  profileOf,
  taskStreamOf,
  tasksOf,
  tileOf
} from './drawn-answers';
import type { DrawnBox, DrawnRun } from './drawn-run';

type DrawnFeedOptions = {
  readonly run: DrawnRun;
  readonly live?: boolean;
  readonly delayMs?: number;
  /** Functions beside those of the run, to see long lists. */
  readonly moreFunctions?: number;
  /** Instead of the drawn answers. */
  readonly answer?: (spec: WatchSpec) => ViewResult | null;
  readonly tile?: (spec: WatchSpec, level: number, index: number) => TileData;
  readonly detail?: (run: number) => RunDetail | null;
};

export class DrawnFeed implements IFeed {
  readonly clusters: readonly ClusterInfo[];
  readonly clustersChanged = new Signal<this, readonly ClusterInfo[]>(this);
  readonly status: LinkStatus = { kind: 'open' };
  readonly statusChanged = new Signal<this, LinkStatus>(this);
  isDisposed = false;

  private readonly _bySecond = new Map<number, DrawnBox[]>();
  private readonly _tiles = new Map<string, TileData>();

  constructor(readonly options: DrawnFeedOptions) {
    const { run } = options;
    this.clusters = [
      {
        cluster: 'drawn',
        name: 'first-look',
        kind: 'embedded',
        logId: 'log',
        state: options.live ? 'running' : 'ended',
        why: options.live
          ? undefined
          : 'Ended at 09:22:10: the client was closed. The history is kept.',
        startedAt: 1.7e9,
        endedAt: options.live ? undefined : 1.7e9 + run.end,
        workers: [],
        threads: run.workers * run.threads,
        running: options.live ? 8 : 0,
        tasks: run.boxes.length,
        capabilities: {}
      }
    ];
    // Boxes by second, so that a tile of a million runs is found at once.
    for (const box of run.boxes) {
      const bucket = Math.floor(box.from);
      let list = this._bySecond.get(bucket);
      if (list === undefined) {
        list = [];
        this._bySecond.set(bucket, list);
      }
      list.push(box);
    }
  }

  watch(spec: WatchSpec, listener: (watch: IWatch) => void): IWatch {
    return new DrawnWatch(this, spec, listener);
  }

  detail(_cluster: string, run: number): Promise<RunDetail | null> {
    return new Promise(resolve => {
      setTimeout(
        () =>
          resolve(
            this.options.detail === undefined
              ? detailOf(this.options.run, run)
              : this.options.detail(run)
          ),
        this.options.delayMs ?? 0
      );
    });
  }

  reconnect(): void {
    // Always open.
  }

  dispose(): void {
    this.isDisposed = true;
  }

  answer(spec: WatchSpec): ViewResult {
    const { run, live = false, moreFunctions } = this.options;
    const own = this.options.answer?.(spec);
    if (own) {
      return own;
    }
    switch (spec.view) {
      case 'tasks':
        return tasksOf(run, spec.params);
      case 'fine-metrics':
        return fineMetricsOf(run, spec.params, moreFunctions);
      case 'profile':
        return profileOf(run);
      case 'memory':
        return memoryOf(spec.params);
      default:
        return taskStreamOf(run, live);
    }
  }

  tile(spec: WatchSpec, level: number, index: number): TileData {
    if (this.options.tile !== undefined) {
      return this.options.tile(spec, level, index);
    }
    const key = `${level}/${index}`;
    let tile = this._tiles.get(key);
    if (tile === undefined) {
      const seconds = 2 ** level * 512e-6;
      const boxes: DrawnBox[] = [];
      // A box is at most 4 s long.
      for (
        let second = Math.floor(index * seconds) - 4;
        second <= (index + 1) * seconds;
        second += 1
      ) {
        boxes.push(...(this._bySecond.get(second) ?? []));
      }
      tile = tileOf(boxes, this.options.run.functions, level, index);
      this._tiles.set(key, tile);
    }
    return tile;
  }
}

class DrawnWatch implements IWatch {
  snapshot: Snapshot | null = null;
  readonly failure = null;
  readonly tileArrived: Signal<IWatch, TileData> = new Signal(this);
  isDisposed = false;

  private _seq = 0;
  private readonly _here = new Map<string, TileData>();
  private readonly _asked = new Set<string>();

  constructor(
    private readonly _feed: DrawnFeed,
    private _spec: WatchSpec,
    private readonly _listener: (watch: IWatch) => void
  ) {
    this._answerLater();
  }

  change(change: WatchChange): void {
    if (change.filter !== undefined) {
      this._here.clear();
      this._asked.clear();
    }
    this._spec = { ...this._spec, ...change };
    this._answerLater();
  }

  tile(level: number, index: number): TileData | null {
    return this._here.get(`${level}/${index}`) ?? null;
  }

  requestTiles(level: number, first: number, count: number): void {
    for (let index = first; index < first + count; index += 1) {
      const key = `${level}/${index}`;
      if (this._here.has(key) || this._asked.has(key)) {
        continue;
      }
      this._asked.add(key);
      setTimeout(() => {
        if (!this.isDisposed) {
          const tile = this._feed.tile(this._spec, level, index);
          this._here.set(key, tile);
          this.tileArrived.emit(tile);
        }
      }, this._feed.options.delayMs ?? 0);
    }
  }

  dispose(): void {
    this.isDisposed = true;
    Signal.clearData(this);
  }

  private _answerLater(): void {
    setTimeout(() => {
      if (this.isDisposed) {
        return;
      }
      this._seq += 1;
      this.snapshot = {
        type: 'snapshot',
        id: 1,
        seq: this._seq,
        logId: 'log',
        logSeq: this._seq,
        honoured: { how: 'exact' },
        result: this._feed.answer(this._spec)
      };
      this._listener(this);
    }, this._feed.options.delayMs ?? 0);
  }
}
