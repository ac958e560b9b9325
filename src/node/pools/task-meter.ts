/** Runs in the worker: when each task ran and, for who wants that too, what it used and how large its result is. */
import { resultBytes } from '../observe/result-bytes';
import { threadCpuClock } from '../observe/thread-cpu';

/** Numbers per task in a {@link ResultsMessage}, by what is wanted of it: nothing; start and stop; CPU seconds and bytes of the result too. */
export const Measures = { none: 0, times: 2, all: 4 } as const;

export type MeasureCount = (typeof Measures)[keyof typeof Measures];

export class TaskMeter {
  private readonly _cpu: (() => number) | null;
  private _rows: number[] = [];
  /** NaN between tasks. */
  private _start = NaN;
  private _cpuStart = NaN;

  /** @param _now - one clock for all packs of a worker: another one's reading may lie before the last stop */
  constructor(
    private readonly _now: () => number,
    count: MeasureCount
  ) {
    this._cpu = count === Measures.all ? threadCpuClock() : null;
  }

  begin(): void {
    if (this._cpu !== null) {
      this._cpuStart = this._cpu();
    }
    this._start = this._now();
  }

  /** The task has returned; to be called before the result leaves, for moved memory has no size any more. */
  end(value: unknown): void {
    const stop = this._now();
    if (this._cpu === null) {
      this._rows.push(this._start, stop);
    } else {
      const cpu = this._cpu() - this._cpuStart;
      this._rows.push(this._start, stop, cpu, resultBytes(value));
    }
    this._start = NaN;
  }

  /** The task has thrown, or could not even begin. */
  fail(): void {
    const stop = this._now();
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

  /** What was measured since the last time, in the order of the tasks. */
  take(): readonly number[] {
    const rows = this._rows;
    this._rows = [];
    return rows;
  }
}
