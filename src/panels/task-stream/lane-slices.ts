/** Copies kept bitmaps to the lanes in view, lane by lane as they lie on the screen. */
import { type LaneBitmap, LANES_PER_BLOCK } from '../../charts/lane-bitmaps';
import { type LaneScene, leftPixel, pixelsPerCell } from './lane-scene';
import { CELLS_PER_TILE, type TilePart } from './tile-plan';

/** Lanes that follow each other both in the bitmap and on the screen. */
export type Slice = {
  readonly block: number;
  readonly firstInBlock: number;
  readonly count: number;
  /** CSS pixels from the top of the visible part. */
  readonly top: number;
};

export function visibleSlices(scene: LaneScene): Slice[] {
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
    for (const { laneIndex, top } of worker.lanes) {
      const block = Math.floor(laneIndex / LANES_PER_BLOCK);
      if (open !== null && open.next === laneIndex && open.block === block) {
        open.count += 1;
        open.next = laneIndex + 1;
        continue;
      }
      open = {
        block,
        firstInBlock: laneIndex % LANES_PER_BLOCK,
        count: 1,
        top: top - scrollTop,
        next: laneIndex + 1
      };
      slices.push(open);
    }
  }
  return slices;
}

export function drawSlice(
  context: CanvasRenderingContext2D,
  scene: LaneScene,
  slice: Slice,
  bitmap: LaneBitmap,
  { level, index, fromCell, toCell }: TilePart
): void {
  const ratio = scene.pixelRatio;
  const scale = pixelsPerCell(scene, level);
  const laneHeight = bitmap.height / LANES_PER_BLOCK;
  const top = Math.round(slice.top * ratio);
  const height =
    Math.round((slice.top + slice.count * scene.layout.laneHeight) * ratio) -
    top;
  const isExact =
    scale === bitmap.pixelsPerCell && toCell - fromCell === CELLS_PER_TILE;
  const left = isExact
    ? bitmap.x - leftPixel(scene)
    : index * CELLS_PER_TILE * scale + fromCell * scale - leftPixel(scene);
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
