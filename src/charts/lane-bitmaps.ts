/**
 * Keeps rasterised tiles as bitmaps, so that a pan copies a dozen of them and
 * draws no box. A bitmap holds one block of lanes of one tile at one scale.
 * Runs in the browser.
 */
import { BoundedMap } from '../base/bounded-map';
import {
  type BoxColumns,
  type RasterOptions,
  rasteriseTile
} from './lane-raster';

/** Lanes of one bitmap: rasterising a block is 1 to 3 ms, so that a frame can stop in time. */
export const LANES_PER_BLOCK = 12;
/** All bitmaps together: 20 M pixels are 80 MB. */
const PIXEL_BUDGET = 20e6;

export type LaneBitmap = {
  readonly image: CanvasImageSource;
  /** Global device pixel of its left border. */
  readonly x: number;
  readonly width: number;
  readonly height: number;
  readonly pixelsPerCell: number;
};

type Kept = LaneBitmap & { readonly version: string };

export class LaneBitmaps {
  private readonly _kept = new BoundedMap<string, Kept>(
    PIXEL_BUDGET,
    ({ width, height }) => width * height
  );

  /**
   * The bitmap of `key` if one is kept, of whatever scale; `isFresh` tells
   * whether it is drawn from `version` (data, scale and style) or an older one.
   */
  find(
    key: string,
    version: string
  ): { bitmap: LaneBitmap; isFresh: boolean } | null {
    const kept = this._kept.get(key);
    return kept === undefined
      ? null
      : { bitmap: kept, isFresh: kept.version === version };
  }

  make(
    key: string,
    version: string,
    boxes: BoxColumns,
    options: RasterOptions
  ): LaneBitmap | null {
    const raster = rasteriseTile(boxes, options);
    const canvas = makeCanvas(raster.width, raster.height);
    const context = canvas.getContext('2d') as
      | CanvasRenderingContext2D
      | OffscreenCanvasRenderingContext2D
      | null;
    if (context === null) {
      return null;
    }
    context.putImageData(
      new ImageData(
        new Uint8ClampedArray(raster.pixels.buffer),
        raster.width,
        raster.height
      ),
      0,
      0
    );
    const kept: Kept = {
      image: canvas,
      x: raster.x,
      width: raster.width,
      height: raster.height,
      pixelsPerCell: options.pixelsPerCell,
      version
    };
    this._kept.set(key, kept);
    return kept;
  }

  /** After a change of filter, theme or lanes. */
  clear(): void {
    this._kept.clear();
  }
}

function makeCanvas(
  width: number,
  height: number
): OffscreenCanvas | HTMLCanvasElement {
  if (typeof OffscreenCanvas !== 'undefined') {
    return new OffscreenCanvas(width, height);
  }
  const canvas = document.createElement('canvas');
  canvas.width = width;
  canvas.height = height;
  return canvas;
}
