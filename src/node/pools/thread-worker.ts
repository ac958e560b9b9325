import { Worker } from 'node:worker_threads';
import { programFile } from '../program-files';
import type { FromWorker, ToWorker } from './messages';
import type { IWorkerTransport, WorkerEvents } from './worker-transport';

/** Cells for claims; at most so many packs are in one thread. */
const CELLS = 16;

/** In a claim cell: more than any pack holds. */
const TAKEN_BACK = 0x40000000;

export type ThreadData = {
  /**
   * A counter per pack: tasks begun. The thread takes its next task by adding one; the pool takes the rest back by exchanging it for a
   * large number. Both are atomic, so no task is run by two or by nobody.
   */
  readonly claims: SharedArrayBuffer;
};

export function canClone(value: unknown): boolean {
  try {
    structuredClone(value);
    return true;
  } catch {
    return false;
  }
}

/** The parent's end of a worker thread. */
export class ThreadWorker implements IWorkerTransport {
  readonly workerId: number;
  readonly label: string;
  readonly packLimit = CELLS;
  readonly canTakeBack = true;
  private readonly _claims = new Int32Array(new SharedArrayBuffer(4 * CELLS));
  private readonly _begunBefore = new Int32Array(CELLS);
  private readonly _worker: Worker;
  private _error: unknown;

  constructor(events: WorkerEvents, maxHeapMegabytes: number | undefined) {
    const workerData: ThreadData = {
      claims: this._claims.buffer as SharedArrayBuffer
    };
    this._worker = new Worker(programFile('pool-thread.mjs'), {
      workerData,
      ...(maxHeapMegabytes === undefined
        ? {}
        : { resourceLimits: { maxOldGenerationSizeMb: maxHeapMegabytes } })
    });
    // Not later: a thread that has ended says −1.
    this.workerId = this._worker.threadId;
    this.label = `thread ${this.workerId}`;
    this._worker.on('message', (message: FromWorker) =>
      events.onMessage(message)
    );
    this._worker.on('error', (error: unknown) => {
      this._error = error;
    });
    // A message cannot be read: without an error its receiver would wait for ever.
    this._worker.on('messageerror', error => {
      this._error = error;
      void this._worker.terminate();
    });
    this._worker.on('exit', (code: number) =>
      events.onEnd(
        this._error === undefined
          ? { how: `exited with code ${code}` }
          : { how: 'ended by an error that nothing caught', error: this._error }
      )
    );
  }

  post(message: ToWorker): void {
    if (message.type === 'run') {
      Atomics.store(this._claims, message.cell, 0);
    }
    this._worker.postMessage(message);
  }

  begun(cell: number): number {
    const begun = Atomics.load(this._claims, cell);
    return begun < TAKEN_BACK ? begun : this._begunBefore[cell]!;
  }

  takeBack(_pack: number, cell: number): number {
    const begun = Atomics.exchange(this._claims, cell, TAKEN_BACK);
    if (begun < TAKEN_BACK) {
      this._begunBefore[cell] = begun;
    }
    return this._begunBefore[cell]!;
  }

  hold(isNeeded: boolean): void {
    if (isNeeded) {
      this._worker.ref();
    } else {
      this._worker.unref();
    }
  }

  async kill(): Promise<void> {
    await this._worker.terminate();
  }
}
