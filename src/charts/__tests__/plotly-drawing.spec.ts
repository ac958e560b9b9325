/** When plotly is made to draw; what it draws is seen in the browser. */
import { Signal } from '@lumino/signaling';
import type { Figure } from '../plotly-api';
import { PlotlyDrawing } from '../plotly-drawing';

/** A line at one height, up to a second. */
const flat = (end: number, bytes = 800): Figure => ({
  data: [{ type: 'scatter', x: [0, end], y: [bytes, bytes] }],
  layout: {
    margin: { l: 60, r: 40, t: 10, b: 40 },
    xaxis: { range: [0, end * 1.02] },
    yaxis: { range: [0, 1000] }
  }
});

class Theme {
  readonly changed = new Signal<this, void>(this);
}

describe('a drawing', () => {
  const theme = new Theme();
  let size: { width: number; height: number };
  let drawing: PlotlyDrawing;
  let onSize: () => void;
  /** The ends of the lines that were drawn. */
  let drawn: number[];

  beforeEach(() => {
    jest.useFakeTimers();
    Object.assign(globalThis, {
      ResizeObserver: class {
        constructor(listener: () => void) {
          onSize = listener;
        }
        observe(): void {}
        disconnect(): void {}
      }
    });
    size = { width: 500, height: 150 };
    drawn = [];
    const target = document.createElement('div');
    Object.defineProperty(target, 'clientWidth', { get: () => size.width });
    Object.defineProperty(target, 'clientHeight', { get: () => size.height });
    drawing = new PlotlyDrawing({
      plotly: {
        register: () => undefined,
        react: async (_, [trace]) => {
          drawn.push((trace as { x: number[] }).x[1]!);
        },
        purge: () => undefined,
        Plots: { resize: async () => undefined }
      },
      target,
      theme,
      figure: flat(100),
      onProblem: problem => {
        throw problem;
      },
      onHover: undefined
    });
    onSize();
    expect(drawn.splice(0)).toEqual([100]);
  });

  afterEach(() => {
    drawing.dispose();
    drawing.dispose();
    theme.changed.emit();
    jest.runAllTimers();
    expect(drawn).toEqual([]);
    jest.useRealTimers();
  });

  it('is not made again while it looks the same', () => {
    for (const end of [100, 100.5, 101, 101.5]) {
      drawing.show(flat(end));
    }
    expect(drawn).toEqual([]);
    drawing.show(flat(103));
    expect(drawn.splice(0)).toEqual([103]);
  });

  it('is made again at once when it looks other', () => {
    drawing.show(flat(100.5, 820));
    expect(drawn.splice(0)).toEqual([100.5]);
  });

  it('is the last figure as soon as no other comes', () => {
    drawing.show(flat(100.5));
    jest.advanceTimersByTime(2000);
    drawing.show(flat(101));
    jest.advanceTimersByTime(2000);
    expect(drawn).toEqual([]);
    jest.advanceTimersByTime(2000);
    expect(drawn.splice(0)).toEqual([101]);
  });

  it('has the size that its element has, while it is seen', () => {
    size = { width: 510, height: 150 };
    onSize();
    onSize();
    expect(drawn.splice(0)).toEqual([100]);
    size = { width: 0, height: 0 };
    onSize();
    drawing.show(flat(200));
    jest.runAllTimers();
    expect(drawn).toEqual([]);
    size = { width: 510, height: 150 };
    onSize();
    expect(drawn.splice(0)).toEqual([200]);
  });

  it('has the colours of the theme, also of one that came while it was hidden', () => {
    theme.changed.emit();
    expect(drawn.splice(0)).toEqual([100]);
    size = { width: 0, height: 0 };
    theme.changed.emit();
    drawn.splice(0);
    size = { width: 500, height: 150 };
    onSize();
    expect(drawn.splice(0)).toEqual([100]);
  });

  it('leaves nothing to be drawn when it goes', () => {
    drawing.show(flat(100.5));
  });
});
