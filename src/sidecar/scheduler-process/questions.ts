/** Answers a client's questions about its tasks, page by page. In the scheduler process. */
import { NONE_U16, NONE_U32 } from '../../records/enumerations';
import type {
  ClientTaskId,
  DenseTaskId,
  OuterTaskId,
  SpanId
} from '../../records/ids';
import { TaskState, type StoryLine } from '../../scheduler';
import type { Seconds } from '../../base/brand';
import type { TaskStateWord } from '../../wire/task-states';
import type { Message } from '../../wire/schema';
import type { ClientTasks } from './client-scope';
import type { ClusterState } from './cluster-state';
import type { SystemUse, WorkerLoad } from './worker-session';

type Question = Message<'client', 'up', 'question'>;

/** Bounds of one answer, so that no other message waits for long: some ms on a slow machine. */
const MOST_LOOKED_AT = 65_536;
const MOST_TASKS = 4_096;
const MOST_KEY_BYTES = 1 << 20;
/** Tasks whose story is looked for (each takes some 0.1 ms), and lines of all their stories. */
const MOST_STORIES = 64;
const MOST_LINES = 4_096;

/** Workers on a page. */
const MOST_WORKERS = 1_024;

type WorkerRow = SystemUse &
  WorkerLoad & {
    readonly worker: number;
    readonly process: number;
    readonly managed: number;
    readonly disk: number;
    readonly clockOffset: number;
    readonly clockWithin: number;
    readonly clockDrift: number;
  };
type WorkerColumns = { readonly [C in keyof WorkerRow]: number[] };

const NOT_TOLD: SystemUse = {
  t: NaN,
  seconds: NaN,
  cpu: NaN,
  memory: NaN,
  fds: NONE_U32,
  netRead: NaN,
  netWrite: NaN,
  diskRead: NaN,
  diskWrite: NaN,
  hostDiskRead: NaN,
  hostDiskWrite: NaN
};
const NO_LOAD: WorkerLoad = {
  t: NaN,
  executing: 0,
  ready: 0,
  waiting: 0,
  results: 0,
  fetching: 0,
  spilled: 0,
  incoming: 0,
  incomingBytes: 0,
  incomingTotal: 0,
  outgoing: 0,
  outgoingBytes: 0,
  outgoingTotal: 0
};
const NO_ROW: WorkerRow = {
  ...NO_LOAD,
  ...NOT_TOLD,
  worker: 0,
  process: 0,
  managed: 0,
  disk: 0,
  clockOffset: 0,
  clockWithin: 0,
  clockDrift: 0
};

const STATES: Readonly<Record<TaskStateWord, TaskState>> = {
  released: TaskState.Released,
  waiting: TaskState.Waiting,
  'no-worker': TaskState.NoWorker,
  queued: TaskState.Queued,
  processing: TaskState.Processing,
  memory: TaskState.Memory,
  erred: TaskState.Erred
};

const WORDS: ReadonlyMap<number, TaskStateWord> = new Map(
  Object.entries(STATES).map(([word, state]): [number, TaskStateWord] => [
    state,
    word as TaskStateWord
  ])
);
const STATES_PER_SPAN = 256;

/** One page of the tasks that are asked for. */
class Page {
  readonly tasks = {
    id: [] as ClientTaskId[],
    taskId: [] as OuterTaskId[],
    worker: [] as number[],
    nbytes: [] as number[],
    keyStart: [] as number[],
    keyEnd: [] as number[]
  };
  readonly holders = { row: [] as number[], worker: [] as number[] };
  private readonly _keys: Uint8Array[] = [];
  private _keyBytes = 0;

  get isFull(): boolean {
    return (
      this.tasks.id.length >= MOST_TASKS || this._keyBytes >= MOST_KEY_BYTES
    );
  }

  get keys(): Uint8Array {
    return Buffer.concat(this._keys);
  }

  /** @param ids - those of the client's that stand for the task. */
  add(
    { core, rows, log }: ClusterState,
    task: DenseTaskId,
    ids: readonly ClientTaskId[]
  ): void {
    const { state, worker, nbytes } = core.tasks;
    const isHere = state[task] === TaskState.Memory;
    const group = log.names.text(rows.group[task]!);
    const key = Buffer.concat([Buffer.from(group), rows.keySuffix(task)]);
    this._keys.push(key);
    const keyStart = this._keyBytes;
    this._keyBytes += key.length;
    for (const id of ids) {
      const row = this.tasks.id.push(id) - 1;
      this.tasks.taskId.push(rows.ids.outer(task));
      this.tasks.worker.push(
        state[task] === TaskState.Processing ? worker[task]! : NONE_U16
      );
      this.tasks.nbytes.push(isHere ? nbytes[task]! : -1);
      this.tasks.keyStart.push(keyStart);
      this.tasks.keyEnd.push(this._keyBytes);
      for (const holder of isHere ? core.tasks.holdersOf(task) : []) {
        this.holders.row.push(row);
        this.holders.worker.push(holder);
      }
    }
  }

  /** An id that stands for no task any more. */
  addUnknown(id: ClientTaskId): void {
    this.tasks.id.push(id);
    this.tasks.taskId.push(NONE_U32 as OuterTaskId);
    this.tasks.worker.push(NONE_U16);
    this.tasks.nbytes.push(-1);
    this.tasks.keyStart.push(this._keyBytes);
    this.tasks.keyEnd.push(this._keyBytes);
  }
}

/** What tasks hold of a worker's resources, by name; nothing of one that is not there. */
export function heldAt(
  { core }: ClusterState,
  worker: number | null
): Record<string, number> {
  const record = worker === null ? undefined : core.workers.get(worker);
  return Object.fromEntries(
    [...(record?.resources.amounts() ?? [])].map(([name, { held }]) => [
      name,
      held
    ])
  );
}

/** How workers are, from the one numbered `after` on, as far as they have told. */
export function workersOf(
  { core, workers }: ClusterState,
  { after }: Question['fields']
): {
  readonly fields: { next: number | null; bandwidth: number };
  readonly tables: { workers: WorkerColumns };
} {
  const sessions = [...workers.values()]
    .filter(({ id }) => id >= after)
    .sort((one, other) => one.id - other.id);
  const rows = sessions
    .slice(0, MOST_WORKERS)
    .map(({ id, system, load, memory, clock: { newest } }): WorkerRow => ({
      worker: id,
      ...(load ?? NO_LOAD),
      ...(system ?? NOT_TOLD),
      process: memory.process,
      managed: memory.managed,
      disk: memory.spilled,
      clockOffset: newest?.offset ?? 0,
      clockWithin: newest?.within ?? 0,
      clockDrift: newest?.drift ?? 0
    }));
  const names = Object.keys(NO_ROW) as (keyof WorkerRow)[];
  return {
    fields: {
      next: sessions[MOST_WORKERS]?.id ?? null,
      bandwidth: core.bandwidth
    },
    tables: {
      workers: Object.fromEntries(
        names.map(name => [name, rows.map(row => row[name])])
      ) as WorkerColumns
    }
  };
}

/** What moved the tasks that are asked for, as far as the scheduler remembers it; oldest first. */
export function storyOf(
  { core }: ClusterState,
  own: ClientTasks,
  { tables }: Question
): Message<'client', 'down', 'answer'>['fields']['story'] {
  const ids = [...tables.ids.id.subarray(0, MOST_STORIES)];
  return ids
    .flatMap(id => {
      const task = own.resolve(id);
      return task < 0
        ? []
        : ownStory(core.story(task)).map(({ from, to, cause, event, at }) => ({
            ...{ id, from, to, cause, event },
            at: at as Seconds
          }));
    })
    .sort((a, b) => a.event - b.event)
    .slice(-MOST_LINES);
}

/** Without the moves of tasks that had its number before. */
function ownStory(lines: readonly StoryLine[]): readonly StoryLine[] {
  return lines.slice(1 + lines.findLastIndex(({ to }) => to === 'Forgotten'));
}

/**
 * The page of an answer that begins at `after`.
 *
 * Tasks that come or go between two pages may be missing; one that stays is told of exactly once.
 */
export function answerTo(
  cluster: ClusterState,
  own: ClientTasks,
  { fields, tables }: Question
): {
  readonly next: number | null;
  readonly page: Page;
} {
  const page = new Page();
  const next = fields.named
    ? takeNamed(cluster, own, tables.ids.id, fields.after, page)
    : takeAll(cluster, own, fields, page);
  return { next, page };
}

function takeNamed(
  cluster: ClusterState,
  own: ClientTasks,
  ids: ArrayLike<number>,
  after: number,
  page: Page
): number | null {
  for (let i = after; i < ids.length; i++) {
    if (page.isFull) {
      return i;
    }
    const id = ids[i]! as ClientTaskId;
    const task = own.resolve(id);
    if (task < 0) {
      page.addUnknown(id);
    } else {
      page.add(cluster, task, [id]);
    }
  }
  return null;
}

function takeAll(
  cluster: ClusterState,
  { client }: ClientTasks,
  { after, states, worker }: Question['fields'],
  page: Page
): number | null {
  const { core, rows } = cluster;
  const { tasks } = core;
  const wanted = states.map(word => STATES[word]);
  const stop = Math.min(tasks.capacity, after + MOST_LOOKED_AT);
  for (let task = after as DenseTaskId; task < stop; task++) {
    const state: TaskState = tasks.state[task]!;
    if (
      state === TaskState.Forgotten ||
      rows.client[task] !== client ||
      (wanted.length > 0 && !wanted.includes(state)) ||
      (worker !== null && !isAt(cluster, task, worker))
    ) {
      continue;
    }
    if (page.isFull) {
      return task;
    }
    const own = rows.clientId[task]!;
    const ids = [own];
    rows.forEachWanted(task, client, id => id !== own && ids.push(id));
    page.add(cluster, task, ids);
  }
  return stop < tasks.capacity ? stop : null;
}

/** How many tasks of all clients are in which state, by their spans in the log: of those that the page looks at. */
export function statesBySpan(
  { core: { tasks }, rows }: ClusterState,
  { after }: Question['fields']
): {
  readonly next: number | null;
  readonly spans: { span: SpanId; state: TaskStateWord; tasks: number }[];
} {
  const stop = Math.min(tasks.capacity, after + MOST_LOOKED_AT);
  const counts = new Map<number, number>();
  for (let task = after as DenseTaskId; task < stop; task++) {
    const state: TaskState = tasks.state[task]!;
    if (state !== TaskState.Forgotten) {
      const place = rows.span[task]! * STATES_PER_SPAN + state;
      counts.set(place, (counts.get(place) ?? 0) + 1);
    }
  }
  const spans = [...counts].flatMap(([place, count]) => {
    const state = WORDS.get(place % STATES_PER_SPAN);
    const span = Math.floor(place / STATES_PER_SPAN) as SpanId;
    return state === undefined ? [] : [{ span, state, tasks: count }];
  });
  return { next: stop < tasks.capacity ? stop : null, spans };
}

/** Whether a worker runs a task, or holds its result. */
function isAt(
  { core: { tasks } }: ClusterState,
  task: DenseTaskId,
  worker: number
): boolean {
  return tasks.state[task] === TaskState.Processing
    ? tasks.worker[task] === worker
    : tasks.holdersOf(task).includes(worker);
}
