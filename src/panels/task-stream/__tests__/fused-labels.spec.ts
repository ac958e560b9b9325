/** Where the names of a fused task and of its parts stand, in boxes that lie over several tiles. */
import * as fc from 'fast-check';
import type { TileData } from '../../../feed/feed-types';
import { drawnTile } from '../../../testing/drawn-lanes';
import { laneIndices } from '../../../testing/ids';
import { lanesSvg } from '../picture-lanes';
import { CELLS_PER_TILE, tileSeconds } from '../tile-plan';
import { headedWorker, stillScene } from './still-scene';

const LEVEL = 10;
const TILES = 3;
const CELLS = TILES * CELLS_PER_TILE;
/** Pixels. */
const LETTER = 6;

type Box = {
  readonly name: string;
  readonly from: number;
  readonly to: number;
};

/** A run, and its parts in order of time: tiles have those of it that reach into them. */
function tilesOf(run: Box, parts: readonly Box[]): TileData[] {
  return Array.from({ length: TILES }, (_, index) => {
    const origin = index * CELLS_PER_TILE;
    const boxes = [run, ...parts].filter(
      ({ from, to }) => from < origin + CELLS_PER_TILE && to > origin
    );
    const count = boxes.length;
    return {
      ...drawnTile([], { level: LEVEL, index }),
      functions: boxes.map(({ name }) => name),
      laneIndex: laneIndices(boxes.map(() => 0)),
      from: Float32Array.from(boxes, ({ from }) => from - origin),
      to: Float32Array.from(boxes, ({ to }) => to - origin),
      function: Uint16Array.from(boxes, (_box, row) => row),
      kind: new Uint8Array(count),
      strip: new Uint8Array(count),
      cover: new Uint8Array(count).fill(255),
      run: new Uint32Array(count).fill(7),
      tasks: Uint32Array.from(boxes, box => (box === run ? 1 : 0))
    };
  });
}

/** The names as a picture has them, and where they stand; a pixel is a cell. */
function namesIn(tiles: readonly TileData[]): Box[] {
  const lane = { laneIndex: laneIndices([0])[0]!, thread: 0, top: 18 };
  const scene = stillScene({
    view: { from: 0, to: TILES * tileSeconds(LEVEL) },
    width: CELLS,
    height: 40,
    layout: {
      laneHeight: 20,
      height: 40,
      workers: [headedWorker([lane])]
    },
    tiles: { level: LEVEL, first: 0, count: TILES },
    tileOf: (_, index) => tiles[index] ?? null
  });
  const { markup } = lanesSvg(scene, tiles, text => text.length * LETTER);
  return [...markup.matchAll(/<text [^>]*x="([\d.]+)"[^>]*>([\w-]+)</g)].map(
    ([, x, name]) => ({
      name: name!,
      from: Number(x),
      to: Number(x) + name!.length * LETTER
    })
  );
}

const SUM = 'sample-sum';

it.each([600, 512, 400])(
  'are beside each other where the first part ends in cell %d, of which 512 ends the tile',
  end => {
    const names = namesIn(
      tilesOf({ name: SUM, from: 100, to: 900 }, [
        { name: 'sample', from: 100, to: end },
        { name: 'add', from: end, to: 800 }
      ])
    );
    const places = names.map(({ name, from }) => [name, from]);
    expect(places).toEqual([
      [SUM, 805],
      ['sample', 105],
      ['add', end + 5]
    ]);
  }
);

it('have the room that the parts of each tile leave', () => {
  const at = (parts: readonly Box[]) =>
    namesIn(tilesOf({ name: SUM, from: 100, to: 1500 }, parts));
  // Between two parts of other tiles than that in which the task begins,
  expect(
    at([
      { name: 'sample', from: 100, to: 600 },
      { name: 'add', from: 700, to: 1500 }
    ]).find(({ name }) => name === SUM)
  ).toMatchObject({ from: 605 });
  // and as ever where there is no part.
  expect(at([])).toEqual([{ name: SUM, from: 105, to: 165 }]);
});

it('never lie over each other', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.integer({ min: 0, max: CELLS }), {
        minLength: 2,
        maxLength: 10
      }),
      fc.integer({ min: 0, max: 1 }),
      (places, first) => {
        const sorted = places.sort((a, b) => a - b);
        const run = { name: SUM, from: sorted[0]!, to: sorted.at(-1)! };
        const parts = [];
        for (let i = first; i + 1 < sorted.length; i += 2) {
          const [from, to] = [sorted[i]!, sorted[i + 1]!];
          parts.push({ name: `part-${i}`, from, to });
        }
        const names = namesIn(tilesOf(run, parts)).sort(
          (a, b) => a.from - b.from
        );
        const over = names.filter(
          ({ to }, index) => to > (names[index + 1]?.from ?? Infinity)
        );
        expect(over).toEqual([]);
      }
    ),
    // (to shrink what is found takes minutes)
    { numRuns: 500, endOnFailure: true }
  );
});
