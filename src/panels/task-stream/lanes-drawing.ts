/**
 * The canvases of the lanes: their sizes, when they are drawn, what the pixels
 * under the pointer mean. One animation frame draws axis, bands and lanes
 * together, so that they never part.
 */
import type { LaneIndex } from '../../records/ids';
import type { IDisposable } from '@lumino/disposable';
import { type ISignal, Signal } from '@lumino/signaling';
import { markAt } from '../../charts/failed-marks';
import { contextOf } from '../../charts/sized-canvas';
import type { SelectionModel } from '../../feed/selection';
import type { TaskStreamResult } from '../../wire/panel-link';
import type { ITheme } from '../panel-context';
import {
  AGGREGATE_RUN,
  boxAt,
  boxOf,
  boxOfRun,
  type FoundBox
} from './box-search';
import { failedInView } from './failed-in-view';
import { axisTicks, bandShapes } from './figure';
import { BAND_HEIGHT, paintAxis, paintBands } from './frame-painter';
import { laneAt, type LaneLayout, layOutLanes } from './lane-layout';
import { LanePainter } from './lane-painter';
import { laneBox, type LaneScene } from './lane-scene';
import type { TaskStreamModel } from './model';
import { bandLevels, BOX_KINDS, type HoveredBox } from './rows';
import type { TileRange } from './tile-plan';
import { secondsAt, xOf } from './viewport';

type LanesCanvases = {
  readonly scroller: HTMLElement;
  readonly axis: HTMLCanvasElement;
  readonly bands: HTMLCanvasElement;
  readonly lanes: HTMLCanvasElement;
};

/** Growth of running tasks, in milliseconds between frames. */
const GROWTH_MS = 33;
const CALM_GROWTH_MS = 500;

/** What a frame shows: `waiting` if tiles of it are on their way. */
export type Painted = 'boxes' | 'nothing' | 'waiting';

export class LanesDrawing implements IDisposable {
  private _canvases: LanesCanvases | null = null;
  private _resize: ResizeObserver | null = null;
  private _layout: LaneLayout = { laneHeight: 20, height: 0, workers: [] };
  private _width = 0;
  private _height = 0;
  private _gutter = 0;
  private _keptLane: LaneIndex | null = null;
  private _tiles: TileRange = { level: 0, first: 0, count: 0 };
  /** Which rows and tasks the bitmaps are of. */
  private _drawn = '';
  private _frame = 0;
  private _growth = 0;
  private _isDisposed = false;
  private readonly _painter = new LanePainter();
  private readonly _laidOut = new Signal<this, void>(this);
  private readonly _painted = new Signal<this, Painted>(this);

  constructor(
    private readonly _model: TaskStreamModel,
    private readonly _theme: ITheme,
    private readonly _selection: SelectionModel,
    private readonly _goesOnText = ''
  ) {}

  /** The lanes have a new layout. */
  get laidOut(): ISignal<this, void> {
    return this._laidOut;
  }

  /** A frame was drawn. */
  get painted(): ISignal<this, Painted> {
    return this._painted;
  }

  get layout(): LaneLayout {
    return this._layout;
  }

  /** Width of the lanes in CSS pixels, without the gutter. */
  get width(): number {
    return this._width;
  }

  /** Width of the labels at the left, in CSS pixels. */
  get gutter(): number {
    return this._gutter;
  }

  attach(canvases: LanesCanvases): void {
    this._canvases = canvases;
    this._isDisposed = false;
    this._resize = new ResizeObserver(() => this._onResize());
    this._resize.observe(canvases.scroller);
    canvases.scroller.addEventListener('scroll', this._onMoved, {
      passive: true
    });
    this._model.moved.connect(this._onMoved, this);
    this._model.changed.connect(this._onChanged, this);
    this._theme.changed.connect(this._onMoved, this);
    this._selection.changed.connect(this._onMoved, this);
    this._onResize();
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    this._isDisposed = true;
    this._resize?.disconnect();
    this._resize = null;
    this._canvases?.scroller.removeEventListener('scroll', this._onMoved);
    this._model.moved.disconnect(this._onMoved, this);
    this._model.changed.disconnect(this._onChanged, this);
    this._theme.changed.disconnect(this._onMoved, this);
    this._selection.changed.disconnect(this._onMoved, this);
    cancelAnimationFrame(this._frame);
    clearTimeout(this._growth);
    this._frame = 0;
    this._canvases = null;
    this._painter.clear();
  }

  // -------------------------------------------------------------- reading

  secondsAtX(x: number): number {
    return secondsAt(this._model.view, this._width, x);
  }

  xOfSeconds(seconds: number): number {
    return xOf(this._model.view, this._width, seconds);
  }

  /** Lane under `y`, in CSS pixels from the top of the visible part. */
  laneAtY(y: number): ReturnType<typeof laneAt> {
    return laneAt(this._layout, y + (this._canvases?.scroller.scrollTop ?? 0));
  }

  /** The box under a point of the lanes, running ones first. */
  hit(x: number, y: number): HoveredBox | null {
    const place = this.laneAtY(y);
    const result = this._model.result;
    if (place === null || result === null || this._width === 0) {
      return null;
    }
    const seconds = this.secondsAtX(x);
    const known = result.workers.find(item => item.worker === place.worker);
    const worker = known?.name ?? String(place.worker);
    const { functions, notFunctions, spans } = this._model.filter;
    const common = {
      worker,
      thread: place.lane.thread,
      ...(place.lane.beside !== undefined && { beside: place.lane.beside }),
      ...(this._model.showsGroups && { group: place.worker }),
      isExecution:
        functions !== undefined ||
        notFunctions !== undefined ||
        spans !== undefined
    };
    const failed = this._failedAt(place.lane, x, y);
    if (failed !== null) {
      return { ...common, ...failed };
    }
    const running = this._running().find(
      task =>
        task.laneIndex === place.lane.laneIndex &&
        seconds >= task.started &&
        seconds <= this._model.now
    );
    if (running !== undefined) {
      return {
        ...common,
        run: null,
        function: running.function,
        kind: 'compute',
        inStrip: false,
        tasks: 1,
        from: running.started,
        to: this._model.now,
        running: true,
        cancelled: running.cancelled,
        key: running.key,
        client: running.client
      };
    }
    const holder = this._running()
      .flatMap(task =>
        (task.held ?? []).map(held => ({
          ...held,
          task,
          to: held.to ?? this._model.now
        }))
      )
      .find(
        ({ laneIndex, from, to }) =>
          laneIndex === place.lane.laneIndex && seconds >= from && seconds <= to
      );
    if (holder !== undefined) {
      const { task, from, to } = holder;
      return {
        ...common,
        run: null,
        function: task.function,
        kind: 'seceded',
        inStrip: false,
        tasks: 0,
        from,
        to,
        running: true,
        cancelled: task.cancelled,
        key: task.key,
        client: task.client
      };
    }
    const found = this.boxAt(place.lane.laneIndex, seconds, place.inStrip);
    if (found === null) {
      return null;
    }
    const { tile, row } = found;
    const run = tile.run[row] as number;
    return {
      ...common,
      run: run === AGGREGATE_RUN ? null : run,
      function: tile.functions[tile.function[row] as number] ?? '',
      kind: BOX_KINDS[tile.kind[row] as number] ?? 'compute',
      inStrip: tile.strip[row] === 1,
      tasks: tile.tasks[row] as number,
      from: found.from,
      to: found.to,
      running: false
    };
  }

  /** What is drawn as a mark is found where the mark is. */
  private _failedAt(
    { laneIndex, top }: { readonly laneIndex: LaneIndex; readonly top: number },
    x: number,
    y: number
  ) {
    const scene = this._timeScene();
    const ratio = scene.pixelRatio;
    const { marks = [] } =
      failedInView(scene, new Set([laneIndex])).get(laneIndex) ?? {};
    const scrolled = this._canvases?.scroller.scrollTop ?? 0;
    const lane = laneBox(scene, top - scrolled, false);
    const mark = markAt(marks, lane, x * ratio, y * ratio, ratio);
    if (mark === undefined) {
      return null;
    }
    const boxes = mark.of.map(({ tile, row }) => boxOf(tile, row));
    const [{ tile, row }] = boxes as [FoundBox];
    const isOne = mark.runs === 1 && tile.run[row] !== AGGREGATE_RUN;
    const names = mark.of.map(
      each => each.tile.functions[each.tile.function[each.row] as number]
    );
    return {
      run: isOne ? (tile.run[row] as number) : null,
      function: isOne
        ? (tile.functions[tile.function[row] as number] ?? '')
        : '',
      kind: 'failed' as const,
      inStrip: false,
      tasks: mark.runs,
      from: Math.min(...boxes.map(box => box.from)),
      to: Math.max(...boxes.map(box => box.to)),
      running: false,
      ...(!isOne &&
        !names.includes(undefined) && {
          functions: [...new Set(names as string[])]
        }),
      ...((!isOne || this._model.showsGroups) && { isMark: true as const })
    };
  }

  boxAt(
    laneIndex: LaneIndex,
    seconds: number,
    inStrip: boolean
  ): FoundBox | null {
    const slack =
      ((this._model.view.to - this._model.view.from) /
        Math.max(1, this._width)) *
      2;
    let best: FoundBox | null = null;
    for (const tile of this._model.tilesHere(this._tiles)) {
      const found = boxAt(tile, laneIndex, seconds, inStrip, slack);
      const isInside =
        found !== null && seconds >= found.from && seconds <= found.to;
      if (found !== null && (best === null || isInside)) {
        best = found;
      }
    }
    return best;
  }

  get tiles(): TileRange {
    return this._tiles;
  }

  // -------------------------------------------------------------- drawing

  private readonly _onMoved = (): void => {
    if (this._frame === 0 && this._canvases !== null) {
      this._frame = requestAnimationFrame(() => this._draw());
    }
  };

  private _onChanged(): void {
    this._layOut();
    this._onMoved();
  }

  /** Sizes are read here and not in each frame: after a move of the whole-run window, reading them makes the browser recompute styles. */
  private _onResize(): void {
    const scroller = this._canvases?.scroller;
    const distance = this._beyondSight();
    if (scroller !== undefined) {
      this._gutter = gutterOf(scroller);
      this._width = Math.max(0, scroller.clientWidth - this._gutter);
      this._height = scroller.clientHeight;
      // As they are on the page, not as they are to be: both together are what they may divide.
      const { clientHeight = 0 } = this._canvases?.bands.parentElement ?? {};
      this._model.setRoom(this._height + clientHeight);
    }
    this._layOut();
    if (distance === 0 && scroller !== undefined) {
      scroller.scrollTop += this._beyondSight() ?? 0;
    }
    this._onMoved();
  }

  /** How far the lanes must scroll for that of the selected task, which its drawer would push out of sight; null: it is on none. */
  private _beyondSight(): number | null {
    const laneIndex = this._selectedLane();
    return laneIndex === null ? null : this._laneBeyondSight(laneIndex);
  }

  private _selectedLane(): LaneIndex | null {
    const run = this._selection.selectedRun;
    const box =
      run === null ? null : boxOfRun(this._model.tilesHere(this._tiles), run);
    const place = this._model.selectedRow;
    return (
      box?.tile.laneIndex[box.row] ??
      (place?.run === run ? place?.laneIndex : undefined) ??
      null
    );
  }

  /** Scrolls as little as it must for a lane to be in sight. */
  bringLane(laneIndex: LaneIndex): void {
    const scroller = this._canvases?.scroller;
    if (scroller !== undefined) {
      scroller.scrollTop += this._laneBeyondSight(laneIndex) ?? 0;
    }
  }

  private _laneBeyondSight(wanted: LaneIndex): number | null {
    const { workers, laneHeight } = this._layout;
    const found = workers
      .flatMap(({ lanes, headerHeight }) =>
        lanes.map(lane => ({ lane, headerHeight }))
      )
      .find(({ lane }) => lane.laneIndex === wanted);
    if (found === undefined) {
      return null;
    }
    const { lane, headerHeight } = found;
    const { scrollTop = 0 } = this._canvases?.scroller ?? {};
    // (the head of its worker lies over the first)
    const above = lane.top - headerHeight - scrollTop;
    const below = lane.top + laneHeight - scrollTop - this._height;
    return above < 0 ? above : Math.max(0, Math.min(above, below));
  }

  private _layOut(): void {
    const canvases = this._canvases;
    const result = this._model.result;
    if (canvases === null || result === null) {
      return;
    }
    const { shown } = this._model;
    const { rows } = shown;
    const next = layOutLanes(shown, this._model.collapsedRows, this._height);
    const filter = JSON.stringify(this._model.filter);
    const drawn = `${rows?.groupSize} ${rows?.group} ${filter}`;
    if (drawn !== this._drawn) {
      // Bitmaps of other rows, or of other tasks: they would stand in for those that are not drawn yet.
      this._drawn = drawn;
      this._painter.clear();
    }
    const isSame =
      next.height === this._layout.height &&
      next.laneHeight === this._layout.laneHeight &&
      next.workers.length === this._layout.workers.length &&
      next.workers.every(
        (row, index) =>
          row.worker === this._layout.workers[index]?.worker &&
          row.collapsed === this._layout.workers[index]?.collapsed &&
          row.headerHeight === this._layout.workers[index]?.headerHeight &&
          row.lanes.length === this._layout.workers[index]?.lanes.length &&
          row.lanes.every(
            ({ laneIndex }, place) =>
              laneIndex === this._layout.workers[index]?.lanes[place]?.laneIndex
          )
      );
    if (!isSame) {
      this._keptLane = this._laneToKeep(next);
      this._layout = next;
      this._laidOut.emit();
    }
  }

  /** The lane that must stay in sight: that of the selected task, else one of a worker that has got a header, or lost it. */
  private _laneToKeep(next: LaneLayout): LaneIndex | null {
    const selected = this._selectedLane();
    if (selected !== null && this._laneBeyondSight(selected) === 0) {
      return selected;
    }
    const before = new Map(this._layout.workers.map(row => [row.worker, row]));
    const turned = next.workers.filter(
      ({ worker, headerHeight, collapsed }) =>
        before.get(worker)?.collapsed === collapsed &&
        before.get(worker)?.headerHeight !== headerHeight
    );
    const lanes = turned.flatMap(
      ({ worker }) => before.get(worker)?.lanes ?? []
    );
    const seen = lanes.find(
      ({ laneIndex }) => this._laneBeyondSight(laneIndex) === 0
    );
    return seen?.laneIndex ?? null;
  }

  /** To be called when the page has the rows of the layout. */
  keepInSight(): void {
    if (this._keptLane !== null) {
      this.bringLane(this._keptLane);
      this._keptLane = null;
    }
  }

  private _draw(): void {
    this._frame = 0;
    const canvases = this._canvases;
    const model = this._model;
    if (canvases === null || model.result === null) {
      return;
    }
    model.tick();
    const palette = this._theme.palette;
    const ratio = window.devicePixelRatio || 1;
    const width = this._width;
    const height = this._height;
    if (width === 0 || height === 0) {
      return;
    }
    const { view } = model;
    this._tiles = model.wantTiles(width * ratio);
    if (model.settleLanes(this._tiles)) {
      this._layOut();
    }

    const axis = contextOf(canvases.axis, width, 20, ratio);
    const ticks = axisTicks(view, width);
    axis && paintAxis(axis, ticks, { width, height: 20 }, palette);

    const bandsHeight = bandLevels(model.bands) * BAND_HEIGHT;
    const bands = contextOf(canvases.bands, width, bandsHeight, ratio);
    if (bands && bandsHeight > 0) {
      paintBands(
        bands,
        bandShapes(model.bands, view, width),
        { width, height: bandsHeight },
        palette
      );
    }

    const lanes = contextOf(canvases.lanes, width, height, ratio);
    if (lanes) {
      const scene: LaneScene = {
        ...this._timeScene(),
        height,
        scrollTop: canvases.scroller.scrollTop,
        slots: model.slots,
        slotsVersion: model.slotsVersion,
        colourBy: model.colourBy,
        palette,
        running: this._running(),
        goesOnText: this._goesOnText,
        now: model.isLive ? model.now : null,
        selectedRun: this._selection.selectedRun,
        selectedPlace: model.selectedRow,
        range: model.brush ?? chosenRange(this._selection)
      };
      const isComplete = this._painter.paint(lanes, scene);
      if (!isComplete) {
        this._onMoved();
      }
    }
    this._sayPainted();
    this._growLater();
  }

  /** What decides where boxes lie. */
  private _timeScene() {
    const { view } = this._model;
    return {
      view,
      width: this._width,
      pixelRatio: window.devicePixelRatio || 1,
      layout: this._layout,
      tiles: this._tiles,
      tileOf: (level: number, index: number) => this._model.tileOf(level, index)
    };
  }

  /** Tasks that run on lanes: groups do not show which of theirs do. */
  private _running(): TaskStreamResult['running'] {
    const { result, showsGroups } = this._model;
    return result === null || showsGroups ? [] : result.running;
  }

  private _sayPainted(): void {
    const { model, tiles } = { model: this._model, tiles: this._tiles };
    const here = model.tilesHere(tiles);
    const { from, to } = model.view;
    const overlapsRunning =
      model.isLive &&
      model.result?.running.some(
        task => task.started < to && model.now > from
      ) === true;
    const isEmpty =
      !overlapsRunning &&
      !here.some(tile => {
        const cells = 2 ** tile.level * 1e-6;
        const origin = tile.index * 512 * cells;
        for (let row = 0; row < tile.laneIndex.length; row += 1) {
          if (
            origin + (tile.from[row] as number) * cells < to &&
            origin + (tile.to[row] as number) * cells > from
          ) {
            return true;
          }
        }
        return false;
      });
    this._painted.emit(
      here.length < tiles.count ? 'waiting' : isEmpty ? 'nothing' : 'boxes'
    );
  }

  /** Running tasks grow: up to 30 frames a second, 2 if the user wants little motion. */
  private _growLater(): void {
    clearTimeout(this._growth);
    const running = this._running().length;
    if (!this._model.isLive || running === 0) {
      return;
    }
    const isCalm =
      typeof window.matchMedia === 'function' &&
      window.matchMedia('(prefers-reduced-motion: reduce)').matches;
    this._growth = window.setTimeout(
      this._onMoved,
      isCalm ? CALM_GROWTH_MS : GROWTH_MS
    );
  }
}

/** Width of the label gutter, from the style sheet; it is narrower in small panels. */
function gutterOf(element: Element): number {
  const text = getComputedStyle(element).getPropertyValue('--sw-gutter');
  return Number.parseFloat(text) || 112;
}

function chosenRange(selection: SelectionModel): LaneScene['range'] {
  const { time } = selection;
  return time !== 'all' && 'from' in time ? time : null;
}
