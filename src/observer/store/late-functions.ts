import type { Nanoseconds } from '../../base/brand';
import type { FunctionSlots } from '../function-slots';

/** The seconds of functions that came too late for a colour of the first dozens, until their block is in: then they may get one of the last. */
export class LateFunctions {
  /** By name id. */
  private readonly _more = new Map<number, number>();

  constructor(private readonly _slots: FunctionSlots) {}

  /** For each booking: there are none while the functions are few. */
  add(fn: number, ns: Nanoseconds): void {
    if (this._slots.hasLateOnes) {
      this.addAny(fn, ns);
    }
  }

  /** Also while nobody is late: of functions that have run without any run in the log. */
  addAny(fn: number, more: number): void {
    this._more.set(fn, (this._more.get(fn) ?? 0) + more);
  }

  /**
   * A block is in.
   *
   * @param nameOf - several ids may have one name.
   * @param whole - of all functions, since the log began.
   */
  settle(nameOf: (fn: number) => string, whole: number): void {
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
