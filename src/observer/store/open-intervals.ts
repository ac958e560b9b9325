import { IntervalUnion } from './interval-union';

/** When something was so, of which each change is told; it may be so still. */
export class OpenIntervals {
  private readonly _closed: IntervalUnion;
  /** Infinity: it is not so. */
  private _since = Infinity;

  /** @param most - how many intervals there may be; two or more. */
  constructor(most: number) {
    this._closed = new IntervalUnion(most);
  }

  change(t: number, isSo: boolean): void {
    this._closed.add(this._since, t);
    this._since = isSo ? t : Infinity;
  }

  /** @param to - until then it goes on, if it does. */
  until(to: number): IntervalUnion {
    const all = this._closed.copy();
    all.add(this._since, to);
    return all;
  }
}
