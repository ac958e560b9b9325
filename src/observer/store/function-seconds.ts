import type { Seconds } from '../../base/brand';
import type { FunctionSlots } from '../function-slots';

/** How much longer functions ran, until their block is in: then some may get another colour. */
export class FunctionSeconds {
  /** By name id. */
  private readonly _more = new Map<number, number>();

  constructor(private readonly _slots: FunctionSlots) {}

  add(fn: number, more: Seconds): void {
    this._more.set(fn, (this._more.get(fn) ?? 0) + more);
  }

  /**
   * A block is in.
   *
   * @param nameOf - several ids may have one name.
   * @param whole - of all functions, since the log began.
   */
  settle(nameOf: (fn: number) => string, whole: Seconds): void {
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
