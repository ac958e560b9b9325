/** Runs in the worker: when each task ran, what it used, how large its result is. Only made for runs that somebody measures. */
import { monotonicClock } from '../../link/monotonic';
import { sizeOf } from '../diagnostics/size-of';
import { threadCpuClock } from '../observe/thread-cpu';

/** Numbers per task in a {@link ResultsMessage}: start, stop, CPU seconds, bytes of the result. */
export const MEASURES = 4;

export class TaskMeter {
  private readonly _now = monotonicClock();
  private readonly _cpu = threadCpuClock();
  private _rows: number[] = [];
  private _start = 0;
  private _cpuStart = 0;

  begin(): void {
    this._cpuStart = this._cpu();
    this._start = this._now();
  }

  /** The task has returned; to be called before the result leaves, for moved memory has no size any more. */
  end(value: unknown): void {
    const stop = this._now();
    const cpu = this._cpu() - this._cpuStart;
    this._rows.push(this._start, stop, cpu, sizeOf(value));
  }

  /** The task has thrown. */
  fail(): void {
    const stop = this._now();
    const cpu = this._cpu() - this._cpuStart;
    this._rows.push(this._start, stop, cpu, NaN);
  }

  /** What was measured since the last time, in the order of the tasks. */
  take(): readonly number[] {
    const rows = this._rows;
    this._rows = [];
    return rows;
  }
}
