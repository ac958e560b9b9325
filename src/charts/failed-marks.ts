/**
 * Failed boxes that are too narrow to be seen: each is drawn so wide that it is, over the other boxes, and with its ✕ where that has room.
 * Where they would lie over each other they are one mark, which knows of how many runs it is:
 *
 *     ▓▓▓▓▓▓┃▓▓▓▓▓▓▓▓▓▓▓▓      one run
 *     ▓▓▓▓▓✕┃✕▓▓▓▓▓▓▓▓▓▓▓
 *     ━━━━━━━━━▓▓▓▓▓▓▓▓▓▓      so many side by side that the boxes would be hidden: along the top
 *     ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓
 */
import type { IInk } from './ink';
import { type BoxArea, crossFailed, markFailed } from './lane-fills';
import { MARK_FROM } from './lane-raster';
import type { ShadeColours } from './palette';

/** A failed box is drawn at least so wide (CSS pixels). */
const MARK_WIDTH = 5;
/** Of a lane's height, and in CSS pixels: what marks have along its top. */
const BAND_SHARE = 0.35;
const LOWEST_BAND = 2;
/** Between black and the boxes beside it, which may be nearly as dark. */
const EDGE = '#ffffff';

/** A failed box, or some that have no box of their own. */
export type FailedBox<T> = {
  /** Device pixels. */
  readonly left: number;
  readonly right: number;
  readonly runs: number;
  readonly of: T;
};

type FailedMark<T> = {
  readonly left: number;
  readonly right: number;
  readonly runs: number;
  readonly of: readonly T[];
};

/** Whether a box needs a mark. */
export function isThin(
  { left, right, runs }: Omit<FailedBox<unknown>, 'of'>,
  ratio: number
): boolean {
  return runs > 1 || right - left < MARK_WIDTH * ratio;
}

/** The failed boxes of a lane: those that are drawn as they are, and the marks of narrower ones. */
export type FailedOfLane<T> = {
  readonly wide: readonly FailedBox<T>[];
  readonly marks: readonly FailedMark<T>[];
};

export function failedOfLane<T>(
  boxes: readonly FailedBox<T>[],
  ratio: number
): FailedOfLane<T> {
  const thin = boxes.filter(box => isThin(box, ratio));
  return {
    wide: boxes.filter(box => !isThin(box, ratio)),
    marks: failedMarks(thin, ratio)
  };
}

/** What an outline goes around: the box, or its mark with the ✕. */
export function outlined(
  { left, right }: { readonly left: number; readonly right: number },
  ratio: number
): { readonly left: number; readonly right: number } {
  if (!isThin({ left, right, runs: 1 }, ratio)) {
    return { left, right };
  }
  const width = Math.round(MARK_WIDTH * ratio);
  const beside = Math.ceil((MARK_FROM * ratio - width) / 2);
  return { left: left - beside, right: left + width + beside };
}

/** The marks of a lane, from left to right, of boxes in any order. */
export function failedMarks<T>(
  boxes: readonly FailedBox<T>[],
  ratio: number
): FailedMark<T>[] {
  const marks: { left: number; right: number; runs: number; of: T[] }[] = [];
  for (const box of [...boxes].sort((a, b) => a.left - b.left)) {
    const right = Math.max(
      box.right,
      box.left + Math.round(MARK_WIDTH * ratio)
    );
    const last = marks.at(-1);
    if (last !== undefined && box.left <= last.right) {
      last.right = Math.max(last.right, right);
      last.runs += box.runs;
      last.of.push(box.of);
    } else {
      marks.push({ left: box.left, right, runs: box.runs, of: [box.of] });
    }
  }
  return marks;
}

/** What a mark covers of its lane, whose area is given; in device pixels. */
function markArea(
  { left, right, runs }: Omit<FailedMark<unknown>, 'of'>,
  lane: Pick<BoxArea, 'y' | 'height'>,
  ratio: number
): BoxArea {
  const isBand = runs > 1 && right - left >= MARK_FROM * ratio;
  const height = isBand
    ? Math.max(LOWEST_BAND * ratio, Math.round(lane.height * BAND_SHARE))
    : lane.height;
  return { left, right, y: lane.y, height: Math.min(lane.height, height) };
}

/** The mark at a point of a lane, in device pixels. One that is as high as its lane is found above and below it, too, in the gaps of lanes. */
export function markAt<T>(
  marks: readonly FailedMark<T>[],
  lane: Pick<BoxArea, 'y' | 'height'>,
  x: number,
  y: number,
  ratio: number
): FailedMark<T> | undefined {
  return marks.find(mark => {
    const area = markArea(mark, lane, ratio);
    const isAsHigh = area.height >= lane.height;
    return (
      x >= area.left && x < area.right && (isAsHigh || y < area.y + area.height)
    );
  });
}

/** The ✕ that a lane has: they must not lie over each other. */
export class Crosses {
  private readonly _middles = new Set<number>();

  constructor(private readonly _ratio: number) {}

  /** @returns whether there is room for one about this pixel, which it has then. */
  take(middle: number): boolean {
    const size = Math.ceil(MARK_FROM * this._ratio);
    for (let x = middle - size + 1; x < middle + size; x++) {
      if (this._middles.has(x)) {
        return false;
      }
    }
    this._middles.add(middle);
    return true;
  }
}

/** Draws them over the boxes of their lane in a picture `width` wide; device pixels. */
export function drawFailed(
  ink: IInk,
  colours: ShadeColours,
  { wide, marks }: FailedOfLane<unknown>,
  lane: Pick<BoxArea, 'y' | 'height'>,
  width: number,
  ratio: number
): void {
  for (const { left, right } of wide) {
    if (right >= 0 && left <= width) {
      markFailed(ink, colours, { left, right, ...lane }, width, ratio);
    }
  }
  const crosses = new Crosses(ratio);
  for (const mark of marks) {
    drawFailedMark(ink, colours, mark, lane, crosses, width, ratio);
  }
}

/** Draws a mark in a lane of a picture `width` wide; device pixels. */
export function drawFailedMark(
  ink: IInk,
  colours: ShadeColours,
  mark: Omit<FailedMark<unknown>, 'of'>,
  lane: Pick<BoxArea, 'y' | 'height'>,
  crosses: Crosses,
  width: number,
  ratio: number
): void {
  const area = markArea(mark, lane, ratio);
  const left = Math.max(area.left, -2 * ratio);
  const right = Math.min(area.right, width + 2 * ratio);
  if (right <= left) {
    return;
  }
  const edge = Math.round(ratio);
  const isBand = area.height < lane.height;
  ink.fillStyle = EDGE;
  ink.fillRect(left, area.y, right - left, area.height);
  ink.fillStyle = colours.kinds.failed;
  ink.fillRect(
    left + edge,
    area.y,
    right - left - 2 * edge,
    area.height - (isBand ? edge : 0)
  );
  const middle = Math.round((Math.max(left, 0) + Math.min(right, width)) / 2);
  if (lane.height >= MARK_FROM * ratio && crosses.take(middle)) {
    const y = isBand
      ? area.y + Math.max(area.height, MARK_FROM * ratio) / 2
      : area.y + area.height / 2;
    crossFailed(ink, colours, middle, y, ratio);
  }
}
