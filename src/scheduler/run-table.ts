import { grownColumn, tightCapacity } from '../base/growable-columns';
import { NONE } from './edge-table';

/** What is kept of a task only while it is `Processing`: of a large graph few are at a time. One row per present run. */
export class RunTable {
  /** Neighbours in the worker's list of processing tasks, oldest first. */
  previous = new Int32Array(16);
  next = new Int32Array(16);
  /** Inputs that are in memory, and not at the task's worker. */
  lacking = new Int32Array(16);
  private _extent = 0;
  /** The first of the free rows, each of which has the next in `next`. */
  private _free = NONE;
  private _size = 0;

  /** The number of present runs. */
  get size(): number {
    return this._size;
  }

  /** A row without neighbours, that lacks nothing. Columns are replaced when the table grows. */
  take(): number {
    this._size++;
    let row = this._free;
    if (row === NONE) {
      row = this._extent++;
      if (row === this.next.length) {
        const capacity = tightCapacity(row, row + 1);
        this.previous = grownColumn(this.previous, capacity);
        this.next = grownColumn(this.next, capacity);
        this.lacking = grownColumn(this.lacking, capacity);
      }
    } else {
      this._free = this.next[row]!;
    }
    this.previous[row] = NONE;
    this.next[row] = NONE;
    this.lacking[row] = 0;
    return row;
  }

  giveBack(row: number): void {
    this._size--;
    this.next[row] = this._free;
    this._free = row;
  }
}
