/** How boxes on lanes are filled and divided: one look in the Task Stream and in the files that show one. */
import { alphaOf, parseColour } from '../base/colour-arithmetic';
import type { IInk } from './ink';
import {
  type BoxFill,
  MARK_FROM,
  PATTERN_FROM,
  pixelOf,
  struckRows
} from './lane-raster';
import { type Kind, KIND_PATTERNS, type ShadeColours } from './palette';
import { functionColour, type Slot, topLines } from './theme';

/** Kinds that lanes have boxes of; `seceded`: a task held a thread for it, and is drawn beside; `cancelled`: nobody wanted its result. */
type BoxKindWord =
  | Exclude<
      Kind,
      'cpu' | 'core' | 'gil' | 'blocked' | 'tasks' | 'noncpu' | 'other'
    >
  | 'seceded'
  | 'cancelled';

const STRIP_SHARE = 0.26;

/** Work row and strip within a lane: a pixel of air on both sides of the work. */
export function rowsInLane(laneHeight: number): {
  readonly workTop: number;
  readonly workHeight: number;
  readonly fullHeight: number;
  readonly stripTop: number;
  readonly stripHeight: number;
} {
  const full = laneHeight - 2;
  const share = Math.max(3, Math.round(full * STRIP_SHARE));
  // In lanes of a few pixels work keeps the greater half.
  const strip = Math.max(1, Math.min(share, Math.floor((full - 1) / 2)));
  return {
    workTop: 1,
    workHeight: full - strip,
    fullHeight: full,
    stripTop: 1 + full - strip,
    stripHeight: strip
  };
}

/** Whether boxes of a kind have their function's colour. */
export function isOfFunction(
  kind: string
): kind is 'compute' | 'seceded' | 'cancelled' {
  return kind === 'compute' || kind === 'seceded' || kind === 'cancelled';
}

/** What is of a function has its colour; without a slot that of computing. */
export function boxColour(
  colours: ShadeColours,
  kind: BoxKindWord,
  slot: Slot | null
): string {
  if (!isOfFunction(kind)) {
    return colours.kinds[kind];
  }
  return slot === null ? colours.kinds.cpu : functionColour(colours, slot);
}

/** The second channel of a box's colour. */
export function boxPattern(kind: BoxKindWord): BoxFill['pattern'] {
  switch (kind) {
    case 'compute':
      return 'plain';
    case 'seceded':
      return 'outline';
    case 'cancelled':
      return 'struck';
    default:
      return KIND_PATTERNS[kind];
  }
}

export function boxFill(
  colours: ShadeColours,
  kind: BoxKindWord,
  slot: Slot | null
): BoxFill {
  return {
    colour: pixel(boxColour(colours, kind, slot)),
    pattern: boxPattern(kind),
    topLines: kind !== 'seceded' && slot !== null ? topLines(slot) : 0
  };
}

/** A CSS colour as a pixel; the alpha of `rgba(…)` counts. */
export function pixel(colour: string): number {
  const [red, green, blue] = parseColour(colour) ?? [128, 128, 128];
  return pixelOf(red, green, blue, alphaOf(colour));
}

/** Where a box is drawn, in device pixels. */
export type BoxArea = {
  readonly left: number;
  readonly right: number;
  readonly y: number;
  readonly height: number;
};

/** Between the lines of {@link hatchSeceded}, and how thick they are; in CSS pixels. */
const HATCH_PERIOD = 6;
const HATCH_LINE = 2.5;

/**
 * What tells a box of what a task held of a thread from the task's own, which is drawn beside the threads: lines within an outline of its
 * colour. In device pixels of a picture `width` wide.
 */
export function hatchSeceded(
  ink: IInk,
  colours: ShadeColours,
  box: BoxArea,
  width: number,
  ratio: number
): void {
  const edge = Math.round(ratio);
  const left = Math.max(0, box.left + edge);
  const right = Math.min(width, box.right - edge);
  const top = box.y + edge;
  const bottom = box.y + box.height - edge;
  if (box.right - box.left < PATTERN_FROM * ratio || right <= left) {
    return;
  }
  ink.strokeStyle = colours.patternLine;
  ink.lineWidth = HATCH_LINE * ratio;
  ink.beginPath();
  const period = HATCH_PERIOD * ratio;
  const first = Math.floor((left - (bottom - top)) / period) * period;
  for (let x = first; x < right; x += period) {
    // From the upper left to the lower right, cut at the outline.
    const from = Math.max(x, left);
    const to = Math.min(x + (bottom - top), right);
    if (to > from) {
      ink.moveTo(from, top + (from - x));
      ink.lineTo(to, top + (to - x));
    }
  }
  ink.stroke();
}

/** The line that strikes a cancelled box through, in device pixels, as the raster draws it. Boxes that are too narrow for a pattern have none. */
export function struckLine(box: BoxArea, ratio: number): BoxArea {
  return { ...box, ...struckRows(box.y, box.height, ratio) };
}

/** What tells a failed box from others beside its colour: ✕ where there is room, on black also where parts lie over the box, and an outline where it would not be seen on the ground. In device pixels of a picture `width` wide. */
export function markFailed(
  context: IInk,
  colours: ShadeColours,
  box: BoxArea,
  width: number,
  ratio: number
): void {
  const { left, right, y, height } = box;
  const wide = right - left;
  if (colours.failedLine !== colours.kinds.failed && wide >= 4 * ratio) {
    context.strokeStyle = colours.failedLine;
    context.lineWidth = ratio;
    context.strokeRect(
      left + ratio / 2,
      y + ratio / 2,
      wide - 2 * ratio,
      height - ratio
    );
  }
  if (wide >= MARK_FROM * ratio && height >= MARK_FROM * ratio) {
    const middle = (Math.max(left, 0) + Math.min(right, width)) / 2;
    crossFailed(context, colours, middle, y + height / 2, ratio);
  }
}

/** ✕ about a point, in device pixels. */
export function crossFailed(
  context: IInk,
  colours: ShadeColours,
  x: number,
  y: number,
  ratio: number
): void {
  const size = 3 * ratio;
  const room = (MARK_FROM / 2) * ratio;
  context.fillStyle = colours.kinds.failed;
  context.fillRect(x - room, y - room, 2 * room, 2 * room);
  context.strokeStyle = '#ffffff';
  context.lineWidth = 1.6 * ratio;
  context.beginPath();
  context.moveTo(x - size, y - size);
  context.lineTo(x + size, y + size);
  context.moveTo(x + size, y - size);
  context.lineTo(x - size, y + size);
  context.stroke();
}
