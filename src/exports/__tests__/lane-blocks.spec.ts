/** Pictures of many lanes are drawn in blocks, which together are the whole picture. */
import { type BoxFill, pixelOf, rasteriseTile } from '../../charts/lane-raster';
import { drawnTile } from '../../testing/drawn-lanes';
import { LANES_PER_BLOCK, laneBlocks } from '../page/lane-blocks';

const options = {
  originPixels: 0,
  endPixels: 30,
  pixelsPerCell: 1,
  laneHeight: 5,
  stripHeight: 1,
  pixelRatio: 1,
  patternLine: pixelOf(255, 255, 255, 0.6),
  fillOf: (kind: number): BoxFill => ({
    colour: pixelOf(40 * kind, 0, 100),
    pattern: 'slash',
    topLines: 1
  })
};

it.each([1, LANES_PER_BLOCK, LANES_PER_BLOCK + 1, 3 * LANES_PER_BLOCK - 1])(
  'of %i lanes each is drawn once, and few at once',
  lanes => {
    const boxes = drawnTile(
      Array.from({ length: lanes }, (_, lane) =>
        `${'.'.repeat(lane % 7)}aaaaaaaBBBBBBx`.slice(0, 6 + (lane % 11))
      )
    );
    const whole = rasteriseTile(boxes, { ...options, firstLane: 0, lanes });
    const pixels: number[] = [];
    let next = 0;
    for (const block of laneBlocks(boxes, lanes, options)) {
      expect(block.firstLane).toBe(next);
      expect(block.lanes).toBeLessThanOrEqual(LANES_PER_BLOCK);
      expect(block.width).toBe(whole.width);
      expect(block.height).toBe(block.lanes * options.laneHeight);
      next += block.lanes;
      pixels.push(...block.pixels);
    }
    expect(next).toBe(lanes);
    expect(pixels).toHaveLength(whole.pixels.length);
    expect(pixels.findIndex((pixel, at) => pixel !== whole.pixels[at])).toBe(
      -1
    );
  }
);
