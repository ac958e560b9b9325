import { minus, space, threeFigures, unknown } from './numerals';

const minute = 60;
const hour = 3600;
const day = 86400;

const twoDigits = (value: number) => String(value).padStart(2, '0');

/**
 * A duration in three figures: 850 µs, 12.4 ms, 29.6 s, 119 s, 2 min 00 s,
 * 2 h 05 min, 3 d 04 h. Rounded before the unit is chosen, so 999.6 ms is
 * "1.00 s" and 119.7 s is "2 min 00 s". `null` (not known) is "–".
 */
export function formatDuration(seconds: number | null): string {
  if (seconds === null || !Number.isFinite(seconds)) {
    return unknown;
  }
  if (seconds < 0) {
    return minus + formatDuration(-seconds);
  }
  if (seconds === 0) {
    return `0${space}s`;
  }
  if (seconds < 1e-6) {
    return `<${space}1${space}µs`;
  }
  if (seconds < 0.9995e-3) {
    return threeFigures(seconds * 1e6) + space + 'µs';
  }
  if (seconds < 0.9995) {
    return threeFigures(seconds * 1e3) + space + 'ms';
  }
  if (seconds < 119.5) {
    return threeFigures(seconds) + space + 's';
  }
  const wholeSeconds = Math.round(seconds);
  if (wholeSeconds < 2 * hour) {
    const minutes = Math.floor(wholeSeconds / minute);
    return `${minutes}${space}min${space}${twoDigits(wholeSeconds % minute)}${space}s`;
  }
  const wholeMinutes = Math.round(seconds / minute);
  if (wholeMinutes * minute < 2 * day) {
    return `${Math.floor(wholeMinutes / 60)}${space}h${space}${twoDigits(wholeMinutes % 60)}${space}min`;
  }
  const wholeHours = Math.round(seconds / hour);
  return `${Math.floor(wholeHours / 24)}${space}d${space}${twoDigits(wholeHours % 24)}${space}h`;
}
