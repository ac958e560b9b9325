/**
 * What a pool and its workers say to each other. Tasks go out in packs and results come back in batches: one message costs a few
 * microseconds and wakes a thread, a small task costs less than one.
 */
import type { PortableForm } from '../graph/portable-form';
import type { Measures } from './task-meter';

/** A function as a worker is told it. */
export type SentFunction = {
  readonly form: PortableForm;
  /** The modules whose import began the run that sends it, each imported by a worker of the one before; mostly none. */
  readonly within: readonly string[];
};

/** Told to each worker once, with the first pack that may call it; from that pack on the id is this function's. */
export type FunctionDefinition = SentFunction & { readonly id: number };

/**
 * Tasks for one worker, run in order.
 *
 * ```
 *   add(1, 2), neg(5), add(3, 4)    calls  7 2  8 1  7 2      function's id, number of arguments
 *                                   args   1 2  5    3 4
 * ```
 *
 * Calls that are all alike, as most packs have them, are told once: `calls` is then one pair, whatever `count` is.
 */
export type RunMessage = {
  readonly type: 'run';
  readonly pack: number;
  /** The place in the claim cells that worker and pool share; −1 without. */
  readonly cell: number;
  /** Of each task, for an observer that wants to know when it ran, or also what it used. */
  readonly measures: Measures;
  readonly define: readonly FunctionDefinition[];
  readonly count: number;
  readonly calls: readonly number[];
  readonly args: readonly unknown[];
  /** Arguments of several tasks are, or may be, one object: each task must get its own copy. */
  readonly isShared: boolean;
};

/** In `calls`, in place of the number of arguments: the one entry in `args` is an encoded tree, because a call is nested in it. */
export const NESTED = -1;

/** Stops a pack before its next task, where there are no claim cells. */
type CancelMessage = { readonly type: 'cancel'; readonly pack: number };

/** What to do before the first pack; answered by an {@link InitializedMessage}. */
export type InitializeMessage = SentFunction & {
  readonly type: 'initialize';
  readonly args: readonly unknown[];
};

export type ToWorker = RunMessage | CancelMessage | InitializeMessage;

type ReadyMessage = { readonly type: 'ready' };

/** With a failure the worker runs no pack: the pool ends it. */
export type InitializedMessage = {
  readonly type: 'initialized';
  readonly failure?: RemoteFailure;
};

/** Results of the next tasks of a pack, in order. */
export type ResultsMessage = {
  readonly type: 'results';
  readonly pack: number;
  readonly values: readonly unknown[];
  /** The task after `values` failed; nothing of this pack runs after it. */
  readonly failure?: RemoteFailure;
  /** Per function that ran: its id, how often, milliseconds in all. */
  readonly timings: readonly number[];
  /** For a measured pack: the numbers of a {@link TaskMeter} for each task that has ended since the message before. */
  readonly measures?: readonly number[];
  /** The worker is done with the pack. */
  readonly ended: boolean;
};

/** What was written to the worker's standard output (1) or error (2), text or bytes; it overtakes no result. */
export type OutputMessage = {
  readonly type: 'output';
  readonly stream: 1 | 2;
  readonly chunk: string | Uint8Array;
};

export type FromWorker =
  | ReadyMessage
  | InitializedMessage
  | ResultsMessage
  | OutputMessage;

/** What a task threw, in a form that can be sent: structured cloning would forget class, code and more. */
export type RemoteFailure =
  | { readonly kind: 'value'; readonly value: unknown }
  | {
      readonly kind: 'unsendable';
      /** Where in the result, and what it is: `result.handler is a function`. */
      readonly what: string;
    }
  | RemoteErrorRecord;

export type RemoteErrorRecord = {
  readonly kind: 'error';
  readonly className: string;
  readonly name: string;
  readonly message: string;
  readonly stack: string;
  readonly cause?: RemoteFailure;
  /** Of an AggregateError. */
  readonly errors?: readonly RemoteFailure[];
  /** Further own properties that can be sent, such as `code`. */
  readonly properties: Readonly<Record<string, unknown>>;
};
