import { blockRows } from '../store/block-rows';
import type { BlockRows } from '../store/column-table';
import { ingestBlock, ingestBroken } from '../store/ingest';
import { TRANSFER } from '../store/activity-cells';
import { LogStore, STATUS_REPLACED } from '../store/log-store';
import { NONE_U32, PartKind } from '../../records/enumerations';
import type { LaneIndex, SpanId } from '../../records/ids';
import { TABLES, type TableName } from '../../records/tables';
import { SeededRandom } from '../../base/seeded-random';
import {
  drawCluster,
  TICK,
  TICKS,
  toldToSource
} from '../../testing/drawn-cluster';
import { idOf } from '../../testing/ids';
import { rowsToBlock, type Row } from '../../testing/rows-to-block';
import { ask } from './ask';

function logWith(
  ...tables: readonly (readonly [TableName, readonly Row[]])[]
): LogStore {
  const log = new LogStore('log');
  add(log, ...tables);
  return log;
}

function add(
  log: LogStore,
  ...tables: readonly (readonly [TableName, readonly Row[]])[]
): void {
  for (const [table, rows] of tables) {
    ingestBlock(log, rowsToBlock(log.seq + 1, table, rows));
  }
}

/** A row of its own for each row of a block of numbers. */
function split(block: BlockRows): BlockRows[] {
  return Array.from({ length: block.rows }, (_, i) => ({
    ...block,
    rows: 1,
    columns: Object.fromEntries(
      Object.entries(block.columns).map(([name, column]) => [
        name,
        column.slice(i, i + 1)
      ])
    )
  }));
}

describe('runs and their parts', () => {
  it('give the same answers in whatever blocks they come', () => {
    for (const seed of [1, 2]) {
      const blocks = toldToSource(drawCluster(seed)).map(blockRows);
      const [log, scattered] = [new LogStore('log'), new LogStore('log')];
      blocks.forEach(block => ingestBlock(log, block));
      const random = new SeededRandom(seed);
      const others = blocks.filter(
        ({ table }) =>
          table !== 'runs' && table !== 'parts' && table !== 'running'
      );
      const rows = (table: TableName): BlockRows[] =>
        blocks.filter(block => block.table === table).flatMap(split);
      const [runs, parts, running] = [
        rows('runs'),
        rows('parts'),
        rows('running')
      ];
      const order = [...others];
      while (runs.length + parts.length > 0) {
        const from = runs.length > 0 && random.chance(0.4) ? runs : parts;
        order.push(...(from.length > 0 ? from : runs).splice(0, 1));
      }
      [...order, ...running].forEach((block, i) =>
        ingestBlock(scattered, { ...block, seq: i + 1 })
      );
      const now = TICKS * TICK;
      for (const view of [
        'spans',
        'tasks',
        'records',
        'fine-metrics',
        'task-stream',
        'summary'
      ] as const) {
        const filters = [
          {},
          { functions: ['load', 'outer'] },
          { workers: [9] }
        ];
        for (const filter of filters) {
          const params = { limit: 500, entries: true };
          const of = (each: LogStore): unknown => {
            const answer: Record<string, unknown> = {
              ...ask(each, view, { now, filter, params })
            };
            // In the order in which functions and kinds were met.
            const { entries, background } = answer;
            for (const [name, list] of Object.entries({
              entries,
              background
            })) {
              if (Array.isArray(list)) {
                answer[name] = list.map(row => JSON.stringify(row)).sort();
              }
            }
            return JSON.parse(
              JSON.stringify(answer, (key, value: unknown) =>
                key === 'slot' || key === 'round' ? undefined : value
              )
            );
          };
          expect(of(scattered)).toEqual(of(log));
        }
      }
    }
  });

  it('are replaced by a later row of the run, parts and all', () => {
    const part = {
      run: 7,
      kind: PartKind.Compute,
      held: 1,
      function: 3,
      span: 2,
      duration: 0.25,
      cpu: 0.125
    };
    const row = { run: 7, lane: 0, function: 4, span: 1, start: 1, cpu: 0.5 };
    const log = logWith(
      ['parts', [part]],
      ['runs', [{ ...row, duration: 0.5, status: 1 }]],
      ['runs', [{ ...row, duration: 0.75 }]]
    );
    const once = logWith(
      ['parts', [part]],
      ['runs', [{ ...row, duration: 0.75 }]]
    );
    const of = ({ held, runCount, totalNanoseconds }: LogStore): unknown => ({
      runCount,
      totalNanoseconds,
      cells: [1, 2].flatMap(span =>
        [3, 4].map(fn => {
          const cell = held.cell(idOf<SpanId>(span), fn);
          return [
            held.runs(cell),
            held.failed(cell),
            held.executions(cell),
            held.totalNanoseconds(cell),
            held.nanoseconds(cell, 0)
          ];
        })
      )
    });
    expect(of(log)).toEqual(of(once));
    expect(log.runs.chunkOf(0)!.columns.status[0]).toBe(STATUS_REPLACED);
    expect(log.runRows.get(7)).toBe(1);
    expect(ask(log, 'tasks').rows.map(({ duration }) => duration)).toEqual([
      0.75
    ]);
  });

  it('keep when tasks were unfinished and when they waited, and whether a lane is in order', () => {
    const run = { lane: 5, duration: 2 };
    const log = logWith([
      'runs',
      [
        {
          ...run,
          run: 1,
          start: 10,
          waitReady: 3,
          waitInputs: 2,
          waitThread: 1
        },
        { ...run, run: 2, start: 12 },
        {
          ...run,
          run: 3,
          start: 20,
          waitReady: NaN,
          waitInputs: NaN,
          waitThread: 2
        },
        // It could not begin: it was on no lane.
        { run: 4, lane: 5, start: 11, waitReady: 9, waitThread: NaN, status: 3 }
      ]
    ]);
    const listed = (of: LogStore['active']): unknown =>
      Array.from({ length: of.length }, (_, i) => [of.from(i), of.to(i)]);
    expect(listed(log.active)).toEqual([
      [4, 14],
      [18, 22]
    ]);
    expect(listed(log.waiting)).toEqual([
      [9, 10],
      [18, 20]
    ]);
    expect([log.firstStart, log.lastStop, log.now]).toEqual([10, 22, 22]);
    const index = 0 as LaneIndex;
    expect(log.laneStops[index]).toBe(22);
    expect(log.laneDisorder[index]).toBeUndefined();
    // Less than what float32 loses of a duration.
    add(log, ['runs', [{ ...run, run: 5, start: 22 - 2e-6 }]]);
    expect(log.laneDisorder[index]).toBeUndefined();
    add(log, ['runs', [{ ...run, run: 6, start: 23 }]]);
    expect(log.laneDisorder[index]).toBe(true);
    expect(log.laneStops[index]).toBe(25);
    add(log, ['runs', [{ ...run, run: 7, start: 1 }]]);
    expect(log.laneStops[index]).toBe(25);
    // What it waited for is not known.
    add(log, ['runs', [{ ...run, run: 8, start: 40, waitThread: NaN }]]);
    expect(listed(log.active)).toContainEqual([40, 42]);
  });

  it('find disorder however long the log is', () => {
    const log = logWith([
      'runs',
      [0, 1.5].map((from, i) => ({ run: i, start: 1e6 + from, duration: 2 }))
    ]);
    expect(log.laneDisorder[0 as LaneIndex]).toBe(true);
  });

  it('take no time while that is not known', () => {
    const part = { run: 7, kind: PartKind.Transfer, duration: 0.25 };
    const log = logWith(
      ['runs', [{ run: 7, duration: NaN }]],
      ['parts', [{ ...part, held: 1 }]],
      ['runs', [{ run: 7, duration: 1 }]]
    );
    expect(log.totalNanoseconds).toBe(1e9);
    expect(log.held.totalNanoseconds(0)).toBe(1e9);
  });

  it('are tied together if parts of a run that is here come with those of one that is not', () => {
    const runs = [1, 2].map(id => ({ run: id, start: id, duration: 1 }));
    const parts = [2, 1, 2, 1].map((id, i) => ({
      run: id,
      kind: PartKind.Transfer,
      offset: i / 8,
      duration: 1 / 8,
      bytes: 2 ** i
    }));
    const [ahead, between] = [
      logWith(['runs', runs], ['parts', parts]),
      logWith(
        ['runs', runs.slice(0, 1)],
        ['parts', parts],
        ['runs', runs.slice(1)]
      )
    ];
    const of = ({
      background,
      partClasses,
      parts: table
    }: LogStore): unknown => {
      const cell = background.cell(idOf<SpanId>(0), 0);
      return [
        background.events(cell, TRANSFER),
        background.bytes(cell, TRANSFER),
        background.totalNanoseconds(cell),
        [1, 1.5, 2, 2.5, 3].map(to => partClasses.of(16).count(to - 0.5, to)),
        [...table.chunkOf(0)!.columns.runRow.subarray(0, 4)]
      ];
    };
    expect(of(between)).toEqual(of(ahead));
    expect(between.parts.chunkOf(0)!.columns.runRow[0]).toBe(2);
  });
});

describe('what is said to run', () => {
  const going = { lane: 3, node: 8, function: 2, span: 1 };

  it('has ended when its run is there, and does not begin again before that', () => {
    const log = logWith(['running', [{ ...going, started: 5 }]]);
    expect([...log.shape.running]).toEqual([
      [3, { node: 8, function: 2, span: 1, started: 5 }]
    ]);
    expect(log.now).toBe(5);
    add(log, ['runs', [{ run: 1, lane: 3, start: 2, duration: 2 }]]);
    expect(log.shape.running.size).toBe(1);
    add(log, ['runs', [{ run: 2, lane: 3, start: 5, duration: 4 }]]);
    expect(log.shape.running.size).toBe(0);
    // It took no time at all.
    add(log, ['running', [{ ...going, started: 9 }]]);
    expect(log.shape.running.size).toBe(1);
    add(log, ['runs', [{ run: 3, lane: 3, start: 9 }]]);
    expect(log.shape.running.size).toBe(0);
    // Told late, by a report that was on its way.
    add(log, ['running', [{ ...going, started: 8.9 }]]);
    expect(log.shape.running.size).toBe(0);
    add(log, ['running', [{ ...going, started: 9 - 5e-7 }]]);
    expect(log.shape.running.size).toBe(1);
    add(log, ['running', [{ ...going, node: NONE_U32, started: 9 }]]);
    expect(log.shape.running.size).toBe(0);
    expect(log.now).toBe(9);
  });

  it('is given up whichever is told first, as long as the same run goes on', () => {
    const given = { lane: 3, started: 5, t: 7 };
    const log = logWith(
      ['running', [{ ...going, started: 5 }]],
      ['givenUp', [given]]
    );
    const late = logWith(
      ['givenUp', [given]],
      ['running', [{ ...going, started: 5 }]]
    );
    for (const each of [log, late]) {
      expect(each.shape.running.get(idOf(3))?.givenUp).toBe(7);
      expect(each.shape.givenUpCount).toBe(1);
      expect(each.now).toBe(7);
      add(each, ['running', [{ ...going, started: 8 }]]);
      expect(each.shape.running.get(idOf(3))?.givenUp).toBeUndefined();
      // Told of the one before, which has ended.
      add(each, ['givenUp', [{ ...given, started: 6 }]]);
      expect(each.shape.givenUpCount).toBe(0);
      // Told of one that goes on, then of the one before once more, with its end.
      add(each, ['givenUp', [{ ...given, started: 9, t: 10 }]]);
      add(each, ['givenUp', [{ ...given, started: 6.5 }]]);
      add(each, ['running', [{ ...going, started: 9 }]]);
      expect(each.shape.running.get(idOf(3))?.givenUp).toBe(10);
    }
  });

  it('does not outlast its worker, of whose end the same batch tells first', () => {
    const worker = (number: number, joined: number, left: number): Row => ({
      ...{ worker: number, pid: 1, threads: 1, memoryLimit: 0 },
      ...{ joined, left, name: '', address: '', host: '', why: '' }
    });
    // Tables are sealed in the order of their numbers: of a process that was killed in its task, its end comes before what it ran.
    const log = logWith(
      ['workers', [worker(1, 0, NaN), worker(2, 0, NaN), worker(1, 0, 6)]],
      [
        'lanes',
        [
          { lane: 3, worker: 1, thread: 0 },
          { lane: 4, worker: 2, thread: 0 }
        ]
      ],
      [
        'running',
        [
          { ...going, started: 5 },
          { ...going, lane: 4, started: 5.5 }
        ]
      ]
    );
    expect([...log.shape.running.keys()]).toEqual([4]);
    expect(log.shape.threads).toBe(1);
    // Its number is given to another one.
    add(
      log,
      ['workers', [worker(1, 7, NaN)]],
      ['running', [{ ...going, started: 8 }]]
    );
    expect([...log.shape.running.keys()]).toEqual([4, 3]);
  });
});

describe('a block', () => {
  it('counts once, by its number, and by its table', () => {
    const log = logWith(
      ['names', [{ id: 1, text: 'a' }]],
      ['names', [{ id: 2, text: 'b' }]],
      ['lanes', [{ lane: 1, worker: 2, thread: 3 }]]
    );
    expect(log.seq).toBe(3);
    ingestBlock(log, rowsToBlock(3, 'names', [{ id: 1, text: 'again' }]));
    expect(log.name(1)).toBe('a');
    ingestBlock(log, rowsToBlock(9, 'names', [{ id: 1, text: 'later' }]));
    expect([log.seq, log.name(1)]).toEqual([9, 'later']);
    expect(log.namesVersion).toBe(3);
    expect([...log.blocks]).toEqual([
      ['names', 3],
      ['lanes', 1]
    ]);
  });

  it('of names leaves out those for which there is no room', () => {
    const log = logWith(['names', [{ id: 1, text: 'a' }]]);
    for (let id = 1; id <= TABLES.names.bound.rows; id++) {
      log.names.set(id, 'f');
    }
    const { size } = log.names;
    add(log, [
      'names',
      [
        { id: size + 1, text: 'no room' },
        { id: 2, text: 'known' }
      ]
    ]);
    expect(log.names.size).toBe(size);
    expect([log.name(2), log.name(size + 1)]).toEqual(['known', 'other']);
  });

  it('that cannot be read is a gap, and counts as its place if it is the next', () => {
    const log = logWith(['memory', [{ t: 7 }]]);
    ingestBroken(log, 5, 'no block');
    expect([log.seq, log.lostBefore]).toEqual([1, 7]);
    add(log, ['memory', [{ t: 9 }]]);
    ingestBroken(log, 3, 'no block');
    expect([log.seq, log.lostBefore]).toEqual([3, 9]);
    expect(log.gaps).toEqual([
      { table: 0, from: 7, to: 9, rows: 0, why: 'no block' }
    ]);
  });
});

describe('the rows of a table', () => {
  it('are kept with each of their columns', () => {
    const worker = {
      worker: 4,
      pid: 11,
      threads: 2,
      memoryLimit: 99,
      joined: 1,
      left: NaN,
      name: 'four',
      address: 'tcp://4',
      host: 'box',
      why: 'well'
    };
    const other = { ...worker, worker: 5, name: '', why: 'gone', left: 3 };
    const recorded = {
      run: 3,
      measure: 1,
      interval: 0.5,
      start: 2,
      stopped: 4,
      label: 'first'
    };
    const log = logWith(
      ['header', [{ json: '{"a": 1}' }, { json: '{"a": 2}' }]],
      ['names', [{ id: 1, text: 'process' }]],
      ['workers', [worker, other]],
      ['lanes', [{ lane: 6, worker: 4, thread: 1, ident: 70, since: 2 }]],
      ['memoryRuns', [recorded, { ...recorded, run: 4, label: '' }]]
    );
    expect(log.header).toEqual({ a: 2 });
    expect([...log.shape.workers.values()]).toEqual([worker, other]);
    expect(log.shape.lanes).toEqual([{ lane: 6, worker: 4, thread: 1 }]);
    expect(log.shape.laneThreads.of(idOf(6), 2)).toBe(70);
    expect([...log.memoryRuns.values()]).toEqual([
      { ...recorded, measure: 'process' },
      { ...recorded, measure: 'process', run: 4, label: '' }
    ]);
    add(log, ['header', [{ json: 'null' }]], ['header', [{ json: '7' }]]);
    expect(log.header).toEqual({ a: 2 });
  });

  it('are the newest that any time was told of', () => {
    for (const [table, row] of [
      ['capacity', { t: 5, worker: 1 }],
      ['nodes', { submitted: 5 }],
      ['memory', { t: 5 }],
      ['events', { t: 5 }],
      ['running', { started: 5 }]
    ] as const) {
      const log = logWith([table, [row]]);
      expect([table, log.now, log.gaps]).toEqual([table, 5, []]);
      const earlier = Object.fromEntries(
        Object.entries(row).map(([name, value]) => [name, value - 1])
      );
      add(log, [table, [earlier]]);
      expect([table, log.now]).toEqual([table, 5]);
    }
  });

  it('say what the source could not keep', () => {
    const { number } = TABLES.runs;
    const gap = { table: number, from: 1, to: 4, rows: 7, why: 'full' };
    const log = logWith(['gaps', [gap]]);
    expect([log.lostRuns, log.lostBefore]).toEqual([7, 4]);
    const others = { ...gap, table: TABLES.parts.number, rows: 9, to: 3 };
    add(log, ['gaps', [others]]);
    expect([log.lostRuns, log.lostBefore]).toEqual([7, 4]);
    add(log, ['gaps', [{ ...gap, from: 5, to: 6, rows: 1 }]]);
    expect([log.lostRuns, log.lostBefore]).toEqual([8, 6]);
    expect(log.gaps).toEqual([
      gap,
      others,
      { ...gap, from: 5, to: 6, rows: 1 }
    ]);
    const why = 'more sums than are kept';
    const sums = { table: TABLES.fine.number, from: 7, to: 7, rows: 2, why };
    add(log, ['gaps', [sums, { ...sums, from: 9, to: 9, rows: 3 }]]);
    expect(log.lostSums).toEqual({ rows: 5, from: 7 });
    // They are those from then on, and of any time.
    expect([log.lostRuns, log.lostBefore]).toEqual([8, 6]);
  });

  it('of events say how a run failed, and why a worker paused last', () => {
    const log = logWith(
      [
        'names',
        ['task-failed', 'paused', 'resumed', 'other'].map((text, id) => ({
          id,
          text
        }))
      ],
      [
        'events',
        [
          { kind: 0, run: 5, worker: 1 },
          { kind: 3, run: 5, worker: 2 },
          { kind: 0, run: NONE_U32, worker: 1 },
          { kind: 1, run: NONE_U32, worker: 1 },
          { kind: 1, run: NONE_U32, worker: 2 },
          { kind: 2, run: NONE_U32, worker: 1 }
        ]
      ]
    );
    expect([log.failureRows.get(5), log.failureRows.get(6)]).toEqual([0, -1]);
    expect(log.failureRows.get(NONE_U32)).toBe(-1);
    expect([...log.pauseRows]).toEqual([[2, 4]]);
    add(log, ['events', [{ kind: 1, run: NONE_U32, worker: 2 }]]);
    expect([...log.pauseRows]).toEqual([[2, 6]]);
    add(log, ['events', [{ kind: 3, run: NONE_U32, worker: 2 }]]);
    expect([...log.pauseRows]).toEqual([[2, 6]]);
  });

  it('are appended where folds look for them', () => {
    for (const table of [
      'nodes',
      'edges',
      'runs',
      'parts',
      'fine',
      'totals',
      'stacks',
      'frames',
      'samples',
      'memory',
      'stored',
      'memorySamples',
      'transfers',
      'system',
      'events'
    ] as const) {
      const log = logWith([table, [{}, {}]], [table, [{}]]);
      expect([table, log[table].length]).toEqual([table, 3]);
    }
    const log = logWith(
      ['stacks', [{ stack: 7 }, { stack: 9 }]],
      ['frames', [{ frame: 4 }, { frame: 3 }]]
    );
    expect([log.stackRows.get(9), log.frameRows.get(3)]).toEqual([1, 1]);
  });

  it('of nodes name groups, and begin the run', () => {
    const log = logWith([
      'nodes',
      [
        { node: 1, group: 5, submitted: 4 },
        { node: 2, group: 5, submitted: 3 },
        { node: 3, group: 6, submitted: 8 },
        { node: 4, group: 5, submitted: 8 }
      ]
    ]);
    expect([...log.groupNames]).toEqual([5, 6]);
    expect([log.firstSubmitted, log.now]).toEqual([3, 8]);
    expect(log.figures.tasks(idOf<SpanId>(0))).toBe(4);
  });
});
