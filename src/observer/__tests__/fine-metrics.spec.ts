import type { FineMetricsResult } from '../../wire/panel-link';
import { rowsToBlock } from '../../testing/rows-to-block';
import { drawRuns } from '../../testing/run-from-text';
import { ingestBlock } from '../store/ingest';
import type { LogStore } from '../store/log-store';
import { foldView } from '../folds/fold-view';
import { answer, ask, contextOf } from './ask';

/** Rows as workers write them, in the seconds of the run. */
function noteLockWaits(
  log: LogStore,
  estimates: readonly { function: string; seconds: readonly number[] }[]
): void {
  const texts = ['noncpu', 'seconds', 'gil', 'gil-error'];
  const names = texts.map((text, i) => ({ id: 9000 + i, text }));
  ingestBlock(log, rowsToBlock(60, 'names', names));
  const idOf = (text: string): number =>
    [...log.names].find(([, known]) => known === text)![0];
  const rows = estimates.flatMap(({ function: name, seconds }) =>
    seconds.map((value, i) => ({
      context: 9000,
      activity: 9002 + i,
      unit: 9001,
      function: idOf(name),
      value
    }))
  );
  ingestBlock(log, rowsToBlock(61, 'fine', rows));
}

describe('fine metrics', () => {
  const drawing = `
    0/0  aaaabbbbbb
    0/1  ..cccc....
  `;
  const tasks = {
    a: { function: 'load', span: 'x', cpu: 3 },
    b: {
      function: 'fit',
      span: 'y',
      parts: [
        { kind: 3, offset: 0, duration: 1 },
        { kind: 4, offset: 1, duration: 4, cpu: 3 },
        { kind: 1, offset: -1, duration: 2, held: false, bytes: 100 }
      ]
    },
    c: { function: 'load', span: 'x/z', cpu: 4, status: 1 }
  };

  it('divides the time of a run among its activities', () => {
    const result = ask(drawRuns(drawing, { tasks }), 'fine-metrics');
    const values = Object.fromEntries(
      result.byActivity.map(({ activity, value }) => [activity, value])
    );
    expect(values).toMatchObject({
      'thread-cpu': 3 + 3,
      'thread-noncpu': 1 + 1,
      deserialize: 1,
      // b has 6 columns, of which 5 are explained.
      other: 1,
      // All of a run that raised.
      failed: 4
    });
    expect(result.attributedNanoseconds).toBe(14e9);
    expect(result.totalNanoseconds).toBe(14e9);
    expect(result.background).toEqual([
      { activity: 'transfer', seconds: 2, bytes: 100, count: 1 }
    ]);
  });

  it('divides the time off a core, exactly, and takes the estimate for the lock out of what blocked', () => {
    const log = drawRuns('0/0  aaaaaaaaaabbbbc', {
      tasks: {
        // 10 s: 4 on a core, 1 in the queue; the lock 3 ± 0.5 of the other 5.
        a: {
          parts: [{ kind: 4, offset: 0, duration: 10, cpu: 4, coreWait: 1 }]
        },
        // More waiting for a core than there was time off one, and for the lock than there was blocked time.
        b: {
          function: 'late',
          parts: [{ kind: 4, offset: 0, duration: 4, cpu: 3, coreWait: 9 }]
        },
        c: { function: 'short', cpu: 0.25 }
      }
    });
    const estimates = [
      { function: 'inc', seconds: [3, 0.5] },
      { function: 'late', seconds: [2, 1] }
    ];
    noteLockWaits(log, estimates);
    const result = ask(log, 'fine-metrics', { params: { entries: true } });
    expect(
      Object.fromEntries(
        result.byActivity.map(({ activity, value }) => [activity, value])
      )
    ).toEqual({
      'thread-cpu': 4 + 3 + 0.25,
      core: 1 + 1,
      gil: 3,
      blocked: 2,
      'thread-noncpu': 0.75
    });
    expect(result.gilErrorSeconds).toBe(0.5);
    expect(result.background).toEqual([]);
    expect(result.totalNanoseconds).toBe(15e9);
    const entries = new Map(
      result.entries!.map(([where, fn, activity, unit, value]) => [
        [where, fn, activity, unit].join(' '),
        value
      ])
    );
    // To Dask it is one activity; context `noncpu` divides it once more.
    expect(entries.get('execute inc thread-noncpu seconds')).toBe(6);
    expect(entries.get('noncpu inc core seconds')).toBe(1);
    expect(entries.get('noncpu inc gil seconds')).toBe(3);
    expect(entries.get('noncpu inc blocked seconds')).toBe(2);
    expect(entries.get('execute late thread-noncpu seconds')).toBe(1);
    expect(entries.has('noncpu late gil seconds')).toBe(false);
  });

  it('does not give the waits of all tasks to those of one status', () => {
    const parts = [{ kind: 4, offset: 0, duration: 5, cpu: 1, coreWait: 1 }];
    const log = drawRuns('0/0  aaaaabbbbb', {
      tasks: { a: { parts }, b: { parts, status: 1 } }
    });
    noteLockWaits(log, [{ function: 'inc', seconds: [3, 0.5] }]);
    const { result, honoured } = answer(log, 'fine-metrics', {
      filter: { status: ['ok'] },
      params: { entries: true }
    });
    expect(result).toMatchObject({ gilErrorSeconds: 0 });
    expect(
      (result as FineMetricsResult).byActivity.map(({ activity, value }) => [
        activity,
        value
      ])
    ).toEqual([
      ['thread-cpu', 1],
      ['core', 1],
      ['blocked', 3]
    ]);
    expect(honoured).toMatchObject({
      how: 'approximate',
      why: expect.stringContaining('GIL') as string
    });
    // Where nothing is known of the lock, nothing is missing.
    expect(
      answer(drawRuns('0/0 aa'), 'fine-metrics', { filter: { status: ['ok'] } })
        .honoured.how
    ).toBe('exact');
  });

  it('keeps the estimate for the lock when its rows are gone, and looks at rows in slices', () => {
    const chunk = 65_536;
    const log = drawRuns('0/0  aaaaaaaaaa', {
      tasks: {
        a: {
          parts: [{ kind: 4, offset: 0, duration: 10, cpu: 4, coreWait: 1 }]
        }
      },
      bounds: { fine: 2 * chunk }
    });
    noteLockWaits(log, [{ function: 'inc', seconds: [3, 0.5] }]);
    const gilOf = (result: FineMetricsResult): number | undefined =>
      result.byActivity.find(({ activity }) => activity === 'gil')?.value;
    expect(gilOf(ask(log, 'fine-metrics'))).toBe(3);
    const later = Array.from({ length: chunk }, () => ({ second: 9 }));
    ingestBlock(log, rowsToBlock(62, 'fine', later));
    ingestBlock(log, rowsToBlock(63, 'fine', later));
    ingestBlock(log, rowsToBlock(64, 'fine', later));
    expect(log.fine.firstRow).toBeGreaterThan(0);
    expect(gilOf(ask(log, 'fine-metrics'))).toBe(3);
    // A range knows only what is kept.
    expect(gilOf(ask(log, 'fine-metrics', { time: { last: 5 } }))).toBe(
      undefined
    );
    const slices = foldView(
      'fine-metrics',
      contextOf(log, { time: { last: 5 } }),
      {}
    );
    let yields = 0;
    while (slices.next().done !== true) {
      yields++;
    }
    expect(yields).toBeGreaterThanOrEqual(8);
  });

  it('shows what a run took that ended with its worker as lost', () => {
    const log = drawRuns('0/0  aaab', {
      tasks: { a: { status: 2, cpu: NaN } }
    });
    const { byActivity, idle } = ask(log, 'fine-metrics');
    expect(byActivity).toMatchObject([
      { activity: 'thread-cpu', value: 1 },
      { activity: 'lost', value: 3 }
    ]);
    expect(idle).toEqual([]);
    // The same by a scan of the runs.
    expect(
      ask(log, 'fine-metrics', { filter: { status: ['lost'] } }).byActivity
    ).toMatchObject([{ activity: 'lost', value: 3 }]);
  });

  it('does not count what was given back for want of an input as having run', () => {
    const log = drawRuns('0/0  aa..bb');
    const before = ask(log, 'summary');
    ingestBlock(
      log,
      rowsToBlock(50, 'runs', [
        {
          run: 900,
          lane: 0,
          status: 3,
          start: 3,
          waitReady: NaN,
          waitInputs: NaN,
          waitThread: NaN
        }
      ])
    );
    expect(ask(log, 'summary')).toEqual(before);
    // No figure of tasks counts it, and no row of the table is there for what no figure counts.
    const table = ask(log, 'tasks');
    expect(table.rows.map(row => row.status)).toEqual(['ok', 'ok']);
    expect(table.total).toBe(2);
    expect(ask(log, 'task-stream').tasks).toBe(table.total);
    expect(before.spans.reduce((sum, span) => sum + span.ownTasks, 0)).toBe(
      table.total
    );
    // It is no trouble of the user's: it runs again.
    expect(
      ask(log, 'tasks', { filter: { status: ['failed', 'lost'] } }).rows
    ).toEqual([]);
    expect(ask(log, 'task-stream')).toMatchObject({
      executions: 2,
      hidden: 0,
      kinds: { failed: 0, lost: 0 }
    });
  });

  it('is the same when parts come after their runs', () => {
    const before = ask(drawRuns(drawing, { tasks }), 'fine-metrics');
    const after = ask(
      drawRuns(drawing, { tasks, partsFirst: false }),
      'fine-metrics'
    );
    expect(after).toEqual(before);
  });

  it('shows a span with its subtree, and how much it hides', () => {
    const result = ask(drawRuns(drawing, { tasks }), 'fine-metrics', {
      filter: { spans: { any: [{ path: ['x'] }] } }
    });
    expect(result.byFunction).toMatchObject([
      { function: 'load', executions: 2, total: 8 }
    ]);
    expect(result.otherSpansSeconds).toBeCloseTo(6);
  });

  it('cuts runs at the borders of a range', () => {
    const result = ask(drawRuns(drawing, { tasks }), 'fine-metrics', {
      time: { from: 3, to: 5 }
    });
    const values = Object.fromEntries(
      result.byActivity.map(({ activity, value }) => [activity, value])
    );
    // a: 1 of 4 columns, ¾ CPU; b: its first column, deserialising; c: 2 columns of a run that failed.
    expect(values['thread-cpu']).toBeCloseTo(0.75);
    expect(values['failed']).toBeCloseTo(2);
    expect(values['thread-noncpu']).toBeCloseTo(0.25);
    expect(values['deserialize']).toBeCloseTo(1);
    expect(result.totalNanoseconds).toBe(4e9);
  });

  it('takes one worker, one status, and functions beyond the top together', () => {
    const log = drawRuns(drawing, { tasks });
    expect(
      ask(log, 'fine-metrics', { filter: { status: ['failed'] } }).byFunction
    ).toMatchObject([{ function: 'load', executions: 1, total: 4 }]);
    expect(
      ask(log, 'fine-metrics', { filter: { workers: [7] } }).byFunction
    ).toEqual([]);
    expect(
      ask(log, 'fine-metrics', { params: { top: 1 } }).others
    ).toMatchObject({ functions: 1, executions: 1, total: 6 });
  });

  it('gives computing whose CPU share is not known its own activity', () => {
    const log = drawRuns('0/0 aa', { tasks: { a: { cpu: NaN } } });
    expect(ask(log, 'fine-metrics').byActivity).toMatchObject([
      { activity: 'compute', value: 2, share: 1 }
    ]);
  });

  it('gives the client entries that add up to the total and what was idle', () => {
    const result = ask(drawRuns(drawing, { tasks }), 'fine-metrics', {
      params: { entries: true }
    });
    const seconds = result
      .entries!.filter(e => e[0] === 'execute' && e[3] === 'seconds')
      .reduce((sum, entry) => sum + entry[4], 0);
    // Two threads for ten seconds, of which six were idle.
    expect(seconds).toBeCloseTo(result.capacitySeconds, 9);
    const idle = ['execute', 'N/A', 'idle or other spans', 'seconds', 6];
    expect(result.entries).toContainEqual(idle);
    const byCause = result.entries!.filter(([where]) => where === 'idle');
    expect(byCause.reduce((sum, entry) => sum + entry[4], 0)).toBeCloseTo(6, 9);
    expect(byCause.map(([, fn]) => fn)).toEqual(byCause.map(() => 'N/A'));
    expect(result.entries).toContainEqual([
      'background',
      'fit',
      'transfer',
      'bytes',
      100
    ]);
  });
});
