/** Tiles of very many workers: the lanes of a group alone, and a row for each group. */
import fc from 'fast-check';
import { BoxKind, PartKind, RunStatus } from '../../records/enumerations';
import type { LaneIndex } from '../../records/ids';
import { rowsToBlock } from '../../testing/rows-to-block';
import { compileFilter } from '../filter';
import { complete } from '../folds/context';
import { ingestBlock } from '../store/ingest';
import { LogStore } from '../store/log-store';
import { TILE_CELLS } from '../tiles/cell-plane';
import type { Grouping } from '../tiles/lane-rows';
import { pageSeconds, Pyramid } from '../tiles/pyramid';
import { makeTile, type TileAnswer } from '../tiles/tile';

/** Worker numbers, one of whose lanes is of a worker that nobody has told of; lanes come in any order. */
const WORKERS = [3, 0, 7, 1, 5];
const UNKNOWN = 9;
const LANES = [
  { lane: 4, worker: 7, thread: 0 },
  { lane: 9, worker: 1, thread: 0 },
  { lane: 5, worker: 3, thread: 1 },
  { lane: 2, worker: UNKNOWN, thread: 0 },
  { lane: 8, worker: 7, thread: 1 },
  { lane: 1, worker: 0, thread: 0 }
];
/** 0 1 | 3 5 | 7 9. A worker has two threads, and of 9 one lane is known. */
const GROUP_SIZE = 2;
const GROUP_OF: Readonly<Record<number, number>> = {
  0: 0,
  1: 0,
  3: 1,
  5: 1,
  7: 2,
  [UNKNOWN]: 2
};
const THREADS = [4, 4, 3];

const anyRun = fc.record({
  laneIndex: fc.nat(LANES.length - 1),
  start: fc.integer({ min: 0, max: 6000 }),
  duration: fc.oneof(fc.nat(30), fc.nat(3000)),
  function: fc.integer({ min: 1, max: 2 }),
  hasPart: fc.boolean()
});
type DrawnRun = typeof anyRun extends fc.Arbitrary<infer R> ? R : never;

function logOf(runs: readonly DrawnRun[]): LogStore {
  const log = new LogStore('groups');
  const workers = WORKERS.map(worker => ({
    worker,
    threads: 2,
    joined: 0,
    left: NaN,
    name: String(worker)
  }));
  ingestBlock(log, rowsToBlock(1, 'workers', workers));
  ingestBlock(log, rowsToBlock(2, 'lanes', LANES));
  const rows = runs.map((run, number) => ({
    run: number,
    node: number,
    function: run.function,
    lane: LANES[run.laneIndex]!.lane,
    start: run.start / 1e6,
    duration: run.duration / 1e6
  }));
  const parts = rows.flatMap((row, number) =>
    runs[number]!.hasPart
      ? [
          {
            run: row.run,
            kind: PartKind.Transfer,
            held: 1,
            function: row.function,
            offset: 0,
            duration: row.duration / 2
          }
        ]
      : []
  );
  if (parts.length > 0) {
    ingestBlock(log, rowsToBlock(3, 'parts', parts));
  }
  if (rows.length > 0) {
    ingestBlock(log, rowsToBlock(4, 'runs', rows));
  }
  return log;
}

function tileOf(
  log: LogStore,
  level: number,
  index: number,
  grouping?: Grouping
): TileAnswer {
  const filter = compileFilter({}, log);
  const pyramid = new Pyramid(log, filter, undefined, undefined, grouping);
  return complete(makeTile(log, pyramid, level, index, Infinity));
}

/** Boxes as they are drawn, with the names of their functions. */
function boxesOf(tile: TileAnswer): (number | string)[][] {
  const { laneIndex, from, to, function: fn, kind, strip } = tile.columns;
  const { cover, run, tasks } = tile.columns;
  return [...laneIndex].map((lane, i) => [
    ...[lane, from[i]!, to[i]!, kind[i]!, strip[i]!, cover[i]!, run[i]!],
    ...[tasks[i]!, tile.functions[fn[i]!] ?? '']
  ]);
}

const place = { level: fc.integer({ min: 0, max: 14 }), index: fc.nat(2) };

describe('the tile of a group', () => {
  it('has the boxes of its lanes, as the tile of all lanes has them', () => {
    fc.assert(
      fc.property(
        fc.array(anyRun, { maxLength: 40 }),
        fc.record(place),
        (runs, { level, index }) => {
          const log = logOf(runs);
          const all = boxesOf(tileOf(log, level, index));
          for (const group of [0, 1, 2]) {
            const grouping = { groupSize: GROUP_SIZE, group };
            const own = all.filter(
              ([lane]) => GROUP_OF[LANES[lane as number]!.worker] === group
            );
            const sortedBoxes = (boxes: (number | string)[][]) =>
              boxes.map(box => JSON.stringify(box)).sort();
            const told = boxesOf(tileOf(log, level, index, grouping));
            expect(sortedBoxes(told)).toEqual(sortedBoxes(own));
          }
        }
      )
    );
  });

  it('has nothing of a group that is not there', () => {
    const log = logOf([]);
    const grouping = { groupSize: GROUP_SIZE, group: 7 };
    expect(boxesOf(tileOf(log, 10, 0, grouping))).toEqual([]);
  });
});

describe('the tile of all groups', () => {
  const grouping = { groupSize: GROUP_SIZE, group: -1 };

  it('covers the share of the threads that were busy, of every run', () => {
    fc.assert(
      fc.property(
        fc.array(anyRun, { maxLength: 40 }),
        fc.record(place),
        (runs, { level, index }) => {
          const log = logOf(runs);
          const tile = tileOf(log, level, index, grouping);
          const cell = 2 ** level;
          const origin = index * pageSeconds(level) * 1e6;
          const seen = THREADS.map(() => 0);
          const { laneIndex, from, to, cover, run, tasks } = tile.columns;
          for (let i = 0; i < laneIndex.length; i++) {
            expect(run[i]).toBe(0xffffffff);
            if (tasks[i] === 0) {
              continue;
            }
            const group = laneIndex[i]!;
            const [begin, end] = [from[i]! * cell, to[i]! * cell];
            const busy = runs
              .filter(each => GROUP_OF[LANES[each.laneIndex]!.worker] === group)
              .reduce((sum, each) => {
                const start = each.start - origin;
                const stop = start + each.duration;
                const part = Math.min(stop, end) - Math.max(start, begin);
                return sum + Math.max(0, part);
              }, 0);
            seen[group]! += busy;
            const share = Math.min(1, busy / (end - begin) / THREADS[group]!);
            // 1 at least, so that it is seen; 254 at most.
            expect(Math.abs(cover[i]! - share * 255)).toBeLessThan(2);
          }
          const width = TILE_CELLS * cell;
          THREADS.forEach((_, group) => {
            const whole = runs
              .filter(each => GROUP_OF[LANES[each.laneIndex]!.worker] === group)
              .reduce((sum, each) => {
                const start = each.start - origin;
                const stop = start + each.duration;
                return (
                  sum + Math.max(0, Math.min(stop, width) - Math.max(start, 0))
                );
              }, 0);
            expect(seen[group]).toBeCloseTo(whole, 3);
          });
        }
      )
    );
  });

  it('divides by the threads that were there at the time', () => {
    // A cell is 1.024 ms. Worker 0 has left after two of them and worker 1 has come for it; half of the time of one thread is busy.
    const cell = 1024 / 1e6;
    const log = logOf(
      [0, 1, 2, 3, 4].map(number => ({
        laneIndex: number < 2 ? 5 : 1,
        start: number * 1024,
        duration: 512,
        function: 1,
        hasPart: false
      }))
    );
    const row = { threads: 2, name: '' };
    ingestBlock(
      log,
      rowsToBlock(5, 'workers', [
        { ...row, worker: 0, joined: 0, left: 2 * cell },
        { ...row, worker: 1, joined: 2 * cell, left: NaN }
      ])
    );
    const covers = () => {
      const { laneIndex, from, to, cover } = tileOf(
        log,
        10,
        0,
        grouping
      ).columns;
      return [...laneIndex].map((_, i) => [from[i], to[i], cover[i]]);
    };
    expect(covers()).toEqual([[0, 5, 64]]);
    // It gets six more threads in the middle of the last cell, and is idle there.
    ingestBlock(
      log,
      rowsToBlock(6, 'capacity', [
        { t: 2 * cell, worker: 1, threads: 2 },
        { t: 4.5 * cell, worker: 1, threads: 8 }
      ])
    );
    expect(covers()).toEqual([
      [0, 4, 64],
      [4, 5, 26]
    ]);
    // Runs of before anybody was there, by another clock.
    ingestBlock(
      log,
      rowsToBlock(7, 'workers', [
        { ...row, worker: 0, joined: 3 * cell, left: NaN }
      ])
    );
    expect(covers()[0]).toEqual([0, 2, 254]);
  });

  it('works the threads out once, until a worker, a lane or a capacity changes them', () => {
    const log = logOf([]);
    const pyramid = new Pyramid(
      log,
      compileFilter({}, log),
      undefined,
      undefined,
      grouping
    );
    let asked = 0;
    const threadSteps = log.shape.threadSteps.bind(log.shape);
    log.shape.threadSteps = worker => {
      asked++;
      return threadSteps(worker);
    };
    const lastThreads = () => {
      asked = 0;
      for (const index of [0, 1, 2]) {
        complete(makeTile(log, pyramid, 10, index, Infinity));
      }
      return pyramid.rows().threads!.map(steps => steps.at(-1)!.threads);
    };
    const ALL_ONCE = WORKERS.length + 1;
    expect([lastThreads(), asked]).toEqual([THREADS, ALL_ONCE]);
    expect([lastThreads(), asked]).toEqual([THREADS, 0]);
    ingestBlock(
      log,
      rowsToBlock(5, 'capacity', [{ t: 1, worker: 3, threads: 5 }])
    );
    expect([lastThreads(), asked]).toEqual([[4, 7, 3], ALL_ONCE]);
    const lane = { lane: 20, worker: UNKNOWN, thread: 1 };
    ingestBlock(log, rowsToBlock(6, 'lanes', [lane]));
    expect([lastThreads(), asked]).toEqual([[4, 7, 4], ALL_ONCE]);
    const left = { worker: 1, threads: 2, joined: 0, left: 1, name: '' };
    ingestBlock(log, rowsToBlock(7, 'workers', [left]));
    expect([lastThreads(), asked]).toEqual([[2, 7, 4], ALL_ONCE]);
  });

  it('marks each failed run where it begins, however long it took', () => {
    const log = logOf([]);
    const cell = 1024 / 1e6;
    const failed = { status: RunStatus.Failed, function: 1 };
    ingestBlock(
      log,
      rowsToBlock(4, 'runs', [
        { ...failed, run: 3, lane: 1, start: 2.5 * cell, duration: 9 * cell },
        { ...failed, run: 4, lane: 5, start: 7 * cell, duration: 0 },
        { ...failed, run: 5, lane: 8, start: 7 * cell, duration: 0 },
        { ...failed, run: 6, lane: 8, start: 7.5 * cell, duration: 0 }
      ])
    );
    const marks = boxesOf(tileOf(log, 10, 0, grouping)).filter(
      ([, , , kind, , cover]) => kind === BoxKind.Failed && cover === 255
    );
    const mark = [BoxKind.Failed, 0, 255];
    expect(marks).toEqual([
      [0, 2, 3, ...mark, 3, 1, '#1'],
      [1, 7, 8, ...mark, 4, 1, '#1'],
      [2, 7, 8, ...mark, 0xffffffff, 2, '#1']
    ]);
  });

  it('shows what is left of dropped runs', () => {
    const log = logOf([]);
    const seconds = (TILE_CELLS * 2 ** log.retired.level) / 1e6;
    // A lane of worker 3 and one of worker 0.
    log.retired.add(2 as LaneIndex, 1, 0, seconds / 2);
    log.retired.add(5 as LaneIndex, 1, 0, seconds / 4);
    log.droppedBefore = seconds;
    const tile = tileOf(log, log.retired.level, 0, grouping);
    const { laneIndex, to, cover } = tile.columns;
    expect([...laneIndex]).toEqual([0, 1]);
    expect([...to].map(Math.round)).toEqual([TILE_CELLS / 4, TILE_CELLS / 2]);
    expect([...cover]).toEqual([64, 64]);
    const own = tileOf(log, log.retired.level, 0, { groupSize: 2, group: 1 });
    expect([...own.columns.laneIndex]).toEqual([2]);
  });
});
