/**
 * Runs in the browser, inside an HTML file of `visualize`: unpacks the picture, draws it, and draws it again when zoom, size or theme
 * change. Nothing is loaded; the file's content policy forbids every connection.
 */
import bar from 'plotly.js/lib/bar';
import plotly from 'plotly.js/lib/core';
import { figureOf, type Picture } from '../figure';
import type { View } from '../view';
import type { Shade } from '../theme';
import { unpacked } from '../../../exports/page/unpack';

plotly.register([bar]);

/** What plotly makes of the element. */
type FigureElement = HTMLElement & {
  on?(event: string, listener: (event: RangeOfEvent) => void): void;
};

/** After the last wheel step or size change. */
const REDRAW_DELAY_MS = 80;

type RangeOfEvent = {
  readonly 'xaxis.range[0]'?: number;
  readonly 'xaxis.range[1]'?: number;
  readonly 'xaxis.range'?: readonly [number, number];
};

class Page {
  private readonly _element: FigureElement;
  private readonly _picture: Picture;
  private readonly _dark = matchMedia('(prefers-color-scheme: dark)');
  private _from = 0;
  private _to: number;
  private _timer: number | undefined;

  constructor(element: FigureElement, picture: Picture) {
    this._element = element;
    this._picture = picture;
    this._to = picture.end;
  }

  async start(): Promise<void> {
    await this._draw();
    this._element.on?.('plotly_relayout', event => this._zoomed(event));
    this._dark.addEventListener('change', () => this._later());
    addEventListener('resize', () => this._later());
  }

  /** plotly has moved the axis already; what follows are the details of the new stretch. */
  private _zoomed(event: RangeOfEvent): void {
    const from = event['xaxis.range[0]'] ?? event['xaxis.range']?.[0];
    const to = event['xaxis.range[1]'] ?? event['xaxis.range']?.[1];
    if (from !== undefined && to !== undefined) {
      this._from = from;
      this._to = to;
      this._later();
    }
  }

  private _later(): void {
    clearTimeout(this._timer);
    this._timer = window.setTimeout(() => {
      this._draw().catch(fail);
    }, REDRAW_DELAY_MS);
  }

  private async _draw(): Promise<void> {
    const shade: Shade = this._dark.matches ? 'dark' : 'light';
    const { data, layout, config } = figureOf(this._picture, {
      from: this._from,
      to: this._to,
      width: this._picture.options.width ?? this._element.clientWidth,
      shade
    } satisfies View);
    await plotly.react(this._element, [...data], layout, config);
    this._element.dataset['drawn'] = `${this._from} ${this._to} ${shade}`;
  }
}

function fail(error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  document.getElementById('problem')!.textContent =
    `The figure could not be drawn: ${message}`;
}

async function main(): Promise<void> {
  const packed = document.getElementById('picture')!.textContent ?? '';
  const picture = (await unpacked(packed)) as Picture;
  await new Page(document.getElementById('figure')!, picture).start();
}

main().catch(fail);
