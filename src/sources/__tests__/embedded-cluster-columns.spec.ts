/** Every fact that a cluster's log is given stands in its own column: what is given differs in each. */
import { arrayOf } from '../../base/typed-arrays';
import {
  CapacityState,
  NONE_U16,
  NONE_U32,
  RunStatus,
  SpanOrigin,
  StoredKind
} from '../../records/enumerations';
import {
  DEFAULT_SPAN,
  type DenseTaskId,
  type OuterTaskId
} from '../../records/ids';
import { TABLES } from '../../records/tables';
import { denseIds, idOf, spanIds } from '../../testing/ids';
import { logRows } from '../../testing/log-rows';
import { EmbeddedClusterLog, type TaskFacts } from '..';
import type { FinishedTables } from '../embedded-cluster';

const JOINED = {
  worker: 5,
  pid: 41,
  threads: 3,
  memoryLimit: 2 ** 33,
  name: 'name',
  address: 'address',
  host: 'host'
};

/** A log that began at 100 s, and its rows once it is sealed. */
function newLog(isRecording?: boolean) {
  const { emit, tables } = logRows();
  return { log: new EmbeddedClusterLog(100, emit, isRecording), tables };
}

type Run = {
  readonly [C in Exclude<keyof FinishedTables['runs'], 'rows'>]: number;
};
type Part = {
  readonly [C in Exclude<keyof FinishedTables['parts'], 'rows'>]: number;
};

const RUN: Run = {
  taskId: 70,
  runId: 8,
  status: RunStatus.Ok,
  thread: 2,
  start: 104,
  duration: 1.5,
  cpu: 1.25,
  waitInputs: 0.25,
  waitThread: 0.5,
  nbytes: 28,
  inlineStart: 0,
  inlineLength: 0,
  firstPart: 0,
  type: NONE_U32
};
const PART: Part = {
  kind: 3,
  function: 0,
  span: 4,
  offset: -0.125,
  duration: 0.75,
  cpu: 0.625,
  coreWait: 0.0625,
  bytes: 77,
  from: 6,
  held: 1
};

function columnsOf<R extends Readonly<Record<string, number>>>(
  rows: readonly R[],
  like: R
): object {
  return Object.fromEntries(
    Object.keys(like).map(name => [
      name,
      arrayOf(
        Float64Array,
        rows.map(row => row[name]!)
      )
    ])
  );
}

/** What ended at a worker: columns of numbers, whatever their types on the wire. */
function ended(runs: readonly Run[], parts: readonly Part[] = []) {
  return {
    runs: { rows: runs.length, ...columnsOf(runs, RUN) },
    parts: { rows: parts.length, ...columnsOf(parts, PART) }
  } as unknown as FinishedTables;
}

/** Two tasks with the rows 30 and 31. */
function twoTasks(log: EmbeddedClusterLog): TaskFacts {
  return {
    node: Uint32Array.of(30, 31),
    functionId: Uint32Array.of(log.names.id('f0'), log.names.id('f1')),
    span: spanIds(2, 3),
    unfinishedSince: Float64Array.of(1, 1.25),
    attempts: Uint8Array.of(9, 0)
  };
}

describe('the log of a cluster has in its columns', () => {
  it('what it is, its spans, events, labelled memory and gaps', () => {
    const { log, tables } = newLog();
    log.header(100.25, { kind: 'embedded' });
    const span = { parent: idOf<never>(1), tag: 'load', opened: 101 };
    log.spans(7, [
      {
        id: idOf(2),
        ...span,
        closed: null,
        origin: SpanOrigin.Cell,
        uuid: 'u',
        reused: 3,
        code: '[]'
      },
      { id: idOf(2), ...span, closed: 109, origin: SpanOrigin.Inferred }
    ]);
    const notebook = { kernelId: 'a kernel', path: 'a.ipynb' };
    log.client(3, { name: 'a', notebook }, 101, null);
    log.client(4, { name: 'b', notebook: {} }, 102, 103);
    log.client(6, { name: 'c', notebook: null }, 102, null);
    log.event(102, 'paused', 5, 'its memory is short');
    log.event(103, 'closing', null, '');
    log.taskFailed(104, 5, 17, idOf(3), 'a trace');
    log.memoryRun(1, 'label', 'process', 0.5, 105, null);
    log.memoryRun(1, 'label', 'managed', 0.25, 105, 106);
    log.memorySample(105.5, 1, 99);
    log.gap(9, 1, 2, 3, 'lost');
    log.seal(110);
    expect(tables.header).toEqual([{ t: 0.25, json: '{"kind":"embedded"}' }]);
    const row = { id: 2, parent: 1, tag: 'load', client: 7, opened: 1 };
    const unsaid = { uuid: '', reused: 0, code: '' };
    expect(tables.spans).toEqual([
      {
        id: DEFAULT_SPAN,
        parent: DEFAULT_SPAN,
        tag: 'default',
        client: 0,
        opened: 0,
        closed: NaN,
        origin: SpanOrigin.Default,
        ...unsaid
      },
      {
        ...row,
        closed: NaN,
        origin: SpanOrigin.Cell,
        uuid: 'u',
        reused: 3,
        code: '[]'
      },
      { ...row, closed: 9, origin: SpanOrigin.Inferred, ...unsaid }
    ]);
    const none = { kernel: '', path: '' };
    const known = { kernel: 'a kernel', path: 'a.ipynb' };
    expect(tables.clients).toEqual([
      { client: 3, joined: 1, left: NaN, name: 'a', ...known },
      { client: 4, joined: 2, left: 3, name: 'b', ...none },
      { client: 6, joined: 2, left: NaN, name: 'c', ...none }
    ]);
    expect(tables.events).toEqual([
      {
        t: 2,
        kind: 'paused',
        worker: 5,
        span: DEFAULT_SPAN,
        run: NONE_U32,
        text: 'its memory is short'
      },
      {
        t: 3,
        kind: 'closing',
        worker: NONE_U16,
        span: DEFAULT_SPAN,
        run: NONE_U32,
        text: ''
      },
      {
        t: 4,
        kind: 'task-failed',
        worker: 5,
        span: 3,
        run: 17,
        text: 'a trace'
      }
    ]);
    const memory = { run: 1, label: 'label', start: 5 };
    expect(tables.memoryRuns).toEqual([
      { ...memory, measure: 'process', interval: 0.5, stopped: NaN },
      { ...memory, measure: 'managed', interval: 0.25, stopped: 6 }
    ]);
    expect(tables.memorySamples).toEqual([{ run: 1, t: 5.5, bytes: 99 }]);
    expect(tables.gaps).toEqual([
      { table: 9, from: 1, to: 2, rows: 3, why: 'lost' }
    ]);
  });

  it('who joined, with which lanes, and who left', () => {
    const { log, tables } = newLog();
    const facts = twoTasks(log);
    log.workerJoined(101, JOINED);
    log.workerJoined(102, { ...JOINED, worker: 6, threads: 1 });
    expect(log.coinedBy(5)).toBe(0);
    log.workerNames(5, 0x80000000, ['a', 'b']);
    log.workerNames(9, 0x80000000, ['of nobody']);
    expect([5, 6, 9].map(worker => log.coinedBy(worker))).toEqual([2, 0, 0]);
    log.capacity(103, 5, CapacityState.Stopped);
    log.capacity(103, 9, CapacityState.Stopped);
    log.workerLeft(104, 5, 'was ended', facts);
    log.capacity(105, 5, CapacityState.Running);
    log.seal(106);
    const row = { ...JOINED, joined: 1, left: NaN, why: '' };
    expect(tables.workers).toEqual([
      row,
      { ...row, worker: 6, threads: 1, joined: 2 },
      { ...row, left: 4, why: 'was ended' }
    ]);
    // Which threads of the system they are is told later.
    const untold = { ident: NaN, since: NaN };
    expect(tables.lanes).toEqual([
      { lane: 0, worker: 5, thread: 0, ...untold },
      { lane: 1, worker: 5, thread: 1, ...untold },
      { lane: 2, worker: 5, thread: 2, ...untold },
      { lane: 3, worker: 6, thread: 0, ...untold }
    ]);
    expect(tables.capacity).toEqual([
      { t: 1, worker: 5, threads: 3, state: CapacityState.Running },
      { t: 2, worker: 6, threads: 1, state: CapacityState.Running },
      { t: 3, worker: 5, threads: 3, state: CapacityState.Stopped },
      { t: 4, worker: 5, threads: 0, state: CapacityState.Gone }
    ]);
    expect(tables.names!.map(({ text }) => text)).not.toContain('of nobody');
  });

  it('tasks, each with its edges after it', () => {
    const { log, tables } = newLog();
    const [group, fn] = [log.names.id('g'), log.names.id('f')] as const;
    const suffix = new TextEncoder();
    expect(log.nextNode).toBe(0);
    log.node(101, group, fn, idOf(2), 1, suffix.encode('-ä'));
    log.edge(8);
    log.edge(9);
    log.node(102, fn, group, idOf(3), 2, suffix.encode('-2'));
    log.edge(0);
    log.node(102, group, fn, idOf(3), 2, new Uint8Array(0));
    expect(log.nextNode).toBe(3);
    log.seal(103);
    const row = { group: 'g', function: 'f', span: 3, origin: 2, submitted: 2 };
    expect(tables.nodes).toEqual([
      {
        ...row,
        node: 0,
        span: 2,
        origin: 1,
        submitted: 1,
        firstEdge: 0,
        suffix: '-ä'
      },
      {
        ...row,
        node: 1,
        group: 'f',
        function: 'g',
        firstEdge: 2,
        suffix: '-2'
      },
      { ...row, node: 2, firstEdge: 3, suffix: '' }
    ]);
    expect(tables.edges).toEqual([{ node: 8 }, { node: 9 }, { node: 0 }]);
  });

  it('runs, each with its own parts', () => {
    const { log, tables } = newLog();
    log.workerJoined(101, { ...JOINED, worker: 4, threads: 2 });
    log.workerJoined(101, JOINED);
    const given = log.names.id('given');
    log.workerNames(5, 0x80000000, ['own', 'builtins:int']);
    const facts = twoTasks(log);
    const other = { runId: 9, thread: 0, cpu: NaN, nbytes: 0, firstPart: 2 };
    const tasks = ended(
      [
        { ...RUN, type: 0x80000001 },
        { ...RUN, ...other, type: given },
        { ...RUN, runId: 10, status: RunStatus.Failed, firstPart: 2 }
      ],
      [
        { ...PART, function: given },
        { ...PART, kind: 4, held: 0, function: 0x80000000 },
        { ...PART, bytes: NaN, function: given }
      ]
    );
    log.finished(5, tasks, denseIds(0, 1, 0), facts);
    log.seal(110);
    const row = {
      node: 30,
      function: 'f0',
      span: 2,
      lane: 4,
      status: RunStatus.Ok,
      start: 4,
      duration: 1.5,
      waitInputs: 0.25,
      waitThread: 0.5,
      cpu: 1.25,
      nbytes: 28
    };
    expect(tables.runs).toEqual([
      // Unfinished since 1 s, it began at 4 s, after waits of 0.75 s.
      {
        ...row,
        run: 8,
        attempt: 10,
        waitReady: 2.25,
        type: 'builtins:int'
      },
      {
        ...row,
        run: 9,
        attempt: 1,
        node: 31,
        function: 'f1',
        span: 3,
        lane: 2,
        waitReady: 2,
        cpu: NaN,
        nbytes: 0,
        type: 'given'
      },
      // The run before it ended at 5.5 s: it had not waited then.
      { ...row, run: 10, attempt: 11, status: RunStatus.Failed, waitReady: 0 }
    ]);
    const part = { ...PART, function: 'given' };
    expect(tables.parts).toEqual([
      { ...part, run: 8 },
      { ...part, run: 8, kind: 4, held: 0, function: 'own' },
      { ...part, run: 10, bytes: NaN }
    ]);
    expect([...facts.attempts]).toEqual([11, 1]);
    expect([...facts.unfinishedSince]).toEqual([5.5, 5.5]);
  });

  it('sums of what is stored, once', () => {
    const { log, tables } = newLog();
    const facts = twoTasks(log);
    const [first, second] = denseIds(0, 1) as Iterable<DenseTaskId>;
    log.stored(5, first!, facts, StoredKind.Stored, 100);
    expect(log.commit(101)).toBe(101.05);
    log.stored(5, second!, facts, StoredKind.Replica, 7);
    log.stored(5, second!, facts, StoredKind.Replica, 8);
    expect(log.seal(102)).toBeGreaterThan(0);
    log.seal(103);
    const row = { worker: 5 };
    expect(tables.stored).toEqual([
      {
        ...row,
        t: 1,
        span: 2,
        function: 'f0',
        kind: StoredKind.Stored,
        change: 100
      },
      {
        ...row,
        t: 2,
        span: 3,
        function: 'f1',
        kind: StoredKind.Replica,
        change: 15
      }
    ]);
  });
});

describe('a run of a task that was given up', () => {
  const gone = {
    node: 35,
    functionId: 0,
    span: idOf<never>(6),
    unfinishedSince: 2,
    attempts: 4
  };

  it('counts on from the attempts that there were, and has parts', () => {
    const { log, tables } = newLog();
    const facts = twoTasks(log);
    log.workerJoined(101, JOINED);
    log.givenUp.keep(idOf<OuterTaskId>(77), { ...gone });
    const run = { ...RUN, taskId: 77 };
    const reported = ended([run, { ...run, runId: 9, firstPart: 1 }], [PART]);
    log.finished(5, reported, denseIds(-1, -1), facts);
    log.seal(110);
    const row = { node: 35, function: 'default', span: 6, lane: 2 };
    expect(tables.runs).toMatchObject([
      // Unfinished since 2 s, it began at 4 s, after waits of 0.75 s.
      { ...row, run: 8, attempt: 5, waitReady: 1.25 },
      // Nobody computes it again: it does not wait from the first one's end.
      { ...row, run: 9, attempt: 6, waitReady: 1.25 }
    ]);
    expect(tables.parts).toMatchObject([{ run: 8 }]);
    expect([...facts.attempts]).toEqual([9, 0]);
    expect([...facts.unfinishedSince]).toEqual([1, 1.25]);
    expect(tables.gaps).toBeUndefined();
  });

  it('is one of its task as long as the scheduler knows that', () => {
    const { log, tables } = newLog();
    const facts = twoTasks(log);
    log.workerJoined(101, JOINED);
    // Its run on another worker was given up, and it runs again here.
    for (const taskId of [70, 71]) {
      log.givenUp.keep(idOf<OuterTaskId>(taskId), { ...gone });
    }
    log.finished(
      5,
      ended([RUN, { ...RUN, runId: 9, taskId: 71 }]),
      denseIds(0, 1),
      facts
    );
    log.seal(110);
    expect(tables.runs).toMatchObject([
      { run: 8, node: 30, function: 'f0', span: 2, attempt: 10 },
      { run: 9, node: 31, function: 'f1', span: 3, attempt: 1 }
    ]);
    expect([...facts.attempts]).toEqual([10, 1]);
  });

  it('is cancelled, also of a task that the scheduler knows and runs anew', () => {
    const { log, tables } = newLog();
    const facts = twoTasks(log);
    log.workerJoined(101, JOINED);
    log.measured.givenUp(5, 8, 3);
    const failed = { status: RunStatus.Failed };
    log.finished(
      5,
      ended([RUN, { ...RUN, runId: 9 }, { ...RUN, ...failed, runId: 8 }]),
      denseIds(0, 0, 0),
      facts
    );
    log.seal(110);
    expect(tables.runs).toMatchObject([
      { run: 8, status: RunStatus.Cancelled },
      { run: 9, status: RunStatus.Ok },
      // (it raised, which nobody waited for)
      { run: 8, status: RunStatus.Cancelled }
    ]);
    // With the very start of its row, and of no other run.
    const { start, lane } = tables.runs![0]!;
    expect(tables.givenUp).toEqual([
      { lane, started: start, t: 3 },
      { lane, started: start, t: 3 }
    ]);
  });

  it.each([RunStatus.Ok, RunStatus.Failed])(
    'has status %i that its worker tells, if the task was done by another run',
    status => {
      const { log, tables } = newLog();
      const facts = twoTasks(log);
      log.workerJoined(101, JOINED);
      // It was recalled, and its task, which ran anew, is forgotten.
      log.givenUp.keep(idOf<OuterTaskId>(77), { ...gone });
      log.measured.givenUp(5, 9, 3);
      const run = { ...RUN, taskId: 77, status };
      log.finished(
        5,
        ended([run, { ...run, runId: 9 }]),
        denseIds(-1, -1),
        facts
      );
      log.seal(110);
      expect(tables.runs).toMatchObject([
        { run: 8, node: 35, status },
        { run: 9, node: 35, status: RunStatus.Cancelled }
      ]);
    }
  );

  it('is none if it had not begun, and a gap if nothing is known of it', () => {
    const { log, tables } = newLog();
    const facts = twoTasks(log);
    log.workerJoined(101, JOINED);
    log.givenUp.keep(idOf<OuterTaskId>(77), gone);
    const given = { status: RunStatus.Missing, waitThread: NaN };
    log.finished(
      5,
      ended([
        { ...RUN, taskId: 77, ...given, start: 102 },
        { ...RUN, taskId: 78, ...given, start: 103 },
        { ...RUN, taskId: 78, start: 106 }
      ]),
      denseIds(-1, -1, -1),
      facts
    );
    log.seal(110);
    expect(tables.runs).toBeUndefined();
    expect(tables.gaps).toEqual([
      {
        table: TABLES.runs.number,
        from: 6,
        to: 7.5,
        rows: 1,
        why: expect.any(String) as string
      }
    ]);
  });

  it('lies within its gap, whichever of the runs was reported first', () => {
    const { log, tables } = newLog();
    const facts = twoTasks(log);
    log.workerJoined(101, JOINED);
    const failed = { taskId: 79, status: RunStatus.Failed };
    // Reported as they end, of several threads: neither the first nor the last row need be the first that began. The third one is known.
    log.finished(
      5,
      ended([
        { ...RUN, ...failed, start: 107, duration: 0.5 },
        { ...RUN, ...failed, start: 103, duration: 6 },
        { ...RUN, start: 102, duration: 8 },
        { ...RUN, ...failed, start: 108, duration: 0.25 }
      ]),
      denseIds(-1, -1, 0, -1),
      facts
    );
    log.seal(110);
    expect(tables.runs).toHaveLength(1);
    expect(tables.gaps).toMatchObject([{ from: 3, to: 9, rows: 3 }]);
  });
});

it('a run that gave a result has begun, though nobody measured its waits', () => {
  const { log, tables } = newLog();
  const facts = twoTasks(log);
  log.workerJoined(101, JOINED);
  const run = { ...RUN, waitInputs: NaN, waitThread: NaN };
  const back = { ...run, runId: 9, status: RunStatus.Missing, start: 120 };
  log.finished(5, ended([run, back]), denseIds(0, 0), facts);
  log.seal(110);
  expect(tables.runs).toMatchObject([
    { run: 8, attempt: 10 },
    { run: 9, attempt: 11, status: RunStatus.Missing }
  ]);
  // A run that was given back is no attempt, and the task's wait does not begin with it.
  expect(facts.attempts[idOf<DenseTaskId>(0)]).toBe(10);
  expect(facts.unfinishedSince[idOf<DenseTaskId>(0)]).toBe(5.5);
});

it('what was given back ends no run of its thread', () => {
  const { log, tables } = newLog();
  const facts = twoTasks(log);
  log.workerJoined(101, JOINED);
  log.measured.running(
    5,
    {
      rows: 1,
      thread: [2],
      taskId: [idOf(70)],
      runId: [8],
      function: [0],
      span: [idOf(2)],
      started: [102]
    },
    () => idOf(0),
    facts
  );
  const back = { status: RunStatus.Missing, waitThread: NaN, start: 103 };
  log.finished(5, ended([{ ...RUN, ...back, runId: 9 }]), denseIds(1), facts);
  log.workerLeft(105, 5, 'was ended', facts);
  log.seal(110);
  expect(tables.runs).toMatchObject([
    { run: 9, status: RunStatus.Missing },
    { run: 8, status: RunStatus.Lost, start: 2, duration: 3 }
  ]);
});

it('what ended without a run is an event with key and reason, and not too many', () => {
  const { log, tables } = newLog();
  log.taskLost('task-lost', 102, 5, idOf(3), '("a", 1)', 'its worker died');
  for (let i = 0; i < 3000; i++) {
    log.taskLost(
      'task-failed',
      103,
      null,
      idOf(2),
      'k'.repeat(500),
      'w'.repeat(500)
    );
  }
  // However many there are of the others, these are told.
  log.taskLost('task-lost', 104, 5, idOf(3), 'last', 'its worker died');
  log.seal(110);
  expect(tables.events!.at(-1)).toMatchObject({ kind: 'task-lost', t: 4 });
  expect(tables.events![0]).toEqual({
    t: 2,
    kind: 'task-lost',
    worker: 5,
    span: 3,
    run: NONE_U32,
    text: JSON.stringify(['("a", 1)', 'its worker died'])
  });
  expect(tables.events).toHaveLength(2002);
  expect(tables.events![1]).toMatchObject({
    kind: 'task-failed',
    worker: NONE_U16,
    span: 2
  });
  expect(String(tables.events![1]!.text).length).toBeLessThan(820);
  const off = newLog(false);
  off.log.taskLost('task-lost', 102, 5, idOf(3), 'a', 'b');
  off.log.seal(110);
  expect(off.tables.events).toBeUndefined();
});

it('tells of which tasks the runs are lost with their worker', () => {
  const { log } = newLog();
  const facts = twoTasks(log);
  log.workerJoined(101, JOINED);
  log.measured.running(
    5,
    {
      rows: 1,
      thread: [0],
      taskId: [idOf(1)],
      runId: [8],
      function: [0],
      span: [idOf(2)],
      started: [102]
    },
    () => idOf(1),
    facts
  );
  expect([...log.workerLeft(104, 5, 'died', facts)]).toEqual([31]);
  expect([...log.workerLeft(104, 5, 'died', facts)]).toEqual([]);
});

it('runs of a worker that has left are not written', () => {
  const { log, tables } = newLog();
  const facts = twoTasks(log);
  log.finished(5, ended([RUN]), denseIds(0), facts);
  log.seal(110);
  expect(tables.runs).toBeUndefined();
  expect([...facts.attempts]).toEqual([9, 0]);
});

it('a log that does not record has nothing of tasks, whatever becomes of them', () => {
  const { log, tables } = newLog(false);
  const facts = twoTasks(log);
  log.workerJoined(101, JOINED);
  log.measured.running(
    5,
    {
      rows: 1,
      thread: [0],
      taskId: [idOf(70)],
      runId: [8],
      function: [0],
      span: [idOf(0)],
      started: [102]
    },
    () => idOf(0),
    facts
  );
  log.measured.transfers(
    5,
    {
      rows: 1,
      start: [102],
      duration: [1],
      from: [6],
      bytes: [1e6],
      keys: [1],
      firstTaskId: [idOf(70)],
      span: [idOf(0)],
      status: [0],
      type: [NONE_U32]
    },
    () => idOf(0),
    facts
  );
  log.stored(5, idOf(0), facts, StoredKind.Stored, 100);
  log.taskFailed(103, 5, 8, idOf(0), 'a trace');
  log.workerLeft(104, 5, 'was ended', facts);
  log.event(105, 'closing', null, '');
  log.seal(106);
  expect(tables.runs).toBeUndefined();
  expect(tables.stored).toBeUndefined();
  expect(tables.transfers).toBeUndefined();
  expect(tables.events).toMatchObject([{ kind: 'closing' }]);
  expect(tables.workers).toHaveLength(2);
  expect([...facts.attempts]).toEqual([9, 0]);
});

it('has tracebacks of the first errors, and their last line of the later ones', () => {
  const { log, tables } = newLog();
  const text = `${'x'.repeat(4000)}\n  at here\n${'y'.repeat(300)}\n\n`;
  for (let run = 0; run < 2002; run++) {
    log.taskFailed(101, 5, run, DEFAULT_SPAN, text);
  }
  log.seal(102);
  const texts = tables.events!.map(row => row.text);
  const cut = `${text.slice(0, 1500)} … ${text.slice(-1500)}`;
  expect(new Set(texts.slice(0, 2000))).toEqual(new Set([cut]));
  const line = `${'y'.repeat(100)} … ${'y'.repeat(100)}`;
  expect(texts.slice(2000)).toEqual([line, line]);
});
