const LOOKS = 5;

/**
 * CLOCK_MONOTONIC in seconds, the clock of all links: Python's `time.monotonic()` and `perf_counter()` read the same one on Linux.
 *
 * `performance.now()` counts from the start of this process on that clock and costs a tenth of `process.hrtime()`; the difference is
 * measured once, several times over: whoever has to give up the core between two readings finds the difference too small, for good.
 */
export function monotonicClock(): () => number {
  let offset = -Infinity;
  for (let look = 0; look < LOOKS; look++) {
    const [seconds, nanoseconds] = process.hrtime();
    const difference = seconds + nanoseconds * 1e-9 - performance.now() * 1e-3;
    offset = Math.max(offset, difference);
  }
  return () => offset + performance.now() * 1e-3;
}
