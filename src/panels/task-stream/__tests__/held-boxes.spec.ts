/** How the Task Stream shows what tasks that have seceded held of threads. */
import { SvgInk } from '../../../charts/ink';
import { boxFill, hatchSeceded } from '../../../charts/lane-fills';
import { rasteriseTile } from '../../../charts/lane-raster';
import { COLOURS } from '../../../charts/palette';
import type { TileData } from '../../../feed/feed-types';
import { ask } from '../../../observer/__tests__/ask';
import { runDetail } from '../../../observer/folds/run-detail';
import { BoxKind } from '../../../records/enumerations';
import type { LaneIndex } from '../../../records/ids';
import { drawSeceding } from '../../../testing/drawn-seceding';
import { drawnTile } from '../../../testing/drawn-lanes';
import { laneIndices } from '../../../testing/ids';
import { english } from '../../../testing/translators';
import { LanePainter } from '../lane-painter';
import { LaneOverlay } from '../lane-overlay';
import type { LaneScene } from '../lane-scene';
import { notesOf } from '../lane-notes';
import { lanesSvg } from '../picture-lanes';
import { cardOf, type HoveredBox, legendItems } from '../rows';
import { tileSeconds } from '../tile-plan';
import { headedWorker, stillScene } from './still-scene';

const LEVEL = 10;
const SLOT = { slot: 2, round: 0 };
const FILL = COLOURS.light.functions[2]!;

/** Lane 0 is a thread's: `a` held it first. Lane 1 is beside the threads, and has the whole of `a`. */
function tileOf(): TileData {
  const drawn = drawnTile(
    [`${'a'.repeat(100)}${'b'.repeat(50)}`, 'a'.repeat(200)],
    {
      level: LEVEL
    }
  );
  return {
    ...drawn,
    // The run comes before what it held, as tiles have it.
    laneIndex: laneIndices([1, 0, 0]),
    from: Float32Array.of(0, 100, 0),
    to: Float32Array.of(200, 150, 100),
    function: Uint16Array.of(0, 1, 0),
    kind: Uint8Array.of(BoxKind.Compute, BoxKind.Compute, BoxKind.Seceded),
    run: Uint32Array.of(7, 8, 7),
    tasks: Uint32Array.of(1, 1, 0)
  };
}

/** Tiles with a single box, which one task held of lane 0. */
function heldIn(count: number, from: number, to: number): TileData[] {
  return Array.from({ length: count }, (_, index) => ({
    ...tileOf(),
    index,
    laneIndex: laneIndices([0]),
    from: Float32Array.of(from - 512 * index),
    to: Float32Array.of(to - 512 * index),
    function: Uint16Array.of(0),
    kind: Uint8Array.of(BoxKind.Seceded),
    run: Uint32Array.of(7),
    tasks: Uint32Array.of(0)
  }));
}

const lane = (index: number, top: number) => ({
  laneIndex: laneIndices([index])[0]!,
  thread: index,
  top
});

function sceneOf(tile: TileData, over: Partial<LaneScene> = {}): LaneScene {
  return stillScene({
    view: { from: 0, to: tileSeconds(LEVEL) },
    width: 512,
    height: 80,
    layout: {
      laneHeight: 20,
      height: 80,
      workers: [headedWorker([lane(0, 18), lane(1, 38)])]
    },
    tiles: { level: LEVEL, first: 0, count: 1 },
    tileOf: (level, index) => (level === LEVEL && index === 0 ? tile : null),
    slots: new Map([['a', SLOT]]),
    ...over
  });
}

function overlayOf(scene: LaneScene): string {
  const ink = new SvgInk(text => text.length * 6);
  new LaneOverlay().draw(ink, scene);
  return ink.drawn.markup;
}

const outlines = (markup: string) =>
  [
    ...markup.matchAll(
      /<rect x="(-?[\d.]+)" y="([\d.]+)" width="([\d.]+)"[^>]*fill="none"/g
    )
  ].map(([, x, y, width]) => [Number(x), Number(y), Number(width)]);

describe('boxes of what seceded tasks held', () => {
  it("are drawn alike on the page and in pictures: lines within an outline of their function's colour", () => {
    const tile = tileOf();
    const { pixels, width } = rasteriseTile(tile, {
      originPixels: 0,
      endPixels: 512,
      pixelsPerCell: 1,
      firstLane: 0,
      lanes: 2,
      laneHeight: 20,
      stripHeight: 5,
      pixelRatio: 1,
      patternLine: 0x9effffff,
      fillOf: kind =>
        boxFill(
          COLOURS.light,
          kind === BoxKind.Seceded ? 'seceded' : 'compute',
          SLOT
        )
    });
    const at = (x: number, y: number) => pixels[y * width + x]!;
    const own = at(150, 30);
    // The task's own box has no line.
    expect(new Set([5, 50, 100, 180].map(x => at(x, 30)))).toEqual(
      new Set([own])
    );
    // In the lane of the thread the outline has its colour, and the lines are paler.
    const along = Array.from({ length: 24 }, (_, i) => 40 + i);
    const edges = [1, 18].flatMap(y => along.map(x => at(x, y)));
    edges.push(at(0, 10), at(98, 10));
    expect(new Set(edges)).toEqual(new Set([own]));
    const within = along.map(x => at(x, 10));
    expect(new Set(within).size).toBe(2);
    expect(within).toContain(own);
    // A box of its own, so that it leaves air before the next.
    expect(at(99, 10)).toBe(0);

    const { markup } = lanesSvg(sceneOf(tile), [tile], () => 0);
    const place = new RegExp(
      `<rect x="0" y="19" width="99" height="18" fill="${FILL}"/><path d="([^"]+)"`
    );
    const path = place.exec(markup)![1]!;
    const points = [...path.matchAll(/[ML]([\d.]+) ([\d.]+)/g)];
    expect(points.length).toBeGreaterThan(20);
    for (const [, x, y] of points) {
      expect(Number(x)).toBeGreaterThanOrEqual(1);
      expect(Number(x)).toBeLessThanOrEqual(98);
      expect(Number(y)).toBeGreaterThanOrEqual(20);
      expect(Number(y)).toBeLessThanOrEqual(36);
    }
    expect(markup).toContain(
      `<rect x="0" y="39" width="199" height="18" fill="${FILL}"/>`
    );
  });

  it('have their lines, and the task of the same function none', () => {
    jest.spyOn(performance, 'now').mockReturnValue(0);
    const images: { readonly pixels: Uint32Array; readonly width: number }[] =
      [];
    Object.assign(globalThis, {
      ImageData: class {
        constructor(data: Uint8ClampedArray, width: number) {
          images.push({ pixels: new Uint32Array(data.buffer), width });
        }
      },
      OffscreenCanvas: class {
        getContext() {
          return { putImageData: () => undefined };
        }
      }
    });
    const ignored: object = new Proxy(() => undefined, {
      get: (_, name) => (name === 'width' ? 0 : ignored),
      set: () => true,
      apply: () => ignored
    });
    const tile = tileOf();
    new LanePainter().paint(ignored as CanvasRenderingContext2D, sceneOf(tile));
    const [{ pixels, width }] = images as [(typeof images)[number]];
    const coloursOf = (y: number) =>
      new Set(pixels.subarray(y * width + 40, y * width + 64)).size;
    expect([coloursOf(10), coloursOf(30)]).toEqual([2, 1]);
    jest.restoreAllMocks();
  });

  it('have as many lines as the part of them that is in view', () => {
    const linesIn = (left: number, right: number) => {
      const ink = new SvgInk(() => 0);
      const box = { left, right, y: 0, height: 18 };
      hatchSeceded(ink, COLOURS.light, box, 500, 1);
      return ink.drawn.markup.split('M').length;
    };
    expect(linesIn(-1e7, 1e7)).toBeLessThan(100);
    expect(linesIn(0, 4)).toBe(1);
    expect(linesIn(600, 900)).toBe(1);
  });

  it('have a name, and are outlined with their task', () => {
    const tile = tileOf();
    expect(notesOf(tile)).toEqual([
      // (what it held takes no room from the name of the task)
      { row: 0, from: 0, to: 200 },
      { row: 1, from: 100, to: 150 },
      { row: 2, from: 0, to: 100 }
    ]);
    const scene = sceneOf(tile, { selectedRun: 7 });
    const markup = overlayOf(scene);
    const names = [...markup.matchAll(/<text [^>]*y="([\d.]+)"[^>]*>(\w+)</g)];
    expect(names.map(([, , name]) => name)).toEqual(['a', 'b', 'a']);
    expect(outlines(markup)).toEqual([
      [0, 40, 200],
      [0, 20, 100]
    ]);
    expect(outlines(overlayOf(sceneOf(tile)))).toEqual([]);
  });

  it('are outlined once where they reach over several tiles', () => {
    // As tiles round where it begins: half a pixel before the first pixel that has it, and on the border.
    const tiles = heldIn(2, 101 - 5e-6, 700);
    const outlinesOf = (first: number, count: number) =>
      outlines(
        overlayOf(
          sceneOf(tiles[0]!, {
            view: {
              from: first * tileSeconds(LEVEL),
              to: 2 * tileSeconds(LEVEL)
            },
            tiles: { level: LEVEL, first, count },
            tileOf: (_, index) => tiles[index] ?? null,
            selectedRun: 7
          })
        )
      );
    expect(outlinesOf(0, 2)).toEqual([[50, 20, 300]]);
    // The tile in which it begins is out of view.
    expect(outlinesOf(1, 1)).toHaveLength(1);
  });

  it('are outlined each by itself beside a tile that is not there yet, in which one ends and another begins', () => {
    const view = { from: 0, to: 3 * tileSeconds(LEVEL) };
    const outlinesOf = (left: TileData, right: TileData) =>
      outlines(
        overlayOf(
          sceneOf(left, {
            view,
            tiles: { level: LEVEL, first: 0, count: 3 },
            tileOf: (_, index) => [left, null, right][index]!,
            width: 1536,
            selectedRun: 7
          })
        )
      );
    const [one] = heldIn(3, 101, 600);
    const [, , another] = heldIn(3, 700, 1500);
    expect(outlinesOf(one!, another!)).toEqual([
      [101, 20, 499],
      [700, 20, 800]
    ]);
    const [left, , right] = heldIn(3, 101, 1500);
    expect(outlinesOf(left!, right!)).toEqual([[101, 20, 1399]]);
  });

  it('of a task that goes on are drawn in the lanes of its threads', () => {
    const seconds = tileSeconds(LEVEL);
    const [laneIndex, beside] = [...laneIndices([0, 1])] as [
      LaneIndex,
      LaneIndex
    ];
    const task = {
      laneIndex: beside,
      key: 'k',
      function: 'a',
      started: 0,
      held: [
        { laneIndex, from: 0, to: seconds / 4 },
        { laneIndex, from: seconds / 2, to: null }
      ]
    };
    const none = { ...tileOf(), laneIndex: laneIndices([]) };
    const scene = sceneOf(none, { running: [task], now: (seconds * 3) / 4 });
    const held = [
      ...overlayOf(scene).matchAll(
        new RegExp(
          `<rect x="(\\d+)" y="19" width="(\\d+)" height="18" fill="${FILL}"`,
          'g'
        )
      )
    ].map(([, x, width]) => [Number(x), Number(width)]);
    expect(held).toEqual([
      [0, 128],
      [256, 128]
    ]);
  });

  it('are explained in the legend and by the card', () => {
    const { log } = drawSeceding(1);
    const stream = ask(log, 'task-stream');
    const item = legendItems(stream, 'function', english).find(
      ({ kind }) => kind === 'seceded'
    )!;
    expect(item.name).toBe('held by a task that seceded');
    expect(item.title).toMatch(
      /^\d+.stretches for which tasks held the thread/
    );
    const without = { ...stream, kinds: { ...stream.kinds, seceded: 0 } };
    expect(
      legendItems(without, 'function', english).map(({ kind }) => kind)
    ).not.toContain('seceded');

    const detail = runDetail(log, log.besideRows[0]!)!;
    const box: HoveredBox = {
      run: detail.run,
      function: 'f2',
      kind: 'seceded',
      inStrip: false,
      tasks: 0,
      from: 1,
      to: 2,
      worker: 'w3',
      thread: 0,
      running: false
    };
    const card = cardOf(box, detail, english);
    expect(card.title).toBe('held by f2');
    const rows = new Map(card.rows.map(({ label, text }) => [label, text]));
    expect(rows.get('where')).toContain('thread 1');
    expect(rows.get('held')).toBe('1.000\u00a0s – 2.000\u00a0s');
    expect(rows.get('task')).toMatch(/^drawn on seceded \d+$/);
    const early = cardOf({ ...box, run: null, running: true }, null, english);
    expect(early.rows.map(({ label }) => label)).toEqual([
      'where',
      'held',
      'duration',
      'task'
    ]);
    const many = cardOf({ ...box, run: null, function: '' }, null, english);
    expect(many.title).toBe('held by tasks that seceded');
  });
});
