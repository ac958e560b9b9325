/**
 * The frame around the lanes as plain drawing orders: ticks, grid lines and
 * span bands, in pixels of the chart's width, colours as roles.
 *
 * Why not plotly's axis: a pan of a plotly frame is a relayout, 12 to 30 ms of
 * SVG work per pointer move even with no traces, which alone would take the
 * 33 ms that a frame may cost with a million runs; and its axis lags the
 * canvas by a frame, so that ticks and boxes part while dragging. These orders
 * take well under a millisecond and are drawn in the same frame as the boxes.
 */
import { timeTicks } from '../format';
import type { BandRow, StripBar } from './rows';
import { type Viewport, xOf } from './viewport';

export type Tick = { readonly x: number; readonly text: string };

/** Ticks whose label fits between 0 and `width`. */
export function axisTicks(view: Viewport, width: number): Tick[] {
  return timeTicks(view.from, view.to, width)
    .ticks.filter(({ at }) => at >= 0)
    .map(({ at, text }) => ({ x: xOf(view, width, at), text }));
}

export type BandShape = {
  readonly x: number;
  readonly width: number;
  readonly level: number;
  readonly tint: number;
  /** Its tag, and whose it is: "load · north.ipynb". */
  readonly text: string;
  readonly span: number;
  /** Where its name starts: at the band, or at the left border while the band reaches over it. */
  readonly textX: number;
};

export function bandShapes(
  bands: readonly BandRow[],
  view: Viewport,
  width: number
): BandShape[] {
  const shapes: BandShape[] = [];
  for (const band of bands) {
    const left = Math.max(-2, xOf(view, width, band.from));
    const right = Math.min(width + 2, xOf(view, width, band.to));
    if (right <= 0 || left >= width) {
      continue;
    }
    shapes.push({
      x: left,
      // Of it the last pixel is left free, so that bands that meet are told apart.
      width: Math.max(2, right - left),
      level: band.level,
      tint: band.tint,
      text: band.client === '' ? band.tag : `${band.tag} · ${band.client}`,
      span: band.span,
      textX: Math.max(0, left) + 5
    });
  }
  return shapes;
}

/** The band at a place; where two meet, the later one, which is drawn over the other. */
export function bandAt(
  shapes: readonly BandShape[],
  x: number,
  level: number
): BandShape | undefined {
  return shapes.findLast(
    shape => shape.level === level && x >= shape.x && x < shape.x + shape.width
  );
}

/** A bar of the whole-run strip: `top` and `height` as shares of the strip. */
export type StripShape = {
  readonly x: number;
  readonly width: number;
  readonly role:
    | 'strip-compute'
    | 'kind-disk'
    | 'kind-transfer'
    | 'failed-mark';
  readonly top: number;
  readonly height: number;
};

/** Marks nearer than this would be one black smear. */
const MARK_DISTANCE = 8;

export function stripShapes(
  bars: readonly StripBar[],
  width: number
): StripShape[] {
  const shapes: StripShape[] = [];
  const pitch = width / Math.max(1, bars.length);
  // A pixel of air between bars as soon as there is room for it.
  const barWidth = pitch >= 3 ? pitch - 1 : pitch;
  let lastMark = -Infinity;
  bars.forEach((bar, index) => {
    const x = index * pitch;
    let bottom = 1;
    for (const [role, share] of [
      ['strip-compute', bar.compute],
      ['kind-disk', bar.disk],
      ['kind-transfer', bar.transfer]
    ] as const) {
      if (share > 0) {
        shapes.push({
          x,
          width: barWidth,
          role,
          top: bottom - share,
          height: share
        });
        bottom -= share;
      }
    }
    if (bar.failed > 0 && x - lastMark >= MARK_DISTANCE) {
      lastMark = x;
      shapes.push({
        x: x + pitch / 2,
        width: 0,
        role: 'failed-mark',
        top: 0,
        height: 0
      });
    }
  });
  return shapes;
}
