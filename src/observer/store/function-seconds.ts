import type { Seconds } from '../../base/brand';
import type { FunctionSlots } from '../function-slots';

/** A power of two. */
const RECENT = 256;
const NO_FUNCTION = -1;

/** How much longer functions ran, until their block is in: then some may get another colour. */
export class FunctionSeconds {
  /** By name id. */
  private readonly _more = new Map<number, number>();
  // Of functions that were added lately, by their last bits: a sum in `_more` is an object, and a new one for each of a million runs.
  private readonly _recent = new Float64Array(RECENT).fill(NO_FUNCTION);
  private readonly _recentSums = new Float64Array(RECENT);

  constructor(private readonly _slots: FunctionSlots) {}

  add(fn: number, more: Seconds): void {
    const at = fn & (RECENT - 1);
    if (this._recent[at] !== fn) {
      this._putAway(at);
      this._recent[at] = fn;
    }
    this._recentSums[at]! += more;
  }

  private _putAway(at: number): void {
    const fn = this._recent[at]!;
    if (fn !== NO_FUNCTION) {
      this._more.set(fn, (this._more.get(fn) ?? 0) + this._recentSums[at]!);
      this._recent[at] = NO_FUNCTION;
      this._recentSums[at] = 0;
    }
  }

  /**
   * A block is in.
   *
   * @param nameOf - several ids may have one name.
   * @param whole - of all functions, since the log began.
   */
  settle(nameOf: (fn: number) => string, whole: Seconds): void {
    for (let at = 0; at < RECENT; at++) {
      this._putAway(at);
    }
    if (this._more.size === 0) {
      return;
    }
    const byName = new Map<string, number>();
    for (const [fn, more] of this._more) {
      const name = nameOf(fn);
      byName.set(name, (byName.get(name) ?? 0) + more);
    }
    this._more.clear();
    this._slots.weigh(byName, whole);
  }
}
