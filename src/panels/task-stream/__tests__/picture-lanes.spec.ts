/** Drawn lanes in a picture's SVG, held against the pixels that the raster makes of the same boxes. Patterns are left out: a box has its colour. */
import { parseColour } from '../../../base/colour-arithmetic';
import { SeededRandom } from '../../../base/seeded-random';
import { boxFill, pixel, rowsInLane } from '../../../charts/lane-fills';
import { MARK_FROM, rasteriseTile } from '../../../charts/lane-raster';
import { COLOURS } from '../../../charts/palette';
import { readPalette } from '../../../charts/theme';
import type { TileData } from '../../../feed/feed-types';
import { BoxKind } from '../../../records/enumerations';
import { drawnTile } from '../../../testing/drawn-lanes';
import { laneIndices } from '../../../testing/ids';
import type { LaneScene } from '../lane-scene';
import { boxesIn, lanesSvg } from '../picture-lanes';
import { BOX_KINDS } from '../rows';
import { CELLS_PER_TILE, tileSeconds } from '../tile-plan';
import { stillScene } from './still-scene';

const LEVEL = 10;
const LANES = 3;
const LANE_HEIGHT = 20;
const FUNCTIONS = ['a', 'b', 'c'];
/** Of the first, second and third dozen. */
const SLOTS = FUNCTIONS.map((_, round) => ({ slot: round, round }));
/** What is of this colour counts as nothing: lines of the ground, and air above a strip. */
const CLEAR = '#fefefe';
const PARTS = [
  BoxKind.Transfer,
  BoxKind.Disk,
  BoxKind.Serialize,
  BoxKind.Import
];

type Row = {
  readonly laneIndex: number;
  readonly from: number;
  readonly to: number;
  readonly function: number;
  readonly kind: BoxKind;
  readonly strip: number;
  readonly cover: number;
  readonly tasks: number;
};

/** Runs beside each other, parts over some, strips at their feet; some reach beyond the tile. */
function drawBoxes(random: SeededRandom, areRunsOver = false): TileData {
  const runs: Row[] = [];
  const parts: Row[] = [];
  const strips: Row[] = [];
  for (let laneIndex = 0; laneIndex < LANES; laneIndex++) {
    for (let at = -9; at < CELLS_PER_TILE + 5; at += random.below(6)) {
      const isFailed = !areRunsOver && random.chance(0.2);
      const size = random.pick([1, 2, 3, 4, 6, 30]);
      const to =
        at + (isFailed ? Math.min(size, Math.floor(MARK_FROM / 2) - 1) : size);
      // (lines along the top of what is pale are mixed otherwise in a picture)
      const fn = random.below(FUNCTIONS.length);
      const isCell =
        !areRunsOver && !isFailed && fn === 0 && random.chance(0.5);
      const run = {
        laneIndex,
        from: at,
        to,
        function: fn,
        kind: isFailed ? BoxKind.Failed : BoxKind.Compute,
        strip: 0,
        cover: isCell ? random.pick([3, 89, 120, 200]) : 255,
        tasks: 1
      };
      runs.push(run);
      const place = { ...run, to: at + (to - at) / 2, tasks: 0 };
      if (!isCell && !isFailed && random.chance(0.6)) {
        // (of a tint the raster hides the lines of the second and third dozen, and a picture does not)
        const isPlain = fn === 0 && size >= 3 && !areRunsOver;
        const cover = isPlain ? random.pick([255, 60]) : 255;
        parts.push({ ...place, kind: random.pick(PARTS), cover });
      }
      if (random.chance(0.3)) {
        const kind = random.pick(PARTS);
        strips.push({ ...place, kind, cover: 255, strip: 1 });
      }
      at = areRunsOver ? to - Math.min(size, random.below(6)) : to;
    }
  }
  const rows = [...runs, ...parts, ...strips];
  return {
    ...drawnTile([], { level: LEVEL }),
    functions: FUNCTIONS,
    laneIndex: laneIndices(rows.map(row => row.laneIndex)),
    from: Float32Array.from(rows, row => row.from),
    to: Float32Array.from(rows, row => row.to),
    function: Uint16Array.from(rows, row => row.function),
    kind: Uint8Array.from(rows, row => row.kind),
    strip: Uint8Array.from(rows, row => row.strip),
    cover: Uint8Array.from(rows, row => row.cover),
    run: Uint32Array.from(rows, (_, index) => index),
    tasks: Uint32Array.from(rows, row => row.tasks)
  };
}

function sceneOf(tile: TileData, pixelRatio: number): LaneScene {
  return stillScene({
    view: { from: 0, to: tileSeconds(LEVEL) },
    width: CELLS_PER_TILE / pixelRatio,
    height: LANES * LANE_HEIGHT,
    pixelRatio,
    layout: {
      laneHeight: LANE_HEIGHT,
      height: LANES * LANE_HEIGHT,
      workers: [
        {
          worker: 0,
          top: 0,
          height: LANES * LANE_HEIGHT,
          headerHeight: 0,
          collapsed: false,
          lanes: [...laneIndices([0, 1, 2])].map((laneIndex, thread) => ({
            laneIndex,
            thread,
            top: thread * LANE_HEIGHT
          }))
        }
      ]
    },
    tiles: { level: LEVEL, first: 0, count: 1 },
    // (the overlay, with names and marks, is not what is compared)
    tileOf: () => null,
    slots: new Map(FUNCTIONS.map((name, i) => [name, SLOTS[i]!])),
    palette: {
      ...readPalette(document.body),
      ...COLOURS.light,
      background: CLEAR,
      gridLine: CLEAR
    }
  });
}

/** Red, green, blue and alpha (0…255) of each pixel. */
type Painted = Float32Array;

function paintedSvg(scene: LaneScene, tile: TileData): Painted {
  const width = CELLS_PER_TILE;
  const painted = new Float32Array(
    width * LANES * LANE_HEIGHT * scene.pixelRatio * 4
  );
  const { markup } = lanesSvg(scene, [tile], () => 0);
  const read = new DOMParser().parseFromString(
    `<svg xmlns="http://www.w3.org/2000/svg">${markup}</svg>`,
    'image/svg+xml'
  );
  for (const rect of read.querySelectorAll('rect')) {
    const of = (name: string) => Number(rect.getAttribute(name));
    const said = rect.getAttribute('fill')!;
    const kind = /#sw-(\w+)-in-lanes/.exec(said)?.[1];
    const colour =
      kind === undefined ? said : COLOURS.light.kinds[kind as 'disk'];
    const rgb = parseColour(colour)!;
    const share = Number(rect.getAttribute('fill-opacity') ?? 1);
    for (let y = of('y'); y < of('y') + of('height'); y++) {
      for (let x = of('x'); x < of('x') + of('width'); x++) {
        const at = (y * width + x) * 4;
        const ground = painted[at + 3]!;
        if (colour === CLEAR) {
          painted.fill(0, at, at + 4);
          continue;
        }
        const isAlone = ground === 0;
        rgb.forEach((value, i) => {
          painted[at + i] = isAlone
            ? value
            : value * share + painted[at + i]! * (1 - share);
        });
        painted[at + 3] = 255 * share + ground * (1 - share);
      }
    }
  }
  return painted;
}

function rasterised(scene: LaneScene, tile: TileData): Painted {
  const { pixelRatio } = scene;
  const { pixels } = rasteriseTile(tile, {
    originPixels: 0,
    endPixels: CELLS_PER_TILE,
    pixelsPerCell: 1,
    firstLane: 0,
    lanes: LANES,
    laneHeight: LANE_HEIGHT * pixelRatio,
    stripHeight: rowsInLane(LANE_HEIGHT).stripHeight * pixelRatio,
    pixelRatio,
    patternLine: pixel(COLOURS.light.patternLine),
    fillOf: (kind, index) => ({
      ...boxFill(
        COLOURS.light,
        BOX_KINDS[kind]!,
        kind === BoxKind.Compute ? SLOTS[index]! : null
      ),
      pattern: 'plain'
    })
  });
  return Float32Array.from(new Uint8Array(pixels.buffer));
}

describe('lanes in a picture', () => {
  it.each([
    ['', 1],
    ['', 2],
    [' of runs that overlap as times are wrong', 1],
    [' of runs that overlap as times are wrong', 2]
  ])('are those of the page%s, at %d pixels a pixel', (over, ratio) => {
    for (let seed = 1; seed <= 10; seed++) {
      const tile = drawBoxes(new SeededRandom(seed), over !== '');
      const scene = sceneOf(tile, ratio);
      const [svg, raster] = [paintedSvg(scene, tile), rasterised(scene, tile)];
      expect(svg).toHaveLength(raster.length);
      const apart = [...raster.keys()].filter(
        // What nothing covers has no colour; shares are rounded each time.
        at =>
          Math.abs(svg[at]! - raster[at]!) > 2 &&
          (at % 4 === 3 || raster[at | 3]! > 0)
      );
      const places = new Set(
        apart.map(at => {
          const x = (at >> 2) % CELLS_PER_TILE;
          return `${x},${Math.floor((at >> 2) / CELLS_PER_TILE)} ${[...svg.slice(at & ~3, (at | 3) + 1)]} ${[...raster.slice(at & ~3, (at | 3) + 1)]}`;
        })
      );
      expect([...places].slice(0, 5)).toEqual([]);
    }
  });

  it('are counted by the boxes of lanes that are in it', () => {
    const tile = drawBoxes(new SeededRandom(1));
    const scene = sceneOf(tile, 1);
    const all = tile.laneIndex.length;
    expect(boxesIn(scene, [tile, tile])).toBe(2 * all);
    const [worker] = scene.layout.workers;
    const lanes = worker!.lanes.slice(1);
    const layout = { ...scene.layout, workers: [{ ...worker!, lanes }] };
    const first = [...tile.laneIndex].filter(lane => Number(lane) === 0).length;
    expect(first).toBeGreaterThan(0);
    expect(boxesIn({ ...scene, layout }, [tile])).toBe(all - first);
  });
});
