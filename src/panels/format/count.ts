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

/** Every digit, grouped: 1,250,000. */
export function formatExactCount(count: number): string {
  const digits = String(Math.abs(Math.round(count)));
  const grouped = digits.replace(/\B(?=(\d{3})+$)/g, ',');
  return (count < 0 && digits !== '0' ? MINUS : '') + grouped;
}
