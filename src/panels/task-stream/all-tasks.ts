/** All tasks of a selection with all their parts, page by page, for a file. */
import type {
  PartDetail,
  RecordsResult,
  RunDetail
} from '../../wire/panel-link';

/** A trace of so many is some 30 MB: about what a page makes and a viewer opens within seconds. */
export const MOST_TASKS = 50_000;
/** So many parts of each task have room, however many tasks there are. */
const LEAST_PARTS_OF_EACH = 4;
/** Of all tasks together. */
const MOST_PARTS = LEAST_PARTS_OF_EACH * MOST_TASKS;
/** Characters of an error. */
const MOST_ERROR = 200;

/** There are more than a file holds. */
export class TooManyTasks extends Error {
  constructor(readonly total: number) {
    super(`${total} runs`);
  }
}

/** Which page: where the one before it ended, and the runs that there were at the first question. */
type PageQuestion = {
  readonly after?: readonly number[];
  readonly end?: number;
};

export type AllTasks = {
  /** In the order of their start. */
  readonly runs: readonly RunDetail[];
  /** So many tasks, of the selection at most, were dropped by the observer before their page was made. */
  readonly lost: number;
};

/**
 * Those that had ended at the first question. The observer goes through its log once: each page says where the
 * next one begins.
 *
 * @param ask - for one page.
 * @param count - how many there are.
 * @param onPage - how much is here, 0…1; it may throw to end the series.
 */
export async function allTasks(
  ask: (page: PageQuestion) => Promise<RecordsResult>,
  count: () => Promise<number>,
  onPage: (share: number) => void
): Promise<AllTasks> {
  const total = await count();
  if (total > MOST_TASKS) {
    throw new TooManyTasks(total);
  }
  const found = new FoundTasks();
  let question: PageQuestion = {};
  for (;;) {
    const page = await ask(question);
    const { next, end, lost = 0 } = page;
    if (lost > 0) {
      found.lose(lost, question);
    }
    found.add(page);
    onPage(next === null ? 1 : Math.min(1, found.size / Math.max(1, total)));
    if (found.size > MOST_TASKS) {
      // More have ended since they were counted.
      throw new TooManyTasks(found.size);
    }
    if (next === null) {
      return { runs: found.inOrder(), lost: found.lost };
    }
    question = { after: next, end };
  }
}

type FoundTask = RunDetail & {
  parts: PartDetail[];
  partsLeftOut: number;
  /** Of all parts, also those that find no room: the seconds that each function computed. */
  readonly computed: Map<string, number>;
};

/** Of each task the longest parts, as many of all as a file holds. */
class FoundTasks {
  private readonly _tasks: FoundTask[] = [];
  private _parts = 0;
  private _mostOfEach = Infinity;
  private _lost = 0;

  get lost(): number {
    return this._lost;
  }

  get size(): number {
    return this._tasks.length;
  }

  /** The page after this one begins later than where it should have. */
  lose(count: number, { after: [, part = 0] = [] }: PageQuestion): void {
    this._lost += count;
    if (part > 0) {
      // Its other parts are gone.
      this._parts -= this._tasks.pop()?.parts.length ?? 0;
    }
  }

  add(page: RecordsResult): void {
    const errors = new Map(page.errors);
    let at = 0;
    page.run.forEach((run, row) => {
      const count = page.parts[row]!;
      const parts = Array.from({ length: count }, (_, i) =>
        partAt(page, at + i)
      );
      at += count;
      this._parts += count;
      let task = this._tasks.at(-1);
      if (row === 0 && task?.run === run) {
        // It had too many parts for one page.
        task.parts.push(...parts);
      } else {
        const told = taskAt(page, row, errors.get(row));
        task = { ...told, parts, partsLeftOut: 0, computed: new Map() };
        this._tasks.push(task);
      }
      addComputed(task.computed, parts);
      this._cut(task);
    });
    // (if it is still too many then, there are too many tasks)
    while (this._parts > MOST_PARTS && this._mostOfEach > LEAST_PARTS_OF_EACH) {
      this._mostOfEach = Math.max(
        LEAST_PARTS_OF_EACH,
        Math.floor(this._longest() / 2)
      );
      this._tasks.forEach(task => this._cut(task));
    }
  }

  inOrder(): RunDetail[] {
    return this._tasks
      .map(({ partsLeftOut, computed, ...task }) => ({
        ...task,
        ...(partsLeftOut > 0 && { partsLeftOut }),
        ...(computed.size > 1 && { fused: longestFirst(computed) })
      }))
      .sort((a, b) => a.start - b.start);
  }

  /** The most parts that any task has here. */
  private _longest(): number {
    return this._tasks.reduce(
      (most, { parts }) => Math.max(most, parts.length),
      0
    );
  }

  private _cut(task: FoundTask): void {
    const tooMany = task.parts.length - this._mostOfEach;
    if (tooMany > 0) {
      const shortest = new Set(
        task.parts.toSorted((a, b) => a.duration - b.duration).slice(0, tooMany)
      );
      task.parts = task.parts.filter(part => !shortest.has(part));
      task.partsLeftOut += tooMany;
      this._parts -= tooMany;
    }
  }
}

function addComputed(
  sums: Map<string, number>,
  parts: readonly PartDetail[]
): void {
  for (const { held, kind, function: fn, duration } of parts) {
    if (held && kind === 'compute' && fn !== '') {
      sums.set(fn, (sums.get(fn) ?? 0) + duration);
    }
  }
}

/** As in the answers for one run. */
const MOST_FUNCTIONS = 8;

function longestFirst(
  sums: ReadonlyMap<string, number>
): NonNullable<RunDetail['fused']> {
  return [...sums]
    .map(([name, seconds]) => ({ function: name, seconds }))
    .sort((one, other) => other.seconds - one.seconds)
    .slice(0, MOST_FUNCTIONS);
}

function taskAt(
  page: RecordsResult,
  row: number,
  error: string | undefined
): Omit<RunDetail, 'parts'> {
  const { names, cells } = page;
  const lane = page.lanes[page.lane[row]!]!;
  const cell = page.cell?.[row] ?? null;
  const client = page.client?.[row] ?? null;
  return {
    run: page.run[row]!,
    key: page.key[row]!,
    function: names[page.function[row]!]!,
    span: page.spans[page.span[row]!]!,
    ...(cell !== null && { cell: cells![cell]! }),
    ...(client !== null && { client: names[client]! }),
    origin: (names[page.origin?.[row] ?? -1] ??
      'default') as RunDetail['origin'],
    worker: lane.worker,
    thread: lane.thread,
    ...(lane.beside !== undefined && { beside: lane.beside }),
    status: names[page.status[row]!] as RunDetail['status'],
    attempt: page.attempt[row]!,
    start: page.start[row]!,
    duration: page.duration[row]!,
    cpu: page.cpu?.[row] ?? null,
    waitReady: page.waitReady?.[row] ?? null,
    waitInputs: page.waitInputs?.[row] ?? null,
    waitThread: page.waitThread?.[row] ?? null,
    nbytes: page.nbytes[row]!,
    ...(error !== undefined && {
      error: error.trimEnd().split('\n').at(-1)!.slice(0, MOST_ERROR)
    })
  };
}

function partAt(page: RecordsResult, at: number): PartDetail {
  const { names } = page;
  return {
    kind: names[page.partKind[at]!]!,
    held: page.partHeld[at] === 1,
    function: names[page.partFunction[at]!]!,
    span: page.spans[page.partSpan[at]!]!,
    offset: page.partOffset[at]!,
    duration: page.partDuration[at]!,
    // Of parts no file has it.
    cpu: null,
    bytes: page.partBytes?.[at] ?? null
  };
}
