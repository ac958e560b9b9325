import {
  barText,
  fractionOf,
  lineText,
  percentOf,
  type Progress
} from './progress-text';

/**
 * Where progress is written; a stream of Node is one.
 *
 * @group Diagnostics
 * @example
 * ```ts
 * import { getSync, ProgressBar, task, type ProgressStream } from 'spanwise';
 *
 * let shown = '';
 * const out: ProgressStream = { isTTY: true, columns: 60, write: text => (shown = text.trim() || shown) };
 * new ProgressBar({ out, width: 10 }).run(() => getSync({ a: task(Math.sqrt, 16) }, 'a'));
 * console.log(shown); // → [##########] | 100% Completed | …s
 * ```
 */
export type ProgressStream = {
  /** Takes the text; what it returns does not matter. */
  write(text: string): unknown;
  /** Whether a line can be overwritten; if not, a new line is written for each further tenth. */
  readonly isTTY?: boolean;
  /** Letters in a line of a terminal; unlimited by default. */
  readonly columns?: number;
  /** false once it is closed. */
  readonly writable?: boolean;
};

/** A stream of Node's. When its reader has gone it emits an error event, later; without a listener that event ends the program. */
type EventfulStream = {
  on(event: 'error', listener: () => void): unknown;
  removeListener(event: 'error', listener: () => void): unknown;
  write(text: string, done: () => void): unknown;
};

/** Per stream, how many writes are under way. They share one listener. */
const underWay = new WeakMap<object, number>();
const ignore = () => undefined;

/** Writes as consoles do: a reader that has gone away is no reason to end a program. */
function writeHarmlessly(out: ProgressStream, text: string): void {
  if (!isEventful(out)) {
    out.write(text);
    return;
  }
  const count = underWay.get(out) ?? 0;
  if (count === 0) {
    out.on('error', ignore);
  }
  underWay.set(out, count + 1);
  const leave = () => {
    const left = underWay.get(out)! - 1;
    underWay.set(out, left);
    if (left === 0) {
      out.removeListener('error', ignore);
    }
  };
  // The event comes right after the answer.
  out.write(text, () => void setImmediate(leave));
}

function isEventful(
  out: ProgressStream
): out is ProgressStream & EventfulStream {
  const { on, removeListener } = out as Partial<EventfulStream>;
  return typeof on === 'function' && typeof removeListener === 'function';
}

/** Draws the progress of one run. */
export interface IProgressOutput {
  draw(progress: Progress, seconds: number): void;
  /** The last time; ends the line. */
  end(progress: Progress, fraction: number, seconds: number): void;
}

/** A bar that is drawn again in the same place. */
export class TerminalBar implements IProgressOutput {
  private _drawnLetters = 0;

  constructor(
    private readonly _out: ProgressStream,
    private readonly _width: number
  ) {}

  draw(progress: Progress, seconds: number): void {
    this._write(fractionOf(progress), seconds);
  }

  end(_progress: Progress, fraction: number, seconds: number): void {
    this._write(fraction, seconds);
    writeHarmlessly(this._out, '\n');
  }

  private _write(fraction: number, seconds: number): void {
    // A text that is broken into two lines could not be overwritten.
    // (Terminals that do not know their width say 0.)
    const room = (this._out.columns || Infinity) - 1;
    const withoutBar = barText(fraction, seconds, 0).length;
    const width = Math.max(0, Math.min(this._width, room - withoutBar));
    const text = barText(fraction, seconds, width).slice(0, room);
    // Blanks cover the rest of a longer text.
    const covered = text.padEnd(Math.min(this._drawnLetters, room));
    writeHarmlessly(this._out, `\r${covered}`);
    this._drawnLetters = text.length;
  }
}

/** At most this often, and only if another tenth is done … */
const LINE_SECONDS = 1;
/** … or if nothing was written for so long: the log shows that it lives. */
const SIGN_OF_LIFE_SECONDS = 60;

/** Whole lines, few of them: for files and pipes. */
export class LogLines implements IProgressOutput {
  private _lastSeconds = 0;
  private _lastTenth = 0;

  constructor(private readonly _out: ProgressStream) {}

  draw(progress: Progress, seconds: number): void {
    const fraction = fractionOf(progress);
    const tenth = Math.floor(percentOf(fraction) / 10);
    const since = seconds - this._lastSeconds;
    if (
      since >= SIGN_OF_LIFE_SECONDS ||
      (since >= LINE_SECONDS && tenth > this._lastTenth)
    ) {
      this._write(progress, fraction, seconds);
      this._lastSeconds = seconds;
      this._lastTenth = tenth;
    }
  }

  end(progress: Progress, fraction: number, seconds: number): void {
    this._write(progress, fraction, seconds);
  }

  private _write(progress: Progress, fraction: number, seconds: number): void {
    writeHarmlessly(this._out, `${lineText(progress, fraction, seconds)}\n`);
  }
}
