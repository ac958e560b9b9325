/**
 * Keeps a log file short that this program and its children write as their standard error: a task that prints for ever must not fill the
 * disk. The end of the log is kept: it is what people read after a failure.
 */
import {
  closeSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  writeSync
} from 'node:fs';

/** Time between two looks at a file that grows; a process prints some 100 MB a second at most. */
const LOOK_MILLISECONDS = 250;
/** The same after two between which it did not: a cluster without work wakes up less often. */
const IDLE_LOOK_MILLISECONDS = 1000;
const MOST_BYTES = 16 * 2 ** 20;
const KEPT_BYTES = 2 ** 20;

export class BoundedLog {
  private _dropped = 0;
  private _size = 0;
  private _timer: NodeJS.Timeout;

  /**
   * @param path - the file that `descriptor` writes, opened for appending, so that other writers go on at its new end.
   */
  constructor(
    private readonly _path: string,
    private readonly _descriptor = 2,
    private readonly _mostBytes = MOST_BYTES,
    private readonly _keptBytes = KEPT_BYTES
  ) {
    this._timer = this._lookIn(LOOK_MILLISECONDS);
  }

  /** Cuts it if it has become too long, and looks again later. */
  look(): void {
    clearTimeout(this._timer);
    try {
      const { size } = fstatSync(this._descriptor);
      if (size > this._mostBytes) {
        this._cut(size);
      }
      this._timer = this._lookIn(
        size === this._size ? IDLE_LOOK_MILLISECONDS : LOOK_MILLISECONDS
      );
      this._size = size;
    } catch {
      // The file is gone or cannot be read any more. This could only be reported in the log itself.
      this.stop();
    }
  }

  stop(): void {
    clearTimeout(this._timer);
  }

  private _lookIn(milliseconds: number): NodeJS.Timeout {
    return setTimeout(() => this.look(), milliseconds).unref();
  }

  private _cut(size: number): void {
    const kept = Buffer.alloc(this._keptBytes);
    const file = openSync(this._path, 'r');
    let length: number;
    try {
      length = readSync(file, kept, 0, kept.length, size - kept.length);
    } finally {
      closeSync(file);
    }
    const text = kept.subarray(0, length);
    const end = text.subarray(text.indexOf(10) + 1);
    this._dropped += size - end.length;
    ftruncateSync(this._descriptor, 0);
    const megabytes = (this._dropped / 1e6).toFixed(0);
    writeSync(
      this._descriptor,
      `[Spanwise: ${megabytes} MB of this log were dropped, it keeps its end. What tasks print comes here too.]\n`
    );
    writeSync(this._descriptor, end);
  }
}
