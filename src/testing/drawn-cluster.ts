/**
 * A drawn embedded cluster: what happened in it as plain facts, and the same told to the source by the messages that its workers would send.
 *
 * Unlike in every way that could hide a mistake: tasks have one to three runs, spans nest three deep, no two sizes, CPU times or waits are
 * alike, the newest sample is not the largest, workers have 2, 1 and 3 threads, and one of them dies in the middle of a run.
 *
 * Times are whole ticks of 1/64 s, so that they are exact in float32, in nanoseconds, and in the 1,024 bins of the account of idle time:
 * the first task is submitted at 0, and the last run ends at 16 s.
 */
import { arrayOf } from '../base/typed-arrays';
import { SeededRandom } from '../base/seeded-random';
import { decodeBlock, type Block } from '../records/block';
import {
  ClockChange,
  NONE_U16,
  NONE_U32,
  PartKind,
  RunStatus,
  SpanOrigin,
  StoredKind,
  TaskOrigin,
  TransferStatus
} from '../records/enumerations';
import {
  DEFAULT_SPAN,
  type DenseTaskId,
  type OuterTaskId,
  type SpanId
} from '../records/ids';
import { idOf } from './ids';
import {
  EmbeddedClusterLog,
  type MeasuredTable,
  type TaskFacts
} from '../sources';
import type { FinishedTables } from '../sources/embedded-cluster';

export const TICK = 1 / 64;
export const TICKS = 1024;
/** The monotonic clock at the scheduler's start. */
const START = 4096;

export type SpanFact = {
  readonly id: SpanId;
  readonly parent: SpanId;
  readonly tag: string;
  readonly client: number;
  readonly opened: number;
  readonly closed: number | null;
  readonly origin: SpanOrigin;
  readonly uuid: string;
  readonly reused: number;
  readonly code: string;
};
type ClientFact = {
  readonly client: number;
  readonly joined: number;
  /** Infinity: it is connected. */
  readonly left: number;
  readonly name: string;
  readonly kernel: string;
  readonly path: string;
};
type WorkerFact = {
  readonly worker: number;
  readonly pid: number;
  readonly threads: number;
  readonly memoryLimit: number;
  readonly name: string;
  readonly address: string;
  readonly host: string;
  readonly joined: number;
  /** Infinity: it lives. */
  readonly left: number;
  /** Of its thread 0; the others follow. */
  readonly firstLane: number;
};
type TaskFact = {
  readonly node: number;
  readonly group: string;
  readonly suffix: string;
  readonly function: string;
  readonly span: SpanId;
  readonly origin: TaskOrigin;
  readonly submitted: number;
  readonly inputs: readonly number[];
};
export type PartFact = {
  readonly kind: PartKind;
  readonly held: boolean;
  readonly function: string;
  readonly span: SpanId;
  readonly from: number;
  readonly offset: number;
  readonly duration: number;
  readonly cpu: number;
  readonly coreWait: number;
  readonly bytes: number;
};
export type RunFact = {
  readonly run: number;
  readonly task: TaskFact;
  readonly worker: WorkerFact;
  readonly thread: number;
  readonly status: RunStatus;
  readonly attempt: number;
  readonly start: number;
  readonly duration: number;
  readonly waitReady: number;
  readonly waitInputs: number;
  readonly waitThread: number;
  readonly cpu: number;
  readonly nbytes: number;
  /** Of the result; null: there is none. */
  readonly type: string | null;
  readonly parts: readonly PartFact[];
  readonly error: string | null;
};
/** From `since` on this thread of the process runs the tasks of a lane. */
type ThreadFact = {
  readonly worker: WorkerFact;
  readonly thread: number;
  readonly since: number;
  readonly ident: number;
};
/** A run that had not ended when the log does. */
type GoingFact = Pick<RunFact, 'run' | 'task' | 'worker' | 'thread'> & {
  readonly started: number;
  /** When the scheduler gave it up; null: it did not. */
  readonly givenUp: number | null;
};
type TransferFact = {
  readonly start: number;
  readonly duration: number;
  readonly from: number;
  readonly to: number;
  readonly bytes: number;
  readonly keys: number;
  readonly task: TaskFact;
  readonly span: SpanId;
  readonly type: string;
};
type StoredFact = {
  readonly t: number;
  readonly worker: number;
  readonly span: SpanId;
  readonly function: string;
  readonly kind: StoredKind;
  readonly change: number;
};
type MemoryFact = {
  readonly t: number;
  readonly worker: number;
  readonly process: number;
  readonly managed: number;
  readonly spilled: number;
  readonly unmanagedOld: number;
};
/** worker: NONE_U16 is the scheduler. */
type SystemFact = Readonly<
  Record<Exclude<keyof MeasuredTable<'system'>, 'rows'> | 'worker', number>
>;
type ClockFact = {
  readonly t: number;
  readonly worker: number;
  readonly offset: number;
  readonly within: number;
  readonly drift: number;
  readonly why: ClockChange;
};
type FineFact = {
  readonly t: number;
  readonly worker: number;
  readonly context: string;
  readonly span: SpanId;
  readonly function: string;
  readonly activity: string;
  readonly unit: string;
  readonly value: number;
};
export type ClusterFacts = {
  readonly clients: readonly ClientFact[];
  readonly spans: readonly SpanFact[];
  readonly workers: readonly WorkerFact[];
  /** In the order of `since`. */
  readonly threads: readonly ThreadFact[];
  readonly tasks: readonly TaskFact[];
  /** In the order in which the source hears of their ends. */
  readonly runs: readonly RunFact[];
  readonly going: readonly GoingFact[];
  readonly transfers: readonly TransferFact[];
  readonly stored: readonly StoredFact[];
  readonly memory: readonly MemoryFact[];
  readonly system: readonly SystemFact[];
  readonly clocks: readonly ClockFact[];
  readonly fine: readonly FineFact[];
};

const FUNCTIONS = ['load', 'inc', 'sum-partial', 'fit'];
const SPANS: readonly Omit<
  SpanFact,
  'opened' | 'closed' | 'uuid' | 'reused' | 'code'
>[] = [
  {
    id: idOf(1),
    parent: idOf(0),
    tag: 'first.ipynb',
    client: 1,
    origin: SpanOrigin.Notebook
  },
  {
    id: idOf(2),
    parent: idOf(1),
    tag: '[3]',
    client: 1,
    origin: SpanOrigin.Cell
  },
  {
    id: idOf(3),
    parent: idOf(2),
    tag: 'load',
    client: 1,
    origin: SpanOrigin.User
  },
  {
    id: idOf(4),
    parent: idOf(2),
    tag: 'train',
    client: 1,
    origin: SpanOrigin.Inferred
  },
  {
    id: idOf(5),
    parent: idOf(0),
    tag: 'load',
    client: 2,
    origin: SpanOrigin.User
  }
];
/** A notebook, and a script that leaves. */
const CLIENTS: readonly ClientFact[] = [
  {
    client: 1,
    joined: 2 * TICK,
    left: Infinity,
    name: 'first',
    kernel: 'kernel-1',
    path: '/home/first.ipynb'
  },
  {
    client: 2,
    joined: 3 * TICK,
    left: 990 * TICK,
    name: 'script',
    kernel: '',
    path: ''
  }
];
const TYPES = ['builtins:int', 'numpy:ndarray', '__main__:Outer.Inner'];
const KINDS = [
  PartKind.Transfer,
  PartKind.DiskRead,
  PartKind.Import,
  PartKind.Deserialize,
  PartKind.Compute,
  PartKind.Compute,
  PartKind.Serialize,
  PartKind.DiskWrite
];

type Slot = {
  readonly worker: WorkerFact;
  readonly thread: number;
  readonly start: number;
  readonly stop: number;
};

export function drawCluster(seed: number): ClusterFacts {
  return new Draw(new SeededRandom(seed)).facts();
}

class Draw {
  private readonly _tasks: TaskFact[] = [];
  private readonly _runs: RunFact[] = [];
  private readonly _going: GoingFact[] = [];
  private _nextRun = 7;

  constructor(private readonly _random: SeededRandom) {}

  facts(): ClusterFacts {
    const spans = SPANS.map(span => ({
      ...span,
      opened: this._ticks(0, 99),
      closed: this._random.chance(0.5) ? this._ticks(100, 999) : null,
      uuid: span.id === 4 ? '' : `uuid of ${span.id}`,
      reused: 3 * span.id,
      code: span.id % 2 === 0 ? `code of ${span.tag}` : ''
    }));
    const workers = this._workers();
    const slots = workers
      .flatMap(worker => this._slots(worker))
      .sort((one, other) => one.start - other.start);
    for (const slot of slots) {
      this._run(slot);
    }
    const isLost = ({ status }: RunFact): number =>
      Number(status === RunStatus.Lost);
    this._runs.sort(
      (one, other) => endOf(one) - endOf(other) || isLost(one) - isLost(other)
    );
    return {
      clients: CLIENTS,
      spans,
      workers,
      threads: this._threads(workers),
      tasks: this._tasks,
      runs: this._runs,
      going: this._going,
      transfers: this._transfers(workers),
      stored: this._stored(workers),
      memory: this._memory(workers),
      fine: this._fine(workers),
      system: this._system(workers),
      clocks: this._clocks(workers)
    };
  }

  /** Worker 4 dies; 9 gets the run that is going on. */
  private _workers(): WorkerFact[] {
    let firstLane = 0;
    return [2, 4, 9].map((worker, i) => {
      const threads = [2, 1, 3][i]!;
      firstLane += threads;
      return {
        worker,
        pid: 100 + 7 * worker,
        threads,
        memoryLimit: 2 ** 30 + worker,
        name: `worker-${worker}`,
        address: `unix:/w${worker}`,
        host: `host-${i}`,
        joined: i === 2 ? this._ticks(20, 40) : 0,
        left: worker === 4 ? this._ticks(700, 800) : Infinity,
        firstLane: firstLane - threads
      };
    });
  }

  /** Told a while after the first runs; the last thread of worker 9 changes. */
  private _threads(workers: readonly WorkerFact[]): ThreadFact[] {
    const threads = workers.flatMap(worker =>
      Array.from({ length: worker.threads }, (_, thread) => ({
        worker,
        thread,
        since: worker.joined + this._ticks(1, 99),
        ident: 2 ** 47 + 64 * (worker.firstLane + thread)
      }))
    );
    const changed = { since: this._ticks(300, 600), ident: 2 ** 46 };
    return [...threads, { ...threads.at(-1)!, ...changed }].sort(
      (one, other) => one.since - other.since
    );
  }

  /** One run after another on each thread, with gaps. The last of thread 0 of worker 2 ends with the log. */
  private _slots(worker: WorkerFact): Slot[] {
    const slots: Slot[] = [];
    const end = Math.min(worker.left, TICKS * TICK);
    for (let thread = 0; thread < worker.threads; thread++) {
      let at = Math.max(worker.joined, this._ticks(1, 40));
      while (at < end) {
        const stop = at + this._ticks(3, 90);
        slots.push({ worker, thread, start: at, stop: Math.min(stop, end) });
        at = stop + (this._random.chance(0.3) ? 0 : this._ticks(1, 50));
      }
      const last = slots.at(-1)!;
      slots[slots.length - 1] = { ...last, stop: end };
    }
    return slots;
  }

  private _run(slot: Slot): void {
    const { worker, thread, start, stop } = slot;
    const run = this._nextRun;
    this._nextRun += 1 + this._random.below(4);
    const isLast = stop === TICKS * TICK;
    // Known before: the slots come by their starts, and no task is taken up before its run has ended.
    const earlier = this._tasks.filter(({ node }) => {
      const runs = this._runs.filter(({ task }) => task.node === node);
      return (
        runs.length < 3 &&
        runs.every(each => endOf(each) <= start) &&
        !this._going.some(({ task }) => task.node === node)
      );
    });
    const task =
      earlier.length > 0 && this._random.chance(0.5)
        ? this._random.pick(earlier)
        : this._task(start);
    if (isLast && worker.worker === 9 && thread === 1) {
      // (no draw of its own: of every seed the rest stays as it was)
      const givenUp = run % 2 === 0 ? null : start + (stop - start) / 4;
      this._going.push({ run, task, worker, thread, started: start, givenUp });
      return;
    }
    const before = this._runs.filter(each => each.task === task);
    // What was given back before it began does not begin a new wait.
    const begun = before.filter(({ status }) => status !== RunStatus.Missing);
    const since = Math.max(task.submitted, ...begun.map(endOf));
    const attempt = begun.length + 1;
    const common = { run, task, worker, thread, attempt };
    if (stop === worker.left) {
      this._runs.push({
        ...common,
        status: RunStatus.Lost,
        start,
        duration: stop - start,
        waitReady: start - since,
        waitInputs: NaN,
        waitThread: NaN,
        cpu: NaN,
        nbytes: NaN,
        type: null,
        parts: [],
        error: null
      });
      return;
    }
    if (!isLast && this._random.chance(0.08)) {
      // Given back before it began, for want of an input.
      this._runs.push({
        ...common,
        status: RunStatus.Missing,
        start,
        duration: 0,
        waitReady: NaN,
        waitInputs: 0,
        waitThread: NaN,
        cpu: 0,
        nbytes: NaN,
        type: null,
        parts: [],
        error: null
      });
      return;
    }
    const failed = this._random.chance(0.2);
    const waited = (start - since) / TICK;
    const waitInputs = this._random.below(Math.floor(waited / 2) + 1) * TICK;
    const waitThread = this._random.below(Math.floor(waited / 2) + 1) * TICK;
    const duration = stop - start;
    this._runs.push({
      ...common,
      status: failed ? RunStatus.Failed : RunStatus.Ok,
      start,
      duration,
      waitReady: start - since - waitInputs - waitThread,
      waitInputs,
      waitThread,
      cpu: this._share(duration),
      nbytes: failed ? NaN : this._size(),
      type: failed ? null : this._random.pick(TYPES),
      parts: this._random.chance(0.7)
        ? this._parts(task, worker, duration)
        : [],
      error: failed
        ? `Traceback\n  in ${task.function}\nOSError: run ${run}`
        : null
    });
  }

  private _task(start: number): TaskFact {
    const node = this._tasks.length;
    const task = {
      node,
      group: this._random.pick(['load-1', 'sum', 'fit-f3']),
      suffix: `-${node * 3}`,
      function: this._random.pick(FUNCTIONS),
      span: idOf<SpanId>(this._random.below(SPANS.length + 1)),
      origin: this._random.pick([
        TaskOrigin.Default,
        TaskOrigin.User,
        TaskOrigin.Inferred,
        TaskOrigin.Reused
      ]),
      submitted: node === 0 ? 0 : Math.max(0, start - this._ticks(0, 60)),
      inputs: Array.from(
        { length: node === 0 ? 0 : this._random.below(4) },
        () => this._random.below(node)
      )
    };
    this._tasks.push(task);
    return task;
  }

  /** At most four: the table of tasks shows no more. One behind the others' work may begin before the run. */
  private _parts(
    task: TaskFact,
    worker: WorkerFact,
    duration: number
  ): PartFact[] {
    const parts: PartFact[] = [];
    const most = Math.floor(duration / TICK / 4);
    for (let i = 0, offset = 0; i < this._random.below(5) && most > 1; i++) {
      const kind = this._random.pick(KINDS);
      const held = kind === PartKind.Compute || this._random.chance(0.7);
      const length = (1 + this._random.below(most)) * TICK;
      const isTransfer = kind === PartKind.Transfer;
      parts.push({
        kind,
        held,
        function: this._random.chance(0.5)
          ? task.function
          : this._random.pick(['inner', 'outer']),
        span: this._random.chance(0.5)
          ? task.span
          : idOf<SpanId>(this._random.below(SPANS.length + 1)),
        from: isTransfer
          ? this._random.pick(
              [2, 4, 9].filter(other => other !== worker.worker)
            )
          : worker.worker,
        offset: held ? offset : -this._ticks(1, 8),
        duration: length,
        cpu: this._share(length),
        coreWait: this._random.chance(0.3) ? NaN : this._share(length),
        bytes: kind === PartKind.Compute ? 0 : this._bytes()
      });
      offset += held ? length : 0;
    }
    return parts;
  }

  private _transfers(workers: readonly WorkerFact[]): TransferFact[] {
    return Array.from({ length: 9 }, (_, i) => {
      const [from, to] = this._two(workers.map(({ worker }) => worker));
      return {
        start: this._ticks(50, 600),
        duration: this._ticks(1, 60),
        from,
        to,
        bytes: this._bytes(),
        keys: 1 + this._random.below(5),
        task: this._random.pick(this._tasks),
        span: idOf<SpanId>(this._random.below(SPANS.length + 1)),
        type: ['numpy:ndarray', 'builtins:list', 'm:A.B'][i % 3]!
      };
    }).sort((one, other) => one.start - other.start);
  }

  /** Results that are kept, copied, released, spilled and read back, some of them in one turn of the source. */
  private _stored(workers: readonly WorkerFact[]): StoredFact[] {
    const kinds = [
      StoredKind.Stored,
      StoredKind.Stored,
      StoredKind.Replica,
      StoredKind.Released,
      StoredKind.Spilled,
      StoredKind.ReadBack
    ];
    const rows = new Map<string, StoredFact>();
    for (let i = 0; i < 40; i++) {
      const kind = this._random.pick(kinds);
      const { span, function: fn } = this._random.pick(this._tasks);
      const { worker, left } = this._random.pick(workers);
      const t = (60 + 80 * Math.floor(i / 4)) * TICK;
      const isMinus =
        kind === StoredKind.Released || kind === StoredKind.Spilled;
      const change = (isMinus ? -1 : 1) * this._bytes();
      if (t < left) {
        // The source would add up changes of one kind, span, function and worker.
        const key = [t, worker, span, fn, kind].join();
        rows.set(key, { t, worker, span, function: fn, kind, change });
      }
    }
    return [...rows.values()].sort(
      (one, other) =>
        one.t - other.t || Number(isToldLater(one)) - Number(isToldLater(other))
    );
  }

  /** The largest is neither the first nor the last. */
  private _memory(workers: readonly WorkerFact[]): MemoryFact[] {
    return workers
      .flatMap(({ worker, left }) =>
        [100, 250, 400, 650, 900]
          .map((tick, i) => ({
            t: (tick + worker) * TICK,
            worker,
            process: 10 * this._bytes() + [0, 50_000_000, 0, 5_000_000, 0][i]!,
            managed: this._bytes(),
            spilled: this._bytes(),
            unmanagedOld: this._bytes()
          }))
          .filter(({ t }) => t < left)
      )
      .sort((one, other) => one.t - other.t);
  }

  private _system(workers: readonly WorkerFact[]): SystemFact[] {
    const processes = [{ worker: NONE_U16, left: Infinity }, ...workers];
    return processes
      .flatMap(({ worker, left }) =>
        [200, 600, 850]
          .map((tick, i) => ({
            t: (tick + (worker % 100)) * TICK,
            worker,
            seconds: this._ticks(40, 60),
            cpu: this._random.below(200),
            memory: this._bytes(),
            // (of one row not known)
            fds: i === 1 ? NONE_U32 : this._bytes(),
            netRead: this._bytes(),
            netWrite: this._bytes(),
            diskRead: this._bytes(),
            diskWrite: this._bytes(),
            hostDiskRead: this._bytes(),
            hostDiskWrite: i === 2 ? NaN : this._bytes()
          }))
          .filter(({ t }) => t < left)
      )
      .sort((one, other) => one.t - other.t);
  }

  /** The first worker's clock is the scheduler's. */
  private _clocks(workers: readonly WorkerFact[]): ClockFact[] {
    return workers
      .slice(1)
      .flatMap(({ worker, left }) =>
        [450, 700]
          .map((tick, i) => ({
            t: (tick + worker) * TICK,
            worker,
            offset: this._ticks(1, 5000) - 2000 * TICK,
            within: this._ticks(1, 20),
            drift: i === 0 ? NaN : this._ticks(1, 9),
            why: i === 0 ? ClockChange.Measured : ClockChange.Stepped
          }))
          .filter(({ t }) => t < left)
      )
      .sort((one, other) => one.t - other.t);
  }

  private _fine(workers: readonly WorkerFact[]): FineFact[] {
    return Array.from({ length: 12 }, () => ({
      t: this._ticks(50, 600),
      worker: this._random.pick(workers).worker,
      context: this._random.pick(['get-data', 'spill']),
      span: idOf<SpanId>(this._random.below(SPANS.length + 1)),
      function: this._random.pick(FUNCTIONS),
      activity: this._random.pick(['network', 'disk']),
      unit: this._random.pick(['seconds', 'bytes', 'count']),
      value: this._bytes()
    }));
  }

  /** A whole number of ticks, in seconds. */
  private _ticks(least: number, most: number): number {
    return (least + this._random.below(most - least + 1)) * TICK;
  }

  /** Some ticks of a duration. */
  private _share(duration: number): number {
    return this._random.below(duration / TICK + 1) * TICK;
  }

  /** Exact in float32, and hardly ever the same twice. */
  private _bytes(): number {
    return 1 + this._random.below(4_000_000);
  }

  /** As {@link _bytes}, too large to be exact in float32. */
  private _size(): number {
    return 2 ** 33 + this._bytes();
  }

  private _two<T>(of: readonly T[]): readonly [T, T] {
    const one = this._random.pick(of);
    return [one, this._random.pick(of.filter(each => each !== one))];
  }
}

/** The source adds up what it knows itself, until the end of its turn. */
function isToldLater({ kind }: Pick<StoredFact, 'kind'>): boolean {
  return kind !== StoredKind.Spilled && kind !== StoredKind.ReadBack;
}

export function endOf({
  start,
  duration
}: Pick<RunFact, 'start' | 'duration'>): number {
  return start + duration;
}

/** First bit of the ids of names that a worker coins. */
const COINED = 0x80000000;

/** The log that the source writes when it hears of all that. */
export function toldToSource(facts: ClusterFacts): Block[] {
  const blocks: Block[] = [];
  const log = new EmbeddedClusterLog(START, ({ bytes }) =>
    blocks.push(decodeBlock(bytes))
  );
  new Teller(log, facts).tell();
  return blocks;
}

/** What happens at a time; of what happens at once, the lower order first. */
type Happening = {
  readonly t: number;
  readonly order: number;
  readonly tell: () => void;
};

class Teller {
  private readonly _facts: TaskFacts;
  private readonly _coined = new Map<number, string[]>();

  constructor(
    private readonly _log: EmbeddedClusterLog,
    private readonly _cluster: ClusterFacts
  ) {
    const count = _cluster.tasks.length;
    this._facts = {
      node: new Uint32Array(count),
      functionId: new Uint32Array(count),
      span: arrayOf(Uint32Array, new Array<SpanId>(count).fill(DEFAULT_SPAN)),
      unfinishedSince: new Float64Array(count),
      attempts: new Uint8Array(count)
    };
  }

  tell(): void {
    const { clients, spans, workers, tasks, runs, going } = this._cluster;
    const log = this._log;
    for (const { client, joined, left, name, kernel, path } of clients) {
      const said = {
        name,
        notebook: kernel === '' ? null : { kernelId: kernel, path }
      };
      log.client(client, said, START + joined, null);
      if (left < Infinity) {
        log.client(client, said, START + joined, START + left);
      }
    }
    for (const span of spans) {
      const { client, opened, closed, ...rest } = span;
      const row = { ...rest, opened: START + opened, closed: null };
      log.spans(client, [row]);
      if (closed !== null) {
        log.spans(client, [{ ...row, closed: START + closed }]);
      }
    }
    for (const task of tasks) {
      this._submit(task);
    }
    const happenings: Happening[] = [
      ...workers.map(worker => ({
        t: worker.joined,
        order: -1,
        tell: () => log.workerJoined(START + worker.joined, worker)
      })),
      ...workers
        .filter(({ left }) => left < Infinity)
        .map(({ worker, left }) => ({
          t: left,
          order: 2,
          tell: () =>
            log.workerLeft(START + left, worker, 'was ended', this._facts)
        })),
      ...this._batches(runs.filter(({ status }) => status !== RunStatus.Lost)),
      ...runs
        .filter(({ status }) => status === RunStatus.Lost)
        .map(run =>
          this._running({ ...run, started: run.start, givenUp: null })
        ),
      ...going.map(run => this._running(run)),
      ...going.flatMap(({ run, worker, givenUp }) =>
        givenUp === null
          ? []
          : [
              {
                t: givenUp,
                order: 1,
                tell: () => log.measured.givenUp(worker.worker, run, givenUp)
              }
            ]
      ),
      ...this._measurements()
    ];
    happenings.sort((one, other) => one.t - other.t || one.order - other.order);
    for (const [i, { t, tell }] of happenings.entries()) {
      tell();
      if (happenings[i + 1]?.t !== t) {
        log.commit(START + t);
      }
    }
    log.seal(START + TICKS * TICK);
  }

  private _submit(task: TaskFact): void {
    const log = this._log;
    const [group, fn] = [log.names.id(task.group), log.names.id(task.function)];
    const node = log.node(
      START + task.submitted,
      group,
      fn,
      task.span,
      task.origin,
      new TextEncoder().encode(task.suffix)
    );
    for (const input of task.inputs) {
      log.edge(input);
    }
    const dense = this._dense(task);
    this._facts.node[dense] = node;
    this._facts.functionId[dense] = fn;
    this._facts.span[dense] = task.span;
    this._facts.unfinishedSince[dense] = task.submitted;
  }

  /** Neighbours of one worker come in one message, before anything else that a worker's death ends. */
  private _batches(runs: readonly RunFact[]): Happening[] {
    const batches: RunFact[][] = [];
    const deaths = this._cluster.workers.map(({ left }) => left);
    for (const run of runs) {
      const batch = batches.at(-1);
      const first = batch?.[0];
      if (
        batch !== undefined &&
        first?.worker === run.worker &&
        batch.length < 3 &&
        !deaths.some(left => endOf(first) <= left && left < endOf(run))
      ) {
        batch.push(run);
      } else {
        batches.push([run]);
      }
    }
    return batches.map(batch => ({
      t: endOf(batch.at(-1)!),
      order: 0,
      tell: () => this._finished(batch)
    }));
  }

  private _finished(batch: readonly RunFact[]): void {
    const { worker } = batch[0]!.worker;
    const parts = batch.flatMap(run => run.parts);
    const column = (of: (run: RunFact) => number): number[] => batch.map(of);
    const partColumn = (of: (part: PartFact) => number): number[] =>
      parts.map(of);
    let firstPart = 0;
    const tables: FinishedTables = {
      runs: {
        rows: batch.length,
        taskId: arrayOf(
          Uint32Array,
          batch.map(({ task }) => this._outer(task))
        ),
        runId: Uint32Array.from(column(({ run }) => run)),
        status: Uint8Array.from(
          column(({ status }) => (status === RunStatus.Missing ? 2 : status))
        ),
        thread: Uint16Array.from(column(({ thread }) => thread)),
        start: Float64Array.from(column(({ start }) => START + start)),
        duration: Float64Array.from(column(({ duration }) => duration)),
        cpu: Float64Array.from(column(({ cpu }) => cpu)),
        waitInputs: Float32Array.from(column(({ waitInputs }) => waitInputs)),
        waitThread: Float32Array.from(column(({ waitThread }) => waitThread)),
        nbytes: Float64Array.from(column(({ nbytes }) => nbytes)),
        inlineStart: new Uint32Array(batch.length),
        inlineLength: new Uint32Array(batch.length),
        firstPart: Uint32Array.from(
          column(run => (firstPart += run.parts.length) - run.parts.length)
        ),
        type: Uint32Array.from(
          column(({ type }) =>
            type === null ? NONE_U32 : this._name(worker, type)
          )
        )
      },
      parts: {
        rows: parts.length,
        kind: Uint8Array.from(partColumn(({ kind }) => kind)),
        function: Uint32Array.from(
          partColumn(part => this._name(worker, part.function))
        ),
        span: arrayOf(
          Uint32Array,
          parts.map(({ span }) => span)
        ),
        offset: Float64Array.from(partColumn(({ offset }) => offset)),
        duration: Float64Array.from(partColumn(({ duration }) => duration)),
        cpu: Float64Array.from(partColumn(({ cpu }) => cpu)),
        coreWait: Float32Array.from(partColumn(({ coreWait }) => coreWait)),
        bytes: Float64Array.from(partColumn(({ bytes }) => bytes)),
        from: Uint16Array.from(partColumn(({ from }) => from)),
        held: Uint8Array.from(partColumn(({ held }) => Number(held)))
      }
    };
    this._log.finished(
      worker,
      tables,
      arrayOf(
        Int32Array,
        batch.map(({ task }) => this._dense(task))
      ),
      this._facts
    );
    for (const { run, task, start, duration, error } of batch) {
      if (error !== null) {
        this._log.taskFailed(
          START + start + duration,
          worker,
          run,
          task.span,
          error
        );
      }
    }
  }

  private _running({
    run,
    task,
    worker,
    thread,
    started
  }: GoingFact): Happening {
    return {
      t: Math.min(worker.left, TICKS * TICK),
      order: 1,
      tell: () =>
        this._log.measured.running(
          worker.worker,
          {
            rows: 1,
            thread: [thread],
            taskId: [this._outer(task)],
            runId: [run],
            function: [this._name(worker.worker, task.function)],
            span: [task.span],
            started: [START + started]
          },
          id => this._denseOf(id),
          this._facts
        )
    };
  }

  private _measurements(): Happening[] {
    const { threads, transfers, stored, memory, system, clocks, fine } =
      this._cluster;
    const { measured } = this._log;
    return [
      ...threads.map(({ worker, thread, since, ident }) => ({
        t: since,
        order: 0,
        tell: () =>
          measured.threads(worker.worker, {
            rows: 1,
            t: [START + since],
            thread: [thread],
            ident: [ident]
          })
      })),
      ...transfers.map(
        ({ start, duration, from, to, bytes, keys, task, span, type }) => ({
          t: start + duration,
          order: 0,
          tell: () =>
            measured.transfers(
              to,
              {
                rows: 1,
                start: [START + start],
                duration: [duration],
                from: [from],
                bytes: [bytes],
                keys: [keys],
                firstTaskId: [this._outer(task)],
                span: [span],
                status: [TransferStatus.Ok],
                type: [this._name(to, type)]
              },
              id => this._denseOf(id),
              this._facts
            )
        })
      ),
      ...stored.map(row => ({
        t: row.t,
        order: 0,
        tell: () => this._stored(row)
      })),
      ...memory.map(({ t, worker, ...figures }) => ({
        t,
        order: 0,
        tell: () =>
          measured.memory(worker, {
            rows: 1,
            t: [START + t],
            process: [figures.process],
            managed: [figures.managed],
            spilled: [figures.spilled],
            unmanagedOld: [figures.unmanagedOld]
          })
      })),
      ...system.map(({ worker, ...row }) => ({
        t: row.t,
        order: 0,
        tell: () =>
          measured.system(worker, {
            rows: 1,
            ...(Object.fromEntries(
              Object.entries({ ...row, t: START + row.t }).map(
                ([name, value]) => [name, [value]]
              )
            ) as Record<Exclude<keyof SystemFact, 'worker'>, number[]>)
          })
      })),
      ...clocks.map(({ t, worker, ...row }) => ({
        t,
        order: 0,
        tell: () => this._log.clock(START + t, worker, row)
      })),
      ...fine.map(row => ({
        t: row.t,
        order: 0,
        tell: () => {
          const name = (text: string): number[] => [
            this._name(row.worker, text)
          ];
          measured.fine(row.worker, {
            rows: 1,
            t: [START + row.t],
            context: name(row.context),
            span: [row.span],
            function: name(row.function),
            activity: name(row.activity),
            unit: name(row.unit),
            value: [row.value]
          });
        }
      }))
    ];
  }

  /** Workers tell what went to disk and came back; the rest is known from their results. */
  private _stored({
    t,
    worker,
    span,
    function: fn,
    kind,
    change
  }: StoredFact): void {
    if (!isToldLater({ kind })) {
      this._log.measured.spilled(worker, {
        rows: 1,
        t: [START + t],
        span: [span],
        function: [this._name(worker, fn)],
        kind: [kind],
        change: [change]
      });
      return;
    }
    const like = this._cluster.tasks.find(
      task => task.span === span && task.function === fn
    )!;
    this._log.stored(worker, this._dense(like), this._facts, kind, change);
  }

  /** The scheduler's own numbers of tasks are neither the log's nor those of the messages. */
  private _dense({ node }: TaskFact): DenseTaskId {
    return idOf(this._cluster.tasks.length - 1 - node);
  }

  private _outer({ node }: TaskFact): OuterTaskId {
    return idOf(1000 + 3 * node);
  }

  private _denseOf(outer: OuterTaskId): DenseTaskId {
    const task = this._cluster.tasks.find(each => this._outer(each) === outer);
    return task === undefined ? idOf(-1) : this._dense(task);
  }

  /** A worker's own number of a name, told to the source before it is used. */
  private _name(worker: number, text: string): number {
    const coined = this._coined.get(worker) ?? [];
    this._coined.set(worker, coined);
    if (!coined.includes(text)) {
      this._log.workerNames(worker, COINED + coined.length, [text]);
      coined.push(text);
    }
    return COINED + coined.indexOf(text);
  }
}
