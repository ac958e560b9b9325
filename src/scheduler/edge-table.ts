import { grownColumn, nextCapacity } from '../base/growable-columns';

/** No edge, no task, no worker: the end of a list or an empty reference. */
export const NONE = -1;

/**
 * The dependencies between tasks: one row per edge, in two linked lists at once.
 *
 * ```
 *   c needs a and b, d needs b:        edge   input  dependent  nextInput  nextDependent
 *                                       0      a        c           1           –
 *     a ──0──► c                        1      b        c           –           2
 *     b ──1──► c                        2      b        d           –           –
 *     b ──2──► d
 *   task table:  firstInput[c] = 0, firstInput[d] = 2;  firstDependent[a] = 0, firstDependent[b] = 1
 * ```
 *
 * A task's list of inputs is built once and dropped as a whole, in the order given; a task's list of dependents loses members one by one
 * (25,000 tasks may depend on one input), therefore it is linked both ways.
 */
export class EdgeTable {
  input = new Int32Array(16);
  dependent = new Int32Array(16);
  nextInput = new Int32Array(16);
  nextDependent = new Int32Array(16);
  previousDependent = new Int32Array(16);
  private _extent = 0;
  private _free = NONE;
  private _size = 0;

  /** The number of edges. */
  get size(): number {
    return this._size;
  }

  /** A fresh row; its fields hold whatever they held. */
  take(): number {
    this._size++;
    const free = this._free;
    if (free !== NONE) {
      this._free = this.nextInput[free]!;
      return free;
    }
    const edge = this._extent++;
    if (edge === this.input.length) {
      const capacity = nextCapacity(this.input.length, edge + 1);
      this.input = grownColumn(this.input, capacity);
      this.dependent = grownColumn(this.dependent, capacity);
      this.nextInput = grownColumn(this.nextInput, capacity);
      this.nextDependent = grownColumn(this.nextDependent, capacity);
      this.previousDependent = grownColumn(this.previousDependent, capacity);
    }
    return edge;
  }

  /** Gives a row back; read `nextInput` before. */
  giveBack(edge: number): void {
    this._size--;
    this.nextInput[edge] = this._free;
    this._free = edge;
  }
}
