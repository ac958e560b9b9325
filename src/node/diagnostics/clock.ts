/** Unix time of this thread's clock reading 0; read once, so that a corrected wall clock cannot turn our clock back. */
const ORIGIN_MS = performance.timeOrigin;

/** Seconds since the epoch on a clock that never goes back. */
export function epochSeconds(): number {
  return epochSecondsAt(performance.now());
}

/** The same, for a reading of this thread's `performance.now()`. */
export function epochSecondsAt(ms: number): number {
  return (ORIGIN_MS + ms) / 1000;
}
