import type { Seconds } from '../../base/brand';
import { MINUS, SPACE, threeFigures, UNKNOWN } from './numerals';

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86400;

const twoDigits = (value: number) => String(value).padStart(2, '0');

/**
 * A duration in three figures: 850 µs, 12.4 ms, 29.6 s, 119 s, 2 min 00 s,
 * 2 h 05 min, 3 d 04 h. Rounded before the unit is chosen, so 999.6 ms is
 * "1.00 s" and 119.7 s is "2 min 00 s". `null` (not known) is "–".
 */
export function formatDuration(seconds: Seconds | null): string {
  if (seconds === null || !Number.isFinite(seconds)) {
    return UNKNOWN;
  }
  if (seconds < 0) {
    return MINUS + formatDuration(-seconds);
  }
  if (seconds === 0) {
    return `0${SPACE}s`;
  }
  if (seconds < 1e-6) {
    return `<${SPACE}1${SPACE}µs`;
  }
  if (seconds < 0.9995e-3) {
    return threeFigures(seconds * 1e6) + SPACE + 'µs';
  }
  if (seconds < 0.9995) {
    return threeFigures(seconds * 1e3) + SPACE + 'ms';
  }
  if (seconds < 119.5) {
    return threeFigures(seconds) + SPACE + 's';
  }
  const wholeSeconds = Math.round(seconds);
  if (wholeSeconds < 2 * HOUR) {
    const minutes = Math.floor(wholeSeconds / MINUTE);
    return `${minutes}${SPACE}min${SPACE}${twoDigits(wholeSeconds % MINUTE)}${SPACE}s`;
  }
  const wholeMinutes = Math.round(seconds / MINUTE);
  if (wholeMinutes * MINUTE < 2 * DAY) {
    return `${Math.floor(wholeMinutes / 60)}${SPACE}h${SPACE}${twoDigits(wholeMinutes % 60)}${SPACE}min`;
  }
  const wholeHours = Math.round(seconds / HOUR);
  return `${Math.floor(wholeHours / 24)}${SPACE}d${SPACE}${twoDigits(wholeHours % 24)}${SPACE}h`;
}
