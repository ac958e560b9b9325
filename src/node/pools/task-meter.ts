/** Runs in the worker: when each task ran, what it used, how large its result is. Only made for runs that somebody measures. */
import { monotonicClock } from '../../link/monotonic';
import { resultBytes } from '../observe/result-bytes';
import { threadCpuClock } from '../observe/thread-cpu';

/** Numbers per task in a {@link ResultsMessage}: start, stop, CPU seconds, bytes of the result. */
export const MEASURES = 4;

export class TaskMeter {
  private readonly _now = monotonicClock();
  private readonly _cpu = threadCpuClock();
  private _rows: number[] = [];
  /** NaN between tasks. */
  private _start = NaN;
  private _cpuStart = NaN;

  begin(): void {
    this._cpuStart = this._cpu();
    this._start = this._now();
  }

  /** The task has returned; to be called before the result leaves, for moved memory has no size any more. */
  end(value: unknown): void {
    const stop = this._now();
    const cpu = this._cpu() - this._cpuStart;
    this._rows.push(this._start, stop, cpu, resultBytes(value));
    this._start = NaN;
  }

  /** The task has thrown, or could not even begin. */
  fail(): void {
    const stop = this._now();
    const hasBegun = !Number.isNaN(this._start);
    const cpu = hasBegun ? this._cpu() - this._cpuStart : 0;
    this._rows.push(hasBegun ? this._start : stop, stop, cpu, NaN);
    this._start = NaN;
  }

  /** What was measured since the last time, in the order of the tasks. */
  take(): readonly number[] {
    const rows = this._rows;
    this._rows = [];
    return rows;
  }
}
