/**
 * CLOCK_MONOTONIC in seconds, the clock of all links: Python's `time.monotonic()` and `perf_counter()` read the same one on Linux.
 *
 * `performance.now()` counts from the start of this process on that clock and costs a tenth of `process.hrtime()`; the difference is
 * measured once.
 */
export function monotonicClock(): () => number {
  const [seconds, nanoseconds] = process.hrtime();
  const offset = seconds + nanoseconds * 1e-9 - performance.now() * 1e-3;
  return () => offset + performance.now() * 1e-3;
}
