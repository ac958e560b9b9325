/**
 * What is drawn over the boxes, in pictures too, and over the bitmaps again in each frame, since there is little of
 * it: running tasks, names in boxes wide enough, what failed, the outline
 * of the selected task, the chosen range, the line of now.
 */
import { shownText } from '../../base/shown-text';
import { BoxKind } from '../../records/enumerations';
import type { IInk } from '../../charts/ink';
import { drawFailed, outlined } from '../../charts/failed-marks';
import {
  type BoxArea,
  hatchSeceded,
  struckLine
} from '../../charts/lane-fills';
import { PATTERN_FROM } from '../../charts/lane-raster';
import { runningFill, textOn } from '../../charts/theme';
import type { LaneIndex } from '../../records/ids';
import type { TileData } from '../../feed/feed-types';
import { formatDuration } from '../format';
import { failedInView } from './failed-in-view';
import {
  LABEL_FROM,
  LABEL_PADDING,
  leaveOut,
  type Note,
  notesOf
} from './lane-notes';
import {
  boxPixels,
  cellPixels,
  colourOf,
  laneBox,
  laneTops,
  type LaneScene,
  pixelX
} from './lane-scene';
import { CELLS_PER_TILE } from './tile-plan';

/** What a task held of a thread. */
type HeldBox = {
  /** Its rows: one in each tile. */
  readonly boxes: BoxArea[];
  /** In cells, as the first of them has it. */
  readonly end: number;
};

/** A box that may have a label, and the tile's cells that the label may use. */
type Label = {
  readonly tile: TileData;
  readonly row: number;
  from: number;
  to: number;
};

/** Of a selected run that is among those of cells, and has no box of its own. */
function placeOfCells(
  scene: LaneScene,
  tops: ReadonlyMap<LaneIndex, number>
): BoxArea[] {
  const { selectedPlace: place = null, selectedRun } = scene;
  const top = place === null ? undefined : tops.get(place.laneIndex);
  if (place === null || place.run !== selectedRun || top === undefined) {
    return [];
  }
  const left = pixelX(scene, place.from);
  const right = pixelX(scene, place.to);
  return right < 0 || left > scene.width * scene.pixelRatio
    ? []
    : [{ left, right, ...laneBox(scene, top, false) }];
}

export class LaneOverlay {
  private readonly _notes = new WeakMap<TileData, readonly Note[]>();
  private readonly _textWidths = new Map<string, number>();

  draw(context: IInk, scene: LaneScene): void {
    this._drawRunning(context, scene);
    this._drawLabels(context, scene);
    this._drawFailed(context, scene);
    this._drawSelected(context, scene);
    this._drawRange(context, scene);
    this._drawNow(context, scene);
  }

  private _drawRunning(context: IInk, scene: LaneScene): void {
    if (scene.now === null || scene.running.length === 0) {
      return;
    }
    const { palette, pixelRatio: ratio } = scene;
    const tops = laneTops(scene);
    for (const task of scene.running) {
      this._drawHeld(context, scene, tops, task);
      const top = tops.get(task.laneIndex);
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
      const isCancelled = task.cancelled !== undefined;
      if (isCancelled && right - left >= PATTERN_FROM * ratio) {
        // As boxes that have ended, in the colour of the edge that moves: theirs is hardly seen on the pale fill.
        const line = struckLine({ left, right, y, height }, ratio);
        context.fillStyle = palette.text;
        context.fillRect(left, line.y, right - left, line.height);
      }
      context.fillStyle = palette.text;
      context.fillRect(
        right - Math.round(2 * ratio),
        y,
        Math.round(2 * ratio),
        height
      );
      if (isCancelled) {
        const box = { left, right: right - 2 * ratio, y, height };
        this._drawCancelledLabel(context, scene, task.function, fill, box);
        continue;
      }
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

  /** With what it is where there is room, else the name alone. */
  private _drawCancelledLabel(
    context: IInk,
    scene: LaneScene,
    name: string,
    fill: string,
    box: BoxArea
  ): void {
    const { goesOnText = '' } = scene;
    const isWhole =
      goesOnText !== '' &&
      this._drawPlate(context, scene, `${name} · ${goesOnText}`, fill, box);
    if (!isWhole) {
      this._drawPlate(context, scene, name, fill, box);
    }
  }

  /** What a running task held of threads before it seceded, and since it has one again. */
  private _drawHeld(
    context: IInk,
    scene: LaneScene,
    tops: ReadonlyMap<LaneIndex, number>,
    task: LaneScene['running'][number]
  ): void {
    const { palette, pixelRatio: ratio } = scene;
    const width = scene.width * ratio;
    for (const { laneIndex, from, to } of task.held ?? []) {
      const top = tops.get(laneIndex);
      const left = Math.max(-2, pixelX(scene, from));
      const end = pixelX(scene, to ?? Math.max(scene.now!, from));
      const right = Math.min(width + 2, Math.max(left + 1, end));
      if (top !== undefined && right >= 0 && left <= width) {
        const place = laneBox(scene, top, false);
        context.fillStyle = colourOf(scene, BoxKind.Seceded, task.function);
        context.fillRect(left, place.y, right - left, place.height);
        const box = { left, right, ...place };
        hatchSeceded(context, palette, box, width, ratio);
        this._drawHeldLabel(context, scene, task.function, box);
      }
    }
  }

  private _drawHeldLabel(
    context: IInk,
    scene: LaneScene,
    name: string,
    box: BoxArea
  ): void {
    const fill = colourOf(scene, BoxKind.Seceded, name);
    this._drawPlate(context, scene, name, fill, box);
  }

  /** A label on a plate of the box's colour: lines go through the box. Returns whether there is room. */
  private _drawPlate(
    context: IInk,
    scene: LaneScene,
    name: string,
    fill: string,
    box: BoxArea
  ): boolean {
    const { palette, pixelRatio: ratio } = scene;
    const font = `${11 * ratio}px ${palette.uiFont}`;
    context.font = font;
    const width = this._textWidth(context, font, shownText(name)) + 6 * ratio;
    const x = Math.max(box.left, 0) + 2 * ratio;
    const height = 14 * ratio;
    if (x + width + 3 * ratio > box.right || box.height < height) {
      return false;
    }
    context.fillStyle = fill;
    context.fillRect(x, box.y + (box.height - height) / 2, width, height);
    this._drawLabel(
      context,
      scene,
      name,
      fill,
      x - 2 * ratio,
      box.right,
      box.y,
      box.height
    );
    return true;
  }

  /** Names in wide boxes. */
  private _drawLabels(context: IInk, scene: LaneScene): void {
    const { pixelRatio: ratio } = scene;
    const tops = laneTops(scene);
    for (const { tile, row, from, to } of this._labels(scene)) {
      const { left, right } = cellPixels(scene, tile, from, to);
      const top = tops.get(tile.laneIndex[row]!);
      if (top === undefined || right < 0 || left > scene.width * ratio) {
        continue;
      }
      const { y, height } = laneBox(scene, top, false);
      const name = tile.functions[tile.function[row] as number] ?? '';
      if (tile.kind[row] === BoxKind.Seceded) {
        const box = { left, right, y, height };
        this._drawHeldLabel(context, scene, name, box);
      } else if (right - left >= LABEL_FROM * ratio) {
        const fill = colourOf(scene, 0, name);
        this._drawLabel(context, scene, name, fill, left, right, y, height);
      }
    }
  }

  /** A box over several tiles is a row in each. Its first in view has the label, and the others narrow its room by the parts that they have. */
  private _labels(scene: LaneScene): Label[] {
    const { level, first, count } = scene.tiles;
    const labels: Label[] = [];
    const ofRuns = new Map<number, Label>();
    for (let index = first; index < first + count; index += 1) {
      const tile = scene.tileOf(level, index);
      for (const note of tile === null ? [] : this._notable(tile)) {
        const { row, from, to, parts } = note;
        const run = tile!.run[row] as number;
        if ((tile!.from[row] as number) >= 0 || index === first) {
          const label = { tile: tile!, row, from, to };
          labels.push(label);
          if (tile!.tasks[row] !== 0) {
            ofRuns.set(run, label);
          }
          continue;
        }
        const label = parts === undefined ? undefined : ofRuns.get(run);
        if (label !== undefined) {
          const origin = (index - label.tile.index) * CELLS_PER_TILE;
          for (const part of parts!) {
            const cells = { from: origin + part.from, to: origin + part.to };
            leaveOut(label, cells);
          }
        }
      }
    }
    return labels;
  }

  /** ✕ in failed boxes, and marks of those that are too narrow to be seen. */
  private _drawFailed(context: IInk, scene: LaneScene): void {
    const { palette, pixelRatio: ratio } = scene;
    const width = scene.width * ratio;
    const tops = laneTops(scene);
    for (const [lane, failed] of failedInView(scene, tops)) {
      const place = laneBox(scene, tops.get(lane)!, false);
      drawFailed(context, palette, failed, place, width, ratio);
    }
  }

  /** The outline of the selected task. */
  private _drawSelected(context: IInk, scene: LaneScene): void {
    const { palette, pixelRatio: ratio, selectedRun } = scene;
    if (selectedRun === null) {
      return;
    }
    const { level, first, count } = scene.tiles;
    const tops = laneTops(scene);
    /** Its own, and each that the task held of a thread, with an outline around all rows of it. */
    const own: BoxArea[] = [];
    const held = new Map<LaneIndex, HeldBox[]>();
    for (let index = first; index < first + count; index += 1) {
      const tile = scene.tileOf(level, index);
      if (tile === null) {
        continue;
      }
      for (let row = 0; row < tile.run.length; row += 1) {
        const top = tops.get(tile.laneIndex[row]!);
        if (
          tile.run[row] === selectedRun &&
          tile.strip[row] !== 1 &&
          top !== undefined
        ) {
          const place = boxPixels(scene, tile, row);
          const box = {
            ...(tile.kind[row] === BoxKind.Failed
              ? outlined(place, ratio)
              : place),
            ...laneBox(scene, top, false)
          };
          if (tile.kind[row] !== BoxKind.Seceded) {
            own.push(box);
            continue;
          }
          const laneIndex = tile.laneIndex[row]!;
          const inLane = held.get(laneIndex) ?? [];
          held.set(laneIndex, inLane);
          // The last one goes on here if it reaches into this tile. (By pixels it may be another: each tile has its beginning rounded
          // otherwise. And in a tile that is still to come it may have ended, and another begun.)
          const last = inLane.at(-1);
          const tileBegin = index * CELLS_PER_TILE;
          const before =
            (tile.from[row] as number) < 0 && (last?.end ?? 0) >= tileBegin
              ? last
              : undefined;
          const end = tileBegin + (tile.to[row] as number);
          if (before === undefined) {
            inLane.push({ boxes: [box], end });
          } else {
            before.boxes.push(box);
          }
        }
      }
    }
    if (own.length === 0) {
      own.push(...placeOfCells(scene, tops));
    }
    const areHeld = [...held.values()].flat().map(({ boxes }) => boxes);
    for (const boxes of [own, ...areHeld]) {
      if (boxes.length === 0) {
        continue;
      }
      const left = Math.min(...boxes.map(box => box.left));
      const right = Math.max(...boxes.map(box => box.right), left + 3 * ratio);
      const [box] = boxes as [BoxArea];
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

  private _drawLabel(
    context: IInk,
    scene: LaneScene,
    name: string,
    fill: string,
    left: number,
    right: number,
    y: number,
    height: number
  ): void {
    const ratio = scene.pixelRatio;
    const x = Math.max(left, 0) + LABEL_PADDING * ratio;
    const room = Math.min(right, scene.width * ratio) - x - 3 * ratio;
    if (room < 12 * ratio || height < 11 * ratio) {
      return;
    }
    const font = `${11 * ratio}px ${scene.palette.uiFont}`;
    context.font = font;
    const text = shownText(name);
    if (this._textWidth(context, font, text) > room) {
      return;
    }
    context.textBaseline = 'middle';
    context.fillStyle = textOn(fill);
    context.fillText(text, x, y + height / 2 + ratio * 0.5);
  }

  /** A tint between two lines, with its length at the foot if there is room: at the top are the workers' names. */
  private _drawRange(context: IInk, scene: LaneScene): void {
    const { range, palette, pixelRatio: ratio } = scene;
    if (range === null) {
      return;
    }
    const bottom = scene.height * ratio;
    const line = Math.max(1, Math.round(2 * ratio));
    const left = pixelX(scene, range.from);
    const right = Math.max(left + line, pixelX(scene, range.to));
    context.fillStyle = palette.brand;
    context.globalAlpha = 0.12;
    context.fillRect(left, 0, right - left, bottom);
    context.globalAlpha = 1;
    context.fillRect(left, 0, line, bottom);
    context.fillRect(right - line, 0, line, bottom);
    // Of what is in view, so that the length is.
    const begin = Math.max(0, left);
    const end = Math.min(scene.width * ratio, right);
    const text = formatDuration(range.to - range.from);
    context.font = `${11 * ratio}px ${palette.uiFont}`;
    const width = context.measureText(text).width + 10 * ratio;
    if (end - begin >= width) {
      const x = (begin + end - width) / 2;
      context.fillRect(x, bottom - 16 * ratio, width, 16 * ratio);
      context.fillStyle = textOn(palette.brand);
      context.textBaseline = 'middle';
      context.fillText(text, x + 5 * ratio, bottom - 7.5 * ratio);
    }
  }

  private _drawNow(context: IInk, scene: LaneScene): void {
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

  private _notable(tile: TileData): readonly Note[] {
    const known = this._notes.get(tile) ?? notesOf(tile);
    this._notes.set(tile, known);
    return known;
  }

  private _textWidth(context: IInk, font: string, text: string): number {
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
}
