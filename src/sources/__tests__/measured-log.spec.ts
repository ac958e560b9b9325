import {
  NONE_U16,
  NONE_U32,
  RunStatus,
  StoredKind
} from '../../records/enumerations';
import type { DenseTaskId, OuterTaskId } from '../../records/ids';
import { idOf, spanIds } from '../../testing/ids';
import { logRows } from '../../testing/log-rows';
import type { TablesOf } from '../../wire/schema';
import { EmbeddedClusterLog, type MeasuredTable, type TaskFacts } from '..';

type Name = keyof TablesOf<'worker', 'up', 'measured'>;

/** A table as a worker sends it, from its rows. */
function sent<T extends Name>(
  ...rows: Readonly<Record<Exclude<keyof MeasuredTable<T>, 'rows'>, number>>[]
): MeasuredTable<T> {
  const columns = Object.keys(rows[0] ?? {}).map(name => [
    name,
    rows.map(row => row[name as keyof typeof row])
  ]);
  return {
    rows: rows.length,
    ...Object.fromEntries(columns)
  } as unknown as MeasuredTable<T>;
}

/** Ids that a worker has coined: 0x80000000 | index. */
const OWN = 0x80000000;

let log: EmbeddedClusterLog;
let tables: ReturnType<typeof logRows>['tables'];
/** A name that the log has given out, and workers use as it is. */
let given: number;

/** The scheduler began at 100 s; worker 3 has the lanes 0 and 1, worker 4 the lanes 2 to 4. */
beforeEach(() => {
  const rows = logRows();
  tables = rows.tables;
  log = new EmbeddedClusterLog(100, rows.emit);
  given = log.names.id('given');
  for (const [worker, threads] of [
    [3, 2],
    [4, 3]
  ] as const) {
    log.workerJoined(100.5, {
      worker,
      pid: 40 + worker,
      threads,
      memoryLimit: 0,
      name: '',
      address: '',
      host: ''
    });
    log.workerNames(worker, OWN, [`first of ${worker}`, `second of ${worker}`]);
  }
});

describe('what a worker measures', () => {
  it('is which thread of the system runs the tasks of a lane, and since when', () => {
    log.seal(101);
    const known = tables.lanes!.length;
    log.measured.threads(
      4,
      sent<'threads'>(
        { t: 102, thread: 2, ident: 2 ** 47 },
        { t: 102.5, thread: 3, ident: 2 ** 46 }
      )
    );
    log.measured.threads(9, sent<'threads'>({ t: 102, thread: 0, ident: 1 }));
    log.seal(103);
    expect(tables.lanes!.slice(known)).toEqual([
      // A run beside the worker's threads begins a lane.
      { lane: 5, worker: 4, thread: 3, ident: NaN, since: NaN },
      { lane: 4, worker: 4, thread: 2, ident: 2 ** 47, since: 2 },
      { lane: 5, worker: 4, thread: 3, ident: 2 ** 46, since: 2.5 }
    ]);
  });

  it('is memory at a time', () => {
    const row = { process: 5, managed: 6, spilled: 7, unmanagedOld: 8 };
    log.measured.memory(
      4,
      sent<'memory'>(
        { t: 101.5, ...row },
        { t: 102.25, ...row, process: 9, spilled: 0 }
      )
    );
    log.seal(103);
    expect(tables.memory).toEqual([
      { worker: 4, t: 1.5, ...row },
      { worker: 4, t: 2.25, ...row, process: 9, spilled: 0 }
    ]);
  });

  it('is what the system counts for a worker, and for the scheduler', () => {
    const row = {
      seconds: 0.5,
      cpu: 75,
      memory: 5,
      fds: 6,
      netRead: 7,
      netWrite: 8,
      diskRead: 9,
      diskWrite: 10,
      hostDiskRead: 11,
      hostDiskWrite: 12
    };
    log.measured.system(
      4,
      sent<'system'>({ t: 101.5, ...row }, { t: 102, ...row, fds: NONE_U32 })
    );
    log.measured.system(NONE_U16, sent<'system'>({ t: 102.5, ...row, cpu: 3 }));
    log.seal(103);
    const told = { ...row, loopInterval: NaN };
    expect(tables.system).toEqual([
      { worker: 4, t: 1.5, ...told },
      { worker: 4, t: 2, ...told, fds: NONE_U32 },
      { worker: NONE_U16, t: 2.5, ...told, cpu: 3 }
    ]);
  });

  it('is figures of whole seconds, none before the start', () => {
    const row = {
      context: given,
      span: 2,
      function: OWN + 1,
      activity: OWN,
      unit: given,
      value: -2.5
    };
    log.measured.fine(
      4,
      sent<'fine'>({ t: 103.99, ...row }, { t: 99.5, ...row, span: 1 })
    );
    log.measured.fine(3, sent<'fine'>({ t: 104, ...row }));
    log.seal(105);
    const figures = { context: 'given', unit: 'given', value: -2.5 };
    const of = (worker: number): object => ({
      ...figures,
      worker,
      function: `second of ${worker}`,
      activity: `first of ${worker}`
    });
    expect(tables.fine).toEqual([
      { ...of(4), second: 3, span: 2 },
      { ...of(4), second: 0, span: 1 },
      { ...of(3), second: 4, span: 2 }
    ]);
  });

  it('is stacks of its own numbers, which are told once', () => {
    const frames = sent<'frames'>(
      { frame: 0, function: OWN, file: given, line: 11 },
      { frame: 1, function: OWN + 1, file: OWN, line: 12 }
    );
    const stacks = sent<'stacks'>(
      { stack: 0, parent: NONE_U32, frame: 1 },
      { stack: 1, parent: 0, frame: 0 }
    );
    const sample = { span: 2, function: OWN, state: 1, n: 7 };
    const samples = sent<'samples'>(
      { ...sample, t: 101.75, thread: 0, stack: 1 },
      { ...sample, t: 102, thread: 1, stack: 0, state: 2, n: 8 }
    );
    log.measured.profile(3, frames, stacks, samples);
    log.measured.profile(4, frames, stacks, samples);
    // Later ones refer to what was told.
    const later = sent<'samples'>({ ...sample, t: 103, thread: 1, stack: 1 });
    log.measured.profile(3, sent<'frames'>(), sent<'stacks'>(), later);
    log.seal(105);
    const framesOf = (worker: number, first: number): object[] => [
      {
        frame: first,
        function: `first of ${worker}`,
        file: 'given',
        line: 11
      },
      {
        frame: first + 1,
        function: `second of ${worker}`,
        file: `first of ${worker}`,
        line: 12
      }
    ];
    expect(tables.frames).toEqual([...framesOf(3, 0), ...framesOf(4, 2)]);
    expect(tables.stacks).toEqual([
      { stack: 0, parent: NONE_U32, frame: 1 },
      { stack: 1, parent: 0, frame: 0 },
      { stack: 2, parent: NONE_U32, frame: 3 },
      { stack: 3, parent: 2, frame: 2 }
    ]);
    const told = { ...sample, function: 'first of 3' };
    const toldBy4 = { ...sample, function: 'first of 4' };
    expect(tables.samples).toEqual([
      { ...told, second: 1, lane: 0, stack: 1 },
      { ...told, second: 2, lane: 1, stack: 0, state: 2, n: 8 },
      { ...toldBy4, second: 1, lane: 2, stack: 3 },
      { ...toldBy4, second: 2, lane: 3, stack: 2, state: 2, n: 8 },
      { ...told, second: 3, lane: 1, stack: 1 }
    ]);
  });

  it('is what went to disk and came back', () => {
    const row = { span: 2, function: OWN + 1 };
    log.measured.spilled(
      3,
      sent<'stored'>(
        { t: 101.5, ...row, kind: StoredKind.Spilled, change: 50 },
        { t: 102.5, ...row, kind: StoredKind.ReadBack, change: -20, span: 1 }
      )
    );
    log.seal(103);
    const written = { worker: 3, span: 2, function: 'second of 3' };
    expect(tables.stored).toEqual([
      { ...written, t: 1.5, kind: StoredKind.Spilled, change: 50 },
      { ...written, t: 2.5, kind: StoredKind.ReadBack, change: -20, span: 1 }
    ]);
  });

  it('is what came from others, by its first task if that is known', () => {
    const { facts, taskOf } = twoTasks();
    const row = { duration: 0.25, from: 4, bytes: 99, keys: 2, span: 1 };
    log.measured.transfers(
      3,
      sent<'transfers'>(
        { start: 101.5, ...row, firstTaskId: 71, status: 0, type: OWN + 1 },
        { start: 102.5, ...row, firstTaskId: 9, status: 1, type: NONE_U32 }
      ),
      taskOf,
      facts
    );
    log.seal(103);
    expect(tables.transfers).toEqual([
      {
        ...{ start: 1.5, to: 3, ...row, firstNode: 31, status: 0 },
        type: 'second of 3'
      },
      {
        ...{ start: 2.5, to: 3, ...row, firstNode: NONE_U32, status: 1 },
        type: undefined
      }
    ]);
  });

  it('is nothing without rows, nor of a worker that has left', () => {
    const { facts, taskOf } = twoTasks();
    const row = { span: 2, function: given };
    const fine = { t: 101, context: 0, activity: 0, unit: 0, value: 1 };
    log.workerLeft(102, 4, 'ended', facts);
    log.measured.fine(4, sent<'fine'>({ ...fine, ...row }));
    log.measured.profile(
      4,
      sent<'frames'>({ frame: 0, function: 0, file: 0, line: 1 }),
      sent<'stacks'>({ stack: 0, parent: NONE_U32, frame: 0 }),
      sent<'samples'>({ t: 101, thread: 0, ...row, stack: 0, state: 0, n: 1 })
    );
    log.measured.running(4, sent<'running'>(going()), taskOf, facts);
    log.measured.spilled(
      4,
      sent<'stored'>({ t: 1, ...row, kind: 2, change: 1 })
    );
    log.measured.memory(3, sent<'memory'>());
    log.measured.fine(3, sent<'fine'>());
    log.measured.running(3, sent<'running'>(), taskOf, facts);
    log.measured.transfers(3, sent<'transfers'>(), taskOf, facts);
    log.seal(103);
    expect(Object.keys(tables).sort()).toEqual([
      'capacity',
      'lanes',
      'names',
      'spans',
      'workers'
    ]);
  });
});

describe('what a worker says that runs', () => {
  it('stands in the log with its node, also of a task that was given up', () => {
    const { facts, taskOf } = twoTasks();
    giveUp(90);
    log.measured.running(
      4,
      sent<'running'>(
        going({ thread: 2, taskId: 71, span: 2 }),
        going({ thread: 0, taskId: 90, span: 1, started: 103.5 }),
        going({ thread: 1, taskId: 9 })
      ),
      taskOf,
      facts
    );
    log.seal(105);
    const row = { function: 'second of 4', span: 3, started: 2 };
    expect(tables.running).toEqual([
      { ...row, lane: 4, node: 31, span: 2 },
      { ...row, lane: 2, node: 35, span: 1, started: 3.5 },
      { ...row, lane: 3, node: NONE_U32 }
    ]);
  });

  it('is of its task as long as the scheduler knows that', () => {
    const { facts, taskOf } = twoTasks();
    for (const taskId of [70, 71]) {
      giveUp(taskId);
    }
    log.measured.running(
      4,
      sent<'running'>(
        going({ thread: 0, taskId: 70 }),
        going({ thread: 1, taskId: 71 })
      ),
      taskOf,
      facts
    );
    log.workerLeft(104, 4, 'ended', facts);
    log.seal(105);
    expect(tables.running).toMatchObject([{ node: 30 }, { node: 31 }]);
    expect(tables.runs).toMatchObject([
      { node: 30, attempt: 10, waitReady: 1 },
      { node: 31, attempt: 3, waitReady: 0.75 }
    ]);
  });

  it('is lost with its worker, as the next attempt of its task', () => {
    const { facts, taskOf } = twoTasks();
    giveUp(90);
    log.measured.running(
      4,
      sent<'running'>(
        going({ thread: 2, taskId: 71, runId: 6, span: 2 }),
        going({ thread: 1, taskId: 90, runId: 7, started: 103.5 })
      ),
      taskOf,
      facts
    );
    log.workerLeft(104, 4, 'ended', facts);
    log.seal(105);
    const lost = {
      status: RunStatus.Lost,
      function: 'second of 4',
      waitInputs: NaN,
      waitThread: NaN,
      cpu: NaN,
      nbytes: NaN
    };
    expect(tables.runs).toEqual([
      {
        ...lost,
        run: 7,
        node: 35,
        span: 3,
        lane: 3,
        attempt: 5,
        start: 3.5,
        duration: 0.5,
        waitReady: 3
      },
      {
        ...lost,
        run: 6,
        node: 31,
        span: 2,
        lane: 4,
        attempt: 3,
        start: 2,
        duration: 2,
        waitReady: 0.75
      }
    ]);
    // The scheduler's facts say so too, of the task that it knows and of no other.
    expect([...facts.attempts]).toEqual([9, 3]);
    expect([...facts.unfinishedSince]).toEqual([1, 4]);
  });

  it('is told to be given up, whether that or its start is heard of first', () => {
    const { facts, taskOf } = twoTasks();
    const tell = (...rows: ReturnType<typeof going>[]) =>
      log.measured.running(4, sent<'running'>(...rows), taskOf, facts);
    const first = going({ thread: 2, runId: 6 });
    const second = going({ thread: 0, taskId: 71, runId: 7, started: 103.5 });
    tell(first);
    log.measured.givenUp(4, 6, 2.5);
    log.measured.givenUp(4, 7, 3);
    // Of workers that have left, and of runs that were not begun, nothing is to be said.
    log.measured.givenUp(9, 8, 3.25);
    tell(second, going({ thread: 1, taskId: 71, runId: 9 }));
    // It has left its thread to others, and is drawn beside it.
    tell({ ...first, thread: 3 });
    log.seal(105);
    expect(tables.givenUp).toEqual([
      { lane: 4, started: 2, t: 2.5 },
      { lane: 2, started: 3.5, t: 3 },
      { lane: 5, started: 2, t: 2.5 }
    ]);
  });

  it('is cancelled, not lost, if it was given up before its worker ended', () => {
    const { facts, taskOf } = twoTasks();
    log.measured.running(
      4,
      sent<'running'>(
        going({ thread: 0, runId: 6 }),
        going({ thread: 1, taskId: 71, runId: 7 })
      ),
      taskOf,
      facts
    );
    log.measured.givenUp(4, 6, 2.5);
    const lost = log.workerLeft(104, 4, 'restarted', facts);
    log.seal(105);
    expect(tables.runs).toMatchObject([
      { run: 6, status: RunStatus.Cancelled },
      { run: 7, status: RunStatus.Lost }
    ]);
    expect([...lost]).toEqual([31]);
  });

  it('is no attempt of the task that has the number of a forgotten one', () => {
    const { facts, taskOf } = twoTasks();
    log.measured.running(
      4,
      sent<'running'>(going({ taskId: 71, started: 106 })),
      taskOf,
      facts
    );
    facts.node[idOf<DenseTaskId>(1)] = 99;
    // The worker's clock was ahead: nothing takes less than no time.
    log.workerLeft(104, 4, 'ended', facts);
    log.seal(105);
    expect(tables.runs).toMatchObject([{ node: 31, start: 6, duration: 0 }]);
    expect([...facts.attempts]).toEqual([9, 2]);
    expect([...facts.unfinishedSince]).toEqual([1, 1.25]);
  });
});

/** The scheduler has given up a task of node 35 and span 1, unfinished since 0.5 s, after four attempts. */
function giveUp(taskId: number): void {
  log.givenUp.keep(idOf<OuterTaskId>(taskId), {
    node: 35,
    functionId: given,
    span: idOf(1),
    unfinishedSince: 0.5,
    attempts: 4
  });
}

/** Tasks 70 and 71 as a worker names them. */
function twoTasks(): {
  facts: TaskFacts;
  taskOf: (taskId: OuterTaskId) => DenseTaskId;
} {
  return {
    facts: {
      node: Uint32Array.of(30, 31),
      functionId: Uint32Array.of(given, given),
      span: spanIds(1, 2),
      unfinishedSince: Float64Array.of(1, 1.25),
      attempts: Uint8Array.of(9, 2)
    },
    taskOf: taskId => idOf(taskId < 80 && taskId >= 70 ? taskId - 70 : -1)
  };
}

/** A row of `running`: on thread 0 of span 3, since 102 s. */
function going(
  row: Partial<
    Record<Exclude<keyof MeasuredTable<'running'>, 'rows'>, number>
  > = {}
): Record<Exclude<keyof MeasuredTable<'running'>, 'rows'>, number> {
  return {
    thread: 0,
    taskId: 70,
    runId: 5,
    function: OWN + 1,
    span: 3,
    started: 102,
    ...row
  };
}
