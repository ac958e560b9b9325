import { nextCapacity } from './growable-columns';

/**
 * A first-in first-out queue of 32-bit integers in one circular typed array.
 *
 * ```
 *   items  [ 7 8 . . . 5 6 ]      head = 5, length = 4: shift() gives 5, 6, 7, 8
 * ```
 */
export class Int32Queue {
  private _items = new Int32Array(16);
  private _head = 0;
  private _length = 0;

  get length(): number {
    return this._length;
  }

  push(value: number): void {
    if (this._length === this._items.length) {
      this._grow();
    }
    const mask = this._items.length - 1;
    this._items[(this._head + this._length) & mask] = value;
    this._length++;
  }

  /** The oldest item; the queue must not be empty. */
  peek(): number {
    return this._items[this._head]!;
  }

  /** Takes the oldest item; the queue must not be empty. */
  shift(): number {
    const value = this._items[this._head]!;
    this._head = (this._head + 1) & (this._items.length - 1);
    this._length--;
    return value;
  }

  clear(): void {
    this._head = 0;
    this._length = 0;
  }

  // The capacity is a power of two (see nextCapacity), so that wrapping is a mask.
  private _grow(): void {
    const grown = new Int32Array(
      nextCapacity(this._items.length, this._length + 1)
    );
    const first = this._items.subarray(this._head);
    grown.set(first);
    grown.set(this._items.subarray(0, this._head), first.length);
    this._items = grown;
    this._head = 0;
  }
}
