import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { programFile } from '../program-files';
import type { FromWorker, ToWorker } from './messages';
import { encodeFrame, FrameReader } from './process-frames';
import type { IWorkerTransport, WorkerEvents } from './worker-transport';

/** Packs in one process: one runs, one waits. They cannot be taken back, so no more. */
const PACKS = 2;

/** Options of this process that its children must not have: they would run something else or fight over a debugger's port. */
const OWN_OPTIONS =
  /^(-e|-p|-pe|--eval|--print|-i|-c|--check|--interactive|--input-type|--inspect|--test|--watch)(?![a-z])/;
const EVALUATING = /^(-e|-p|-pe|--eval|--print)$/;

/** Without its own options and the words after them: an option's value (`--input-type module`) would be taken for the program's name. */
export function childOptions(options: readonly string[]): string[] {
  let isOwn = false;
  return options.filter((option, at) => {
    const isValue =
      EVALUATING.test(options[at - 1] ?? '') || !option.startsWith('-');
    isOwn = isValue ? isOwn : OWN_OPTIONS.test(option);
    return !isOwn;
  });
}

/** The parent's end of a child process. */
export class ProcessWorker implements IWorkerTransport {
  readonly workerId: number;
  readonly label: string;
  readonly packLimit = PACKS;
  readonly canTakeBack = false;
  private readonly _child: ChildProcess;
  private readonly _socket: Socket;
  private readonly _lifeline: Socket;
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
    this._child.on('error', error => {
      this._error = error;
      if (this._child.pid === undefined) {
        this._end(events, 'could not be started');
      }
    });
    // Without descriptors left there are no pipes: what is written into one that leads nowhere is lost, as its error event is.
    const [, , , messages, lifeline] = (this._child.stdio ??
      []) as unknown as readonly (Socket | undefined)[];
    this._socket = messages ?? new Socket();
    const reader = new FrameReader(
      message => events.onMessage(message as FromWorker),
      error => {
        this._error = error;
        this._child.kill('SIGKILL');
      }
    );
    this._socket.on('data', (chunk: Uint8Array) => reader.push(chunk));
    // A child that is gone is told by its own event.
    this._socket.on('error', () => undefined);
    this._lifeline = lifeline ?? new Socket();
    this._lifeline.on('error', () => undefined);
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

  begun(): null {
    return null;
  }

  takeBack(pack: number): null {
    this.post({ type: 'cancel', pack }, []);
    return null;
  }

  hold(isNeeded: boolean): void {
    // All three: the child's end is told only when its streams have closed, too.
    for (const handle of [this._child, this._socket, this._lifeline]) {
      if (isNeeded) {
        handle.ref();
      } else {
        handle.unref();
      }
    }
  }

  async kill(): Promise<void> {
    const { exitCode, signalCode } = this._child;
    if (this._isGone || exitCode !== null || signalCode !== null) {
      return;
    }
    // Not 'close': what it has written does not matter any more, and others that it started may hold its streams open.
    const gone = once(this._child, 'exit');
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
