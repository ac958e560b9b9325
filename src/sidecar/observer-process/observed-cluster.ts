/** One cluster as the observer knows it: its log, what state it is in, and cached answers. In the observer process. */
import { BoundedMap } from '../../base/bounded-map';
import {
  compileFilter,
  compiledFor,
  filterKey,
  type CompiledFilter
} from '../../observer/filter';
import type { FunctionSlots } from '../../observer/function-slots';
import { ingestBlock, ingestBroken } from '../../observer/store/ingest';
import type { ClientRow } from '../../observer/store/cluster-clients';
import { blockRows } from '../../observer/store/block-rows';
import type { Slices } from '../../observer/folds/context';
import { LogStore } from '../../observer/store/log-store';
import type { StoreBounds } from '../../observer/store/store-bounds';
import { decodeBlock } from '../../records/block';
import { NONE_U16 } from '../../records/enumerations';
import type {
  ClusterClient,
  ClusterInfo,
  ClusterState,
  Filter
} from '../../wire/panel-link';
import type { Fields } from '../../wire/schema';
import { newestProcessMemory } from '../../observer/folds/task-stream';
import {
  beforeSentence,
  clockSentence,
  droppedSentence,
  endedSentence,
  lostSentence,
  lostSumsSentence,
  reconnectingSentence,
  unreachableSentence,
  unwatchedSentence,
  unwatchedSinceSentence,
  WATCHER_LOST,
  type EndWhy
} from './sentences';
import { SourceProcess } from './source-process';
import { TileMaker } from './tile-maker';
import { UnreadBlocks } from './unread-blocks';

export type OpenFields = Fields<'source', 'up', 'open'>;

/** Compiled filters, and the pyramids of tiles under them. */
const FILTERS_KEPT = 5;
/** Clocks that are further apart are told of: closer ones show the same times of day. */
const TOLD_SECONDS = 1;

/** How a log ended, as its source said. */
type LogEnd = {
  readonly why: EndWhy;
  /** Seconds since the cluster's start: by what has been read, if nobody said it. */
  at(): number;
  readonly told: string;
  /** Whether only watching has ended. */
  readonly isUnwatched: boolean;
};

export class ObservedCluster {
  private readonly _store: LogStore;
  private readonly _unread = new UnreadBlocks();
  /** Of a log that has not ended. */
  private _liveState: Exclude<ClusterState, 'ended'> = 'starting';
  private _whyLive: string | undefined;
  /** Its source has gone without a word, and may come back. */
  private _isLinkLost = false;
  private _end: LogEnd | null = null;
  /** When it was said to have ended, by this machine's wall clock; Infinity while it lives. */
  private _endToldAt = Infinity;
  private _open: OpenFields;
  /**
   * When the log was opened by this machine's wall clock, and by the steady one, in milliseconds: the log's clock does not jump when the wall
   * clock is set, and stands still while the machine sleeps.
   */
  private readonly _openedAt = Date.now() / 1000;
  private readonly _opened = performance.now();
  private _process: SourceProcess;
  private readonly _filters = new BoundedMap<
    string,
    { readonly validFor: string; readonly compiled: CompiledFilter }
  >(FILTERS_KEPT);
  private readonly _tiles = new BoundedMap<string, TileMaker>(FILTERS_KEPT);
  private readonly _listeners = new Set<() => void>();

  /**
   * @param _onBroken - Told what is wrong with a block, when it is read.
   * @param slotsBefore - Colours of functions, of the cluster of the same notebook before.
   */
  constructor(
    open: OpenFields,
    bounds: StoreBounds = {},
    private readonly _onBroken: (why: string) => void = () => undefined,
    slotsBefore: FunctionSlots | null = null
  ) {
    this._open = open;
    this._process = new SourceProcess(open.pid);
    this._store = new LogStore(open.logId, bounds, slotsBefore);
  }

  /**
   * All that is known of the log. Blocks wait as they came until somebody asks: so whoever asks gets what he would have got if each had been
   * read when it came.
   */
  get store(): LogStore {
    this._readBlocks();
    return this._store;
  }

  /** Colours of functions, as far as blocks have been read. */
  get slots(): FunctionSlots {
    return this._store.slots;
  }

  /** The newest block that is here, read or not. */
  get haveSeq(): number {
    return Math.max(this._store.seq, this._unread.newest);
  }

  /** Bytes of its tables and of what waits for them. */
  get nbytes(): number {
    return this._store.nbytes + this._unread.nbytes;
  }

  get logId(): string {
    return this._store.logId;
  }

  get state(): ClusterState {
    if (this._end !== null) {
      return 'ended';
    }
    if (this._isLinkLost) {
      return 'reconnecting';
    }
    this._readBlocks();
    return this._liveState;
  }

  get id(): string {
    return this._open.clusterId;
  }

  get name(): string {
    return this._open.name;
  }

  get ended(): boolean {
    return this._end !== null;
  }

  /** Whether tasks run, as far as is known: of a cluster that cannot be reached it is not. */
  get isBusy(): boolean {
    return this.state === 'running' && this.store.shape.running.size > 0;
  }

  get endToldAt(): number {
    return this._endToldAt;
  }

  /** Wall clock seconds. */
  private get _endedAt(): number | undefined {
    return this._end === null ? undefined : this._wallClock(this._end.at());
  }

  /** Seconds since the cluster's start, at this moment. */
  now(): number {
    return this.ended ? this.store.now : this._timeAt(performance.now());
  }

  /** Seconds since the cluster's start, at a moment of the steady clock. */
  private _timeAt(moment: number): number {
    const { outage, now } = this.store;
    // (what a scheduler that cannot be reached does is not known)
    return outage !== null
      ? now
      : Math.max(
          now,
          this._openedAt - this._wallClock(0) + (moment - this._opened) / 1000
        );
  }

  /** By what has been read: seconds that the log's clock is ahead of this machine's, on which its source runs too. */
  private get _clockAhead(): number {
    return this._store.clocks.get(NONE_U16)?.offset ?? this._open.clockAhead;
  }

  /** This machine's wall clock at a time of the log. */
  private _wallClock(at: number): number {
    return this._open.wallEpoch - this._clockAhead + at;
  }

  /** `listener` is called after rows came in or the state changed; returns a function that unsubscribes it. */
  onChange(listener: () => void): () => void {
    this._listeners.add(listener);
    return () => this._listeners.delete(listener);
  }

  /** Its source is back. What waits is read when somebody asks, as before. */
  reopened(open: OpenFields): void {
    this._open = open;
    this._process = new SourceProcess(open.pid);
    this._store.reopen();
    this._isLinkLost = false;
    this._end = null;
    this._endToldAt = Infinity;
    this._goOn();
    this._changed();
  }

  /** Takes blocks, to be read when somebody asks. */
  take(blobs: readonly Uint8Array[]): void {
    let isDue = false;
    for (const blob of blobs) {
      isDue = this._unread.add(blob) || isDue;
    }
    if (isDue) {
      this._readBlocks();
    }
    this._changed();
  }

  get unreadBytes(): number {
    return this._unread.wholeBytes;
  }

  /** Reads what waits, with a break behind every block: whoever asks meanwhile reads the rest. */
  *readInSlices(): Slices<void> {
    while (this._readNext()) {
      yield;
    }
  }

  private _readBlocks(): void {
    while (this._readNext()) {
      // (all of them)
    }
  }

  /** A block that cannot be read leaves a gap, and the rest go on. @returns whether one waited. */
  private _readNext(): boolean {
    const blob = this._unread.take();
    if (blob === undefined) {
      return false;
    }
    const store = this._store;
    const { outage } = store;
    try {
      ingestBlock(store, blockRows(decodeBlock(blob)));
    } catch (error) {
      // A broken block must not take the other clusters with it: say so in the log and in `gaps`, and go on.
      const why = error instanceof Error ? error.message : String(error);
      this._onBroken(why);
      ingestBroken(store, sequenceOf(blob), `a block is broken: ${why}`);
    }
    if (this._end !== null) {
      store.shape.running.clear();
    } else if (
      (this._liveState === 'starting' && store.shape.workers.size > 0) ||
      store.outage !== outage
    ) {
      this._goOn();
    }
    return true;
  }

  /** The state of a log whose source is there, by what has been read: asked between two blocks, too. */
  private _goOn(): void {
    const { outage, shape, now } = this._store;
    if (outage !== null) {
      this._liveState = 'reconnecting';
      const since = this._wallClock(outage.since);
      const until = this._wallClock(outage.until);
      this._whyLive = unreachableSentence({ ...outage, since, until }, now);
    } else {
      this._liveState = shape.workers.size > 0 ? 'running' : 'starting';
      this._whyLive = undefined;
    }
  }

  /** Whether the process that wrote the log has ended: then its source does not reconnect. */
  get isProcessGone(): boolean {
    return this._process.isGone;
  }

  linkLost(): void {
    if (!this.ended && !this._isLinkLost) {
      this._isLinkLost = true;
      this._changed();
    }
  }

  /** `at`: seconds since the cluster's start. */
  end(why: EndWhy, at: number, told = '', isUnwatched = false): void {
    this._ended({ why, at: () => at, told, isUnwatched });
  }

  /**
   * Its source is gone without a word. Of a Dask cluster that is who watched it, and the cluster may go on.
   *
   * @param moment - when, by the steady clock.
   */
  lost(moment: number): void {
    const isUnwatched = this._open.kind === 'dask';
    this._ended({
      why: 'scheduler-lost',
      at: () => this._timeAt(moment),
      told: isUnwatched ? WATCHER_LOST : '',
      isUnwatched
    });
  }

  private _ended(end: LogEnd): void {
    this._end = end;
    this._endToldAt = Date.now();
    this._store.shape.running.clear();
    this._changed();
  }

  compiled(filter: Filter): CompiledFilter {
    const key = filterKey(filter);
    const validFor = compiledFor(this.store);
    const kept = this._filters.get(key);
    if (
      kept !== undefined &&
      (kept.validFor === validFor || kept.compiled.isOpen)
    ) {
      return kept.compiled;
    }
    const compiled = compileFilter(filter, this.store);
    this._filters.set(key, { validFor, compiled });
    return compiled;
  }

  /** The tiles of a filter; the pyramids of the last five filters are kept. */
  tiles(filter: Filter): TileMaker {
    const compiled = this.compiled(filter);
    let tiles = this._tiles.get(compiled.key);
    if (tiles === undefined || tiles.filter !== compiled) {
      tiles = new TileMaker(this.store, compiled);
      this._tiles.set(compiled.key, tiles);
    }
    return tiles;
  }

  /** Why it is in its state, if there is more to say. */
  private _why(): string | undefined {
    if (this._end === null) {
      return this._isLinkLost && this._liveState !== 'reconnecting'
        ? reconnectingSentence(this.store.now, this._process.isSeen)
        : this._whyLive;
    }
    const { why, at, told, isUnwatched } = this._end;
    const endedAt = this._wallClock(at());
    return isUnwatched
      ? unwatchedSinceSentence(endedAt, told)
      : endedSentence(why, endedAt, this._open.kind, told);
  }

  info(): ClusterInfo {
    const { store } = this;
    const { shape } = store;
    const process = newestProcessMemory(store);
    const why = this._why();
    const endedAt = this._endedAt;
    return {
      cluster: this.id,
      name: this._open.name,
      kind: this._open.kind,
      logId: this._open.logId,
      state: this.state,
      startedAt: this._wallClock(0),
      workers: [...shape.workers.values()].map(worker => ({
        worker: worker.worker,
        name: worker.name,
        threads: worker.threads,
        memoryLimit: worker.memoryLimit,
        process: process.get(worker.worker) ?? 0,
        state: this.ended ? 'gone' : shape.stateOf(worker.worker),
        ...this._whyPaused(worker.worker),
        joined: this._wallClock(worker.joined),
        ...(Number.isNaN(worker.left)
          ? {}
          : { left: this._wallClock(worker.left) })
      })),
      threads: shape.threads,
      running: this.ended ? 0 : this._runningCount(),
      ...(shape.givenUpCount > 0 && { runningCancelled: shape.givenUpCount }),
      ...this._waiting(),
      tasks: Math.max(store.nodes.endRow, store.runCount),
      runs: store.runCount,
      capabilities: this._open.capabilities,
      ...(why === undefined ? {} : { why }),
      ...(endedAt === undefined ? {} : { endedAt }),
      ...(this._end?.isUnwatched === true ? { unwatched: true } : {}),
      ...(this._open.notebook ? { notebook: this._open.notebook } : {}),
      ...(this._open.environment === ''
        ? {}
        : { environment: this._open.environment }),
      clients: store.clients.listed().map(row => this._client(row)),
      ...this._clock(),
      ...this._dropped()
    };
  }

  private _client(row: ClientRow): ClusterClient {
    const { client, name, kernel, path } = row;
    const notebook = {
      ...(kernel === '' ? {} : { kernelId: kernel }),
      ...(path === '' ? {} : { path })
    };
    // Whoever was connected at the end of the cluster has left with it.
    const left = Number.isNaN(row.left)
      ? this._endedAt
      : this._wallClock(row.left);
    return {
      client,
      name,
      joined: this._wallClock(row.joined),
      ...(kernel === '' && path === '' ? {} : { notebook }),
      ...(left === undefined ? {} : { left })
    };
  }

  /** Of runs workers tell from 0.1 s on. While others wait, their threads take the next one at once, as the source has counted. */
  private _runningCount(): number {
    const { shape, progress } = this.store;
    return shape.waiting.length > 0
      ? Math.max(shape.running.size, progress.running)
      : shape.running.size;
  }

  /** Known while its source is there. */
  private _waiting(): { readonly waiting?: ClusterInfo['waiting'] } {
    const { state, store } = this;
    const waiting = store.shape.waiting.map(
      ({ reason, tasks, told, need, command }) => ({
        reason,
        tasks,
        ...(told !== '' && { told }),
        ...(need !== '' && { need }),
        ...(command !== '' && { command })
      })
    );
    return waiting.length > 0 && (state === 'running' || state === 'starting')
      ? { waiting }
      : {};
  }

  /** Why a paused worker says that it paused. */
  private _whyPaused(worker: number): { readonly why?: string } {
    const { events, pauseRows, shape } = this.store;
    const row = pauseRows.get(worker);
    const isSaid =
      row !== undefined &&
      events.has(row) &&
      shape.stateOf(worker) === 'paused';
    return isSaid && !this.ended ? { why: events.text('text', row) } : {};
  }

  /** What is to be known of its clock. */
  private _clock(): { readonly clock?: string } {
    const ahead = this._clockAhead;
    return Math.abs(ahead) > TOLD_SECONDS
      ? { clock: clockSentence(ahead) }
      : {};
  }

  /** What is missing in the figures. */
  private _dropped(): { readonly dropped?: string } {
    const { droppedRuns, droppedBefore, lostRuns, lostBefore } = this.store;
    const { attached, notTold } = this.store.header;
    const { lostSums, unwatched } = this.store;
    const sentences = [
      ...(typeof attached === 'number' && attached > 0
        ? [beforeSentence(attached)]
        : []),
      ...(typeof notTold === 'string' && notTold !== '' ? [notTold] : []),
      ...(droppedRuns > 0 ? [droppedSentence(droppedRuns, droppedBefore)] : []),
      ...(lostBefore > -Infinity ? [lostSentence(lostRuns, lostBefore)] : []),
      ...(lostSums === null
        ? []
        : [lostSumsSentence(lostSums.rows, lostSums.from)]),
      ...(unwatched === null
        ? []
        : [unwatchedSentence(unwatched.from, unwatched.to)])
    ];
    return sentences.length > 0 ? { dropped: sentences.join(' ') } : {};
  }

  private _changed(): void {
    for (const listener of this._listeners) {
      listener();
    }
  }
}

/** The sequence number in the header of a block whose rest may be broken. */
function sequenceOf(blob: Uint8Array): number {
  return blob.length >= 8
    ? new DataView(blob.buffer, blob.byteOffset).getUint32(4, true)
    : 0;
}
