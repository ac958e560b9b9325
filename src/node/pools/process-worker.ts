import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { programFile } from '../program-files';
import type { FromWorker, ToWorker } from './messages';
import { canEncode, encodeFrame, FrameReader } from './process-frames';
import type { IWorkerTransport, WorkerEvents } from './worker-transport';

/** Packs in one process: one runs, one waits. They cannot be taken back, so no more. */
const PACKS = 2;

/** Options of this process that its children must not have: they would run something else or fight over a debugger's port. */
const evaluating = /^(-e|-p|-pe|--eval|--print)$/;
const ownOptions =
  /^(-i|-c|--check|--interactive|--input-type|--inspect|--test|--watch)/;

function childOptions(options: readonly string[]): string[] {
  return options.filter(
    (option, at) =>
      !evaluating.test(option) &&
      !evaluating.test(options[at - 1] ?? '') &&
      !ownOptions.test(option)
  );
}

/** The parent's end of a child process. */
export class ProcessWorker implements IWorkerTransport {
  readonly workerId: number;
  readonly label: string;
  readonly packLimit = PACKS;
  readonly canTakeBack = false;
  private readonly _child: ChildProcess;
  private readonly _socket: Socket;
  private _error: unknown;
  private _isGone = false;

  constructor(events: WorkerEvents, maxHeapMegabytes: number | undefined) {
    this._child = spawn(
      process.execPath,
      [
        ...childOptions(process.execArgv),
        ...(maxHeapMegabytes === undefined
          ? []
          : [`--max-old-space-size=${maxHeapMegabytes}`]),
        programFile('pool-process.mjs')
      ],
      {
        // 3 carries messages, 4 is the lifeline: see process-program.ts.
        stdio: ['ignore', 'inherit', 'inherit', 'pipe', 'pipe'],
        windowsHide: true
      }
    );
    this.workerId = this._child.pid ?? -1;
    this.label = `process ${this.workerId}`;
    this._socket = this._child.stdio[3] as Socket;
    const reader = new FrameReader(message =>
      events.onMessage(message as FromWorker)
    );
    this._socket.on('data', (chunk: Uint8Array) => reader.push(chunk));
    // A child that is gone is told by its own event.
    this._socket.on('error', () => undefined);
    const lifeline = this._child.stdio[4] as Socket;
    lifeline.on('error', () => undefined);
    lifeline.unref();
    this._child.on('error', error => {
      this._error = error;
      if (this._child.pid === undefined) {
        this._end(events, 'could not be started');
      }
    });
    // 'close' comes after 'exit' and after the last message was read.
    this._child.on('close', (code, signal) =>
      this._end(
        events,
        signal === null ? `exited with code ${code}` : `was killed by ${signal}`
      )
    );
  }

  post(message: ToWorker, values: readonly unknown[]): void {
    const { chunks } = encodeFrame(message, values);
    this._socket.cork();
    chunks.forEach(chunk => this._socket.write(chunk));
    this._socket.uncork();
  }

  canSend(value: unknown): boolean {
    return canEncode(value);
  }

  begun(): null {
    return null;
  }

  takeBack(pack: number): null {
    this.post({ type: 'cancel', pack }, []);
    return null;
  }

  hold(isNeeded: boolean): void {
    if (isNeeded) {
      this._child.ref();
      this._socket.ref();
    } else {
      this._child.unref();
      this._socket.unref();
    }
  }

  async kill(): Promise<void> {
    if (this._isGone) {
      return;
    }
    const gone = once(this._child, 'close');
    this._child.ref();
    this._child.kill('SIGKILL');
    await gone;
  }

  private _end(events: WorkerEvents, how: string): void {
    if (!this._isGone) {
      this._isGone = true;
      events.onEnd({
        how,
        ...(this._error === undefined ? {} : { error: this._error })
      });
    }
  }
}
