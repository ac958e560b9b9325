/**
 * Draws the lanes in view from tiles. Runs in the browser, in one animation
 * frame, and never waits: what is not here yet is drawn from a coarser or finer
 * tile, stretched, until it is.
 *
 *   wanted   level 12 |·tile 6·|·tile 7·|      tile 7 is not here
 *   drawn             |·tile 6·|▒▒▒▒▒▒▒▒|  ←   right half of level 13's tile 3
 *
 * A frame of a pan is a few drawImage calls per worker and tile, then the few
 * boxes wide enough for a label. Rasterising stops after `RASTER_BUDGET_MS` and
 * goes on in the next frame.
 */
import {
  type LaneBitmap,
  LaneBitmaps,
  LANES_PER_BLOCK
} from '../../charts/lane-bitmaps';
import {
  boxFill,
  hatchSeceded,
  isOfFunction,
  struckLine,
  pixel,
  rowsInLane
} from '../../charts/lane-fills';
import { type BoxFill, PATTERN_FROM } from '../../charts/lane-raster';
import { type Palette, PatternFills } from '../../charts/theme';
import type { TileData } from '../../feed/feed-types';
import { drawGround } from './lane-ground';
import { LaneOverlay } from './lane-overlay';
import {
  boxPixels,
  colourOf,
  colouringSlot,
  laneBox,
  laneTops,
  type LaneScene,
  pixelsPerCell
} from './lane-scene';
import { drawSlice, type Slice, visibleSlices } from './lane-slices';
import { BOX_KINDS } from './rows';
import {
  CELLS_PER_TILE,
  coarserTile,
  type TilePart,
  wholeTile
} from './tile-plan';

const RASTER_BUDGET_MS = 6;

export class LanePainter {
  private readonly _bitmaps = new LaneBitmaps();
  private readonly _overlay = new LaneOverlay();
  private _patternPalette: Palette | null = null;
  private _patternFills: PatternFills | null = null;
  private _deadline = 0;
  private _isComplete = true;

  /** Draws; true when all is drawn from the wanted tiles at the right scale. */
  paint(context: CanvasRenderingContext2D, scene: LaneScene): boolean {
    const ratio = scene.pixelRatio;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, scene.width * ratio, scene.height * ratio);
    this._deadline = performance.now() + RASTER_BUDGET_MS;
    this._isComplete = true;
    drawGround(context, scene);
    const slices = visibleSlices(scene);
    const { level, first, count } = scene.tiles;
    for (let index = first; index < first + count; index += 1) {
      const tile = scene.tileOf(level, index);
      if (tile !== null) {
        this._drawTile(context, scene, slices, tile);
      } else {
        this._drawStandIn(context, scene, slices, level, index);
      }
    }
    this._overlay.draw(context, scene);
    if (this._isComplete) {
      this._prepare(scene, slices, first - 1);
      this._prepare(scene, slices, first + count);
    }
    return this._isComplete;
  }

  clear(): void {
    this._bitmaps.clear();
  }

  /** Makes a neighbour's bitmaps in what is left of the frame, so that a pan finds them ready. */
  private _prepare(
    scene: LaneScene,
    slices: readonly Slice[],
    index: number
  ): void {
    const { level } = scene.tiles;
    const tile = scene.tileOf(level, index);
    const scale = pixelsPerCell(scene, level);
    if (tile === null || scale > 3) {
      return;
    }
    const version = versionOf(scene, tile, scale);
    for (const { block } of slices) {
      const key = keyOf(level, index, block);
      if (
        this._hasTime() &&
        this._bitmaps.find(key, version)?.isFresh !== true
      ) {
        this._make(scene, tile, block, scale, key, version);
      }
    }
  }

  private _drawTile(
    context: CanvasRenderingContext2D,
    scene: LaneScene,
    slices: readonly Slice[],
    tile: TileData
  ): void {
    const scale = pixelsPerCell(scene, tile.level);
    if (scale > 3) {
      // Closer than a third of a microsecond per pixel: a few boxes, drawn one by one.
      this._drawBoxes(context, scene, tile);
      return;
    }
    const version = versionOf(scene, tile, scale);
    const whole = wholeTile(tile.level, tile.index);
    for (const slice of slices) {
      const key = keyOf(tile.level, tile.index, slice.block);
      const found = this._bitmaps.find(key, version);
      let bitmap = found?.bitmap ?? null;
      if (found?.isFresh !== true) {
        if (this._hasTime()) {
          bitmap =
            this._make(scene, tile, slice.block, scale, key, version) ?? bitmap;
        } else {
          this._isComplete = false;
        }
      }
      if (bitmap !== null) {
        drawSlice(context, scene, slice, bitmap, whole);
      } else {
        // No time left to make it: what a coarser tile has made before.
        this._drawCoarser(context, scene, slice, tile.level, tile.index);
      }
    }
  }

  private _drawCoarser(
    context: CanvasRenderingContext2D,
    scene: LaneScene,
    slice: Slice,
    level: number,
    index: number
  ): void {
    for (let up = 1; up <= 8; up += 1) {
      const part = coarserTile(level, index, up);
      const key = keyOf(part.level, part.index, slice.block);
      const found = this._bitmaps.find(key, '');
      if (found !== null) {
        drawSlice(context, scene, slice, found.bitmap, part);
        return;
      }
    }
  }

  /** In place of a tile that is not here: part of a coarser one, else finer ones. */
  private _drawStandIn(
    context: CanvasRenderingContext2D,
    scene: LaneScene,
    slices: readonly Slice[],
    level: number,
    index: number
  ): void {
    for (let up = 1; up <= 8; up += 1) {
      const part = coarserTile(level, index, up);
      const tile = scene.tileOf(part.level, part.index);
      if (tile === null) {
        continue;
      }
      this._drawAny(context, scene, slices, tile, part);
      return;
    }
    for (let down = 1; down <= 3 && level - down >= 0; down += 1) {
      let isDrawn = false;
      for (
        let child = index * 2 ** down;
        child < (index + 1) * 2 ** down;
        child += 1
      ) {
        const tile = scene.tileOf(level - down, child);
        if (tile === null) {
          continue;
        }
        isDrawn = true;
        const whole = wholeTile(tile.level, tile.index);
        this._drawAny(context, scene, slices, tile, whole);
      }
      if (isDrawn) {
        return;
      }
    }
  }

  private _drawAny(
    context: CanvasRenderingContext2D,
    scene: LaneScene,
    slices: readonly Slice[],
    tile: TileData,
    part: TilePart
  ): void {
    for (const slice of slices) {
      const bitmap = this._anyBitmap(scene, tile, slice.block);
      if (bitmap !== null) {
        drawSlice(context, scene, slice, bitmap, part);
      }
    }
  }

  /** A bitmap of whatever scale; made at one pixel per cell if there is none. */
  private _anyBitmap(
    scene: LaneScene,
    tile: TileData,
    block: number
  ): LaneBitmap | null {
    const version = versionOf(scene, tile, 1);
    const key = keyOf(tile.level, tile.index, block);
    const found = this._bitmaps.find(key, version);
    if (found !== null) {
      return found.bitmap;
    }
    if (!this._hasTime()) {
      this._isComplete = false;
      return null;
    }
    return this._make(scene, tile, block, 1, key, version);
  }

  private _make(
    scene: LaneScene,
    tile: TileData,
    block: number,
    scale: number,
    key: string,
    version: string
  ): LaneBitmap | null {
    const ratio = scene.pixelRatio;
    const laneHeight = Math.round(scene.layout.laneHeight * ratio);
    return this._bitmaps.make(key, version, tile, {
      originPixels: tile.index * CELLS_PER_TILE * scale,
      endPixels: (tile.index + 1) * CELLS_PER_TILE * scale,
      pixelsPerCell: scale,
      firstLane: block * LANES_PER_BLOCK,
      lanes: LANES_PER_BLOCK,
      laneHeight,
      stripHeight: Math.round(
        rowsInLane(scene.layout.laneHeight).stripHeight * ratio
      ),
      pixelRatio: ratio,
      patternLine: pixel(scene.palette.patternLine),
      fillOf: this._fills(scene, tile)
    });
  }

  private _hasTime(): boolean {
    return performance.now() < this._deadline;
  }

  private _fills(
    scene: LaneScene,
    tile: TileData
  ): (kind: number, index: number) => BoxFill {
    const made: BoxFill[] = [];
    return (kind, index) => {
      const word = BOX_KINDS[kind] ?? 'compute';
      const key = isOfFunction(word)
        ? BOX_KINDS.length * (index + 1) + kind
        : kind;
      return (made[key] ??= boxFill(
        scene.palette,
        word,
        colouringSlot(scene, word, tile.functions[index] ?? '')
      ));
    };
  }

  // ------------------------------------------------------------ box by box

  private _drawBoxes(
    context: CanvasRenderingContext2D,
    scene: LaneScene,
    tile: TileData
  ): void {
    const fills = this._patterns(context, scene);
    const tops = laneTops(scene);
    for (let row = 0; row < tile.laneIndex.length; row += 1) {
      const top = tops.get(tile.laneIndex[row]!);
      const box = boxPixels(scene, tile, row);
      if (
        top === undefined ||
        box.right < 0 ||
        box.left > scene.width * scene.pixelRatio
      ) {
        continue;
      }
      const kind = tile.kind[row] as number;
      const name = BOX_KINDS[kind] ?? 'compute';
      const width = box.right - box.left;
      context.fillStyle = !isOfFunction(name)
        ? fills.kind(name, width / scene.pixelRatio)
        : colourOf(
            scene,
            kind,
            tile.functions[tile.function[row] as number] ?? ''
          );
      const place = laneBox(scene, top, tile.strip[row] === 1);
      const right = box.left + Math.max(1, width - (width > 3 ? 1 : 0));
      context.fillRect(box.left, place.y, right - box.left, place.height);
      if (name === 'seceded') {
        hatchSeceded(
          context,
          scene.palette,
          { left: box.left, right, ...place },
          scene.width * scene.pixelRatio,
          scene.pixelRatio
        );
      } else if (
        name === 'cancelled' &&
        width >= PATTERN_FROM * scene.pixelRatio
      ) {
        const area = { left: box.left, right, ...place };
        const { y, height } = struckLine(area, scene.pixelRatio);
        context.fillStyle = scene.palette.patternLine;
        context.fillRect(box.left, y, right - box.left, height);
      }
    }
  }

  private _patterns(
    context: CanvasRenderingContext2D,
    scene: LaneScene
  ): PatternFills {
    if (this._patternPalette !== scene.palette || this._patternFills === null) {
      this._patternPalette = scene.palette;
      this._patternFills = new PatternFills(context, scene.palette, 1);
    }
    return this._patternFills;
  }
}

function keyOf(level: number, index: number, block: number): string {
  return `${level}/${index}/${block}`;
}

/** A number for each tile: those of two filters may be of the same moment, and have the same functions. */
const tileNumbers = new WeakMap<TileData, number>();
let tilesNumbered = 0;

function numberOf(tile: TileData): number {
  let number = tileNumbers.get(tile);
  if (number === undefined) {
    number = ++tilesNumbered;
    tileNumbers.set(tile, number);
  }
  return number;
}

/** Everything that a bitmap's pixels depend on. */
function versionOf(scene: LaneScene, tile: TileData, scale: number): string {
  const { layout, palette, pixelRatio, slotsVersion, colourBy } = scene;
  return `${numberOf(tile)} ${scale} ${layout.laneHeight} ${palette.shade} ${palette.background} ${pixelRatio} ${slotsVersion} ${colourBy}`;
}
