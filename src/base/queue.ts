/** Places of an empty queue. */
const LEAST_PLACES = 16;

/**
 * A first-in first-out queue in one circular array, which it keeps: an `Array` that falls empty by `shift` gives its places back, and
 * takes 17 new ones with the next `push`. What a burst took is given back in halves, when three quarters are free: then so much has gone
 * that moving the rest costs each a constant.
 *
 * ```
 *   items  [ g h . . . . e f ]      head = 6, length = 4: shift() gives e, f, g, h
 * ```
 */
export class Queue<T> {
  private _items = new Array<T | undefined>(LEAST_PLACES);
  private _head = 0;
  private _length = 0;

  get length(): number {
    return this._length;
  }

  push(item: T): void {
    if (this._length === this._items.length) {
      this._move(2 * this._length);
    }
    // The capacity is a power of two, so that wrapping is a mask.
    const mask = this._items.length - 1;
    this._items[(this._head + this._length) & mask] = item;
    this._length++;
  }

  /** Takes the oldest item; undefined if there is none. */
  shift(): T | undefined {
    if (this._length === 0) {
      return undefined;
    }
    const item = this._items[this._head];
    this._items[this._head] = undefined;
    this._head = (this._head + 1) & (this._items.length - 1);
    this._length--;
    const places = this._items.length;
    if (places > LEAST_PLACES && 4 * this._length <= places) {
      this._move(places / 2);
    }
    return item;
  }

  /** The oldest item, which stays; undefined if there is none. */
  first(): T | undefined {
    return this._items[this._head];
  }

  /** The items, the oldest first; nothing may be added or taken meanwhile. */
  *values(): Generator<T, void> {
    for (let i = 0; i < this._length; i++) {
      yield this._items[(this._head + i) & (this._items.length - 1)]!;
    }
  }

  clear(): void {
    this._items = new Array<T | undefined>(LEAST_PLACES);
    this._head = 0;
    this._length = 0;
  }

  /** Goes on in an array of so many places, a power of two. */
  private _move(places: number): void {
    const end = this._head + this._length;
    const items = this._items
      .slice(this._head, end)
      .concat(this._items.slice(0, Math.max(0, end - this._items.length)));
    items.length = places;
    this._items = items;
    this._head = 0;
  }
}
