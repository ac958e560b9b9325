import { grownColumn, nextCapacity } from './growable-columns';

/** The head of an empty list. */
export const EMPTY_LIST = -1;

/**
 * Many short linked lists of small integers, sharing one pool of cells. The owner keeps each list's head in a column of its own.
 *
 * ```
 *   head[task 5] = 2 ──► cell 2 (value 1) ──► cell 0 (value 3) ──► EMPTY_LIST       task 5 is held by workers 1 and 3
 * ```
 */
export class ValueLists<N extends number = number> {
  private _values = new Int32Array(16);
  private _next = new Int32Array(16);
  private _extent = 0;
  private _free = EMPTY_LIST;
  private _size = 0;

  /** The number of cells in use, over all lists. */
  get size(): number {
    return this._size;
  }

  /** Puts `value` in front; returns the new head. The caller knows that the value is not in the list yet. */
  add(head: number, value: N): number {
    let cell = this._free;
    if (cell === EMPTY_LIST) {
      cell = this._extent++;
      if (cell === this._values.length) {
        const capacity = nextCapacity(this._values.length, cell + 1);
        this._values = grownColumn(this._values, capacity);
        this._next = grownColumn(this._next, capacity);
      }
    } else {
      this._free = this._next[cell]!;
    }
    this._values[cell] = value;
    this._next[cell] = head;
    this._size++;
    return cell;
  }

  /** Takes `value` out; returns the new head, which is the old one when the value was not there. */
  remove(head: number, value: N): number {
    let before = EMPTY_LIST;
    for (let cell = head; cell !== EMPTY_LIST; cell = this._next[cell]!) {
      if (this._values[cell] === value) {
        const after = this._next[cell]!;
        this._release(cell);
        if (before === EMPTY_LIST) {
          return after;
        }
        this._next[before] = after;
        return head;
      }
      before = cell;
    }
    return head;
  }

  has(head: number, value: N): boolean {
    for (let cell = head; cell !== EMPTY_LIST; cell = this._next[cell]!) {
      if (this._values[cell] === value) {
        return true;
      }
    }
    return false;
  }

  /** The value in a cell; with {@link ValueLists.next} this walks a list without allocating. */
  value(cell: number): N {
    return this._values[cell]! as N;
  }

  next(cell: number): number {
    return this._next[cell]!;
  }

  toArray(head: number): N[] {
    const values: N[] = [];
    for (let cell = head; cell !== EMPTY_LIST; cell = this._next[cell]!) {
      values.push(this._values[cell]! as N);
    }
    return values;
  }

  private _release(cell: number): void {
    this._next[cell] = this._free;
    this._free = cell;
    this._size--;
  }
}
