/**
 * Writes the record log of a program that computes by itself, without a cluster: ids, names, rows. docs/contracts.md §10.
 *
 * All times that come in are seconds of one steady clock; in the log they count from its start.
 */
import {
  CapacityState,
  NONE_U16,
  NONE_U32,
  SpanOrigin,
  TaskOrigin,
  type RunStatus
} from '../records/enumerations';
import { DEFAULT_SPAN, type LaneId, type SpanId } from '../records/ids';
import type { SealedBlock } from '../records/log-writer';
import { SourceLog } from './source-log';

/** A process; `why` is empty while it lives. */
export type LocalWorker = {
  readonly worker: number;
  readonly pid: number;
  readonly threads: number;
  readonly name: string;
  readonly host: string;
  readonly joined: number;
};

type LocalNode = {
  /** Text of the key: group, which many keys share, and rest. */
  readonly group: string;
  readonly rest: string;
  readonly functionName: string;
  readonly span: SpanId;
};

/** One execution. Unknown figures are NaN. */
export type LocalRun = {
  readonly node: number;
  readonly functionId: number;
  readonly span: SpanId;
  readonly lane: LaneId;
  readonly status: RunStatus;
  readonly start: number;
  readonly stop: number;
  /** When its node was written down, and when its last input was there. */
  readonly submitted: number;
  readonly ready: number;
  readonly cpu: number;
  readonly nbytes: number;
};

/** Names of functions, groups of keys and spans beyond share one, so that a program that runs for months keeps its size. As in Python. */
const MOST_NAMES = 200_000;
const OTHERS = '(others)';

export class LocalLog extends SourceLog {
  private _nextNode = 0;
  private _nextEdge = 0;
  private _nextRun = 0;
  private _nextLane = 0;
  private _nextSpan = 1;

  /**
   * @param start - reading of the clock from which the log's times count.
   * @param emit - takes the sealed blocks.
   * @param _mostNames - names that are kept; a few more once they are that many.
   */
  constructor(
    start: number,
    emit: (block: SealedBlock) => void,
    private readonly _mostNames = MOST_NAMES
  ) {
    super(start, emit);
  }

  /** The id of a name, new or not; new names beyond the bound share one id. */
  nameId(text: string): number {
    const known = this.names.find(text);
    return (
      known ?? this.names.id(this.names.size < this._mostNames ? text : OTHERS)
    );
  }

  header(description: object): void {
    this.table('header').append({ t: 0, json: JSON.stringify(description) });
  }

  /** A span has opened. @returns its id. */
  span(parent: SpanId, tag: string, opened: number): SpanId {
    const id = this._nextSpan++ as SpanId;
    this.spanRow(0, {
      id,
      parent,
      tag: this.nameId(tag),
      opened,
      closed: null,
      origin: SpanOrigin.User
    });
    return id;
  }

  /** A span has closed; all its facts again, for the row replaces the one before. */
  spanClosed(
    id: SpanId,
    parent: SpanId,
    tag: string,
    opened: number,
    closed: number
  ): void {
    this.spanRow(0, {
      id,
      parent,
      tag: this.nameId(tag),
      opened,
      closed,
      origin: SpanOrigin.User
    });
  }

  /** A process has joined or changed; with a reason, it has left. */
  worker(worker: LocalWorker, left = NaN, why = ''): void {
    const row = { ...worker, memoryLimit: 0, address: '' };
    this.workerRow(row, worker.joined, left, why);
  }

  /** Sets how many tasks of the worker can run at a time from now on. */
  capacity(worker: number, threads: number, now: number): void {
    this.table('capacity').append({
      t: this.since(now),
      worker,
      threads,
      state: CapacityState.Running
    });
  }

  /** A place for one task at a time in a worker. @returns the lane's id. */
  lane(worker: number, place: number): LaneId {
    const lane = this._nextLane++ as LaneId;
    this.table('lanes').append({
      lane,
      worker,
      thread: place,
      ident: NaN,
      since: NaN
    });
    return lane;
  }

  /** A task that will run; its inputs follow by {@link edge}. @returns its id. */
  node(node: LocalNode, submitted: number): number {
    const id = this._nextNode++;
    const table = this.table('nodes');
    const row = table.grow();
    const { columns } = table;
    columns.node[row] = id;
    // Keys are kept whole: if there is no room for the group's name, the rest is the whole key.
    const hasGroup =
      this.names.find(node.group) !== undefined ||
      this.names.size < this._mostNames;
    columns.group[row] = hasGroup
      ? this.names.id(node.group)
      : this.names.id('');
    columns.function[row] = this.nameId(node.functionName);
    columns.span[row] = node.span;
    columns.origin[row] =
      node.span === DEFAULT_SPAN ? TaskOrigin.Default : TaskOrigin.User;
    columns.submitted[row] = this.since(submitted);
    columns.firstEdge[row] = this._nextEdge;
    table.addText('suffix', hasGroup ? node.rest : node.group + node.rest);
    return id;
  }

  /** An input of the node that was written last. */
  edge(node: number): void {
    const table = this.table('edges');
    table.columns.node[table.grow()] = node;
    this._nextEdge++;
  }

  /** @returns the run's id. */
  run(run: LocalRun): number {
    const id = this._nextRun++;
    const table = this.table('runs');
    const row = table.grow();
    const { columns } = table;
    const ready = Math.max(run.submitted, Math.min(run.ready, run.start));
    columns.run[row] = id;
    columns.node[row] = run.node;
    columns.function[row] = run.functionId;
    columns.span[row] = run.span;
    columns.lane[row] = run.lane;
    columns.status[row] = run.status;
    columns.attempt[row] = 1;
    columns.start[row] = this.since(run.start);
    columns.duration[row] = Math.max(0, run.stop - run.start);
    columns.waitReady[row] = ready - run.submitted;
    // Inputs are where they are needed.
    columns.waitInputs[row] = 0;
    columns.waitThread[row] = run.start - ready;
    columns.cpu[row] = run.cpu;
    columns.nbytes[row] = run.nbytes;
    columns.type[row] = NONE_U32;
    return id;
  }

  /** What a run threw. */
  failed(run: number, span: SpanId, stop: number, text: string): void {
    const kind = this.nameId('task-failed');
    this.failedRow(stop, kind, NONE_U16, run, span, text);
  }

  /** A task runs for long in a lane. */
  running(
    lane: LaneId,
    node: number,
    functionId: number,
    span: SpanId,
    started: number
  ): void {
    this.table('running').append({
      lane,
      node,
      function: functionId,
      span,
      started: this.since(started)
    });
  }

  /** The long run of a lane has ended. */
  runningNothing(lane: LaneId): void {
    this.running(lane, NONE_U32, 0, DEFAULT_SPAN, this.start);
  }

  /** Seals what is due. @returns when to call again at the latest, in seconds of the clock; null if nothing waits. */
  commit(now: number): number | null {
    return this.writer.commit(now);
  }

  /** Seals everything. @returns the number of the newest block. */
  seal(): number {
    return this.writer.seal();
  }
}
