import { fixed, SPACE, threeFigures, UNKNOWN } from './numerals';

/**
 * A share (0 … 1) in percent: "0 %" only for none, "< 0.1 %", "4.1 %" below
 * ten, "23 %" above, "100 %" only for all (else "> 99 %"). Not known is "–".
 */
export function formatShare(share: number | null): string {
  if (share === null || !Number.isFinite(share)) {
    return UNKNOWN;
  }
  const percent = share * 100;
  const size = Math.abs(percent);
  if (size === 0) {
    return `0${SPACE}%`;
  }
  if (size < 0.05) {
    return `<${SPACE}${fixed(0.1, 1)}${SPACE}%`;
  }
  if (size < 9.95) {
    return fixed(percent, 1) + SPACE + '%';
  }
  if (size < 100 && size >= 99.5) {
    return `>${SPACE}99${SPACE}%`;
  }
  return fixed(percent, 0) + SPACE + '%';
}

/** Per cent of one core, in three figures: 0 %, 3.51 %, 98.7 %, 212 %. */
export function formatPercent(percent: number | null): string {
  if (percent === null || !Number.isFinite(percent)) {
    return UNKNOWN;
  }
  return percent === 0
    ? `0${SPACE}%`
    : percent < 0.005
      ? `<${SPACE}${fixed(0.01, 2)}${SPACE}%`
      : threeFigures(percent) + SPACE + '%';
}

/** `part / whole`, not known when there is no whole. */
export function shareOf(part: number | null, whole: number): number | null {
  return part === null || !(whole > 0) ? null : part / whole;
}
