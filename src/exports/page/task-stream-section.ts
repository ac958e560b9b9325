/** Runs of tasks as boxes on lanes: the box that the pointer is at in words, a drag to look closer, and all boxes as a table. */
import { shownText } from '../../base/shown-text';
import {
  boxFill,
  pixel,
  rowsInLane,
  isOfFunction
} from '../../charts/lane-fills';
import type { BoxColumns, BoxFill } from '../../charts/lane-raster';
import { COLOURS, type ShadeColours } from '../../charts/palette';
import {
  formatCount,
  formatDuration,
  formatInstant,
  legendWord,
  partWord
} from '../../panels/format';
import { axisTicks } from '../../panels/task-stream/figure';
import { BOX_KINDS, boxCard, threadText } from '../../panels/task-stream/rows';
import type { Viewport } from '../../panels/task-stream/viewport';
import type { TaskStreamSection } from '../content';
import { english } from '../english';
import { boxColumns } from './box-columns';
import { type DrawnBox, drawnBoxes } from './drawn-boxes';
import { element } from './elements';
import { FailedBoxes, type PicturePlace } from './failed-boxes';
import { laneBlocks } from './lane-blocks';
import { LaneIndex } from './lane-index';
import { tableOf } from './table';
import { legendElement } from './task-stream-legend';

const AXIS_PX = 20;
const LABEL_PX = 150;
const LANE_PX = 20;
const SMALLEST_LANE_PX = 4;
/** Of the screen, whatever its scale: a line of work, and air on both sides. */
const SMALLEST_LANE_PIXELS = 3;
/** From here on lanes become narrower. */
const TALL_PX = 900;
const SHORTEST_DRAG_PX = 4;
/** Rows of the table beyond this would keep a browser busy for seconds. */
const MOST_TABLE_ROWS = 20_000;
const REDRAW_DELAY_MS = 80;

const POINT = 'Point at a box; drag to look closer, “Show all” goes back.';

export function taskStreamElement(section: TaskStreamSection): HTMLElement {
  return new LanesView(section).root;
}

class LanesView {
  readonly root: HTMLElement;
  private readonly _canvas: HTMLCanvasElement;
  private readonly _said = element(
    'p',
    { class: 'note', 'aria-live': 'polite' },
    POINT
  );
  private readonly _dark = matchMedia('(prefers-color-scheme: dark)');
  private readonly _whole: Viewport;
  private readonly _lanePx: number;
  private readonly _boxes: readonly DrawnBox[];
  private readonly _index: LaneIndex;
  private readonly _failed: FailedBoxes;
  private _view: Viewport;
  /** Where a drag began. */
  private _from: number | null = null;
  private _timer: number | undefined;

  constructor(private readonly _section: TaskStreamSection) {
    const { lanes, boxes, seconds, title } = _section;
    this._boxes = drawnBoxes(_section);
    this._index = new LaneIndex(this._boxes, lanes.length);
    this._failed = new FailedBoxes(this._boxes);
    const begin = boxes.start.reduce((a, b) => Math.min(a, b), 0);
    this._whole = { from: begin, to: Math.max(seconds, begin + 1e-6) };
    this._view = this._whole;
    this._lanePx = Math.max(
      SMALLEST_LANE_PX,
      Math.min(LANE_PX, Math.floor(TALL_PX / lanes.length))
    );
    this._canvas = element('canvas', {
      class: 'lanes',
      role: 'img',
      'aria-label': `${title}: what ran on which thread; a table of it is below`
    });
    const all = element('button', { type: 'button' }, 'Show all');
    all.addEventListener('click', () => this._show(this._whole));
    this._listen();
    this.root = element(
      'div',
      { class: 'task-stream' },
      ...this._left(),
      legendElement(_section, this._boxes),
      element('div', { class: 'tools' }, this._said, all),
      this._canvas,
      this._table()
    );
    this._dark.addEventListener('change', () => this._draw());
    new ResizeObserver(() => {
      clearTimeout(this._timer);
      this._timer = window.setTimeout(() => this._draw(), REDRAW_DELAY_MS);
    }).observe(this._canvas);
  }

  private _listen(): void {
    const canvas = this._canvas;
    canvas.addEventListener('pointerdown', event => {
      this._from = event.offsetX;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointerup', event => {
      const from = this._from;
      this._from = null;
      if (from !== null && Math.abs(event.offsetX - from) >= SHORTEST_DRAG_PX) {
        const ends = [from, event.offsetX].map(x => this._timeAt(x));
        this._show({ from: Math.min(...ends), to: Math.max(...ends) });
      }
    });
    canvas.addEventListener('pointermove', event => {
      const { offsetX: x, offsetY: y } = event;
      const [failed, ...more] = this._markedAt(x, y);
      const box = failed ?? this._boxAt(x, y);
      this._said.textContent = shownText(
        box === null ? POINT : this._wordsOf([box, ...more])
      );
    });
    canvas.addEventListener('pointerleave', () => {
      this._said.textContent = shownText(POINT);
    });
  }

  private _show(view: Viewport): void {
    this._view = view;
    this._draw();
  }

  private get _chartPx(): number {
    return Math.max(1, this._canvas.clientWidth - LABEL_PX);
  }

  private _timeAt(x: number): number {
    const { from, to } = this._view;
    const share = Math.min(1, Math.max(0, (x - LABEL_PX) / this._chartPx));
    return from + share * (to - from);
  }

  private _boxAt(x: number, y: number): DrawnBox | null {
    const lane = Math.floor((y - AXIS_PX) / this._lanePx);
    const inStrip =
      y - AXIS_PX - lane * this._lanePx >= rowsInLane(this._lanePx).stripTop;
    const t = this._timeAt(x);
    const slack = (this._view.to - this._view.from) / this._chartPx;
    return x < LABEL_PX ? null : this._index.at(lane, t, inStrip, slack);
  }

  /** The panel's hover card in one line: of a box, or of failed ones that share a mark. */
  private _wordsOf(boxes: readonly [DrawnBox, ...DrawnBox[]]): string {
    const { functions, lanes, records } = this._section;
    const [box] = boxes;
    const isOne = boxes.length === 1;
    const card = boxCard(
      {
        run: null,
        function: isOne ? (functions[box.function]?.name ?? '') : '',
        kind: BOX_KINDS[box.kind] ?? 'compute',
        inStrip: box.strip === 1,
        tasks: boxes.length,
        ...(isOne ? {} : { isMark: true as const }),
        from: boxes.reduce(
          (first, { from }) => Math.min(first, from),
          Infinity
        ),
        to: boxes.reduce((last, { to }) => Math.max(last, to), -Infinity),
        ...lanes[box.lane]!,
        running: false,
        key: records.key[box.record] ?? ''
      },
      null,
      english
    );
    const status = records.status[box.record] ?? '';
    return [
      card.key,
      card.title,
      box.tasks === 0
        ? card.aside
        : !isOne || status === 'ok'
          ? ''
          : legendWord(status, english),
      ...card.rows.map(({ label, text }) => `${label} ${text}`)
    ]
      .filter(text => text !== '')
      .join(' · ');
  }

  private _draw(): void {
    const { lanes } = this._section;
    const canvas = this._canvas;
    const context = canvas.getContext('2d');
    if (context === null) {
      return;
    }
    const scale = window.devicePixelRatio || 1;
    const height = AXIS_PX + lanes.length * this._lanePx + 1;
    canvas.style.height = `${height}px`;
    canvas.width = Math.round((LABEL_PX + this._chartPx) * scale);
    canvas.height = Math.round(height * scale);
    context.scale(scale, scale);
    this._drawFrame(context);
    const width = Math.max(1, Math.round(this._chartPx * scale));
    // (over the grid, which `putImageData` would wipe out)
    context.setTransform(1, 0, 0, 1, 0, 0);
    const boxes = boxColumns(this._boxes, this._view, width);
    this._drawLanes(context, boxes, scale, width);
    this._markFailed(context);
    canvas.dataset['drawn'] = String(boxes.laneIndex.length);
  }

  /** One block of lanes after another, by way of one canvas. */
  private _drawLanes(
    context: CanvasRenderingContext2D,
    boxes: BoxColumns,
    scale: number,
    width: number
  ): void {
    const block = element('canvas');
    const ofBlock = block.getContext('2d');
    const { stripHeight } = rowsInLane(this._lanePx);
    const blocks = laneBlocks(boxes, this._section.lanes.length, {
      originPixels: 0,
      endPixels: width,
      pixelsPerCell: 1,
      laneHeight: Math.max(
        SMALLEST_LANE_PIXELS,
        Math.round(this._lanePx * scale)
      ),
      stripHeight: Math.round(stripHeight * scale),
      pixelRatio: scale,
      patternLine: pixel(this._colours.patternLine),
      fillOf: this._fills()
    });
    const yOf = (lane: number) =>
      Math.round(AXIS_PX * scale) + Math.round(lane * this._lanePx * scale);
    for (const { firstLane, lanes, pixels, ...size } of blocks) {
      if (firstLane === 0) {
        // (no later one is larger)
        Object.assign(block, size);
      }
      ofBlock?.putImageData(
        new ImageData(
          new Uint8ClampedArray(pixels.buffer),
          size.width,
          size.height
        ),
        0,
        0
      );
      const y = yOf(firstLane);
      context.drawImage(
        block,
        0,
        0,
        size.width,
        size.height,
        Math.round(LABEL_PX * scale),
        y,
        size.width,
        yOf(firstLane + lanes) - y
      );
    }
  }

  /** Device pixels of the chart, without labels and axis. */
  private get _place(): PicturePlace {
    const scale = window.devicePixelRatio || 1;
    const { workTop, fullHeight } = rowsInLane(this._lanePx);
    return {
      view: this._view,
      width: Math.max(1, Math.round(this._chartPx * scale)),
      scale,
      areaOf: lane => ({
        y: Math.round((lane * this._lanePx + workTop) * scale),
        height: Math.round(fullHeight * scale)
      })
    };
  }

  private _markFailed(context: CanvasRenderingContext2D): void {
    const place = this._place;
    context.translate(
      Math.round(LABEL_PX * place.scale),
      Math.round(AXIS_PX * place.scale)
    );
    context.beginPath();
    context.rect(0, 0, place.width, context.canvas.height);
    context.clip();
    this._failed.draw(context, this._colours, place);
  }

  /** The boxes whose mark is at a point; none: there is no mark. */
  private _markedAt(x: number, y: number): readonly DrawnBox[] {
    const place = this._place;
    const lane = Math.floor((y - AXIS_PX) / this._lanePx);
    const left = (x - LABEL_PX) * place.scale;
    return left < 0
      ? []
      : this._failed.at(lane, left, (y - AXIS_PX) * place.scale, place);
  }

  private get _colours(): ShadeColours {
    return COLOURS[this._dark.matches ? 'dark' : 'light'];
  }

  private _fills(): (kind: number, index: number) => BoxFill {
    const { functions } = this._section;
    const colours = this._colours;
    const made = new Map<string, BoxFill>();
    return (kind, index) => {
      const word = BOX_KINDS[kind] ?? 'compute';
      const isOwn = isOfFunction(word);
      const key = isOwn ? `${word} ${index}` : word;
      const known = made.get(key);
      const fill =
        known ??
        boxFill(
          colours,
          word,
          isOwn ? (functions[index] ?? { slot: -1, round: 0 }) : null
        );
      made.set(key, fill);
      return fill;
    };
  }

  private _drawFrame(context: CanvasRenderingContext2D): void {
    const { lanes } = this._section;
    const style = getComputedStyle(document.documentElement);
    context.fillStyle = style.getPropertyValue('--quiet').trim();
    context.strokeStyle = style.getPropertyValue('--line').trim();
    context.font = '12px system-ui, sans-serif';
    context.textBaseline = 'middle';
    const bottom = AXIS_PX + lanes.length * this._lanePx;
    for (const { x, text } of axisTicks(this._view, this._chartPx)) {
      context.textAlign = 'center';
      context.fillText(text, LABEL_PX + x, AXIS_PX / 2);
      context.beginPath();
      context.moveTo(LABEL_PX + x, AXIS_PX - 3);
      context.lineTo(LABEL_PX + x, bottom);
      context.stroke();
    }
    const step = Math.ceil(14 / this._lanePx);
    context.textAlign = 'left';
    for (let lane = 0; lane < lanes.length; lane += step) {
      const y = AXIS_PX + (lane + 0.5) * this._lanePx;
      context.fillText(this._laneText(lane), 0, y, LABEL_PX - 8);
    }
  }

  private _laneText(lane: number): string {
    return shownText(threadText(this._section.lanes[lane]!, english));
  }

  private _left(): HTMLElement[] {
    const { left, records } = this._section;
    return left === undefined
      ? []
      : [
          element(
            'p',
            { class: 'note' },
            `The ${formatCount(records.key.length)} task runs that took longest, of ${formatCount(left.of)}: ` +
              `those that are left out took ${formatDuration(left.seconds)} of the threads’ time.`
          )
        ];
  }

  /** Made when it is opened first. */
  private _table(): HTMLDetailsElement {
    const { actions, boxes, functions, records, title } = this._section;
    const details = element(
      'details',
      {},
      element('summary', {}, 'All parts as a table')
    );
    details.addEventListener(
      'toggle',
      () => {
        const count = boxes.start.length;
        const rows = boxes.start
          .slice(0, MOST_TABLE_ROWS)
          .map((start, part) => {
            const duration = boxes.duration[part]!;
            const record = boxes.record[part]!;
            return {
              cells: [
                { value: records.key[record] ?? '' },
                { value: functions[boxes.function[part]!]?.name ?? '' },
                { value: this._laneText(records.lane[record]!) },
                {
                  value: partWord(
                    actions[boxes.action[part]!] ?? 'other',
                    english
                  )
                },
                {
                  value:
                    boxes.held[part] === 1
                      ? 'held the thread'
                      : 'in the background'
                },
                { value: legendWord(records.status[record] ?? '', english) },
                { text: formatInstant(start), value: start },
                { value: duration, as: 'seconds' as const }
              ]
            };
          });
        details.append(tableOf(COLUMNS, rows, `${title}: all parts`));
        if (count > MOST_TABLE_ROWS) {
          details.append(
            element(
              'p',
              { class: 'note' },
              `The first ${MOST_TABLE_ROWS} of ${count} parts.`
            )
          );
        }
      },
      { once: true }
    );
    return details;
  }
}

const COLUMNS = [
  { name: 'Key' },
  { name: 'Function' },
  { name: 'Thread' },
  { name: 'Action' },
  { name: 'How' },
  { name: 'Status' },
  { name: 'From', numeric: true },
  { name: 'Took', numeric: true }
];
