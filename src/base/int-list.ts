import { grownColumn, nextCapacity } from './growable-columns';
import type { ArrayOf } from './typed-arrays';

/**
 * An append-only list of 32-bit integers that keeps its memory when cleared: the buffer behind batches that are filled and handed over
 * again and again.
 */
export class Int32List<N extends number = number> {
  private _items: Int32Array;
  private _length = 0;

  constructor(capacity = 16) {
    this._items = new Int32Array(Math.max(capacity, 1));
  }

  get length(): number {
    return this._length;
  }

  push(value: N): void {
    if (this._length === this._items.length) {
      this._items = grownColumn(
        this._items,
        nextCapacity(this._items.length, this._length + 1)
      );
    }
    this._items[this._length++] = value;
  }

  at(index: number): N {
    return this._items[index]! as N;
  }

  /** Replaces the item at `index`, which must exist. */
  set(index: number, value: N): void {
    this._items[index] = value;
  }

  /** Drops every item from `length` on. */
  truncate(length: number): void {
    this._length = Math.min(this._length, length);
  }

  clear(): void {
    this._length = 0;
  }

  /** A copy of the items, exactly as long as the list. */
  toArray(): ArrayOf<Int32Array, N> {
    return this._items.slice(0, this._length) as ArrayOf<Int32Array, N>;
  }

  /** The same without signs. */
  toUint32Array(): Uint32Array {
    return copied(this._items, new Uint32Array(this._length));
  }

  /** The same of items that fit into a byte. */
  toUint8Array(): Uint8Array {
    return copied(this._items, new Uint8Array(this._length));
  }
}

/** One by one: most lists are short, and to convert a typed array takes microseconds before its first item. */
function copied<A extends Uint32Array | Uint8Array>(
  items: Int32Array,
  copy: A
): A {
  for (let i = 0; i < copy.length; i++) {
    copy[i] = items[i]!;
  }
  return copy;
}
