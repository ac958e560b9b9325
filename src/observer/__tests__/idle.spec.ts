import { CapacityState } from '../../records/enumerations';
import type { LaneIndex } from '../../records/ids';
import { idOf } from '../../testing/ids';
import { rowsToBlock } from '../../testing/rows-to-block';
import { drawRuns } from '../../testing/run-from-text';
import type { Filter } from '../../wire/panel-link';
import { ingestBlock } from '../store/ingest';
import { ask } from './ask';

function idleOf(
  drawing: string,
  tasks: NonNullable<Parameters<typeof drawRuns>[1]>['tasks']
): Record<string, number> {
  const result = ask(drawRuns(drawing, { tasks: tasks ?? {} }), 'fine-metrics');
  return Object.fromEntries(
    result.idle.map(({ cause, seconds }) => [cause, Number(seconds.toFixed(6))])
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
