/**
 * One watch of a view: what was asked, the newest answer, its tiles. It is asked again whenever the link reopens.
 *
 * A change takes a round trip. So each question has a number, and an answer to an earlier one is dropped. Tiles have none: one that was on
 * its way when the filter changed must not be kept as one of the new filter; so a new filter takes a **new id**, and answers to the old
 * one find no watch.
 */
import { type ISignal, Signal } from '@lumino/signaling';
import { Disposing } from './disposing';
import type { Snapshot } from '../wire/panel-link';
import { paramsOf, timeOf } from '../wire/question';
import type {
  IWatch,
  TileData,
  TileRows,
  WatchChange,
  WatchSpec
} from './feed-types';
import type { ObserverFrame, PageLink } from './page-link';
import type { TileCache } from './tile-cache';

/** Tiles in one request; the observer takes no more. */
const TILES_PER_REQUEST = 64;
/** A tile asked for longer ago than this is asked for again. */
const TILE_LIMIT_MS = 10_000;
const ALL_LANES: TileRows = { groupSize: 0, group: null };

type SnapshotFrame = Extract<ObserverFrame, { type: 'snapshot' }>;
type FailureFrame = Extract<ObserverFrame, { type: 'failure' }>;
type TileFrame = Extract<ObserverFrame, { type: 'tile' }>;

export class Watch extends Disposing implements IWatch {
  private _id: number;
  private _spec: WatchSpec;
  /** Of the newest question. */
  private _question = 1;
  private _snapshot: Snapshot | null = null;
  /** What the watch's tiles are of; null until the log and the filter of an answer are known. */
  private _scopeName: string | null = null;
  /** The scopes of its tiles, by the rows that they have. */
  private readonly _scopes = new Map<string, number>();
  /** An observer has told of the cluster. */
  private _isExpected = false;
  private _failure: string | null = null;
  /** Some tiles that were asked for have not been made. */
  private _tilesFailure: string | null = null;
  private _isAsking = true;
  /** True until the first answer: the observer makes no tiles before it, so those asked for meanwhile may never come. */
  private _mayLackTiles = true;
  /** Tiles on their way, and since when. */
  private readonly _asked = new Map<string, number>();
  /** Tiles to ask for at the end of this turn, by level and rows. */
  private readonly _wanted = new Map<string, Wanted>();
  private readonly _tileArrived = new Signal<IWatch, TileData>(this);

  constructor(
    private readonly _host: Watch.IHost,
    spec: WatchSpec,
    private readonly _listener: (watch: IWatch) => void
  ) {
    super();
    this._spec = normalForm(spec);
    this._id = _host.register(this);
    this._ask();
  }

  get snapshot(): Snapshot | null {
    return this._snapshot;
  }

  get failure(): string | null {
    return this._failure ?? this._tilesFailure;
  }

  get isAsking(): boolean {
    return this._isAsking;
  }

  get tileArrived(): ISignal<IWatch, TileData> {
    return this._tileArrived;
  }

  change(change: WatchChange): void {
    if (this.isDisposed) {
      return;
    }
    const before = this._spec;
    const after = normalForm({
      ...before,
      filter: change.filter ?? before.filter,
      time: change.time ?? before.time,
      params: change.params ?? before.params
    });
    const [filter, time, params] = (['filter', 'time', 'params'] as const).map(
      part => JSON.stringify(after[part]) !== JSON.stringify(before[part])
    );
    if (!filter && !time && !params) {
      // The question stays the same, so there would be no answer.
      return;
    }
    this._spec = after;
    this._question++;
    this._isAsking = true;
    if (filter) {
      this._setScope();
      this._host.link.send('unwatch', { id: this._id });
      this._host.unregister(this._id);
      this._id = this._host.register(this);
      this._asked.clear();
      this._wanted.clear();
      this._ask();
      return;
    }
    this._host.link.send('change', {
      id: this._id,
      question: this._question,
      ...(time && { time: after.time }),
      ...(params && { params: after.params })
    });
  }

  tile(
    level: number,
    index: number,
    rows: TileRows = ALL_LANES
  ): TileData | null {
    const scope = this._scopeOf(rows);
    return scope === null ? null : this._host.tiles.get(scope, level, index);
  }

  isFresh(tile: TileData, answer = this._snapshot): boolean {
    const { logSeq = 0, result } = answer ?? {};
    const lateSeq = result?.view === 'task-stream' ? (result.lateSeq ?? 0) : 0;
    return tile.logSeq >= (tile.settled ? lateSeq : logSeq);
  }

  requestTiles(
    level: number,
    first: number,
    count: number,
    rows: TileRows = ALL_LANES
  ): void {
    if (this.isDisposed) {
      return;
    }
    const now = Date.now();
    for (let index = first; index < first + count; index++) {
      const key = tileKey(level, index, rows);
      const askedAt = this._asked.get(key);
      const isOnItsWay = askedAt !== undefined && now - askedAt < TILE_LIMIT_MS;
      const here = this.tile(level, index, rows);
      if (!isOnItsWay && (here === null || !this.isFresh(here))) {
        this._asked.set(key, now);
        this._want(level, index, rows);
      }
    }
  }

  // ------------------------------------------------------------ for the feed

  /** The other side knows nothing of this watch: the link reopened, or there was no place for it. */
  askAgain(): void {
    this._asked.clear();
    this._ask();
  }

  onSnapshot({ fields }: SnapshotFrame): void {
    this._host.link.send('ack', { id: fields.id, seq: fields.seq });
    if (!this._isOfNewest(fields)) {
      return;
    }
    this._failure = this._tilesFailure = null;
    this._isAsking = false;
    if (this._mayLackTiles) {
      this._mayLackTiles = false;
      this._asked.clear();
    }
    this._snapshot = { type: 'snapshot', ...fields };
    this._setScope();
    this._listener(this);
  }

  onTile({ fields, tables }: TileFrame): void {
    const { groupSize, group, ...header } = fields;
    const rows = { groupSize, group: group < 0 ? null : group };
    this._asked.delete(tileKey(header.level, header.index, rows));
    const scope = this._scopeOf(rows);
    if (scope === null) {
      return;
    }
    const tile: TileData = { ...header, ...tables.boxes };
    this._host.tiles.put(scope, tile);
    if (this._tilesFailure !== null) {
      // Tiles come again. A run that is over brings no other snapshot that would remove the sentence.
      this._tilesFailure = null;
      this._listener(this);
    }
    this._tileArrived.emit(tile);
  }

  onFailure({ fields }: FailureFrame): void {
    if (fields.tiles) {
      this._tilesFailure = fields.sentence;
    } else if (!this._isOfNewest(fields)) {
      return;
    } else {
      this._failure = fields.sentence;
      this._isAsking = false;
      this._mayLackTiles = true;
    }
    this._asked.clear();
    this._listener(this);
  }

  protected override end(): void {
    this._host.link.send('unwatch', { id: this._id });
    this._host.unregister(this._id);
    this._host.ended();
  }

  /** An observer of before does not say which question it answers. */
  private _isOfNewest({ question }: { readonly question?: number }): boolean {
    return question === undefined || question === this._question;
  }

  private _ask(): void {
    this._mayLackTiles = true;
    const { cluster, view, filter, time, params, maxHz, sharedFunctions } =
      this._spec;
    // Kept: a new observer lists no clusters yet, and has to learn that this one exists.
    this._isExpected ||= this._snapshot !== null || this._host.lists(cluster);
    this._host.link.send('watch', {
      id: this._id,
      question: this._question,
      cluster,
      view,
      filter,
      time,
      params: { ...params },
      maxHz,
      ...(this._isExpected && { expected: true }),
      ...(sharedFunctions === true && { sharedFunctions })
    });
  }

  /** Tiles belong to a log and a filter. The filter is turned into text here, and not for each tile of each frame. */
  private _setScope(): void {
    const name =
      this._snapshot === null
        ? null
        : `${this._snapshot.logId} ${JSON.stringify(this._spec.filter)}`;
    if (name !== this._scopeName) {
      this._scopeName = name;
      this._scopes.clear();
    }
  }

  private _scopeOf(rows: TileRows): number | null {
    if (this._scopeName === null) {
      return null;
    }
    const key = rowsKey(rows);
    let scope = this._scopes.get(key);
    if (scope === undefined) {
      scope = this._host.tiles.scope(`${this._scopeName} ${key}`);
      this._scopes.set(key, scope);
    }
    return scope;
  }

  private _want(level: number, index: number, rows: TileRows): void {
    const isFirst = this._wanted.size === 0;
    const key = `${level}/${rowsKey(rows)}`;
    const wanted = this._wanted.get(key) ?? { level, rows, indices: [] };
    wanted.indices.push(index);
    this._wanted.set(key, wanted);
    if (isFirst) {
      queueMicrotask(() => this._sendWanted());
    }
  }

  private _sendWanted(): void {
    for (const { level, rows, indices } of this._wanted.values()) {
      const { groupSize, group } = rows;
      for (const { first, count } of runsOf(indices, TILES_PER_REQUEST)) {
        this._host.link.send('tiles', {
          id: this._id,
          level,
          first,
          count,
          ...(groupSize > 0 && { groupSize, group: group ?? -1 })
        });
      }
    }
    this._wanted.clear();
  }
}

type Wanted = {
  readonly level: number;
  readonly rows: TileRows;
  readonly indices: number[];
};

function rowsKey({ groupSize, group }: TileRows): string {
  return `${groupSize}/${group ?? ''}`;
}

function tileKey(level: number, index: number, rows: TileRows): string {
  return `${level}/${index}/${rowsKey(rows)}`;
}

export namespace Watch {
  export interface IHost {
    readonly link: PageLink;
    readonly tiles: TileCache;
    /** Gives the watch an id under which it gets answers. */
    register(watch: Watch): number;
    unregister(id: number): void;
    /** The page has one watch less. */
    ended(): void;
    /** Whether the observer last told of this cluster. */
    lists(cluster: string): boolean;
  }
}

function normalForm(spec: WatchSpec): WatchSpec {
  const { view, time, params } = spec;
  return { ...spec, time: timeOf(time), params: paramsOf(view, params) };
}

/** 3 4 5 9 10 → {first 3, count 3}, {first 9, count 2}; none longer than `longest`. */
function runsOf(
  indices: readonly number[],
  longest: number
): { first: number; count: number }[] {
  const runs: { first: number; count: number }[] = [];
  for (const index of [...new Set(indices)].sort((a, b) => a - b)) {
    const last = runs[runs.length - 1];
    if (last && index === last.first + last.count && last.count < longest) {
      last.count += 1;
    } else {
      runs.push({ first: index, count: 1 });
    }
  }
  return runs;
}
