/** What one frame of the lanes shows, and where its seconds and lanes lie in device pixels. */
import type { LaneIndex } from '../../records/ids';
import { boxColour, isOfFunction, rowsInLane } from '../../charts/lane-fills';
import type { Palette, Slot } from '../../charts/theme';
import type { TileData } from '../../feed/feed-types';
import type { TaskStreamResult } from '../../wire/panel-link';
import type { LaneLayout } from './lane-layout';
import { BOX_KINDS } from './rows';
import { cellSeconds, CELLS_PER_TILE, type TileRange } from './tile-plan';
import type { Viewport } from './viewport';

type RunningBox = {
  readonly laneIndex: LaneIndex;
  readonly key: string;
  readonly function: string;
  readonly started: number;
  /** When it was cancelled; absent: it was not. */
  readonly cancelled?: number;
  /** As of `TaskStreamResult.running`. */
  readonly held?: TaskStreamResult['running'][number]['held'];
};

/** Where a run lies, also where no tile has it as a box of its own. */
export type SelectedPlace = {
  readonly run: number;
  readonly laneIndex: LaneIndex;
  readonly from: number;
  readonly to: number;
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
  /** What stands behind the name of one that was cancelled and goes on; absent: nothing. */
  readonly goesOnText?: string;
  /** Right edge of what runs; null when nothing is live. */
  readonly now: number | null;
  readonly selectedRun: number | null;
  /** Of it, if that is known. */
  readonly selectedPlace?: SelectedPlace | null;
  /** The range in seconds that is chosen, or being drawn out. */
  readonly range: { readonly from: number; readonly to: number } | null;
};

/** Where time lies in pixels. */
type TimeScale = Pick<LaneScene, 'view' | 'width' | 'pixelRatio'>;

function pixelsPerSecond(scene: TimeScale): number {
  return (scene.width * scene.pixelRatio) / (scene.view.to - scene.view.from);
}

export function pixelsPerCell(scene: TimeScale, level: number): number {
  return cellSeconds(level) * pixelsPerSecond(scene);
}

/** Global device pixel of the left border; whole, so that bitmaps are copied without blur. */
export function leftPixel(scene: TimeScale): number {
  return Math.round(scene.view.from * pixelsPerSecond(scene));
}

export function pixelX(scene: LaneScene, seconds: number): number {
  return Math.round(seconds * pixelsPerSecond(scene)) - leftPixel(scene);
}

export function cellPixels(
  scene: TimeScale,
  tile: TileData,
  from: number,
  to: number
): { left: number; right: number } {
  const scale = pixelsPerCell(scene, tile.level);
  const origin = tile.index * CELLS_PER_TILE * scale;
  const left = leftPixel(scene);
  return {
    left: Math.round(origin + from * scale) - left,
    right: Math.round(origin + to * scale) - left
  };
}

export function boxPixels(
  scene: TimeScale,
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

export function laneTops(scene: LaneScene): Map<LaneIndex, number> {
  const tops = new Map<LaneIndex, number>();
  const { layout, scrollTop, height } = scene;
  for (const worker of layout.workers) {
    for (const lane of worker.lanes) {
      const top = lane.top - scrollTop;
      if (top + layout.laneHeight > 0 && top < height) {
        tops.set(lane.laneIndex, top);
      }
    }
  }
  return tops;
}

/** Device pixels of a box's row within its lane. */
export function laneBox(
  scene: Pick<LaneScene, 'layout' | 'pixelRatio'>,
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

// ------------------------------------------------------------------- colours

function slotOf(scene: LaneScene, name: string): Slot {
  return scene.slots.get(name) ?? { slot: -1, round: 0 };
}

export function colourOf(scene: LaneScene, kind: number, name: string): string {
  const word = BOX_KINDS[kind] ?? 'compute';
  return boxColour(scene.palette, word, colouringSlot(scene, word, name));
}

/** Null: the function has no say in the colour. */
export function colouringSlot(
  scene: LaneScene,
  word: string,
  name: string
): Slot | null {
  return isOfFunction(word) && scene.colourBy === 'function'
    ? slotOf(scene, name)
    : null;
}
