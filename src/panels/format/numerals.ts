/** The signs that every format shares, and how many figures it shows. */

/** No-break space, between a figure and its unit. */
export const SPACE = '\u00a0';
export const MINUS = '\u2212';
export const EN_DASH = '\u2013';
/** What stands where a figure is not known; never 0. */
export const UNKNOWN = EN_DASH;

/** `value` with exactly `decimals` places, without grouping: 7.5, 2 → 7.50 */
export function fixed(value: number, decimals: number): string {
  const text = Math.abs(value).toFixed(decimals);
  const sign = value < 0 && Number(text) !== 0 ? MINUS : '';
  return sign + text;
}

/** Places after the mark that show three figures: 1.23 → 2, 12.3 → 1, 123 → 0. */
export function placesForThreeFigures(value: number): number {
  const size = Math.abs(value);
  // Round first: 9.996 is written 10.0, so it takes one place, not two.
  return size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
}

/** Three figures: 1.23, 12.3, 123; below 1 still two places (0.98). */
export function threeFigures(value: number): string {
  return fixed(value, placesForThreeFigures(value));
}
