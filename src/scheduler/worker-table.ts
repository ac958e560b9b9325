import { Int32List } from '../base/int-list';
import { Int32Queue } from '../base/int-queue';
import { BookedSum } from './booked-sum';
import { ClientQueue } from './client-queue';
import type { ClientTurns } from './client-turns';
import { NONE } from './edge-table';
import { type Amounts, WorkerResources } from './worker-resources';

/** Task → the worker that was asked to copy it, and when. */
type Asked = Map<number, { readonly taker: number; readonly at: number }>;

/** A run that was given up: of which function (its row in `FunctionDurations`), and when. */
type Lingering = { readonly row: number; readonly since: number };

/** What the scheduler knows of one worker. There are few workers, so these are objects. */
export class WorkerRecord {
  /** Its memory is full: it begins no task. */
  full = false;
  /** It is to leave, or to stay without work: see `retirement.ts`. */
  retiring = false;
  /** Of a retiring worker: the tasks whose results it holds; null: nobody has looked yet. */
  results: Set<number> | null = null;
  /** Of a retiring worker: results that no worker which stays holds, as far as they have been counted. */
  unmoved = 0;
  /** Of a retiring worker: which worker was asked to copy a result, and when. */
  moving: Asked = new Map();
  /** It is full, nothing runs there, and nothing frees memory. */
  stalled = false;
  /** Tasks in `Processing` here that run beside the threads, which others have. */
  secededCount = 0;
  /** The other tasks in `Processing` here, and the two ends of the list of all, oldest first. */
  processingCount = 0;
  /** Those of them that have all their inputs here, and those that lack inputs which other workers hold. */
  runnableCount = 0;
  fetchingCount = 0;
  /** When a run ended last, or had a thread at once: since then its threads are at what they are at. */
  busySince = 0;
  firstProcessing = NONE;
  lastProcessing = NONE;
  /** Of those tasks. */
  readonly processingSeconds = new BookedSum();
  /** The same by what their functions usually take; 0 for those that are not known. */
  readonly usualSeconds = new BookedSum();
  /** The bytes of their results, as far as results of their functions are known. */
  readonly resultBytes = new BookedSum();
  /** Tasks in `Queued` that are meant for this worker because of where their inputs are: those that have all inputs here. May hold dead entries. */
  readonly queue: ClientQueue;
  /** The same of those that lacked inputs here when they were queued. */
  readonly fetchQueue: ClientQueue;
  /** The roots that were dealt to it (`roots.ts`), apart, since what is queued of the others must be found behind them. */
  readonly rootQueue: ClientQueue;
  /** All three: a task that is queued for the worker has its living entry in one of them. */
  readonly queues: readonly ClientQueue[];
  /** Their living entries. */
  queuedCount = 0;
  /** Those of them that lacked inputs here. */
  lackingCount = 0;
  readonly queuedSeconds = new BookedSum();
  /** Of the roots among them (`roots.ts`), which are not in `queuedSeconds`. */
  readonly rootSeconds = new BookedSum();
  /** Tasks that were not shipped with their inputs only because there was no room. May hold dead entries. */
  readonly heldBack = new Int32Queue();
  /**
   * Runs that the worker has been asked to give back and has not answered for: by id, for an answer may come twice, with the worker that
   * would take them, or NONE.
   */
  readonly askedBack = new Map<number, number>();
  /** What tasks may hold of it, and what those in `Processing` here do. */
  readonly resources: WorkerResources;
  /** Runs that were given up and may go on here: by id, with the function's row and when that was. */
  readonly lingering = new Map<number, Lingering>();
  /** It is sent nothing until a thread is free: for a task that was at a worker when it died, and whose resources are free here. */
  isClearing = false;
  /** For how long they may go on, estimated when the present event came. */
  lingeringSeconds = 0;
  /** Bytes of the results that it holds. */
  storedBytes = 0;

  /** Instructions of the present batch. */
  readonly assignTasks = new Int32List();
  readonly assignRuns = new Int32List();
  readonly releaseTasks = new Int32List();
  readonly releaseHeld = new Int32List();
  readonly releaseRuns = new Int32List();
  readonly releaseBytes: number[] = [];
  readonly takeBackTasks = new Int32List();
  readonly takeBackRuns = new Int32List();
  readonly begunTasks = new Int32List();
  readonly begunRuns = new Int32List();
  readonly acquireTasks = new Int32List();
  /** Whether the lists above are in the buffer's list of workers to tell. */
  isTold = false;
  private readonly _names: ReadonlySet<string>;

  constructor(
    readonly id: number,
    readonly threads: number,
    readonly memoryLimit: number,
    readonly host: string,
    turns: ClientTurns,
    names: readonly string[] = [],
    resources: Amounts = {}
  ) {
    this.queue = new ClientQueue(turns);
    this.fetchQueue = new ClientQueue(turns);
    this.rootQueue = new ClientQueue(turns);
    this.queues = [this.queue, this.fetchQueue, this.rootQueue];
    this.resources = new WorkerResources(resources);
    this._names = new Set(names);
  }

  /** Answers to `takeBack` that are still to come. */
  get takeBacksPending(): number {
    return this.askedBack.size;
  }

  /** Tasks in `Processing` here. */
  get underWayCount(): number {
    return this.processingCount + this.secededCount;
  }

  /** Whether runs that were given up may go on here. */
  get goesOn(): boolean {
    return this.lingering.size > 0 || this.resources.hasKept;
  }

  /** Threads that are not taken, as far as is known, by runs that were given up. */
  get freeThreads(): number {
    return Math.max(0, this.threads - this.lingering.size);
  }

  /** Threads for which it has no task that could run, nor one whose inputs are on their way; less than 0: it has more tasks. */
  get idleThreads(): number {
    return this.freeThreads - this.runnableCount - this.fetchingCount;
  }

  /** It gets no tasks. */
  get paused(): boolean {
    return this.full || this.retiring;
  }

  /** Whether a restriction's word names this worker. */
  answersTo(named: number | string): boolean {
    return named === this.id || this._names.has(String(named));
  }

  /** Estimated seconds of work that the tasks in `Processing` have, those that have seceded apart. */
  get occupancy(): number {
    return this.processingSeconds.sum;
  }

  /** `load`, and the roots that wait for it. What comes after a root mostly runs before the next one. */
  get fullLoad(): number {
    return this.load + this.rootSeconds.sum / this.threads;
  }

  /** Estimated seconds until it has finished all tasks that are assigned to it or wait for it, roots that wait apart. */
  get load(): number {
    return (
      (this.processingSeconds.sum +
        this.queuedSeconds.sum +
        this.lingeringSeconds) /
      this.threads
    );
  }
}

/** The workers of the cluster, by id and as lists. */
export class WorkerTable {
  private _byId: (WorkerRecord | undefined)[] = [];
  private _all: WorkerRecord[] = [];
  private _version = 0;

  /** All workers, in the order in which they joined. */
  get all(): readonly WorkerRecord[] {
    return this._all;
  }

  /** Counts the workers that came or went. */
  get version(): number {
    return this._version;
  }

  get(id: number): WorkerRecord | undefined {
    return this._byId[id];
  }

  add(worker: WorkerRecord): void {
    this._byId[worker.id] = worker;
    this._all.push(worker);
    this._version++;
  }

  remove(worker: WorkerRecord): void {
    this._byId[worker.id] = undefined;
    this._all = this._all.filter(other => other !== worker);
    this._version++;
  }
}
