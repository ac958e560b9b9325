/**
 * The account of a drawn cluster is kept twice: by the source, the log and the observer's folds, and here, from the drawn facts alone. All
 * columns of each table and all fields of each answer are compared, so that a column that is doubled, swapped with its neighbour, or booked
 * under another name differs.
 */
import { DEFAULT_SPAN } from '../../records/ids';
import {
  MEMORY_MEASURES,
  NONE_U16,
  NONE_U32,
  PartKind,
  RunStatus,
  SpanOrigin,
  TaskOrigin,
  wordsOf
} from '../../records/enumerations';
import { TextColumn, type Block } from '../../records/block';
import { TABLES, type TableName } from '../../records/tables';
import {
  drawCluster,
  endOf,
  TICK,
  TICKS,
  toldToSource,
  type ClusterFacts,
  type RunFact,
  type SpanFact
} from '../../testing/drawn-cluster';
import {
  calledBy,
  computed,
  fusedSeconds,
  isComputing
} from '../../testing/drawn-computing';
import type { Filter } from '../../wire/panel-link';
import { runDetail } from '../folds/run-detail';
import { blockRows } from '../store/block-rows';
import { ingestBlock } from '../store/ingest';
import { LogStore } from '../store/log-store';
import { ask } from './ask';

type Fields = Readonly<Record<string, unknown>>;
const END = TICKS * TICK;
/** In the last one, a worker leaves as another stores something. */
const SEEDS = [...Array.from({ length: 25 }, (_, i) => i + 1), 37];
const STATUS = wordsOf(RunStatus);
const KIND = wordsOf(PartKind);

const sum = <T>(of: readonly T[], value: (each: T) => number): number =>
  of.reduce((total, each) => total + value(each), 0);
const sorted = (rows: readonly unknown[]): string[] =>
  rows.map(row => JSON.stringify(row)).sort();

// ---- the log

/** Columns that hold ids of names. */
const NAMED: Partial<Record<TableName, readonly string[]>> = {
  spans: ['tag'],
  nodes: ['group', 'function'],
  runs: ['function', 'type'],
  parts: ['function'],
  running: ['function'],
  fine: ['context', 'function', 'activity', 'unit'],
  stored: ['function'],
  transfers: ['type'],
  events: ['kind']
};

/** All rows of a table, names as texts. */
function rowsOf(blocks: readonly Block[], table: TableName): Fields[] {
  const names = new Map<number, string>();
  const rows: Fields[] = [];
  for (const block of blocks) {
    if (block.table === 'names') {
      block.columns.id.forEach((id, i) =>
        names.set(id, block.columns.text.at(i))
      );
    }
    if (block.table !== table) {
      continue;
    }
    for (let i = 0; i < block.rows; i++) {
      const row: Record<string, unknown> = {};
      for (const [name, column] of Object.entries(block.columns)) {
        const value = column instanceof TextColumn ? column.at(i) : column[i];
        row[name] = NAMED[table]?.includes(name) ? names.get(value) : value;
      }
      rows.push(row);
    }
  }
  return rows;
}

function laneOf({ worker, thread }: Pick<RunFact, 'worker' | 'thread'>) {
  return worker.firstLane + thread;
}

/** What each table has to hold; the order of the rows is that of the facts. */
const EXPECTED: Partial<
  Record<TableName, (facts: ClusterFacts) => readonly Fields[]>
> = {
  clients: ({ clients }) =>
    clients.flatMap(client => [
      { ...client, left: NaN },
      ...(client.left === Infinity ? [] : [client])
    ]),
  spans: ({ spans }) => [
    {
      id: 0,
      parent: 0,
      tag: 'default',
      client: 0,
      opened: 0,
      closed: NaN,
      origin: SpanOrigin.Default,
      uuid: '',
      reused: 0,
      code: ''
    },
    ...spans.flatMap(span => [
      { ...span, closed: NaN },
      ...(span.closed === null ? [] : [{ ...span }])
    ])
  ],
  workers: ({ workers }) =>
    [
      ...workers.map(worker => ({ at: worker.joined, worker, left: NaN })),
      ...workers.map(worker => ({ at: worker.left, worker, left: worker.left }))
    ]
      .filter(({ at }) => at < Infinity)
      .sort((one, other) => one.at - other.at)
      .map(({ worker: { firstLane: _, ...worker }, left }) => ({
        ...worker,
        left,
        why: Number.isNaN(left) ? '' : 'was ended'
      })),
  lanes: ({ workers, threads: told }) =>
    [
      ...workers.flatMap(worker =>
        Array.from({ length: worker.threads }, (_, thread) => ({
          at: worker.joined,
          worker,
          thread,
          ident: NaN,
          since: NaN
        }))
      ),
      ...told.map(row => ({ ...row, at: row.since }))
    ]
      .sort((one, other) => one.at - other.at)
      .map(({ at: _, worker, thread, ...row }) => ({
        ...row,
        lane: laneOf({ worker, thread }),
        worker: worker.worker,
        thread
      })),
  nodes: ({ tasks }) =>
    tasks.map(({ inputs: _, ...task }, i) => ({
      ...task,
      firstEdge: sum(tasks.slice(0, i), ({ inputs }) => inputs.length)
    })),
  edges: ({ tasks }) =>
    tasks.flatMap(({ inputs }) => inputs.map(node => ({ node }))),
  runs: ({ runs }) =>
    runs.map(({ task, worker, thread, parts: _, error: __, ...run }) => ({
      ...run,
      type: run.type ?? undefined,
      node: task.node,
      function: task.function,
      span: task.span,
      lane: laneOf({ worker, thread })
    })),
  parts: ({ runs }) =>
    runs.flatMap(({ run, parts }) =>
      parts.map(part => ({ ...part, run, held: Number(part.held) }))
    ),
  running: ({ runs, going }) => [
    ...runs
      .filter(({ status }) => status === RunStatus.Lost)
      .map(run => runningRow({ ...run, started: run.start, givenUp: null })),
    ...going.map(runningRow)
  ],
  givenUp: ({ going }) =>
    going.flatMap(run =>
      run.givenUp === null
        ? []
        : [{ lane: laneOf(run), started: run.started, t: run.givenUp }]
    ),
  transfers: ({ transfers }) =>
    [...transfers]
      .sort((one, other) => endOf(one) - endOf(other))
      .map(({ task, ...row }) => ({ ...row, firstNode: task.node, status: 0 })),
  stored: ({ stored }) => stored.map(row => ({ ...row })),
  memory: ({ memory }) => memory.map(row => ({ ...row })),
  // (tasks share no thread with an event loop)
  system: ({ system }) => system.map(row => ({ ...row, loopInterval: NaN })),
  clocks: ({ clocks }) => clocks.map(row => ({ ...row })),
  fine: ({ fine }) =>
    [...fine]
      .sort((one, other) => one.t - other.t)
      .map(({ t, ...row }) => ({ ...row, second: Math.floor(t) })),
  events: ({ runs }) =>
    runs
      .filter(({ error }) => error !== null)
      .map(run => ({
        t: endOf(run),
        kind: 'task-failed',
        worker: run.worker.worker,
        span: run.task.span,
        run: run.run,
        text: run.error
      }))
};

function runningRow({
  task,
  worker,
  thread,
  started
}: ClusterFacts['going'][number]): Fields {
  return {
    lane: laneOf({ worker, thread }),
    node: task.node,
    function: task.function,
    span: task.span,
    started
  };
}

// ---- spans

const DEFAULT: SpanFact = {
  id: DEFAULT_SPAN,
  parent: DEFAULT_SPAN,
  tag: 'default',
  client: 0,
  opened: 0,
  closed: null,
  origin: SpanOrigin.Default,
  uuid: '',
  reused: 0,
  code: ''
};

function pathOf(facts: ClusterFacts, id: number): string[] {
  const span = facts.spans.find(each => each.id === id);
  return span === undefined
    ? ['default']
    : [...(span.parent === 0 ? [] : pathOf(facts, span.parent)), span.tag];
}

/** The path as the program gave it. */
function nameOf(facts: ClusterFacts, id: number): string[] {
  const roots = facts.spans.filter(
    ({ origin }) => origin === SpanOrigin.Notebook || origin === SpanOrigin.Cell
  ).length;
  const path = pathOf(facts, id);
  const name = path[0] === 'first.ipynb' ? path.slice(roots) : path;
  return name.length === 0 ? ['default'] : name;
}

function cellAround(facts: ClusterFacts, id: number): SpanFact | undefined {
  const span = facts.spans.find(each => each.id === id);
  return span === undefined || span.origin === SpanOrigin.Cell
    ? span
    : cellAround(facts, span.parent);
}

function isBegun({ status }: RunFact): boolean {
  return status !== RunStatus.Missing;
}

/** One use of a thread: a held part, or what the run's parts leave of it. */
type Stretch = {
  readonly span: number;
  readonly function: string;
  /** What it goes to; computing goes to more than one. */
  readonly seconds: readonly (readonly [activity: string, seconds: number])[];
};

function stretchesOf(run: RunFact): Stretch[] {
  const { function: fn, span } = run.task;
  const held = run.parts.filter(part => part.held);
  const rest = (of: number): number => of - sum(held, part => part.duration);
  if (run.status === RunStatus.Lost) {
    return [{ span, function: fn, seconds: [['lost', run.duration]] }];
  }
  if (run.status === RunStatus.Failed) {
    const vain = [...held, { ...run.task, duration: rest(run.duration) }];
    return vain.map(each => ({
      span: each.span,
      function: each.function,
      seconds: [['failed', each.duration]]
    }));
  }
  if (held.length === 0) {
    const seconds = computed(run.duration, run.cpu, NaN);
    return [{ span, function: fn, seconds }];
  }
  return [
    ...held.map(part => ({
      span: part.span,
      function: part.function,
      seconds: isComputing(part)
        ? computed(part.duration, part.cpu, part.coreWait)
        : ([[KIND[part.kind]!, part.duration]] as const)
    })),
    {
      span,
      function: fn,
      seconds: [['other', rest(run.duration)]]
    }
  ];
}

/** Runs that are not divided, under the task's function, and computing parts, each under its own. */
function executionsOf(run: RunFact): { span: number; function: string }[] {
  const parts = run.parts.filter(isComputing);
  return parts.length > 0 || !isBegun(run) ? parts : [run.task];
}

/** From when on the run's task was waited for. */
function waitedSince(run: RunFact): number {
  return (
    run.start - run.waitReady - (run.waitInputs || 0) - (run.waitThread || 0)
  );
}

/**
 * Idle seconds by span, tick by tick: a thread that is there and runs nothing, while some task is unfinished, is idle; the tick's idle
 * seconds are divided among the tasks that are unfinished then, those of fused ones by the seconds of their computing.
 */
function idleBySpan({
  workers,
  runs,
  going
}: ClusterFacts): Map<number, number> {
  const unfinished = [
    ...runs.filter(isBegun).map(run => ({
      from: waitedSince(run),
      start: run.start,
      to: endOf(run),
      lane: laneOf(run),
      of: sharesOf(run)
    })),
    ...going.map(run => ({
      from: run.started,
      start: run.started,
      to: END,
      lane: laneOf(run),
      of: [[run.task.span, 1] as const]
    }))
  ];
  const idle = new Map<number, number>();
  for (let tick = 0; tick < TICKS; tick++) {
    const t = tick * TICK;
    const here = unfinished.filter(({ from, to }) => from <= t && t < to);
    const busy = new Set(
      here.filter(({ start }) => start <= t).map(({ lane }) => lane)
    );
    const threads = sum(
      workers.filter(({ joined, left }) => joined <= t && t < left),
      worker => worker.threads
    );
    const seconds = (threads - busy.size) * TICK;
    for (const [span, share] of here.flatMap(({ of }) => of)) {
      idle.set(span, (idle.get(span) ?? 0) + (seconds * share) / here.length);
    }
  }
  return idle;
}

function sharesOf(run: RunFact): readonly (readonly [number, number])[] {
  const computing = run.parts.filter(({ kind }) => kind === PartKind.Compute);
  const all = sum(computing, part => part.duration);
  return all === 0
    ? [[run.task.span, 1]]
    : computing.map(part => [part.span, part.duration / all] as const);
}

function runningFields(going: ClusterFacts['going']): Fields {
  const seconds = sum(going, ({ started }) => END - started);
  return seconds > 0 ? { runningSeconds: seconds } : {};
}

function cancelledFields(going: ClusterFacts['going']): Fields {
  const count = going.filter(({ givenUp }) => givenUp !== null).length;
  return count > 0 ? { runningCancelled: count } : {};
}

/** @param isFull - with the fields that only a program asks for. */
function expectedSpans(facts: ClusterFacts, isFull = false): Fields[] {
  const all = [DEFAULT, ...facts.spans];
  const children = (id: number): SpanFact[] =>
    id === 0 ? [] : facts.spans.filter(({ parent }) => parent === id);
  const subtree = (id: number): number[] => [
    id,
    ...children(id).flatMap(child => subtree(child.id))
  ];
  const idle = idleBySpan(facts);
  const begun = facts.runs.filter(isBegun);
  const stretches = facts.runs.flatMap(stretchesOf);
  const row = (span: SpanFact): Fields => {
    const ids = subtree(span.id);
    const isIn = (each: { readonly span: number }): boolean =>
      ids.includes(each.span);
    const runs = begun.filter(({ task }) => isIn(task));
    const seconds = (of: readonly Stretch[], activity?: string): number =>
      sum(
        of.flatMap(each => each.seconds),
        ([name, value]) =>
          activity === undefined || name === activity ? value : 0
      );
    const mine = stretches.filter(isIn);
    const going = facts.going.filter(({ task }) => isIn(task));
    const tasks = facts.tasks.filter(isIn);
    const extents = [
      ...runs.map(run => [run.start, endOf(run)] as const),
      ...begun.flatMap(run =>
        run.parts.filter(isIn).map(({ offset, duration }) => {
          const start = run.start + offset;
          return [start, start + duration] as const;
        })
      )
    ];
    const full = (): Fields => {
      const actions: Record<string, number> = {};
      for (const [activity, duration] of mine.flatMap(each => each.seconds)) {
        const action = COMPUTING.includes(activity) ? 'compute' : activity;
        if (duration > 0 && !GAVE_NOTHING.includes(activity)) {
          actions[action] = (actions[action] ?? 0) + duration;
        }
      }
      return {
        id: span.uuid === '' ? `span-${span.id}` : span.uuid,
        enqueued:
          tasks.length > 0
            ? Math.min(...tasks.map(({ submitted }) => submitted))
            : null,
        submitted: tasks.length,
        nbytes: sum(runs, ({ nbytes }) => (nbytes > 0 ? nbytes : 0)),
        seconds: Object.fromEntries(
          Object.entries(actions).map(([action, duration]) => [
            action,
            expect.closeTo(duration, 8) as unknown
          ])
        ),
        code: [
          ...new Set(
            ids.flatMap(id => all.find(each => each.id === id)!.code || [])
          )
        ],
        ownReused: span.reused,
        joined: 0
      };
    };
    const reused = sum(
      ids,
      id => all.find(each => each.id === id)?.reused ?? 0
    );
    const failed = runs.filter(({ status }) => status === RunStatus.Failed);
    // (a graph is on its way for 50 ms)
    const isLate = ({ submitted }: (typeof tasks)[number]): boolean =>
      submitted > (span.closed ?? Infinity) + 0.05;
    return {
      ...(tasks.some(isLate) &&
        !tasks.every(isLate) && { isComputedLater: true }),
      ...(!isFull && span.uuid !== '' && { id: span.uuid }),
      ...(reused > 0 && { reused }),
      ...(isFull && full()),
      span: span.id,
      // In the order of the rows that name them; nobody is client 0.
      client: span.client === 0 ? null : span.client - 1,
      parent: span.parent === 0 ? null : span.parent,
      path: pathOf(facts, span.id),
      tag: span.tag,
      origin: wordsOf(SpanOrigin)[span.origin],
      opened: span.opened,
      closed: span.closed,
      tasks: runs.length,
      running: going.length,
      ...cancelledFields(going),
      ...runningFields(going),
      failed: failed.length,
      ...(failed.length > 0 && {
        failedTasks: new Set(failed.map(({ task }) => task)).size
      }),
      threadSeconds: seconds(mine),
      cpuSeconds: seconds(mine, 'thread-cpu'),
      transferSeconds: seconds(mine, 'transfer'),
      idleSeconds: expect.closeTo(
        sum(ids, id => idle.get(id) ?? 0),
        9
      ) as unknown,
      ownTasks: begun.filter(({ task }) => task.span === span.id).length,
      ownNanoseconds:
        1e9 * seconds(stretches.filter(each => each.span === span.id)),
      executions: facts.runs.flatMap(executionsOf).filter(isIn).length,
      exact: tasks.filter(({ origin }) => origin === TaskOrigin.User).length,
      inferred: tasks.filter(({ origin }) => origin === TaskOrigin.Inferred)
        .length,
      firstStart:
        extents.length > 0 ? Math.min(...extents.map(e => e[0])) : null,
      lastStop: extents.length > 0 ? Math.max(...extents.map(e => e[1])) : null
    };
  };
  return all
    .filter(({ parent }) => parent === 0)
    .flatMap(({ id }) => subtree(id))
    .map(id => row(all.find(span => span.id === id)!));
}

const COMPUTING = [
  'thread-cpu',
  'core',
  'gil',
  'blocked',
  'thread-noncpu',
  'compute'
];
const GAVE_NOTHING = ['lost', 'failed', 'cancelled'];

/** From when on there are so many threads. */
function expectedThreads({ workers }: ClusterFacts): [number, number][] {
  const times = workers.flatMap(({ joined, left }) => [joined, left]);
  const steps = [...new Set(times)]
    .filter(t => t < Infinity)
    .sort((a, b) => a - b)
    .map((t): [number, number] => [
      t,
      sum(
        workers.filter(({ joined, left }) => joined <= t && t < left),
        ({ threads }) => threads
      )
    ]);
  return steps.filter(([, threads], i) => threads !== (steps[i - 1]?.[1] ?? 0));
}

// ---- task rows

function known(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}

function keyOf({ group, suffix }: ClusterFacts['tasks'][number]): string {
  return group + suffix;
}

/** Lanes are numbered in the order in which they come. */
function laneIndexOf(facts: ClusterFacts, run: RunFact): number {
  const lanes = new Set(EXPECTED.lanes!(facts).map(({ lane }) => lane));
  return [...lanes].indexOf(laneOf(run));
}

function expectedDetail(
  facts: ClusterFacts,
  run: RunFact,
  error: string | null
): Fields {
  const cell = cellAround(facts, run.task.span);
  const client = facts.spans.find(({ id }) => id === run.task.span)?.client;
  const fused = [...fusedSeconds(run)]
    .map(([fn, seconds]) => ({ function: fn, seconds }))
    .sort((one, other) => other.seconds - one.seconds);
  return {
    run: run.run,
    key: keyOf(run.task),
    function: calledBy(run),
    ...(fused.length > 1 && { fused }),
    span: nameOf(facts, run.task.span),
    ...(cell !== undefined && { cell: { title: cell.tag } }),
    // (both clients of a drawn cluster have computed)
    ...(client === undefined
      ? {}
      : { client: client === 1 ? 'first.ipynb' : 'script' }),
    origin: wordsOf(TaskOrigin)[run.task.origin],
    worker: run.worker.name,
    thread: run.thread,
    laneIndex: laneIndexOf(facts, run),
    status: STATUS[run.status],
    attempt: run.attempt,
    start: run.start,
    duration: run.duration,
    cpu: known(run.cpu),
    waitReady: known(run.waitReady),
    waitInputs: known(run.waitInputs),
    waitThread: known(run.waitThread),
    nbytes: known(run.nbytes),
    ...(error === null ? {} : { error }),
    parts: run.parts.map(part => ({
      kind: KIND[part.kind],
      held: part.held,
      function: part.function,
      span: nameOf(facts, part.span),
      offset: part.offset,
      duration: part.duration,
      cpu: known(part.cpu),
      bytes: known(part.bytes)
    }))
  };
}

/** How the worker of a lost run ended; nothing of other runs. The detail of one run has it, a page of the table has not. */
function expectedEnd(facts: ClusterFacts, { status, worker }: RunFact): Fields {
  return {
    ...(status === RunStatus.Lost &&
      worker.left < Infinity && {
        lost: {
          worker: worker.worker,
          name: worker.name,
          t: worker.left,
          why: 'was ended',
          process:
            facts.memory.findLast(each => each.worker === worker.worker)
              ?.process ?? null,
          memoryLimit: worker.memoryLimit,
          // (no event tells that it was lost)
          inOrder: true
        }
      })
  };
}

function expectedRecord(facts: ClusterFacts, run: RunFact): Fields {
  return {
    run: run.run,
    key: keyOf(run.task),
    function: calledBy(run),
    span: nameOf(facts, run.task.span),
    lane: {
      worker: run.worker.name,
      address: run.worker.address,
      why: run.worker.left < Infinity ? 'was ended' : '',
      thread: run.thread,
      ident: identOf(facts, run)
    },
    status: STATUS[run.status],
    attempt: run.attempt,
    start: run.start,
    duration: run.duration,
    nbytes: known(run.nbytes),
    type: run.type ?? undefined,
    error: run.error ?? undefined,
    parts: run.parts.map(part => ({
      from: facts.workers.find(({ worker }) => worker === part.from)?.address,
      held: part.held ? 1 : 0,
      kind: KIND[part.kind],
      function: part.function,
      span: nameOf(facts, part.span),
      offset: part.offset,
      duration: part.duration
    }))
  };
}

/** The thread that ran it: the newest that was told by its end, else the first. */
function identOf(facts: ClusterFacts, run: RunFact): number | null {
  const told = facts.threads.filter(
    ({ worker, thread }) => worker === run.worker && thread === run.thread
  );
  const before = told.filter(({ since }) => since <= endOf(run));
  return (before.at(-1) ?? told[0])?.ident ?? null;
}

/** The columns of an answer as rows. */
function recordsOf(log: LogStore): Fields[] {
  const answer = ask(log, 'records');
  expect(answer.next).toBeNull();
  expect(answer.end).toBe(log.runs.endRow);
  const { names, spans, lanes } = answer;
  const errors = new Map(answer.errors);
  const nameAt = (index: number | null | undefined): string | undefined =>
    names[index ?? -1];
  const parts = answer.partKind.map((kind, i) => ({
    from: nameAt(answer.partFrom[i]),
    held: answer.partHeld[i],
    kind: names[kind],
    function: names[answer.partFunction[i]!],
    span: spans[answer.partSpan[i]!],
    offset: answer.partOffset[i],
    duration: answer.partDuration[i]
  }));
  return answer.run.map((run, i) => ({
    run,
    key: answer.key[i],
    function: names[answer.function[i]!],
    span: spans[answer.span[i]!],
    lane: lanes[answer.lane[i]!],
    type: nameAt(answer.type[i]),
    error: errors.get(i),
    status: names[answer.status[i]!],
    attempt: answer.attempt[i],
    start: answer.start[i],
    duration: answer.duration[i],
    nbytes: answer.nbytes[i],
    parts: parts.splice(0, answer.parts[i])
  }));
}

// ---- what is moved and what is kept

/** [context, function, activity, unit] → sum, of tasks and of what workers do beside them. */
function expectedEntries({ runs, fine }: ClusterFacts): unknown[] {
  const sums = new Map<string, number>();
  const book = (key: readonly string[], value: number): void => {
    const text = key.join('\0');
    sums.set(text, (sums.get(text) ?? 0) + value);
  };
  for (const run of runs) {
    for (const { function: fn, seconds } of stretchesOf(run)) {
      for (const [activity, value] of seconds) {
        const isOffCore = activity === 'core' || activity === 'blocked';
        const shown = isOffCore ? 'thread-noncpu' : activity;
        book(['execute', fn, shown, 'seconds'], value);
        if (isOffCore) {
          book(['noncpu', fn, activity, 'seconds'], value);
        }
      }
    }
    for (const { function: fn } of executionsOf(run)) {
      book(['execute', fn, 'compute', 'count'], 1);
    }
    for (const part of run.parts) {
      if (isComputing(part)) {
        continue;
      }
      const key = [
        part.held ? 'execute' : 'background',
        part.function,
        KIND[part.kind]!
      ];
      book([...key, 'count'], 1);
      book([...key, 'bytes'], part.bytes);
      if (!part.held) {
        book([...key, 'seconds'], part.duration);
      }
    }
  }
  for (const row of fine) {
    book([row.context, row.function, row.activity, row.unit], row.value);
  }
  return [...sums]
    .filter(([, value]) => value !== 0)
    .map(([key, value]) => [...key.split('\0'), value]);
}

/** What a selection keeps, at each time at which that changes: what a worker kept is gone with it. */
function expectedKept(
  { stored, workers }: ClusterFacts,
  isChosen: (row: ClusterFacts['stored'][number]) => boolean
): Fields {
  const rows = stored.filter(isChosen);
  const deaths = workers
    .map(({ worker, left }) => ({
      t: left,
      change: -sum(
        rows.filter(row => row.worker === worker),
        row => row.change
      )
    }))
    .filter(({ t, change }) => t < Infinity && change !== 0);
  // At one time the dead first: results that another keeps from then on may be those that are gone, and must not show twice.
  const changes = [...deaths, ...rows].sort((one, other) => one.t - other.t);
  return withFigures(
    {
      t: changes.map(({ t }) => t),
      bytes: changes.map((_, i) => sum(changes.slice(0, i + 1), c => c.change))
    },
    Infinity
  );
}

/** A sample counts until the next one, and no longer than this; the newest, until it was taken. */
const HELD_SECONDS = 15;

function withFigures(
  {
    t,
    bytes
  }: { readonly t: readonly number[]; readonly bytes: readonly number[] },
  heldSeconds = HELD_SECONDS
): Fields {
  const seconds = t.map((at, i) =>
    Math.min(heldSeconds, (t[i + 1] ?? at) - at)
  );
  const counted = sum(seconds, each => each);
  const peak = t.length === 0 ? null : Math.max(...bytes);
  return {
    t,
    bytes,
    first: bytes[0] ?? null,
    last: bytes.at(-1) ?? null,
    peak,
    peakAt: peak === null ? null : t[bytes.indexOf(peak)],
    mean:
      counted > 0
        ? expect.closeTo(
            sum(
              seconds.map((each, i) => each * bytes[i]!),
              each => each
            ) / counted,
            3
          )
        : peak
  };
}

/** Each worker's newest figure, of those that live, at each time at which one changes. */
function expectedCurve(
  { memory, workers }: ClusterFacts,
  figure: (row: ClusterFacts['memory'][number]) => number
): Fields {
  const deaths = workers
    .map(({ left }) => left)
    .filter(left => left < Infinity);
  const times = [...memory.map(({ t }) => t), ...deaths].sort((a, b) => a - b);
  return withFigures({
    t: times,
    bytes: times.map(t =>
      sum(workers, ({ worker, left }) => {
        const last = memory.findLast(
          row => row.worker === worker && row.t <= t
        );
        return last === undefined || left <= t ? 0 : figure(last);
      })
    )
  });
}

describe('every column of a drawn cluster', () => {
  const drawn = SEEDS.map(seed => {
    const facts = drawCluster(seed);
    return { facts, blocks: toldToSource(facts), log: new LogStore('drawn') };
  });
  // Taken in by each test: a tool that plants defects finds those of the way in.
  beforeEach(() => {
    for (const each of drawn) {
      each.log = new LogStore('drawn');
      each.blocks.forEach(block => ingestBlock(each.log, blockRows(block)));
    }
  });
  const all = <T>(of: (facts: ClusterFacts) => readonly T[]): T[] =>
    drawn.flatMap(({ facts }) => of(facts));

  it('is drawn unlike', () => {
    const runs = all(facts => facts.runs);
    expect(new Set(runs.map(({ attempt }) => attempt))).toEqual(
      new Set([1, 2, 3])
    );
    expect(new Set(runs.map(({ status }) => status)).size).toBe(4);
    expect(
      new Set(runs.flatMap(({ parts }) => parts).map(({ kind }) => kind)).size
    ).toBe(7);
    expect(
      new Set(all(facts => facts.stored).map(({ kind }) => kind)).size
    ).toBe(5);
    for (const { memory } of drawn.map(({ facts }) => facts)) {
      const peak = Math.max(...memory.map(row => row.process));
      expect(memory.at(-1)!.process).toBeLessThan(peak);
    }
    const storedAtADeath = all(({ stored, workers }) =>
      stored.filter(({ t }) => workers.some(({ left }) => left === t))
    );
    expect(storedAtADeath).not.toHaveLength(0);
    for (const { facts } of drawn) {
      expect(Math.max(...facts.runs.map(endOf))).toBe(END);
      expect(facts.tasks[0]!.submitted).toBe(0);
    }
  });

  it.each(Object.keys(EXPECTED) as TableName[])('is in the log: %s', table => {
    for (const { facts, blocks } of drawn) {
      const expected = EXPECTED[table]!(facts);
      for (const row of expected) {
        expect(Object.keys(row).sort()).toEqual(
          Object.keys(TABLES[table].columns).sort()
        );
      }
      expect(rowsOf(blocks, table)).toEqual(expected);
    }
  });

  it('is in the answer of spans', () => {
    for (const { facts, log } of drawn) {
      const { rows, ...rest } = ask(log, 'spans', { now: END });
      expect(rows).toEqual(expectedSpans(facts));
      const begun = facts.runs.filter(isBegun);
      expect(rest).toEqual({
        view: 'spans',
        clients: ['/home/first.ipynb', 'script'],
        totalThreadSeconds: sum(begun, run => run.duration),
        ...runningFields(facts.going),
        totalTasks: begun.length
      });
    }
  });

  it('is in the answer of all spans', () => {
    for (const { facts, log } of drawn) {
      const params = { all: true };
      const answer = ask(log, 'spans', { now: END, params });
      expect(answer.rows).toEqual(expectedSpans(facts, true));
      expect(answer.next).toBeNull();
      expect(answer.threads).toEqual(
        expectedThreads(facts).filter(([t]) => t <= END)
      );
    }
  });

  it('is in the answer of tasks, and in the detail of a run', () => {
    for (const { facts, log } of drawn) {
      const rows = facts.runs
        .filter(isBegun)
        .sort((one, other) => one.start - other.start);
      expect(ask(log, 'tasks', { params: { limit: 500 } })).toEqual({
        view: 'tasks',
        total: rows.length,
        rows: rows.map(run =>
          expectedDetail(facts, run, run.error?.split('\n').at(-1) ?? null)
        )
      });
      for (const run of facts.runs) {
        expect(runDetail(log, log.runRows.get(run.run))).toEqual({
          ...expectedDetail(facts, run, run.error),
          ...expectedEnd(facts, run)
        });
      }
    }
  });

  it('is in the answer of records', () => {
    for (const { facts, log } of drawn) {
      expect(recordsOf(log)).toEqual(
        facts.runs.filter(isBegun).map(run => expectedRecord(facts, run))
      );
    }
  });

  it('is in the sums of fine metrics: seconds, bytes and counts of what is moved', () => {
    for (const { facts, log } of drawn) {
      const { entries, background } = ask(log, 'fine-metrics', {
        now: END,
        params: { entries: true }
      });
      const ofTasks = entries!.filter(([, fn]) => fn !== 'N/A');
      expect(sorted(ofTasks)).toEqual(sorted(expectedEntries(facts)));
      const behind = facts.runs.flatMap(run =>
        run.parts.filter(part => !part.held)
      );
      for (const kind of new Set(behind.map(part => part.kind))) {
        const mine = behind.filter(part => part.kind === kind);
        expect(background).toContainEqual({
          activity: KIND[kind],
          seconds: sum(mine, part => part.duration),
          bytes: sum(mine, part => part.bytes),
          count: mine.length
        });
      }
    }
  });

  /** What a worker keeps is in its process: as distributed's measures have it. */
  function measuresOf(row: ClusterFacts['memory'][number]) {
    const { process, spilled } = row;
    const managed = Math.min(process, row.managed);
    const unmanaged = process - managed;
    const unmanaged_old = Math.min(row.unmanagedOld, unmanaged);
    return {
      process,
      managed,
      managed_total: managed + spilled,
      spilled,
      unmanaged,
      unmanaged_old,
      unmanaged_recent: unmanaged - unmanaged_old,
      optimistic: managed + unmanaged_old
    };
  }

  it.each(MEMORY_MEASURES)('is in the curve of memory: %s', measure => {
    for (const { facts, log } of drawn) {
      const params = { measure, show: 'workers' };
      const { series, now, limits } = ask(log, 'memory', {
        now: END,
        params
      });
      const of = (worker: number): Fields => {
        const rows = facts.memory.filter(row => row.worker === worker);
        return withFigures({
          t: rows.map(({ t }) => t),
          bytes: rows.map(row => measuresOf(row)[measure])
        });
      };
      expect(series).toEqual([
        {
          name: 'cluster',
          worker: null,
          ...expectedCurve(facts, row => measuresOf(row)[measure])
        },
        ...facts.workers.map(({ name, worker }) => ({
          name,
          worker,
          ...of(worker)
        }))
      ]);
      const living = facts.workers.filter(({ left }) => left === Infinity);
      const newest = living.map(({ worker }) =>
        facts.memory.findLast(row => row.worker === worker)!
      );
      const figures = [
        'process',
        'managed',
        'spilled',
        'unmanagedOld'
      ] as const;
      expect(now).toEqual(
        Object.fromEntries(
          figures.map(name => [name, sum(newest, row => row[name])])
        )
      );
      expect(limits!.memoryLimit).toBe(sum(living, each => each.memoryLimit));
    }
  });

  it('is in what the system counted for each process', () => {
    const unknown = (value: number): number | null =>
      Number.isNaN(value) || value === NONE_U32 ? null : value;
    for (const { facts, log } of drawn) {
      const { lines, dropped } = ask(log, 'system', { now: END });
      const processes = [
        { worker: NONE_U16, name: 'scheduler', address: '', host: '' },
        ...facts.workers
      ];
      expect(dropped).toBe(0);
      expect(lines).toEqual(
        processes
          .map(({ worker, name, address, host }) => {
            const rows = facts.system.filter(row => row.worker === worker);
            const columns = Object.keys(rows[0] ?? {}).filter(
              column => column !== 'worker'
            ) as Exclude<keyof (typeof rows)[number], 'worker'>[];
            return {
              worker: worker === NONE_U16 ? null : worker,
              name,
              address,
              host,
              rows: rows.length,
              ...Object.fromEntries(
                columns.map(column => [
                  column,
                  rows.map(row => unknown(row[column]))
                ])
              )
            };
          })
          .filter(({ rows }) => rows > 0)
      );
    }
  });

  it('is in how exact the times of each worker are', () => {
    for (const { facts, log } of drawn) {
      const { workers } = ask(log, 'task-stream', { now: END });
      expect(
        workers.map(({ worker, within }) => [worker, within] as const)
      ).toEqual(
        facts.workers.map(({ worker }) => [
          worker,
          facts.clocks.filter(row => row.worker === worker).at(-1)?.within
        ])
      );
    }
  });

  it('is in what a selection keeps: by worker, span and function', () => {
    type Chosen = readonly [
      Filter,
      (row: ClusterFacts['stored'][number]) => boolean
    ];
    let drawnAny = 0;
    for (const { facts, log } of drawn) {
      const selections: Chosen[] = [
        ...facts.spans.map((span): Chosen => {
          const path = pathOf(facts, span.id);
          return [
            { spans: { any: [{ path }] } },
            row =>
              row.span !== 0 &&
              [pathOf(facts, row.span), nameOf(facts, row.span)].some(of =>
                path.every((tag, i) => of[i] === tag)
              )
          ];
        }),
        ...[...new Set(facts.stored.map(row => row.function))].map(
          (fn): Chosen => [{ functions: [fn] }, row => row.function === fn]
        ),
        ...facts.workers.map(({ worker }): Chosen => [
          { workers: [worker], functions: ['load', 'inc'] },
          row => row.worker === worker && ['load', 'inc'].includes(row.function)
        ])
      ];
      for (const [filter, isChosen] of selections) {
        const params = { measure: 'managed' };
        const { series } = ask(log, 'memory', { now: END, params, filter });
        const expected = expectedKept(facts, isChosen);
        expect(series.find(({ name }) => name === 'selection')).toEqual({
          name: 'selection',
          worker: null,
          ...expected
        });
        drawnAny += facts.stored.filter(isChosen).length;
      }
    }
    expect(drawnAny).toBeGreaterThan(0);
  });
});
