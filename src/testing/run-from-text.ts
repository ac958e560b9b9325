/**
 * Runs drawn as text: rows are threads, letters are tasks, one column is a stretch of time.
 *
 *     drawRuns(`
 *       0/0  aaaabbb..c        worker 0, thread 0: a for 4 columns, b for 3, nothing for 2, c for 1
 *       0/1  ..dd..eee.
 *       1/0  ffffffffff
 *     `)
 *
 * A letter may come again: it is another run of the same task. What a letter means (its function, span, CPU time, waits, parts) is said in
 * `tasks`; a letter that is left out is a task of function "inc" in no span that used its CPU all the time.
 */
import {
  NONE_U16,
  NONE_U32,
  type PartKind,
  RunStatus,
  TaskOrigin
} from '../records/enumerations';
import type { BlockRows } from '../observer/store/column-table';
import { ingestBlock } from '../observer/store/ingest';
import { LogStore } from '../observer/store/log-store';
import type { StoreBounds } from '../observer/store/store-bounds';
import type { TableName } from '../records/tables';
import { rowsToBlock, type Row } from './rows-to-block';

type DrawnPart = {
  readonly kind: PartKind;
  readonly held?: boolean;
  /** Columns since the run's start. */
  readonly offset: number;
  /** Columns. */
  readonly duration: number;
  readonly cpu?: number;
  /** Columns; NaN if left out. */
  readonly coreWait?: number;
  readonly function?: string;
  readonly span?: string;
  readonly bytes?: number;
};
export type DrawnTask = {
  readonly function?: string;
  /** Tags joined by "/". */
  readonly span?: string;
  /** Columns; all of the run if left out, NaN for "not known". */
  readonly cpu?: number;
  readonly status?: RunStatus;
  /** Columns before the start; 0 if left out. */
  readonly waitReady?: number;
  readonly waitInputs?: number;
  readonly waitThread?: number;
  readonly bytes?: number;
  /** Of its result. */
  readonly type?: string;
  readonly parts?: readonly DrawnPart[];
};
type DrawingOptions = {
  readonly tasks?: Readonly<Record<string, DrawnTask>>;
  /** 1 if left out. */
  readonly secondsPerColumn?: number;
  /** Spans that exist without a task; "a/b" makes "a" too. */
  readonly spans?: readonly string[];
  readonly bounds?: StoreBounds;
  /** Whether parts come in a block before their run's (as sources write) or after it. */
  readonly partsFirst?: boolean;
};

/** The blocks of a drawn log. */
export function drawBlocks(
  drawing: string,
  options: DrawingOptions = {}
): BlockRows[] {
  return new Drawing(drawing, options).blocks();
}

/** A drawn log, taken in. */
export function drawRuns(
  drawing: string,
  options: DrawingOptions = {}
): LogStore {
  const log = new LogStore('drawn', options.bounds);
  for (const block of drawBlocks(drawing, options)) {
    ingestBlock(log, block);
  }
  return log;
}

class Drawing {
  private readonly _names = new Map<string, number>();
  private readonly _spans = new Map<string, number>();
  private readonly _rows = new Map<TableName, Row[]>();
  private readonly _seconds: number;
  private readonly _nodes = new Map<string, number>();

  constructor(
    drawing: string,
    private readonly _options: DrawingOptions
  ) {
    this._seconds = _options.secondsPerColumn ?? 1;
    for (const path of _options.spans ?? []) {
      this._span(path);
    }
    const threads = new Map<number, number>();
    const runs: { row: Row; parts: Row[]; stop: number }[] = [];
    let lane = 0;
    for (const line of drawing.split('\n')) {
      const match = /^\s*(\d+)\/(\d+)\s+(\S+)\s*$/.exec(line);
      if (match === null) {
        if (line.trim() !== '') {
          throw new Error(`Not a drawn thread: "${line}"`);
        }
        continue;
      }
      const worker = Number(match[1]);
      const thread = Number(match[2]);
      threads.set(worker, Math.max(threads.get(worker) ?? 0, thread + 1));
      this._add('lanes', { lane, worker, thread, ident: NaN, since: NaN });
      runs.push(...this._runsOf(match[3]!, lane));
      lane++;
    }
    for (const [worker, count] of threads) {
      this._add('workers', {
        worker,
        threads: count,
        memoryLimit: 2 ** 30,
        joined: 0,
        left: NaN,
        name: `worker-${worker}`
      });
    }
    runs.sort((a, b) => a.stop - b.stop);
    runs.forEach(({ row, parts }, run) => {
      this._add('runs', { ...row, run });
      for (const part of parts) {
        this._add('parts', { ...part, run });
      }
    });
  }

  blocks(): BlockRows[] {
    this._add('names');
    for (const [text, id] of this._names) {
      this._add('names', { id, text });
    }
    const work: TableName[] =
      this._options.partsFirst === false
        ? ['runs', 'parts']
        : ['parts', 'runs'];
    const order: TableName[] = [
      'names',
      'spans',
      'workers',
      'lanes',
      'nodes',
      ...work
    ];
    return order
      .filter(table => (this._rows.get(table)?.length ?? 0) > 0)
      .map((table, i) => rowsToBlock(i + 1, table, this._rows.get(table)!));
  }

  private _runsOf(
    columns: string,
    lane: number
  ): { row: Row; parts: Row[]; stop: number }[] {
    const runs = [];
    for (let first = 0; first < columns.length;) {
      const letter = columns[first]!;
      let end = first + 1;
      while (end < columns.length && columns[end] === letter) {
        end++;
      }
      if (letter !== '.') {
        runs.push(this._run(letter, lane, first, end - first));
      }
      first = end;
    }
    return runs;
  }

  private _run(
    letter: string,
    lane: number,
    column: number,
    columns: number
  ): { row: Row; parts: Row[]; stop: number } {
    const task = this._options.tasks?.[letter] ?? {};
    const fn = this._name(task.function ?? 'inc');
    const span = this._span(task.span ?? '');
    const waits = {
      waitReady: (task.waitReady ?? 0) * this._seconds,
      waitInputs: (task.waitInputs ?? 0) * this._seconds,
      waitThread: (task.waitThread ?? 0) * this._seconds
    };
    const start = column * this._seconds;
    let node = this._nodes.get(letter);
    if (node === undefined) {
      node = this._nodes.size;
      this._nodes.set(letter, node);
      this._add('nodes', {
        node,
        group: fn,
        function: fn,
        span,
        origin: TaskOrigin.User,
        submitted:
          start - waits.waitReady - waits.waitInputs - waits.waitThread,
        suffix: `-${letter}`
      });
    }
    const row: Row = {
      node,
      function: fn,
      span,
      lane,
      status: task.status ?? RunStatus.Ok,
      start,
      duration: columns * this._seconds,
      ...waits,
      cpu: (task.cpu ?? columns) * this._seconds,
      nbytes: task.bytes ?? 0,
      type: task.type === undefined ? NONE_U32 : this._name(task.type)
    };
    const parts = (task.parts ?? []).map(part => ({
      kind: part.kind,
      held: part.held === false ? 0 : 1,
      function: part.function === undefined ? fn : this._name(part.function),
      span: part.span === undefined ? span : this._span(part.span),
      from: NONE_U16,
      offset: part.offset * this._seconds,
      duration: part.duration * this._seconds,
      cpu: (part.cpu ?? part.duration) * this._seconds,
      coreWait: (part.coreWait ?? NaN) * this._seconds,
      bytes: part.bytes ?? 0
    }));
    return { row, parts, stop: (column + columns) * this._seconds };
  }

  private _name(text: string): number {
    let id = this._names.get(text);
    if (id === undefined) {
      id = this._names.size + 1;
      this._names.set(text, id);
    }
    return id;
  }

  /** "" is no span. */
  private _span(path: string): number {
    if (path === '') {
      return 0;
    }
    let id = this._spans.get(path);
    if (id === undefined) {
      const cut = path.lastIndexOf('/');
      const parent = cut < 0 ? 0 : this._span(path.slice(0, cut));
      id = this._spans.size + 1;
      this._spans.set(path, id);
      this._add('spans', {
        id,
        parent,
        tag: this._name(path.slice(cut + 1)),
        opened: 0,
        closed: NaN
      });
    }
    return id;
  }

  private _add(table: TableName, row?: Row): void {
    const rows = this._rows.get(table) ?? [];
    this._rows.set(table, rows);
    if (row !== undefined) {
      rows.push(row);
    }
  }
}
