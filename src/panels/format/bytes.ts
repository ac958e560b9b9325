import type { Bytes } from '../../base/brand';
import { MINUS, SPACE, threeFigures, UNKNOWN } from './numerals';

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];

/**
 * Bytes in binary units and three figures, the next unit from 1,000 on:
 * 999 B, 0.98 KiB, 53.6 MiB, 7.01 GiB. `null` (not known) is "–".
 */
export function formatBytes(bytes: Bytes | null): string {
  if (bytes === null || !Number.isFinite(bytes)) {
    return UNKNOWN;
  }
  if (bytes < 0) {
    return MINUS + formatBytes(-bytes);
  }
  const { unit, divisor } = byteUnit(bytes);
  if (unit === 'B') {
    return `${Math.round(bytes)}${SPACE}B`;
  }
  return threeFigures(bytes / divisor) + SPACE + unit;
}

/** "7.01" and "16.0 GiB", for a sentence that has both: the part in the unit of the whole, which stands once. */
export function formatPart(
  bytes: Bytes,
  whole: Bytes
): readonly [part: string, whole: string] {
  const { unit, divisor } = byteUnit(whole);
  return [
    threeFigures(bytes / divisor),
    `${threeFigures(whole / divisor)}${SPACE}${unit}`
  ];
}

/** Memory integrated over time: 128 GiB·s. */
export function formatByteSeconds(byteSeconds: number | null): string {
  const text = formatBytes(byteSeconds);
  return text === UNKNOWN ? text : `${text}·s`;
}

/** The unit that `bytes` is written in, after rounding to three figures. */
function byteUnit(bytes: number): { unit: string; divisor: number } {
  let divisor = 1;
  let index = 0;
  while (index < BYTE_UNITS.length - 1 && Math.abs(bytes) / divisor >= 999.5) {
    divisor *= 1024;
    index += 1;
  }
  return { unit: BYTE_UNITS[index] ?? 'B', divisor };
}
