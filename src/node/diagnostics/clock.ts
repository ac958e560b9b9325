/** Unix time of this thread's clock reading 0; read once, so that a corrected wall clock cannot turn our clock back. */
const originMs = performance.timeOrigin;

/** Seconds since the epoch on a clock that never goes back. */
export function epochSeconds(): number {
  return (originMs + performance.now()) / 1000;
}
