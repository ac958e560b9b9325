/**
 * Boxes of a view as columns for the raster, in pixels of the picture. As in a tile of the panel, those that are narrower than a pixel are one
 * box in it, of the colour that took longest and covered by their share: a million short tasks are no more boxes than the picture has room for.
 */
import type { BoxColumns } from '../../charts/lane-raster';
import { BOX_KINDS } from '../../panels/task-stream/rows';
import type { Viewport } from '../../panels/task-stream/viewport';
import { isOfFunction } from '../../charts/lane-fills';
import type { DrawnBox } from './drawn-boxes';

/** As tiles say it of boxes that are drawn as they are. */
const EXACT = 255;
const FAILED = BOX_KINDS.indexOf('failed');
/** Runs, parts that held the thread, those behind other work, what failed. */
const LAYERS = 4;

type Row = {
  readonly box: DrawnBox;
  readonly from: number;
  readonly to: number;
  /** Pixels of time, where it stands for boxes that are narrower than one. */
  readonly covered: number | null;
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
  const cells = new Map<number, Cell>();
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
      if (pixel >= 0 && pixel < width) {
        const place = placeOf(box, pixel, width);
        const cell = cells.get(place) ?? new Cell(pixel);
        cell.add(box, Math.min(right, pixel + 1) - Math.max(left, pixel));
        cells.set(place, cell);
      }
    }
  }
  // Over exact parts lie those that tint a pixel by their share.
  const short = Array.from(cells.values(), cell => cell.row);
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

/** A pixel of a layer of a lane. */
class Cell {
  private readonly _byColour = new Map<
    number,
    { readonly box: DrawnBox; covered: number }
  >();

  constructor(private readonly _pixel: number) {}

  add(box: DrawnBox, covered: number): void {
    // Only computing, also in vain, is told apart by function.
    const colour = isOfFunction(BOX_KINDS[box.kind] ?? 'compute')
      ? BOX_KINDS.length * (1 + box.function) + box.kind
      : box.kind;
    const known = this._byColour.get(colour);
    if (known === undefined) {
      this._byColour.set(colour, { box, covered });
    } else {
      known.covered += covered;
    }
  }

  get row(): Row {
    const all = [...this._byColour.values()];
    const { box } = all.reduce((a, b) => (b.covered > a.covered ? b : a));
    return {
      box,
      from: this._pixel,
      to: this._pixel + 1,
      covered: all.reduce((sum, each) => sum + each.covered, 0)
    };
  }
}

/** 1 … 254: 0 would be invisible. What failed is seen however short it is. */
function coverOf({ box, covered }: Row): number {
  return covered === null || box.kind === FAILED
    ? EXACT
    : Math.min(EXACT - 1, Math.max(1, Math.round(covered * EXACT)));
}

/** Equal for boxes that are merged: not what failed with anything else. */
function placeOf(box: DrawnBox, pixel: number, width: number): number {
  const layer =
    box.kind === FAILED ? LAYERS - 1 : box.strip === 1 ? 2 : 1 - box.tasks;
  return (box.lane * LAYERS + layer) * width + pixel;
}
