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
import { boxOfRun } from './box-search';
import { groupLanes } from './lane-groups';
import { laneAt } from './lane-layout';
import type { SelectedPlace } from './lane-scene';
import type { LanesDrawing } from './lanes-drawing';
import type { TaskStreamModel } from './model';
import type { HoveredBox } from './rows';
import type { NeighbourQuestion } from './task-query';
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
/** Of a key that is held down so many steps may wait for their answers. */
const MOST_STEPS = 2;
const KEY_PAN = 0.15;
const KEY_ZOOM = 1.5;

/** The end of a lane that keys have come to; `direction` null: it has no task. */
export type Said = {
  readonly direction: 1 | -1 | null;
  readonly laneIndex: LaneIndex;
};

/** Where a run lies; null: an observer of before does not say it. */
export function placeOf(detail: RunDetail): SelectedPlace | null {
  const { run, laneIndex, start, duration } = detail;
  return laneIndex === undefined
    ? null
    : { run, laneIndex, from: start, to: start + duration };
}

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
  /** Grows when the user goes on: what was asked for before selects nothing any more. */
  private _era = 0;
  /** Steps from task to task that are not done yet, one after the other. */
  private _steps = 0;
  private _walk: Promise<void> = Promise.resolve();
  private _said: Said | null = null;
  private readonly _saidChanged = new Signal<this, Said | null>(this);
  private _marked: LaneIndex | null = null;
  private readonly _reachedChanged = new Signal<this, LaneIndex | null>(this);
  private readonly _details = new Map<number, RunDetail>();
  private readonly _hoveredChanged = new Signal<this, Hovered | null>(this);

  constructor(
    private readonly _model: TaskStreamModel,
    private readonly _selection: SelectionModel,
    private readonly _detailOf: (run: number) => Promise<RunDetail | null>,
    private readonly _neighbour: (
      question: NeighbourQuestion
    ) => Promise<RunDetail | null>
  ) {}

  /** That keys have come to the end of a lane, until the user goes on. */
  get saidChanged(): ISignal<this, Said | null> {
    return this._saidChanged;
  }

  /** The row that keys have come to, while they are used. */
  get reachedChanged(): ISignal<this, LaneIndex | null> {
    return this._reachedChanged;
  }

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

  /** The user does something else than to step on. */
  private _goOn(): void {
    this._era += 1;
    this._setSaid(null);
  }

  attach(drawing: LanesDrawing, element: HTMLElement): void {
    this._drawing = drawing;
    this._element = element;
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
    this._goOn();
    this._mark(null);
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
    this._goOn();
    this._mark(null);
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
    this._goOn();
    this._mark(null);
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
    this._goOn();
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
      if (event.key === '.' || event.key === ',') {
        this._setSaid(null);
      } else {
        this._goOn();
      }
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
        return () => this._stepLater(1);
      case ',':
        return () => this._stepLater(-1);
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

  /** One after the other, also while a key is held down and answers take longer than it takes to repeat. */
  private _stepLater(direction: 1 | -1): void {
    if (this._steps >= MOST_STEPS) {
      return;
    }
    const era = this._era;
    this._steps += 1;
    this._walk = this._walk.then(async () => {
      if (era === this._era) {
        await this._step(direction);
      }
      this._steps -= 1;
    });
  }

  /** The next task of the lane, in view or brought there. The observer knows it; tiles have boxes only of what is wider than a cell. */
  private async _step(direction: 1 | -1): Promise<void> {
    const { selectedRun: run } = this._selection;
    const reached = this._reached;
    const isReached = reached?.run === run;
    const { from, to } = this._model.view;
    const laneIndex =
      run !== null && !isReached
        ? this._currentLane
        : (reached?.laneIndex ?? this._lanes[0]?.laneIndex);
    if (run === null && laneIndex === undefined) {
      return;
    }
    const question = {
      direction,
      ...((run === null || isReached) &&
        laneIndex !== undefined && { lanes: this._threadsOf(laneIndex) }),
      ...(run === null ? { from: direction > 0 ? from : to } : { nextTo: run })
    };
    if (!(await this._selectNext([question], laneIndex))) {
      this._say(run === null ? null : direction, laneIndex);
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
    this._mark(next.laneIndex);
    void this._selectNear(next.laneIndex);
    const { clientHeight = 0 } = this._element ?? {};
    const laneHeight = this._drawing?.layout.laneHeight ?? 0;
    this._element?.scrollTo?.({
      top: Math.max(0, next.top - (clientHeight - laneHeight) / 2)
    });
  }

  /** A task of a lane at the time of the selected one, which may be of another lane. */
  private async _selectNear(laneIndex: LaneIndex): Promise<void> {
    const { selectedRun: run } = this._selection;
    const lanes = this._threadsOf(laneIndex);
    const near =
      run === null
        ? { lanes, from: this._model.view.from }
        : { lanes, nextTo: run };
    const found = await this._selectNext(
      [
        { ...near, direction: 1 },
        { ...near, direction: -1 }
      ],
      laneIndex
    );
    if (!found) {
      this._say(null, laneIndex);
    }
  }

  /**
   * Selects what the first of these questions finds, unless the user has gone on by then.
   *
   * @returns whether there is such a task, as far as that is to be told.
   */
  private async _selectNext(
    questions: readonly NeighbourQuestion[],
    laneIndex: LaneIndex | undefined
  ): Promise<boolean> {
    const { selectedRun: before } = this._selection;
    const era = this._era;
    for (const question of questions) {
      let found: RunDetail | null;
      try {
        found = await this._neighbour(question);
      } catch {
        return true; // The link broke; the strip above says so.
      }
      if (era !== this._era || this._selection.selectedRun !== before) {
        return true;
      }
      if (found !== null) {
        this._select(found, laneIndex);
        return true;
      }
    }
    return false;
  }

  private _select(run: RunDetail, laneIndex: LaneIndex | undefined): void {
    const place = placeOf(run);
    const lane =
      laneIndex ??
      (place === null ? null : this._model.rowOf(place.laneIndex)) ??
      undefined;
    this._reached =
      lane === undefined ? null : { laneIndex: lane, run: run.run };
    this._mark(lane ?? null);
    // Before the selection: then the outline is drawn with it, and the drawer brings the lane into sight.
    this._model.setSelectedPlace(place);
    this._selection.select({ kind: 'run', run: run.run });
    this._model.reveal({ from: run.start, to: run.start + run.duration });
    if (lane !== undefined) {
      this._drawing?.bringLane(lane);
    }
  }

  /** The observer's lanes of a row: that of a group has those of its workers. */
  private _threadsOf(row: LaneIndex): readonly number[] {
    const { result, showsGroups } = this._model;
    if (!showsGroups || result === null) {
      return [row];
    }
    return groupLanes(result, row);
  }

  private _say(direction: 1 | -1 | null, laneIndex?: LaneIndex): void {
    this._setSaid(laneIndex === undefined ? null : { direction, laneIndex });
  }

  private _setSaid(said: Said | null): void {
    if (said !== this._said) {
      this._said = said;
      this._saidChanged.emit(said);
    }
  }

  private _mark(lane: LaneIndex | null): void {
    if (lane !== this._marked) {
      this._marked = lane;
      this._reachedChanged.emit(lane);
    }
  }

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
    const place = this._model.selectedRow;
    return box !== null
      ? (box.tile.laneIndex[box.row] as LaneIndex)
      : place?.run === run
        ? place.laneIndex
        : reached?.laneIndex;
  }

  private get _tilesHere(): readonly TileData[] {
    return this._drawing === null
      ? []
      : this._model.tilesHere(this._drawing.tiles);
  }

  private _collapse(): void {
    const workers = this._drawing?.layout.workers ?? [];
    const laneIndex = this._currentLane;
    // (a folded one has no lanes there)
    const known =
      laneIndex === undefined
        ? undefined
        : this._model.result?.lanes[laneIndex]?.worker;
    const worker = workers.find(row => row.worker === known) ?? workers[0];
    if (worker !== undefined && !this._model.showsGroups) {
      this._model.toggleWorker(worker.worker);
    }
  }

  private _showSelected(): void {
    const run = this._selection.selectedRun;
    const box = run === null ? null : boxOfRun(this._tilesHere, run);
    const place = this._model.selectedPlace;
    const range = box ?? (place?.run === run ? place : null);
    if (range !== null) {
      this._model.show(range, 1);
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
