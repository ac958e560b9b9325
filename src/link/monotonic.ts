const LOOKS = 16;

// Measured once per thread, like the clocks: two clocks of one thread must not differ by the time that a measurement takes.
let known: number | undefined;

/**
 * CLOCK_MONOTONIC in seconds, the clock of all links: Python's `time.monotonic()` and `perf_counter()` read the same one on Linux.
 *
 * `performance.now()` counts from the start of this process on that clock and costs a tenth of `process.hrtime()`; the difference is
 * measured several times at the start: a process that loses the core between two readings would find it too small, for good.
 */
export function monotonicClock(): () => number {
  const offset = monotonicOffset();
  return () => offset + performance.now() * 1e-3;
}

/** What {@link monotonicClock} says when this thread's `performance.now()` is 0; each thread and process has its own. */
export function monotonicOffset(): number {
  return (known ??= measuredOffset());
}

function measuredOffset(): number {
  let offset = -Infinity;
  for (let look = 0; look < LOOKS; look++) {
    const [seconds, nanoseconds] = process.hrtime();
    const difference = seconds + nanoseconds * 1e-9 - performance.now() * 1e-3;
    offset = Math.max(offset, difference);
  }
  return offset;
}
