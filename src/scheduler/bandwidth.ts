/** Smaller transfers say how long it takes to ask, not how fast bytes come. */
const LEAST_BYTES = 100e3;
/** What was measured counts half as much once so many seconds more of transfers have been measured. */
const HALF_LIFE_SECONDS = 2;
/** What was assumed before the first counts as much as so many seconds of transfers. */
const ASSUMED_SECONDS = 0.1;

/**
 * Bytes per second between two workers, as transfers really had it. One figure for all pairs: workers are mostly processes of one machine, where
 * no pair is nearer than another, and a figure per pair would be a guess for most pairs for most of the time.
 */
export class MeasuredBandwidth {
  private _bytes: number;
  private _seconds = ASSUMED_SECONDS;

  constructor(
    assumed: number,
    private readonly _latency: number
  ) {
    this._bytes = assumed * ASSUMED_SECONDS;
  }

  get bytesPerSecond(): number {
    return this._bytes / this._seconds;
  }

  add(bytes: number, seconds: number): void {
    const moving = seconds - this._latency;
    if (
      !Number.isFinite(bytes + moving) ||
      bytes < LEAST_BYTES ||
      moving <= 0
    ) {
      return;
    }
    const kept = 0.5 ** (moving / HALF_LIFE_SECONDS);
    this._bytes = this._bytes * kept + bytes;
    this._seconds = this._seconds * kept + moving;
  }
}
