/**
 * Draws the lanes in view from tiles. Runs in the browser, in one animation
 * frame, and never waits: what is not here yet is drawn from a coarser or finer
 * tile, stretched, until it is.
 *
 *   wanted   level 12 |·tile 6·|·tile 7·|      tile 7 is not here
 *   drawn             |·tile 6·|▒▒▒▒▒▒▒▒|  ←   right half of level 13's tile 3
 *
 * A frame of a pan is a few drawImage calls per worker and tile, then the few
 * boxes wide enough for a label. Rasterising stops after `rasterBudgetMs` and
 * goes on in the next frame.
 */
import {
  type LaneBitmap,
  LaneBitmaps,
  lanesPerBlock
} from '../../charts/lane-bitmaps';
import type { BoxFill } from '../../charts/lane-raster';
import { pixelOf } from '../../charts/lane-raster';
import { parseColour } from '../../charts/colour-arithmetic';
import {
  functionColour,
  type Palette,
  PatternFills,
  runningFill,
  textOn,
  topLines
} from '../../charts/theme';
import type { TileData } from '../../feed/feed-types';
import { aggregateRun } from './box-search';
import { axisTicks } from './figure';
import { type LaneLayout, rowsInLane } from './lane-layout';
import { boxKinds } from './rows';
import {
  cellSeconds,
  cellsPerTile,
  coarserTile,
  type TileRange
} from './tile-plan';
import type { Viewport } from './viewport';

export type RunningBox = {
  readonly lane: number;
  readonly key: string;
  readonly function: string;
  readonly started: number;
};

export type LaneScene = {
  readonly view: Viewport;
  /** CSS pixels of the visible part, and how far its content is scrolled. */
  readonly width: number;
  readonly height: number;
  readonly scrollTop: number;
  readonly pixelRatio: number;
  readonly layout: LaneLayout;
  readonly tiles: TileRange;
  tileOf(level: number, index: number): TileData | null;
  readonly slots: ReadonlyMap<
    string,
    { readonly slot: number; readonly round: number }
  >;
  /** Changes with `slots`, so that tiles are drawn again. */
  readonly slotsVersion: number;
  readonly colourBy: 'function' | 'kind';
  readonly palette: Palette;
  readonly running: readonly RunningBox[];
  /** Right edge of what runs; null when nothing is live. */
  readonly now: number | null;
  readonly selectedRun: number | null;
};

const rasterBudgetMs = 6;
/** A box this wide (CSS px) may carry a label; 11 px text needs some room. */
const labelFrom = 24;
const labelPadding = 5;

/** A box that may carry a label; `from`, `to`: the cells that the label may use. */
type Note = { readonly row: number; from: number; to: number };

/** Lanes that follow each other both in the bitmap and on the screen. */
type Slice = {
  readonly block: number;
  readonly firstInBlock: number;
  readonly count: number;
  /** CSS pixels from the top of the visible part. */
  readonly top: number;
};

export class LanePainter {
  /** Draws; true when all is drawn from the wanted tiles at the right scale. */
  paint(context: CanvasRenderingContext2D, scene: LaneScene): boolean {
    const ratio = scene.pixelRatio;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, scene.width * ratio, scene.height * ratio);
    this._deadline = performance.now() + rasterBudgetMs;
    this._isComplete = true;
    this._drawGround(context, scene);
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
    this._drawRunning(context, scene);
    this._drawLabels(context, scene);
    this._drawNow(context, scene);
    if (this._isComplete) {
      this._prepare(scene, slices, first - 1);
      this._prepare(scene, slices, first + count);
    }
    return this._isComplete;
  }

  clear(): void {
    this._bitmaps.clear();
  }

  private _drawGround(
    context: CanvasRenderingContext2D,
    scene: LaneScene
  ): void {
    const { palette, layout, pixelRatio: ratio } = scene;
    context.fillStyle = palette.gridLine;
    for (const tick of axisTicks(scene.view, scene.width)) {
      context.fillRect(
        Math.round(tick.x * ratio),
        0,
        Math.max(1, Math.floor(ratio)),
        scene.height * ratio
      );
    }
    for (const worker of layout.workers) {
      for (const lane of worker.lanes) {
        const bottom = lane.top + layout.laneHeight - scene.scrollTop;
        if (bottom > 0 && bottom <= scene.height) {
          context.fillRect(
            0,
            Math.round(bottom * ratio) - 1,
            scene.width * ratio,
            1
          );
        }
      }
    }
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
        drawSlice(
          context,
          scene,
          slice,
          bitmap,
          tile.level,
          tile.index,
          0,
          cellsPerTile
        );
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
      const part = coarserTile(index, up);
      const key = keyOf(level + up, part.index, slice.block);
      const found = this._bitmaps.find(key, '');
      if (found !== null) {
        drawSlice(
          context,
          scene,
          slice,
          found.bitmap,
          level + up,
          part.index,
          part.fromCell,
          part.toCell
        );
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
      const part = coarserTile(index, up);
      const tile = scene.tileOf(level + up, part.index);
      if (tile === null) {
        continue;
      }
      for (const slice of slices) {
        const bitmap = this._anyBitmap(scene, tile, slice.block);
        if (bitmap !== null) {
          drawSlice(
            context,
            scene,
            slice,
            bitmap,
            tile.level,
            tile.index,
            part.fromCell,
            part.toCell
          );
        }
      }
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
        for (const slice of slices) {
          const bitmap = this._anyBitmap(scene, tile, slice.block);
          if (bitmap !== null) {
            drawSlice(
              context,
              scene,
              slice,
              bitmap,
              tile.level,
              child,
              0,
              cellsPerTile
            );
          }
        }
      }
      if (isDrawn) {
        return;
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
      originPixels: tile.index * cellsPerTile * scale,
      pixelsPerCell: scale,
      cells: cellsPerTile,
      firstLane: block * lanesPerBlock,
      lanes: lanesPerBlock,
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
      const key = kind === 0 ? 5 + index : kind;
      return (made[key] ??= {
        colour: pixel(colourOf(scene, kind, tile.functions[index] ?? '')),
        pattern: kind === 1 ? 'slash' : kind === 2 ? 'horizontal' : 'plain',
        topLines:
          kind === 0 && scene.colourBy === 'function'
            ? topLines(slotOf(scene, tile.functions[index] ?? ''))
            : 0
      });
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
    for (let row = 0; row < tile.lane.length; row += 1) {
      const top = tops.get(tile.lane[row] as number);
      const box = boxPixels(scene, tile, row);
      if (
        top === undefined ||
        box.right < 0 ||
        box.left > scene.width * scene.pixelRatio
      ) {
        continue;
      }
      const kind = tile.kind[row] as number;
      const name = boxKinds[kind] ?? 'compute';
      const width = box.right - box.left;
      context.fillStyle =
        name === 'transfer' || name === 'disk'
          ? fills.kind(name, width / scene.pixelRatio)
          : colourOf(
              scene,
              kind,
              tile.functions[tile.function[row] as number] ?? ''
            );
      const place = laneBox(scene, top, tile.strip[row] === 1);
      context.fillRect(
        box.left,
        place.y,
        Math.max(1, width - (width > 3 ? 1 : 0)),
        place.height
      );
    }
  }

  private _drawRunning(
    context: CanvasRenderingContext2D,
    scene: LaneScene
  ): void {
    if (scene.now === null || scene.running.length === 0) {
      return;
    }
    const { palette, pixelRatio: ratio } = scene;
    const tops = laneTops(scene);
    for (const task of scene.running) {
      const top = tops.get(task.lane);
      const left = Math.max(-2, pixelX(scene, task.started));
      const right = Math.min(
        scene.width * ratio + 2,
        pixelX(scene, Math.max(scene.now, task.started))
      );
      if (top === undefined || right < 0 || left > scene.width * ratio) {
        continue;
      }
      const fill = runningFill(palette, colourOf(scene, 0, task.function));
      const { y, height } = laneBox(scene, top, false);
      context.fillStyle = fill;
      context.fillRect(left, y, Math.max(1, right - left), height);
      context.fillStyle = palette.text;
      context.fillRect(
        right - Math.round(2 * ratio),
        y,
        Math.round(2 * ratio),
        height
      );
      this._drawLabel(
        context,
        scene,
        task.function,
        fill,
        left,
        right - 4 * ratio,
        y,
        height
      );
    }
  }

  /** Names in wide boxes, ✕ in failed ones, the outline of the selected one. */
  private _drawLabels(
    context: CanvasRenderingContext2D,
    scene: LaneScene
  ): void {
    const { palette, pixelRatio: ratio, selectedRun } = scene;
    const { level, first, count } = scene.tiles;
    const tops = laneTops(scene);
    const selected: {
      left: number;
      right: number;
      y: number;
      height: number;
    }[] = [];
    for (let index = first; index < first + count; index += 1) {
      const tile = scene.tileOf(level, index);
      if (tile === null) {
        continue;
      }
      for (const note of this._notable(tile)) {
        const { row } = note;
        const top = tops.get(tile.lane[row] as number);
        const box = cellPixels(scene, tile, note.from, note.to);
        if (
          top === undefined ||
          box.right < 0 ||
          box.left > scene.width * ratio ||
          // A box over several tiles is a row in each; the first in view draws its label.
          ((tile.from[row] as number) < 0 && index > first)
        ) {
          continue;
        }
        const { y, height } = laneBox(scene, top, false);
        if (tile.kind[row] === 4) {
          this._drawFailed(context, scene, box, y, height);
        } else if (box.right - box.left >= labelFrom * ratio) {
          const name = tile.functions[tile.function[row] as number] ?? '';
          const fill = colourOf(scene, 0, name);
          this._drawLabel(
            context,
            scene,
            name,
            fill,
            box.left,
            box.right,
            y,
            height
          );
        }
      }
      if (selectedRun !== null) {
        for (let row = 0; row < tile.run.length; row += 1) {
          const top = tops.get(tile.lane[row] as number);
          if (
            tile.run[row] === selectedRun &&
            tile.strip[row] !== 1 &&
            top !== undefined
          ) {
            selected.push({
              ...boxPixels(scene, tile, row),
              ...laneBox(scene, top, false)
            });
          }
        }
      }
    }
    if (selected.length > 0) {
      const left = Math.min(...selected.map(box => box.left));
      const right = Math.max(
        ...selected.map(box => box.right),
        left + 3 * ratio
      );
      const box = selected[0] as { y: number; height: number };
      context.strokeStyle = palette.brand;
      context.lineWidth = 2.5 * ratio;
      context.strokeRect(
        left,
        box.y + ratio,
        right - left,
        box.height - 2 * ratio
      );
    }
  }

  private _drawFailed(
    context: CanvasRenderingContext2D,
    scene: LaneScene,
    box: { left: number; right: number },
    y: number,
    height: number
  ): void {
    const { palette, pixelRatio: ratio } = scene;
    const width = box.right - box.left;
    if (palette.failedLine !== palette.kinds.failed && width >= 4 * ratio) {
      context.strokeStyle = palette.failedLine;
      context.lineWidth = ratio;
      context.strokeRect(
        box.left + ratio / 2,
        y + ratio / 2,
        width - 2 * ratio,
        height - ratio
      );
    }
    if (width >= 9 * ratio && height >= 9 * ratio) {
      const middle =
        (Math.max(box.left, 0) + Math.min(box.right, scene.width * ratio)) / 2;
      const size = 3 * ratio;
      context.strokeStyle = '#ffffff';
      context.lineWidth = 1.6 * ratio;
      context.beginPath();
      context.moveTo(middle - size, y + height / 2 - size);
      context.lineTo(middle + size, y + height / 2 + size);
      context.moveTo(middle + size, y + height / 2 - size);
      context.lineTo(middle - size, y + height / 2 + size);
      context.stroke();
    }
  }

  private _drawLabel(
    context: CanvasRenderingContext2D,
    scene: LaneScene,
    text: string,
    fill: string,
    left: number,
    right: number,
    y: number,
    height: number
  ): void {
    const ratio = scene.pixelRatio;
    const x = Math.max(left, 0) + labelPadding * ratio;
    const room = Math.min(right, scene.width * ratio) - x - 3 * ratio;
    if (room < 12 * ratio || height < 11 * ratio) {
      return;
    }
    const font = `${11 * ratio}px ${scene.palette.uiFont}`;
    context.font = font;
    if (this._textWidth(context, font, text) > room) {
      return;
    }
    context.textBaseline = 'middle';
    context.fillStyle = textOn(fill);
    context.fillText(text, x, y + height / 2 + ratio * 0.5);
  }

  private _drawNow(context: CanvasRenderingContext2D, scene: LaneScene): void {
    if (scene.now === null) {
      return;
    }
    const x = Math.round(pixelX(scene, scene.now));
    context.fillStyle = scene.palette.brand;
    context.fillRect(
      x,
      0,
      Math.max(1, Math.round(scene.pixelRatio)),
      scene.height * scene.pixelRatio
    );
  }

  /**
   * What may carry a label or a mark: failed boxes, and compute boxes that are
   * wide enough, without what parts cover at their beginning and end:
   *
   *   run   |▒transfer▒| fit_fold            |▒write▒|
   *                     from ··············· to
   */
  private _notable(tile: TileData): readonly Note[] {
    const known = this._notes.get(tile);
    if (known !== undefined) {
      return known;
    }
    // A cell is at most 1.42 device pixels unless the level is 0.
    const cells = tile.level === 0 ? 0 : labelFrom / 1.42;
    const notes: Note[] = [];
    const byRun = new Map<number, Note>();
    for (let row = 0; row < tile.lane.length; row += 1) {
      const from = tile.from[row] as number;
      const to = tile.to[row] as number;
      const run = tile.run[row] as number;
      const kind = tile.kind[row] as number;
      if (tile.strip[row] === 1 || run === aggregateRun) {
        continue;
      }
      const whole = byRun.get(run);
      if (tile.tasks[row] === 0 && whole !== undefined) {
        // Parts come after the box of their run, in order of time.
        if (from <= whole.from + 0.5) {
          whole.from = Math.max(whole.from, to);
        } else {
          whole.to = Math.min(whole.to, from);
        }
      }
      const isWide =
        kind === 0 && tile.cover[row] === 255 && to - from >= cells;
      if (kind === 4 || isWide) {
        const note = { row, from, to };
        notes.push(note);
        if (tile.tasks[row] !== 0) {
          byRun.set(run, note);
        }
      }
    }
    this._notes.set(tile, notes);
    return notes;
  }

  private _textWidth(
    context: CanvasRenderingContext2D,
    font: string,
    text: string
  ): number {
    const key = `${font}|${text}`;
    let width = this._textWidths.get(key);
    if (width === undefined) {
      width = context.measureText(text).width;
      if (this._textWidths.size > 2000) {
        this._textWidths.clear();
      }
      this._textWidths.set(key, width);
    }
    return width;
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

  private readonly _bitmaps = new LaneBitmaps();
  private readonly _notes = new WeakMap<TileData, readonly Note[]>();
  private readonly _textWidths = new Map<string, number>();
  private _patternPalette: Palette | null = null;
  private _patternFills: PatternFills | null = null;
  private _deadline = 0;
  private _isComplete = true;
}

// ------------------------------------------------------------------ geometry

function pixelsPerSecond(scene: LaneScene): number {
  return (scene.width * scene.pixelRatio) / (scene.view.to - scene.view.from);
}

function pixelsPerCell(scene: LaneScene, level: number): number {
  return cellSeconds(level) * pixelsPerSecond(scene);
}

/** Global device pixel of the left border; whole, so that bitmaps are copied without blur. */
function leftPixel(scene: LaneScene): number {
  return Math.round(scene.view.from * pixelsPerSecond(scene));
}

function pixelX(scene: LaneScene, seconds: number): number {
  return Math.round(seconds * pixelsPerSecond(scene)) - leftPixel(scene);
}

function cellPixels(
  scene: LaneScene,
  tile: TileData,
  from: number,
  to: number
): { left: number; right: number } {
  const scale = pixelsPerCell(scene, tile.level);
  const origin = tile.index * cellsPerTile * scale;
  const left = leftPixel(scene);
  return {
    left: Math.round(origin + from * scale) - left,
    right: Math.round(origin + to * scale) - left
  };
}

function boxPixels(
  scene: LaneScene,
  tile: TileData,
  row: number
): { left: number; right: number } {
  return cellPixels(
    scene,
    tile,
    tile.from[row] as number,
    tile.to[row] as number
  );
}

function laneTops(scene: LaneScene): Map<number, number> {
  const tops = new Map<number, number>();
  const { layout, scrollTop, height } = scene;
  for (const worker of layout.workers) {
    for (const lane of worker.lanes) {
      const top = lane.top - scrollTop;
      if (top + layout.laneHeight > 0 && top < height) {
        tops.set(lane.lane, top);
      }
    }
  }
  return tops;
}

/** Device pixels of a box's row within its lane. */
function laneBox(
  scene: LaneScene,
  top: number,
  isStrip: boolean
): { y: number; height: number } {
  const ratio = scene.pixelRatio;
  const rows = rowsInLane(scene.layout.laneHeight);
  const y = Math.round(top * ratio);
  return isStrip
    ? {
        y: y + Math.round(rows.stripTop * ratio),
        height: Math.round(rows.stripHeight * ratio)
      }
    : {
        y: y + Math.round(rows.workTop * ratio),
        height: Math.round(rows.fullHeight * ratio)
      };
}

function visibleSlices(scene: LaneScene): Slice[] {
  const { layout, scrollTop, height } = scene;
  const slices: Slice[] = [];
  for (const worker of layout.workers) {
    if (
      worker.top + worker.height < scrollTop ||
      worker.top > scrollTop + height
    ) {
      continue;
    }
    let open: {
      block: number;
      firstInBlock: number;
      count: number;
      top: number;
      next: number;
    } | null = null;
    for (const { lane, top } of worker.lanes) {
      const block = Math.floor(lane / lanesPerBlock);
      if (open !== null && open.next === lane && open.block === block) {
        open.count += 1;
        open.next = lane + 1;
        continue;
      }
      open = {
        block,
        firstInBlock: lane % lanesPerBlock,
        count: 1,
        top: top - scrollTop,
        next: lane + 1
      };
      slices.push(open);
    }
  }
  return slices;
}

function drawSlice(
  context: CanvasRenderingContext2D,
  scene: LaneScene,
  slice: Slice,
  bitmap: LaneBitmap,
  level: number,
  index: number,
  fromCell: number,
  toCell: number
): void {
  const ratio = scene.pixelRatio;
  const scale = pixelsPerCell(scene, level);
  const laneHeight = bitmap.height / lanesPerBlock;
  const top = Math.round(slice.top * ratio);
  const height =
    Math.round((slice.top + slice.count * scene.layout.laneHeight) * ratio) -
    top;
  const isExact =
    scale === bitmap.pixelsPerCell && toCell - fromCell === cellsPerTile;
  const left = isExact
    ? bitmap.x - leftPixel(scene)
    : index * cellsPerTile * scale + fromCell * scale - leftPixel(scene);
  const width = isExact ? bitmap.width : (toCell - fromCell) * scale;
  const sourceX = isExact ? 0 : fromCell * bitmap.pixelsPerCell;
  const sourceWidth = isExact
    ? bitmap.width
    : Math.min(
        bitmap.width - sourceX,
        (toCell - fromCell) * bitmap.pixelsPerCell
      );
  if (left > scene.width * ratio || left + width < 0 || sourceWidth <= 0) {
    return;
  }
  context.imageSmoothingEnabled = !isExact && scale < bitmap.pixelsPerCell;
  context.drawImage(
    bitmap.image,
    sourceX,
    slice.firstInBlock * laneHeight,
    sourceWidth,
    slice.count * laneHeight,
    left,
    top,
    width,
    height
  );
}

function keyOf(level: number, index: number, block: number): string {
  return `${level}/${index}/${block}`;
}

/** Everything that a bitmap's pixels depend on. */
function versionOf(scene: LaneScene, tile: TileData, scale: number): string {
  const { layout, palette, pixelRatio, slotsVersion, colourBy } = scene;
  return `${tile.logSeq} ${tile.settled} ${scale} ${layout.laneHeight} ${palette.shade} ${palette.background} ${pixelRatio} ${slotsVersion} ${colourBy}`;
}

// ------------------------------------------------------------------- colours

function slotOf(
  scene: LaneScene,
  name: string
): { readonly slot: number; readonly round: number } {
  return scene.slots.get(name) ?? { slot: -1, round: 0 };
}

function colourOf(scene: LaneScene, kind: number, name: string): string {
  const { palette, colourBy } = scene;
  const kindName = boxKinds[kind] ?? 'compute';
  if (kindName !== 'compute') {
    return palette.kinds[kindName];
  }
  return colourBy === 'kind'
    ? palette.kinds.cpu
    : functionColour(palette, slotOf(scene, name));
}

/** A CSS colour as a pixel; the alpha of `rgba(…)` counts. */
function pixel(colour: string): number {
  const [red, green, blue] = parseColour(colour) ?? [128, 128, 128];
  const alpha = /^rgba\(.*[,/]\s*([\d.]+)\s*\)$/.exec(colour)?.[1];
  return pixelOf(red, green, blue, alpha === undefined ? 1 : Number(alpha));
}
