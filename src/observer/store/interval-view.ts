import {
  type Borders,
  endingAfter,
  Intervals,
  lengthWithin
} from './intervals';

/** Some intervals as they were at one moment: the older ones are those of a union, which leaves them alone, the newest its own. */
export class IntervalView extends Intervals {
  /**
   * @param _older - those of the union.
   * @param _shared - so many of them count.
   * @param _newer - those that follow.
   */
  constructor(
    private readonly _older: Borders,
    private readonly _shared: number,
    private readonly _newer: Borders
  ) {
    super();
  }

  override get length(): number {
    return this._shared + this._newer.from.length;
  }

  override from(index: number): number {
    return index < this._shared
      ? this._older.from[index]!
      : (this._newer.from[index - this._shared] ?? Infinity);
  }

  override to(index: number): number {
    return index < this._shared
      ? this._older.to[index]!
      : (this._newer.to[index - this._shared] ?? Infinity);
  }

  override firstEndingAfter(t: number): number {
    const among = endingAfter(t, this._older, this._shared);
    return among < this._shared ? among : among + endingAfter(t, this._newer);
  }

  override measure(from: number, to: number): number {
    return (
      lengthWithin(from, to, this._older, this._shared) +
      lengthWithin(from, to, this._newer)
    );
  }

  /** With [from, to) too, and without what begins after that. */
  endingWith(from: number, to: number): IntervalView {
    if (!(to > from)) {
      return this;
    }
    const first = this.firstReaching(from);
    const after = this.firstEndingAfter(to);
    const begin = Math.min(from, this.from(first));
    const end = this.from(after) <= to ? this.to(after) : to;
    const shared = Math.min(first, this._shared);
    const own = first - shared;
    return new IntervalView(this._older, shared, {
      from: [...this._newer.from.slice(0, own), begin],
      to: [...this._newer.to.slice(0, own), end]
    });
  }
}
