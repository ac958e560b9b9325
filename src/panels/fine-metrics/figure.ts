/** Bars as lengths: parts one after another, as shares of the whole; colours stay roles. */
import type { Part } from './rows';

type BarPart = {
  readonly part: Part;
  /** Percent of the bar's full length. */
  readonly width: number;
};

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
    const width = Math.min(left, Math.max(0, (part.value / whole) * 100));
    left -= width;
    return { part, width };
  });
}

/** The largest of some values, at least a hair above 0, so that bars can be divided by it. */
export function longest(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), 1e-12);
}
