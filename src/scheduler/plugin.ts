/**
 * What a module that is loaded into the scheduler's process may be told: see docs/scheduler-plugins.md. Types only, so that who writes such
 * a module needs nothing else: the npm package has them.
 */

/**
 * The state of a task in words, Dask's.
 *
 * @group Scheduler plugins
 * @example
 * ```ts
 * import type { TaskStateName } from 'spanwise';
 *
 * const ended: TaskStateName[] = ['memory', 'erred'];
 * console.log(ended.includes('memory')); // → true
 * ```
 */
export type TaskStateName =
  | 'released'
  | 'waiting'
  | 'no-worker'
  | 'queued'
  | 'processing'
  | 'memory'
  | 'erred'
  | 'forgotten';

/**
 * A stretch of a run; in seconds of the wall clock.
 *
 * @group Scheduler plugins
 * @example
 * ```ts
 * import type { RunPart } from 'spanwise';
 *
 * const part: RunPart = { action: 'compute', start: 10, stop: 12.5 };
 * console.log(part.stop - part.start); // → 2.5
 * ```
 */
export type RunPart = {
  /** compute, transfer, disk-read, disk-write, deserialize, serialize or import. */
  readonly action: string;
  /** When it began. */
  readonly start: number;
  /** When it ended. */
  readonly stop: number;
  /** Of a transfer: the address of the worker that has sent. */
  readonly source?: string;
};

/**
 * What is known when a task moves. Times are seconds of the wall clock.
 *
 * @group Scheduler plugins
 * @example
 * ```ts
 * import type { TransitionFacts } from 'spanwise';
 *
 * const isLarge = ({ nbytes = 0 }: TransitionFacts) => nbytes > 1e6;
 * console.log(isLarge({ time: 0, stimulus: 'finished-7', nbytes: 8e6 })); // → true
 * ```
 */
export type TransitionFacts = {
  /** When it moved. */
  readonly time: number;
  /** The event that moved it, and how many there were before. */
  readonly stimulus: string;
  /** The address of the worker that has it or had it; left out: none. */
  readonly worker?: string;
  /** Of a run that ended (to *memory* or *erred*): the system's number of its thread. */
  readonly thread?: number;
  /** Of a run that ended: what it did. */
  readonly startstops?: readonly RunPart[];
  /** To *memory*: bytes of the result. */
  readonly nbytes?: number;
  /** To *memory*: the name of the result's class, `module:qualified name`. */
  readonly typename?: string;
  /** To *erred*: the key of the task that failed first. */
  readonly cause?: string;
  /** To *erred*, of a task that failed itself: its error. */
  readonly exceptionText?: string;
  /** To *erred*, of a task that failed itself: the traceback of its error. */
  readonly tracebackText?: string;
};

/**
 * A graph, or a part of a large one, that a client has submitted.
 *
 * @group Scheduler plugins
 * @example
 * ```ts
 * import type { SubmittedGraph } from 'spanwise';
 *
 * const size = ({ tasks }: SubmittedGraph) => tasks.size;
 * console.log(
 *   size({
 *     client: 'client-0',
 *     keys: ['b'],
 *     tasks: new Map([
 *       ['a', []],
 *       ['b', ['a']]
 *     ]),
 *     stimulus: 'update-graph-1'
 *   })
 * ); // → 2
 * ```
 */
export type SubmittedGraph = {
  /** `client-0` and so on. */
  readonly client: string;
  /** What the client wants the results of. */
  readonly keys: readonly string[];
  /** All tasks that are new, each with what it needs. */
  readonly tasks: ReadonlyMap<string, readonly string[]>;
  /** The event that brought it. */
  readonly stimulus: string;
};

/**
 * A worker of the cluster.
 *
 * @group Scheduler plugins
 * @example
 * ```ts
 * import type { PluginWorker } from 'spanwise';
 *
 * const describe = ({ name, threads }: PluginWorker) => `${name} ${threads}`;
 * const address = 'tcp://127.0.0.1:4000';
 * console.log(describe({ address, name: 'a', threads: 2, memoryLimit: 0 })); // → a 2
 * ```
 */
export type PluginWorker = {
  /** What a move names it by. */
  readonly address: string;
  /** As its cluster calls it. */
  readonly name: string;
  /** How many tasks it runs at a time. */
  readonly threads: number;
  /** Bytes; 0: none. */
  readonly memoryLimit: number;
};

/**
 * Watches the scheduler of a cluster from within its process. Every method may be left out. They are called in the order in which things
 * happened, once the scheduler has decided what follows from them; one that throws is reported, and its plugin removed.
 *
 * @group Scheduler plugins
 * @example
 * ```ts
 * import type { SchedulerPlugin } from 'spanwise';
 *
 * const plugin: SchedulerPlugin = {
 *   transition(key, start, finish) {
 *     console.log(key, start, finish);
 *   }
 * };
 * // As the scheduler does:
 * plugin.transition?.('a', 'released', 'waiting', { time: 0, stimulus: 'e-1' });
 * // → a released waiting
 * ```
 */
export type SchedulerPlugin = {
  /** A task has moved. */
  transition?(
    key: string,
    start: TaskStateName,
    finish: TaskStateName,
    facts: TransitionFacts
  ): void | Promise<void>;
  /** A graph has come. */
  updateGraph?(graph: SubmittedGraph): void | Promise<void>;
  /** A worker has joined. */
  addWorker?(worker: PluginWorker): void | Promise<void>;
  /**
   * A worker has left, and its tasks have moved.
   *
   * @param why - half a sentence.
   */
  removeWorker?(worker: PluginWorker, why: string): void | Promise<void>;
  /** A client has come. */
  addClient?(client: string): void | Promise<void>;
  /** A client has gone. */
  removeClient?(client: string): void | Promise<void>;
  /** The workers were restarted. */
  restart?(): void | Promise<void>;
  /** It is unregistered, or the cluster ends. */
  close?(): void | Promise<void>;
};

/**
 * What such a module exports: a plugin, or a function that makes one of the options that it was registered with.
 *
 * @group Scheduler plugins
 * @example
 * ```ts
 * import type { ModulePlugin } from 'spanwise';
 *
 * const module: ModulePlugin<{ readonly limit: number }> = ({ limit }) => ({
 *   transition(key, _start, finish, { nbytes = 0 }) {
 *     if (finish === 'memory' && nbytes > limit) {
 *       console.log(`${key} is large`);
 *     }
 *   }
 * });
 * export default module;
 * console.log(typeof module); // → function
 * ```
 */
export type ModulePlugin<Options = Readonly<Record<string, unknown>>> =
  | SchedulerPlugin
  | ((options: Options) => SchedulerPlugin | Promise<SchedulerPlugin>);
