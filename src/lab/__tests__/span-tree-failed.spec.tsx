/** Spans and cells of which tasks failed. */
import type { SpansResult } from '../../wire/panel-link';
import { drawnSpans } from './drawn-spans';
import { renderedSpanTree } from './rendered-span-tree';

/** `failed`: of each drawn row, what is inside included. */
function drawn(drawing: string, failed: readonly number[]): SpansResult {
  const result = drawnSpans(drawing);
  return {
    ...result,
    rows: result.rows.map((row, i) => ({
      ...row,
      failed: failed[i] ?? 0,
      id: `id ${i}`,
      opened: 10 * i,
      closed: 10 * i + 2
    }))
  };
}

/** What the mark of each row says, by what the row is called without its time. */
function marks(spans: SpansResult, turned: readonly string[] = []) {
  const said = renderedSpanTree(
    spans,
    host =>
      [...host.querySelectorAll('[role="treeitem"]')].map(item => {
        const row = item.querySelector('.sw-span-tree-row')!;
        const name = item.getAttribute('aria-label')!.split(' · ')[0]!;
        const mark = row.querySelector('.sw-span-tree-failed');
        if (mark === null) {
          return name;
        }
        // Who sees no mark is told of it.
        expect(item.getAttribute('aria-description')).toMatch(
          / · \d+\sfailed (run|task)/u
        );
        const isLoud = mark.querySelector('.sw-failed') !== null;
        const title = mark.getAttribute('title')!.replaceAll('\u00a0', ' ');
        return `${name}: ${isLoud ? '✕ ' : ''}${title}`;
      }),
    turned
  );
  return said.map(text => text.replaceAll('\u00a0', ' '));
}

describe('a row of which tasks failed', () => {
  const flow = drawn(
    `
      flow 10
        load 3
        fit 7
          train 5
    `,
    [3, 1, 2, 2]
  );

  it('has the mark of failed boxes, and says how many', () => {
    expect(marks(flow)).toEqual([
      'flow',
      'load: ✕ 1 failed run',
      'fit',
      'train: ✕ 2 failed runs'
    ]);
  });

  it('says of how many tasks these runs are, where all is told', () => {
    const rows = flow.rows.map((row, i) => ({
      ...row,
      failedTasks: [2, 1, 1, 1][i]!
    }));
    const told = { ...flow, rows };
    expect(marks(told).at(-1)).toBe('train: ✕ 2 failed runs of 1 task');
    const key = JSON.stringify(['flow']);
    expect(marks(told, [key])).toEqual([
      'flow: Inside: 3 failed runs of 2 tasks'
    ]);
  });

  it('says of tasks of which no run failed that tasks did', () => {
    const rows = flow.rows.map((row, i) => ({
      ...row,
      ...[
        { failedTasks: 1, failedUnrun: 2 },
        { failedUnrun: 1 },
        { failedTasks: 1, failedUnrun: 1 },
        { failedTasks: 1, failedUnrun: 1 }
      ][i]
    }));
    const told = { ...flow, rows };
    expect(marks(told)).toEqual([
      'flow',
      'load: ✕ 1 failed task',
      'fit',
      'train: ✕ 1 failed run · 1 task failed otherwise'
    ]);
    expect(marks(told, [JSON.stringify(['flow'])])).toEqual([
      'flow: Inside: 1 failed run · 2 tasks failed otherwise'
    ]);
  });

  it('has a quieter one while what failed is in rows that are not shown', () => {
    const key = (...path: string[]) => JSON.stringify(path);
    expect(marks(flow, [key('flow', 'fit')])).toEqual([
      'flow',
      'load: ✕ 1 failed run',
      'fit: Inside: 2 failed runs'
    ]);
    expect(marks(flow, [key('flow')])).toEqual(['flow: Inside: 3 failed runs']);
  });

  it('has the first one whatever is shown if tasks of its own failed', () => {
    const own = drawn(
      `
        flow 10
          load 3
      `,
      [2, 1]
    );
    const both = ['flow: ✕ 2 failed runs', 'load: ✕ 1 failed run'];
    expect(marks(own)).toEqual(both);
    expect(marks(own, [JSON.stringify(['flow'])])).toEqual(both.slice(0, 1));
  });

  it('and that ran again has it for its newest pass, and a quieter one for those before', () => {
    const loop = `
      fit 1
      fit 2
      fit 3
    `;
    const key = JSON.stringify(['fit']);
    const newest = drawn(loop, [0, 0, 4]);
    expect(marks(newest)).toEqual(['fit: ✕ 4 failed runs']);
    expect(marks(newest, [key])).toEqual([
      'fit: ✕ 4 failed runs',
      '3 of 3: ✕ 4 failed runs',
      '2 of 3',
      '1 of 3'
    ]);
    const mended = drawn(loop, [0, 4, 0]);
    expect(marks(mended)).toEqual(['fit: Inside: 4 failed runs']);
    expect(marks(mended, [key])).toEqual([
      'fit',
      '3 of 3',
      '2 of 3: ✕ 4 failed runs',
      '1 of 3'
    ]);
  });

  it('and stands for many has the quieter one while they are folded', () => {
    const twice = drawn(
      `
        flow 2
          load 1
        flow 3
          load 1
      `,
      [1, 0, 1, 0]
    );
    const passes = `${JSON.stringify(['flow'])} passes`;
    expect(marks(twice).slice(0, 2)).toEqual([
      'flow: ✕ 2 failed runs',
      '2 passes: Inside: 2 failed runs'
    ]);
    expect(marks(twice, [passes]).slice(1, 4)).toEqual([
      '2 passes',
      '2 of 2: ✕ 1 failed run',
      '1 of 2: ✕ 1 failed run'
    ]);
  });
});
