/**
 * What a module that is loaded into the scheduler's process may be told: see docs/scheduler-plugins.md. Types only, so that who writes such
 * a module needs nothing else.
 */

/** The state of a task in words, Dask's. */
export type TaskStateName =
  | 'released'
  | 'waiting'
  | 'no-worker'
  | 'queued'
  | 'processing'
  | 'memory'
  | 'erred'
  | 'forgotten';

/** A stretch of a run; in seconds of the wall clock. */
export type RunPart = {
  /** compute, transfer, disk-read, disk-write, deserialize, serialize or import. */
  readonly action: string;
  readonly start: number;
  readonly stop: number;
  /** Of a transfer: the address of the worker that has sent. */
  readonly source?: string;
};

/** What is known when a task moves. Times are seconds of the wall clock. */
export type TransitionFacts = {
  /** When it moved. */
  readonly time: number;
  /** The event that moved it, and how many there were before. */
  readonly stimulus: string;
  /** The address of the worker that has it or had it; left out: none. */
  readonly worker?: string;
  /** Of a run that ended (to *memory* or *erred*): which thread of the system it was, and what it did. */
  readonly thread?: number;
  readonly startstops?: readonly RunPart[];
  /** To *memory*: bytes of the result, and the name of its class, `module:qualified name`. */
  readonly nbytes?: number;
  readonly typename?: string;
  /** To *erred*: the key of the task that failed first, and its error as text. */
  readonly cause?: string;
  readonly exceptionText?: string;
  readonly tracebackText?: string;
};

/** A graph, or a part of a large one, that a client has submitted. */
type SubmittedGraph = {
  readonly client: string;
  /** What the client wants the results of. */
  readonly keys: readonly string[];
  /** All tasks that are new, each with what it needs. */
  readonly tasks: ReadonlyMap<string, readonly string[]>;
  readonly stimulus: string;
};

/** A worker of the cluster. */
export type PluginWorker = {
  readonly address: string;
  readonly name: string;
  readonly threads: number;
  /** Bytes; 0: none. */
  readonly memoryLimit: number;
};

/**
 * Watches the scheduler from within its process. Every method may be left out. They are called in the order in which things happened, once
 * the scheduler has decided what follows from them; one that throws is reported, and its plugin removed.
 */
export type SchedulerPlugin = {
  transition?(
    key: string,
    start: TaskStateName,
    finish: TaskStateName,
    facts: TransitionFacts
  ): void;
  updateGraph?(graph: SubmittedGraph): void;
  addWorker?(worker: PluginWorker): void;
  /** @param why - half a sentence. */
  removeWorker?(worker: PluginWorker, why: string): void;
  addClient?(client: string): void;
  removeClient?(client: string): void;
  /** The workers were restarted. */
  restart?(): void;
  /** It is unregistered, or the cluster ends. */
  close?(): void;
};
