const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * A duration as Dask's progress bar writes it: two decimals below ten minutes, then the two largest units, truncated.
 *
 * ```
 *   0.0001409  140.90 us      601     10m 1s
 *   0.6        600.00 ms      7201    2hr 0m
 *   59.999     60.00 s        172801  2d 0hr
 * ```
 */
export function formatDuration(seconds: number): string {
  if (seconds > 2 * DAY) {
    return `${Math.floor(seconds / DAY)}d ${Math.floor((seconds % DAY) / HOUR)}hr`;
  }
  if (seconds > 2 * HOUR) {
    return `${Math.floor(seconds / HOUR)}hr ${Math.floor((seconds % HOUR) / MINUTE)}m`;
  }
  if (seconds > 10 * MINUTE) {
    return `${Math.floor(seconds / MINUTE)}m ${Math.floor(seconds % MINUTE)}s`;
  }
  if (seconds >= 1) {
    return `${seconds.toFixed(2)} s`;
  }
  if (seconds >= 1e-3) {
    return `${(seconds * 1e3).toFixed(2)} ms`;
  }
  return `${(seconds * 1e6).toFixed(2)} us`;
}
