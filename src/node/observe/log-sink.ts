/**
 * Whose log it is and when it began: the first thing that a sink is told.
 *
 * @group Observing
 * @example
 * ```ts
 * import { createRecorder, type LogDescription } from 'spanwise';
 *
 * const described: LogDescription[] = [];
 * const recorder = createRecorder({
 *   name: 'fetcher',
 *   into: {
 *     open: description => described.push(description),
 *     write: () => undefined,
 *     flush: () => Promise.resolve(),
 *     end: () => Promise.resolve()
 *   }
 * });
 * await recorder.close();
 * console.log(described[0]?.name, described[0]?.kind); // → fetcher local
 * ```
 */
export type LogDescription = {
  /** Names this log and no other one. */
  readonly logId: string;
  /** Of the program, as panels choose it. */
  readonly clusterId: string;
  /** As panels show it. */
  readonly name: string;
  /** What kind of source it is. */
  readonly kind: 'local';
  /** Wall clock at the log's start, seconds since the epoch. */
  readonly wallEpoch: number;
  /** The same moment on the steady clock of this machine (`process.hrtime`), seconds. */
  readonly start: number;
  /** Of the process that is recorded. */
  readonly pid: number;
  /** Of what the process runs on. */
  readonly versions: Readonly<Record<string, string>>;
  /** Which measures it takes. */
  readonly capabilities: Readonly<Record<string, boolean>>;
};

/**
 * Takes a record log, block by block. {@link observerSink} makes the one that leads to JupyterLab's panels.
 *
 * @group Observing
 * @example
 * ```ts
 * import { createRecorder, type LogSink } from 'spanwise';
 *
 * const blocks: Uint8Array[] = [];
 * const memory: LogSink = {
 *   open: () => undefined,
 *   write: block => blocks.push(block),
 *   flush: () => Promise.resolve(),
 *   end: () => Promise.resolve()
 * };
 * const recorder = createRecorder({ name: 'fetcher', into: memory });
 * recorder.begin({ key: 'fetch-1' }).end();
 * await recorder.close();
 * console.log(blocks.length > 0); // → true
 * ```
 */
export type LogSink = {
  /** Called once, before all blocks. */
  open(description: LogDescription): unknown;
  /**
   * Takes the next block, which is the sink's from now on; never waits.
   *
   * @param block - docs/contracts.md §6.
   * @param at - when it was sealed, in seconds since the log's start.
   */
  write(block: Uint8Array<ArrayBuffer>, at: number): unknown;
  /** Resolves when everything that was written is where it belongs, or cannot get there. */
  flush(): Promise<void>;
  /**
   * The log ends; nothing comes after it.
   *
   * @returns a promise as that of `flush`.
   */
  end(why: LogEnd, at: number): Promise<void>;
  /** The same, but the process ends: there is no time for promises. Not called after `end`. */
  endNow?(why: LogEnd, at: number): void;
  /** After `end` or `endNow`, when the process ends: waits for it to be done, until `limitMs` on the clock of `performance.now()`. */
  waitNow?(limitMs: number): void;
};

/**
 * Why a log ends: its writer has stopped, or the process ends.
 *
 * @group Observing
 * @example
 * ```ts
 * import type { LogEnd } from 'spanwise';
 *
 * const why: LogEnd = 'closed';
 * console.log(why); // → closed
 * ```
 */
export type LogEnd = 'closed' | 'kernel-ended';
