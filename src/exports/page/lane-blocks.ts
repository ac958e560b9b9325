/** A picture's lanes in blocks: one raster of a thousand lanes would take 100 MB, and as much again on a canvas. */
import {
  type BoxColumns,
  type RasterOptions,
  rasteriseTile
} from '../../charts/lane-raster';

/** Lanes that are drawn at once. */
export const LANES_PER_BLOCK = 64;

type LaneBlock = {
  readonly firstLane: number;
  readonly lanes: number;
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint32Array<ArrayBuffer>;
};

/** From the top; each is made when it is asked for. */
export function* laneBlocks(
  boxes: BoxColumns,
  lanes: number,
  options: Omit<RasterOptions, 'firstLane' | 'lanes'>
): Generator<LaneBlock> {
  for (let firstLane = 0; firstLane < lanes; firstLane += LANES_PER_BLOCK) {
    const own = {
      firstLane,
      lanes: Math.min(LANES_PER_BLOCK, lanes - firstLane)
    };
    const { width, height, pixels } = rasteriseTile(boxes, {
      ...options,
      ...own
    });
    yield { ...own, width, height, pixels };
  }
}
