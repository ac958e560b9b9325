import { arrayOf } from '../../base/typed-arrays';
import {
  DEFAULT_SPAN,
  type DenseTaskId,
  type OuterTaskId
} from '../../records/ids';
import { denseIds, idOf, spanIds } from '../../testing/ids';
import {
  CapacityState,
  RunStatus,
  StoredKind
} from '../../records/enumerations';
import { decodeBlock, type Block } from '../../records/block';
import type { TableName } from '../../records/tables';
import { EmbeddedClusterLog, type MeasuredTable, type TaskFacts } from '..';
import type { FinishedTables } from '../embedded-cluster';

const START = 100;

/** A log, and the blocks that it has sealed. */
function newLog(): {
  log: EmbeddedClusterLog;
  block<T extends TableName>(table: T): Block<T>;
} {
  const blocks: Block[] = [];
  const log = new EmbeddedClusterLog(START, ({ bytes }) =>
    blocks.push(decodeBlock(bytes))
  );
  return {
    log,
    block: <T extends TableName>(table: T) => {
      const found = blocks.find(
        (each): each is Block<T> => each.table === table
      );
      if (found === undefined) {
        throw new Error(`No block of ${table}.`);
      }
      return found;
    }
  };
}

function join(log: EmbeddedClusterLog, worker: number, threads: number): void {
  log.workerJoined(101, {
    worker,
    pid: 1,
    threads,
    memoryLimit: 0,
    name: `worker-${worker}`,
    address: 'unix:/w',
    host: 'h'
  });
}

type Run = {
  readonly runId: number;
  readonly taskId?: number;
  readonly status?: number;
  readonly thread?: number;
  readonly start?: number;
  readonly duration?: number;
  readonly waitThread?: number;
};

/** Runs without parts. */
function runsOf(runs: readonly Run[]): FinishedTables {
  const column = (value: (run: Run) => number): number[] => runs.map(value);
  const none = new Float64Array(0);
  return {
    runs: {
      rows: runs.length,
      taskId: arrayOf(
        Uint32Array,
        runs.map(run => idOf<OuterTaskId>(run.taskId ?? 0))
      ),
      runId: Uint32Array.from(column(run => run.runId)),
      status: Uint8Array.from(column(run => run.status ?? 0)),
      thread: Uint16Array.from(column(run => run.thread ?? 0)),
      start: Float64Array.from(column(run => run.start ?? 104)),
      duration: Float64Array.from(column(run => run.duration ?? 1)),
      cpu: Float64Array.from(column(() => 0)),
      waitInputs: Float32Array.from(column(run => run.waitThread ?? 0)),
      waitThread: Float32Array.from(column(run => run.waitThread ?? 0)),
      nbytes: Float64Array.from(column(() => 0)),
      inlineStart: new Uint32Array(1),
      inlineLength: new Uint32Array(1),
      firstPart: new Uint32Array(runs.length),
      type: new Uint32Array(runs.length)
    },
    parts: {
      rows: 0,
      kind: new Uint8Array(0),
      function: new Uint32Array(0),
      span: spanIds(),
      offset: none,
      duration: none,
      cpu: none,
      coreWait: new Float32Array(0),
      bytes: none,
      from: new Uint16Array(0),
      held: new Uint8Array(0)
    }
  };
}

/** What is known of task 0. */
function oneTask(): TaskFacts {
  return {
    node: Uint32Array.of(3),
    functionId: Uint32Array.of(1),
    span: spanIds(2),
    unfinishedSince: Float64Array.of(1),
    attempts: new Uint8Array(1)
  };
}

const goneTask = {
  node: 0,
  functionId: 1,
  span: DEFAULT_SPAN,
  unfinishedSince: 0,
  attempts: 0
};

/** The worker link's rows of what runs. */
function running(
  rows: readonly Readonly<
    Record<'thread' | 'taskId' | 'runId' | 'started', number>
  >[]
): MeasuredTable<'running'> {
  return {
    rows: rows.length,
    thread: rows.map(row => row.thread),
    taskId: rows.map(row => idOf(row.taskId)),
    runId: rows.map(row => row.runId),
    function: rows.map(() => 1),
    span: rows.map(() => idOf(2)),
    started: rows.map(row => row.started)
  };
}

describe('the log of an embedded cluster', () => {
  it('counts time from the start, threads as lanes, tasks as nodes', () => {
    const { log, block } = newLog();
    join(log, 0, 2);
    join(log, 5, 2);
    const inc = log.names.id('inc');
    log.node(102, inc, inc, idOf(3), 1, Buffer.from('-1'));
    const node = log.node(102, inc, inc, idOf(3), 1, Buffer.from('-2'));
    log.edge(0);
    const one = Float64Array.of(1, 1);
    const tables: FinishedTables = {
      runs: {
        rows: 2,
        taskId: arrayOf(Uint32Array, [1, 40].map(idOf<OuterTaskId>)),
        runId: Uint32Array.of(8, 9),
        status: Uint8Array.of(0, 1),
        thread: Uint16Array.of(1, 0),
        start: Float64Array.of(104, 105),
        duration: one,
        cpu: one,
        waitInputs: Float32Array.of(0.25, 0),
        waitThread: Float32Array.of(0.5, 0),
        nbytes: one,
        inlineStart: new Uint32Array(1),
        inlineLength: new Uint32Array(1),
        firstPart: Uint32Array.of(0, 1),
        type: new Uint32Array(2)
      },
      parts: {
        rows: 1,
        kind: Uint8Array.of(1),
        function: Uint32Array.of(0x80000001),
        span: spanIds(3),
        offset: one,
        duration: one,
        cpu: one,
        coreWait: Float32Array.of(0),
        bytes: one,
        from: Uint16Array.of(0),
        held: Uint8Array.of(1)
      }
    };
    log.workerNames(5, 0x80000000, ['a', 'fetched']);
    const facts: TaskFacts = {
      node: Uint32Array.of(7, node),
      functionId: Uint32Array.of(0, inc),
      span: spanIds(0, 3),
      unfinishedSince: Float64Array.of(0, 2),
      attempts: new Uint8Array(2)
    };
    // The second run's task is not known any more, and was not given up either.
    log.finished(5, tables, denseIds(1, -1), facts);
    log.seal(106);
    const runs = block('runs');
    expect(runs.rows).toBe(1);
    expect(runs.columns.lane[0]).toBe(3);
    expect(runs.columns.node[0]).toBe(1);
    expect(runs.columns.start[0]).toBe(4);
    // 4 s start − 0.75 s waits − submitted at 2 s
    expect(runs.columns.waitReady[0]).toBe(1.25);
    expect(facts.attempts[idOf<DenseTaskId>(1)]).toBe(1);
    expect(block('gaps').columns.rows[0]).toBe(1);
    expect(block('parts').columns.run[0]).toBe(8);
    expect(block('parts').columns.function[0]).toBe(log.names.id('fetched'));
    expect([...block('lanes').columns.worker]).toEqual([0, 0, 5, 5]);
    expect([...block('nodes').columns.firstEdge]).toEqual([0, 0]);
    expect([...block('edges').columns.node]).toEqual([0]);
  });

  it('tells apart what raised, what lacked inputs, and what never began', () => {
    const { log, block } = newLog();
    join(log, 0, 1);
    log.finished(
      0,
      runsOf([
        { runId: 1, status: 0 },
        { runId: 2, status: 1 },
        { runId: 3, status: 2, duration: 0, waitThread: NaN },
        { runId: 4, status: 1, duration: 0, waitThread: NaN }
      ]),
      denseIds(0, 0, 0, 0),
      oneTask()
    );
    log.seal(106);
    expect([...block('runs').columns.status]).toEqual([0, 1, 3, 1]);
    // A run that was given back does not count, and is no attempt.
    expect([...block('runs').columns.attempt]).toEqual([1, 2, 3, 3]);
  });

  it('has what runs measured themselves, of those in vain all but seconds', () => {
    const { log, block } = newLog();
    join(log, 0, 1);
    log.workerNames(0, 0x80000000, ['decode', 'rows', 'seconds', 'count']);
    log.givenUp.keep(idOf(77), goneTask);
    log.measured.givenUp(0, 3, 1);
    const [decode, rows, seconds, count] = [0, 1, 2, 3].map(
      i => 0x80000000 + i
    );
    const runs = runsOf([
      { runId: 1 },
      // Nobody knows it any more.
      { runId: 2, taskId: 99 },
      { runId: 3, taskId: 77 },
      { runId: 4 }
    ]);
    log.finished(
      0,
      {
        ...runs,
        meters: {
          rows: 6,
          row: Uint32Array.of(0, 0, 1, 2, 2, 3),
          function: Uint32Array.of(4, 5, 4, 4, 4, 4),
          span: spanIds(2, 3, 2, 2, 2, 2),
          label: Uint32Array.from([decode, rows, decode, decode, rows, decode]),
          unit: Uint32Array.from([
            ...[seconds, count, seconds],
            ...[seconds, count, seconds]
          ]),
          value: Float64Array.of(0.5, 7, 1, 2, 8, 3),
          cpu: Float64Array.of(0.25, NaN, 0, 0, NaN, 1)
        }
      },
      denseIds(0, -1, -1, 0),
      oneTask()
    );
    log.seal(106);
    expect([...block('runs').columns.status]).toEqual([
      RunStatus.Ok,
      RunStatus.Cancelled,
      RunStatus.Ok
    ]);
    const { columns } = block('meters');
    expect([...columns.run]).toEqual([1, 1, 3, 4]);
    expect([...columns.function]).toEqual([4, 5, 4, 4]);
    expect([...columns.span]).toEqual([2, 3, 2, 2]);
    expect([...columns.label]).toEqual(
      ['decode', 'rows', 'rows', 'decode'].map(text => log.names.id(text))
    );
    expect([...columns.unit]).toEqual(
      ['seconds', 'count', 'count', 'seconds'].map(text => log.names.id(text))
    );
    expect([...columns.value]).toEqual([0.5, 7, 8, 3]);
    expect([...columns.cpu]).toEqual([0.25, NaN, NaN, 1]);
  });

  it('has a row of a run whose task was given up and forgotten', () => {
    const { log, block } = newLog();
    join(log, 0, 1);
    log.givenUp.keep(idOf(77), {
      node: 5,
      functionId: 6,
      span: idOf(7),
      unfinishedSince: 1,
      attempts: 2
    });
    const runs = runsOf([{ runId: 9, taskId: 77, start: 103, duration: 0.5 }]);
    log.finished(0, runs, denseIds(-1), oneTask());
    log.seal(106);
    const { columns, rows } = block('runs');
    expect(rows).toBe(1);
    expect([
      columns.node[0],
      columns.function[0],
      columns.span[0],
      columns.attempt[0],
      columns.duration[0],
      columns.waitReady[0]
    ]).toEqual([5, 6, 7, 3, 0.5, 2]);
    expect(() => block('gaps')).toThrow('No block of gaps');
  });

  it('closes what ran when a worker leaves, and only that', () => {
    const { log, block } = newLog();
    join(log, 0, 3);
    const facts = oneTask();
    const taskOf = (taskId: number): DenseTaskId =>
      idOf(taskId === 70 ? 0 : -1);
    log.givenUp.keep(idOf(71), { ...goneTask, node: 8 });
    log.measured.running(
      0,
      running([
        { thread: 0, taskId: 70, runId: 1, started: 102 },
        { thread: 1, taskId: 71, runId: 2, started: 102.5 },
        { thread: 2, taskId: 70, runId: 3, started: 102 },
        { thread: 2, taskId: 0xffffffff, runId: 0, started: 102.5 }
      ]),
      taskOf,
      facts
    );
    // The first has ended; what the worker says of it now comes late.
    log.finished(
      0,
      runsOf([{ runId: 1, taskId: 70, start: 102, duration: 1 }]),
      denseIds(0),
      facts
    );
    log.measured.running(
      0,
      running([{ thread: 0, taskId: 70, runId: 1, started: 102 }]),
      taskOf,
      facts
    );
    log.workerLeft(104, 0, 'was ended by SIGKILL', facts);
    log.seal(105);
    const { columns } = block('runs');
    expect([...columns.run]).toEqual([1, 2]);
    expect([...columns.status]).toEqual([0, 2]);
    expect([columns.start[1], columns.duration[1]]).toEqual([2.5, 1.5]);
    expect([columns.lane[1], columns.node[1]]).toEqual([1, 8]);
    expect(columns.cpu[1]).toBeNaN();
  });

  it('counts a lost run among the attempts of its task', () => {
    const { log, block } = newLog();
    join(log, 0, 1);
    join(log, 1, 1);
    const facts = oneTask();
    log.measured.running(
      0,
      running([{ thread: 0, taskId: 70, runId: 1, started: 102 }]),
      () => idOf(0),
      facts
    );
    log.workerLeft(104, 0, 'was ended by SIGKILL', facts);
    log.finished(
      1,
      runsOf([{ runId: 2, taskId: 70, start: 105, duration: 1 }]),
      denseIds(0),
      facts
    );
    log.seal(106);
    const { columns } = block('runs');
    expect([...columns.run]).toEqual([1, 2]);
    expect([...columns.attempt]).toEqual([1, 2]);
  });

  it('counts what a run waited from when the task was unfinished again', () => {
    const { log, block } = newLog();
    join(log, 0, 1);
    const facts = oneTask();
    const run = (runId: number, start: number, status = 0): void =>
      log.finished(
        0,
        runsOf([{ runId, start, duration: 0.5, status }]),
        denseIds(0),
        facts
      );
    // Submitted at 1 s; it failed and ran again at once, and is done at 4 s.
    run(1, 102, 1);
    run(2, 103.5);
    // Its result was lost at 20 s, as the scheduler's state says; that run ended with its worker.
    facts.unfinishedSince[idOf<DenseTaskId>(0)] = 20;
    log.measured.running(
      0,
      running([{ thread: 0, taskId: 70, runId: 3, started: 122 }]),
      () => idOf(0),
      facts
    );
    log.workerLeft(123, 0, 'was ended by SIGKILL', facts);
    join(log, 1, 1);
    log.finished(
      1,
      runsOf([{ runId: 4, start: 126, duration: 0.5 }]),
      denseIds(0),
      facts
    );
    log.seal(127);
    const { columns } = block('runs');
    expect([...columns.start]).toEqual([2, 3.5, 22, 26]);
    expect([...columns.waitReady]).toEqual([1, 1, 2, 3]);
  });

  it('has no run lost that was reported, however late it is still told', () => {
    const { log, block } = newLog();
    join(log, 0, 1);
    const facts = oneTask();
    log.finished(
      0,
      runsOf([{ runId: 1, taskId: 70, start: 102, duration: 1 }]),
      denseIds(0),
      facts
    );
    // Its result is being written to disk: told by a later start than the one reported.
    log.measured.running(
      0,
      running([{ thread: 0, taskId: 70, runId: 1, started: 102.5 }]),
      () => idOf(0),
      facts
    );
    log.workerLeft(104, 0, 'was ended by SIGKILL', facts);
    log.seal(105);
    const { columns } = block('runs');
    expect([...columns.run]).toEqual([1]);
    expect([...columns.status]).toEqual([0]);
  });

  it('gives the stacks and frames of different workers different ids', () => {
    const { log, block } = newLog();
    join(log, 0, 1);
    join(log, 1, 1);
    for (const worker of [0, 1]) {
      log.workerNames(worker, 0x80000000, ['f', 'file.py']);
      log.measured.profile(
        worker,
        {
          rows: 1,
          frame: [0],
          function: [0x80000000],
          file: [0x80000001],
          line: [3]
        },
        { rows: 1, stack: [0], parent: [0xffffffff], frame: [0] },
        {
          rows: 1,
          t: [103.7],
          thread: [0],
          span: [idOf(2)],
          function: [0x80000000],
          stack: [0],
          state: [0],
          n: [4]
        }
      );
    }
    log.seal(104);
    expect([...block('frames').columns.frame]).toEqual([0, 1]);
    expect([...block('stacks').columns.stack]).toEqual([0, 1]);
    expect([...block('stacks').columns.parent]).toEqual([
      0xffffffff, 0xffffffff
    ]);
    expect([...block('samples').columns.stack]).toEqual([0, 1]);
    expect([...block('samples').columns.lane]).toEqual([0, 1]);
    expect([...block('samples').columns.second]).toEqual([3, 3]);
  });

  it('adds up what is stored and released until it writes', () => {
    const { log, block } = newLog();
    const facts: TaskFacts = {
      node: new Uint32Array(2),
      functionId: Uint32Array.of(1, 2),
      span: spanIds(4, 4),
      unfinishedSince: new Float64Array(2),
      attempts: new Uint8Array(2)
    };
    log.stored(0, idOf(0), facts, StoredKind.Stored, 100);
    log.stored(0, idOf(0), facts, StoredKind.Stored, 50);
    log.stored(0, idOf(1), facts, StoredKind.Stored, 7);
    log.stored(0, idOf(0), facts, StoredKind.Released, -150);
    log.seal(101);
    const { columns, rows } = block('stored');
    expect(rows).toBe(3);
    expect([...columns.change]).toEqual([150, 7, -150]);
    expect([...columns.kind]).toEqual([0, 0, 1]);
  });

  it('says when workers came, paused and went', () => {
    const { log, block } = newLog();
    join(log, 0, 2);
    log.capacity(102, 0, CapacityState.Paused);
    log.workerLeft(103, 0, 'was ended by SIGKILL', oneTask());
    log.workerLeft(104, 0, 'twice', oneTask());
    log.seal(105);
    expect([...block('capacity').columns.state]).toEqual([0, 1, 3]);
    expect([...block('capacity').columns.threads]).toEqual([2, 2, 0]);
    expect([...block('workers').columns.left]).toEqual([NaN, 3]);
  });

  it('begins with the default span, and writes names before they are used', () => {
    const { log, block } = newLog();
    log.spans(0, [
      {
        id: idOf(1),
        parent: DEFAULT_SPAN,
        tag: 'load',
        opened: 101,
        closed: null,
        origin: 0
      }
    ]);
    log.seal(102);
    expect([...block('spans').columns.id]).toEqual([0, 1]);
    expect(block('names').seq).toBeLessThan(block('spans').seq);
    expect(log.commit(103)).toBeNull();
  });
});
