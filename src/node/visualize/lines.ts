/** Lines of a picture: steps from entries and exits, and as few points as the pixels can show. */
import type { CachePlot } from './plots';

/** Points by rising x. */
export type Line = { readonly x: number[]; readonly y: number[] };

/**
 * How much of each label was held, as steps: a value holds until the next point.
 *
 * ```
 *   a  enters 1, leaves 4     x  0 1 2 4 5
 *   a  enters 2, leaves 5     y  0 1 2 1 0
 * ```
 *
 * @param lineOf - the line that a label belongs to, below `lines`
 * @returns one line each, beginning with (0, 0)
 */
export function stepLines(
  plot: CachePlot,
  lineOf: (label: number) => number,
  lines: number
): Line[] {
  const changes: { time: number; change: number }[][] = Array.from(
    { length: lines },
    () => []
  );
  plot.label.forEach((label, index) => {
    const change = plot.metric[index]!;
    changes[lineOf(label)]!.push(
      { time: plot.entered[index]!, change },
      { time: plot.left[index]!, change: -change }
    );
  });
  return changes.map(cumulated);
}

function cumulated(changes: { time: number; change: number }[]): Line {
  changes.sort((a, b) => a.time - b.time);
  const x = [0];
  const y = [0];
  // Metrics may be fractions, whose sum need not come back to 0: it is set to 0 when all have left.
  let held = 0;
  changes.forEach(({ time, change }, index) => {
    held = index === changes.length - 1 ? 0 : held + change;
    if (x.at(-1) === time) {
      y[y.length - 1] = held;
    } else {
      x.push(time);
      y.push(held);
    }
  });
  return { x, y };
}

/**
 * The part of a line from `from` to `to` with at most four points per pixel: the first, the lowest, the highest and the last, so that no
 * peak is lost. The points before and after stay, so that the line reaches the borders.
 */
export function thinned(
  { x, y }: Line,
  from: number,
  to: number,
  pixels: number
): Line {
  let first = 0;
  while (first + 1 < x.length && x[first + 1]! <= from) {
    first++;
  }
  let last = first;
  while (last < x.length - 1 && x[last]! < to) {
    last++;
  }
  if (last - first < 4 * pixels) {
    return { x: x.slice(first, last + 1), y: y.slice(first, last + 1) };
  }
  const kept: number[] = [];
  const pixelOf = (index: number) =>
    Math.floor(((x[index]! - from) / (to - from)) * pixels);
  for (let begin = first; begin <= last;) {
    const pixel = pixelOf(begin);
    let low = begin;
    let high = begin;
    let end = begin;
    while (end <= last && pixelOf(end) === pixel) {
      low = y[end]! < y[low]! ? end : low;
      high = y[end]! > y[high]! ? end : high;
      end++;
    }
    const corners = new Set([begin, low, high, end - 1]);
    kept.push(...[...corners].sort((a, b) => a - b));
    begin = end;
  }
  return { x: kept.map(index => x[index]!), y: kept.map(index => y[index]!) };
}
