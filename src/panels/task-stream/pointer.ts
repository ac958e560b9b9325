/**
 * Pointer and keys over the lanes: drag pans, Ctrl-wheel
 * zooms at the pointer, Shift-wheel pans, wheel scrolls, Shift-drag chooses a
 * range, click selects, double click zooms to a task. Holds what is hovered; the card shows it after 80 ms.
 */
import type { LaneIndex } from '../../records/ids';
import { type ISignal, Signal } from '@lumino/signaling';
import type { SelectionModel } from '../../feed/selection';
import type { TileData } from '../../feed/feed-types';
import type { RunDetail } from '../../wire/panel-link';
import type { Box } from '../card-place';
import { boxOfRun, type FoundBox, neighbourOf } from './box-search';
import { laneAt } from './lane-layout';
import type { LanesDrawing, Painted } from './lanes-drawing';
import type { TaskStreamModel } from './model';
import type { HoveredBox } from './rows';
import type { Viewport } from './viewport';

export type Hovered = {
  readonly box: HoveredBox;
  readonly detail: RunDetail | null;
  /** The pointer, in the window. */
  readonly x: number;
  readonly y: number;
  /** The upper end of its lane, in pixels of all lanes. */
  readonly laneTop: number;
};

const HOVER_DELAY_MS = 80;
/** The second click of a double click is within it, and within so many pixels. */
const DOUBLE_CLICK_MS = 600;
const DOUBLE_CLICK_REACH = 4;
/** A press that moves less than this is a click. */
const DRAG_FROM = 4;
/** Beside failed runs that a mark was of, as a share of them: the marks of the first and the last are wider than these. */
const MARKS_ROOM = 0.1;
const KEY_PAN = 0.15;
const KEY_ZOOM = 1.5;

export class LanePointer {
  private _drawing: LanesDrawing | null = null;
  private _element: HTMLElement | null = null;
  private _press: {
    readonly x: number;
    readonly y: number;
    readonly view: Viewport;
    readonly wasFollowing: boolean;
    /** Seconds under the press if it draws out a range. */
    readonly brushFrom: number | null;
    isDrag: boolean;
  } | null = null;
  private _hovered: Hovered | null = null;
  private _hoverTimer = 0;
  /** Where the pointer was last, in the window; null: elsewhere. */
  private _place: { readonly x: number; readonly y: number } | null = null;
  /** The last click, and what it was on: the drawer that it opens may move the lanes away below a pointer that clicks twice. */
  private _click: {
    readonly x: number;
    readonly y: number;
    readonly at: number;
    readonly box: HoveredBox | null;
  } | null = null;
  /** The lane to which keys have come, while the selection is as they left it: it may have no task that can be selected. */
  private _reached: {
    readonly laneIndex: LaneIndex;
    readonly run: number | null;
  } | null = null;
  /** What a key is to do when the tiles in view are here. */
  private _awaited: (() => void) | null = null;
  private readonly _details = new Map<number, RunDetail>();
  private readonly _hoveredChanged = new Signal<this, Hovered | null>(this);

  constructor(
    private readonly _model: TaskStreamModel,
    private readonly _selection: SelectionModel,
    private readonly _detailOf: (run: number) => Promise<RunDetail | null>
  ) {}

  /** What is hovered, or nothing. */
  get hoveredChanged(): ISignal<this, Hovered | null> {
    return this._hoveredChanged;
  }

  /** Where the lane of what is hovered is in the window. */
  laneOf({ x, y, laneTop }: Hovered): Box {
    const [lanes, drawing] = [this._element, this._drawing];
    if (lanes === null || drawing === null) {
      return { left: x, right: x, top: y, bottom: y };
    }
    const { left, right, top } = lanes.getBoundingClientRect();
    const upper = top + laneTop - lanes.scrollTop;
    return {
      left,
      right,
      top: upper,
      bottom: upper + drawing.layout.laneHeight
    };
  }

  /** Of the drawer below the lanes, if it is open. */
  get drawerTitle(): Element | null {
    const panel = this._element?.closest('.sw-TaskStream');
    return panel?.querySelector('.sw-drawer-title') ?? null;
  }

  /** What is hovered has moved away from the pointer, or the user does something else than to look at it. */
  leave(): void {
    clearTimeout(this._hoverTimer);
    this._setHovered(null);
  }

  attach(drawing: LanesDrawing, element: HTMLElement): void {
    this._drawing = drawing;
    this._element = element;
    drawing.painted.connect(this._onPainted);
    element.addEventListener('pointerdown', this._onDown);
    element.addEventListener('pointermove', this._onMove);
    element.addEventListener('pointerup', this._onUp);
    element.addEventListener('pointercancel', this._onCancel);
    element.addEventListener('pointerleave', this._onLeave);
    // The drawer may have come to lie there.
    panelOf(element).addEventListener('dblclick', this._onDoubleClick);
    element.addEventListener('keydown', this._onKey);
    element.addEventListener('blur', this._onBlur);
    // Not passive: Ctrl-wheel would zoom the page.
    element.addEventListener('wheel', this._onWheel, { passive: false });
  }

  detach(): void {
    const element = this._element;
    this.leave();
    this._awaited = null;
    this._drawing?.painted.disconnect(this._onPainted);
    if (element !== null) {
      element.removeEventListener('pointerdown', this._onDown);
      element.removeEventListener('pointermove', this._onMove);
      element.removeEventListener('pointerup', this._onUp);
      element.removeEventListener('pointercancel', this._onCancel);
      element.removeEventListener('pointerleave', this._onLeave);
      panelOf(element).removeEventListener('dblclick', this._onDoubleClick);
      element.removeEventListener('keydown', this._onKey);
      element.removeEventListener('blur', this._onBlur);
      element.removeEventListener('wheel', this._onWheel);
    }
    this._element = null;
    this._drawing = null;
  }

  // ----------------------------------------------------------------- pointer

  private readonly _onDown = (event: PointerEvent): void => {
    if (event.button !== 0 || isControl(event.target)) {
      return;
    }
    this._awaited = null;
    this._press = {
      x: event.clientX,
      y: event.clientY,
      view: this._model.view,
      wasFollowing: this._model.isFollowing,
      brushFrom:
        event.shiftKey && this._drawing !== null
          ? this._drawing.secondsAtX(this._placeOf(event).x)
          : null,
      isDrag: false
    };
    this._place = { x: event.clientX, y: event.clientY };
    this.leave();
  };

  private readonly _onMove = (event: PointerEvent): void => {
    const press = this._press;
    const { _place: before } = this;
    this._place = { x: event.clientX, y: event.clientY };
    if (press === null) {
      // Browsers tell of a pointer that rests when something moves below it: a drawer that a click has opened, another task that a key has
      // brought. A card would cover that.
      if (event.clientX !== before?.x || event.clientY !== before.y) {
        this._hoverLater(event);
      }
      return;
    }
    const moved = event.clientX - press.x;
    if (!press.isDrag && Math.abs(moved) < DRAG_FROM) {
      return;
    }
    if (!press.isDrag) {
      press.isDrag = true;
      this._element?.setPointerCapture(event.pointerId);
      this._element?.classList.add('sw-is-dragging');
    }
    if (press.brushFrom !== null) {
      this._brushTo(event, press.brushFrom);
      return;
    }
    const { from, to } = press.view;
    const width = this._drawing?.width ?? 1;
    const seconds = (-moved / Math.max(1, width)) * (to - from);
    this._model.setView({ from: from + seconds, to: to + seconds });
  };

  private readonly _onUp = (event: PointerEvent): void => {
    const press = this._press;
    const { brush } = this._model;
    this._endPress();
    if (press?.isDrag === true && brush !== null && brush.to > brush.from) {
      this._selection.setTime(brush);
    }
    if (press === null || press.isDrag) {
      return;
    }
    const first = this._clickedTwice(event);
    const box = first === null ? this._boxUnder(event) : first.box;
    const { clientX: x, clientY: y, timeStamp: at } = event;
    this._click = { x, y, at, box };
    if (event.altKey && box !== null && box.function !== '') {
      this._selection.toggleFunction(box.function, true);
    } else if (box === null || box.run === null) {
      this._selection.select(null);
    } else {
      this._selection.select({ kind: 'run', run: box.run, ...partOf(box) });
    }
  };

  private readonly _onCancel = (): void => this._endPress();

  /** Keys go elsewhere now, so nothing is to be selected here for one of before. */
  private readonly _onBlur = (): void => {
    this._awaited = null;
  };

  private readonly _onLeave = (): void => {
    this._place = null;
    this.leave();
  };

  private readonly _onDoubleClick = (event: MouseEvent): void => {
    const box = this._clickedTwice(event)?.box ?? null;
    if (box !== null && !isControl(event.target)) {
      const isMark = box.tasks > 1 && box.kind === 'failed';
      this._model.show(box, isMark ? MARKS_ROOM : box.tasks > 1 ? 0 : 1);
    }
  };

  private readonly _onWheel = (event: WheelEvent): void => {
    const drawing = this._drawing;
    if (drawing === null) {
      return;
    }
    this._awaited = null;
    const { x } = this._placeOf(event);
    const step = event.deltaMode === 1 ? 16 : 1;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      const factor = Math.exp((-event.deltaY * step) / 240);
      this._model.zoomAt(drawing.secondsAtX(x), factor);
    } else if (
      event.shiftKey ||
      Math.abs(event.deltaX) > Math.abs(event.deltaY)
    ) {
      event.preventDefault();
      const delta = (event.deltaX || event.deltaY) * step;
      const { from, to } = this._model.view;
      this._model.pan((delta / Math.max(1, drawing.width)) * (to - from));
    }
    this.leave();
  };

  private _brushTo(event: PointerEvent, start: number): void {
    const drawing = this._drawing;
    if (drawing === null) {
      return;
    }
    const { extent } = this._model;
    const inside = (seconds: number) =>
      Math.min(extent.to, Math.max(extent.from, seconds));
    const end = drawing.secondsAtX(this._placeOf(event).x);
    this._model.setBrush({
      from: inside(Math.min(start, end)),
      to: inside(Math.max(start, end))
    });
  }

  /** The click of which this is the second, or which comes of both. */
  private _clickedTwice(event: MouseEvent): LanePointer['_click'] {
    const click = this._click;
    return click !== null &&
      event.timeStamp - click.at < DOUBLE_CLICK_MS &&
      Math.abs(event.clientX - click.x) <= DOUBLE_CLICK_REACH &&
      Math.abs(event.clientY - click.y) <= DOUBLE_CLICK_REACH
      ? click
      : null;
  }

  private _endPress(): void {
    this._press = null;
    this._model.setBrush(null);
    this._element?.classList.remove('sw-is-dragging');
  }

  // ------------------------------------------------------------------- hover

  private _hoverLater(event: PointerEvent): void {
    clearTimeout(this._hoverTimer);
    const at = { clientX: event.clientX, clientY: event.clientY };
    const delay = this._hovered === null ? HOVER_DELAY_MS : 16;
    this._hoverTimer = window.setTimeout(() => this._hover(at), delay);
  }

  private _hover(at: { clientX: number; clientY: number }): void {
    const box = this._boxUnder(at);
    if (box === null) {
      this._setHovered(null);
      return;
    }
    const { layout } = this._drawing!;
    const y = this._placeOf(at).y + (this._element?.scrollTop ?? 0);
    const hovered = {
      box,
      detail: box.run === null ? null : (this._details.get(box.run) ?? null),
      x: at.clientX,
      y: at.clientY,
      laneTop: laneAt(layout, y)?.lane.top ?? y
    };
    this._setHovered(hovered);
    if (box.run !== null && hovered.detail === null) {
      void this._fetchDetail(box.run);
    }
  }

  private async _fetchDetail(run: number): Promise<void> {
    let detail: RunDetail | null;
    try {
      detail = await this._detailOf(run);
    } catch {
      return; // The link broke; the strip above says so, and the card keeps what the tile told.
    }
    if (detail === null) {
      return;
    }
    if (this._details.size > 500) {
      this._details.clear();
    }
    this._details.set(run, detail);
    if (this._hovered?.box.run === run) {
      this._setHovered({ ...this._hovered, detail });
    }
  }

  private _setHovered(hovered: Hovered | null): void {
    if (hovered !== this._hovered) {
      this._hovered = hovered;
      this._hoveredChanged.emit(hovered);
    }
  }

  // -------------------------------------------------------------------- keys

  private readonly _onKey = (event: KeyboardEvent): void => {
    if (
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      isControl(event.target)
    ) {
      return;
    }
    const act = this._actionOf(event.key);
    if (act !== null) {
      event.preventDefault();
      event.stopPropagation();
      this._awaited = null;
      this.leave();
      act();
    }
  };

  private _actionOf(key: string): (() => void) | null {
    const model = this._model;
    switch (key.length === 1 ? key.toLowerCase() : key) {
      case 'a':
      case 'ArrowLeft':
        return () => model.panByShare(-KEY_PAN);
      case 'd':
      case 'ArrowRight':
        return () => model.panByShare(KEY_PAN);
      case 'w':
      case '+':
      case '=':
        return () => model.zoom(KEY_ZOOM);
      case 's':
      case '-':
        return () => model.zoom(1 / KEY_ZOOM);
      case '0':
        return () => model.fit();
      case 'f':
        return () => model.toggleFollowing();
      case '.':
        return () => this._step(1);
      case ',':
        return () => this._step(-1);
      case 'ArrowDown':
        return () => this._changeLane(1);
      case 'ArrowUp':
        return () => this._changeLane(-1);
      case 'c':
        return () => this._collapse();
      case 'Enter':
        return () => this._showSelected();
      case 'Escape':
        return () => {
          if (this._press !== null) {
            // The range being drawn out is given up, not the selection.
            this._endPress();
            return;
          }
          this._selection.select(null);
        };
      default:
        return null;
    }
  }

  /** The next task of the lane, in view or brought there. */
  private _step(direction: 1 | -1): void {
    const laneIndex = this._currentLane ?? this._lanes[0]?.laneIndex;
    if (laneIndex === undefined) {
      return;
    }
    const { from, to } = this._model.view;
    const tiles = this._tilesHere;
    const run = this._selection.selectedRun;
    const current = run === null ? null : boxOfRun(tiles, run);
    const start = current?.from ?? (direction > 0 ? from : to);
    const next = neighbourOf(tiles, laneIndex, start, direction, run);
    if (next !== null) {
      this._select(next, laneIndex);
    } else if (this._isWaiting) {
      this._whenHere(() => this._step(direction));
    } else {
      this._model.panByShare(direction * 0.5);
    }
  }

  private _changeLane(step: 1 | -1): void {
    const lanes = this._lanes;
    const lane = this._currentLane;
    const index = lanes.findIndex(item => item.laneIndex === lane);
    const next = lanes[index < 0 ? 0 : index + step];
    if (next === undefined) {
      return;
    }
    this._reached = {
      laneIndex: next.laneIndex,
      run: this._selection.selectedRun
    };
    this._selectNear(next.laneIndex);
    const { clientHeight = 0 } = this._element ?? {};
    const laneHeight = this._drawing?.layout.laneHeight ?? 0;
    this._element?.scrollTo?.({
      top: Math.max(0, next.top - (clientHeight - laneHeight) / 2)
    });
  }

  /** A task of a lane at the time of the selected one, which may be of another lane. */
  private _selectNear(laneIndex: LaneIndex): void {
    const tiles = this._tilesHere;
    const run = this._selection.selectedRun;
    const current = run === null ? null : boxOfRun(tiles, run);
    const at = current?.from ?? this._model.view.from;
    const box =
      neighbourOf(tiles, laneIndex, at, 1) ??
      neighbourOf(tiles, laneIndex, at, -1);
    if (box !== null) {
      this._select(box, laneIndex);
    } else if (this._isWaiting) {
      this._whenHere(() => this._selectNear(laneIndex));
    }
  }

  private _select(box: FoundBox, laneIndex: LaneIndex): void {
    const run = box.tile.run[box.row] as number;
    this._reached = { laneIndex, run };
    this._selection.select({ kind: 'run', run });
    this._bringIntoView(box);
  }

  /** Unless something else has been selected by then. */
  private _whenHere(act: () => void): void {
    const run = this._selection.selectedRun;
    this._awaited = () => {
      if (this._selection.selectedRun === run) {
        act();
      }
    };
  }

  private readonly _onPainted = (_: LanesDrawing, what: Painted): void => {
    const act = this._awaited;
    if (what !== 'waiting' && act !== null) {
      this._awaited = null;
      act();
    }
  };

  private get _lanes() {
    const workers = this._drawing?.layout.workers ?? [];
    return workers.flatMap(worker => worker.lanes);
  }

  /** That of the selection, or to which keys have come since. */
  private get _currentLane(): LaneIndex | undefined {
    const run = this._selection.selectedRun;
    const reached = this._reached;
    if (run === null || reached?.run === run) {
      return reached?.laneIndex;
    }
    const box = boxOfRun(this._tilesHere, run);
    return box === null
      ? reached?.laneIndex
      : (box.tile.laneIndex[box.row] as LaneIndex);
  }

  private get _tilesHere(): readonly TileData[] {
    return this._drawing === null
      ? []
      : this._model.tilesHere(this._drawing.tiles);
  }

  /** Tiles in view are on their way. */
  private get _isWaiting(): boolean {
    const { count = 0 } = this._drawing?.tiles ?? {};
    return this._tilesHere.length < count;
  }

  private _bringIntoView(range: Viewport): void {
    const { from, to } = this._model.view;
    if (range.to < from || range.from > to) {
      const width = to - from;
      const middle = (range.from + range.to) / 2;
      this._model.setView({ from: middle - width / 2, to: middle + width / 2 });
    }
  }

  private _collapse(): void {
    const workers = this._drawing?.layout.workers ?? [];
    const laneIndex = this._currentLane;
    const worker =
      workers.find(row =>
        row.lanes.some(lane => lane.laneIndex === laneIndex)
      ) ?? workers[0];
    if (worker !== undefined && !this._model.showsGroups) {
      this._model.toggleWorker(worker.worker);
    }
  }

  private _showSelected(): void {
    const run = this._selection.selectedRun;
    const box = run === null ? null : boxOfRun(this._tilesHere, run);
    if (box !== null) {
      this._model.show(box, 1);
    }
  }

  // ------------------------------------------------------------------ places

  private _placeOf(event: { clientX: number; clientY: number }): {
    x: number;
    y: number;
  } {
    const box = this._element?.getBoundingClientRect();
    return {
      x: event.clientX - (box?.left ?? 0) - (this._drawing?.gutter ?? 0),
      y: event.clientY - (box?.top ?? 0)
    };
  }

  private _boxUnder(event: {
    clientX: number;
    clientY: number;
  }): HoveredBox | null {
    const { x, y } = this._placeOf(event);
    return x < 0 ? null : (this._drawing?.hit(x, y) ?? null);
  }
}

/** Of a box that is not the run itself. */
function partOf(box: HoveredBox): { readonly function?: string } {
  return box.kind === 'compute' && (box.tasks === 0 || box.isExecution === true)
    ? { function: box.function }
    : {};
}

function panelOf(lanes: HTMLElement): HTMLElement {
  return lanes.closest<HTMLElement>('.sw-TaskStream') ?? lanes;
}

function isControl(target: EventTarget | null): boolean {
  return (
    target instanceof Element &&
    target.closest('button, input, select') !== null
  );
}
