import { Callback } from '../local/callback';
import type { Key } from '../graph/key';
import type { EmptyState, RunGraph, RunState } from '../local/state';
import {
  type IProgressOutput,
  LogLines,
  type ProgressStream,
  TerminalBar
} from './progress-output';
import { checkOptionNames, type OptionNames } from '../option-names';
import { fractionOf, progressOf } from './progress-text';

/**
 * Options of {@link ProgressBar}.
 *
 * @group Diagnostics
 * @example
 * ```ts
 * import { getSync, ProgressBar, task, type ProgressBarOptions } from 'spanwise';
 *
 * const options: ProgressBarOptions = { minimum: 60, out: process.stderr };
 * const graph = { a: task(Math.sqrt, 16) };
 * // Nothing is shown: the run takes less than a minute.
 * console.log(new ProgressBar(options).run(() => getSync(graph, 'a'))); // → 4
 * ```
 */
export type ProgressBarOptions = {
  /** Seconds; runs that are shorter show nothing. 0 by default. */
  readonly minimum?: number;
  /** Letters between the brackets, 40 by default. */
  readonly width?: number;
  /** Seconds between two drawings, 0.1 by default. */
  readonly interval?: number;
  /** Where the bar is written; by default what is the standard output when the bar is made. */
  readonly out?: ProgressStream;
};

/** The longest that a timer can wait, 25 days; longer ones would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

const OPTION_NAMES: OptionNames<ProgressBarOptions> = {
  minimum: true,
  width: true,
  interval: true,
  out: true
};

type Run = {
  readonly begin: number;
  readonly output: IProgressOutput;
  /** From here on there is something to draw; null if the run failed before. */
  state: RunState | null;
  /** Draws while tasks run elsewhere; it never fires during a synchronous run. */
  timer: NodeJS.Timeout | undefined;
  /** When to draw next, seconds of the clock. */
  due: number;
};

/**
 * A bar that shows how far a run is: `[####################                    ] | 50% Completed | 8.20 s`.
 *
 * On a terminal the bar stays in its place; in a file or a pipe it writes a new line for each further tenth, once a second at most. A failed run ends its line where it was.
 *
 * It is drawn between tasks, when its interval has passed, and by a timer while tasks run elsewhere. During one long task of this thread it
 * stands still.
 *
 * @group Diagnostics
 * @example
 * ```ts
 * import { setTimeout as sleep } from 'node:timers/promises';
 * import { getAsync, ProgressBar, task } from 'spanwise';
 *
 * const graph = { a: task(sleep, 20, 'a'), b: task(sleep, 20, 'b') };
 * const bar = new ProgressBar();
 * await bar.run(() => getAsync(graph, ['a', 'b'])); // in a pipe:
 * // → …
 * // → 100% Completed | 2 of 2 tasks | …s
 * console.log(bar.lastDuration > 0.01); // → true
 * ```
 */
export class ProgressBar extends Callback {
  private readonly _minimum: number;
  private readonly _width: number;
  private readonly _interval: number;
  private readonly _out: ProgressStream;
  private readonly _runs = new Map<RunGraph, Run>();
  private _lastDuration = 0;

  /** @throws TypeError for an unknown option or what is no stream, RangeError for negative seconds or a width that is no number of letters. */
  constructor(options: ProgressBarOptions = {}) {
    super();
    checkOptionNames('ProgressBar', options, OPTION_NAMES);
    const {
      minimum = 0,
      width = 40,
      interval = 0.1,
      out = process.stdout
    } = options;
    if (!(minimum >= 0) || !(interval > 0)) {
      throw new RangeError(
        'ProgressBar: minimum and interval are seconds, interval above 0.'
      );
    }
    if (!Number.isInteger(width) || width < 0) {
      throw new RangeError('ProgressBar: width is a number of letters.');
    }
    if (typeof (out as ProgressStream | null)?.write !== 'function') {
      throw new TypeError(
        'ProgressBar: out is a stream, such as process.stderr: an object with a function write.'
      );
    }
    this._minimum = minimum;
    this._width = width;
    this._interval = interval;
    this._out = out;
  }

  /** Seconds that the last run took, failed or not; 0 before the first. */
  get lastDuration(): number {
    return this._lastDuration;
  }

  override start(graph: RunGraph): void {
    const begin = secondsNow();
    this._runs.set(graph, {
      begin,
      output:
        this._out.isTTY === true
          ? new TerminalBar(this._out, this._width)
          : new LogLines(this._out),
      state: null,
      timer: undefined,
      due: begin
    });
  }

  override startState(graph: RunGraph, state: RunState): void {
    const run = this._runs.get(graph)!;
    run.state = state;
    run.timer = setInterval(
      () => this._draw(run),
      Math.min(1000 * this._interval, LONGEST_TIMER_MS)
    );
    // The bar must not keep a program alive.
    run.timer.unref();
    this._draw(run);
  }

  override pretask(_key: Key, graph: RunGraph): void {
    this._drawIfDue(this._runs.get(graph)!);
  }

  override posttask(_key: Key, _result: unknown, graph: RunGraph): void {
    this._drawIfDue(this._runs.get(graph)!);
  }

  override finish(
    graph: RunGraph,
    _state: RunState | EmptyState,
    errored: boolean
  ): void {
    const run = this._runs.get(graph)!;
    this._runs.delete(graph);
    clearInterval(run.timer);
    const seconds = secondsNow() - run.begin;
    this._lastDuration = seconds;
    if (seconds >= this._minimum && isOpen(this._out)) {
      const progress =
        run.state === null ? { finished: 0, total: 0 } : progressOf(run.state);
      const failedAt = run.state === null ? 0 : fractionOf(progress);
      run.output.end(progress, errored ? failedAt : 1, seconds);
    }
  }

  private _drawIfDue(run: Run): void {
    if (secondsNow() >= run.due) {
      this._draw(run);
    }
  }

  private _draw(run: Run): void {
    const now = secondsNow();
    run.due = now + this._interval;
    const progress = progressOf(run.state!);
    const isUnderWay = progress.finished < progress.total;
    // `finish` draws the complete bar, once.
    if (isUnderWay && now - run.begin >= this._minimum && isOpen(this._out)) {
      run.output.draw(progress, now - run.begin);
    }
  }
}

/** A reader that has gone away is no reason to fail. */
function isOpen(out: ProgressStream): boolean {
  return out.writable !== false;
}

function secondsNow(): number {
  return performance.now() / 1000;
}
