import { grownColumn, nextCapacity } from './growable-columns';

/** The head of an empty list. */
export const EMPTY_LIST = -1;

/**
 * Many short linked lists of small integers, sharing one pool of nodes. The owner keeps each list's head in a column of its own.
 *
 * ```
 *   head[task 5] = 2 ──► node 2 (value 1) ──► node 0 (value 3) ──► EMPTY_LIST       task 5 is held by workers 1 and 3
 * ```
 */
export class ValueLists<N extends number = number> {
  private _values = new Int32Array(16);
  private _next = new Int32Array(16);
  private _extent = 0;
  private _free = EMPTY_LIST;
  private _size = 0;

  /** The number of nodes in use, over all lists. */
  get size(): number {
    return this._size;
  }

  /** Puts `value` in front; returns the new head. The caller knows that the value is not in the list yet. */
  add(head: number, value: N): number {
    let node = this._free;
    if (node === EMPTY_LIST) {
      node = this._extent++;
      if (node === this._values.length) {
        const capacity = nextCapacity(this._values.length, node + 1);
        this._values = grownColumn(this._values, capacity);
        this._next = grownColumn(this._next, capacity);
      }
    } else {
      this._free = this._next[node]!;
    }
    this._values[node] = value;
    this._next[node] = head;
    this._size++;
    return node;
  }

  /** Takes `value` out; returns the new head, which is the old one when the value was not there. */
  remove(head: number, value: N): number {
    let before = EMPTY_LIST;
    for (let node = head; node !== EMPTY_LIST; node = this._next[node]!) {
      if (this._values[node] === value) {
        const after = this._next[node]!;
        this._release(node);
        if (before === EMPTY_LIST) {
          return after;
        }
        this._next[before] = after;
        return head;
      }
      before = node;
    }
    return head;
  }

  has(head: number, value: N): boolean {
    for (let node = head; node !== EMPTY_LIST; node = this._next[node]!) {
      if (this._values[node] === value) {
        return true;
      }
    }
    return false;
  }

  /** The value at a node; with {@link ValueLists.next} this walks a list without allocating. */
  value(node: number): N {
    return this._values[node]! as N;
  }

  next(node: number): number {
    return this._next[node]!;
  }

  toArray(head: number): N[] {
    const values: N[] = [];
    for (let node = head; node !== EMPTY_LIST; node = this._next[node]!) {
      values.push(this._values[node]! as N);
    }
    return values;
  }

  private _release(node: number): void {
    this._next[node] = this._free;
    this._free = node;
    this._size--;
  }
}
