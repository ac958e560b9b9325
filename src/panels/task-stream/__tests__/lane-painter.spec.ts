/** Which tiles are turned into bitmaps anew. There are no canvases here: what is written to one is counted. */
import type { TileData } from '../../../feed/feed-types';
import { readPalette } from '../../../charts/theme';
import { drawnTile } from '../../../testing/drawn-lanes';
import { laneIndices } from '../../../testing/ids';
import { LanePainter } from '../lane-painter';
import type { LaneScene } from '../lane-scene';
import { tileSeconds } from '../tile-plan';

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
  Object.assign(globalThis, {
    ImageData: class {},
    OffscreenCanvas: class {
      getContext() {
        return { putImageData: () => (written += 1) };
      }
    }
  });
});

function sceneOf(tile: TileData): LaneScene {
  const [laneIndex] = laneIndices([0]);
  return {
    view: { from: 0, to: tileSeconds(LEVEL) },
    width: 512,
    height: 40,
    scrollTop: 0,
    pixelRatio: 1,
    layout: {
      laneHeight: 20,
      height: 40,
      workers: [
        {
          worker: 0,
          top: 0,
          height: 38,
          collapsed: false,
          lanes: [{ laneIndex: laneIndex!, thread: 0, top: 18 }]
        }
      ]
    },
    tiles: { level: LEVEL, first: 0, count: 1 },
    tileOf: (level, index) => (level === LEVEL && index === 0 ? tile : null),
    slots: new Map(),
    slotsVersion: 0,
    colourBy: 'function',
    palette: readPalette(document.body),
    running: [],
    now: null,
    selectedRun: null,
    range: null
  };
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
