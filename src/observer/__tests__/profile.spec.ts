import { rowsToBlock } from '../../testing/rows-to-block';
import { ingestBlock } from '../store/ingest';
import { LogStore } from '../store/log-store';
import { ask } from './ask';

const ROOT = 0xffffffff;

/** main > load > read, main > load, main > fit, on two lanes of two workers, in spans x (1) and none. */
function sampled(): LogStore {
  const log = new LogStore('sampled');
  const tables = [
    rowsToBlock(
      1,
      'names',
      ['main', 'load', 'read', 'fit', 'a.py', 'b.py', 'x'].map((text, i) => ({
        id: i + 1,
        text
      }))
    ),
    rowsToBlock(2, 'spans', [{ id: 1, parent: 0, tag: 7, closed: NaN }]),
    rowsToBlock(3, 'lanes', [
      { lane: 0, worker: 0, thread: 0 },
      { lane: 1, worker: 1, thread: 0 }
    ]),
    rowsToBlock(4, 'frames', [
      { frame: 0, function: 1, file: 5, line: 1 },
      { frame: 1, function: 2, file: 5, line: 9 },
      { frame: 2, function: 3, file: 6, line: 3 },
      { frame: 3, function: 4, file: 6, line: 7 }
    ]),
    rowsToBlock(5, 'stacks', [
      { stack: 0, parent: ROOT, frame: 0 },
      { stack: 1, parent: 0, frame: 1 },
      { stack: 2, parent: 1, frame: 2 },
      { stack: 3, parent: 0, frame: 3 },
      // A ring, as a broken source could write it.
      { stack: 8, parent: 9, frame: 0 },
      { stack: 9, parent: 8, frame: 1 }
    ]),
    rowsToBlock(6, 'samples', [
      { second: 0, lane: 0, span: 1, function: 2, stack: 2, state: 0, n: 3 },
      { second: 0, lane: 0, span: 1, function: 2, stack: 1, state: 2, n: 1 },
      { second: 1, lane: 1, span: 0, function: 4, stack: 3, state: 1, n: 6 }
    ])
  ];
  tables.forEach(block => ingestBlock(log, block));
  return log;
}

function drawn(log: LogStore, asked: Parameters<typeof ask>[2] = {}): string[] {
  const { nodes } = ask(log, 'profile', asked);
  const depth = nodes.parent.map(() => 0);
  return nodes.parent.map((parent, i) => {
    depth[i] = parent < 0 ? 0 : depth[parent]! + 1;
    return `${'  '.repeat(depth[i])}${nodes.name[i]} ${nodes.n[i]}`;
  });
}

describe('the profile', () => {
  it('merges stacks, the larger child first', () => {
    expect(drawn(sampled())).toEqual([
      'all 10',
      '  main 10',
      '    fit 6',
      '    load 4',
      '      read 3'
    ]);
  });

  it('keeps the order of first appearance if asked', () => {
    expect(drawn(sampled(), { params: { order: 'time' } })).toEqual([
      'all 10',
      '  main 10',
      '    load 4',
      '      read 3',
      '    fit 6'
    ]);
  });

  it('filters by span, worker, function and time', () => {
    const filtered = drawn(sampled(), {
      filter: { spans: { any: [{ path: ['x'] }] } }
    });
    expect(filtered[0]).toBe('all 4');
    expect(drawn(sampled(), { filter: { workers: [1] } })[0]).toBe('all 6');
    expect(drawn(sampled(), { filter: { functions: ['load'] } })[0]).toBe(
      'all 4'
    );
    expect(drawn(sampled(), { time: { from: 1, to: 2 } })[0]).toBe('all 6');
  });

  it('groups by span', () => {
    expect(drawn(sampled(), { params: { groupBy: 'span' } })).toEqual([
      'all 10',
      '  default 6',
      '    main 6',
      '      fit 6',
      '  x 4',
      '    main 4',
      '      load 4',
      '        read 3'
    ]);
  });

  it('leaves out the smallest frames beyond the bound and says how many', () => {
    const { nodes, dropped } = ask(sampled(), 'profile', {
      params: { maxNodes: 3 }
    });
    expect(nodes.name).toEqual(['all', 'main', 'fit']);
    expect(dropped).toBe(1);
  });

  it('tells states apart, per second too', () => {
    const { activity, nodes } = ask(sampled(), 'profile');
    expect(activity).toEqual({
      seconds: [0, 1],
      onCore: [3, 0],
      waiting: [0, 6],
      blocked: [1, 0]
    });
    expect([nodes.onCore[0], nodes.waiting[0], nodes.blocked[0]]).toEqual([
      3, 6, 1
    ]);
  });

  it('takes frames of two workers at the same place for one', () => {
    const log = sampled();
    ingestBlock(
      log,
      rowsToBlock(7, 'frames', [{ frame: 20, function: 1, file: 5, line: 1 }])
    );
    ingestBlock(
      log,
      rowsToBlock(8, 'stacks', [{ stack: 20, parent: ROOT, frame: 20 }])
    );
    ingestBlock(log, rowsToBlock(9, 'samples', [{ stack: 20, n: 5 }]));
    expect(drawn(log).slice(0, 2)).toEqual(['all 15', '  main 15']);
  });

  it('says how often it looked at threads that worked', () => {
    const log = sampled();
    expect(ask(log, 'profile').rateHz).toBeNull();
    ingestBlock(log, rowsToBlock(7, 'runs', [{ run: 1, duration: 4 }]));
    expect(ask(log, 'profile').rateHz).toBe(2.5);
  });

  it('ends on a ring of stacks', () => {
    const log = sampled();
    ingestBlock(log, rowsToBlock(7, 'samples', [{ stack: 8, n: 1 }]));
    expect(ask(log, 'profile').samples).toBe(11);
  });
});
