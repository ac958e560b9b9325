import type { LineBins } from '../../wire/panel-link';
import type { Range } from './context';

export type DrawnLine = {
  readonly t: readonly number[];
  readonly bytes: readonly (number | null)[];
  readonly bins?: LineBins;
};

type Bin = {
  samples: number;
  sum: number;
  low: number;
  lowAt: number;
  high: number;
  highAt: number;
};

/**
 * A line for drawing: every sample while there is room, else of equal stretches of time the lowest and the highest, in their order:
 *
 *     samples   ·  .:·.    :            drawn     ·  .:
 *     bins     |--------|-----|                  |----|--|     mean: of all samples of the bin
 *
 * Nothing else may be computed from it: what is drawn of ten thousand samples is 1,200 of their extremes.
 */
export class LineThinner {
  private readonly _t: number[] = [];
  private readonly _bytes: number[] = [];
  private _samples = 0;
  private _before: number | null = null;
  private readonly _bins: (Bin | undefined)[];

  /** @param points - how many are drawn at most. */
  constructor(
    private readonly _range: Range,
    private readonly _points: number
  ) {
    this._bins = new Array<Bin | undefined>(
      Math.max(1, Math.floor(_points / 2))
    ).fill(undefined);
  }

  /** Adds a sample; samples come in order of time. The newest one before the range holds at the range's begin. NaN: not known. */
  add(t: number, bytes: number): void {
    const { from, to } = this._range;
    if (t > to) {
      return;
    }
    if (t < from) {
      this._before = bytes;
      return;
    }
    if (this._before !== null) {
      const before = this._before;
      this._before = null;
      if (t > from) {
        this.add(from, before);
      }
    }
    this._samples += 1;
    if (this._samples <= this._points) {
      this._t.push(t);
      this._bytes.push(bytes);
    }
    if (Number.isNaN(bytes)) {
      return;
    }
    const count = this._bins.length;
    const share = (t - from) / (to - from);
    const index = Math.min(count - 1, Math.floor((share || 0) * count));
    const bin = (this._bins[index] ??= {
      samples: 0,
      sum: 0,
      low: Infinity,
      lowAt: t,
      high: -Infinity,
      highAt: t
    });
    bin.samples += 1;
    bin.sum += bytes;
    if (bytes < bin.low) {
      bin.low = bytes;
      bin.lowAt = t;
    }
    if (bytes > bin.high) {
      bin.high = bytes;
      bin.highAt = t;
    }
  }

  drawn(): DrawnLine {
    if (this._before !== null) {
      // No sample lies within the range: the value from before it holds throughout.
      this.add(this._range.from, this._before);
    }
    if (this._samples <= this._points) {
      return {
        t: this._t,
        bytes: this._bytes.map(bytes => (Number.isNaN(bytes) ? null : bytes))
      };
    }
    const t: number[] = [];
    const bytes: number[] = [];
    const { from, to } = this._range;
    const width = (to - from) / this._bins.length;
    const bins = {
      seconds: width,
      from: [] as number[],
      low: [] as number[],
      high: [] as number[],
      mean: [] as number[]
    };
    for (const [index, bin] of this._bins.entries()) {
      if (bin === undefined) {
        continue;
      }
      const { low, lowAt, high, highAt } = bin;
      if (lowAt <= highAt) {
        t.push(lowAt);
        bytes.push(low);
      }
      if (lowAt !== highAt) {
        t.push(highAt);
        bytes.push(high);
      }
      if (lowAt > highAt) {
        t.push(lowAt);
        bytes.push(low);
      }
      bins.from.push(from + index * width);
      bins.low.push(low);
      bins.high.push(high);
      bins.mean.push(bin.sum / bin.samples);
    }
    return { t, bytes, bins };
  }
}
