/** A figure that plotly keeps drawn in an element: again when size, theme, or what is to be seen of it change. */
import { withColours } from './figure-colours';
import type { Figure, IPlotlyApi, IPlotlyElement } from './plotly-api';
import { looksSame, type Size } from './same-picture';

/** Signals that the theme's colours have changed. */
export type ThemeSource = {
  readonly changed: {
    connect(listener: () => void): boolean;
    disconnect(listener: () => void): boolean;
  };
};

const PLOTLY_CONFIG = {
  displaylogo: false,
  displayModeBar: false,
  showSendToCloud: false,
  scrollZoom: false,
  // Plotly's own goes back to what was drawn first.
  doubleClick: false,
  showTips: false
};
/** A figure that looks like the drawn one is drawn when no other has come for so long. */
const STILL_MS = 3000;

export class PlotlyDrawing {
  private _figure: Figure;
  private _drawn: { readonly figure: Figure; readonly size: Size } | null =
    null;
  private _still: ReturnType<typeof setTimeout> | undefined;
  private _hasListeners = false;
  private readonly _observer: ResizeObserver;
  private readonly _draw = () => this._drawNow();

  constructor(private readonly _options: PlotlyDrawing.IOptions) {
    const { figure, theme, target } = _options;
    this._figure = figure;
    this._drawNow();
    theme.changed.connect(this._draw);
    this._observer = new ResizeObserver(() => this._drawIfItLooksOther());
    this._observer.observe(target);
  }

  show(figure: Figure): void {
    this._figure = figure;
    this._drawIfItLooksOther();
  }

  dispose(): void {
    const { theme, plotly, target } = this._options;
    clearTimeout(this._still);
    theme.changed.disconnect(this._draw);
    this._observer.disconnect();
    plotly.purge(target);
  }

  private _drawIfItLooksOther(): void {
    clearTimeout(this._still);
    const size = this._size();
    if (size.width === 0 || size.height === 0) {
      // Hidden: it gets a size when it is shown.
      return;
    }
    const drawn = this._drawn;
    if (
      drawn === null ||
      size.width !== drawn.size.width ||
      size.height !== drawn.size.height ||
      !looksSame(drawn.figure, this._figure, size)
    ) {
      this._drawNow();
    } else if (drawn.figure !== this._figure) {
      this._still = setTimeout(this._draw, STILL_MS);
    }
  }

  private _drawNow(): void {
    clearTimeout(this._still);
    const { target, plotly, onProblem } = this._options;
    const size = this._size();
    this._drawn = { figure: this._figure, size };
    const style = getComputedStyle(target);
    const { data, layout } = withColours(this._figure, role =>
      style.getPropertyValue(role).trim()
    );
    const sized = {
      ...layout,
      width: Math.max(10, size.width),
      height: Math.max(10, size.height)
    };
    plotly
      .react(target, data, sized, PLOTLY_CONFIG)
      .then(() => this._listen(), onProblem);
  }

  private _size(): Size {
    const { clientWidth, clientHeight } = this._options.target;
    return { width: clientWidth, height: clientHeight };
  }

  private _listen(): void {
    if (this._hasListeners) {
      return;
    }
    this._hasListeners = true;
    const { target, onHover, onZoom } = this._options;
    if (onHover !== undefined) {
      target.on?.('plotly_hover', ((event: {
        xvals?: number[];
        event: MouseEvent;
      }) => onHover(event.xvals?.[0] ?? null, event.event)) as never);
      target.on?.('plotly_unhover', (() => onHover(null, null)) as never);
    }
    if (onZoom !== undefined) {
      target.on?.('plotly_relayout', ((change: Record<string, unknown>) => {
        const [from, to] = [0, 1].map(end => change[`xaxis.range[${end}]`]);
        if (typeof from === 'number' && typeof to === 'number') {
          onZoom([from, to]);
        }
      }) as never);
      target.on?.('plotly_doubleclick', (() => onZoom(null)) as never);
    }
  }
}

export namespace PlotlyDrawing {
  export interface IOptions {
    readonly plotly: IPlotlyApi;
    readonly target: IPlotlyElement;
    readonly theme: ThemeSource;
    readonly figure: Figure;
    readonly onProblem: (error: Error) => void;
    /** The x under the pointer, null when it leaves. */
    readonly onHover:
      | ((x: number | null, event: MouseEvent | null) => void)
      | undefined;
    /** The x from and to which the user wants to look; null: all of it. The next figure is to have that. */
    readonly onZoom?:
      | ((range: readonly [number, number] | null) => void)
      | undefined;
  }
}
