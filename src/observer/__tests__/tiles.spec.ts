import fc from 'fast-check';
import { BoxKind, PartKind, RunStatus } from '../../records/enumerations';
import type { LaneId } from '../../records/ids';
import { drawRuns } from '../../testing/run-from-text';
import { failingRuns } from '../../testing/failing-runs';
import { rowsToBlock } from '../../testing/rows-to-block';
import { compileFilter } from '../filter';
import { complete } from '../folds/context';
import { ingestBlock } from '../store/ingest';
import { LogStore } from '../store/log-store';
import type { Filter } from '../../wire/panel-link';
import { pageSeconds, Pyramid } from '../tiles/pyramid';
import { makeTile, type TileAnswer } from '../tiles/tile';
import { tile } from './ask';

const AGGREGATE = 0xffffffff;

/** Boxes as text: "lane kind function from-to cover tasks". */
function boxes(answer: TileAnswer): string[] {
  const c = answer.columns;
  return [...c.laneIndex].map((lane, i) => {
    const fn = answer.functions[c.function[i]!] ?? '–';
    const strip = c.strip[i] === 1 ? ' strip' : '';
    // Durations are float32: a hundredth of a cell is as exact as it gets.
    const cells = [c.from[i]!, c.to[i]!].map(x => Math.round(x * 100) / 100);
    return `${lane} ${'ctdsfm'[c.kind[i]!]} ${fn} ${cells.join('-')} ${c.cover[i]} ${c.tasks[i]}${strip}`;
  });
}

/** Seconds that the runs' boxes of a tile cover per lane, parts left out. */
function coveredSeconds(answer: TileAnswer, lane: number): number {
  const c = answer.columns;
  const cellSeconds = 2 ** answer.level / 1e6;
  let seconds = 0;
  for (let i = 0; i < c.laneIndex.length; i++) {
    if (c.laneIndex[i] === lane && c.tasks[i]! > 0) {
      const from = Math.max(0, c.from[i]!);
      const to = Math.min(512, c.to[i]!);
      seconds += Math.max(0, to - from) * cellSeconds * (c.cover[i]! / 255);
    }
  }
  return seconds;
}

describe('tiles', () => {
  it('draws runs that are at least a cell wide exactly', () => {
    // One column is 8 µs: at level 3 a cell is one column.
    const log = drawRuns(
      `
      0/0  aaa.bb
      0/1  .ccccc
    `,
      {
        secondsPerColumn: 8e-6,
        tasks: { b: { function: 'dec', status: 1 } }
      }
    );
    expect(boxes(tile(log, 3, 0))).toEqual([
      '0 c inc 0-3 255 1',
      '0 f dec 4-6 255 1',
      '1 c inc 1-6 255 1'
    ]);
  });

  it('gathers shorter runs in cells by the function that took most', () => {
    // Two columns a cell, each run one column.
    const log = drawRuns('0/0 abcbd...', {
      secondsPerColumn: 8e-6,
      tasks: {
        a: { function: 'x' },
        b: { function: 'x' },
        c: { function: 'y' },
        d: { function: 'y' }
      }
    });
    const [first, ...rest] = boxes(tile(log, 4, 0));
    expect(first).toMatch(/^0 c x 0-1 254 2$/);
    expect(rest.at(-1)).toMatch(/^0 c y 2-3 12[78] 1$/);
  });

  it('draws what held the thread at full height and what ran behind it in the strip', () => {
    const log = drawRuns('0/0 aaaaaaaa', {
      secondsPerColumn: 8e-6,
      tasks: {
        a: {
          parts: [
            { kind: 3, offset: 0, duration: 2 },
            { kind: 4, offset: 2, duration: 3 },
            { kind: 4, offset: 5, duration: 3, function: 'inner' },
            { kind: 1, offset: -2, duration: 2, held: false }
          ]
        }
      }
    });
    expect(boxes(tile(log, 3, 0)).sort()).toEqual(
      [
        '0 c inc 0-8 255 1',
        '0 s inc 0-2 255 0',
        '0 c inner 5-8 255 0',
        '0 t inc -2-0 255 0 strip'
      ].sort()
    );
  });

  it.each([RunStatus.Failed, RunStatus.Lost])(
    'shows of a fused task of status %i nothing but failure, and what was no computing',
    status => {
      const compute = { kind: PartKind.Compute, duration: 3 };
      const log = drawRuns('0/0 aaaaaaaa', {
        secondsPerColumn: 8e-6,
        tasks: {
          a: {
            function: 'read_orders',
            span: 'validate',
            status,
            parts: [
              { kind: PartKind.Import, offset: 0, duration: 2 },
              { ...compute, offset: 2, duration: 2, span: 'extract' },
              { ...compute, offset: 4, function: 'to_string_dtype' },
              { ...compute, offset: 7, duration: 1, function: 'check' }
            ]
          }
        }
      });
      expect(boxes(tile(log, 3, 0))).toEqual([
        '0 f read_orders 0-8 255 1',
        '0 m read_orders 0-2 255 0'
      ]);
      // Closer than a cell, the same, and the failed run over it.
      expect(boxes(tile(log, 6, 0)).map(box => box.slice(0, 3))).toEqual([
        '0 f',
        '0 m',
        '0 f'
      ]);
      expect(boxes(tile(log, 6, 0)).at(-1)).toBe('0 f read_orders 0-1 255 1');
      // Of the functions that are chosen, what they took.
      const chosen = { functions: ['to_string_dtype'] };
      expect(boxes(tile(log, 3, 0, chosen))).toEqual([
        '0 f to_string_dtype 4-7 255 1'
      ]);
    }
  );

  it('shows a filtered span alone', () => {
    const log = drawRuns('0/0 aabb', {
      secondsPerColumn: 8e-6,
      tasks: { a: { span: 'x' }, b: { span: 'y' } }
    });
    expect(
      boxes(tile(log, 3, 0, { spans: { any: [{ path: ['y'] }] } }))
    ).toEqual(['0 c inc 2-4 255 1']);
  });

  it('draws a run of exactly a cell once, as a box or as a cell it fills', () => {
    // As float32, 2^level µs are a little more at some levels and a little less at others.
    const drawnAs = new Set<string>();
    for (let level = 0; level <= 20; level++) {
      const log = drawRuns('0/0 ..a', { secondsPerColumn: 2 ** level / 1e6 });
      const { columns } = tile(log, level, 0);
      const c = columns;
      expect([...c.tasks].reduce((sum, tasks) => sum + tasks, 0)).toBe(1);
      expect(c.cover[0]).toBeGreaterThanOrEqual(254);
      expect(c.from[0]).toBeCloseTo(2, 4);
      expect(c.to[0]).toBeCloseTo(3, 4);
      expect(c.laneIndex).toHaveLength(1);
      drawnAs.add(c.run[0] === AGGREGATE ? 'cell' : 'box');
    }
    expect(drawnAs).toEqual(new Set(['cell', 'box']));
  });

  it('is settled where nothing after it is not, and not a tile earlier', () => {
    const log = drawRuns('0/0 ab', { secondsPerColumn: 8e-6 });
    const pyramid = new Pyramid(log, compileFilter({}, log));
    const seconds = pageSeconds(4);
    const settled = (index: number, before: number): boolean =>
      complete(makeTile(log, pyramid, 4, index, before)).settled;
    for (const index of [0, 1, 7]) {
      const to = (index + 1) * seconds;
      expect(settled(index, to)).toBe(true);
      expect(settled(index, to * (1 + 1e-9))).toBe(true);
      expect(settled(index, to * (1 - 1e-9))).toBe(false);
      expect(settled(index, index * seconds)).toBe(false);
      expect(settled(index + 1, to)).toBe(false);
    }
  });

  it('keeps no page that may still change', () => {
    const log = drawRuns('0/0 ab', { secondsPerColumn: 8e-6 });
    const pyramid = new Pyramid(log, compileFilter({}, log));
    const seconds = pageSeconds(6);
    const tasks = (before: number): number =>
      complete(makeTile(log, pyramid, 6, 0, before)).columns.tasks.reduce(
        (sum, each) => sum + each,
        0
      );
    expect(tasks(0.99 * seconds)).toBe(2);
    const late = { run: 9, lane: 0, start: seconds / 2, duration: 8e-6 };
    ingestBlock(log, rowsToBlock(99, 'runs', [late]));
    expect(tasks(seconds)).toBe(3);
    expect(pyramid.nbytes).toBeGreaterThan(0);
  });

  it('reaches over its borders with what is longer than it', () => {
    const log = drawRuns(`0/0 ${'a'.repeat(2000)}`, {
      secondsPerColumn: 1e-6
    });
    expect(boxes(tile(log, 0, 1))).toEqual(['0 c inc -512-1488 255 1']);
  });
});

/** Runs on two lanes, none overlapping another: [gap µs, duration µs, function, span]. */
const lanes = fc.array(
  fc.array(
    fc.tuple(
      fc.nat({ max: 4000 }),
      fc.oneof(fc.nat({ max: 40 }), fc.nat({ max: 20_000 })),
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 0, max: 2 })
    ),
    { maxLength: 60 }
  ),
  { minLength: 1, maxLength: 2 }
);
type Lanes = readonly (readonly (readonly [
  number,
  number,
  number,
  number
])[])[];

function logOf(drawn: Lanes): LogStore {
  const log = new LogStore('random');
  const rows: Record<string, number>[] = [];
  drawn.forEach((runs, lane) => {
    let at = 0;
    for (const [gap, duration, fn, span] of runs) {
      at += gap;
      rows.push({
        run: rows.length,
        function: fn,
        span,
        lane,
        start: at / 1e6,
        duration: duration / 1e6,
        cpu: duration / 2e6
      });
      at += duration;
    }
  });
  const stop = (row: Record<string, number>) =>
    row['start']! + row['duration']!;
  rows.sort((a, b) => stop(a) - stop(b));
  let seq = 0;
  ingestBlock(
    log,
    rowsToBlock(
      ++seq,
      'lanes',
      drawn.map((_, lane) => ({ lane, worker: 0, thread: lane }))
    )
  );
  if (rows.length > 0) {
    ingestBlock(log, rowsToBlock(++seq, 'runs', rows));
  }
  return log;
}

describe('tiles of any run', () => {
  it('cover what the runs cover, at each level', () => {
    fc.assert(
      fc.property(lanes, fc.integer({ min: 0, max: 14 }), (drawn, level) => {
        const log = logOf(drawn);
        const pyramid = new Pyramid(log, compileFilter({}, log));
        const tiles = Math.ceil(log.lastStop / pageSeconds(level)) || 0;
        if (!Number.isFinite(log.lastStop) || tiles > 200) {
          return;
        }
        drawn.forEach((runs, lane) => {
          let covered = 0;
          let cells = 0;
          for (let index = 0; index < tiles; index++) {
            const answer = complete(
              makeTile(log, pyramid, level, index, Infinity)
            );
            covered += coveredSeconds(answer, lane);
            cells += [...answer.columns.run].filter(
              run => run === AGGREGATE
            ).length;
          }
          const busy = runs.reduce((sum, run) => sum + run[1], 0) / 1e6;
          // Cover is written in 255ths and is at least one of them.
          const rounding = (cells + 1) * (2 ** level / 1e6) * (2 / 255);
          const wide = 1e-3 * busy + rounding * Math.max(1, 512 / 64);
          expect(Math.abs(covered - busy)).toBeLessThanOrEqual(wide + 1e-6);
        });
      }),
      { numRuns: 40 }
    );
  });

  it('count a run of 1024 µs, which float32 keeps as less, made from finer pages or at once', () => {
    const log = logOf([[[0, 1024, 1, 0]]]);
    const filter = compileFilter({}, log);
    // With one row as "few", every page is made from the two below it, down to the shortest run.
    for (const pyramid of [
      new Pyramid(log, filter),
      new Pyramid(log, filter, 2 ** 26, 1)
    ]) {
      const { runs } = complete(pyramid.page(10, 0, 0));
      expect([runs!.count[0], runs!.busy[0]]).toEqual([
        1,
        expect.closeTo(1024, 3)
      ]);
      expect(complete(pyramid.page(9, 0, 0)).runs).toBeNull();
    }
  });
});

describe('runs that fail at once', () => {
  const RUNS = 5000;
  const FAILED = [411, 2500, 4999];
  const SECONDS = 0.002;

  /** Of one lane, one run after another; those that fail take 20 µs. */
  function logOf(failed: ReadonlySet<number>, status: RunStatus): LogStore {
    const log = new LogStore('fails');
    ingestBlock(log, rowsToBlock(1, 'names', [{ id: 1, text: 'inc' }]));
    ingestBlock(
      log,
      rowsToBlock(2, 'runs', failingRuns(RUNS, SECONDS, failed, status))
    );
    return log;
  }

  /** Of all tiles of a level: [runs, number of the run or −1, start, end]. */
  function failedAt(log: LogStore, level: number, filter: Filter = {}) {
    const found: number[][] = [];
    const tiles = Math.ceil((RUNS * SECONDS) / pageSeconds(level));
    for (let index = 0; index < tiles; index++) {
      const { columns: c } = tile(log, level, index, filter);
      const seconds = (cells: number) =>
        index * pageSeconds(level) + (cells * 2 ** level) / 1e6;
      for (let i = 0; i < c.run.length; i++) {
        if (c.kind[i] === BoxKind.Failed && c.cover[i] === 255) {
          const run = c.run[i] === AGGREGATE ? -1 : c.run[i]!;
          const ends = [seconds(c.from[i]!), seconds(c.to[i]!)];
          found.push([c.tasks[i]!, run, ...ends]);
        }
      }
    }
    return found;
  }

  it.each([RunStatus.Failed, RunStatus.Lost])(
    'are seen at every level, with their own number and times: status %i',
    status => {
      const log = logOf(new Set(FAILED), status);
      for (let level = 7; level <= 22; level++) {
        const found = failedAt(log, level);
        const count = found.reduce((sum, [runs]) => sum + runs!, 0);
        expect([level, count]).toEqual([level, FAILED.length]);
        for (const [runs, run, from, to] of found) {
          const own = FAILED.filter(
            each => each * SECONDS >= from! - 1e-6 && each * SECONDS < to!
          );
          expect(own).toHaveLength(runs!);
          if (run !== -1) {
            expect(own).toEqual([run]);
            // (single precision, of 512 cells)
            expect(to! - from!).toBeCloseTo(2e-5, 5);
          }
        }
        // As long as they begin in cells apart each is one.
        expect(found.length).toBe(level < 20 ? 3 : found.length);
      }
    }
  );

  it('are in the tile in which they begin, and in no other', () => {
    const border = pageSeconds(6);
    const log = new LogStore('border');
    const rows = [border - 1e-5, border, border + 1e-5].map((start, run) => ({
      run,
      lane: run,
      start,
      duration: 2e-5,
      status: RunStatus.Failed
    }));
    ingestBlock(log, rowsToBlock(1, 'runs', rows));
    const runs = [0, 1, 2].map(index => {
      const { cover, run } = tile(log, 6, index).columns;
      return [...run].filter((_, i) => cover[i] === 255);
    });
    expect(runs).toEqual([[0], [1, 2], []]);
  });

  it('are in one tile wherever pages meet, as numbers are rounded', () => {
    const level = 10;
    const seconds = pageSeconds(level);
    // Where a page's begin and its width do not make the next one's begin: some by less, some by more.
    const rounded = Array.from({ length: 1000 }, (_, i) => i + 1).filter(
      at => (at - 1) * seconds + seconds !== at * seconds
    );
    const borders = rounded.filter((_, i) => i % 10 === 0);
    expect(borders.length).toBeGreaterThan(10);
    const found = borders.map(at => {
      const log = new LogStore('border');
      const start = Math.min((at - 1) * seconds + seconds, at * seconds);
      const row = { run: 1, start, duration: 2e-5, status: RunStatus.Failed };
      ingestBlock(log, rowsToBlock(1, 'runs', [row]));
      return [at - 1, at]
        .flatMap(index => [...tile(log, level, index).columns.cover])
        .filter(cover => cover === 255).length;
    });
    expect(found).toEqual(borders.map(() => 1));
  });

  it('are not in tiles of a filter that hides them', () => {
    const log = logOf(new Set(FAILED), RunStatus.Failed);
    for (const level of [8, 14, 20]) {
      const at = (filter: Filter) => failedAt(log, level, filter).length;
      expect(at({ status: ['ok'] })).toBe(0);
      expect(at({ notFunctions: ['inc'] })).toBe(0);
      expect(at({ status: ['failed'] })).toBe(failedAt(log, level).length);
    }
  });

  it('are one mark of neighbouring cells, which says how many', () => {
    const all = new Set(Array.from({ length: RUNS }, (_, run) => run));
    const log = logOf(all, RunStatus.Failed);
    // A cell is 2.05 ms: each has one that begins in it, but for a few of two.
    const found = failedAt(log, 12);
    expect(found.length).toBeLessThan(10);
    expect(found.reduce((sum, [runs]) => sum + runs!, 0)).toBe(RUNS);
    expect(new Set(found.map(([, run]) => run))).toEqual(new Set([-1]));
  });

  it('leave tiles without any as they are', () => {
    const page = complete(
      new Pyramid(
        logOf(new Set(), RunStatus.Failed),
        compileFilter({}, new LogStore('none'))
      ).page(14, 0, Infinity)
    );
    expect(page.runs).not.toBeNull();
    expect(page.failed).toBeNull();
  });

  it('are seen when their rows are gone', () => {
    const log = new LogStore('gone');
    const cell = 2 ** log.retired.level / 1e6;
    const lane = log.shape.laneIndex(0 as LaneId);
    log.retired.add(lane, 1, 3.5 * cell, 2 * cell);
    log.retired.add(lane, 1, 7.5 * cell, 0, true);
    log.droppedBefore = 9 * cell;
    const marks = (filter: Filter) =>
      boxes(tile(log, log.retired.level, 0, filter)).filter(box =>
        box.includes(' f ')
      );
    expect(marks({})).toEqual(['0 f – 7-8 255 1']);
    // Whether they pass a filter nobody knows.
    expect(marks({ status: ['failed'] })).toEqual([]);
  });
});
