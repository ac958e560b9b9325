/**
 * The task that runs in each lane now, in memory that the sending thread can read while this one computes. A row per lane:
 *
 * ```
 *   Int32    0 … 2   node + 1 (0: nothing), function, span        × lanes
 *   Float64          when it began                                × lanes
 * ```
 */
import type { LaneId, SpanId } from '../../records/ids';
export type RunningTask = {
  readonly node: number;
  readonly functionId: number;
  readonly span: SpanId;
  /** Seconds of the clock of all links. */
  readonly started: number;
};

/** Lanes beyond are not shown while their tasks run. */
const LANES = 1024;
const CELLS = 3;
const STARTED_AT = 4 * CELLS * LANES;

export class RunningBoard {
  private readonly _cells: Int32Array;
  private readonly _started: Float64Array;

  /** @param memory - of another thread's board, to read it. */
  constructor(readonly memory = new SharedArrayBuffer(STARTED_AT + 8 * LANES)) {
    this._cells = new Int32Array(memory, 0, CELLS * LANES);
    this._started = new Float64Array(memory, STARTED_AT, LANES);
  }

  get lanes(): number {
    return LANES;
  }

  set(lane: LaneId, task: RunningTask): void {
    if (lane < LANES) {
      const at = CELLS * lane;
      // Nothing runs there until all of it is written.
      Atomics.store(this._cells, at, 0);
      this._cells[at + 1] = task.functionId;
      this._cells[at + 2] = task.span;
      this._started[lane] = task.started;
      Atomics.store(this._cells, at, task.node + 1);
    }
  }

  clear(lane: LaneId): void {
    if (lane < LANES) {
      Atomics.store(this._cells, CELLS * lane, 0);
    }
  }

  /** @returns null: nothing, or it has just changed. */
  read(lane: LaneId): RunningTask | null {
    const at = CELLS * lane;
    const node = Atomics.load(this._cells, at);
    const task = {
      node: node - 1,
      functionId: this._cells[at + 1]!,
      span: this._cells[at + 2]! as SpanId,
      started: this._started[lane]!
    };
    return node !== 0 && Atomics.load(this._cells, at) === node ? task : null;
  }
}
