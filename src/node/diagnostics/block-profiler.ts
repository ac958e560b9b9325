import { SHOWN } from '../graph/shown';
import { Callback } from '../local/callback';
import type { IPlottable, Plot, TimeRange } from '../visualize/plots';
import type { VisualizeOptions } from '../visualize/options';
import { type Figure, visualize } from '../visualize/visualize';
import { epochSeconds } from './clock';

/**
 * What the profilers have in common. Entering one for a block forgets its earlier records; entering and leaving note the time. A profiler that
 * is registered instead notes neither time and gathers records until `clear`.
 */
export abstract class BlockProfiler extends Callback implements IPlottable {
  private _startTime: number | null = null;
  private _endTime: number | null = null;
  /** Blocks entered and not left; the same profiler may be entered again inside. */
  private _depth = 0;

  /** When the block was entered, seconds since the epoch; null if none was since `clear`. */
  get startTime(): number | null {
    return this._startTime;
  }

  /** When the block was left; null before that. */
  get endTime(): number | null {
    return this._endTime;
  }

  /** The block, or first to last record; null if there is neither. */
  get timeRange(): TimeRange | null {
    const recorded = this.recordedRange();
    const start = this._startTime ?? recorded?.start;
    const end = this._endTime ?? recorded?.end ?? start;
    return start === undefined || end === undefined ? null : { start, end };
  }

  /** Forgets all records and the times of the block. */
  clear(): void {
    this._startTime = null;
    this._endTime = null;
  }

  override run<T>(body: () => T): T {
    this._enter();
    let result: T;
    try {
      result = super.run(body);
    } catch (error) {
      this._leave();
      throw error;
    }
    if (result instanceof Promise) {
      return result.finally(() => this._leave()) as T;
    }
    this._leave();
    return result;
  }

  override enter(): this {
    this._enter();
    return super.enter();
  }

  /** Ends the latest `enter`; without one it does nothing. */
  override [Symbol.dispose](): void {
    super[Symbol.dispose]();
    this._leave();
  }

  /** What consoles print: how many records there are, not the records. @internal */
  override [SHOWN](): string {
    const count = this.results.length;
    return `${this.constructor.name} { ${count} ${count === 1 ? 'record' : 'records'} in results }`;
  }

  /** Draws this profiler alone; see {@link visualize}. */
  visualize(options: VisualizeOptions = {}): Figure {
    return visualize(this, options);
  }

  /** What was recorded. */
  abstract get results(): readonly object[];

  /** What {@link visualize} draws. */
  abstract plot(origin: number, labelSize: number): Plot;

  /** From the first record's begin to the last one's end; null without records. */
  protected abstract recordedRange(): TimeRange | null;

  /** For subclasses: the outermost block begins, or has ended. */
  protected blockEntered(): void {}
  protected blockLeft(): void {}

  protected get isInBlock(): boolean {
    return this._depth > 0;
  }

  private _enter(): void {
    if (this._depth === 0) {
      this.clear();
      // Before the time is noted: what it takes to begin is no part of the block.
      this.blockEntered();
      this._startTime = epochSeconds();
    }
    this._depth++;
  }

  private _leave(): void {
    if (this._depth === 0) {
      return;
    }
    this._depth--;
    if (this._depth === 0) {
      this._endTime = epochSeconds();
      this.blockLeft();
    }
  }
}

/** From the first begin to the last end of records in any order; null without records. */
export function rangeOf<R>(
  records: readonly R[],
  begin: (record: R) => number,
  end: (record: R) => number
): TimeRange | null {
  return records.length === 0
    ? null
    : {
        start: records.reduce(
          (first, record) => Math.min(first, begin(record)),
          Infinity
        ),
        end: records.reduce(
          (last, record) => Math.max(last, end(record)),
          -Infinity
        )
      };
}
