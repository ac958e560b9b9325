/**
 * The record log of a drawn run, as a scheduler would have written it: what the observer's folds are asked about in tests of panels and on
 * the harness page. No two columns hold the same figures, so that two that are swapped show.
 */
import {
  NONE_U16,
  NONE_U32,
  BoxKind,
  CapacityState,
  PartKind,
  RunStatus,
  SampleState,
  TaskOrigin
} from '../../records/enumerations';
import type { BlockRows } from '../../observer/store/column-table';
import { ingestBlock } from '../../observer/store/ingest';
import { LogStore } from '../../observer/store/log-store';
import type { TableName } from '../../records/tables';
import { rowsToBlock, type Row } from '../rows-to-block';
import { drawnStacks } from './drawn-stacks';
import type { DrawnBox, DrawnRun } from './drawn-run';

const MiB = 2 ** 20;
const GiB = 2 ** 30;
const MEMORY_LIMIT = 4 * GiB;
/** Lanes, nodes and runs are numbered from different numbers: one that is taken for another is not found. */
const FIRST_LANE = 3;
const FIRST_NODE = 1000;
/** The waits of shorter computing are not known. */
const SHORTEST_SAMPLED_SECONDS = 0.06;
const ERROR = 'ValueError: Input X contains NaN.';
/** One worker begins no task for a while, when its threads have nothing to do. */
const PAUSED = { worker: 3, from: 21.05, to: 21.3 };
const TRACEBACK = `Traceback (most recent call last):\n  File "model.py", line 41, in fit_fold\n${ERROR}\n`;

/** How the time since its thread was free is divided: until it could run, until its inputs were there, until it began. */
export function waitShares(
  run: number
): readonly [ready: number, inputs: number, thread: number] {
  return run % 2 === 0 ? [0.5, 0.3, 0.2] : [0.25, 0.05, 0.7];
}

type LogOptions = {
  /** Each thread has begun another task at the run's end. */
  readonly live?: boolean;
  /** So many of these were cancelled as soon as they had begun, and go on. */
  readonly cancelled?: number;
};

/** The log, taken in. */
export function drawnStore(run: DrawnRun, options: LogOptions = {}): LogStore {
  const log = new LogStore('drawn');
  for (const block of drawnLog(run, options)) {
    ingestBlock(log, block);
  }
  return log;
}

export function drawnLog(
  run: DrawnRun,
  options: LogOptions = {}
): readonly BlockRows[] {
  return new DrawnLog(run, options).blocks();
}

/** Boxes of one run: what it computes, and what else it does. */
type DrawnTask = {
  readonly run: number;
  readonly main: DrawnBox;
  readonly others: readonly DrawnBox[];
  readonly start: number;
  readonly stop: number;
};

class DrawnLog {
  private readonly _names = new Map<string, number>();
  private readonly _rows = new Map<TableName, Row[]>();

  constructor(
    private readonly _run: DrawnRun,
    options: LogOptions
  ) {
    this._addCluster();
    const tasks = tasksOf(_run);
    this._addTasks(tasks);
    if (options.live === true) {
      this._addRunning(tasks.length, options.cancelled ?? 0);
    }
    this._addSamples(tasks);
    this._addMemory();
    this._addTransfers(tasks);
    this._addSystem();
    this._addOutsideTasks();
    this._addProgress(options.live === true);
  }

  blocks(): BlockRows[] {
    this._add('names', ...[...this._names].map(([text, id]) => ({ id, text })));
    const order: TableName[] = [
      'names',
      'spans',
      'workers',
      'lanes',
      'capacity',
      'nodes',
      'parts',
      'runs',
      'running',
      'fine',
      'frames',
      'stacks',
      'samples',
      'memory',
      'memoryRuns',
      'memorySamples',
      'transfers',
      'system',
      'events',
      'givenUp',
      'progress'
    ];
    return order
      .filter(table => this._rows.has(table))
      .map((table, i) => rowsToBlock(i + 1, table, this._rows.get(table)!));
  }

  private _addCluster(): void {
    const { spans, workers, threads } = this._run;
    for (const { span, parent, tag, from, to } of spans) {
      this._add('spans', {
        id: span,
        parent: parent ?? 0,
        tag: this._name(tag),
        opened: from,
        closed: to
      });
    }
    for (let worker = 0; worker < workers; worker += 1) {
      this._add('workers', {
        worker,
        threads,
        memoryLimit: MEMORY_LIMIT,
        joined: 0,
        left: NaN,
        name: `worker-${worker}`
      });
      this._add('capacity', {
        t: 0,
        worker,
        threads,
        state: CapacityState.Running
      });
      for (let thread = 0; thread < threads; thread += 1) {
        const lane = FIRST_LANE + worker * threads + thread;
        this._add('lanes', { lane, worker, thread });
      }
    }
    const { worker, from, to } = PAUSED;
    const event = { worker, span: 0, run: NONE_U32 };
    for (const [t, state, kind, text] of [
      [from, CapacityState.Paused, 'paused', '3.4 of 4 GiB are in use'],
      [to, CapacityState.Running, 'resumed', '']
    ] as const) {
      this._add('capacity', { t, worker, threads, state });
      this._add('events', { ...event, t, kind: this._name(kind), text });
    }
  }

  private _addTasks(tasks: readonly DrawnTask[]): void {
    /** When each lane was free again, and the node that has to be tried again there. */
    const free = new Map<number, number>();
    const again = new Map<number, number>();
    for (const task of tasks) {
      const { main, start, run } = task;
      const fn = this._name(main.function);
      const retried = again.get(main.lane);
      const node = retried ?? FIRST_NODE + run;
      const isFailed = main.kind === BoxKind.Failed;
      const gap = Math.max(0, start - (free.get(main.lane) ?? 0));
      const [ready, inputs, thread] = waitShares(run);
      const waits = {
        waitReady: gap * ready,
        waitInputs: gap * inputs,
        waitThread: gap * thread
      };
      free.set(main.lane, Math.max(task.stop, free.get(main.lane) ?? 0));
      if (isFailed) {
        again.set(main.lane, node);
      } else {
        again.delete(main.lane);
      }
      if (retried === undefined) {
        this._addNode(node, main.function, main.span, start - gap, run);
      }
      const computed = main.to - main.from;
      const isTold = computed >= SHORTEST_SAMPLED_SECONDS;
      const cpu = computed * cpuShareOf(main.function);
      const core = (computed - cpu) * 0.5;
      this._add('runs', {
        run,
        node,
        function: fn,
        span: main.span,
        lane: FIRST_LANE + main.lane,
        status: isFailed ? RunStatus.Failed : RunStatus.Ok,
        attempt: retried === undefined ? 1 : 2,
        start,
        duration: task.stop - start,
        ...waits,
        cpu,
        nbytes: isFailed ? NaN : (1 + (run % 7)) * 7.5 * MiB
      });
      for (const box of task.others) {
        this._add('parts', partOf(box, start, fn));
      }
      if (isTold || task.others.some(({ strip }) => !strip)) {
        this._add('parts', {
          run,
          kind: PartKind.Compute,
          held: 1,
          function: fn,
          span: main.span,
          from: NONE_U16,
          offset: main.from - start,
          duration: computed,
          cpu,
          coreWait: isTold ? core : NaN,
          bytes: NaN
        });
      }
      if (isTold) {
        this._addLockWait(task, fn, (computed - cpu - core) * 0.4);
      }
      if (isFailed) {
        this._add('events', {
          t: task.stop,
          kind: this._name('task-failed'),
          worker: Math.floor(main.lane / this._run.threads),
          span: main.span,
          run,
          text: TRACEBACK
        });
      }
    }
    // Sources write a run when it stops.
    this._rows
      .get('runs')!
      .sort((a, b) => stopOf(a) - stopOf(b) || Number(a.run) - Number(b.run));
  }

  /** What the runs' own parts say of fetching, as the worker that fetched tells it; every fourth is too small to be timed. */
  private _addTransfers(tasks: readonly DrawnTask[]): void {
    const types = ['numpy:ndarray', 'pandas:DataFrame'].map(name =>
      this._name(name)
    );
    const { workers, threads } = this._run;
    for (const { main, others, run } of tasks) {
      const to = Math.floor(main.lane / threads);
      const from = (to + 1 + (run % (workers - 1))) % workers;
      const isSmall = run % 4 === 0;
      for (const box of others) {
        if (box.kind === BoxKind.Transfer) {
          this._add('transfers', {
            start: box.from,
            duration: box.to - box.from,
            from,
            to,
            bytes: isSmall ? 900 : (2 + (run % 5)) * 8 * MiB,
            keys: 1,
            firstNode: FIRST_NODE + run,
            type: isSmall ? NONE_U32 : types[run % 2]!
          });
        }
      }
    }
  }

  /** Every half second of the scheduler and each worker; the system does not say what one of them writes. */
  private _addSystem(): void {
    const { end, workers } = this._run;
    for (let t = 0.5; t <= end; t += 0.5) {
      for (let process = 0; process <= workers; process += 1) {
        const wave = 1 + Math.sin(t / (2 + process));
        const isScheduler = process === workers;
        this._add('system', {
          t,
          worker: isScheduler ? NONE_U16 : process,
          seconds: 0.5,
          cpu: isScheduler ? 3 + wave : 12 + 80 * wave + process,
          memory: (isScheduler ? 0.1 : 0.4 + 0.1 * process) * GiB * (1 + wave),
          fds: 24 + 3 * process + Math.round(4 * wave),
          netRead: 5 * MiB * wave,
          netWrite: 7 * MiB * (2 - wave),
          diskRead: (process + 1) * 3 * MiB * wave,
          diskWrite: isScheduler ? NaN : (process + 2) * MiB * (2 - wave),
          hostDiskRead: 11 * MiB * wave,
          hostDiskWrite: 13 * MiB * (2 - wave),
          loopInterval: NaN
        });
      }
    }
  }

  private _addNode(
    node: number,
    fn: string,
    span: number,
    submitted: number,
    index: number
  ): void {
    this._add('nodes', {
      node,
      group: this._name(`${fn}-70a926`),
      function: this._name(fn),
      span,
      origin: index % 9 === 4 ? TaskOrigin.Inferred : TaskOrigin.User,
      submitted,
      suffix: `-${index}`
    });
  }

  private _addLockWait(task: DrawnTask, fn: number, seconds: number): void {
    const row = {
      second: Math.floor(task.stop),
      worker: Math.floor(task.main.lane / this._run.threads),
      context: this._name('noncpu'),
      span: task.main.span,
      function: fn,
      unit: this._name('seconds')
    };
    this._add(
      'fine',
      { ...row, activity: this._name('gil'), value: seconds },
      { ...row, activity: this._name('gil-error'), value: seconds * 0.06 }
    );
  }

  /** As the scheduler tells at the end; while tasks run, others of the last span wait, and some were given up. */
  private _addProgress(isLive: boolean): void {
    const outcomes = new Map(
      (this._rows.get('runs') ?? []).map(row => [row['node'], row])
    );
    const counted = new Map<string, Record<string, number>>();
    const of = (row: Row) => {
      const key = `${row['function']} ${row['span']}`;
      const counts = counted.get(key) ?? {
        function: Number(row['function']),
        within: Number(row['span']),
        done: 0,
        memory: 0,
        running: 0,
        waiting: 0,
        failed: 0,
        dropped: 0
      };
      counted.set(key, counts);
      return counts;
    };
    for (const row of outcomes.values()) {
      of(row)[row['status'] === RunStatus.Ok ? 'done' : 'failed']!++;
    }
    for (const row of this._rows.get('running') ?? []) {
      of(row)['running']!++;
    }
    for (const row of this._rows.get('running')?.slice(0, 1) ?? []) {
      Object.assign(of(row), { waiting: 84, dropped: 12 });
    }
    for (const counts of counted.values()) {
      counts['memory'] = isLive ? Math.floor(counts['done']! / 4) : 0;
      this._add('progress', { t: this._run.end, ...counts });
    }
  }

  private _addRunning(runs: number, cancelled: number): void {
    const { workers, threads, end } = this._run;
    const span = this._run.spans.at(-1)!.span;
    for (let lane = 0; lane < workers * threads; lane += 1) {
      const node = FIRST_NODE + runs + lane;
      this._addNode(node, 'fit_fold', span, end, runs + lane);
      this._add('running', {
        lane: FIRST_LANE + lane,
        node,
        function: this._name('fit_fold'),
        span,
        started: end + 0.02 * lane
      });
      if (lane < cancelled) {
        this._add('givenUp', {
          lane: FIRST_LANE + lane,
          started: end + 0.02 * lane,
          t: end + 0.02 * lane + 0.25
        });
      }
    }
  }

  private _addSamples(tasks: readonly DrawnTask[]): void {
    const stacks = drawnStacks(
      text => this._name(text),
      (table, row) => this._add(table, row)
    );
    /** What is left of a sample, by stack and state. */
    const left = new Map<string, number>();
    for (const { main, start, stop } of tasks) {
      for (let second = Math.floor(start); second < stop; second += 1) {
        const seconds = Math.min(stop, second + 1) - Math.max(start, second);
        for (const [stack, share] of stacks(main.function)) {
          for (const [state, part] of statesOf(main.function)) {
            const key = `${stack} ${state}`;
            const due =
              (left.get(key) ?? 0) +
              seconds * this._run.samplesPerSecond * share * part;
            const n = Math.floor(due);
            left.set(key, due - n);
            if (n > 0) {
              this._add('samples', {
                second,
                lane: FIRST_LANE + main.lane,
                span: main.span,
                function: this._name(main.function),
                stack,
                state,
                n
              });
            }
          }
        }
      }
    }
  }

  /** Each worker's memory climbs to two thirds of the run and falls again: the peak is not its last sample. */
  private _addMemory(): void {
    const { workers, end } = this._run;
    const hill = (t: number) =>
      Math.exp(-(((t - end * 0.66) / (end * 0.3)) ** 2));
    for (let t = 0.5; t <= end; t += 0.5) {
      for (let worker = 0; worker < workers; worker += 1) {
        const process = (0.9 + 0.1 * worker + 1.7 * hill(t)) * GiB;
        this._add('memory', {
          t: t + 0.01 * worker,
          worker,
          process,
          managed: process * 0.45,
          spilled: t > end / 2 ? (0.11 + 0.03 * worker) * GiB : 0,
          unmanagedOld: process * 0.13
        });
      }
    }
    const runs = [
      { label: 'before', from: 0.5, to: end * 0.4, peak: 12.3, at: 0.55 },
      { label: 'after', from: end * 0.45, to: end, peak: 6.6, at: 0.6 }
    ];
    runs.forEach(({ label, from, to, peak, at }, index) => {
      this._add('memoryRuns', {
        run: index + 1,
        measure: this._name('process'),
        interval: 0.25,
        start: from,
        stopped: index === 0 ? to : NaN,
        label
      });
      for (let t = from; t <= to; t += 0.25) {
        const place = ((t - from) / (to - from) - at) / 0.35;
        this._add('memorySamples', {
          run: index + 1,
          t,
          bytes: (1.2 + (peak - 1.2) * Math.exp(-(place ** 2))) * GiB
        });
      }
    });
  }

  /** What workers measure beside tasks, by the names that they give it. */
  private _addOutsideTasks(): void {
    const measured: readonly (readonly [string, string, string, number])[] = [
      ['get-data', 'network', 'seconds', 6.61],
      ['get-data', 'memory-read', 'bytes', 1.25 * GiB],
      ['get-data', 'memory-read', 'count', 208],
      ['get-data', 'disk-read', 'seconds', 0.31],
      ['memory-monitor', 'disk-write', 'seconds', 4.05],
      ['memory-monitor', 'disk-write', 'bytes', 0.75 * GiB],
      ['memory-monitor', 'disk-write', 'count', 60],
      ['report', 'serialize', 'seconds', 0.52]
    ];
    for (const [context, activity, unit, value] of measured) {
      this._add('fine', {
        second: 14,
        worker: 2,
        context: this._name(context),
        span: 0,
        function: NONE_U32,
        activity: this._name(activity),
        unit: this._name(unit),
        value
      });
    }
  }

  private _name(text: string): number {
    let id = this._names.get(text);
    if (id === undefined) {
      id = this._names.size + 1;
      this._names.set(text, id);
    }
    return id;
  }

  private _add(table: TableName, ...rows: readonly Row[]): void {
    const all = this._rows.get(table);
    if (all === undefined) {
      this._rows.set(table, [...rows]);
    } else {
      all.push(...rows);
    }
  }
}

/** In the order in which each lane ran them. */
function tasksOf(run: DrawnRun): DrawnTask[] {
  const byRun = new Map<number, DrawnBox[]>();
  for (const box of run.boxes) {
    const boxes = byRun.get(box.run) ?? [];
    byRun.set(box.run, boxes);
    boxes.push(box);
  }
  return [...byRun]
    .map(([id, boxes]) => {
      const isMain = (box: DrawnBox) =>
        box.kind === BoxKind.Compute || box.kind === BoxKind.Failed;
      const held = boxes.filter(box => !box.strip);
      return {
        run: id,
        main: boxes.find(isMain)!,
        others: boxes.filter(box => !isMain(box)),
        start: Math.min(...held.map(box => box.from)),
        stop: Math.max(...held.map(box => box.to))
      };
    })
    .sort((a, b) => a.start - b.start);
}

const partKinds: Readonly<Partial<Record<BoxKind, PartKind>>> = {
  [BoxKind.Transfer]: PartKind.Transfer,
  [BoxKind.Disk]: PartKind.DiskRead,
  [BoxKind.Serialize]: PartKind.Deserialize
};

function partOf(box: DrawnBox, start: number, fn: number): Row {
  const duration = box.to - box.from;
  return {
    run: box.run,
    kind: partKinds[box.kind]!,
    held: box.strip ? 0 : 1,
    function: fn,
    span: box.span,
    from: NONE_U16,
    offset: box.from - start,
    duration,
    cpu: duration * 0.1,
    coreWait: NaN,
    bytes: duration * 400 * MiB
  };
}

/** `read-parquet` waits for its disk most of the time. */
function cpuShareOf(fn: string): number {
  return fn === 'read-parquet' ? 0.36 : 0.86;
}

function statesOf(fn: string): readonly (readonly [SampleState, number])[] {
  const onCore = cpuShareOf(fn);
  return [
    [SampleState.OnCore, onCore],
    [SampleState.Waiting, (1 - onCore) * 0.3],
    [SampleState.Blocked, (1 - onCore) * 0.7]
  ];
}

function stopOf(row: Row): number {
  return Number(row.start) + Number(row.duration);
}
