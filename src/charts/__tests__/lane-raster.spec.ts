import fc from 'fast-check';

import { drawnTile } from '../../testing/drawn-lanes';
import {
  type BoxFill,
  pixelOf,
  type RasterOptions,
  rasteriseTile
} from '../lane-raster';

const black = pixelOf(0, 0, 0);
const red = pixelOf(200, 0, 0);
const blue = pixelOf(0, 0, 200);
const fillOf = (kind: number): BoxFill => ({
  colour: kind === 4 ? black : kind === 1 ? red : blue,
  pattern: 'plain',
  topLines: 0
});
const options: RasterOptions = {
  originPixels: 0,
  endPixels: 512,
  pixelsPerCell: 1,
  firstLane: 0,
  lanes: 2,
  laneHeight: 10,
  stripHeight: 2,
  pixelRatio: 1,
  patternLine: pixelOf(255, 255, 255, 0.6),
  fillOf
};
/** One scan line as text: blue compute `#`, red transfer `T`, black failed `X`, nothing `.` */
function line(
  raster: ReturnType<typeof rasteriseTile>,
  y: number,
  length: number
): string {
  const names = new Map([
    [blue, '#'],
    [red, 'T'],
    [black, 'X'],
    [0, '.']
  ]);
  return [
    ...raster.pixels.subarray(y * raster.width, y * raster.width + length)
  ]
    .map(pixel => names.get(pixel) ?? '?')
    .join('');
}

describe('lanes as pixels', () => {
  it('draws a box to its cell and leaves a pixel of air at its right', () => {
    const raster = rasteriseTile(drawnTile(['aaaa.bbbb', 'AAAA']), options);
    expect(raster.width).toBe(512);
    expect(line(raster, 0, 10)).toBe('..........');
    expect(line(raster, 4, 10)).toBe('###..###..');
    expect(line(raster, 14, 10)).toBe('TTT.......');
  });

  it('leaves air between runs that overlap a little, in whatever order they are told', () => {
    const runs = [
      [0, 6],
      [5, 12],
      [11.6, 20],
      [20, 26]
    ] as const;
    const drawn = (order: readonly number[]) => {
      const shown = order.map(at => runs[at]!);
      const raster = rasteriseTile(
        {
          ...drawnTile(['a.b.c.d']),
          from: Float32Array.from(shown, ([from]) => from),
          to: Float32Array.from(shown, ([, to]) => to)
        },
        options
      );
      return line(raster, 4, 27);
    };
    expect(drawn([0, 1, 2, 3])).toBe('####.######.#######.#####..');
    // (the one that is drawn later is whole)
    expect(drawn([2, 1, 0, 3])).toBe('#####.#####.#######.#####..');
  });

  it('draws what ran behind other work in the lower rows only', () => {
    const tile = drawnTile(['aaaaaaaa']);
    const raster = rasteriseTile(
      {
        ...tile,
        laneIndex: Uint16Array.of(0, 0),
        from: Float32Array.of(0, 2),
        to: Float32Array.of(8, 5),
        function: Uint16Array.of(0, 0),
        kind: Uint8Array.of(0, 1),
        strip: Uint8Array.of(0, 1),
        cover: Uint8Array.of(255, 255),
        tasks: Uint32Array.of(1, 0)
      },
      options
    );
    expect(line(raster, 4, 9)).toBe('#######..');
    expect(line(raster, 6, 9)).toBe('##..###..');
    expect(line(raster, 7, 9)).toBe('##TT###..');
    expect(line(raster, 8, 9)).toBe('##TT###..');
    expect(line(raster, 9, 9)).toBe('.........');
  });

  it.each([
    [1, 4, 1],
    [1.25, 5, 1],
    [1.5, 6, 2],
    [1.75, 7, 2],
    [2, 8, 2],
    [2.5, 10, 3],
    [3, 12, 3]
  ])(
    'hides no work under what ran behind it where lanes are low, at scale %f',
    (pixelRatio, laneHeight, stripHeight) => {
      const tile = drawnTile(['aaaaaaaa']);
      const raster = rasteriseTile(
        {
          ...tile,
          laneIndex: Uint16Array.of(0, 0),
          from: Float32Array.of(0, 0),
          to: Float32Array.of(20, 20),
          function: Uint16Array.of(0, 0),
          kind: Uint8Array.of(0, 1),
          strip: Uint8Array.of(0, 1),
          cover: Uint8Array.of(255, 255),
          tasks: Uint32Array.of(1, 0)
        },
        {
          ...options,
          lanes: 1,
          pixelRatio,
          laneHeight,
          stripHeight,
          fillOf: kind => ({ ...fillOf(kind), topLines: kind === 1 ? 0 : 2 })
        }
      );
      const lines = Array.from({ length: laneHeight }, (_, y) =>
        line(raster, y, 9)
      );
      expect(lines).toContain('#########');
      expect(lines).toContain('TTTTTTTTT');
      expect(lines[0]).toBe('.........');
    }
  );

  it('draws each pattern over wide boxes, and none over narrow ones', () => {
    const shades = (pattern: BoxFill['pattern'], drawing: string) => {
      const raster = rasteriseTile(drawnTile([drawing]), {
        ...options,
        fillOf: () => ({ colour: blue, pattern, topLines: 0 })
      });
      const inside = [2, 3, 4, 5, 6].map(y =>
        [...raster.pixels.subarray(y * 512, y * 512 + drawing.length - 1)].map(
          pixel => (pixel === blue ? '.' : '#')
        )
      );
      return inside.map(row => row.join(''));
    };
    const isPlain = (rows: string[]) => rows.every(row => /^\.+$/.test(row));
    const wide = 'aaaaaaaaaaaaa';
    expect(isPlain(shades('plain', wide))).toBe(true);
    expect(isPlain(shades('grid', 'aaaa'))).toBe(true);
    // One whole row and each fifth column.
    expect(shades('grid', wide)).toEqual([
      '#....#....#.',
      '#....#....#.',
      '#....#....#.',
      '############',
      '#....#....#.'
    ]);
    expect(isPlain(shades('slash', wide))).toBe(false);
    expect(shades('slash', wide)).not.toEqual(shades('grid', wide));
  });

  it('lets a part lie over its run without a seam', () => {
    const tile = drawnTile(['aaaaaaaa']);
    const raster = rasteriseTile(
      {
        ...tile,
        laneIndex: Uint16Array.of(0, 0),
        from: Float32Array.of(0, 0),
        to: Float32Array.of(8, 4),
        function: Uint16Array.of(0, 0),
        kind: Uint8Array.of(0, 1),
        strip: Uint8Array.of(0, 0),
        cover: Uint8Array.of(255, 255),
        tasks: Uint32Array.of(1, 0)
      },
      options
    );
    expect(line(raster, 4, 9)).toBe('TTTT###..');
  });

  it('never loses a failed task, however short', () => {
    const tile = drawnTile(['xaaaa']);
    const raster = rasteriseTile(
      {
        ...tile,
        from: Float32Array.of(3.1, 3.2),
        to: Float32Array.of(3.15, 9)
      },
      options
    );
    expect(line(raster, 4, 6)).toBe('...XX#');
  });

  it('leaves several that have no box of their own to the marks', () => {
    const tile = drawnTile(['axxxx']);
    const several = { ...tile, tasks: Uint32Array.of(1, 7) };
    expect(line(rasteriseTile(several, options), 4, 6)).toBe('#.....');
  });

  it.each([
    [8, 1, 'XXXXXXX.'],
    [9, 1, 'TTTTTTTT'],
    [9, 2, 'XXXXXXX.']
  ])(
    'shows a failed task of %f px at scale %f that parts cover as failed where no ✕ has room',
    (length, pixelRatio, expected) => {
      const tile = drawnTile(['xT']);
      const raster = rasteriseTile(
        {
          ...tile,
          from: Float32Array.of(0, 0),
          to: Float32Array.of(length, length),
          kind: Uint8Array.of(4, 1),
          tasks: Uint32Array.of(1, 0)
        },
        { ...options, pixelRatio }
      );
      expect(line(raster, 4, 8)).toBe(expected);
    }
  );

  it('pales an aggregate by how much of its cell is covered', () => {
    const tile = drawnTile(['a']);
    const half = rasteriseTile({ ...tile, cover: Uint8Array.of(128) }, options);
    expect((half.pixels[4 * half.width] ?? 0) >>> 24).toBe(128);
    const little = rasteriseTile({ ...tile, cover: Uint8Array.of(1) }, options);
    expect((little.pixels[4 * little.width] ?? 0) >>> 24).toBeGreaterThan(60);
  });

  it('tints runs by the share of their parts, and does not hide them', () => {
    const tile = drawnTile(['aaaa']);
    const raster = rasteriseTile(
      {
        ...tile,
        laneIndex: Uint16Array.of(0, 0),
        from: Float32Array.of(0, 0),
        to: Float32Array.of(4, 4),
        function: Uint16Array.of(0, 0),
        kind: Uint8Array.of(0, 1),
        strip: Uint8Array.of(0, 0),
        cover: Uint8Array.of(254, 51),
        tasks: Uint32Array.of(9, 0)
      },
      options
    );
    const pixel = raster.pixels[4 * raster.width] ?? 0;
    // A fifth of red over blue.
    expect([pixel & 255, (pixel >> 16) & 255, pixel >>> 24]).toEqual([
      40, 160, 254
    ]);
  });

  it('marks the second and third dozen of functions along the top', () => {
    const raster = rasteriseTile(drawnTile(['aaaaaaaa']), {
      ...options,
      fillOf: () => ({ colour: blue, pattern: 'plain', topLines: 2 })
    });
    const isMarked = (y: number) =>
      raster.pixels[y * raster.width + 2] !== blue;
    expect([1, 2, 3, 4, 5, 6, 7].map(isMarked)).toEqual([
      true,
      true,
      false,
      false,
      true,
      true,
      false
    ]);
  });

  it('has no seam between tiles, at any scale', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.71, max: 1.41, noNaN: true }),
        fc.integer({ min: 0, max: 5000 }),
        (pixelsPerCell, index) => {
          // A box that covers this tile and the next.
          const tile = {
            ...drawnTile(['a']),
            from: Float32Array.of(-600),
            to: Float32Array.of(1500)
          };
          const at = (which: number) =>
            rasteriseTile(tile, {
              ...options,
              lanes: 1,
              pixelsPerCell,
              originPixels: which * 512 * pixelsPerCell,
              endPixels: (which + 1) * 512 * pixelsPerCell
            });
          const [left, right] = [at(index), at(index + 1)];
          expect(left.x + left.width).toBe(right.x);
          for (const raster of [left, right]) {
            const row = raster.pixels.subarray(
              4 * raster.width,
              5 * raster.width
            );
            expect(row.every(pixel => pixel === blue)).toBe(true);
          }
        }
      ),
      // Added up, the end of the first is 36351.99999999999.
      { examples: [[0.71, 99]] }
    );
  });
});
