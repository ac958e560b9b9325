/**
 * The part of the run in view, in seconds since the start, and how the user
 * moves it. Plain data and pure functions: a layout restore keeps it, a test
 * needs no canvas.
 *
 *   0 s ──────────────[ from ········· to ]──────────── now
 *                      x = 0            x = width
 */
export type Viewport = { readonly from: number; readonly to: number };

/** The run's extent: what "fit" shows and what panning stops at. */
export type Extent = { readonly from: number; readonly to: number };

/** Below 2 µs over the whole width a box is no more than the clock's noise. */
const SHORTEST_VIEW = 2e-6;
/** Of the 53 bits of a number: a view may lie a few times as far out as the run. */
const STEP_BITS = 50;
/** Room right of the newest task, so that its edge does not touch the border. */
const FIT_MARGIN = 0.035;

export function fit(extent: Extent): Viewport {
  const width = Math.max(extent.to - extent.from, 1e-3);
  return {
    from: extent.from - width * FIT_MARGIN * 0.15,
    to: extent.to + width * FIT_MARGIN
  };
}

/** A jump to `range` with room on both sides. */
export function around(range: Extent, room = 0.25): Viewport {
  const width = Math.max(range.to - range.from, SHORTEST_VIEW);
  return { from: range.from - width * room, to: range.to + width * room };
}

/**
 * The same view to within a part of a pixel, with borders and width that are whole multiples of one step: these add up exactly, so that a view
 * keeps its width while it moves, and the lanes the scale of their bitmaps. Of borders as they come `(from + width) - from` may be another
 * number than `width` after each move, and each frame would rasterise all tiles again.
 */
function steady(from: number, width: number, extent: Extent): Viewport {
  const farthest = Math.max(
    Math.abs(extent.from),
    Math.abs(extent.to),
    width,
    SHORTEST_VIEW
  );
  const step = 2 ** (Math.ceil(Math.log2(farthest)) - STEP_BITS);
  const begin = Math.round(from / step) * step;
  return { from: begin, to: begin + Math.round(width / step) * step };
}

/**
 * The following view: the newest `to - from` seconds up to `end`, or all while the run is shorter. The room right of it is a share of the
 * view, as in `fit`: a share of the run would be wider than the view of who has zoomed in, which then has nothing in it.
 *
 * @param end - of what is shown of the run; the width is the user's, also where that is shorter.
 */
export function followed(
  view: Viewport,
  extent: Extent,
  end = extent.to
): Viewport {
  const width = view.to - view.from;
  const whole = fit(extent);
  const wholeWidth = whole.to - whole.from;
  if (wholeWidth <= width) {
    return whole;
  }
  const room = ((whole.to - extent.to) / wholeWidth) * width;
  // Nothing is before the run.
  const from = Math.max(whole.from, end + room - width);
  return steady(from, width, extent);
}

export function panned(
  view: Viewport,
  seconds: number,
  extent: Extent
): Viewport {
  return clamped({ from: view.from + seconds, to: view.to + seconds }, extent);
}

/** Zoom by `factor` (> 1: closer) so that `at` stays where it is on the screen. */
export function zoomedAt(
  view: Viewport,
  at: number,
  factor: number,
  extent: Extent
): Viewport {
  const whole = fit(extent);
  const widest = (whole.to - whole.from) * 1.5;
  const width = view.to - view.from;
  const next = Math.min(widest, Math.max(SHORTEST_VIEW, width / factor));
  const share = (at - view.from) / width;
  const from = at - share * next;
  return clamped({ from, to: from + next }, extent);
}

/** At least a tenth of the view shows some of the run. */
export function clamped(view: Viewport, extent: Extent): Viewport {
  const width = view.to - view.from;
  const keep = Math.min(width * 0.1, Math.max(extent.to - extent.from, 1e-9));
  const from = Math.min(
    Math.max(view.from, extent.from - width + keep),
    extent.to - keep
  );
  return steady(from, width, extent);
}

export function xOf(view: Viewport, width: number, seconds: number): number {
  return ((seconds - view.from) / (view.to - view.from)) * width;
}

export function secondsAt(view: Viewport, width: number, x: number): number {
  return view.from + (x / width) * (view.to - view.from);
}
