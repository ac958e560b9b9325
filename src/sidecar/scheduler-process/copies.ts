/**
 * Copies of results that clients ask for: has the core order them, and tells who asked when they have come. In the scheduler process.
 *
 * ```
 *   copy (task, worker) … ──► at most MOST_UNDER_WAY per worker are ordered ──► replicasChanged ──► copied
 *                              ▲ again after ASK_AGAIN_SECONDS; given up when nothing comes there for GIVE_UP_SECONDS
 * ```
 */
import { arrayOf } from '../../base/typed-arrays';
import type { ClientTaskId, DenseTaskId, OuterTaskId } from '../../records/ids';
import {
  TaskState,
  type SchedulerEvent,
  type TaskTable
} from '../../scheduler';
import type { AcceptedLink } from '../../link/door';
import type { Message } from '../../wire/schema';
import type { ClientTasks } from './client-scope';
import type { TaskRows } from './task-rows';

const LOOK_SECONDS = 0.02;
const ASK_AGAIN_SECONDS = 5;
const GIVE_UP_SECONDS = 60;
/** Each takes memory of its taker. */
const MOST_UNDER_WAY = 512;
/** Of all clients. */
const MOST_PAIRS = 1 << 18;

type Copy = Message<'client', 'up', 'copy'>;

type Pair = {
  readonly id: ClientTaskId;
  readonly outer: OuterTaskId;
  readonly worker: number;
  /** When it was ordered; null: not yet. */
  askedAt: number | null;
};

type Job = {
  readonly link: AcceptedLink<'client'>;
  readonly request: number;
  pairs: Pair[];
  readonly missing: Pair[];
  why: string;
};

/** What copying needs of the cluster. */
interface ICopiedCluster {
  readonly core: {
    readonly tasks: TaskTable;
    readonly workers: {
      readonly all: readonly unknown[];
      get(
        id: number
      ): { readonly retiring: boolean; readonly full: boolean } | undefined;
    };
  };
  readonly rows: TaskRows;
  readonly at: number;
  clock(): number;
  handle(event: SchedulerEvent): void;
}

export class Copies {
  private readonly _jobs = new Set<Job>();
  /** By worker, when a copy came there last, or was first awaited. */
  private readonly _moved = new Map<number, number>();
  private _pairs = 0;
  private _timer: NodeJS.Timeout | undefined;

  /** @param _gather - does something in the scheduler's turn. */
  constructor(
    private readonly _cluster: ICopiedCluster,
    private readonly _gather: (act: () => void) => void
  ) {}

  take(
    { fields, tables }: Copy,
    tasks: ClientTasks,
    link: AcceptedLink<'client'>
  ): void {
    const { rows, core } = this._cluster;
    const pairs: Pair[] = [];
    const { id, worker, rows: count } = tables.pairs;
    for (let i = 0; i < count; i++) {
      const task = tasks.resolve(id[i]!);
      const outer = task < 0 ? (-1 as OuterTaskId) : rows.ids.outer(task);
      pairs.push({ id: id[i]!, outer, worker: worker[i]!, askedAt: null });
    }
    const job: Job = {
      ...{ link, request: fields.request, pairs, missing: [], why: '' }
    };
    if (fields.drop) {
      this._drop(job);
    } else if (this._pairs + count > MOST_PAIRS) {
      job.missing.push(...pairs);
      job.why = `Too many copies are under way: ${this._pairs} of ${MOST_PAIRS}.`;
      this._tell(job);
    } else if (core.workers.all.length === 0) {
      job.missing.push(...pairs);
      job.why = 'The cluster has no worker.';
      this._tell(job);
    } else {
      this._pairs += count;
      this._jobs.add(job);
      this._look();
    }
  }

  clientLeft(link: unknown): void {
    for (const job of this._jobs) {
      if (job.link === link) {
        this._end(job);
      }
    }
  }

  close(): void {
    clearTimeout(this._timer);
    this._jobs.clear();
  }

  private _drop(job: Job): void {
    const { at, core } = this._cluster;
    for (const [worker, pairs] of byWorker(job.pairs)) {
      const taskIds = arrayOf(
        Int32Array,
        pairs.map(pair => this._task(pair))
      );
      this._cluster.handle({ type: 'copiesDropped', at, worker, taskIds });
      for (const pair of pairs) {
        const task = this._task(pair);
        if (task >= 0 && core.tasks.holdersOf(task).includes(worker)) {
          job.missing.push(pair);
          job.why = 'A task needs it there, or no other worker holds it.';
        }
      }
    }
    this._tell(job);
  }

  private _task({ outer }: Pair): DenseTaskId {
    return outer < 0
      ? (-1 as DenseTaskId)
      : this._cluster.rows.ids.resolve(outer);
  }

  private _look(): void {
    const { clock } = this._cluster;
    const underWay = new Map<number, number>();
    for (const job of this._jobs) {
      this._step(job, underWay, clock());
      if (job.pairs.length === 0) {
        this._tell(job);
        this._end(job);
      }
    }
    for (const worker of this._moved.keys()) {
      if (!underWay.has(worker)) {
        this._moved.delete(worker);
      }
    }
    clearTimeout(this._timer);
    if (this._jobs.size > 0) {
      this._timer = setTimeout(
        () => this._gather(() => this._look()),
        LOOK_SECONDS * 1000
      ).unref();
    }
  }

  private _step(job: Job, underWay: Map<number, number>, now: number): void {
    const { core, at } = this._cluster;
    const asked: Pair[] = [];
    const left: Pair[] = [];
    for (const pair of job.pairs) {
      const { worker } = pair;
      const task = this._task(pair);
      const isHere = task >= 0 && core.tasks.state[task] === TaskState.Memory;
      if (isHere && core.tasks.holdersOf(task).includes(worker)) {
        this._moved.set(worker, now);
        continue;
      }
      const why = this._whyNot(worker, isHere, now);
      if (why !== '') {
        job.missing.push(pair);
        job.why = why;
        continue;
      }
      left.push(pair);
      const count = underWay.get(worker) ?? 0;
      if (count < MOST_UNDER_WAY) {
        underWay.set(worker, count + 1);
        if (pair.askedAt === null || now - pair.askedAt >= ASK_AGAIN_SECONDS) {
          pair.askedAt = now;
          asked.push(pair);
        }
      }
    }
    this._pairs -= job.pairs.length - left.length;
    job.pairs = left;
    for (const [worker, pairs] of byWorker(asked)) {
      const taskIds = arrayOf(
        Int32Array,
        pairs.map(pair => this._task(pair))
      );
      this._cluster.handle({ type: 'copiesAsked', at, worker, taskIds });
    }
  }

  /** Why a copy will not come; empty: it may. */
  private _whyNot(worker: number, isHere: boolean, now: number): string {
    const taker = this._cluster.core.workers.get(worker);
    if (!isHere) {
      return 'The result is not in memory any more.';
    }
    if (taker === undefined) {
      return `worker-${worker} has gone.`;
    }
    if (taker.retiring) {
      return `worker-${worker} is to leave.`;
    }
    if (taker.full) {
      return `worker-${worker} is paused: its memory is full.`;
    }
    const since = this._moved.get(worker);
    if (since === undefined) {
      this._moved.set(worker, now);
    } else if (now - since >= GIVE_UP_SECONDS) {
      return `worker-${worker} took none for ${GIVE_UP_SECONDS} s.`;
    }
    return '';
  }

  private _tell({ link, request, missing, why }: Job): void {
    link.send(
      'copied',
      { request, why },
      {
        missing: {
          id: missing.map(({ id }) => id),
          worker: missing.map(({ worker }) => worker)
        }
      }
    );
  }

  private _end(job: Job): void {
    this._pairs -= job.pairs.length;
    this._jobs.delete(job);
  }
}

function byWorker(pairs: readonly Pair[]): Map<number, Pair[]> {
  const found = new Map<number, Pair[]>();
  for (const pair of pairs) {
    const list = found.get(pair.worker) ?? [];
    found.set(pair.worker, list);
    list.push(pair);
  }
  return found;
}
