/**
 * Columns of the wire ↔ columns of the core. In the scheduler process. The core knows dense task ids, functions and durations; spans,
 * templates, keys and the client's ids stay in {@link TaskRows}.
 */
import { invariant } from '../../base/assert';
import { NONE_U32, SubmitFlag, TaskOrigin } from '../../records/enumerations';
import { Int32List } from '../../base/int-list';
import type { ArrayOf } from '../../base/typed-arrays';
import {
  DEFAULT_SPAN,
  type ClientTaskId,
  type DenseTaskId,
  type DenseTaskIds,
  type OuterTaskId
} from '../../records/ids';
import {
  TaskState,
  type DataPlaced,
  type GraphSubmitted,
  type TasksFinished,
  type TaskTable
} from '../../scheduler';
import type { EmbeddedClusterLog, NamesOf } from '../../sources';
import type { Message } from '../../wire/schema';
import { own, UseCounter, type BlobStore } from './blob-store';
import type { ClientBlobs, ClientSpans, ClientTasks } from './client-scope';
import type { TallyNumbers } from './tally-numbers';
import { NO_TASK, type TaskRows } from './task-rows';

/** What the translation of a submission reads and fills. */
export type SubmitContext = {
  readonly rows: TaskRows;
  readonly tasks: ClientTasks;
  readonly spans: ClientSpans;
  readonly names: NamesOf;
  readonly tallies: TallyNumbers;
  readonly log: EmbeddedClusterLog;
  /** All clients' blobs, and this client's numbers of them. */
  readonly blobs: BlobStore;
  readonly own: ClientBlobs;
  /** The core's: what it has just forgotten still has its id. */
  readonly states: TaskTable;
  /** The monotonic clock, and the same since the scheduler's start; in seconds. */
  readonly now: number;
  readonly at: number;
};

type Submit = Message<'client', 'up', 'submit'>;
/** What rows of `submit` and `scattered` both say of a task. */
type DescribedTasks = Pick<
  Submit['tables']['tasks'],
  'rows' | 'group' | 'function' | 'span' | 'flags' | 'suffix'
>;

/** A submission for the core. */
type Submission = {
  readonly event: GraphSubmitted;
  /** Earlier tasks that the client wants from now on under an alias: the core is told before it gets the event. */
  readonly newlyWanted: readonly DenseTaskId[];
  /** Aliases (client id, task) of tasks that the client wants already: the core will not report these again. */
  readonly alsoWanted: readonly (readonly [ClientTaskId, DenseTaskId])[];
};

/**
 * Takes up the tasks of a `submit`: gives them ids and rows, writes them into the log. The caller has made sure that there is room. Rows
 * come after the rows that they depend on.
 *
 * @param newChunks - the cluster's numbers of the chunks that the message has brought.
 */
export function translateSubmit(
  { fields, tables, blobs }: Submit,
  context: SubmitContext,
  newChunks: ReadonlyMap<number, number>
): Submission {
  const { rows, log, tasks: known } = context;
  const { tasks, dependencies, users } = tables;
  const keyTexts = {
    blob: fields.keysBlob < 0 ? new Uint8Array(0) : own(blobs[fields.keysBlob]!)
  };
  const count = tasks.rows;
  const { blobs: kept } = context;
  const templates = new UseCounter((id, n) => kept.useTemplate(id, n));
  const chunks = new UseCounter((id, n) => kept.useChunk(id, n));
  const numbers = new BlobNumbers(context.own, newChunks);
  const ids = new Int32List<DenseTaskId>(count);
  const from = new Int32List(count);
  const firstInput = new Int32List(count + 1);
  const inputs = new Int32List<DenseTaskId>(dependencies.rows);
  const aliases: [ClientTaskId, DenseTaskId][] = [];
  /** Rows of this message have ids from here on; the core does not know them yet. */
  const firstOwn = known.end;
  firstInput.push(0);
  for (let i = 0; i < count; i++) {
    const clientId = tasks.id[i]!;
    const isLast = i + 1 === count;
    const start = tasks.firstDependency[i]!;
    const stop = isLast ? dependencies.rows : tasks.firstDependency[i + 1]!;
    if ((tasks.flags[i]! & SubmitFlag.Alias) !== 0 && start < stop) {
      const target = known.resolve(dependencies.id[start]!);
      const isHere =
        target >= 0 &&
        (dependencies.id[start]! >= firstOwn ||
          context.states.state[target] !== TaskState.Forgotten);
      if (isHere) {
        known.bind(clientId, target);
        if ((tasks.flags[i]! & SubmitFlag.Wanted) !== 0) {
          aliases.push([clientId, target]);
        }
        continue;
      }
      // Its value is gone. As a task with a lost dependency it fails with a sentence.
    }
    const task = takeRow(context, clientId);
    rows.template[task] = numbers.template(tasks.template[i]!);
    rows.chunk[task] = numbers.chunk(tasks.chunk[i]!);
    rows.row[task] = tasks.row[i]!;
    templates.add(rows.template[task]!);
    chunks.add(rows.chunk[task]!);
    describeRow(context, tasks, i, task, tasks.origin[i]!, keyTexts);
    if (tasks.span[i] === DEFAULT_SPAN) {
      context.spans.addToDefault(rows.ids.outer(task));
    }
    for (let k = start; k < stop; k++) {
      const input = known.resolve(dependencies.id[k]!);
      inputs.push(input);
      if (input >= 0) {
        log.edge(rows.node[input]!);
      }
    }
    if ((tasks.flags[i]! & SubmitFlag.Wanted) !== 0) {
      rows.want(clientId, task, known.client);
    }
    ids.push(task);
    from.push(i);
    firstInput.push(inputs.length);
  }
  templates.end();
  chunks.end();
  const newlyWanted: DenseTaskId[] = [];
  const alsoWanted: [ClientTaskId, DenseTaskId][] = [];
  const fresh = aliases.length > 0 ? new Set(ids.toArray()) : null;
  for (const [clientId, target] of aliases) {
    rows.flags[target]! |= SubmitFlag.Wanted;
    if (!rows.want(clientId, target, known.client)) {
      alsoWanted.push([clientId, target]);
    } else if (!fresh!.has(target)) {
      newlyWanted.push(target);
    }
  }
  const taskIds = ids.toArray();
  // Mostly no row is an alias: then the columns are taken as they came.
  const picked = taskIds.length === count ? null : from.toArray();
  const { functionIds, tallies, wanted } = columnsOf(taskIds, context);
  return {
    event: {
      type: 'graphSubmitted',
      at: context.at,
      client: context.tasks.client,
      generation: fields.generation,
      last: fields.last,
      within:
        fields.within === null
          ? NO_TASK
          : rows.ids.resolve(fields.within as OuterTaskId),
      taskIds,
      userPriority: pick(Int32Array, tasks.userPriority, picked),
      functionIds,
      tallies,
      retries: pick(Uint8Array, tasks.retries, picked),
      restrictions: pick(Uint16Array, tasks.restriction, picked),
      restrictionSets: fields.restrictions,
      firstInput: firstInput.toUint32Array(),
      inputs: inputs.toArray(),
      data: dataAmong(pick(Uint8Array, tasks.flags, picked)),
      wanted,
      // (not null if there are none: the event keeps its shape)
      users:
        users.rows === 0 ? users.count : pick(Uint32Array, users.count, picked)
    },
    newlyWanted,
    alsoWanted
  };
}

/** What the core is told of tasks whose rows are filled. In one loop: each is compiled by itself. */
function columnsOf(
  taskIds: DenseTaskIds,
  { rows, tallies }: SubmitContext
): {
  readonly functionIds: Uint32Array;
  readonly tallies: Uint16Array;
  readonly wanted: Uint8Array;
} {
  const count = taskIds.length;
  const columns = {
    functionIds: new Uint32Array(count),
    tallies: new Uint16Array(count),
    wanted: new Uint8Array(count)
  };
  for (let i = 0; i < count; i++) {
    const task = taskIds[i]!;
    const functionId = rows.functionId[task]!;
    columns.functionIds[i] = functionId;
    columns.tallies[i] = tallies.of(functionId, rows.span[task]!);
    columns.wanted[i] = rows.isWanted(task) ? 1 : 0;
  }
  return columns;
}

/** 1: the client wants the task. */
function wantedAmong(rows: TaskRows, taskIds: DenseTaskIds): Uint8Array {
  const wanted = new Uint8Array(taskIds.length);
  for (let i = 0; i < taskIds.length; i++) {
    wanted[i] = Number(rows.isWanted(taskIds[i]!));
  }
  return wanted;
}

/** Which tasks are data, by their flags: null for none, as in most graphs. */
function dataAmong(flags: Uint8Array): Uint8Array | null {
  let all = 0;
  for (let i = 0; i < flags.length; i++) {
    all |= flags[i]!;
  }
  return (all & SubmitFlag.Data) === 0
    ? null
    : flags.map(each => Number((each & SubmitFlag.Data) !== 0));
}

/** Takes up data that a client has put to workers. The caller has made sure that there is room. */
export function translateScattered(
  { fields, tables, blobs }: Message<'client', 'up', 'scattered'>,
  context: SubmitContext
): DataPlaced {
  const { rows } = context;
  const { tasks, holders } = tables;
  const keyTexts = {
    blob: fields.keysBlob < 0 ? new Uint8Array(0) : own(blobs[fields.keysBlob]!)
  };
  const taskIds = new Int32Array(tasks.rows) as DenseTaskIds;
  for (let i = 0; i < tasks.rows; i++) {
    const clientId = tasks.id[i]!;
    const task = takeRow(context, clientId);
    taskIds[i] = task;
    // The row may still hold its last owner's values.
    rows.template[task] = NONE_U32;
    rows.chunk[task] = NONE_U32;
    // Scattered data stands where its user wrote it.
    describeRow(context, tasks, i, task, TaskOrigin.User, keyTexts);
    if ((tasks.flags[i]! & SubmitFlag.Wanted) !== 0) {
      rows.want(clientId, task, context.tasks.client);
    }
  }
  return {
    type: 'dataPlaced',
    at: context.at,
    client: context.tasks.client,
    taskIds,
    functionIds: pick(Uint32Array, rows.functionId, taskIds),
    nbytes: tasks.nbytes,
    wanted: wantedAmong(rows, taskIds),
    holderRows: holders.row,
    holderWorkers: holders.worker
  };
}

/** Dense ids of tasks as the worker link names them; −1: not known any more. */
export function denseIds(
  rows: TaskRows,
  outerIds: ArrayLike<OuterTaskId>,
  count: number
): DenseTaskIds {
  const dense = new Int32Array(count) as DenseTaskIds;
  for (let i = 0; i < count; i++) {
    dense[i] = rows.ids.resolve(outerIds[i]!);
  }
  return dense;
}

/** Ids as the worker link names them. */
export function outerIds(
  rows: TaskRows,
  taskIds: DenseTaskIds
): ArrayOf<Uint32Array, OuterTaskId> {
  const outer = new Uint32Array(taskIds.length) as ArrayOf<
    Uint32Array,
    OuterTaskId
  >;
  for (let i = 0; i < taskIds.length; i++) {
    outer[i] = rows.ids.outer(taskIds[i]!);
  }
  return outer;
}

/** @param tasks - the dense ids of the message's runs. */
export function translateFinished(
  { tables }: Message<'worker', 'up', 'finished'>,
  worker: number,
  tasks: DenseTaskIds,
  rows: TaskRows,
  at: number
): TasksFinished {
  const { runs, missing } = tables;
  const missingInputs = new Int32List<DenseTaskId>(missing.rows);
  const missingWorkers: number[] = [];
  for (let k = 0; k < missing.rows; k++) {
    const input = rows.ids.resolve(missing.taskId[k]!);
    if (input >= 0) {
      missingInputs.push(input);
      missingWorkers.push(missing.worker[k]!);
    }
  }
  return {
    type: 'tasksFinished',
    at,
    worker,
    taskIds: tasks,
    runIds: runs.runId,
    status: runs.status,
    nbytes: runs.nbytes,
    duration: runs.duration,
    missingInputs: missingInputs.toArray(),
    missingWorkers: Uint16Array.from(missingWorkers)
  };
}

/**
 * How many ids {@link translateSubmit} takes: one for each row, except for aliases of a task that already has an id or of an earlier row.
 */
export function idsTakenBy(
  { tasks, dependencies }: Submit['tables'],
  known: ClientTasks
): number {
  const bound = new Set<ClientTaskId>();
  let count = 0;
  for (let i = 0; i < tasks.rows; i++) {
    const start = tasks.firstDependency[i]!;
    const stop =
      i + 1 === tasks.rows ? dependencies.rows : tasks.firstDependency[i + 1]!;
    const target = dependencies.id[start]!;
    const isBound =
      (tasks.flags[i]! & SubmitFlag.Alias) !== 0 &&
      start < stop &&
      (bound.has(target) || known.resolve(target) >= 0);
    count += isBound ? 0 : 1;
    bound.add(tasks.id[i]!);
  }
  return count;
}

/** Keeps what row `i` says of a task, and writes the task into the log. */
function describeRow(
  { rows, names, spans, log, now }: SubmitContext,
  described: DescribedTasks,
  i: number,
  task: DenseTaskId,
  origin: number,
  keyTexts: { readonly blob: Uint8Array }
): void {
  const group = names.logId(described.group[i]!);
  const functionId = names.logId(described.function[i]!);
  const span = spans.outer(described.span[i]!);
  rows.functionId[task] = functionId;
  rows.group[task] = group;
  rows.span[task] = span;
  rows.flags[task] = described.flags[i]!;
  const { blob } = keyTexts;
  const start = described.suffix[i]!;
  const end = i + 1 === described.rows ? blob.length : described.suffix[i + 1]!;
  rows.keyStart[task] = start;
  rows.keyEnd[task] = end;
  rows.setKeyTexts(task, keyTexts);
  rows.node[task] = log.node(
    now,
    group,
    functionId,
    span,
    origin,
    blob,
    start,
    end
  );
}

function takeRow(
  { tasks }: SubmitContext,
  clientId: ClientTaskId
): DenseTaskId {
  const task = tasks.take(clientId);
  invariant(task >= 0, 'There is room for what is taken up.');
  return task;
}

/** The cluster's numbers of blobs; rows that follow one another mostly name the same. */
class BlobNumbers {
  private _ownTemplate = NONE_U32;
  private _template = NONE_U32;
  private _ownChunk = NONE_U32;
  private _chunk = NONE_U32;

  constructor(
    private readonly _own: ClientBlobs,
    private readonly _newChunks: ReadonlyMap<number, number>
  ) {}

  template(id: number): number {
    if (id !== this._ownTemplate) {
      this._ownTemplate = id;
      this._template = this._own.template(id);
    }
    return this._template;
  }

  /** Only the message that brings a chunk names it. */
  chunk(id: number): number {
    if (id !== this._ownChunk) {
      this._ownChunk = id;
      this._chunk = this._newChunks.get(id) ?? NONE_U32;
    }
    return this._chunk;
  }
}

type ColumnMaker<T> = new (length: number) => T;

/** @param indices - null: all, in their order. */
function pick<T extends { [row: number]: number }>(
  make: ColumnMaker<T>,
  source: T,
  indices: Int32Array | null
): T {
  if (indices === null) {
    return source;
  }
  const picked = new make(indices.length);
  for (let i = 0; i < indices.length; i++) {
    picked[i] = source[indices[i]!]!;
  }
  return picked;
}
