/**
 * Boxes of a view as columns for the raster, in pixels of the picture. As in a tile of the panel, what is narrower than a pixel is one box a
 * pixel and colour, covered by its share: a million short tasks are no more boxes than the picture has room for.
 */
import type { BoxColumns } from '../../charts/lane-raster';
import { BOX_KINDS } from '../../panels/task-stream/rows';
import type { Viewport } from '../../panels/task-stream/viewport';
import type { DrawnBox } from './drawn-boxes';

/** As tiles say it of boxes that are drawn as they are. */
const EXACT = 255;
const COMPUTE = BOX_KINDS.indexOf('compute');
const FAILED = BOX_KINDS.indexOf('failed');

type Row = {
  readonly box: DrawnBox;
  readonly from: number;
  readonly to: number;
  /** Pixels of time, where it stands for boxes that are narrower than one. */
  covered: number | null;
};

/** @param boxes - in the order of drawing, in which runs come before parts. */
export function boxColumns(
  boxes: readonly DrawnBox[],
  { from, to }: Viewport,
  width: number
): BoxColumns {
  const perSecond = width / (to - from);
  // (beyond the borders single precision would not do)
  const x = (seconds: number) =>
    Math.min(2 * width, Math.max(-width, (seconds - from) * perSecond));
  const exact: Row[] = [];
  const merged = new Map<number, Row>();
  for (const box of boxes) {
    if (box.to < from || box.from > to) {
      continue;
    }
    const left = x(box.from);
    const right = x(box.to);
    if (right - left >= 1) {
      exact.push({ box, from: left, to: right, covered: null });
      continue;
    }
    // It touches two at most.
    const first = Math.floor(left);
    for (const pixel of right > first + 1 ? [first, first + 1] : [first]) {
      if (pixel < 0 || pixel >= width) {
        continue;
      }
      const key = keyOf(box, pixel, width);
      const row = merged.get(key) ?? {
        box,
        from: pixel,
        to: pixel + 1,
        covered: 0
      };
      row.covered! += Math.min(right, pixel + 1) - Math.max(left, pixel);
      merged.set(key, row);
    }
  }
  // Over exact parts lie those that tint a pixel by their share.
  const short = [...merged.values()];
  const rows = [
    ...short.filter(({ box }) => box.tasks === 1),
    ...exact,
    ...short.filter(({ box }) => box.tasks === 0)
  ];
  return {
    laneIndex: Uint16Array.from(rows, row => row.box.lane),
    from: Float32Array.from(rows, row => row.from),
    to: Float32Array.from(rows, row => row.to),
    function: Uint16Array.from(rows, row => row.box.function),
    kind: Uint8Array.from(rows, row => row.box.kind),
    strip: Uint8Array.from(rows, row => row.box.strip),
    cover: Uint8Array.from(rows, coverOf),
    tasks: Uint32Array.from(rows, row => row.box.tasks)
  };
}

/** 1 … 254: 0 would be invisible. What failed is seen however short it is. */
function coverOf({ box, covered }: Row): number {
  return covered === null || box.kind === FAILED
    ? EXACT
    : Math.min(EXACT - 1, Math.max(1, Math.round(covered * EXACT)));
}

/** Equal for boxes of one pixel, colour and layer; only computing is told apart by function. */
function keyOf(box: DrawnBox, pixel: number, width: number): number {
  const layer = box.tasks + 2 * box.strip;
  const colour =
    box.kind === COMPUTE ? BOX_KINDS.length + box.function : box.kind;
  const place = (box.lane * 3 + layer) * width + pixel;
  return place * 2 ** 17 + colour;
}
