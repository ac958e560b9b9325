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
  /** When it was last not known; NaN: never. */
  unknownAt: number;
};

/**
 * A line for drawing: every sample while there is room, else of equal stretches of time the lowest and the highest, in their order:
 *
 *     samples   ·  .:·.    :            drawn     ·  .:
 *     bins     |--------|-----|                  |----|--|     mean: of all samples of the bin
 *
 * A sample holds until the next one, but not for long: where none comes nothing is known, and the line has a gap.
 *
 *     samples   ·   ·   ·               ·   ·
 *     drawn     ────────────|           ────|          | its hold is over: null
 *
 * Nothing else may be computed from it: what is drawn of ten thousand samples is 1,200 of their extremes.
 */
export class LineThinner {
  private readonly _t: number[] = [];
  private readonly _bytes: number[] = [];
  private _samples = 0;
  private _before: number | null = null;
  /** The newest, within the range or before it. */
  private _last = { t: NaN, bytes: NaN };
  private readonly _bins: (Bin | undefined)[];

  /**
   * @param points - how many are drawn at most; a stretch in which the line is not known has one more where it begins.
   * @param holdSeconds - how long a sample holds at most.
   */
  constructor(
    private readonly _range: Range,
    private readonly _points: number,
    private readonly _holdSeconds = Infinity
  ) {
    this._bins = new Array<Bin | undefined>(
      Math.max(1, Math.floor(_points / 2))
    ).fill(undefined);
  }

  /**
   * Adds a sample; samples come in order of time. The newest one before the range holds at the range's begin, the newest one in it at its
   * end if there is one after it. NaN: not known.
   */
  add(t: number, bytes: number): void {
    const { t: before, bytes: held } = this._last;
    this._last = { t, bytes };
    const { to } = this._range;
    const until = Math.min(before + this._holdSeconds, t);
    if (!Number.isNaN(held) && before < to) {
      if (until > to) {
        this._take(to, held);
      } else if (until < t) {
        this._take(until, NaN);
      }
    }
    this._take(t, bytes);
  }

  private _take(t: number, bytes: number): void {
    const { from, to } = this._range;
    if (t > to) {
      return;
    }
    if (t < from) {
      this._before = bytes;
      return;
    }
    this._begin(t);
    this._samples += 1;
    if (this._samples <= this._points) {
      this._t.push(t);
      this._bytes.push(bytes);
    }
    const bin = this._binOf(t);
    if (Number.isNaN(bytes)) {
      bin.unknownAt = t;
      return;
    }
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

  /** @param t - of the first sample in the range. */
  private _begin(t: number): void {
    const before = this._before;
    this._before = null;
    if (before !== null && t > this._range.from) {
      this._take(this._range.from, before);
    }
  }

  private _binOf(t: number): Bin {
    const { from, to } = this._range;
    const count = this._bins.length;
    const share = (t - from) / (to - from);
    const index = Math.min(count - 1, Math.floor((share || 0) * count));
    return (this._bins[index] ??= {
      samples: 0,
      sum: 0,
      low: Infinity,
      lowAt: t,
      high: -Infinity,
      highAt: t,
      unknownAt: NaN
    });
  }

  drawn(): DrawnLine {
    if (this._last.t + this._holdSeconds >= this._range.from) {
      // No sample lies within the range: the value from before it holds.
      this._begin(Infinity);
    }
    if (this._samples <= this._points) {
      return {
        t: this._t,
        bytes: this._bytes.map(bytes => (Number.isNaN(bytes) ? null : bytes))
      };
    }
    const points: [t: number, bytes: number | null][] = [];
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
      points.push(...pointsOf(bin));
      if (bin.samples > 0) {
        bins.from.push(from + index * width);
        bins.low.push(bin.low);
        bins.high.push(bin.high);
        bins.mean.push(bin.sum / bin.samples);
      }
    }
    return {
      t: points.map(([t]) => t),
      bytes: points.map(([, bytes]) => bytes),
      bins
    };
  }
}

function pointsOf(bin: Bin): [t: number, bytes: number | null][] {
  const { low, lowAt, high, highAt, unknownAt } = bin;
  const points: [number, number | null][] = [];
  if (bin.samples > 0) {
    points.push([lowAt, low]);
    if (highAt !== lowAt) {
      points.push([highAt, high]);
    }
  }
  if (!Number.isNaN(unknownAt)) {
    points.push([unknownAt, null]);
  }
  return points.sort(([one], [other]) => one - other);
}
