import { MINUS, SPACE, threeFigures, UNKNOWN } from './numerals';

/** 456, 12,640, from a million 1.25 M, from a billion 1.25 G. */
export function formatCount(count: number | null): string {
  if (count === null || !Number.isFinite(count)) {
    return UNKNOWN;
  }
  if (Math.abs(count) < 999_999.5) {
    return formatExactCount(count);
  }
  const [divisor, unit] = Math.abs(count) < 999.5e6 ? [1e6, 'M'] : [1e9, 'G'];
  return threeFigures(count / divisor) + SPACE + unit;
}

/** A figure of a unit of the user's, which may be no whole number: 12,640, 0.25, 0.00123, from a thousand on as a count. */
export function formatAmount(amount: number | null): string {
  if (amount === null || Number.isInteger(amount)) {
    return formatCount(amount);
  }
  const size = Math.abs(amount);
  return !(size < 999.5)
    ? formatCount(amount)
    : size < 0.0995
      ? (amount < 0 ? MINUS : '') + size.toPrecision(3)
      : threeFigures(amount);
}

/** Every digit, grouped: 1,250,000. */
export function formatExactCount(count: number): string {
  const digits = String(Math.abs(Math.round(count)));
  const grouped = digits.replace(/\B(?=(\d{3})+$)/g, ',');
  return (count < 0 && digits !== '0' ? MINUS : '') + grouped;
}
