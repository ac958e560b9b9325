/**
 * How many seconds of each of n equal bins are covered by intervals, counted with multiplicity, at a constant cost per interval.
 *
 *     bins      │   0   │   1   │   2   │   3   │
 *     add           ├───────────────────┤            0: half, 1 and 2: whole, 3: a quarter
 *
 * The ends go to their bins at once; the whole bins between are two entries in a list of differences, added up when read.
 */
export class Coverage {
  private readonly _seconds: Float64Array;
  private readonly _whole: Float64Array;
  readonly width: number;

  constructor(
    readonly bins: number,
    readonly from: number,
    readonly to: number
  ) {
    this._seconds = new Float64Array(bins);
    this._whole = new Float64Array(bins + 1);
    this.width = (to - from) / bins;
  }

  /** Covers [from, to), cut to the range; `weight` times. */
  add(from: number, to: number, weight = 1): void {
    const begin = Math.max(from, this.from);
    const end = Math.min(to, this.to);
    if (!(end > begin)) {
      return;
    }
    const first = this._bin(begin);
    const last = this._bin(end);
    if (first === last) {
      this._seconds[first]! += (end - begin) * weight;
      return;
    }
    this._seconds[first]! +=
      (this.from + (first + 1) * this.width - begin) * weight;
    this._seconds[last]! += (end - (this.from + last * this.width)) * weight;
    this._whole[first + 1]! += weight;
    this._whole[last]! -= weight;
  }

  /** Seconds per bin. */
  read(): Float64Array {
    const seconds = this._seconds.slice();
    let whole = 0;
    for (let bin = 0; bin < this.bins; bin++) {
      whole += this._whole[bin]!;
      seconds[bin]! += whole * this.width;
    }
    return seconds;
  }

  private _bin(t: number): number {
    // The range's own end belongs to the last bin, as does what rounds to it.
    return Math.min(Math.floor((t - this.from) / this.width), this.bins - 1);
  }
}
