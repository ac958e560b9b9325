/** The message `assign`, built from the scheduler's tables. In the scheduler process. */
import { NONE_U32 } from '../../records/enumerations';
import { grownColumn, nextCapacity } from '../../base/growable-columns';
import { arrayOf, type ArrayOf } from '../../base/typed-arrays';
import type { DenseTaskId, OuterTaskId, SpanId } from '../../records/ids';
import { TaskState, type Assign, type TaskTable } from '../../scheduler';
import type { BlobStore, WorkerBlobs } from './blob-store';
import { type TaskRows } from './task-rows';

/** Columns that are filled again for each message; the link copies them when it encodes. */
type TaskColumns = {
  rows: number;
  taskId: ArrayOf<Uint32Array, OuterTaskId>;
  runId: Uint32Array;
  template: Uint32Array;
  chunk: Uint32Array;
  row: Uint32Array;
  function: Uint32Array;
  span: ArrayOf<Uint32Array, SpanId>;
  flags: Uint8Array;
  priority: Float64Array;
  readyAt: Float64Array;
  firstDependency: Uint32Array;
};

type DependencyColumns = {
  rows: number;
  taskId: ArrayOf<Uint32Array, OuterTaskId>;
  worker: Uint16Array;
  nbytes: Float64Array;
};

/** Bytes of blobs in one message, exceeded by one blob at most: a worker under a memory limit takes in one message at a time. */
const BLOB_BYTES = 8 << 20;

/** Of a template or chunk the index among the message's blobs. */
type PlacedBlob = { id: number; blob: number };

/** A message to be sent at once: the next one is built in the same columns. */
type AssignMessage = {
  /** Index in the list of tasks of the next message's first one. */
  readonly end: number;
  readonly fields: {
    readonly templates: PlacedBlob[];
    readonly chunks: PlacedBlob[];
  };
  readonly tables: {
    readonly tasks: TaskColumns;
    readonly dependencies: DependencyColumns;
  };
  readonly blobs: readonly Uint8Array[];
};

export class AssignBuilder {
  private readonly _tasks: TaskColumns = {
    rows: 0,
    taskId: arrayOf(Uint32Array, []),
    runId: new Uint32Array(0),
    template: new Uint32Array(0),
    chunk: new Uint32Array(0),
    row: new Uint32Array(0),
    function: new Uint32Array(0),
    span: arrayOf(Uint32Array, []),
    flags: new Uint8Array(0),
    priority: new Float64Array(0),
    readyAt: new Float64Array(0),
    firstDependency: new Uint32Array(0)
  };
  private readonly _dependencies: DependencyColumns = {
    rows: 0,
    taskId: arrayOf(Uint32Array, []),
    worker: new Uint16Array(0),
    nbytes: new Float64Array(0)
  };

  /** @param _start - the monotonic clock at the scheduler's start: `readyAt` is on that clock. */
  constructor(
    private readonly _rows: TaskRows,
    private readonly _blobs: BlobStore,
    private readonly _start: number
  ) {}

  /**
   * @param has - the blobs that the worker has; those of this message are added. @param begin - the index of its first task; it may not
   * hold all that follow.
   */
  build(
    { worker, taskIds, runIds, priorities }: Assign,
    tasks: TaskTable,
    has: WorkerBlobs,
    begin = 0
  ): AssignMessage {
    const rows = this._rows;
    const out = this._tasks;
    const stop = taskIds.length;
    grow(out, stop - begin);
    this._dependencies.rows = 0;
    let blobBytes = 0;
    let end = begin;
    const fields: AssignMessage['fields'] = { templates: [], chunks: [] };
    const blobs: Uint8Array[] = [];
    let lastTemplate = NONE_U32;
    let lastChunk = NONE_U32;
    for (; end < stop && blobBytes < BLOB_BYTES; end++) {
      const i = end - begin;
      const task = taskIds[end]!;
      const template = rows.template[task]!;
      const chunk = rows.chunk[task]!;
      if (template !== lastTemplate) {
        lastTemplate = template;
        if (template !== NONE_U32 && !has.templates.has(template)) {
          const bytes = this._blobs.template(template);
          blobBytes += bring(
            template,
            bytes,
            has.templates,
            fields.templates,
            blobs
          );
        }
      }
      if (chunk !== lastChunk) {
        lastChunk = chunk;
        if (chunk !== NONE_U32 && !has.chunks.has(chunk)) {
          const bytes = this._blobs.chunk(chunk);
          blobBytes += bring(chunk, bytes, has.chunks, fields.chunks, blobs);
        }
      }
      out.taskId[i] = rows.ids.outer(task);
      out.runId[i] = runIds[end]!;
      out.template[i] = template;
      out.chunk[i] = chunk;
      out.row[i] = rows.row[task]!;
      out.function[i] = rows.functionId[task]!;
      out.span[i] = rows.span[task]!;
      out.flags[i] = rows.flags[task]!;
      out.priority[i] = priorities?.[end] ?? tasks.rank[task]!;
      out.readyAt[i] = this._start + tasks.readyAt[task]!;
      out.firstDependency[i] = this._dependencies.rows;
      this._addDependencies(task, worker, tasks);
    }
    out.rows = end - begin;
    return {
      end,
      fields,
      tables: { tasks: out, dependencies: this._dependencies },
      blobs
    };
  }

  private _addDependencies(
    task: DenseTaskId,
    worker: number,
    tasks: TaskTable
  ): void {
    const { edges, state, nbytes, firstInput, firstReplica, replicas } = tasks;
    const out = this._dependencies;
    for (let e = firstInput[task]!; edges.dependent[e] === task; e++) {
      const input = edges.input[e]! as DenseTaskId;
      const row = out.rows++;
      grow(out, row + 1);
      out.taskId[row] = this._rows.ids.outer(input);
      out.nbytes[row] = nbytes[input]!;
      const head = firstReplica[input]!;
      // An input that is not in memory is being made at the same worker.
      out.worker[row] =
        state[input] !== TaskState.Memory || replicas.has(head, worker)
          ? worker
          : replicas.value(head);
    }
  }
}

/** Adds a blob to a message. @returns its bytes; none: nobody has it any more. */
function bring(
  id: number,
  bytes: Uint8Array | undefined,
  known: Set<number>,
  list: PlacedBlob[],
  blobs: Uint8Array[]
): number {
  if (bytes === undefined) {
    return 0;
  }
  known.add(id);
  list.push({ id, blob: blobs.push(bytes) - 1 });
  return bytes.length;
}

function grow(columns: TaskColumns | DependencyColumns, rows: number): void {
  if (rows <= columns.taskId.length) {
    return;
  }
  const capacity = nextCapacity(columns.taskId.length, rows);
  for (const [name, column] of Object.entries(columns)) {
    if (typeof column !== 'number') {
      (columns as unknown as Record<string, Uint8Array>)[name] = grownColumn(
        column as Uint8Array,
        capacity
      );
    }
  }
}
