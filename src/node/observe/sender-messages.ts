/** Between a program that is observed and the thread beside it that sends. */
import type { Doorbell } from '../../link/ring-doorbell';
import type { LogDescription, LogEnd } from './log-sink';

export type SenderData = {
  /** Asked in this order. */
  readonly doorbells: readonly Doorbell[];
  /** The connection file that was named, for a server that is started again. */
  readonly connection: string | undefined;
  readonly description: LogDescription;
  /** The memory of a {@link RunningBoard}. */
  readonly running: SharedArrayBuffer;
  /** One cell: 1 once everything is delivered after `end`, or will never be. For a thread that may not wait for messages. */
  readonly ended: SharedArrayBuffer;
};

export type ToSender =
  | {
      readonly type: 'block';
      readonly bytes: Uint8Array<ArrayBuffer>;
      readonly at: number;
    }
  /** A process computes: its memory is to be measured. */
  | { readonly type: 'process'; readonly worker: number; readonly pid: number }
  /** → `delivered` */
  | { readonly type: 'flush'; readonly request: number }
  /** → `ended` */
  | {
      readonly type: 'end';
      readonly why: LogEnd;
      readonly at: number;
      readonly limitSeconds: number;
    };

export type FromSender =
  | { readonly type: 'delivered'; readonly request: number }
  | { readonly type: 'ended' }
  /** Nobody will get the log. */
  | { readonly type: 'nobody'; readonly sentence: string }
  /** For the user; sending goes on. */
  | { readonly type: 'warning'; readonly sentence: string }
  | { readonly type: 'processEnded'; readonly worker: number };
