/** What a pool needs of a worker, be it a thread or a process. */
import type { FromWorker, ToWorker } from './messages';

export type WorkerEvents = {
  onMessage(message: FromWorker): void;
  /** Once; nothing comes after it. */
  onEnd(cause: WorkerEnd): void;
};

/** Why a worker is gone: `exited with code 3`, `was killed by SIGKILL`, and the error behind it if there was one. */
export type WorkerEnd = { readonly how: string; readonly error?: unknown };

export interface IWorkerTransport {
  /** `threadId` or `pid`. */
  readonly workerId: number;
  /** `thread 3`, `process 4711`. */
  readonly label: string;
  /** How many packs it can hold at a time. */
  readonly packLimit: number;
  /** Whether tasks that it has not begun can be taken back for certain. */
  readonly canTakeBack: boolean;
  /** @throws if something in the message cannot be sent. */
  post(message: ToWorker, values: readonly unknown[]): void;
  /** Tasks of the pack in this cell that the worker has begun; null if that cannot be known. */
  begun(cell: number): number | null;
  /** Stops the pack before its next task. @returns as {@link begun}. */
  takeBack(pack: number, cell: number): number | null;
  /** Whether this process shall stay alive for the worker. */
  hold(isNeeded: boolean): void;
  /** Ends it now, whatever it does. Resolves when it is gone. */
  kill(): Promise<void>;
}
