/** Where a log goes that JupyterLab shall show: to the thread that sends. */
import { Worker } from 'node:worker_threads';
import type { Doorbell } from '../../link/ring-doorbell';
import { programFile } from '../program-files';
import { findDoorbells } from './connections';
import type { LogDescription, LogEnd, LogSink } from './log-sink';
import { RunningBoard } from './running-board';
import type { FromSender, SenderData, ToSender } from './sender-messages';
import { warn } from '../warning';
import { orUnobserved, warnUnobserved } from './warning';

/**
 * Modules that a program is started with (`node --import observed.mjs`) are loaded into its threads too. The sending thread must not load
 * them: if `observed.mjs` calls `observe`, each such thread would start the next one.
 */
function withoutPreloads() {
  return { execArgv: [], env: { ...process.env, NODE_OPTIONS: '' } };
}

/** Time limit for the last records to arrive. */
const END_SECONDS = 10;
/** The same when the process is ending and can do nothing else meanwhile; at-exit.ts waits no longer. */
const EXIT_SECONDS = 5;

/**
 * Which JupyterLab: options of {@link observerSink} and {@link observe}.
 *
 * @group Observing
 * @example
 * ```ts
 * import { observerSink, type ConnectionOptions } from 'spanwise';
 *
 * const options: ConnectionOptions = { connection: process.env['SPANWISE_CONNECTION'] };
 * const sink = observerSink(options);
 * await sink.flush();
 * console.log(typeof sink.write); // → function
 * ```
 */
export type ConnectionOptions = {
  /**
   * The connection file of the Jupyter server whose panels shall show it. By default the one that `SPANWISE_CONNECTION` names, as terminals
   * and kernels of a server have it; else that of the server started last.
   */
  readonly connection?: string | undefined;
};

/** The sink behind {@link observerSink}. */
export class ObserverSink implements LogSink {
  /** The tasks that run now, for visible panels. */
  readonly board = new RunningBoard();
  private readonly _doorbells: readonly Doorbell[];
  private readonly _connection: string | undefined;
  private readonly _ended = new SharedArrayBuffer(4);
  private readonly _flushes = new Map<number, () => void>();
  private _nextFlush = 0;
  private _thread: Worker | null = null;
  private _onEnded: (() => void) | null = null;
  private _isEnding = false;

  /**
   * @param onNobody - told once if nobody will ever get the log.
   * @throws NoObserverError
   * @throws UnsafeConnectionError
   */
  constructor(
    { connection }: ConnectionOptions,
    private readonly _onNobody: () => void = () => undefined,
    private readonly _onProcessEnded: (worker: number) => void = () => undefined
  ) {
    this._connection = connection;
    this._doorbells = findDoorbells(connection);
  }

  open(description: LogDescription): void {
    const workerData: SenderData = {
      doorbells: this._doorbells,
      connection: this._connection,
      description,
      running: this.board.memory,
      ended: this._ended
    };
    const thread = new Worker(programFile('sender.mjs'), {
      workerData,
      ...withoutPreloads()
    });
    thread.on('message', (message: FromSender) => this._take(message));
    thread.on('error', error => this._lost(String(error)));
    thread.on('exit', () => this._gone());
    // Last: a listener added later would keep the process alive.
    thread.unref();
    this._thread = thread;
  }

  write(block: Uint8Array<ArrayBuffer>, at: number): void {
    this._post({ type: 'block', bytes: block, at }, [block.buffer]);
  }

  /** The memory of this process is to be measured too. */
  process(worker: number, pid: number): void {
    this._post({ type: 'process', worker, pid });
  }

  flush(): Promise<void> {
    if (this._thread === null) {
      return Promise.resolve();
    }
    return new Promise(resolve => {
      const request = this._nextFlush++;
      this._flushes.set(request, resolve);
      this._hold();
      this._post({ type: 'flush', request });
    });
  }

  end(why: LogEnd, at: number): Promise<void> {
    if (this._thread === null) {
      return Promise.resolve();
    }
    return new Promise(resolve => {
      this._isEnding = true;
      this._onEnded = resolve;
      this._hold();
      this._post({ type: 'end', why, at, limitSeconds: END_SECONDS });
    });
  }

  endNow(why: LogEnd, at: number): void {
    this._post({ type: 'end', why, at, limitSeconds: EXIT_SECONDS });
  }

  waitNow(limitMs: number): void {
    const leftMs = limitMs - performance.now();
    if (this._thread !== null && leftMs > 0) {
      // Nothing else runs in this thread any more; the other one goes on until this returns.
      Atomics.wait(new Int32Array(this._ended), 0, 0, leftMs);
    }
  }

  private _post(message: ToSender, moved: readonly ArrayBuffer[] = []): void {
    this._thread?.postMessage(message, moved);
  }

  private _take(message: FromSender): void {
    switch (message.type) {
      case 'delivered':
        this._flushes.get(message.request)?.();
        this._flushes.delete(message.request);
        this._hold();
        return;
      case 'processEnded':
        this._onProcessEnded(message.worker);
        return;
      case 'warning':
        warn(message.sentence);
        return;
      case 'nobody':
        this._lost(message.sentence);
        return;
      case 'ended':
        this._gone();
    }
  }

  /** This process stays alive while somebody waits for the other thread. */
  private _hold(): void {
    if (this._flushes.size > 0 || this._isEnding) {
      this._thread?.ref();
    } else {
      this._thread?.unref();
    }
  }

  private _lost(sentence: string): void {
    if (this._thread !== null) {
      warnUnobserved(sentence);
      this._onNobody();
      this._gone();
    }
  }

  private _gone(): void {
    const thread = this._thread;
    this._thread = null;
    void thread?.terminate();
    this._flushes.forEach(resolve => resolve());
    this._flushes.clear();
    this._onEnded?.();
    this._onEnded = null;
  }
}

/**
 * The way to the Spanwise panels of a JupyterLab on this machine, for {@link createRecorder}. Without one, a warning says what to do, and
 * the records are dropped.
 *
 * @throws UnsafeConnectionError if others could read what is recorded.
 *
 * @group Observing
 * @example
 * ```ts
 * import { createRecorder, observerSink } from 'spanwise';
 *
 * await using recorder = createRecorder({ name: 'fetcher', into: observerSink() });
 * using _run = recorder.begin({ key: 'sum' });
 * console.log([1, 2, 3].reduce((a, b) => a + b)); // → 6
 * ```
 */
export function observerSink(options: ConnectionOptions = {}): LogSink {
  return orUnobserved(() => new ObserverSink(options)) ?? nowhere;
}

const nowhere: LogSink = {
  open: () => undefined,
  write: () => undefined,
  flush: () => Promise.resolve(),
  end: () => Promise.resolve()
};
