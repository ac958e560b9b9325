/** Runs of tasks as boxes on lanes: the box that the pointer is at in words, a drag to look closer, and all boxes as a table. */
import { COLOURS, type Kind, type ShadeColours } from '../../charts/palette';
import { axisTicks } from '../../panels/task-stream/figure';
import type { Viewport } from '../../panels/task-stream/viewport';
import type { TaskStreamSection } from '../content';
import { element } from './elements';
import { tableOf } from './table';

const AXIS_PX = 20;
const LABEL_PX = 150;
const LANE_PX = 20;
const SMALLEST_LANE_PX = 4;
/** From here on lanes become narrower. */
const TALL_PX = 900;
/** Of a lane; what is no computing is drawn over its lower part. */
const BESIDE_SHARE = 0.4;
const SHORTEST_DRAG_PX = 4;
/** Rows of the table beyond this would keep a browser busy for seconds. */
const MOST_TABLE_ROWS = 20_000;
const REDRAW_DELAY_MS = 80;

const POINT = 'Point at a box; drag to look closer, “Show all” goes back.';

/** Colours of actions; computing has its function's. */
const KINDS: Readonly<Record<string, Kind>> = {
  transfer: 'transfer',
  'disk-read': 'disk',
  'disk-write': 'disk',
  deserialize: 'serialize',
  serialize: 'serialize',
  import: 'import'
};
const COMPUTE = 'compute';

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
  private _view: Viewport;
  /** Where a drag began. */
  private _from: number | null = null;
  private _timer: number | undefined;

  constructor(private readonly _section: TaskStreamSection) {
    const { lanes, boxes, seconds, title } = _section;
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
      this._legend(),
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
      const box = this._boxAt(event.offsetX, event.offsetY);
      this._said.textContent = box < 0 ? POINT : this._wordsOf(box);
    });
    canvas.addEventListener('pointerleave', () => {
      this._said.textContent = POINT;
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

  private _boxAt(x: number, y: number): number {
    const { boxes, records } = this._section;
    const lane = Math.floor((y - AXIS_PX) / this._lanePx);
    const depth = (y - AXIS_PX) / this._lanePx - lane;
    const t = this._timeAt(x);
    const slack = (this._view.to - this._view.from) / this._chartPx;
    let found = -1;
    if (x >= LABEL_PX) {
      boxes.start.forEach((start, box) => {
        const isHere =
          records.lane[boxes.record[box]!] === lane &&
          start - slack <= t &&
          t <= start + boxes.duration[box]! + slack;
        // What lies over computing is meant in its own part of the lane alone.
        if (
          isHere &&
          (this._isCompute(box)
            ? found < 0 || this._isCompute(found)
            : depth >= 1 - BESIDE_SHARE)
        ) {
          found = box;
        }
      });
    }
    return found;
  }

  private _isCompute(box: number): boolean {
    const { actions, boxes } = this._section;
    return actions[boxes.action[box]!] === COMPUTE;
  }

  private _cellsOf(box: number): string[] {
    const { actions, boxes, functions, lanes, records } = this._section;
    const record = boxes.record[box]!;
    return [
      records.key[record] ?? '',
      functions[boxes.function[box]!]?.name ?? '',
      lanes[records.lane[record]!] ?? '',
      actions[boxes.action[box]!] ?? 'other',
      records.status[record] ?? ''
    ];
  }

  private _wordsOf(box: number): string {
    const { boxes } = this._section;
    const [key, name, lane, action, status] = this._cellsOf(box);
    return `${key} · ${name} · ${action} · ${millis(boxes.duration[box]!)} from ${millis(boxes.start[box]!)} on · ${lane} · ${status}`;
  }

  private _draw(): void {
    const { boxes, lanes, records } = this._section;
    const canvas = this._canvas;
    const context = canvas.getContext('2d');
    if (context === null) {
      return;
    }
    const colours = COLOURS[this._dark.matches ? 'dark' : 'light'];
    const height = AXIS_PX + lanes.length * this._lanePx + 1;
    const scale = window.devicePixelRatio || 1;
    canvas.style.height = `${height}px`;
    canvas.width = Math.round((LABEL_PX + this._chartPx) * scale);
    canvas.height = Math.round(height * scale);
    context.scale(scale, scale);
    this._drawFrame(context);
    const { from, to } = this._view;
    const perSecond = this._chartPx / (to - from);
    context.save();
    context.beginPath();
    context.rect(LABEL_PX, 0, this._chartPx, height);
    context.clip();
    let drawn = 0;
    for (const ofCompute of [true, false]) {
      boxes.start.forEach((start, box) => {
        const end = start + boxes.duration[box]!;
        if (this._isCompute(box) !== ofCompute || end < from || start > to) {
          return;
        }
        const y = AXIS_PX + records.lane[boxes.record[box]!]! * this._lanePx;
        const full = this._lanePx - 1;
        const tall = ofCompute ? full : full * BESIDE_SHARE;
        context.fillStyle = this._colourOf(box, colours);
        context.fillRect(
          LABEL_PX + (start - from) * perSecond,
          y + full - tall,
          Math.max(0.6, boxes.duration[box]! * perSecond - 0.3),
          tall
        );
        drawn += 1;
      });
    }
    context.restore();
    canvas.dataset['drawn'] = String(drawn);
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
      context.fillText(lanes[lane] ?? '', 0, y, LABEL_PX - 8);
    }
  }

  private _colourOf(box: number, colours: ShadeColours): string {
    const { actions, boxes, functions, records } = this._section;
    const action = actions[boxes.action[box]!] ?? '';
    if (action !== COMPUTE) {
      return colours.kinds[KINDS[action] ?? 'other'];
    }
    if (records.status[boxes.record[box]!] !== 'OK') {
      return colours.kinds.failed;
    }
    const slot = functions[boxes.function[box]!]?.slot ?? -1;
    return colours.functions[slot] ?? colours.other;
  }

  private _legend(): HTMLElement {
    const { actions, boxes, functions } = this._section;
    const present = new Set(boxes.action.map(action => actions[action] ?? ''));
    const entry = (name: string, colour: string) =>
      element(
        'span',
        {},
        element('b', { style: `background: var(--sw-${colour})` }),
        element('bdi', {}, name)
      );
    return element(
      'p',
      { class: 'legend' },
      ...functions
        .filter(({ slot }) => slot >= 0)
        .map(({ name, slot }) => entry(name, `fn-${slot + 1}`)),
      ...(functions.some(({ slot }) => slot < 0)
        ? [entry('other functions', 'fn-other')]
        : []),
      ...actions
        .filter(action => action !== COMPUTE && present.has(action))
        .map(action => entry(action, `kind-${KINDS[action] ?? 'other'}`)),
      entry('failed or lost', 'kind-failed'),
      'Computing fills a lane; all else is drawn over its lower part.'
    );
  }

  /** Made when it is opened first. */
  private _table(): HTMLDetailsElement {
    const { boxes, title } = this._section;
    const details = element(
      'details',
      {},
      element('summary', {}, 'All parts as a table')
    );
    details.addEventListener(
      'toggle',
      () => {
        const count = boxes.start.length;
        const rows = boxes.start.slice(0, MOST_TABLE_ROWS).map((start, box) => {
          const duration = boxes.duration[box]!;
          const words = this._cellsOf(box).map(text => ({ text, value: text }));
          return {
            cells: [
              ...words,
              { text: millis(start), value: start },
              { text: millis(duration), value: duration }
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
  { name: 'Status' },
  { name: 'From', numeric: true },
  { name: 'Took', numeric: true }
];

function millis(seconds: number): string {
  return `${(seconds * 1000).toFixed(3)}\u00a0ms`;
}
