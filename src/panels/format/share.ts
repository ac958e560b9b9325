import { fixed, space, unknown } from './numerals';

/**
 * A share (0 … 1) in percent: "0 %" only for none, "< 0.1 %", "4.1 %" below
 * ten, "23 %" above, "100 %" only for all (else "> 99 %"). Not known is "–".
 */
export function formatShare(share: number | null): string {
  if (share === null || !Number.isFinite(share)) {
    return unknown;
  }
  const percent = share * 100;
  const size = Math.abs(percent);
  if (size === 0) {
    return `0${space}%`;
  }
  if (size < 0.05) {
    return `<${space}${fixed(0.1, 1)}${space}%`;
  }
  if (size < 9.95) {
    return fixed(percent, 1) + space + '%';
  }
  if (size < 100 && size >= 99.5) {
    return `>${space}99${space}%`;
  }
  return fixed(percent, 0) + space + '%';
}

/** `part / whole`, not known when there is no whole. */
export function shareOf(part: number | null, whole: number): number | null {
  return part === null || !(whole > 0) ? null : part / whole;
}
