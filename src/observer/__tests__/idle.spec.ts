import { CapacityState, PartKind } from '../../records/enumerations';
import type { LaneId, LaneIndex, SpanId } from '../../records/ids';
import { idOf } from '../../testing/ids';
import { rowsToBlock, type Row } from '../../testing/rows-to-block';
import { drawRuns } from '../../testing/run-from-text';
import type { Filter } from '../../wire/panel-link';
import { ingestBlock } from '../store/ingest';
import { complete } from '../folds/context';
import { accountIdle, type IdleAccount } from '../folds/idle';
import { IntervalUnion } from '../store/interval-union';
import { LogStore } from '../store/log-store';
import { ask, contextOf } from './ask';

function idleOf(
  drawing: string,
  tasks: NonNullable<Parameters<typeof drawRuns>[1]>['tasks']
): Record<string, number> {
  const result = ask(drawRuns(drawing, { tasks: tasks ?? {} }), 'fine-metrics');
  return Object.fromEntries(
    result.idle.map(({ cause, seconds }) => [cause, Number(seconds.toFixed(6))])
  );
}

/** A log of such rows, on one worker with a thread or more. */
function logOf(
  threads: number,
  tables: Partial<Record<'spans' | 'parts' | 'runs' | 'running', Row[]>>
): LogStore {
  const log = new LogStore('rows');
  const lanes = Array.from({ length: threads }, (_, thread) => ({
    lane: thread,
    worker: 0,
    thread
  }));
  const blocks = [
    rowsToBlock(1, 'workers', [{ worker: 0, threads, left: NaN }]),
    rowsToBlock(2, 'lanes', lanes),
    rowsToBlock(3, 'spans', tables.spans ?? []),
    rowsToBlock(4, 'parts', tables.parts ?? []),
    rowsToBlock(5, 'runs', tables.runs ?? []),
    rowsToBlock(6, 'running', tables.running ?? [])
  ];
  blocks.forEach(block => ingestBlock(log, block));
  return log;
}

function accountOf(
  log: LogStore,
  to: number,
  { perSpan = false, filter = {} as Filter } = {}
): IdleAccount {
  return complete(
    accountIdle({
      context: contextOf(log, { filter }),
      range: { from: 0, to },
      perSpan
    })
  );
}

describe('idle', () => {
  it('counts gaps of lanes while some task is pending', () => {
    const log = drawRuns(`
      0/0  aaaa..bb..
      0/1  aaaa....cc
    `);
    const result = ask(log, 'summary');
    // Nothing is pending from 4 to 6: that time is neither idle nor capacity. b waits for nobody.
    expect(result.wallSeconds).toBe(8);
    expect(result.capacitySeconds).toBe(16);
    expect(result.executeSeconds).toBe(12);
    expect(result.idleSeconds).toBe(4);
  });

  it('knows why from what the next run waited for', () => {
    expect(
      idleOf(
        `
        0/0  aaaa........bb
        0/1  aaaaaaaaaaaa..
      `,
        // b: submitted at 0, runnable at 6, its inputs there at 10, started at 12.
        {
          b: {
            waitReady: 6,
            waitInputs: 4,
            waitThread: 2,
            parts: [{ kind: 1, held: false, offset: -5, duration: 3 }]
          }
        }
      )
    ).toEqual({
      // 4 … 6 not runnable; and the other lane from 12 to 14.
      'nothing-runnable': 2 + 2,
      // 6 … 7 and 10 … 12 somebody had to act; 7 … 10 the inputs came.
      scheduler: 1 + 2,
      'inputs-in-flight': 3
    });
  });

  it('names what most of it waited for, not what ran for the longest', () => {
    const log = drawRuns(
      `
      0/0  aaaaaaaaaaaa....dd
      0/1  bbbbbbbbbbbb....
      0/2  ............cccc
      `,
      {
        tasks: {
          a: { function: 'load' },
          b: { function: 'load' },
          c: { function: 'slow-sum', waitReady: 12 },
          d: { function: 'store', waitReady: 4 }
        }
      }
    );
    const { idle, waitedFor } = ask(log, 'fine-metrics');
    // 0/2 from 0 to 12; 0/0 and 0/1 while c runs; 0/1 and 0/2 while d runs.
    expect(idle).toEqual([{ cause: 'nothing-runnable', seconds: 12 + 8 + 4 }]);
    expect(waitedFor).toEqual({
      function: 'load',
      seconds: 12,
      isLeast: false
    });
    expect(
      ask(log, 'fine-metrics', { time: { from: 12, to: 18 } }).waitedFor
    ).toEqual({ function: 'slow-sum', seconds: 8, isLeast: false });
    expect(
      ask(log, 'fine-metrics', { filter: { functions: ['load'] } })
    ).not.toHaveProperty('waitedFor');
  });

  it('names a task that still runs, and none that has left its thread', () => {
    const log = logOf(3, {
      runs: [0, 1].map(lane => ({ run: lane, lane, start: 0, duration: 2 })),
      running: [{ lane: 2, function: 5, started: 1 }]
    });
    const at = () =>
      ask(log, 'fine-metrics', { now: 11 }).waitedFor?.seconds ?? 0;
    expect(at()).toBe(18);
    log.besideLanes[idOf<LaneId>(2)] = 1;
    // While the others ran its lane had nothing, for 1 of 20 seconds.
    expect(at()).toBe(0);
  });

  it('says that it is a lower bound where very many stretches were', () => {
    const gaps = 9_000;
    // On lane 0 a run of the whole time; on lane 1 one of half a second in each second.
    const log = logOf(2, {
      runs: [
        { run: 1, lane: 0, start: 0, duration: gaps },
        ...Array.from({ length: gaps }, (_, i) => ({
          run: 2 + i,
          lane: 1,
          start: i,
          duration: i < 10 ? 0.25 : 0.5,
          waitReady: 1,
          waitInputs: 0,
          waitThread: 0
        }))
      ]
    });
    const { waitedFor, idle } = ask(log, 'fine-metrics');
    expect(idle[0]!.seconds).toBeCloseTo(gaps / 2 + 2.5, 6);
    expect(waitedFor).toMatchObject({ isLeast: true });
    expect(waitedFor!.seconds).toBeGreaterThanOrEqual(4096 * 0.5);
    expect(waitedFor!.seconds).toBeLessThan(gaps / 2);
  });

  it('tells when a task waited for a thread elsewhere', () => {
    expect(
      idleOf(
        `
        0/0  aaaaaabb
        1/0  cc......
      `,
        { b: { waitThread: 4 } }
      )
    ).toEqual({ 'held-elsewhere': 4, 'nothing-runnable': 2 });
  });

  it('tells when a task waited for a worker that was not there, and when meanwhile another did for a thread', () => {
    const log = drawRuns('0/0 aaaa......bb\n1/0 ccccccdddddd', {
      tasks: { b: { waitReady: 4, waitThread: 2 }, d: { waitThread: 1 } }
    });
    const changes = [
      { t: 1, waits: 1 },
      { t: 7, waits: 0 },
      { t: 11, waits: 1 }
    ];
    ingestBlock(log, rowsToBlock(log.seq + 1, 'unplaced', changes));
    const { idle } = ask(log, 'fine-metrics');
    expect(
      Object.fromEntries(idle.map(({ cause, seconds }) => [cause, seconds]))
    ).toEqual({
      'no-worker': 2,
      'held-elsewhere': 1,
      'nothing-runnable': 1,
      scheduler: 2
    });
  });

  it('does not know the cause where waits are not measured', () => {
    expect(
      idleOf(
        `
        0/0  aa..bb
        0/1  aaaaaa
      `,
        { b: { waitReady: NaN, waitInputs: NaN, waitThread: NaN } }
      )
    ).toEqual({ unknown: 2 });
  });

  it('stays right when runs of a lane come out of order or overlap', () => {
    const inOrder = drawRuns('0/0 aa..bb\n1/0 cccccc');
    const log = drawRuns('0/0 aa..bb\n1/0 cccccc');
    log.laneDisorder[idOf<LaneIndex>(0)] = true;
    expect(ask(log, 'summary').idleSeconds).toBe(2);
    expect(ask(log, 'summary')).toEqual(ask(inOrder, 'summary'));
  });

  it('is there as often as some task runs elsewhere', () => {
    const log = drawRuns(`
      0/0  aa........a
      1/0  bb.b.b.b.bb
    `);
    // Between two runs of one lane the other ran thrice.
    expect(ask(log, 'summary')).toMatchObject({
      wallSeconds: 7,
      capacitySeconds: 14,
      executeSeconds: 10,
      idleSeconds: 4
    });
  });

  it('is of threads that never ran anything, of each worker', () => {
    const log = drawRuns('0/0 aaaa');
    const row = { joined: 0, left: NaN };
    const rows = [
      { ...row, worker: 1, threads: 2 },
      { ...row, worker: 2, threads: 3 }
    ];
    ingestBlock(log, rowsToBlock(50, 'workers', rows));
    expect(ask(log, 'summary').idleSeconds).toBe((2 + 3) * 4);
  });

  it('is of the lanes of the workers that are chosen, and adds up over them', () => {
    const log = drawRuns(
      `
      0/0  aaaa....
      1/0  ..bb..bb
      1/1  ....cc..
    `,
      { tasks: { a: { span: 'x' }, b: { span: 'y' }, c: { span: 'y' } } }
    );
    const of = (filter: Filter) => {
      const result = ask(log, 'fine-metrics', { filter });
      const seconds = (rows: readonly { readonly seconds: number }[]) =>
        rows.reduce((sum, row) => sum + row.seconds, 0);
      return {
        wall: result.wallSeconds,
        capacity: result.capacitySeconds,
        execute: result.attributedNanoseconds / 1e9,
        idle: seconds(result.idle),
        others: result.otherSpansSeconds + result.otherIdleSeconds
      };
    };
    expect(of({ workers: [0] })).toEqual({
      wall: 8,
      capacity: 8,
      execute: 4,
      idle: 4,
      others: 0
    });
    expect(of({ workers: [1] })).toEqual({
      wall: 8,
      capacity: 16,
      execute: 6,
      idle: 10,
      others: 0
    });
    for (const workers of [[0], [1], [0, 1]]) {
      const whole = of({ workers });
      const x = of({ workers, spans: { any: [{ tag: 'x' }] } });
      const y = of({ workers, spans: { any: [{ tag: 'y' }] } });
      expect(x.idle + y.idle).toBeCloseTo(whole.idle, 9);
      expect(x.execute + y.execute).toBeCloseTo(whole.execute, 9);
      expect(x.execute + x.idle + x.others).toBeCloseTo(x.capacity, 9);
    }
  });

  it('counts a worker from its joining until it leaves, its successor from there', () => {
    const log = drawRuns(`
      0/0  aaaa........
      1/0  bbbbbbbbbbbb
      2/0  ......cccc..
    `);
    const row = { threads: 1, memoryLimit: 8, left: NaN };
    const rows = [
      { ...row, worker: 0, joined: 0, left: 4 },
      { ...row, worker: 1, joined: 0 },
      { ...row, worker: 2, joined: 5 }
    ];
    ingestBlock(log, rowsToBlock(50, 'workers', rows));
    const result = ask(log, 'fine-metrics');
    // 4 of the first, 12, and 7 of the one that came at 5.
    expect(result.capacitySeconds).toBe(4 + 12 + 7);
    expect(result.idle.reduce((sum, { seconds }) => sum + seconds, 0)).toBe(3);
    const { workers } = ask(log, 'task-stream');
    expect(workers.map(({ busy, capacity }) => [busy, capacity])).toEqual([
      [4, 4],
      [12, 12],
      [4, 7]
    ]);
    expect(ask(log, 'memory').limits?.memoryLimit).toBe(16);
    const of1 = ask(log, 'memory', { filter: { workers: [1] } });
    expect(of1.limits?.memoryLimit).toBe(8);
  });

  it('knows time in which a worker was stopped from time in which its memory was full', () => {
    const log = drawRuns(`
      0/0  aaaaaaaaaaaa
      1/0  bb.........b
    `);
    const { Running, Paused, Stopped } = CapacityState;
    const steps = [
      [0, Running],
      [3, Paused],
      [5, Stopped],
      [8, Paused],
      [9, Running]
    ] as const;
    ingestBlock(
      log,
      rowsToBlock(
        50,
        'capacity',
        steps.map(([t, state]) => ({ t, worker: 1, threads: 1, state }))
      )
    );
    const { idle } = ask(log, 'fine-metrics');
    const seconds = Object.fromEntries(
      idle.map(({ cause, seconds }) => [cause, seconds])
    );
    expect(seconds).toMatchObject({ paused: 3, stopped: 3 });
    expect(idle.reduce((sum, { seconds }) => sum + seconds, 0)).toBe(9);
  });

  it('shares idle time among spans by who had unfinished tasks', () => {
    const log = drawRuns(
      `
      0/0  aaaa....
      1/0  ....bbbb
    `,
      { tasks: { a: { span: 'x' }, b: { span: 'y', waitReady: 4 } } }
    );
    const { rows } = ask(log, 'spans');
    const idle = Object.fromEntries(
      rows.map(({ tag, idleSeconds }) => [tag, idleSeconds])
    );
    // 0 … 4: lane 1 idle, x and y pending; 4 … 8: lane 0 idle, only y pending.
    expect(idle['x']).toBeCloseTo(2, 1);
    expect(idle['y']).toBeCloseTo(6, 1);
    expect(idle['x']! + idle['y']!).toBeCloseTo(8, 6);
  });
});

describe('the account of idle time', () => {
  const sum = (seconds: readonly number[]): number =>
    seconds.reduce((total, each) => total + each, 0);
  const times = (count: number, row: (i: number) => Row): Row[] =>
    Array.from({ length: count }, (_, i) => row(i));

  it('ends a gap where a run begins of which no end is known', () => {
    const log = logOf(2, {
      runs: [
        { run: 1, lane: 1, start: 0, duration: 10, waitThread: NaN },
        // It waited for a thread from 2 on.
        { run: 2, start: 4, duration: NaN, waitThread: 2 },
        { run: 3, start: 8, duration: 2, waitInputs: NaN, waitThread: NaN }
      ]
    });
    const { idle, executeSeconds } = accountOf(log, 10);
    const [nothing, , held, , , , scheduler, unknown] = idle;
    expect([nothing! + held!, scheduler, unknown]).toEqual([2, 2, 4]);
    expect(executeSeconds).toBe(12);
  });

  it('has nothing of a run that goes on and began after the range', () => {
    const log = logOf(1, {
      runs: [{ run: 1, start: 0, duration: 3 }],
      running: [{ lane: 0, node: 7, started: 6 }]
    });
    expect(accountOf(log, 2)).toMatchObject({ executeSeconds: 2 });
    expect(sum(accountOf(log, 5).idle)).toBe(0);
    // Not in the range before, and not kept from the last question.
    expect(accountOf(log, 7)).toMatchObject({
      wallSeconds: 4,
      executeSeconds: 4
    });
    expect(accountOf(log, 5)).toMatchObject({ wallSeconds: 3 });
  });

  it('counts what was told last of a run, and no run that never began', () => {
    const first = { run: 1, span: 1, start: 0, duration: 4 };
    const log = logOf(2, {
      runs: [
        first,
        { run: 2, lane: 1, span: 2, start: 0, duration: 8 },
        { ...first, start: 6, duration: 2 },
        { run: 3, span: 3, start: 3, duration: 0, waitThread: NaN }
      ]
    });
    const account = accountOf(log, 8, { perSpan: true });
    expect(account).toMatchObject({ executeSeconds: 10 });
    expect(sum(account.idle)).toBe(6);
    // The first is unfinished only where nothing is idle.
    expect([...account.idleOfSpan]).toEqual([
      [1, 0],
      [2, 6]
    ]);
  });

  it('is of nobody where it is of no length', () => {
    const log = logOf(2, {
      runs: [
        { run: 1, span: 1, start: 0, duration: 1 },
        { run: 2, span: 2, start: 7, duration: 1 }
      ]
    });
    const { idleOfSpan } = accountOf(log, 8, { perSpan: true });
    expect([...idleOfSpan.values()].map(Math.round)).toEqual([1, 1]);
  });

  it('divides by spans only if it is asked to', () => {
    const log = drawRuns('0/0 aa..\n0/1 bbbb', { tasks: { a: { span: 'x' } } });
    for (const filter of [{}, { functions: ['inc'] }]) {
      expect(accountOf(log, 4, { filter }).idleOfSpan.size).toBe(0);
    }
    expect(accountOf(log, 4, { perSpan: true }).idleOfSpan.size).toBe(2);
  });

  it('gives a fused task to the spans of what it computed, by seconds', () => {
    const part = { run: 9, kind: PartKind.Compute, held: 1 };
    const account = (parts: Row[]): Record<number, number> => {
      const log = logOf(2, {
        parts,
        runs: [{ run: 9, span: 5, start: 0, duration: 8, waitReady: NaN }]
      });
      const { idleOfSpan } = accountOf(log, 8, { perSpan: true });
      return Object.fromEntries(
        [...idleOfSpan].map(([span, seconds]) => [span, Math.round(seconds)])
      );
    };
    // Its only part is the first row of all.
    expect(account([{ ...part, span: 1, duration: 2 }])).toEqual({ 1: 8 });
    expect(
      account([
        { ...part, span: 1, duration: 1 },
        { ...part, span: 2, duration: 3 },
        { ...part, span: 3, duration: NaN },
        { ...part, span: 4, duration: 0 },
        { ...part, span: 6, duration: 4, kind: PartKind.Transfer }
      ])
    ).toEqual({ 1: 2, 2: 6 });
    expect(account([{ ...part, span: 1, duration: 0 }])).toEqual({ 5: 8 });
  });

  it('has fewer bins the more spans there are, and 64 at least', () => {
    const END = 1024;
    const binsOf = (spans: number): Record<'bySpan' | 'selected', number> => {
      const log = logOf(2, {
        spans: times(spans, i => ({ id: i + 1, closed: NaN })),
        runs: [
          { run: 1, span: 1, start: 0, duration: 0.5 },
          { run: 2, span: 2, function: 1, start: 0.5, duration: END - 0.5 }
        ]
      });
      // A second thread is there from 0.5 on, and idle.
      const steps = [
        { t: 0, worker: 0, threads: 1, state: CapacityState.Running },
        { t: 0.5, worker: 0, threads: 2, state: CapacityState.Running }
      ];
      ingestBlock(log, rowsToBlock(50, 'capacity', steps));
      ingestBlock(log, rowsToBlock(51, 'names', [{ id: 0, text: 'first' }]));
      const { idleOfSpan } = accountOf(log, END, { perSpan: true });
      const { selectedIdle } = accountOf(log, END, {
        filter: { functions: ['first'] }
      });
      // Of the first bin, half a second is the first run's, the rest is idle: it has (width - 0.5) * 0.5 / width.
      const bins = (seconds: number): number =>
        Math.round(END * (2 - 4 * seconds));
      return {
        bySpan: bins(idleOfSpan.get(idOf<SpanId>(1))!),
        selected: bins(sum(selectedIdle))
      };
    };
    for (const spans of [1, 1952, 1953, 2600, 31_249, 40_000]) {
      const most = Math.floor(2_000_000 / (spans + 1));
      expect(binsOf(spans)).toEqual({
        bySpan: Math.max(64, Math.min(1024, most)),
        selected: 1024
      });
    }
  });

  it('passes each active interval once, however many there are', () => {
    const COUNT = 300;
    const log = logOf(2, {
      runs: times(COUNT, i => ({
        run: i,
        lane: i % 2,
        start: 2 * i,
        duration: 1
      }))
    });
    expect(log.active.length).toBe(COUNT);
    const looks = [
      jest.spyOn(IntervalUnion.prototype, 'from'),
      jest.spyOn(IntervalUnion.prototype, 'to')
    ];
    expect(accountOf(log, 2 * COUNT).executeSeconds).toBe(COUNT);
    for (const { mock } of looks) {
      expect(mock.calls.length).toBeLessThan(20 * COUNT);
    }
  });
});
