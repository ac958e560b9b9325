/** Bars as lengths: parts one after another, as shares of the whole; colours stay roles. */
import type { Part } from './rows';

type BarPart = {
  readonly part: Part;
  /** Percent of the bar's full length. */
  readonly width: number;
};

/** Half a pixel of a bar of 1,000. */
const LEAST_PERCENT = 0.05;

/**
 * The parts of a stacked bar. `whole` is what the full length stands for. A
 * part is never drawn longer than it is: what is too thin to be seen is in the
 * list below the bar, not made thicker here, or the bar would not add up.
 */
export function stackedBar(parts: readonly Part[], whole: number): BarPart[] {
  if (!(whole > 0)) {
    return [];
  }
  let left = 100;
  return parts.map(part => {
    const width = Math.min(left, (part.value / whole) * 100);
    left -= width;
    return { part, width };
  });
}

/** The parts that can be seen: those that the bar draws and the legend names. */
export function seenOf(bar: readonly BarPart[]): BarPart[] {
  return bar.filter(({ width }) => width >= LEAST_PERCENT);
}

/** Each part that is seen in one of the bars, once by its look, in the order of `all`; and nothing else. */
export function legendOf(
  all: readonly Part[],
  bars: readonly (readonly BarPart[])[]
): Part[] {
  const lookOf = ({ id, looksLike = id }: Part): string => looksLike;
  const drawn = new Map(
    bars.flatMap(bar =>
      seenOf(bar).map(({ part }) => [lookOf(part), part] as const)
    )
  );
  const place = new Map(
    all.map((part, index) => [lookOf(part), index] as const).reverse()
  );
  const placeOf = (part: Part): number => place.get(lookOf(part)) ?? all.length;
  return [...drawn.values()].sort((a, b) => placeOf(a) - placeOf(b));
}

/** The largest of some values, at least a hair above 0, so that bars can be divided by it. */
export function longest(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), 1e-12);
}
