/** Runs in the worker: when each task ran and, if asked for, what it used and how large its result is. */
import { monotonicOffset } from '../../link/monotonic';
import { resultBytes } from '../observe/result-bytes';
import { threadCpuClock } from '../observe/thread-cpu';

/** Numbers per task in a {@link ResultsMessage}, by what is wanted of it: nothing; start and stop; CPU seconds and bytes of the result too. */
export const Measures = { none: 0, times: 2, all: 4 } as const;

export type Measures = (typeof Measures)[keyof typeof Measures];

/** Is told the times, in milliseconds of this thread's clock: the runner reads it anyway. */
export class TaskMeter {
  private readonly _offset = monotonicOffset();
  private readonly _cpu: (() => number) | null;
  private _rows: number[] = [];
  /** Seconds of the clock that all processes share; NaN between tasks. */
  private _start = NaN;
  private _cpuStart = NaN;

  constructor(count: Measures) {
    this._cpu = count === Measures.all ? threadCpuClock() : null;
  }

  begin(ms: number): void {
    this._start = this._clockOf(ms);
    if (this._cpu !== null) {
      this._cpuStart = this._cpu();
    }
  }

  /** The task has returned; to be called before the result leaves, for moved memory has no size any more. */
  end(ms: number, value: unknown): void {
    const stop = this._clockOf(ms);
    if (this._cpu === null) {
      this._rows.push(this._start, stop);
    } else {
      const cpu = this._cpu() - this._cpuStart;
      this._rows.push(this._start, stop, cpu, resultBytes(value));
    }
    this._start = NaN;
  }

  /** The task has thrown, or could not even begin. */
  fail(ms: number): void {
    const stop = this._clockOf(ms);
    const hasBegun = !Number.isNaN(this._start);
    const start = hasBegun ? this._start : stop;
    if (this._cpu === null) {
      this._rows.push(start, stop);
    } else {
      const cpu = hasBegun ? this._cpu() - this._cpuStart : 0;
      this._rows.push(start, stop, cpu, NaN);
    }
    this._start = NaN;
  }

  private _clockOf(ms: number): number {
    return this._offset + ms * 1e-3;
  }

  /** The measurements since the last call, in the order of the tasks. */
  take(): readonly number[] {
    const rows = this._rows;
    this._rows = [];
    return rows;
  }
}
