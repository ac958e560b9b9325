import type { Range } from './context';

/**
 * The first, the last, the highest and the mean figure of a line within a range, of all samples. As it is drawn, a sample holds until the next one, and not for long;
 * time in which nothing is known does not count.
 */
export class HeldFigures {
  private _last = { t: NaN, bytes: NaN };
  private _area = 0;
  private _seconds = 0;
  private _first: number | null = null;
  /** NaN: what was told last is that it is not known. */
  private _newest = NaN;
  private _peak: number | null = null;
  private _peakAt: number | null = null;

  /** @param holdSeconds - as of {@link LineThinner}. */
  constructor(
    private readonly _range: Range,
    private readonly _holdSeconds = Infinity
  ) {}

  /** Adds a sample; samples come in order of time. NaN: not known. */
  add(t: number, bytes: number): void {
    this._count(t);
    this._last = { t, bytes };
    if (t <= this._range.to) {
      this._newest = bytes;
    }
  }

  figures(): {
    readonly first: number | null;
    readonly last: number | null;
    readonly peak: number | null;
    readonly peakAt: number | null;
    readonly mean: number | null;
  } {
    this._count(this._last.t);
    const isKnown = this._first !== null && !Number.isNaN(this._newest);
    return {
      first: this._first,
      last: isKnown ? this._newest : null,
      peak: this._peak,
      peakAt: this._peakAt,
      mean: this._seconds > 0 ? this._area / this._seconds : this._peak
    };
  }

  /** @param next - when the newest sample is followed by another. */
  private _count(next: number): void {
    const { t, bytes } = this._last;
    const { from: begin, to: end } = this._range;
    const from = Math.max(t, begin);
    const to = Math.min(next, t + this._holdSeconds, end);
    const isWithin = t >= begin && t <= end;
    if (Number.isNaN(bytes) || !(isWithin || to > from)) {
      return;
    }
    this._first ??= bytes;
    this._area += bytes * (to - from);
    this._seconds += to - from;
    if (this._peak === null || bytes > this._peak) {
      this._peak = bytes;
      this._peakAt = from;
    }
  }
}
