/** Which tiles are turned into bitmaps anew. There are no canvases here: what is written to one is counted. */
import { Signal } from '@lumino/signaling';
import type { TileData } from '../../../feed/feed-types';
import { SvgInk } from '../../../charts/ink';
import { readPalette } from '../../../charts/theme';
import { drawnTile } from '../../../testing/drawn-lanes';
import { laneIndices } from '../../../testing/ids';
import { SelectionModel } from '../../../feed/selection';
import { ask } from '../../../observer/__tests__/ask';
import { drawRuns } from '../../../testing/run-from-text';
import type { ITheme } from '../../panel-context';
import { bandShapes } from '../figure';
import { paintBands } from '../frame-painter';
import { drawGround } from '../lane-ground';
import { LaneOverlay } from '../lane-overlay';
import { LanePainter } from '../lane-painter';
import { LanesDrawing } from '../lanes-drawing';
import { TaskStreamModel } from '../model';
import type { LaneScene } from '../lane-scene';
import { tileSeconds } from '../tile-plan';
import { headedWorker, stillScene } from './still-scene';

const LEVEL = 10;

/** Takes every call, and any property. */
const ignored: object = new Proxy(() => undefined, {
  get: (_, name) => (name === 'width' ? 0 : ignored),
  set: () => true,
  apply: () => ignored
});

let written = 0;

beforeEach(() => {
  written = 0;
  // A frame has time enough, however busy the machine is.
  jest.spyOn(performance, 'now').mockReturnValue(0);
  Object.assign(globalThis, {
    ImageData: class {},
    OffscreenCanvas: class {
      getContext() {
        return { putImageData: () => (written += 1) };
      }
    }
  });
});

afterEach(() => jest.restoreAllMocks());

function sceneOf(tile: TileData): LaneScene {
  const [laneIndex] = laneIndices([0]);
  return stillScene({
    view: { from: 0, to: tileSeconds(LEVEL) },
    width: 512,
    height: 40,
    layout: {
      laneHeight: 20,
      height: 40,
      workers: [headedWorker([{ laneIndex: laneIndex!, thread: 0, top: 18 }])]
    },
    tiles: { level: LEVEL, first: 0, count: 1 },
    tileOf: (level, index) => (level === LEVEL && index === 0 ? tile : null)
  });
}

it('a tile under another filter is drawn anew, though it is of the same moment and functions', () => {
  const place = { level: LEVEL, index: 0 };
  const [all, filtered] = ['aaa.aaa', 'aaa....'].map(boxes =>
    drawnTile([boxes], place)
  ) as [TileData, TileData];
  expect(filtered.logSeq).toBe(all.logSeq);
  const painter = new LanePainter();
  const paint = (tile: TileData) => {
    const before = written;
    painter.paint(ignored as CanvasRenderingContext2D, sceneOf(tile));
    return written - before;
  };
  expect(paint(all)).toBe(1);
  expect(paint(all)).toBe(0);
  expect(paint(filtered)).toBe(1);
  expect(paint(filtered)).toBe(0);
});

it('a lane has a line in its last row of pixels, on the page and in pictures', () => {
  const tile = drawnTile(['aaa'], { level: LEVEL, index: 0 });
  for (const pixelRatio of [1, 2]) {
    const scene = { ...sceneOf(tile), pixelRatio };
    const ink = new SvgInk(() => 0);
    drawGround(ink, scene);
    const y = (18 + 20) * pixelRatio - 1;
    expect(ink.drawn.markup).toContain(
      `<rect x="0" y="${y}" width="${512 * pixelRatio}" height="1"`
    );
    // Of one that is scrolled out of view there is none.
    const none = new SvgInk(() => 0);
    drawGround(none, { ...scene, scrollTop: 38 });
    expect(none.drawn.markup).not.toContain('height="1"');
  }
});

it('the length of a range stands where the range is in view, on the page and in pictures', () => {
  const tile = drawnTile(['aaa'], { level: LEVEL, index: 0 });
  const whole = tileSeconds(LEVEL);
  const ink = new SvgInk(text => text.length * 6);
  new LaneOverlay().draw(ink, {
    ...sceneOf(tile),
    range: { from: whole / 2, to: 100 * whole }
  });
  const { markup } = ink.drawn;
  const x = Number(/<text x="([\d.]+)"/.exec(markup)![1]);
  expect(x).toBeGreaterThan(256);
  expect(x).toBeLessThan(512);
});

it('the band of a span is seen, however short that is', () => {
  const widths: number[] = [];
  const band = { span: 1, tag: 'a', client: '', level: 0, tint: 0 };
  paintBands(
    {
      clearRect: () => undefined,
      fillRect: (_x: number, _y: number, width: number) => widths.push(width),
      measureText: (text: string) => ({ width: text.length * 6 })
    } as unknown as CanvasRenderingContext2D,
    bandShapes(
      [{ ...band, from: 45, to: 45.0001 }],
      { from: 40, to: 50 },
      1000
    ),
    { width: 1000, height: 16 },
    readPalette(document.body)
  );
  expect(widths).toEqual([1, 1]);
});

it('bitmaps of another filter are forgotten: they would stand in where it comes back', () => {
  Object.assign(globalThis, {
    ResizeObserver: class {
      observe(): void {}
      disconnect(): void {}
    }
  });
  const model = new TaskStreamModel();
  const theme = {
    palette: readPalette(document.body),
    changed: new Signal<ITheme, ITheme['palette']>({} as ITheme)
  };
  const drawing = new LanesDrawing(model, theme, new SelectionModel());
  const canvas = () => document.createElement('canvas');
  const scroller = document.createElement('div');
  drawing.attach({
    scroller,
    axis: canvas(),
    bands: canvas(),
    lanes: canvas()
  });
  const clear = jest.spyOn(LanePainter.prototype, 'clear');
  const log = drawRuns('0/0 ab');
  const answer = (filter = {}) => {
    model.setResult(ask(log, 'task-stream', { filter }), filter);
    return clear.mock.calls.length;
  };
  const first = answer();
  expect(answer()).toBe(first);
  expect(answer({ functions: ['a'] })).toBe(first + 1);
  expect(answer({ functions: ['a'] })).toBe(first + 1);
  expect(answer()).toBe(first + 2);
  drawing.dispose();
});
