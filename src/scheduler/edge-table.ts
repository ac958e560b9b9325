import { grownColumn, tightCapacity } from '../base/growable-columns';

/** No edge, no task, no worker: the end of a list or an empty reference. */
export const NONE = -1;

/** The first input of a task that has none: a row that belongs to no task. */
export const NO_INPUTS = 0;

/** Free stretches of more rows than this are used again only when gaps are closed. */
const MOST_LISTED = 64;

/** Where the edges of each task begin; both change when gaps are closed. */
interface IEdgeHeads {
  readonly firstInput: Int32Array;
  readonly firstDependent: Int32Array;
}

/**
 * The dependencies between tasks: one row per edge.
 *
 * ```
 *   c needs a and b, d needs b:        edge   input  dependent  nextDependent  previousDependent
 *                                       0      –        –         (belongs to no task)
 *     a ──1──► c                        1      a        c           –              –
 *     b ──2──► c                        2      b        c           3              –
 *     b ──3──► d                        3      b        d           –              2
 *   task table:  firstInput[c] = 1, firstInput[d] = 3;  firstDependent[a] = 1, firstDependent[b] = 2
 * ```
 *
 * The inputs of a task are rows side by side, in the order given. They end where `dependent` is another:
 *
 *     for (let e = firstInput[task]!; dependent[e] === task; e++)
 *
 * They are taken at once and given back at once. A task's dependents are a list that is linked both ways, for it loses members one by one
 * (25,000 tasks may depend on one input). Columns and rows are others after {@link EdgeTable.take}.
 */
export class EdgeTable {
  input = new Int32Array(16);
  dependent = new Int32Array(16).fill(NONE);
  nextDependent = new Int32Array(16);
  previousDependent = new Int32Array(16);
  /** All rows from here on are free. */
  private _extent = 1;
  private _size = 0;
  /** By length, the first of the free stretches, each of which has the next in `input`; 0: there is none. */
  private readonly _free = new Int32Array(MOST_LISTED + 1);

  constructor(private readonly _heads: IEdgeHeads) {}

  /** The number of edges. */
  get size(): number {
    return this._size;
  }

  /** The first of so many fresh rows side by side; but for `dependent`, their fields hold whatever they held. */
  take(count: number): number {
    this._size += count;
    const listed = count <= MOST_LISTED ? this._free[count]! : 0;
    if (listed !== 0) {
      this._free[count] = this.input[listed]!;
      return listed;
    }
    // One more row, which belongs to no task, ends the last task's inputs.
    if (this._extent + count >= this.input.length) {
      this._makeRoom(count);
    }
    const first = this._extent;
    this._extent += count;
    return first;
  }

  /** Gives the rows of one task back. */
  giveBack(first: number, count: number): void {
    this._size -= count;
    for (let e = first; e < first + count; e++) {
      this.dependent[e] = NONE;
    }
    if (count <= MOST_LISTED) {
      this.input[first] = this._free[count]!;
      this._free[count] = first;
    }
  }

  private _makeRoom(count: number): void {
    const used = this._size - count;
    // So the cost of moving all is borne by a quarter as many that were given back.
    if (this._extent - used > this._extent / 4) {
      this._closeGaps();
    }
    const needed = this._extent + count + 1;
    if (needed > this.input.length) {
      const capacity = tightCapacity(this.input.length, needed);
      this.input = grownColumn(this.input, capacity);
      this.dependent = grownColumn(this.dependent, capacity, NONE);
      this.nextDependent = grownColumn(this.nextDependent, capacity);
      this.previousDependent = grownColumn(this.previousDependent, capacity);
    }
  }

  /** Moves all rows to the front. */
  private _closeGaps(): void {
    const { input, dependent, nextDependent, previousDependent } = this;
    const { firstInput, firstDependent } = this._heads;
    let to = 1;
    for (let from = 1; from < this._extent; from++) {
      const task = dependent[from]!;
      if (task === NONE) {
        continue;
      }
      if (from > to) {
        const next = nextDependent[from]!;
        const previous = previousDependent[from]!;
        if (firstInput[task] === from) {
          firstInput[task] = to;
        }
        if (next !== NONE) {
          previousDependent[next] = to;
        }
        if (previous === NONE) {
          firstDependent[input[from]!] = to;
        } else {
          nextDependent[previous] = to;
        }
        input[to] = input[from]!;
        dependent[to] = task;
        nextDependent[to] = next;
        previousDependent[to] = previous;
        dependent[from] = NONE;
      }
      to++;
    }
    this._extent = to;
    this._free.fill(0);
  }
}
