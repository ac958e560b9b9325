import { formatCount } from './count';
import { MINUS, SPACE } from './numerals';

/**
 * A difference is always signed: "−11.2 s", "+2.00 GiB", "0 s". `format`
 * writes the size.
 */
export function formatDifference(
  difference: number,
  format: (size: number) => string
): string {
  const size = format(Math.abs(difference));
  return difference === 0 ? size : (difference < 0 ? MINUS : '+') + size;
}

/** Relative change in whole percent: "−27 %", "+11,682 %"; "" without a base. */
export function formatChange(difference: number, base: number): string {
  if (!(base > 0)) {
    return '';
  }
  // Away from zero on both sides: −62.5 is −63 as 62.5 is 63.
  const percent =
    Math.sign(difference) * Math.round((Math.abs(difference) / base) * 100);
  const sign = percent < 0 ? MINUS : percent > 0 ? '+' : '';
  return `${sign}${formatCount(Math.abs(percent))}${SPACE}%`;
}
