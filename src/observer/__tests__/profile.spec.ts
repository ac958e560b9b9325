import { SampleState } from '../../records/enumerations';
import { rowsToBlock } from '../../testing/rows-to-block';
import { ingestBlock } from '../store/ingest';
import { LogStore } from '../store/log-store';
import { answer, ask } from './ask';
import { overTheLink } from './over-the-link';

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

/** Whose samples are looks, of which some are missing. */
function ofDask(log: LogStore): LogStore {
  const json = JSON.stringify({ kind: 'dask' });
  ingestBlock(log, rowsToBlock(log.seq + 1, 'header', [{ json }]));
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

  it('colours the heaviest files, whenever somebody looked and at what', () => {
    const slotsOf = (isWatched: boolean): Record<string, number> => {
      const log = sampled();
      const FILES = 50;
      const own = Array.from({ length: FILES }, (_, i) => 100 + i);
      ingestBlock(
        log,
        rowsToBlock(
          11,
          'names',
          own.map(id => ({ id, text: `module${id}.py` }))
        )
      );
      ingestBlock(
        log,
        rowsToBlock(
          12,
          'frames',
          own.map(id => ({ frame: id, function: 1, file: id, line: 1 }))
        )
      );
      ingestBlock(
        log,
        rowsToBlock(
          13,
          'stacks',
          own.map(id => ({ stack: id, parent: ROOT, frame: id }))
        )
      );
      const sample = (id: number, n: number) => ({
        ...{ second: 2, lane: 0, span: 0, function: 1, state: 0 },
        stack: id,
        n
      });
      own.forEach((id, i) => {
        // Each is imported; the last one is what takes the time.
        ingestBlock(log, rowsToBlock(20 + i, 'samples', [sample(id, 1)]));
        if (isWatched) {
          ask(log, 'profile', { filter: { workers: [i % 2] } });
        }
      });
      ingestBlock(log, rowsToBlock(90, 'samples', [sample(149, 500)]));
      const { nodes } = ask(log, 'profile');
      return Object.fromEntries(
        nodes.file.map((file, i) => [file, nodes.slot[i]!])
      );
    };
    const slots = slotsOf(false);
    expect(slots['module149.py']).toBeGreaterThanOrEqual(0);
    expect(Object.values(slots).filter(slot => slot >= 0)).toHaveLength(36);
    expect(slotsOf(true)).toEqual(slots);
  });

  it('counts samples whose state is not told apart, and only if there are any', () => {
    const log = sampled();
    expect(ask(log, 'profile').activity.unknown).toBeUndefined();
    ingestBlock(
      log,
      rowsToBlock(7, 'samples', [
        { second: 1, lane: 1, span: 0, function: 4, stack: 3, state: 3, n: 5 }
      ])
    );
    const { activity, nodes } = ask(log, 'profile');
    expect(activity.unknown).toEqual([0, 5]);
    expect(activity.waiting).toEqual([0, 6]);
    expect(nodes.n[0]).toBe(15);
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

  it('says how many samples filter and range leave out', () => {
    const hidden = (asked: Parameters<typeof ask>[2]) =>
      ask(sampled(), 'profile', asked).hidden;
    expect(hidden({})).toBe(0);
    expect(hidden({ filter: { functions: ['load'] } })).toBe(6);
    expect(hidden({ filter: { functions: ['none'] } })).toBe(10);
    expect(hidden({ time: { from: 1, to: 2 } })).toBe(4);
    expect(hidden({ time: { from: 7, to: 8 } })).toBe(10);
  });

  it('says that spans are estimated where Dask’s workers took the samples', () => {
    const spans = { filter: { spans: { any: [{ path: ['x'] }] } } };
    const ofDask = sampled();
    ofDask.header = { kind: 'dask' };
    const approximate = { how: 'approximate' };
    expect(answer(ofDask, 'profile', spans).honoured).toMatchObject(
      approximate
    );
    expect(answer(ofDask, 'profile').honoured).toMatchObject({ how: 'exact' });
    expect(answer(sampled(), 'profile', spans).honoured).toMatchObject({
      how: 'exact'
    });
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

  it('gives the whole tree in pages', () => {
    const log = sampled();
    const whole = ask(log, 'profile', { params: { order: 'time', after: 0 } });
    expect(whole.nodes.name).toEqual(['all', 'main', 'load', 'read', 'fit']);
    expect(whole.page).toEqual({
      next: null,
      first: 0,
      end: 3,
      sampleSeconds: 0.01
    });
    const rest = ask(log, 'profile', { params: { order: 'time', after: 2 } });
    expect(rest.nodes).toEqual(
      Object.fromEntries(
        Object.entries(whole.nodes).map(([name, column]) => [
          name,
          column.slice(2)
        ])
      )
    );
    // Rows that came after the first page are not in the next ones.
    ingestBlock(
      log,
      rowsToBlock(7, 'samples', [
        { second: 2, lane: 0, span: 1, function: 2, stack: 0, state: 0, n: 5 }
      ])
    );
    const params = { order: 'time', after: 0, end: whole.page!.end };
    expect(ask(log, 'profile', { params }).nodes).toEqual(whole.nodes);
    expect(ask(log, 'profile', { params: { after: 0 } }).nodes.n[0]).toBe(15);
    expect(ask(log, 'profile', { params: { after: 99 } }).nodes.name).toEqual(
      []
    );
    expect(ask(log, 'profile').page).toBeUndefined();
  });

  it('has pages that fit in a message, whatever the names', () => {
    const log = new LogStore('long');
    const long = 'x'.repeat(90_000);
    const frames = Array.from({ length: 16 }, (_, frame) => frame);
    const tables = [
      [
        'names',
        frames.map(frame => ({ id: frame + 1, text: `${frame} ${long}` }))
      ],
      ['lanes', [{ lane: 0, worker: 0, thread: 0 }]],
      [
        'frames',
        frames.map(frame => ({
          frame,
          function: frame + 1,
          file: frame + 1,
          line: 1
        }))
      ],
      ['stacks', frames.map(frame => ({ stack: frame, parent: ROOT, frame }))],
      [
        'samples',
        frames.map(frame => ({
          second: 0,
          lane: 0,
          span: 0,
          function: 1,
          stack: frame,
          state: 0,
          n: 1
        }))
      ]
    ] as const;
    tables.forEach(([table, rows], i) =>
      ingestBlock(log, rowsToBlock(i + 1, table, rows))
    );
    const names: string[] = [];
    let pages = 0;
    for (let after: number | null = 0; after !== null; pages += 1) {
      const params: Record<string, unknown> = { order: 'time', after };
      const { nodes, page } = ask(log, 'profile', { params });
      expect([...nodes.name, ...nodes.file].join('').length).toBeLessThan(
        400_000
      );
      names.push(...nodes.name);
      after = page!.next;
    }
    expect(pages).toBeGreaterThan(3);
    expect(names.map(name => name.split(' ')[0])).toEqual([
      'all',
      ...frames.map(String)
    ]);
  });

  it('groups by address, and may be of some addresses alone', () => {
    const log = sampled();
    ingestBlock(
      log,
      rowsToBlock(7, 'workers', [
        { worker: 0, name: 'zero', address: 'tcp://0', left: NaN },
        { worker: 1, name: 'one', address: 'tcp://1', left: 5 }
      ])
    );
    const byAddress = { groupBy: 'address' };
    expect(drawn(log, { params: byAddress })).toEqual([
      'all 10',
      '  tcp://1 6',
      '    main 6',
      '      fit 6',
      '  tcp://0 4',
      '    main 4',
      '      load 4',
      '        read 3'
    ]);
    const of = (addresses: unknown) =>
      drawn(log, { params: { ...byAddress, addresses } });
    expect(of(['tcp://1', 'tcp://9'])).toEqual([
      'all 6',
      '  tcp://1 6',
      '    main 6',
      '      fit 6'
    ]);
    expect(of([])).toEqual(['all 0']);
    expect(of('tcp://1')[0]).toBe('all 10');
    // Both conditions must hold.
    expect(
      drawn(log, {
        filter: { workers: [0] },
        params: { addresses: ['tcp://1'] }
      })
    ).toEqual(['all 0']);
  });

  it('says what a sample stands for, as the log’s header has it', () => {
    const log = sampled();
    const told = () =>
      ask(log, 'profile', { params: { after: 0 } }).page?.sampleSeconds;
    expect(told()).toBe(0.01);
    log.header = { sampleSeconds: 0.05 };
    expect(told()).toBe(0.05);
    log.header = { sampleSeconds: 0 };
    expect(told()).toBe(0);
    log.header = { sampleSeconds: 'often' };
    expect(told()).toBe(0.01);
  });

  it('tells states apart, per second too', () => {
    const { activity, nodes } = ask(sampled(), 'profile');
    expect(activity).toEqual({
      seconds: [0, 1],
      onCore: [3, 0],
      waiting: [0, 6],
      gil: [0, 0],
      blocked: [1, 0]
    });
    expect([nodes.onCore[0], nodes.waiting[0], nodes.blocked[0]]).toEqual([
      3, 6, 1
    ]);
  });

  it('tells long work in longer steps, so that the answer fits in a message', () => {
    const log = sampled();
    const rows = Array.from({ length: 100_000 }, (_, i) => ({
      ...{ second: 1_000_000 + i, lane: 0, span: 1, function: 2 },
      ...{ stack: 2, state: i % 4, n: 70 }
    }));
    ingestBlock(log, rowsToBlock(7, 'samples', rows));
    const result = ask(log, 'profile');
    const { activity } = result;
    expect(overTheLink(result)).toEqual(result);
    expect(activity.seconds.length).toBeGreaterThan(1000);
    expect(activity.seconds.every(second => second % 32 === 0)).toBe(true);
    const sum = (counts: readonly number[]): number =>
      counts.reduce((all, each) => all + each, 0);
    expect([
      sum(activity.onCore),
      sum(activity.waiting),
      sum(activity.blocked)
    ]).toEqual([3 + 25_000 * 70, 6 + 25_000 * 70, 1 + 25_000 * 70]);
  });

  it('takes what was for the GIL from Fine Metrics’ estimate, function by function', () => {
    const log = sampled();
    ingestBlock(
      log,
      rowsToBlock(
        7,
        'names',
        ['noncpu', 'gil', 'seconds'].map((text, i) => ({ id: 10 + i, text }))
      )
    );
    // Off its core for 0.3 s, 0.2 s of that for the lock; "fit" does not wait for it.
    ingestBlock(
      log,
      rowsToBlock(8, 'runs', [
        { run: 1, function: 2, span: 1, lane: 0, start: 0, duration: 0.5 }
      ])
    );
    ingestBlock(
      log,
      rowsToBlock(9, 'parts', [
        {
          run: 1,
          kind: 4,
          held: 1,
          function: 2,
          span: 1,
          duration: 0.5,
          cpu: 0.2
        }
      ])
    );
    const gil = { context: 10, activity: 11, unit: 12 };
    ingestBlock(
      log,
      rowsToBlock(10, 'fine', [
        { second: 0, worker: 0, ...gil, span: 1, function: 2, value: 0.2 }
      ])
    );
    const stack = { lane: 0, span: 1, function: 2, state: 2 };
    ingestBlock(
      log,
      rowsToBlock(11, 'samples', [
        { second: 0, ...stack, stack: 2, n: 10 },
        { second: 1, ...stack, stack: 1, n: 19 },
        { second: 1, lane: 1, span: 0, function: 4, stack: 3, state: 2, n: 7 }
      ])
    );
    const metrics = ask(log, 'fine-metrics');
    const { activity, nodes } = ask(log, 'profile');
    const of = (name: string) =>
      metrics.byActivity.find(row => row.activity === name)?.value;
    expect(of('gil')).toBeCloseTo(0.2, 9);
    // 20 of 30 samples; the other function's stay what they were.
    expect(nodes.gil[0]).toBeCloseTo(20, 1);
    expect(nodes.blocked[0]).toBeCloseTo(10 + 7, 1);
    expect(activity.gil[0]! + activity.gil[1]!).toBeCloseTo(20, 1);
    expect(activity.blocked[0]! + activity.blocked[1]!).toBeCloseTo(17, 1);
    expect(nodes.gil[nodes.name.indexOf('fit')]).toBe(0);
    expect(nodes.gil[nodes.name.indexOf('read')]).toBeCloseTo(20 / 3, 1);
    nodes.n.forEach((n, i) =>
      expect(
        nodes.onCore[i]! + nodes.waiting[i]! + nodes.gil[i]! + nodes.blocked[i]!
      ).toBeCloseTo(n, 1)
    );
  });

  it('says that a range of time is by whole seconds', () => {
    const how = (from: number, to: number): string =>
      answer(sampled(), 'profile', { time: { from, to } }).honoured.how;
    expect(how(0, 1)).toBe('exact');
    expect(how(0.5, 1)).toBe('approximate');
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

  it('has samples of the interval that is set, whatever runs took', () => {
    const log = sampled();
    expect(ask(log, 'profile').rateHz).toBe(100);
    ingestBlock(log, rowsToBlock(7, 'runs', [{ run: 1, duration: 4 }]));
    expect(ask(log, 'profile').rateHz).toBe(100);
    for (const [i, [sampleSeconds, rate]] of [
      [0.05, 20],
      [0, null]
    ].entries()) {
      const json = JSON.stringify({ sampleSeconds });
      ingestBlock(log, rowsToBlock(8 + i, 'header', [{ json }]));
      expect(ask(log, 'profile').rateHz).toBe(rate);
    }
  });

  it('says how often Dask looked at threads that worked', () => {
    const log = ofDask(sampled());
    expect(ask(log, 'profile').rateHz).toBeNull();
    ingestBlock(log, rowsToBlock(8, 'runs', [{ run: 1, duration: 4 }]));
    expect(ask(log, 'profile').rateHz).toBe(2.5);
  });

  it('counts a run that was told again once where Dask’s looks are divided', () => {
    const log = new LogStore('told again');
    const json = JSON.stringify({ kind: 'dask', attached: 0 });
    const runs = [0, 1].map(lane => ({
      run: lane,
      lane,
      function: 1,
      start: 1,
      duration: 4
    }));
    const samples = [2, 3, 4, 5].map(second => ({
      second,
      function: 1,
      state: SampleState.Unknown,
      n: 20
    }));
    [
      rowsToBlock(1, 'header', [{ json }]),
      rowsToBlock(2, 'names', [{ id: 1, text: 'nap' }]),
      rowsToBlock(3, 'runs', runs),
      rowsToBlock(4, 'runs', runs),
      rowsToBlock(5, 'samples', samples)
    ].forEach(block => ingestBlock(log, block));
    const { activity, rateHz } = ask(log, 'profile');
    expect(activity.unknown!.map(n => n / rateHz!)).toEqual([2, 2, 2, 2]);
  });

  it('has of Dask’s looks in each second as many threads as worked in it', () => {
    const log = new LogStore('calm and busy');
    const json = JSON.stringify({ kind: 'dask', attached: 4 });
    const looks = [
      // Of before it was watched nothing else is known.
      [2, 1, 90],
      // Four threads sleep from 5 to 8; each worker tells a second's looks when that ends by its own clock.
      [6, 1, 800],
      [7, 1, 350],
      [8, 1, 50],
      // Then they compute until 14, and looks are rare.
      [9, 2, 20],
      [10, 2, 40],
      [11, 2, 100],
      [12, 2, 10],
      [13, 2, 20],
      [14, 2, 10]
    ];
    [
      rowsToBlock(1, 'header', [{ json }]),
      rowsToBlock(2, 'names', [
        { id: 1, text: 'nap' },
        { id: 2, text: 'busy' }
      ]),
      rowsToBlock(
        3,
        'runs',
        [0, 1, 2, 3].flatMap(lane => [
          { run: lane, lane, function: 1, start: 5, duration: 3 },
          { run: 4 + lane, lane, function: 2, start: 8, duration: 6 }
        ])
      ),
      rowsToBlock(
        4,
        'samples',
        looks.map(([second, fn, n]) => ({
          second: second!,
          function: fn!,
          state: SampleState.Unknown,
          n: n!
        }))
      )
    ].forEach(block => ingestBlock(log, block));
    const threads = (over: Parameters<typeof ask>[2] = {}) => {
      const { activity, rateHz } = ask(log, 'profile', over);
      expect(rateHz).toBeCloseTo(1400 / 36, 9);
      return activity.seconds.map((second, i) => [
        second,
        Math.round((activity.unknown![i]! / rateHz!) * 100) / 100
      ]);
    };
    expect(threads()).toEqual([
      [2, 2.31],
      ...[5, 6, 7, 8, 9, 10, 11, 12, 13].map(second => [second, 4])
    ]);
    expect(threads({ filter: { functions: ['nap'] } })).toEqual([
      [2, 2.31],
      [5, 4],
      [6, 4],
      [7, 4],
      // (both looked in what the log calls second 8 or 9)
      [8, 2.86]
    ]);
    expect(threads({ time: { from: 10, to: 12 } })).toEqual([
      [10, 4],
      [11, 4]
    ]);
  });

  it('counts the work of tasks that run, until the log has ended', () => {
    const log = ofDask(sampled());
    ingestBlock(log, rowsToBlock(8, 'runs', [{ run: 1, duration: 4 }]));
    ingestBlock(log, rowsToBlock(9, 'running', [{ lane: 1, started: 2 }]));
    expect(ask(log, 'profile', { now: 8 }).rateHz).toBe(10 / (4 + 6));
    // A clock that is behind takes nothing away.
    expect(ask(log, 'profile', { now: 1 }).rateHz).toBe(2.5);
    expect(ask(log, 'profile', { now: 8, ended: true }).rateHz).toBe(2.5);
    const none = ofDask(new LogStore('none'));
    ingestBlock(none, rowsToBlock(8, 'runs', [{ run: 1, duration: 4 }]));
    expect(ask(none, 'profile').rateHz).toBeNull();
  });

  it('does not count samples and work of before it was watched', () => {
    const log = new LogStore('watched');
    const text = JSON.stringify({ kind: 'dask', attached: 9.5 });
    [
      rowsToBlock(1, 'header', [{ json: text }]),
      ...[1, 2, 3].map((run, i) =>
        rowsToBlock(2 + i, 'runs', [{ run, start: 4 * run - 3, duration: 4 }])
      ),
      rowsToBlock(5, 'samples', [
        { second: 3, n: 900 },
        { second: 9, n: 60 },
        { second: 10, n: 90 },
        { second: 12, n: 60 }
      ]),
      rowsToBlock(6, 'running', [{ lane: 1, started: 8 }])
    ].forEach(block => ingestBlock(log, block));
    const asked = { now: 14, ended: true };
    expect(ask(log, 'profile', asked)).toMatchObject({
      samples: 1110,
      // The third run lasted from 9 to 13.
      rateHz: 150 / 3
    });
    expect(ask(log, 'profile', { now: 14 }).rateHz).toBe(150 / (3 + 4));
    // A later row of the same run is in its place.
    ingestBlock(
      log,
      rowsToBlock(7, 'runs', [{ run: 3, start: 11, duration: 2 }])
    );
    expect(ask(log, 'profile', asked).rateHz).toBe(150 / 2);
  });

  it('has frames of as many samples by name', () => {
    const log = sampled();
    const load = { second: 0, function: 2, stack: 1, n: 2 };
    ingestBlock(log, rowsToBlock(7, 'samples', [load]));
    expect(drawn(log).slice(2)).toEqual([
      '    fit 6',
      '    load 6',
      '      read 3'
    ]);
  });

  it('ends on a ring of stacks', () => {
    const log = sampled();
    ingestBlock(log, rowsToBlock(7, 'samples', [{ stack: 8, n: 1 }]));
    expect(ask(log, 'profile').samples).toBe(11);
  });
});
