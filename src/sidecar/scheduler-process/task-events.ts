/**
 * What happens to tasks, workers and clients, in order, for whoever listens: plugins in this process (`scheduler-plugins.ts`) and those of
 * clients (`scheduler-watchers.ts`). In the scheduler process. While nobody listens, nothing is kept, and a move costs one comparison.
 *
 * Moves are told as Dask's scheduler has them, which knows fewer: a task that is queued and given to a worker in one event goes from
 * *waiting* to *processing*; a result that nobody needs goes from *memory* to *forgotten*; and what fails before it runs is *released* on
 * its way, and so is what has failed and is forgotten.
 */
import { NONE_U32 } from '../../records/enumerations';
import type { DenseTaskId } from '../../records/ids';
import {
  type FailureReason,
  type GraphSubmitted,
  type MoveListener,
  placeIn,
  type Scheduler,
  TaskState
} from '../../scheduler';
import type { EmbeddedClusterLog } from '../../sources';
import type { Message } from '../../wire/schema';
import type { TaskError } from './report-message';
import type { IUnpacked } from './topics';
import type { WorkerSession } from './worker-session';

type Finished = Message<'worker', 'up', 'finished'>;

/** A stretch of a run, in seconds since the run's start. */
type HappenedPart = {
  readonly kind: number;
  readonly offset: number;
  readonly duration: number;
  /** The worker that has sent; of transfers. */
  readonly from: number;
};

type HappenedRun = {
  /** The thread's number in the system; 0: not known. */
  readonly ident: number;
  readonly start: number;
  readonly duration: number;
  readonly nbytes: number;
  /** `module:qualified name`; empty: there is none. */
  readonly type: string;
  readonly parts: readonly HappenedPart[];
};

export type Move = {
  readonly what: 'move';
  readonly task: DenseTaskId;
  readonly key: string;
  from: TaskState;
  readonly to: TaskState;
  /** −1: none. */
  readonly worker: number;
  /** Seconds of the scheduler's clock. */
  readonly t: number;
  readonly event: number;
  readonly stimulus: string;
  readonly run: HappenedRun | null;
  readonly failure: Failure | null;
};

type Failure = { readonly cause: string; readonly error: TaskError | null };

export type Submitted = {
  readonly what: 'graph';
  readonly client: number;
  readonly stimulus: string;
  readonly generation: number;
  readonly keys: readonly string[];
  readonly inputs: readonly (readonly string[])[];
  readonly places: readonly number[];
  readonly wanted: readonly number[];
  readonly event: GraphSubmitted;
};

type MemberKind =
  | 'add-worker'
  | 'remove-worker'
  | 'add-client'
  | 'remove-client'
  | 'restart'
  | 'log-event';

export type Member = {
  readonly what: MemberKind;
  readonly client: number;
  readonly worker: WorkerSession | null;
  /** Half a sentence. */
  readonly why: string;
  readonly isExpected: boolean;
  readonly stimulus: string;
  /** Of log-event. */
  readonly topic: string;
  readonly content: Uint8Array | null;
};

export type Happening = Move | Submitted | Member;

export interface IEventListener {
  /** What has happened in this turn; the ids of its tasks are still theirs. */
  hear(happened: readonly Happening[]): void;
}

/** The cluster, as far as it is told of. */
interface IEventCluster {
  readonly core: Scheduler;
  readonly clock: () => number;
  readonly errors: ReadonlyMap<DenseTaskId, TaskError>;
  readonly log: Pick<EmbeddedClusterLog, 'workerName'>;
  /** The kind of the last event of the core. */
  readonly eventType: string;
  keyOf(task: DenseTaskId): string;
  failureOf(
    cause: DenseTaskId,
    reason: FailureReason
  ): { readonly key: string; readonly type: string; readonly message: string };
}

export class TaskEvents {
  private readonly _listeners = new Set<IEventListener>();
  /** Hears of workers and clients, whoever else listens. */
  onMember: ((member: Member) => void) | null = null;
  private _happened: (Happening | null)[] = [];
  /** The place of each task's newest move in `_happened`. */
  private _newest = new Map<DenseTaskId, number>();
  private _finished: Finished | null = null;
  private _worker: WorkerSession | null = null;
  /** The rows of `_finished` by task. */
  private readonly _rowOf = new Map<number, number>();

  constructor(private readonly _cluster: IEventCluster) {}

  get isHeard(): boolean {
    return this._listeners.size > 0;
  }

  listen(listener: IEventListener): void {
    this._tell();
    this._listeners.add(listener);
    this._cluster.core.listen(this._onMove);
  }

  unlisten(listener: IEventListener): void {
    this._listeners.delete(listener);
    if (!this.isHeard) {
      this._cluster.core.listen(null);
      this._clear();
    }
  }

  /** The runs that the next event is about. */
  ends(
    session: WorkerSession | undefined,
    message: Finished,
    tasks: ArrayLike<number>,
    isPresent: (row: number) => boolean
  ): void {
    this._worker = session ?? null;
    this._finished = message;
    this._rowOf.clear();
    for (let row = 0; row < message.tables.runs.rows; row++) {
      if (isPresent(row)) {
        this._rowOf.set(tasks[row]!, row);
      }
    }
  }

  ended(): void {
    this._worker = null;
    this._finished = null;
    this._rowOf.clear();
  }

  submitted(event: GraphSubmitted): void {
    const cluster = this._cluster;
    const { taskIds, firstInput, inputs } = event;
    const keyOf = (task: number): string =>
      task < 0 ? '' : cluster.keyOf(task as DenseTaskId);
    const graph = {
      what: 'graph' as const,
      client: event.client,
      stimulus: `update-graph-${cluster.core.event + 1}`,
      generation: event.generation,
      keys: Array.from(taskIds, keyOf),
      inputs: Array.from(taskIds, (_, i) =>
        Array.from(
          new Set(inputs.subarray(firstInput[i], firstInput[i + 1])),
          keyOf
        )
      ),
      places: [] as number[],
      wanted: Array.from(taskIds, (_, i) => event.wanted?.[i] ?? 0),
      event
    };
    this._happened.push(graph);
  }

  /** The core knows the graph now, and the order of its tasks. */
  ordered(): void {
    const graph = this._happened.findLast(each => each?.what === 'graph');
    if (graph?.what === 'graph') {
      const { rank } = this._cluster.core.tasks;
      graph.event.taskIds.forEach(task =>
        (graph.places as number[]).push(placeIn(rank[task]!))
      );
    }
  }

  workerCame(worker: WorkerSession): void {
    this._member('add-worker', { worker });
  }

  workerLeft(worker: WorkerSession, why: string, isExpected: boolean): void {
    this._member('remove-worker', { worker, why, isExpected });
  }

  clientCame(client: number): void {
    this._member('add-client', { client });
  }

  clientLeft(client: number): void {
    this._member('remove-client', { client });
  }

  restarted(client: number): void {
    this._member('restart', { client });
  }

  /** An event under a topic; the content is msgpack. */
  logged(topic: string, content: Uint8Array): void {
    if (this.isHeard) {
      this._happened.push(this._memberOf('log-event', { topic, content }));
    }
  }

  /** What the scheduler has logged itself; it is packed only if somebody listens. */
  loggedOwn(topics: readonly string[], event: IUnpacked): void {
    if (this.isHeard) {
      const content = event.pack();
      topics.forEach(topic => this.logged(topic, content));
    }
  }

  /** Tells of everything so far: before the ids of forgotten tasks are used again. */
  flush(): void {
    if (this._happened.length > 0) {
      this._tell();
    }
  }

  private _tell(): void {
    const happened = this._happened.filter(each => each !== null);
    this._clear();
    if (happened.length > 0) {
      // A copy: who fails is taken out meanwhile.
      for (const listener of [...this._listeners]) {
        listener.hear(happened);
      }
    }
  }

  private _clear(): void {
    this._happened = [];
    this._newest = new Map();
  }

  private _member(what: MemberKind, facts: Partial<Member>): void {
    const member = this._memberOf(what, facts);
    this.onMember?.(member);
    if (this.isHeard) {
      this._happened.push(member);
    }
  }

  private _memberOf(what: MemberKind, facts: Partial<Member>): Member {
    return {
      client: -1,
      worker: null,
      why: '',
      isExpected: true,
      topic: '',
      content: null,
      stimulus: `${what}-${this._cluster.core.event}`,
      ...facts,
      what
    };
  }

  private readonly _onMove: MoveListener = (id, from, to) => {
    const cluster = this._cluster;
    const task = id as DenseTaskId;
    const isOut =
      to === TaskState.Erred &&
      (from === TaskState.Waiting ||
        from === TaskState.NoWorker ||
        from === TaskState.Queued ||
        (from === TaskState.Processing && !this._rowOf.has(id)));
    const failure = to === TaskState.Erred ? this._failureOf(task) : null;
    if (isOut && failure?.cause !== cluster.keyOf(task)) {
      // An input of it has failed.
      this._add(task, from, TaskState.Released, null);
      this._add(task, TaskState.Released, TaskState.Erred, failure);
    } else if (from === TaskState.Erred && to === TaskState.Forgotten) {
      this._add(task, from, TaskState.Released, null);
      this._add(task, TaskState.Released, to, null);
    } else {
      this._add(task, from, to, failure);
    }
  };

  private _add(
    task: DenseTaskId,
    from: TaskState,
    to: TaskState,
    failure: Failure | null
  ): void {
    const { core, clock } = this._cluster;
    const place = this._newest.get(task);
    const before = place === undefined ? null : this._happened[place];
    let start = from;
    if (before?.what === 'move' && before.event === core.event) {
      const isSkipped =
        (before.to === TaskState.Queued && to === TaskState.Processing) ||
        (before.from === TaskState.Memory &&
          before.to === TaskState.Released &&
          to === TaskState.Forgotten);
      if (isSkipped) {
        this._happened[place!] = null;
        start = before.from;
      }
    }
    const row =
      from === TaskState.Processing ? this._rowOf.get(task) : undefined;
    const isRun =
      row !== undefined && (to === TaskState.Memory || to === TaskState.Erred);
    const { worker } = core.tasks;
    const isAt = from === TaskState.Processing || to === TaskState.Processing;
    const move: Move = {
      what: 'move',
      task,
      key: this._cluster.keyOf(task),
      from: start,
      to,
      worker: isAt ? worker[task]! : -1,
      t: clock(),
      event: core.event,
      stimulus: `${this._cluster.eventType}-${core.event}`,
      run: isRun ? this._runOf(row) : null,
      failure
    };
    this._newest.set(task, this._happened.push(move) - 1);
  }

  private _failureOf(task: DenseTaskId): Failure {
    const cluster = this._cluster;
    const { cause, reason } = cluster.core.tasks;
    const first = cause[task]! as DenseTaskId;
    const own = first === task ? cluster.errors.get(task) : undefined;
    const { key, type, message } = cluster.failureOf(
      first,
      reason[task]! as FailureReason
    );
    return {
      cause: key,
      error:
        first === task
          ? (own ?? { type, message, text: '', payload: null })
          : null
    };
  }

  private _runOf(row: number): HappenedRun {
    const { runs, parts } = this._finished!.tables;
    const { log } = this._cluster;
    const worker = this._worker;
    const last = row + 1 < runs.rows ? runs.firstPart[row + 1]! : parts.rows;
    const stretches: HappenedPart[] = [];
    for (let k = runs.firstPart[row]!; k < last; k++) {
      stretches.push({
        kind: parts.kind[k]!,
        offset: parts.offset[k]!,
        duration: parts.duration[k]!,
        from: parts.from[k]!
      });
    }
    const type = runs.type[row]!;
    const ended = runs.start[row]! + runs.duration[row]!;
    return {
      // (a message to a client has finite numbers alone)
      ident: worker?.laneThreads.of(runs.thread[row]!, ended) || 0,
      start: runs.start[row]!,
      duration: runs.duration[row]!,
      nbytes: runs.nbytes[row]!,
      type:
        type === NONE_U32 || worker === null
          ? ''
          : log.workerName(worker.id, type),
      parts: stretches
    };
  }
}
