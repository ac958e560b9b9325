/**
 * A worker as the scheduler can come to know it: its table of tasks follows the real one (`spanwise/worker/tasks.py`) move for move, and values
 * are numbers that say how they were made. Nothing happens by itself: each step is taken by whoever drives the run.
 *
 * ```
 *   inbox ──obey──► queued ──begin──► running ──end──► values        finished rows ──flush──► outbox
 *                     └─ lacks inputs ─► fetches: asked ─► answered ─► arrived ─► outbox, before the finished rows that wait
 * ```
 *
 * What has finished is told in batches, with the copies that came meanwhile before it (at once, if nothing waits), and may be overtaken by the
 * other messages, as it is in the real worker.
 */
import { RunStatus } from '../../records/enumerations';
import type { Amounts } from '../../scheduler';

/** Something that must never be seen in a run. */
export class WrongRun extends Error {
  override readonly name = 'WrongRun';
}

/** One row of the message `assign`. Ids are outer ids. */
export type DrawnRow = {
  readonly task: number;
  readonly runId: number;
  readonly inputs: readonly { task: number; holder: number }[];
  /** Which function it calls: what the real row's template, chunk and row number say. */
  readonly work: DrawnWork;
};

/** What a task does when it runs. */
export type DrawnWork = {
  readonly salt: number;
  /** How one more run of it ends. */
  next(): 'ok' | 'raise' | 'kill' | 'reschedule';
  readonly secedes: boolean;
  /** What it holds of its worker while it runs. */
  readonly need: Amounts;
};

export type ToDrawnWorker =
  | { type: 'assign'; rows: DrawnRow[] }
  | { type: 'release'; tasks: number[]; held: boolean[] }
  | { type: 'acquire'; items: { task: number; holder: number }[] }
  | { type: 'takeBack'; runs: { task: number; runId: number }[] };

type FinishedRow = {
  readonly task: number;
  readonly runId: number;
  readonly status: RunStatus;
};

export type FromDrawnWorker =
  | {
      type: 'finished';
      rows: FinishedRow[];
      missing: { task: number; holder: number }[];
    }
  | { type: 'replicas'; added: number[]; removed: number[] }
  | {
      type: 'takenBack';
      rows: { task: number; runId: number; taken: boolean }[];
    }
  | { type: 'seceded'; task: number; runId: number; back: boolean };

/** An input on its way from a peer. */
type DrawnFetch = {
  readonly task: number;
  readonly peer: number;
  /** Null: the peer has not answered yet; undefined: it does not have it. */
  value: number | undefined | null;
};

type Waiting = { readonly row: DrawnRow; lacking: number };

type Run = {
  readonly row: DrawnRow;
  readonly inputs: readonly number[];
  seceded: boolean;
  hadThread: boolean;
};

export class DrawnWorker {
  readonly inbox: ToDrawnWorker[] = [];
  readonly outbox: FromDrawnWorker[] = [];
  readonly values = new Map<number, number>();
  /** From assignment until a thread takes it. */
  readonly queued = new Map<number, DrawnRow>();
  /** Runs on threads, or beside them. */
  readonly runs: Run[] = [];
  /** Every fetch that is under way, those too that nobody waits for any more. */
  readonly fetching: DrawnFetch[] = [];
  /** Memory is short: no run begins. */
  isPaused = false;
  /** The process takes no step at all. */
  isStopped = false;
  private readonly _runnable: DrawnRow[] = [];
  /** Task → the run whose result will be kept. */
  private readonly _kept = new Map<number, number>();
  private readonly _waiters = new Map<number, Waiting[]>();
  private readonly _fetches = new Map<number, DrawnFetch>();
  private _copies: number[] = [];
  private _finished: FinishedRow[] = [];
  private _missing: { task: number; holder: number }[] = [];

  constructor(
    readonly id: number,
    readonly threads: number,
    private readonly _resources: Amounts
  ) {}

  /** Whether there is nothing that it could still do or say by itself. */
  get isEmpty(): boolean {
    return (
      this.queued.size + this.runs.length + this.fetching.length === 0 &&
      this._kept.size === 0
    );
  }

  get canBegin(): boolean {
    return (
      !this.isPaused &&
      this._runnable.length > 0 &&
      this._onThreads < this.threads
    );
  }

  get canFlush(): boolean {
    return this._finished.length > 0;
  }

  obey(message: ToDrawnWorker): void {
    switch (message.type) {
      case 'assign':
        message.rows.forEach(row => this._assign(row));
        return;
      case 'release':
        return this._releaseAll(message.tasks, message.held);
      case 'acquire':
        this._acquire(message.items);
        return;
      case 'takeBack':
        this._takeBack(message.runs);
    }
  }

  /** The next runnable task gets a thread. */
  begin(): void {
    while (this._runnable.length > 0) {
      const row = this._runnable.shift()!;
      if (this.queued.get(row.task) === row) {
        this.queued.delete(row.task);
        this._kept.set(row.task, row.runId);
        this._start(row);
        return;
      }
    }
  }

  /** A run secedes, comes back, or ends. @returns whether it has killed its process. */
  proceed(run: Run, isEnd: boolean): boolean {
    const { row } = run;
    if (row.work.secedes && !isEnd && run.hadThread) {
      run.hadThread = false;
      run.seceded = true;
      this._sayOfSeceding(row, false);
      return false;
    }
    if (run.seceded && !isEnd && this._onThreads < this.threads) {
      run.seceded = false;
      this._sayOfSeceding(row, true);
      return false;
    }
    return this._end(run);
  }

  flush(): void {
    if (this._copies.length > 0) {
      this.outbox.push({ type: 'replicas', added: this._copies, removed: [] });
      this._copies = [];
    }
    if (this._finished.length > 0) {
      this.outbox.push({
        type: 'finished',
        rows: this._finished,
        missing: this._missing
      });
      this._finished = [];
      this._missing = [];
    }
  }

  /** What a peer answered has come. */
  arrive(fetch: DrawnFetch): void {
    this.fetching.splice(this.fetching.indexOf(fetch), 1);
    const { task, value } = fetch;
    if (this._fetches.get(task) !== fetch) {
      return; // released meanwhile
    }
    this._fetches.delete(task);
    if (value === undefined || value === null) {
      this._giveUp(task, fetch.peer);
      this.flush();
      return;
    }
    this.values.set(task, value);
    this._came(task);
    this._copies.push(task);
    if (!this.canFlush) {
      this.flush();
    }
  }

  /** Data that a client has put here gets its id. */
  adopt(task: number, value: number): void {
    this.values.set(task, value);
    this._came(task);
  }

  /** It drops what it holds, and says so. */
  lose(task: number): void {
    this.values.delete(task);
    this.outbox.push({ type: 'replicas', added: [], removed: [task] });
  }

  private get _onThreads(): number {
    let count = 0;
    for (const run of this.runs) {
      count += run.seceded ? 0 : 1;
    }
    return count;
  }

  private _sayOfSeceding({ task, runId }: DrawnRow, back: boolean): void {
    this.outbox.push({ type: 'seceded', task, runId, back });
  }

  private _assign(row: DrawnRow): void {
    const absent = row.inputs.filter(({ task }) => !this.values.has(task));
    const gone = absent.filter(
      ({ task, holder }) => holder === this.id && !this._comes(task)
    );
    if (gone.length > 0) {
      this._lack(row, gone);
      this.flush();
      return;
    }
    this.queued.set(row.task, row);
    if (absent.length === 0) {
      this._runnable.push(row);
      return;
    }
    const waiting = { row, lacking: absent.length };
    for (const { task, holder } of absent) {
      if (!this._comes(task)) {
        this._fetch(task, holder);
      }
      this._waitersOf(task).push(waiting);
    }
  }

  private _acquire(items: readonly { task: number; holder: number }[]): void {
    for (const { task, holder } of items) {
      // Of what it has it has told.
      if (!this.values.has(task) && holder !== this.id && !this._comes(task)) {
        this._fetch(task, holder);
      }
    }
  }

  private _takeBack(runs: readonly { task: number; runId: number }[]): void {
    const rows: { task: number; runId: number; taken: boolean }[] = [];
    for (const { task, runId } of runs) {
      const taken = this.queued.get(task)?.runId === runId;
      if (taken) {
        this.queued.delete(task);
      }
      rows.push({ task, runId, taken });
    }
    this.outbox.push({ type: 'takenBack', rows });
    rows
      .filter(({ taken }) => taken)
      .forEach(r => this._giveUp(r.task, this.id));
    this.flush();
  }

  private _releaseAll(
    tasks: readonly number[],
    held: readonly boolean[]
  ): void {
    const uncounted = tasks.filter(
      (task, i) => held[i] === false && this.values.has(task)
    );
    tasks.forEach(task => this._release(task));
    tasks.forEach(task => this._giveUp(task, this.id));
    if (uncounted.length > 0) {
      this.flush();
      this.outbox.push({ type: 'replicas', added: [], removed: uncounted });
    }
  }

  private _release(task: number): void {
    this.values.delete(task);
    this._kept.delete(task);
    this._fetches.delete(task);
    this.queued.delete(task);
  }

  private _start(row: DrawnRow): void {
    const inputs: number[] = [];
    for (const { task } of row.inputs) {
      const value = this.values.get(task);
      if (value === undefined) {
        this._failed(row);
        this._lack(row, [{ task, holder: this.id }]);
        return;
      }
      inputs.push(value);
    }
    this.runs.push({ row, inputs, seceded: false, hadThread: true });
    this._checkResources();
  }

  /** What runs here, those too that were given up, holds no more than there is. */
  private _checkResources(): void {
    const held = new Map<string, number>();
    for (const { row } of this.runs) {
      for (const [name, amount] of Object.entries(row.work.need)) {
        held.set(name, (held.get(name) ?? 0) + amount);
      }
    }
    for (const [name, amount] of held) {
      if (amount > (this._resources[name] ?? -1) + 1e-9) {
        throw new WrongRun(
          `Tasks hold ${amount} ${name} of worker ${this.id}.`
        );
      }
    }
  }

  private _end(run: Run): boolean {
    const { row, inputs } = run;
    this.runs.splice(this.runs.indexOf(run), 1);
    const outcome = row.work.next();
    if (outcome === 'kill') {
      return true;
    }
    if (outcome === 'ok') {
      if (this._kept.get(row.task) === row.runId) {
        this._kept.delete(row.task);
        this.values.set(row.task, valueOf(row.work.salt, inputs));
        this._came(row.task);
      }
      this._tell(row, RunStatus.Ok);
      return false;
    }
    this._tell(
      row,
      outcome === 'raise' ? RunStatus.Failed : RunStatus.Rescheduled
    );
    this._failed(row);
    return false;
  }

  private _failed({ task, runId }: DrawnRow): void {
    if (this._kept.get(task) === runId) {
      this._kept.delete(task);
      this._giveUp(task, this.id);
    }
  }

  private _tell({ task, runId }: DrawnRow, status: RunStatus): void {
    this._finished.push({ task, runId, status });
  }

  private _lack(row: DrawnRow, lost: { task: number; holder: number }[]): void {
    this._tell(row, RunStatus.Missing);
    this._missing.push(...lost);
  }

  /** Drops the tasks that wait for this one, and those that wait for them. */
  private _giveUp(task: number, holder: number): void {
    const pending = [{ task, holder }];
    for (const lost of pending) {
      const waiters = this._waiters.get(lost.task) ?? [];
      this._waiters.delete(lost.task);
      for (const { row } of waiters) {
        if (this.queued.get(row.task) === row) {
          this.queued.delete(row.task);
          this._lack(row, [lost]);
          pending.push({ task: row.task, holder: this.id });
        }
      }
    }
  }

  private _came(task: number): void {
    const waiters = this._waiters.get(task) ?? [];
    this._waiters.delete(task);
    for (const waiting of waiters) {
      waiting.lacking--;
      if (
        waiting.lacking === 0 &&
        this.queued.get(waiting.row.task) === waiting.row
      ) {
        this._runnable.push(waiting.row);
      }
    }
  }

  private _fetch(task: number, peer: number): void {
    const fetch: DrawnFetch = { task, peer, value: null };
    this._fetches.set(task, fetch);
    this.fetching.push(fetch);
  }

  private _comes(task: number): boolean {
    return (
      this.queued.has(task) || this._kept.has(task) || this._fetches.has(task)
    );
  }

  private _waitersOf(task: number): Waiting[] {
    let waiters = this._waiters.get(task);
    if (waiters === undefined) {
      this._waiters.set(task, (waiters = []));
    }
    return waiters;
  }
}

/** The result of a task: any other function, input or order of inputs gives another number. */
export function valueOf(salt: number, inputs: readonly number[]): number {
  let hash = Math.imul(salt + 1, 0x9e3779b1);
  for (const input of inputs) {
    hash = Math.imul(hash ^ input, 0x85ebca6b);
    hash ^= hash >>> 13;
    hash = Math.imul(hash, 0xc2b2ae35) + 1;
  }
  return hash >>> 0;
}
