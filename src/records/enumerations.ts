/**
 * What the numbers of columns stand for: the only description. `jlpm build:schema` writes `spanwise/records/enumerations.py` and the
 * tables of docs/contracts.md §11 from it.
 *
 * A member's word is its name in lower case: `PartKind.DiskRead` is `disk-read` in answers to panels. Numbers are never reused.
 */
export enum RunStatus {
  Ok = 0,
  Failed = 1,
  Lost = 2,
  Missing = 3,
  Rescheduled = 4,
  Cancelled = 5
}

export enum PartKind {
  Transfer = 1,
  DiskRead = 2,
  Deserialize = 3,
  Compute = 4,
  Serialize = 5,
  DiskWrite = 6,
  Import = 7
}

export enum BoxKind {
  Compute = 0,
  Transfer = 1,
  Disk = 2,
  Serialize = 3,
  Failed = 4,
  Import = 5,
  Seceded = 6,
  Cancelled = 7
}

export enum SampleState {
  OnCore = 0,
  Waiting = 1,
  Blocked = 2,
  Unknown = 3
}

export enum StoredKind {
  Stored = 0,
  Released = 1,
  Spilled = 2,
  ReadBack = 3,
  Replica = 4
}

export enum CapacityState {
  Running = 0,
  Paused = 1,
  Closing = 2,
  Gone = 3,
  Stopped = 4
}

/** What a task that is needed, and neither done nor running, waits for. */
export enum WaitReason {
  Input = 0,
  Thread = 1,
  Resource = 2,
  Paused = 3,
  NoWorker = 4,
  NoNamed = 5,
  NoResource = 6,
  Unplaced = 7
}

export enum SpanOrigin {
  User = 0,
  Cell = 1,
  Notebook = 2,
  Default = 3,
  Inferred = 4
}

export enum TaskOrigin {
  Default = 0,
  User = 1,
  Inferred = 2,
  Reused = 3
}

export enum ReportStatus {
  Memory = 1,
  Erred = 2,
  Lost = 3,
  Cancelled = 4
}

/** Bits. */
export enum SubmitFlag {
  Wanted = 1,
  Alias = 2,
  Data = 4,
  Fused = 8
}

export enum ItemStatus {
  Ok = 0,
  Missing = 1,
  NotPickled = 2,
  Together = 3
}

export enum TransferStatus {
  Ok = 0
}

export enum ClockChange {
  Measured = 0,
  Slewed = 1,
  Stepped = 2
}

/**
 * The label under which a run tells the seconds for which it has waited for other tasks, as it tells what it measures itself: an activity of
 * its thread, which without it would be `blocked`.
 */
export const OTHER_TASKS = 'other-tasks';

/** Which of a worker's bytes are asked for; memory-measures.ts says what each is. These words stand in fields, never in a column. */
export const MEMORY_MEASURES = [
  'process',
  'managed',
  'managed_total',
  'spilled',
  'unmanaged',
  'unmanaged_old',
  'unmanaged_recent',
  'optimistic'
] as const;
export type MemoryMeasure = (typeof MEMORY_MEASURES)[number];

export const LARGEST_U16 = 0xffff;
export const LARGEST_U32 = 0xffffffff;
/** No id, no row, not there: the largest number that the column holds. */
export const NONE_U16 = LARGEST_U16;
export const NONE_U32 = LARGEST_U32;

type Members = Readonly<Record<string, string | number>>;
/** `DiskRead` → `disk-read`. */
type Word<Name extends string> = Name extends `${infer Head}${infer Tail}`
  ? Tail extends Uncapitalize<Tail>
    ? `${Lowercase<Head>}${Word<Tail>}`
    : `${Lowercase<Head>}-${Word<Tail>}`
  : Name;
export type WordOf<E extends Members> = Word<Extract<keyof E, string>>;

/** The members of an enumeration: word and number, by number. */
export function membersOf<E extends Members>(
  enumeration: E
): readonly (readonly [word: WordOf<E>, value: number])[] {
  return Object.entries(enumeration)
    .filter((entry): entry is [string, number] => typeof entry[1] === 'number')
    .map(([name, value]) => [
      name.replace(/\B[A-Z]/g, '-$&').toLowerCase() as WordOf<E>,
      value
    ]);
}

/** Number → word; undefined for a number without a word. */
export function wordsOf<E extends Members>(
  enumeration: E
): readonly (WordOf<E> | undefined)[] {
  const words: (WordOf<E> | undefined)[] = [];
  for (const [word, value] of membersOf(enumeration)) {
    words[value] = word;
  }
  return Array.from(words);
}

/** The statuses that a filter may name. A run that was given back has none: its task runs again and is filtered by that run. */
export const FILTERED_STATUSES = membersOf(RunStatus)
  .map(([word]) => word)
  .filter(word => word !== 'missing' && word !== 'rescheduled');
export type FilteredStatus = (typeof FILTERED_STATUSES)[number];

type Described<E extends Members> = {
  readonly members: E;
  /** Where these numbers stand. */
  readonly columns: readonly string[];
  /** The prefix of the constants in Python; none: Python needs no constants. */
  readonly python?: string;
  /** Python looks numbers up by their words. */
  readonly pythonWords?: boolean;
  readonly means: Readonly<Record<WordOf<E>, string>>;
};
// What is said of enumerations is for documents: bundlers leave it out of programs, and of each page that is written to a file.
/* @__NO_SIDE_EFFECTS__ */
function described<const E extends Members>(of: Described<E>): Described<E> {
  return of;
}

export const ENUMERATIONS = {
  RunStatus: described({
    members: RunStatus,
    columns: ['log `runs.status`', '`finished.runs.status`', 'local files'],
    python: 'RUN',
    means: {
      ok: 'it gave a result',
      failed:
        'it raised, or an input could not be opened; in the log, while somebody waited for it',
      lost: 'it ended with its worker, and somebody waited for it; only in the log',
      missing:
        'it was given back for want of an input, or by its own Reschedule: it runs again, and counts as no run',
      rescheduled: 'it raised Reschedule; the log has it as missing',
      cancelled:
        'nobody wanted its result any more when it gave one, raised, or ended with its worker; only in the log'
    }
  }),
  PartKind: described({
    members: PartKind,
    columns: ['log `parts.kind`', '`finished.parts.kind`'],
    python: 'KIND',
    means: {
      transfer: 'an input came from another worker',
      'disk-read': 'what was spilled was read back, and its file removed',
      deserialize: 'unpickling of inputs, function and arguments',
      compute:
        'inner parts of fused tasks, each with its own function and span, and the compute of a run that has other parts',
      serialize: 'pickling of the result',
      'disk-write': 'results were spilled',
      import:
        'modules that unpickling had to import; it stands before its deserialize'
    }
  }),
  BoxKind: described({
    members: BoxKind,
    columns: ['`tile.boxes.kind`'],
    means: {
      compute: 'a run, or a compute part',
      transfer: 'transfer',
      disk: 'disk-read, disk-write',
      serialize: 'deserialize, serialize',
      failed: 'a run that failed or was lost',
      import: 'import',
      seceded:
        'in the lane of a thread, what a run held of it that has seceded, and is drawn beside the threads',
      cancelled: 'a run whose result nobody wanted any more when it ended'
    }
  }),
  SampleState: described({
    members: SampleState,
    columns: ['log `samples.state`', '`measured.samples.state`'],
    python: 'SAMPLE',
    means: {
      'on-core': 'it ran on a core',
      waiting: 'it could run and waited for a core',
      blocked: 'it waited for something else',
      unknown: 'the system does not tell'
    }
  }),
  StoredKind: described({
    members: StoredKind,
    columns: ['log `stored.kind`', '`measured.stored.kind`'],
    python: 'STORED',
    means: {
      stored: 'a result is kept',
      released: 'it is dropped',
      spilled: 'it went to disk',
      'read-back': 'it came back from disk',
      replica: 'a copy of it is kept'
    }
  }),
  CapacityState: described({
    members: CapacityState,
    columns: ['log `capacity.state`'],
    python: 'CAPACITY',
    means: {
      running: 'it begins tasks',
      paused: 'its memory is short: it begins none',
      closing: 'it ends',
      gone: 'it has ended',
      stopped: 'a signal or a debugger holds it: it begins none'
    }
  }),
  ClockChange: described({
    members: ClockChange,
    columns: ['log `clocks.why`'],
    python: 'CLOCK',
    means: {
      measured: 'it is known for the first time, or more or less exactly',
      slewed: 'it follows a clock that is faster or slower',
      stepped: 'one of the two clocks was set, or stood still'
    }
  }),
  WaitReason: described({
    members: WaitReason,
    columns: ['log `waiting.reason`', '§12 `waiting.reason`'],
    python: 'WAIT',
    means: {
      input: 'some input is not there yet, or is on its way to the worker',
      thread: 'others have the threads on which it may run',
      resource: 'others have the resources that it is to hold',
      paused:
        'the workers that may run it begin no task: their memory is full, or they are stopped',
      'no-worker': 'the cluster has no worker that takes tasks',
      'no-named': 'the cluster has none of the workers that `workers=` names',
      'no-resource': 'no worker has the resources that it needs',
      unplaced:
        'a Dask scheduler has found no worker for it; what it lacks was not looked at'
    }
  }),
  SpanOrigin: described({
    members: SpanOrigin,
    columns: ['log `spans.origin`', '`spans[].origin`'],
    python: 'SPAN',
    pythonWords: true,
    means: {
      user: 'the user opened it',
      cell: 'a cell of a notebook',
      notebook: 'a notebook',
      default: 'span 0: no span',
      inferred: 'found without a `with`'
    }
  }),
  TaskOrigin: described({
    members: TaskOrigin,
    columns: ['log `nodes.origin`', '`submit.tasks.origin`'],
    python: 'ORIGIN',
    means: {
      default: 'it was written in no span',
      user: 'exact',
      inferred: 'found by its neighbours',
      reused: 'made by an earlier computation'
    }
  }),
  ReportStatus: described({
    members: ReportStatus,
    columns: ['`report.tasks.status`'],
    python: 'REPORT',
    means: {
      memory: 'the result is there',
      erred: 'it failed, or an input did',
      lost: 'the result was lost with a worker, or it is tried again after an error: it is being computed (again)',
      cancelled: 'nobody computes it any more'
    }
  }),
  SubmitFlag: described({
    members: SubmitFlag,
    columns: [
      '`submit.tasks.flags`',
      '`scattered.tasks.flags`',
      '`assign.tasks.flags`'
    ],
    python: 'FLAG',
    means: {
      wanted:
        'the client holds a future: the result comes inline if it has 4 KiB or less, and of an array of 64 KiB to 16 MiB where it lies (§5)',
      alias: 'its one dependency is its value; it never runs',
      data: 'a literal',
      fused: 'its template has parts'
    }
  }),
  ItemStatus: described({
    members: ItemStatus,
    columns: ['`data.items.status`'],
    python: 'ITEM',
    means: {
      ok: 'its blob is the payload',
      missing: 'it is not here; no blob',
      'not-pickled': 'it cannot be pickled; its blob is the error',
      together:
        'a number, or a small array: those of one message are a list in its last blob, in their order'
    }
  }),
  TransferStatus: described({
    members: TransferStatus,
    columns: ['log `transfers.status`', '`measured.transfers.status`'],
    python: 'TRANSFER',
    means: { ok: 'it came' }
  })
} as const;
