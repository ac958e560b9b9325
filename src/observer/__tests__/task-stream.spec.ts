import fc from 'fast-check';
import { PartKind, RunStatus, SpanOrigin } from '../../records/enumerations';
import { drawRuns } from '../../testing/run-from-text';
import { type Row, rowsToBlock } from '../../testing/rows-to-block';
import { syntheticLog } from '../../testing/synthetic-log';
import type { TableName } from '../../records/tables';
import type {
  Filter,
  TaskStreamResult,
  TimeRange
} from '../../wire/panel-link';
import { ingestBlock } from '../store/ingest';
import { IntervalUnion } from '../store/interval-union';
import { LogStore } from '../store/log-store';
import { ask, contextOf, tile } from './ask';

describe('the task stream', () => {
  const drawing = `
    0/0  aaaa..bb
    0/1  ..cccc..
  `;
  const tasks = {
    a: { span: 'x', function: 'load' },
    b: {
      span: 'x/y',
      function: 'fit',
      parts: [
        { kind: 1, offset: 0, duration: 1 },
        { kind: 4, offset: 1, duration: 0.5 }
      ]
    },
    c: { status: 1 }
  };

  it('has extent, legend, strip, bands and what it hides', () => {
    const result = ask(drawRuns(drawing, { tasks }), 'task-stream', {
      filter: { spans: { any: [{ path: ['x'] }] } }
    });
    expect(result).toMatchObject({
      from: 0,
      to: 8,
      tasks: 2,
      hidden: 1,
      kinds: {
        transfer: 1,
        disk: 0,
        import: 0,
        serialize: 0,
        failed: 0,
        lost: 0
      }
    });
    expect(
      result.functions.map(({ name, seconds }) => [name, seconds])
    ).toEqual([
      ['load', 4],
      ['fit', 2]
    ]);
    const sum = (bins: readonly number[]): number =>
      bins.reduce((total, seconds) => total + seconds, 0);
    expect(sum(result.strip.compute)).toBeCloseTo(4.5);
    expect(sum(result.strip.transfer)).toBeCloseTo(1);
    expect(sum(result.strip.other)).toBeCloseTo(0.5);
    expect(result.bands).toEqual([
      { span: 1, tag: 'x', depth: 0, from: 0, to: 8 },
      { span: 2, tag: 'y', depth: 1, from: 6, to: 8 }
    ]);
    expect(result.workers).toMatchObject([{ name: 'worker-0', busy: 6 }]);
  });

  it('counts every way in which a run that is drawn gave no result, in the range', () => {
    const log = drawRuns('0/0 aabbccddeef', {
      tasks: {
        b: { status: RunStatus.Failed },
        c: { status: RunStatus.Lost },
        d: { status: RunStatus.Cancelled },
        e: { status: RunStatus.Cancelled },
        f: { status: RunStatus.Missing }
      }
    });
    const kinds = (time?: TimeRange) =>
      ask(log, 'task-stream', time === undefined ? {} : { time }).kinds;
    expect(kinds()).toMatchObject({
      failed: 1,
      lost: 1,
      cancelled: 2,
      missing: 1
    });
    expect(kinds({ from: 6.5, to: 7.5 }).cancelled).toBe(1);
    expect(kinds({ from: 0, to: 1 })).not.toHaveProperty('cancelled');
    expect(kinds({ from: 0, to: 1 })).not.toHaveProperty('missing');
  });

  describe('tells where the newest work begins', () => {
    const newestFrom = (
      log: LogStore,
      asked: Parameters<typeof ask>[2] = {}
    ): number | undefined => ask(log, 'task-stream', asked).newestFrom;
    const second = { b: { function: 'fit', span: 'y' } };

    it('after the last pause of 5 s without a task', () => {
      expect(newestFrom(drawRuns('0/0 aaaa'))).toBe(0);
      expect(newestFrom(drawRuns('0/0 aaaa....bb..b'))).toBe(0);
      expect(newestFrom(drawRuns('0/0 aaaa......bb..b'))).toBe(10);
      // On another thread a task ran in the meantime.
      expect(newestFrom(drawRuns('0/0 aaaa......bb\n0/1 ..ccccc'))).toBe(0);
      expect(newestFrom(drawRuns('0/0 aaa......b.b......cc....c......b'))).toBe(
        31
      );
      // It did not stand still while none could begin, but nothing is to be seen of that.
      const late = { a: { waitReady: 8 } };
      expect(newestFrom(drawRuns('0/0 ........aa', { tasks: late }))).toBe(8);
    });

    it('with a task that runs, as soon as it does', () => {
      const log = drawRuns('0/0 aaaa......bb');
      ingestBlock(
        log,
        rowsToBlock(50, 'running', [
          { lane: 0, node: 0, function: 1, span: 0, started: 21 }
        ])
      );
      expect(newestFrom(log, { now: 22 })).toBe(21);
      expect(newestFrom(log, { now: 22, ended: true })).toBe(10);
    });

    it('with no copy of the log’s intervals, of which there may be millions', () => {
      const copy = jest.spyOn(IntervalUnion.prototype, 'copy');
      ask(drawRuns('0/0 aaaa......bb'), 'task-stream');
      expect(copy).not.toHaveBeenCalled();
      copy.mockRestore();
    });

    it('whatever runs: as the union of its intervals with theirs', () => {
      const lane = fc.nat(3);
      const runs = fc.array(
        fc.record({ lane, start: fc.nat(60), duration: fc.nat(6) }),
        { maxLength: 9 }
      );
      const running = fc.array(fc.record({ lane, started: fc.nat(80) }), {
        maxLength: 2
      });
      fc.assert(
        fc.property(runs, running, (ended, going) => {
          const log = new LogStore('drawn');
          const say = (table: TableName, rows: readonly Row[]): void =>
            ingestBlock(log, rowsToBlock(log.seq + 1, table, rows));
          say('workers', [{ worker: 0, threads: 4, left: NaN }]);
          say(
            'lanes',
            [0, 1, 2, 3].map(each => ({ lane: each, worker: 0 }))
          );
          say(
            'runs',
            ended.map((run, i) => ({ ...run, run: i, node: i, cpu: NaN }))
          );
          say(
            'running',
            going.map((each, i) => ({ ...each, node: 100 + i }))
          );
          const { moment } = contextOf(log, { now: 90 });
          const { begin, end } = moment;
          const [stretches, active] = [log.stretches.copy(), log.active.copy()];
          stretches.add(begin, begin + 5);
          for (const { started } of moment.running.values()) {
            stretches.add(started, end + 5);
            active.add(started, end);
          }
          const result = ask(log, 'task-stream', { now: 90 });
          expect(result.newestFrom).toBe(stretches.from(stretches.length - 1));
          expect(result.workers[0]!.capacity).toBeCloseTo(
            4 * active.measure(0, end),
            9
          );
        }),
        { numRuns: 60 }
      );
    });

    it('of what the filter leaves', () => {
      const log = drawRuns('0/0 aaaa..a......bb', { tasks: second });
      expect(newestFrom(log)).toBe(13);
      expect(newestFrom(log, { filter: { functions: ['fit'] } })).toBe(13);
      // (not where its own last task began: others ran before that without a pause)
      expect(newestFrom(log, { filter: { functions: ['inc'] } })).toBe(0);
      expect(newestFrom(log, { filter: { functions: ['no such'] } })).toBe(13);
    });
  });

  it('shows what runs, which nothing before is settled past', () => {
    const log = drawRuns(drawing, { tasks });
    ingestBlock(
      log,
      rowsToBlock(50, 'running', [
        { lane: 1, node: 0, function: 1, span: 1, started: 6.5 }
      ])
    );
    ingestBlock(log, rowsToBlock(51, 'events', [{ t: 12 }]));
    const live = ask(log, 'task-stream', { now: 20 });
    expect(live).toMatchObject({ to: 20, now: 20, settledBefore: 6.5 });
    expect(live.running).toMatchObject([
      { laneIndex: 1, key: 'load-a', started: 6.5 }
    ]);
    expect(live.othersRunning).toBe(0);
    // One of another function, and one of which nobody knows how it will end.
    for (const filter of [
      { functions: ['other'] },
      { status: ['ok' as const] }
    ]) {
      expect(ask(log, 'task-stream', { now: 20, filter })).toMatchObject({
        running: [],
        othersRunning: 1
      });
    }
    ingestBlock(
      log,
      rowsToBlock(52, 'running', [{ lane: 1, node: 0xffffffff }])
    );
    expect(ask(log, 'task-stream', { now: 20 })).toMatchObject({
      to: 8,
      running: [],
      settledBefore: 10
    });
    expect(ask(log, 'task-stream', { ended: true }).live).toBe(false);
  });
});

describe('what runs', () => {
  const runs = { lane: 0, node: 0, started: 8 };

  it('counts what is in the chosen range, and names all that the chart shows', () => {
    const log = drawRuns(
      `
      0/0 aaaa..bbbb
      0/1 ..cc......
    `,
      {
        tasks: {
          a: {
            function: 'load',
            parts: [
              { kind: PartKind.Transfer, offset: 0, duration: 1 },
              { kind: PartKind.Compute, offset: 1, duration: 3 }
            ]
          },
          b: { function: 'fit' },
          c: { function: 'add', status: 1 }
        }
      }
    );
    for (const [time, load, fit, add, failed, transfer] of [
      ['all', 4, 4, 2, 1, 1],
      [{ from: 3, to: 8 }, 1, 2, 1, 1, 0],
      [{ from: 6, to: 7 }, 0, 1, 0, 0, 0],
      [{ last: 4 }, 0, 4, 0, 0, 0]
    ] as const) {
      const result = ask(log, 'task-stream', { time, ended: true });
      const seconds = new Map(
        result.functions.map(each => [each.name, each.seconds])
      );
      expect(['load', 'fit', 'add'].map(name => seconds.get(name))).toEqual([
        load,
        fit,
        add
      ]);
      expect(result.kinds).toMatchObject({ failed, transfer });
      // With nothing in the range by what they have in the run.
      if (load === 0) {
        expect([...seconds.keys()]).toEqual(['fit', 'load', 'add']);
      }
      // The rest is of the run, which the chart shows whole.
      expect(result).toMatchObject({
        from: 0,
        to: 10,
        tasks: 3,
        executions: 3
      });
      const fine = ask(log, 'fine-metrics', { time, ended: true });
      for (const { function: name, total } of fine.byFunction) {
        expect(seconds.get(name)).toBeCloseTo(total, 9);
      }
    }
  });

  it('has the colour of its function before a task of that has ended', () => {
    const log = drawRuns('0/0 aaaa', { tasks: { a: { function: 'load' } } });
    const fit = 999;
    ingestBlock(log, rowsToBlock(49, 'names', [{ id: fit, text: 'fit' }]));
    ingestBlock(
      log,
      rowsToBlock(50, 'running', [{ ...runs, function: fit, span: 1 }])
    );
    const live = ask(log, 'task-stream', { now: 20 });
    const { slot } = log.slots.of('fit');
    expect(slot).toBeGreaterThanOrEqual(0);
    expect(live.functions).toMatchObject([
      { name: 'load', executions: 1 },
      { name: 'fit', slot, seconds: 0, executions: 0 }
    ]);
    // Not where it is hidden.
    const filter = { functions: ['load'] };
    expect(ask(log, 'task-stream', { now: 20, filter }).functions).toHaveLength(
      1
    );
    ingestBlock(
      log,
      rowsToBlock(51, 'runs', [
        { run: 9, lane: 0, start: 8, duration: 9, function: fit, span: 1 }
      ])
    );
    expect(ask(log, 'task-stream', { now: 20 }).functions[0]).toMatchObject({
      name: 'fit',
      slot,
      executions: 1
    });
  });

  it('runs for the first time if no task of its function has ended anywhere, whatever is selected', () => {
    const log = drawRuns('0/0 aaaa', { tasks: { a: { function: 'load' } } });
    const [load, fit] = [log.held.function(0), 999];
    ingestBlock(log, rowsToBlock(49, 'names', [{ id: fit, text: 'fit' }]));
    const lanes = [2, 3].map(lane => ({ lane, worker: 1, thread: lane }));
    ingestBlock(log, rowsToBlock(50, 'lanes', lanes));
    const going = [load, fit].map((fn, i) => ({
      ...runs,
      lane: 2 + i,
      function: fn
    }));
    ingestBlock(log, rowsToBlock(51, 'running', going));
    for (const filter of [{}, { workers: [1] }, { functions: ['load'] }]) {
      const { functions } = ask(log, 'task-stream', { now: 20, filter });
      const firsts = functions.filter(({ isFirst }) => isFirst);
      expect(firsts.map(({ name }) => name)).toEqual(
        'functions' in filter ? [] : ['fit']
      );
    }
    // Of the selection nothing has ended.
    expect(
      ask(log, 'task-stream', { now: 20, filter: { workers: [1] } }).functions
    ).toMatchObject([
      { name: 'fit', executions: 0, isFirst: true },
      { name: 'load', executions: 0 }
    ]);
  });

  it('ends with the run that tells its end, and with its worker', () => {
    const log = drawRuns('0/0 aaaa');
    ingestBlock(log, rowsToBlock(50, 'running', [runs]));
    expect(log.shape.running.size).toBe(1);
    ingestBlock(
      log,
      rowsToBlock(51, 'runs', [{ run: 9, lane: 0, start: 8, duration: 1 }])
    );
    expect(log.shape.running.size).toBe(0);
    ingestBlock(log, rowsToBlock(52, 'running', [runs]));
    expect(log.shape.running.size).toBe(0);
    ingestBlock(log, rowsToBlock(53, 'running', [{ ...runs, started: 10 }]));
    expect(log.shape.running.size).toBe(1);
    ingestBlock(
      log,
      rowsToBlock(54, 'workers', [{ worker: 0, threads: 1, left: 12 }])
    );
    expect(log.shape.running.size).toBe(0);
  });
});

describe('functions', () => {
  it('are named up to 200, first those that run and those with a colour, and the others are added up', () => {
    const log = new LogStore('many');
    const COUNT = 300;
    // Each later one has run for longer: the colours are those of the shortest, and of the heaviest of all.
    const ids = Array.from({ length: COUNT }, (_, i) => i + 1);
    const fresh = COUNT + 1;
    ingestBlock(
      log,
      rowsToBlock(
        1,
        'names',
        [...ids, fresh].map(id => ({ id, text: `f${id}` }))
      )
    );
    ingestBlock(
      log,
      rowsToBlock(
        2,
        'runs',
        ids.map(id => ({
          run: id,
          lane: 0,
          function: id,
          start: id * COUNT,
          duration: id,
          cpu: NaN
        }))
      )
    );
    ingestBlock(
      log,
      rowsToBlock(3, 'running', [
        {
          run: 999,
          lane: 1,
          function: fresh,
          span: 1,
          started: COUNT * COUNT + 400
        }
      ])
    );
    const { functions, otherFunctions } = ask(log, 'task-stream', {
      now: COUNT * COUNT + 500
    });
    expect(functions).toHaveLength(200);
    const named = new Set(functions.map(({ name }) => name));
    const coloured = ids.filter(id => log.slots.of(`f${id}`).slot >= 0);
    expect(coloured[0]).toBe(1);
    expect(coloured.filter(id => !named.has(`f${id}`))).toEqual([]);
    expect(functions.at(-1)).toMatchObject({ name: `f${fresh}`, seconds: 0 });
    const left = ids.filter(id => !named.has(`f${id}`));
    // (the longest of those without a colour are named)
    expect(left).toEqual(
      ids.filter(id => !coloured.includes(id)).slice(0, left.length)
    );
    expect(otherFunctions).toEqual({
      functions: COUNT + 1 - 200,
      seconds: expect.closeTo(
        left.reduce((sum, id) => sum + id, 0),
        3
      ),
      executions: left.length
    });
    // Of a selection that has less, none is left out.
    const few = ask(log, 'task-stream', {
      now: COUNT * COUNT + 500,
      filter: { functions: ['f1', 'f2'] }
    });
    expect(few.functions).toHaveLength(2);
    expect(few.otherFunctions).toBeUndefined();
  });
});

describe('lanes', () => {
  /** Ids as a source gives them; the task stream counts lanes from 0 as they appear. */
  const first = { lane: 7, worker: 4, thread: 1 };
  const second = { lane: 3, worker: 5, thread: 0 };
  const log = new LogStore('ids');
  const blocks: [TableName, Row[]][] = [
    ['names', [{ id: 1, text: 'inc' }]],
    [
      'workers',
      [
        { worker: 4, threads: 2, left: NaN, name: 'four' },
        { worker: 5, threads: 1, left: NaN, name: 'five' }
      ]
    ],
    ['lanes', [first, second]],
    [
      'runs',
      [
        // A cell of level 10 is 1.024 ms: one run is a box there, the other one a covered cell.
        { run: 1, lane: 3, function: 1, start: 0, duration: 0.01 },
        { run: 2, lane: 7, function: 1, start: 0.0205, duration: 0.0005 }
      ]
    ],
    ['parts', [{ run: 1, held: 0, kind: 1, function: 1, duration: 0.004 }]],
    ['running', [{ lane: 3, function: 1, started: 0.03 }]]
  ];
  blocks.forEach(([table, rows], i) =>
    ingestBlock(log, rowsToBlock(i + 1, table, rows))
  );
  const workerOf = (result: TaskStreamResult, laneIndex: number) =>
    result.lanes[laneIndex]?.worker;

  it('are counted as they appear, whatever their ids', () => {
    const result = ask(log, 'task-stream', { now: 1 });
    expect(result.lanes).toEqual([
      { laneIndex: 0, worker: 4, thread: 1 },
      { laneIndex: 1, worker: 5, thread: 0 }
    ]);
    expect(result.running).toMatchObject([{ laneIndex: 1 }]);
    expect(result.workers).toMatchObject([
      { worker: 4, busy: expect.closeTo(0.0005) },
      { worker: 5, busy: expect.closeTo(0.01) }
    ]);
  });

  it.each([
    ['of any run', {}, [4, 5, 5]],
    ['of a function', { functions: ['inc'] }, [4, 5, 5]],
    ['of a worker', { workers: [5] }, [5, 5]]
  ])('have the boxes %s under their index', (_, filter, workers) => {
    const result = ask(log, 'task-stream', { now: 1, filter });
    const { laneIndex } = tile(log, 10, 0, filter).columns;
    expect([...laneIndex].map(each => workerOf(result, each)).sort()).toEqual(
      workers
    );
  });
});

describe('bands', () => {
  it('are those of all spans in which something ran, even if it took no time', () => {
    const log = new LogStore('log');
    const ids = Array.from({ length: 303 }, (_, i) => i + 1);
    const run = (id: number): Row => ({ run: id, span: id, start: id });
    ingestBlock(
      log,
      rowsToBlock(
        1,
        'spans',
        ids.map(id => ({ id }))
      )
    );
    ingestBlock(log, rowsToBlock(2, 'runs', ids.slice(2).map(run)));
    const { bands, bandsLeftOut } = ask(log, 'task-stream');
    expect(bands.map(({ span }) => span)).toEqual(ids.slice(2));
    expect(bands[0]).toMatchObject({ from: 3, to: 3 });
    expect(bandsLeftOut).toBeUndefined();
  });

  it('are of 1,000 spans at most, in the range first, of these the longest, and the others are counted', () => {
    const log = new LogStore('log');
    // Span 1 is around the odd ones.
    const ids = Array.from({ length: 1200 }, (_, i) => i + 1);
    ingestBlock(
      log,
      rowsToBlock(
        1,
        'spans',
        ids.map(id => ({ id, parent: id % 2 === 1 && id > 1 ? 1 : 0 }))
      )
    );
    ingestBlock(
      log,
      rowsToBlock(
        2,
        'runs',
        ids.slice(1).map(id => ({ run: id, span: id, start: id, duration: id }))
      )
    );
    const longest = ask(log, 'task-stream');
    expect(longest.bandsLeftOut).toBe(200);
    expect(longest.bands.map(({ span }) => span)).toEqual([
      1,
      ...ids.slice(201)
    ]);
    const early = ask(log, 'task-stream', { time: { from: 0, to: 100 } });
    expect(early.bandsLeftOut).toBe(200);
    expect(early.bands.map(({ span }) => span)).toEqual([
      ...ids.slice(0, 100),
      ...ids.slice(300)
    ]);
  });

  it('fit into a message, whatever spans are called', () => {
    const letters = Array.from({ length: 200 }, (_, i) =>
      String.fromCodePoint(0x4e00 + i)
    );
    const log = drawRuns(`0/0 ${letters.join('')}`, {
      tasks: Object.fromEntries(
        letters.map((letter, i) => [
          letter,
          { span: String(i).padEnd(1000, 'x') }
        ])
      )
    });
    const { bands, bandsLeftOut } = ask(log, 'task-stream');
    expect(bands).toHaveLength(131);
    expect(bandsLeftOut).toBe(69);
    expect(JSON.stringify(bands).length).toBeLessThan(2 ** 18);
  });

  it.each([
    ['spans', { spans: { any: [{ tag: 'b' }] } }, ['a', 'b']],
    ['not of a span', { spans: { not: [{ tag: 'b' }] } }, ['a', 'c', 'e']],
    ['a function', { functions: ['dec'] }, ['a', 'c']],
    ['a worker', { workers: [1] }, ['e']],
    ['a status', { status: ['failed'] }, ['a', 'b']],
    ['no task', { functions: ['none'] }, []]
  ] satisfies [string, Filter, string[]][])(
    'are of the selection and what is around it (%s)',
    (_, filter, tags) => {
      const log = drawRuns('0/0 aabbcc\n1/0 ee', {
        tasks: {
          a: { span: 'a' },
          b: { span: 'a/b', status: RunStatus.Failed },
          c: { span: 'a/c', function: 'dec' },
          e: { span: 'e' }
        }
      });
      const { bands } = ask(log, 'task-stream', { filter });
      expect(bands.map(({ tag }) => tag)).toEqual(tags);
    }
  );

  it('leave out the notebook and the cell, which are around all that they compute', () => {
    const log = new LogStore('log');
    const { Notebook, Cell, User } = SpanOrigin;
    ingestBlock(
      log,
      rowsToBlock(1, 'spans', [
        { id: 1, origin: Notebook },
        { id: 2, parent: 1, origin: Cell },
        { id: 3, parent: 2, origin: User },
        { id: 4, origin: User },
        { id: 5, parent: 4, origin: User }
      ])
    );
    ingestBlock(
      log,
      rowsToBlock(
        2,
        'runs',
        [1, 2, 3, 4, 5].map(id => ({ run: id, span: id, start: id }))
      )
    );
    const { bands } = ask(log, 'task-stream');
    expect(bands.map(({ span, depth }) => [span, depth])).toEqual([
      [3, 0],
      [4, 0],
      [5, 1]
    ]);
  });
});

describe('a log beyond its bound', () => {
  const runs = 200_000;
  const log = new LogStore('long', { runs: 70_000 });
  beforeAll(() => {
    for (const block of syntheticLog({
      runs,
      workers: 1,
      threadsPerWorker: 2,
      functions: 3,
      spans: 2,
      meanMilliseconds: 1,
      partsShare: 0
    })) {
      ingestBlock(log, block);
    }
  });

  it('keeps the newest rows, exact totals, and says what it dropped', () => {
    expect(log.runs.length).toBeLessThanOrEqual(70_000);
    expect(log.droppedRuns).toBe(runs - log.runs.length);
    expect(log.gaps).toMatchObject([{ table: 9, rows: log.droppedRuns }]);
    const summary = ask(log, 'summary');
    const own = summary.spans.reduce((sum, row) => sum + row.ownNanoseconds, 0);
    expect(own).toBe(summary.totalNanoseconds);
    expect(summary.spans.reduce((sum, row) => sum + row.ownTasks, 0)).toBe(
      runs
    );
  });

  it('still shows where its lanes were busy', () => {
    const level = Math.ceil(Math.log2((log.lastStop * 1e6) / 512));
    const { columns } = tile(log, level, 0);
    const cell = 2 ** level / 1e6;
    let covered = 0;
    columns.from.forEach((from, i) => {
      // (marks of failed runs lie over their cells)
      const share = columns.cover[i] === 255 ? 0 : columns.cover[i]! / 255;
      covered += (columns.to[i]! - from) * cell * share;
    });
    expect(covered / (log.totalNanoseconds / 1e9)).toBeCloseTo(1, 1);
  });
});
