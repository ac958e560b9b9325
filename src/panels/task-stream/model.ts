/**
 * What the Task Stream shows and how the user moves it: view, following,
 * colours, collapsed workers. Holds the newest answer and asks for tiles; draws
 * nothing. Two signals, because most moves need a repaint of the canvases and
 * no React: `moved` (view or data) and `changed` (what React shows).
 */
import type { JSONObject } from '@lumino/coreutils';
import { type ISignal, Signal } from '@lumino/signaling';
import { Disposing } from '../../feed/disposing';
import type { IWatch, TileData } from '../../feed/feed-types';
import type { LaneIndex } from '../../records/ids';
import type { Filter, TaskStreamResult } from '../../wire/panel-link';
import { BesideLanes } from './beside-lanes';
import type { SelectedPlace } from './lane-scene';
import { groupOfLane, type Shown, shownLanes } from './lane-groups';
import { BAND_HEIGHT } from './frame-painter';
import { heightBesideLanes } from './lane-layout';
import { BAND_LEVELS, type BandRow, placedBands, slotsByName } from './rows';
import { levelFor, tilesFor, type TileRange } from './tile-plan';
import {
  around,
  clamped,
  type Extent,
  fit,
  followed,
  panned,
  type Viewport,
  zoomedAt
} from './viewport';

/** What a picture shows: the tiles of a view, and the answer of when it was asked for. */
type WholeTiles = {
  readonly range: TileRange;
  readonly tiles: readonly TileData[];
  readonly view: Viewport;
  readonly result: TaskStreamResult;
  readonly bands: readonly BandRow[];
  /** How many bands have no row. */
  readonly bandsWithoutRow: number;
};

export type ColourBy = 'function' | 'kind';

const NONE_COLLAPSED: ReadonlySet<number> = new Set();

/**
 * What the view shows while it follows: the newest work, which begins after the last long pause; the whole run; or as many seconds as the
 * user chose, up to the newest.
 *
 *     whole run   ▁▅█▅▁______▁▇█▅▇▁____________▁▃▇▇
 *     whole      [                                 ]
 *     newest                                  [    ]
 *     width                                      [ ]
 */
type Followed = 'newest' | 'whole' | 'width';

/** While all of something that grows is followed its right border moves in steps, so that the scale does not change with every frame. */
const GROW_STEP = 1.12;
/** A view of so much of what could be followed shows all of it. */
const NEARLY_ALL = 0.98;
/** Room beside a task that is brought into view, as a share of that. */
const REVEAL_ROOM = 0.05;
/** Room on both sides of a selection that is fitted, as a share of it. */
const SELECTION_ROOM = 0.04;
/** Borders that differ by less of the view show the same. */
const NEARLY_SAME = 0.01;
/** Levels above the wanted one that are fetched too: an eighth of the detail, to stand in while panning. */
const STAND_IN_LEVELS = 3;
const TELL_MS = 500;

export class TaskStreamModel extends Disposing {
  private readonly _clock: () => number;
  private _watch: IWatch | null = null;
  private _result: TaskStreamResult | null = null;
  private _arrivedAt = 0;
  private _bands: readonly BandRow[] = [];
  private _bandsWithoutRow: readonly string[] = [];
  private _unfoldsBands = false;
  private _room = 0;
  private _slots: ReadonlyMap<
    string,
    { readonly slot: number; readonly round: number }
  > = new Map();
  private _slotsVersion = 0;
  private _view: Viewport = { from: 0, to: 1 };
  private _isFollowing = true;
  private _followed: Followed = 'newest';
  /** Where the newest work begins under the filter, as told. */
  private _newestFrom = -Infinity;
  private _filter: Filter = {};
  /** The view that *Fit* has made of the selection, while the filter is the same, and what was shown and followed before. */
  private _fitted: {
    readonly view: Viewport;
    readonly before: {
      readonly view: Viewport;
      readonly isFollowing: boolean;
      readonly followed: Followed;
    };
  } | null = null;
  /** Up to where the whole run is shown, and its newest work. */
  private _grown = 0;
  private _grownNewest = 0;
  private _brush: Extent | null = null;
  private _selectedPlace: SelectedPlace | null = null;
  private _askedFor = '';
  private _colourBy: ColourBy;
  private _collapsed: ReadonlySet<number> = new Set();
  /** Of very many workers one of the group whose lanes are shown; null: each group has a row. */
  private _opened: number | null = null;
  private _shown: Shown = {
    rows: undefined,
    lanes: [],
    workers: [],
    headed: new Set()
  };
  private readonly _beside = new BesideLanes();
  private _besideOf: string | null = null;
  private readonly _changed = new Signal<this, void>(this);
  private readonly _moved = new Signal<this, void>(this);

  constructor(
    state: JSONObject = {},
    now: () => number = () => performance.now() / 1000
  ) {
    super();
    this._clock = now;
    this._colourBy = state.colourBy === 'kind' ? 'kind' : 'function';
    if (Array.isArray(state.collapsed)) {
      this._collapsed = new Set(
        state.collapsed.filter(item => typeof item === 'number')
      );
    }
    if (typeof state.opened === 'number') {
      this._opened = state.opened;
    }
    const { from, to } = state;
    if (typeof from === 'number' && typeof to === 'number' && to > from) {
      if (state.paused === true || state.followed === 'width') {
        this._view = { from, to };
        this._isFollowing = state.paused !== true;
        this._followed = 'width';
      } else if (state.followed === 'whole') {
        this._followed = 'whole';
      }
    }
  }

  /** What React shows changed: following, colours, collapsed workers, an answer. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** The canvases are out of date. */
  get moved(): ISignal<this, void> {
    return this._moved;
  }

  savedState(): JSONObject {
    return {
      colourBy: this._colourBy,
      collapsed: [...this._collapsed],
      opened: this._opened,
      paused: !this._isFollowing,
      followed: this._followed,
      from: this._view.from,
      to: this._view.to
    };
  }

  /**
   * A task that is told of at its end alone may have begun before the last pause, which then was none: the view must not leap back for that.
   *
   *     told at first    ████ · · · · · ████        from here on ►
   *     at last            █████████████████
   */
  private _setNewestFrom(result: TaskStreamResult, filter: Filter): void {
    const { newestFrom = -Infinity, to } = result;
    const isSame = JSON.stringify(filter) === JSON.stringify(this._filter);
    const isKept = isSame && this._newestFrom < to;
    if (!isSame) {
      this._fitted = null;
    }
    this._newestFrom = isKept
      ? Math.max(this._newestFrom, newestFrom)
      : newestFrom;
    this._filter = filter;
  }

  private _setBands(result: TaskStreamResult): void {
    const levels = this._unfoldsBands ? BAND_LEVELS.unfolded : this.bandRoom;
    const { rows, without } = placedBands(result, levels);
    this._bands = rows;
    this._bandsWithoutRow = without;
  }

  protected override end(): void {
    this.setWatch(null);
  }

  // ------------------------------------------------------------------ data

  get result(): TaskStreamResult | null {
    return this._result;
  }

  /** What the answer is of: an unlinked panel does not follow the selection. */
  get filter(): Filter {
    return this._filter;
  }

  get bands(): readonly BandRow[] {
    return this._bands;
  }

  /** Names of the bands for which no row is left, each as often as it has none. */
  get bandsWithoutRow(): readonly string[] {
    return this._bandsWithoutRow;
  }

  /** For how many rows of spans there is room, lanes considered. */
  get bandRoom(): number {
    const left = heightBesideLanes(this._shown, this.collapsedRows, this._room);
    const { folded, unfolded } = BAND_LEVELS;
    const rows = Math.floor(left / BAND_HEIGHT);
    return Math.min(unfolded, Math.max(folded, rows));
  }

  /** @param height - pixels that lanes and rows of spans have together. */
  setRoom(height: number): void {
    const before = this.bandRoom;
    this._room = height;
    if (this._result !== null && this.bandRoom !== before) {
      this._setBands(this._result);
      this._changed.emit();
      this._moved.emit();
    }
  }

  /** Whether more rows of spans are drawn than at first. */
  get unfoldsBands(): boolean {
    return this._unfoldsBands;
  }

  get slots(): ReadonlyMap<
    string,
    { readonly slot: number; readonly round: number }
  > {
    return this._slots;
  }

  get slotsVersion(): number {
    return this._slotsVersion;
  }

  /**
   * @param filter - what the answer is of.
   */
  setResult(result: TaskStreamResult, filter: Filter = {}): void {
    if (result === this._result) {
      return;
    }
    const isFirst = this._result === null;
    this._result = result;
    this._setNewestFrom(result, filter);
    this._arrivedAt = this._clock();
    this._beside.setLanes(result.lanes);
    this._setShown(result);
    this._setBands(result);
    const slots = slotsByName(result.functions);
    const isSame =
      slots.size === this._slots.size &&
      [...slots].every(([name, { slot, round }]) => {
        const had = this._slots.get(name);
        return had?.slot === slot && had.round === round;
      });
    if (!isSame) {
      this._slots = slots;
      this._slotsVersion += 1;
    }
    this._askedFor = '';
    if (isFirst && this._followed === 'newest') {
      this._followed = this._atOpening;
    }
    this._grow();
    this._follow();
    this._changed.emit();
    this._moved.emit();
  }

  setWatch(watch: IWatch | null): void {
    if (watch === this._watch) {
      return;
    }
    if (this._watch !== null && !this._watch.isDisposed) {
      this._watch.tileArrived.disconnect(this._onTile, this);
    }
    this._watch = watch;
    this._askedFor = '';
    watch?.tileArrived.connect(this._onTile, this);
    this._moved.emit();
  }

  tileOf(level: number, index: number): TileData | null {
    return this._watch?.tile(level, index, this._shown.rows) ?? null;
  }

  /** Scheduler time now; grows between answers while the run is live. */
  get now(): number {
    const result = this._result;
    if (result === null) {
      return 0;
    }
    // At most 2 s ahead: if answers stop, so does the clock.
    const ahead = Math.min(2, this._clock() - this._arrivedAt);
    return result.live ? result.now + Math.max(0, ahead) : result.now;
  }

  get isLive(): boolean {
    return this._result?.live === true;
  }

  get extent(): Extent {
    const result = this._result;
    if (result === null) {
      return { from: 0, to: 1 };
    }
    const busy = result.live && result.running.length > 0;
    return {
      from: Math.min(result.from, result.to),
      to: busy ? Math.max(result.to, this.now) : result.to
    };
  }

  /** The tiles of the view, asked for if they are not here. `devicePixels`: width of the lanes. */
  wantTiles(devicePixels: number): TileRange {
    const level = levelFor(this._view, devicePixels);
    const extent = this._result === null ? { from: 0, to: 0 } : this.extent;
    const wanted = tilesFor(this._view, level, extent);
    if (this._watch !== null && this._result !== null) {
      const { rows } = this._shown;
      const key = `${level} ${wanted.first} ${wanted.count} ${rows?.groupSize} ${rows?.group}`;
      if (key !== this._askedFor) {
        this._askedFor = key;
        // Coarse ones first: they are few and stand in for the rest.
        const coarse = tilesFor(this._view, level + STAND_IN_LEVELS, extent, 1);
        const near = tilesFor(this._view, level, extent, 1);
        const request = (range: TileRange) =>
          this._watch?.requestTiles(
            range.level,
            range.first,
            range.count,
            rows
          );
        request(wanted);
        request(coarse);
        if (near.count > wanted.count) {
          request(near);
        }
      }
    }
    return wanted;
  }

  /**
   * The tiles of the view when all are here, with all that had ended when they were asked for: an older one lacks what has ended since, and
   * is no longer among what runs. Of a run that goes on answers come faster than tiles do: none would ever have all that the newest has.
   *
   *     asked for   ▼ answer 7
   *     answers     7    8    9    10   11
   *     tiles            7'        8'   9'      ≥ 7: here
   *
   * @param onWait - told every half second of which share is here. It may throw.
   * @returns null: they have not come in `limitMs`.
   */
  async wholeTiles(
    devicePixels: number,
    limitMs: number,
    onWait: (share: number) => void
  ): Promise<WholeTiles | null> {
    let asked = this._askedNow(devicePixels);
    // Kept here: of more tiles than the page keeps, one would go for each that comes.
    const found = new Map<number, TileData>();
    let isOver = false;
    let isToTell = false;
    let wake = () => {};
    const onMoved = () => wake();
    const timer = setTimeout(() => {
      isOver = true;
      wake();
    }, limitMs);
    const telling = setInterval(() => {
      isToTell = true;
      wake();
    }, TELL_MS);
    this._moved.connect(onMoved);
    try {
      for (;;) {
        const woken = new Promise<void>(resolve => {
          wake = resolve;
        });
        if (this._tilesOf !== asked.of) {
          asked = this._askedNow(devicePixels);
          found.clear();
        }
        const { range, snapshot } = asked;
        // (while it asks, its tiles may be those of another filter than the answer)
        const watch = this._watch?.isAsking === true ? null : this._watch;
        const lacking: number[] = [];
        for (let i = range.first; i < range.first + range.count; i += 1) {
          const tile = found.get(i) ?? this.tileOf(range.level, i);
          if (tile !== null && watch?.isFresh(tile, snapshot) === true) {
            found.set(i, tile);
          } else if (!found.has(i)) {
            lacking.push(i);
          }
        }
        const { result } = asked;
        if (watch !== null && result !== null && lacking.length === 0) {
          const tiles = [...found].sort(([a], [b]) => a - b);
          return { ...asked, result, tiles: tiles.map(([, tile]) => tile) };
        }
        if (isOver || this.isDisposed) {
          return null;
        }
        if (isToTell) {
          isToTell = false;
          onWait(found.size / Math.max(1, range.count));
        }
        // Also those that came, and were older than an answer that came before them.
        for (const i of lacking) {
          watch?.requestTiles(range.level, i, 1, this._shown.rows);
        }
        await woken;
      }
    } finally {
      clearTimeout(timer);
      clearInterval(telling);
      this._moved.disconnect(onMoved);
    }
  }

  private _askedNow(devicePixels: number) {
    const { view, bands, result, _tilesOf: of } = this;
    const bandsWithoutRow = this._bandsWithoutRow.length;
    const level = levelFor(view, devicePixels);
    const range = tilesFor(view, level, this.extent);
    const snapshot = this._watch?.snapshot ?? null;
    return { view, result, bands, bandsWithoutRow, range, snapshot, of };
  }

  /** Of which log, tasks and rows tiles are now. */
  private get _tilesOf(): string {
    const { logId } = this._watch?.snapshot ?? {};
    return JSON.stringify([logId, this._filter, this._shown.rows]);
  }

  /**
   * Lanes beside the threads come and go with what is in view; with another filter they begin anew.
   *
   * @returns whether other lanes are shown than before.
   */
  settleLanes(range: TileRange): boolean {
    const result = this._result;
    if (result === null || this.showsGroups) {
      return false;
    }
    const filter = JSON.stringify(this._filter);
    const isAnew = filter !== this._besideOf;
    if (isAnew) {
      this._besideOf = filter;
      this._beside.forget();
    }
    const here = this.tilesHere(range);
    const areOthers = this._beside.look(
      this._view,
      here,
      here.length === range.count,
      result.running,
      this.now
    );
    if (isAnew || areOthers) {
      this._setShown(result);
    }
    return isAnew || areOthers;
  }

  /** Tiles of the view that are here. */
  tilesHere(range: TileRange): TileData[] {
    const tiles: TileData[] = [];
    for (
      let index = range.first;
      index < range.first + range.count;
      index += 1
    ) {
      const tile = this.tileOf(range.level, index);
      if (tile !== null) {
        tiles.push(tile);
      }
    }
    return tiles;
  }

  // ------------------------------------------------------------------ view

  get view(): Viewport {
    return this._view;
  }

  /**
   * The whole run, with room at its right border while it goes on. The strip has this scale, and so has the chart while it follows the
   * whole run: both show a moment at the same place.
   */
  get whole(): Viewport {
    return grownFrom(this.extent.from, this._grown);
  }

  /** The newest work in the same way; where no pause was before it, the whole run. */
  private get _newest(): Viewport {
    const { from } = this._newestExtent;
    return from > this.extent.from
      ? grownFrom(from, this._grownNewest)
      : this.whole;
  }

  private get _newestExtent(): Extent {
    const { from, to } = this.extent;
    return { from: Math.max(from, this._newestFrom), to };
  }

  /** Where the selection's newest work ends: what ran after it is not drawn. */
  private get _selectedEnd(): number {
    const { to } = this.extent;
    const isGrowing = (this._result?.running.length ?? 0) > 0;
    return isGrowing ? to : Math.min(to, this.selected?.to ?? to);
  }

  /** History is shown whole; of what goes on, the newest. */
  private get _atOpening(): Followed {
    return this._result?.live === false ? 'whole' : 'newest';
  }

  get isFollowing(): boolean {
    return this._isFollowing;
  }

  /** Whether what it follows is the newest work: after *Fit* it may be the whole run, of which that is the end. */
  get followsNewest(): boolean {
    const isWhole = this._followed === 'whole' && this.isLive;
    const isPart = this._newestExtent.from > this.extent.from;
    return this._isFollowing && !(isWhole && isPart);
  }

  /** Whether all that has run is in view. */
  get showsWhole(): boolean {
    const { from, to } = this.extent;
    return this._view.from <= from && this._view.to >= to;
  }

  /** What *Follow* does. */
  toggleFollowing(): void {
    this.setFollowing(!this.followsNewest);
  }

  /** Called once a frame while the run is live and followed. */
  tick(): void {
    if (this.isLive) {
      this._grow();
      this._follow();
    }
  }

  pan(seconds: number): void {
    this._setView(panned(this._view, seconds, this.extent));
  }

  panByShare(share: number): void {
    this.pan((this._view.to - this._view.from) * share);
  }

  zoomAt(seconds: number, factor: number): void {
    this._setView(zoomedAt(this._view, seconds, factor, this.extent));
  }

  zoom(factor: number): void {
    const middle = (this._view.from + this._view.to) / 2;
    // While following, the newest edge stays: that of the selection, where the view ends.
    this.zoomAt(this._isFollowing ? this._selectedEnd : middle, factor);
  }

  /** What *Fit* shows next: the selection, unless it is in view as fitted. */
  get fitsNext(): 'selection' | 'run' {
    const { selected } = this;
    return selected === null ||
      this._view === this._fitted?.view ||
      isNearly(this._view, this._fittedTo(selected))
      ? 'run'
      : 'selection';
  }

  /** The selection, then the whole run. */
  fit(): void {
    const { selected } = this;
    if (selected === null || this.fitsNext === 'run') {
      this.fitWhole();
      return;
    }
    const view = this._fittedTo(selected);
    this._fitted = {
      view,
      before: {
        view: this._view,
        isFollowing: this._isFollowing,
        followed: this._followed
      }
    };
    this._setView(view);
  }

  private _fittedTo(selected: Extent): Viewport {
    return clamped(around(selected, SELECTION_ROOM), this.extent);
  }

  /** The whole run; goes on following if it did, also before the selection was fitted. */
  fitWhole(): void {
    if (this._view === this._fitted?.view) {
      this._isFollowing = this._fitted.before.isFollowing;
    }
    // Where the newest work is all that there is, nothing else was chosen: after a pause it will be the newest again.
    if (this._newestExtent.from > this.extent.from) {
      this._followed = 'whole';
    } else if (this._followed === 'width') {
      this._followed = this._atOpening;
    }
    this._grown = this.extent.to;
    this._view = this.whole;
    this._changed.emit();
    this._moved.emit();
  }

  /** From the first to the last task of what is filtered; null: nothing is hidden, or no task is left. */
  get selected(): Extent | null {
    const { hidden = 0, othersRunning = 0, selected } = this._result ?? {};
    return hidden + othersRunning > 0 ? (selected ?? null) : null;
  }

  show(range: Extent, room = 0.25): void {
    this._setView(clamped(around(range, room), this.extent));
  }

  setView(view: Viewport): void {
    this._setView(clamped(view, this.extent));
  }

  /** Moves only as far as it must so that a task is in view: one that is longer than the view, so that some of it is. */
  reveal(range: Extent): void {
    const { from, to } = this._view;
    const width = to - from;
    const room = width * REVEAL_ROOM;
    const isLong = range.to - range.from > width - 2 * room;
    const isInView = isLong
      ? range.from < to - room && range.to > from + room
      : range.from >= from && range.to <= to;
    if (isInView) {
      return;
    }
    const begin = range.from - room;
    const end = range.to + room;
    const isBefore = range.from < from;
    // Of a long one that part which is nearest.
    const start = isBefore !== isLong ? begin : end - width;
    this.setView({ from: start, to: start + width });
  }

  /** Where the selected task ran: tiles show it only where it is wider than a cell. */
  get selectedPlace(): SelectedPlace | null {
    return this._selectedPlace;
  }

  /** The same in the rows that are shown: those of groups stand for many lanes. */
  get selectedRow(): SelectedPlace | null {
    const place = this._selectedPlace;
    const row = place === null ? null : this.rowOf(place.laneIndex);
    return place === null || row === null
      ? null
      : row === place.laneIndex
        ? place
        : { ...place, laneIndex: row };
  }

  /** The row that has a lane of the observer; null: there is none. */
  rowOf(lane: LaneIndex): LaneIndex | null {
    return this._result === null || !this.showsGroups
      ? lane
      : (groupOfLane(this._result, lane) as LaneIndex | null);
  }

  setSelectedPlace(place: SelectedPlace | null): void {
    this._selectedPlace = place;
    this._moved.emit();
  }

  /** The range that is being drawn out by Shift-drag; null when none is. */
  get brush(): Extent | null {
    return this._brush;
  }

  setBrush(brush: Extent | null): void {
    if (brush !== this._brush) {
      this._brush = brush;
      this._moved.emit();
    }
  }

  setFollowing(isFollowing: boolean): void {
    this._isFollowing = isFollowing;
    if (isFollowing) {
      if (this._view === this._fitted?.view) {
        // A width that was fitted is not one that the user chose to follow.
        this._view = this._fitted.before.view;
        this._followed = this._fitted.before.followed;
      }
      const newest = fit(this._newestExtent);
      if (
        this._view.to - this._view.from >=
        (newest.to - newest.from) * NEARLY_ALL
      ) {
        this._followed = this._atOpening;
      }
      this._follow();
    }
    this._changed.emit();
    this._moved.emit();
  }

  /** Following, as at opening. */
  reset(): void {
    this._followed = this._atOpening;
    this.setFollowing(true);
  }

  // ------------------------------------------------------------------ looks

  get colourBy(): ColourBy {
    return this._colourBy;
  }

  setColourBy(colourBy: ColourBy): void {
    this._colourBy = colourBy;
    this._changed.emit();
    this._moved.emit();
  }

  get collapsed(): ReadonlySet<number> {
    return this._collapsed;
  }

  /** The same of what has rows: of groups none is. */
  get collapsedRows(): ReadonlySet<number> {
    return this.showsGroups ? NONE_COLLAPSED : this._collapsed;
  }

  /** What has rows, and which tiles these have. */
  get shown(): Shown {
    return this._shown;
  }

  /** Whether groups of workers have a row each. */
  get showsGroups(): boolean {
    return this._shown.rows?.group === null;
  }

  /** The group whose lanes are shown; null: all groups, or there are none. */
  get openedGroup(): number | null {
    return this._shown.rows?.group ?? null;
  }

  /** Show the lanes of a worker's group; null: all groups. */
  openGroup(worker: number | null): void {
    this._opened = worker;
    if (this._result !== null) {
      this._setShown(this._result);
      this._setBands(this._result);
    }
    this._changed.emit();
    this._moved.emit();
  }

  toggleWorker(worker: number): void {
    const next = new Set(this._collapsed);
    if (!next.delete(worker)) {
      next.add(worker);
    }
    this._collapsed = next;
    if (this._result !== null) {
      this._setBands(this._result);
    }
    this._changed.emit();
    this._moved.emit();
  }

  toggleBands(): void {
    this._unfoldsBands = !this._unfoldsBands;
    if (this._result !== null) {
      this._setBands(this._result);
    }
    this._changed.emit();
    this._moved.emit();
  }

  /** Another log is shown: times and workers have nothing to do with those of the last one. */
  beginAnew(): void {
    this._collapsed = new Set();
    this._unfoldsBands = false;
    this._beside.forget();
    this.openGroup(null);
    this._newestFrom = this._result?.newestFrom ?? -Infinity;
    this._fitted = null;
    this.reset();
  }

  private _setShown(result: TaskStreamResult): void {
    const shown = shownLanes(result, this._opened);
    this._shown =
      shown.rows?.group === null
        ? shown
        : {
            ...shown,
            lanes: shown.lanes.filter(({ laneIndex }) =>
              this._beside.shows(laneIndex)
            )
          };
  }

  private _setView(view: Viewport): void {
    const wasFollowing = this._isFollowing;
    const fittedNext = this.fitsNext;
    this._view = view;
    this._isFollowing = false;
    this._followed = 'width';
    this._moved.emit();
    // "paused at …" and what *Fit* shows next are text: React shows it, at the end of a burst of moves.
    if (wasFollowing || this.fitsNext !== fittedNext) {
      this._changed.emit();
    }
  }

  private _follow(): void {
    if (!this._isFollowing || this._result === null) {
      return;
    }
    this._view =
      this._followed === 'newest'
        ? this._newest
        : this._followed === 'whole'
          ? this.whole
          : followed(this._view, this.extent, this._selectedEnd);
  }

  private _grow(): void {
    this._grown = this._grownTo(this.extent, this._grown);
    this._grownNewest = this._grownTo(this._newestExtent, this._grownNewest);
  }

  /** @param had - up to where it was shown; it goes on as long as that has room, and is no longer much too far. */
  private _grownTo({ from, to }: Extent, had: number): number {
    const seconds = to - from;
    const room = had - from;
    return this._result?.live !== true
      ? to
      : seconds > room || seconds < room / (GROW_STEP * GROW_STEP)
        ? from + seconds * GROW_STEP
        : had;
  }

  private _onTile(): void {
    this._moved.emit();
  }
}

function isNearly(one: Viewport, other: Viewport): boolean {
  const far = (other.to - other.from) * NEARLY_SAME;
  return (
    Math.abs(one.from - other.from) < far && Math.abs(one.to - other.to) < far
  );
}

function grownFrom(from: number, grown: number): Viewport {
  return fit({ from, to: Math.max(grown, from + 0.05) });
}
