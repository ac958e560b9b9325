/** Counts, for clients that ask, how far their tasks and all inputs of these are. In the scheduler process. */
import type { ArrayOf } from '../../base/typed-arrays';
import { Int32List } from '../../base/int-list';
import {
  DEFAULT_SPAN,
  type ClientTaskId,
  type DenseTaskId,
  type OuterTaskId,
  type SpanId
} from '../../records/ids';
import {
  FailureReason,
  NONE,
  TaskState,
  type TaskTable
} from '../../scheduler';
import type { AcceptedLink } from '../../link/door';
import { BrokenFrame } from '../../wire/broken-frame';
import type { Message } from '../../wire/schema';
import type { ClientSpans, ClientTasks } from './client-scope';
import type { TaskRows } from './task-rows';

type Follow = Message<'client', 'up', 'follow'>;
type Followed = Message<'client', 'down', 'followed'>['fields'];

/** Bounds of what one client may follow at a time: six bytes a task. */
const MOST_NUMBERS = 64;
const MOST_TASKS = 1 << 23;
/** The last group stands for those beyond. */
const MOST_GROUPS = 1_024;
const OTHERS = MOST_GROUPS - 1;
/** Bounds of a page of keys. */
const MOST_KEYS = 16_384;
const MOST_KEY_BYTES = 1 << 20;
/** Of an error's message: bars show a line of it. */
const MOST_CHARACTERS = 2_000;

/** How the tasks of a group are, in the order of the columns of `followed`. */
enum How {
  Done,
  Running,
  Failed,
  Lost,
  Cancelled,
  Skipped,
  Again,
  Pending
}
const COUNTED = How.Pending;

/** What is known of a task that somebody follows. */
enum Mark {
  None,
  Followed,
  /** Nobody needed it when it was looked at last. */
  Skipped
}

/** What following needs of the cluster. */
interface IFollowedCluster {
  readonly core: { readonly tasks: TaskTable };
  readonly rows: TaskRows;
  readonly log: { readonly names: { text(id: number): string } };
  keyOf(task: DenseTaskId): string;
  failureOf(
    cause: DenseTaskId,
    reason: FailureReason
  ): { readonly key: string; readonly type: string; readonly message: string };
}

/** Tasks that one client follows under one number. */
class Tasks {
  size: number;
  isGrouped: boolean;
  /** One text or span per group. */
  texts: string[] = [];
  spans: SpanId[] = [];
  /** By group: how many there are, and how those ended that the scheduler has forgotten. */
  total = new Uint32Array(0);
  ended = new Uint32Array(0);
  /** The error that was told last: it stays when the task that raised it is forgotten. */
  error: Followed['error'] = null;

  constructor(
    readonly ids: ArrayOf<Uint32Array, OuterTaskId>,
    readonly group: Uint16Array
  ) {
    this.size = ids.length;
    this.isGrouped = true;
  }

  /** Begins to count. */
  setGroups(count: number): void {
    this.isGrouped = true;
    this.total = new Uint32Array(count);
    this.ended = new Uint32Array(count * COUNTED);
    for (let i = 0; i < this.size; i++) {
      this.total[this.group[i]!]!++;
    }
  }

  /** Takes a task out that the scheduler has forgotten. */
  end(index: number, how: How): void {
    this.ended[this.group[index]! * COUNTED + how]!++;
    this.size--;
    this.ids[index] = this.ids[this.size]!;
    this.group[index] = this.group[this.size]!;
  }
}

/**
 * The tasks that clients follow.
 *
 * Following costs nothing while tasks move. When a client asks for the counts, the scheduler reads the state of each followed task that is
 * not forgotten, a few ns each. When a followed task is forgotten and was not done, its end is noted, because its row will be reused.
 *
 * ```
 *   open: ids ─► all that they need ─► groups        count: state of each ─► counts by group        forgotten: done, or noted here
 * ```
 */
export class Follows {
  private readonly _clients = new Map<number, Map<number, Tasks>>();
  /** {@link Mark}, by dense id. */
  private _marks = new Uint8Array(0);
  /** How followed tasks ended that are forgotten and not done. */
  private _ends = new Map<OuterTaskId, How>();

  constructor(
    private readonly _cluster: IFollowedCluster,
    private readonly _mostTasks = MOST_TASKS
  ) {}

  /** @throws BrokenFrame before anything is changed. */
  take(
    message: Follow,
    own: ClientTasks,
    spans: ClientSpans,
    link: AcceptedLink<'client'>
  ): void {
    const { request, what, number, after } = message.fields;
    const known = this._clients.get(own.client);
    const tasks = known?.get(number);
    if (what === 'open') {
      return this._open(message, own, spans, link);
    }
    if (what === 'close') {
      if (known?.delete(number)) {
        this._dropUnused(own.client);
      }
      return;
    }
    if (tasks === undefined) {
      const refused = 'The scheduler does not follow these tasks any more.';
      link.send('followed', { request, tasks: 0, refused });
      return;
    }
    switch (what) {
      case 'keys':
        return this._keys(request, tasks, after, link);
      case 'group':
        regroup(tasks, message.tables.groups.group);
        return this._count(request, tasks, link);
      case 'count':
        return this._count(request, tasks, link);
    }
  }

  /** The core has forgotten a task, whose ids are given back next. */
  forgotten(task: DenseTaskId): void {
    if ((this._marks[task] ?? Mark.None) !== Mark.None) {
      const how = this._endOf(task);
      this._marks[task] = Mark.None;
      if (how !== How.Done) {
        this._ends.set(this._cluster.rows.ids.outer(task), how);
      }
    }
  }

  clientLeft(client: number): void {
    if (this._clients.delete(client)) {
      this._dropUnused(client);
    }
  }

  /** Keeps what is known of those tasks alone that somebody still follows. */
  private _dropUnused(client: number): void {
    if (this._clients.get(client)?.size === 0) {
      this._clients.delete(client);
    }
    const { ids } = this._cluster.rows;
    const isUsed = this._clients.size > 0;
    const marks = new Uint8Array(isUsed ? this._marks.length : 0);
    const ends = new Map<OuterTaskId, How>();
    for (const known of this._clients.values()) {
      for (const tasks of known.values()) {
        for (let i = 0; i < tasks.size; i++) {
          const outer = tasks.ids[i]!;
          const task = ids.resolve(outer);
          const how = this._ends.get(outer);
          if (task >= 0) {
            marks[task] = this._marks[task]!;
          } else if (how !== undefined) {
            ends.set(outer, how);
          }
        }
      }
    }
    this._marks = marks;
    this._ends = ends;
  }

  private _open(
    { fields, tables }: Follow,
    own: ClientTasks,
    spans: ClientSpans,
    link: AcceptedLink<'client'>
  ): void {
    const { request, number, by, complete } = fields;
    const { rows, core, log } = this._cluster;
    const known = this._clients.get(own.client) ?? new Map<number, Tasks>();
    const replaced = known.get(number);
    const unknown: ClientTaskId[] = [];
    const named: DenseTaskId[] = [];
    for (const id of tables.ids.id) {
      const task = own.resolve(id);
      if (task < 0 || core.tasks.state[task] === TaskState.Forgotten) {
        unknown.push(id);
      } else {
        named.push(task);
      }
    }
    const found = needed(core.tasks, named, complete);
    let followed = found.length - (replaced?.size ?? 0);
    known.forEach(({ size }) => (followed += size));
    if (
      followed > this._mostTasks ||
      (replaced === undefined && known.size >= MOST_NUMBERS)
    ) {
      const refused =
        `A client may follow ${this._mostTasks.toLocaleString('en')} tasks at a time, under ${MOST_NUMBERS} bars. ` +
        'Close others first.';
      link.send('followed', { request, tasks: 0, refused });
      return;
    }
    const tasks = new Tasks(
      Uint32Array.from(found, task => rows.ids.outer(task)) as ArrayOf<
        Uint32Array,
        OuterTaskId
      >,
      new Uint16Array(found.length)
    );
    const column = by === 'span' ? rows.span : rows.functionId;
    if (by !== 'task') {
      const groups = numbered(found, task => column[task]!, tasks.group);
      tasks.texts = groups.map(id =>
        by === 'span' ? '' : id === null ? '(others)' : log.names.text(id)
      );
      tasks.spans = groups.map(id =>
        by === 'span' && id !== null ? spans.own(id as SpanId) : DEFAULT_SPAN
      );
      tasks.setGroups(groups.length);
    } else {
      tasks.isGrouped = false;
    }
    known.set(number, tasks);
    this._clients.set(own.client, known);
    this._mark(found);
    if (replaced !== undefined) {
      this._dropUnused(own.client);
    }
    this._count(request, tasks, link, unknown);
  }

  private _mark(found: readonly DenseTaskId[]): void {
    const { tasks } = this._cluster.core;
    if (this._marks.length < tasks.capacity) {
      const marks = new Uint8Array(tasks.capacity);
      marks.set(this._marks);
      this._marks = marks;
    }
    for (const task of found) {
      this._marks[task] = Mark.Followed;
    }
  }

  private _keys(
    request: number,
    tasks: Tasks,
    after: number,
    link: AcceptedLink<'client'>
  ): void {
    const { rows } = this._cluster;
    const texts: Uint8Array[] = [];
    const columns = { start: [] as number[], end: [] as number[] };
    let end = 0;
    let index = after;
    for (; index < tasks.size; index++) {
      if (columns.start.length >= MOST_KEYS || end >= MOST_KEY_BYTES) {
        break;
      }
      const task = rows.ids.resolve(tasks.ids[index]!);
      columns.start.push(end);
      if (task >= 0) {
        const text = Buffer.from(this._cluster.keyOf(task));
        texts.push(text);
        end += text.length;
      }
      columns.end.push(end);
    }
    const next = index < tasks.size ? index : null;
    const fields = { request, tasks: tasks.size, next };
    link.send('followed', fields, { keys: columns }, [Buffer.concat(texts)]);
  }

  private _count(
    request: number,
    tasks: Tasks,
    link: AcceptedLink<'client'>,
    unknown?: readonly ClientTaskId[]
  ): void {
    const { counts, failed } = this._look(tasks);
    if (failed !== null) {
      tasks.error = this._error(failed);
    }
    const isFailed = counts.some(
      (count, i) => count > 0 && [How.Failed, How.Lost].includes(i % COUNTED)
    );
    const error = isFailed ? tasks.error : null;
    const isFirst = unknown !== undefined;
    const texts = isFirst ? tasks.texts.map(each => Buffer.from(each)) : [];
    let end = 0;
    const ends = Array.from(
      tasks.total,
      (_, i) => (end += texts[i]?.length ?? 0)
    );
    const column = (how: How): number[] =>
      Array.from(tasks.total, (_, group) => counts[group * COUNTED + how]!);
    const fields = { request, tasks: tasks.ids.length, error };
    link.send(
      'followed',
      fields,
      {
        groups: {
          start: ends.map((each, i) => each - (texts[i]?.length ?? 0)),
          end: ends,
          span: Array.from(
            tasks.total,
            (_, i) => tasks.spans[i] ?? DEFAULT_SPAN
          ),
          total: [...tasks.total],
          done: column(How.Done),
          running: column(How.Running),
          failed: column(How.Failed),
          lost: column(How.Lost),
          cancelled: column(How.Cancelled),
          skipped: column(How.Skipped),
          again: column(How.Again)
        },
        unknown: { id: [...(unknown ?? [])] }
      },
      [Buffer.concat(texts)]
    );
  }

  /** How the tasks are now: counts by group, and one that has failed. */
  private _look(tasks: Tasks): {
    counts: Uint32Array;
    failed: DenseTaskId | null;
  } {
    const { rows, core } = this._cluster;
    const { ids, group, isGrouped } = tasks;
    const now = new Uint32Array(tasks.ended.length);
    let failed: DenseTaskId | null = null;
    let i = 0;
    while (isGrouped && i < tasks.size) {
      const outer = ids[i]!;
      const task = rows.ids.resolve(outer);
      if (task < 0 || core.tasks.state[task] === TaskState.Forgotten) {
        const how =
          task < 0 ? (this._ends.get(outer) ?? How.Done) : this._endOf(task);
        tasks.end(i, how); // another is at i now
        continue;
      }
      const how = howIs(core.tasks, task);
      this._marks[task] = how === How.Skipped ? Mark.Skipped : Mark.Followed;
      if (how !== How.Pending) {
        now[group[i]! * COUNTED + how]!++;
      }
      if (failed === null && (how === How.Failed || how === How.Lost)) {
        failed = task;
      }
      i++;
    }
    return { counts: now.map((count, i) => count + tasks.ended[i]!), failed };
  }

  /** How a task ended that is forgotten and whose row nobody has taken yet. */
  private _endOf(task: DenseTaskId): How {
    const { tasks } = this._cluster.core;
    if (tasks.reason[task] !== FailureReason.None) {
      return howFailed(tasks, task);
    }
    return tasks.hadResult(task)
      ? How.Done
      : this._marks[task] === Mark.Skipped
        ? How.Skipped
        : How.Cancelled;
  }

  private _error(task: DenseTaskId): Followed['error'] {
    const cluster = this._cluster;
    const { cause, reason } = cluster.core.tasks;
    const first = cause[task]! as DenseTaskId;
    const { key, type, message } = cluster.failureOf(
      first === NONE ? task : first,
      reason[task]! as FailureReason
    );
    return { key: cut(key), type: cut(type), message: cut(message) };
  }
}

function cut(text: string): string {
  return text.slice(0, MOST_CHARACTERS);
}

/**
 * Those tasks and all that they need, each once.
 *
 * @param complete - also what is there already, with its inputs.
 */
function needed(
  tasks: TaskTable,
  named: readonly DenseTaskId[],
  complete: boolean
): DenseTaskId[] {
  const { edges, firstInput, state } = tasks;
  const seen = new Uint8Array(tasks.capacity);
  const found: DenseTaskId[] = [];
  const open = new Int32List<DenseTaskId>(named.length);
  const meet = (task: DenseTaskId): void => {
    const isThere =
      state[task] === TaskState.Memory ||
      (state[task] === TaskState.Released && tasks.hadResult(task));
    if (seen[task] === 0 && (complete || !isThere)) {
      seen[task] = 1;
      found.push(task);
      open.push(task);
    }
  };
  named.forEach(meet);
  while (open.length > 0) {
    const task = open.at(open.length - 1);
    open.truncate(open.length - 1);
    for (let e = firstInput[task]!; edges.dependent[e] === task; e++) {
      meet(edges.input[e]! as DenseTaskId);
    }
  }
  return found;
}

/** Numbers the different values in order of appearance, and writes each task's into `group`. The last may be null: those beyond. */
function numbered(
  found: readonly DenseTaskId[],
  valueOf: (task: DenseTaskId) => number,
  group: Uint16Array
): (number | null)[] {
  const numbers = new Map<number, number>();
  found.forEach((task, i) => {
    const value = valueOf(task);
    let number = numbers.get(value);
    if (number === undefined) {
      number = Math.min(numbers.size, OTHERS);
      if (number < OTHERS) {
        numbers.set(value, number);
      }
    }
    group[i] = number;
  });
  const values: (number | null)[] = [...numbers.keys()];
  return group.includes(OTHERS) ? [...values, null] : values;
}

/** Groups tasks as the client says. @throws BrokenFrame */
function regroup(tasks: Tasks, group: Uint16Array): void {
  if (tasks.isGrouped || group.length !== tasks.size) {
    throw new BrokenFrame(
      `"follow": groups of ${group.length} tasks, where ${tasks.isGrouped ? 0 : tasks.size} are to be grouped.`
    );
  }
  let count = 0;
  group.forEach((each, i) => {
    tasks.group[i] = Math.min(each, OTHERS);
    count = Math.max(count, tasks.group[i]! + 1);
  });
  tasks.setGroups(count);
}

function howFailed(tasks: TaskTable, task: DenseTaskId): How {
  const reason = tasks.reason[task]! as FailureReason;
  return reason === FailureReason.LostData ||
    reason === FailureReason.LostDependencies
    ? How.Lost
    : How.Failed;
}

function howIs(tasks: TaskTable, task: DenseTaskId): How {
  switch (tasks.state[task] as TaskState) {
    case TaskState.Memory:
      return How.Done;
    case TaskState.Erred:
      return howFailed(tasks, task);
    case TaskState.Released:
      return tasks.hadResult(task)
        ? How.Done
        : tasks.isComing(task)
          ? How.Pending
          : How.Skipped;
    default:
      return tasks.hadResult(task)
        ? How.Again
        : tasks.state[task] === TaskState.Processing
          ? How.Running
          : How.Pending;
  }
}
