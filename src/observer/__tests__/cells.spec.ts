import fc from 'fast-check';
import { BoxKind, NONE_U16 } from '../../records/enumerations';
import type { LaneIndex } from '../../records/ids';
import { LogStore } from '../store/log-store';
import { RetiredCells } from '../store/retired-cells';
import { BoxList } from '../tiles/box-list';
import { emptyPage, failedOf, layerOf, pageBytes } from '../tiles/cell-page';
import {
  category,
  CellPlane,
  functionOf,
  kindOf,
  laneIndices,
  SEVERAL_FUNCTIONS,
  TILE_CELLS
} from '../tiles/cell-plane';

const lane = (index: number): LaneIndex => index as LaneIndex;
const overlap = (
  from: number,
  to: number,
  begin: number,
  end: number
): number => Math.max(0, Math.min(to, end) - Math.max(from, begin));

describe('a plane of cells', () => {
  // Of 8 µs each: times before and behind the page, no time at all, less than a cell, several.
  const CELL = 8;
  const anyRun = fc.record({
    lane: fc.nat(2).map(lane),
    from: fc.integer({ min: -50, max: TILE_CELLS * CELL + 20 }),
    length: fc.constantFrom(0, 1, 7, 8, 9, 40, 5000),
    value: fc.constantFrom(3, 4, 5)
  });

  it('has of each cell the time covered, what begins there, and what most of it is', () => {
    fc.assert(
      fc.property(fc.array(anyRun, { maxLength: 12 }), runs => {
        const plane = new CellPlane(3);
        const coarse = [new CellPlane(3), new CellPlane(4)];
        for (const { lane: index, value, from, length } of runs) {
          plane.cover(index, value, from, from + length, CELL);
        }
        coarse[0]!.addFiner(plane, 0);
        coarse[1]!.addFiner(plane, 1);
        // A lane that the finer page does not have stays empty.
        expect(coarse[1]!.busy.subarray(3 * TILE_CELLS)).toEqual(
          new Float32Array(TILE_CELLS)
        );
        for (let index = 0; index < 3; index++) {
          const own = runs.filter(run => run.lane === index);
          for (let cell = 0; cell < TILE_CELLS; cell++) {
            const at = index * TILE_CELLS + cell;
            const [begin, end] = [cell * CELL, (cell + 1) * CELL];
            const covered = (run: (typeof runs)[number]): number =>
              overlap(run.from, run.from + run.length, begin, end);
            const busy = own.reduce((sum, run) => sum + covered(run), 0);
            const begun = own.filter(
              ({ from }) => from >= begin && from < end
            ).length;
            if (plane.busy[at] !== busy || plane.count[at] !== begun) {
              expect([at, plane.busy[at], plane.count[at]]).toEqual([
                at,
                busy,
                begun
              ]);
            }
            for (const value of [3, 4, 5]) {
              const share = own
                .filter(run => run.value === value)
                .reduce((sum, run) => sum + covered(run), 0);
              if (share > busy / 2 && plane.category[at] !== value) {
                expect([at, plane.category[at]]).toEqual([at, value]);
              }
            }
            // A run that takes no time shows where nothing else is.
            const only = own.filter(({ from }) => from >= begin && from < end);
            if (busy === 0 && only.length === 1) {
              expect(plane.category[at]).toBe(only[0]!.value);
            }
          }
          // Pairs of cells, joined into either half.
          for (const [half, page] of coarse.entries()) {
            for (let cell = 0; cell < TILE_CELLS / 2; cell++) {
              const from = index * TILE_CELLS + 2 * cell;
              const to = index * TILE_CELLS + (half * TILE_CELLS) / 2 + cell;
              const pair = [
                plane.busy[from]! + plane.busy[from + 1]!,
                plane.count[from]! + plane.count[from + 1]!
              ];
              if (page.busy[to] !== pair[0] || page.count[to] !== pair[1]) {
                expect([to, page.busy[to], page.count[to]]).toEqual([
                  to,
                  ...pair
                ]);
              }
              if (pair[0] === 0 && pair[1] === 0) {
                continue;
              }
              // One of those that are there wins.
              const shown = [from, from + 1]
                .filter(at => plane.busy[at]! > 0 || plane.count[at]! > 0)
                .map(at => plane.category[at]);
              if (!shown.includes(page.category[to])) {
                expect(shown).toContain(page.category[to]);
              }
            }
            const other = (1 - half) * (TILE_CELLS / 2) + index * TILE_CELLS;
            const untouched = page.busy.subarray(other, other + TILE_CELLS / 2);
            expect(untouched.every(value => value === 0)).toBe(true);
          }
        }
      }),
      { numRuns: 20 }
    );
  });

  it('shows one of those that share a finer cell equally', () => {
    const [finer, plane] = [new CellPlane(1), new CellPlane(1)];
    for (const [from, value] of [
      [0, 3],
      [4, 5],
      [16, 5],
      [20, 3]
    ] as const) {
      finer.cover(lane(0), value, from, from + 4, CELL);
    }
    plane.addFiner(finer, 0);
    expect([3, 5]).toContain(plane.category[0]);
    expect([3, 5]).toContain(plane.category[1]);
    expect(plane.busy[0]).toBe(8);
  });

  it('tells functions of computing apart, and of nothing else', () => {
    for (const fn of [0, 1, SEVERAL_FUNCTIONS - 1, 2 ** 32 - 1]) {
      const computing = category(BoxKind.Compute, fn);
      expect(kindOf(computing)).toBe(BoxKind.Compute);
      expect(functionOf(computing)).toBe(Math.min(fn, SEVERAL_FUNCTIONS));
      const transfer = category(BoxKind.Transfer, fn);
      expect(kindOf(transfer)).toBe(BoxKind.Transfer);
      expect(functionOf(transfer)).toBe(SEVERAL_FUNCTIONS);
    }
  });

  it('is made when its layer gets a row, and counts in the page’s bytes', () => {
    const page = emptyPage(5);
    const none = { runs: null, held: null, strip: null, failed: null };
    expect(page).toEqual({ lanes: 5, ...none });
    expect(pageBytes(page)).toBe(300);
    const held = layerOf(page, 'held');
    expect(layerOf(page, 'held')).toBe(held);
    expect(held.lanes).toBe(5);
    const planeBytes = [held.busy, held.category, held.weight, held.count]
      .map(({ byteLength }) => byteLength)
      .reduce((sum, each) => sum + each);
    expect(pageBytes(page)).toBe(300 + planeBytes);
    const failed = failedOf(page);
    expect(failedOf(page)).toBe(failed);
    expect(pageBytes(page)).toBe(300 + planeBytes + 5 * 512 * 20);
    expect([...laneIndices(3)]).toEqual([0, 1, 2]);
  });
});

describe('cells of runs that were dropped', () => {
  const SECONDS = 2 ** 12 / 1e6;

  it('keep all time and every run, page by page', () => {
    const anyRun = fc.record({
      lane: fc.nat(2).map(lane),
      fn: fc.constantFrom(1, 2, 9),
      start: fc.double({ min: 0, max: 8, noNaN: true }),
      duration: fc.constantFrom(0, 1e-6, 0.003, 0.5, 3)
    });
    fc.assert(
      fc.property(fc.array(anyRun, { minLength: 1, maxLength: 10 }), runs => {
        const cells = new RetiredCells();
        expect(cells.isEmpty).toBe(true);
        for (const run of runs) {
          cells.add(run.lane, run.fn, run.start, run.duration);
        }
        expect(cells.isEmpty).toBe(false);
        expect(cells.level).toBe(12);
        for (const index of laneIndices(4)) {
          const own = runs.filter(run => run.lane === index);
          for (let number = 0; number < 6; number++) {
            const page = cells.page(index, number);
            const [begin, end] = [number, number + 1].map(
              each => each * 512 * SECONDS
            ) as [number, number];
            const starts = own.filter(
              ({ start }) => start >= begin && start < end
            );
            const busy = own
              .map(run =>
                overlap(run.start, run.start + run.duration, begin, end)
              )
              .reduce((sum, each) => sum + each, 0);
            const sum = (values?: ArrayLike<number>): number =>
              Array.from(values ?? []).reduce((all, each) => all + each, 0);
            expect(sum(page?.runs)).toBe(starts.length);
            expect(Math.abs(sum(page?.busy) / 1e6 - busy)).toBeLessThan(1e-4);
          }
        }
        const shown = new Set(
          runs.filter(run => run.duration > 0).map(run => run.fn)
        );
        for (const fn of cells.functions()) {
          expect(shown).toContain(fn);
        }
        if (shown.size === 1) {
          expect(new Set(cells.functions())).toEqual(shown);
        }
      }),
      { numRuns: 20 }
    );
  });

  it('get coarser when there are too many pages, and lose nothing', () => {
    const cells = new RetiredCells();
    const pageSeconds = 512 * SECONDS;
    const runs = 2001;
    // Two of them share the 375th cell equally.
    const shared = 375 * SECONDS;
    cells.add(lane(1), 7, shared, SECONDS / 2);
    cells.add(lane(1), 8, shared + SECONDS / 2, SECONDS / 2);
    // One that takes no time, and one that reaches over three cells.
    cells.add(lane(1), 9, 100.5 * SECONDS, 0);
    cells.add(lane(1), 9, 200.5 * SECONDS, 2 * SECONDS);
    // One in each page of one lane: each covers a quarter of the 5th cell.
    for (let page = 0; page < runs; page++) {
      const start = page * pageSeconds + 5 * SECONDS;
      expect(cells.level).toBe(12);
      cells.add(lane(1), 7, start, SECONDS / 4);
    }
    expect(cells.level).toBe(13);
    const first = cells.page(lane(1), 0)!;
    // The 5th of 512 is the 2nd of 256, and that of the other page lies 256 behind it.
    const filled = [...first.runs.keys()].filter(cell => first.runs[cell]! > 0);
    expect(filled).toEqual([2, 50, 100, 187, 258]);
    expect([...first.runs].reduce((sum, each) => sum + each)).toBe(6);
    const covered = [50, 100, 101].map(cell => first.busy[cell]! / 2 ** 12);
    covered.forEach((each, i) =>
      expect(each).toBeCloseTo([0, 1.5, 0.5][i]!, 2)
    );
    expect([50, 100, 101].map(cell => first.function[cell])).toEqual([9, 9, 9]);
    expect([7, 8]).toContain(first.function[187]);
    expect(first.function[2]).toBe(7);
    expect(first.busy[258]! / 2 ** 12).toBeCloseTo(1 / 4, 2);
    expect(cells.page(lane(1), 1000)!.runs[2]).toBe(1);
    expect(cells.page(lane(1), 1001)).toBeUndefined();
    expect(cells.page(lane(0), 0)).toBeUndefined();
    // Later ones are added where they are now.
    cells.add(lane(1), 8, 4 * SECONDS, 2 * SECONDS);
    expect(first.runs[2]).toBe(2);
    expect(first.function[2]).toBe(8);
  });

  it('know how many runs failed, and where, however coarse they get', () => {
    const cells = new RetiredCells();
    const pageSeconds = 512 * SECONDS;
    const failedAt = (index: number) => {
      const { failed } = cells.page(lane(1), index)!;
      return [...(failed ?? [])].flatMap((count, cell) =>
        count > 0 ? [[cell, count]] : []
      );
    };
    cells.add(lane(1), 7, 0, SECONDS);
    expect(cells.page(lane(1), 0)!.failed).toBeNull();
    const without = cells.nbytes;
    cells.add(lane(1), 7, 10 * SECONDS, 0, true);
    cells.add(lane(1), 7, 11.5 * SECONDS, SECONDS, true);
    cells.add(lane(1), 7, (512 + 300) * SECONDS, 0, true);
    expect(failedAt(0)).toEqual([
      [10, 1],
      [11, 1]
    ]);
    expect(cells.nbytes).toBe(2 * without + 2 * 4 * 512);
    for (let page = 2; cells.level === 12; page++) {
      cells.add(lane(1), 7, page * pageSeconds, SECONDS);
    }
    expect(failedAt(0)).toEqual([
      [5, 2],
      [256 + 150, 1]
    ]);
    expect(failedAt(1)).toEqual([]);
    expect((cells.nbytes - 4 * 512) % (16 * 512)).toBe(0);
  });

  it('are found by page, not by cell', () => {
    const cells = new RetiredCells();
    const looks = jest.spyOn(Map.prototype, 'get');
    cells.add(lane(1), 7, 0, 100 * 512 * SECONDS);
    const made = looks.mock.calls.length;
    looks.mockRestore();
    expect(made).toBeLessThan(500);
    expect(cells.page(lane(1), 99)!.function[511]).toBe(7);
  });

  it('get coarser when runs of hours lie upon each other, and lose nothing', () => {
    const cells = new RetiredCells();
    const [runs, duration] = [300, 4000];
    for (let run = 0; run < runs; run++) {
      cells.add(lane(0), 3, run, duration);
    }
    // At level 12 alone the runs cover 293 million cells.
    const cellsOfRun = (duration * 1e6) / 2 ** cells.level;
    expect(runs * cellsOfRun).toBeLessThan(2 * 2 * 512 * 2000 + 16 * runs);
    const page = (index: number) => cells.page(lane(0), index);
    expect(totalOf(page, 'runs')).toBe(runs);
    expect(totalOf(page, 'busy') / 1e6 / runs / duration).toBeCloseTo(1, 3);
  });

  it('are one page of each lane when there are more lanes than pages', () => {
    const cells = new RetiredCells();
    const lanes = 2100;
    for (let index = 0; index < lanes; index++) {
      cells.add(lane(index), 3, index, 1);
    }
    for (let index = 0; index < lanes; index++) {
      const page = cells.page(lane(index), 0)!;
      expect([page.runs.reduce((sum, each) => sum + each), 3]).toEqual([
        1,
        page.function[Math.floor((index * 1e6) / 2 ** cells.level)]
      ]);
    }
    expect(cells.page(lane(0), 1)).toBeUndefined();
  });

  it('stay as fine as they are while no two pages of a lane are neighbours', () => {
    const cells = new RetiredCells();
    for (let index = 0; index <= 1001; index++) {
      cells.add(lane(index), 3, 0, SECONDS);
      cells.add(lane(index), 3, -SECONDS, SECONDS);
    }
    expect([cells.nbytes, cells.level]).toEqual([2004 * 512 * 16, 12]);
    cells.add(lane(2), 3, 512 * SECONDS, SECONDS);
    expect([cells.nbytes, cells.level]).toEqual([2004 * 512 * 16, 13]);
  });

  it('are forgotten of the lanes that ended first when there are more lanes than can be kept', () => {
    const log = new LogStore('log');
    expect(log.nbytes).toBe(0);
    const cells = log.retired;
    const lanes = 10_000;
    // The first lane, too, is still at work.
    cells.add(lane(0), 3, 0, 1e6);
    for (let index = 1; index < lanes; index++) {
      cells.add(lane(index), 3, index, 1);
    }
    const kept = [...laneIndices(lanes)].filter(index => cells.page(index, 0));
    expect(kept.length).toBeLessThanOrEqual(8192);
    expect(kept.length).toBeGreaterThan(7000);
    const first = kept[1]!;
    expect(kept).toEqual([
      0,
      ...Array.from({ length: lanes - first }, (_, i) => first + i)
    ]);
    expect(cells.nbytes).toBe(kept.length * 512 * 16);
    expect(log.nbytes).toBe(cells.nbytes);
    // It gets a page again when one of its runs is dropped.
    cells.add(lane(1), 3, lanes, 1);
    expect(totalOf(index => cells.page(lane(1), index), 'runs')).toBe(1);
  });

  it.each([
    ['ends in ten years', 0, 3e8, 1],
    ['begins before the log', -50, 100, 1],
    ['begins when cells of microseconds cannot be counted', 1e30, 1e24, 1],
    ['ends never', 0, Infinity, 0],
    ['begins never', Infinity, 1, 0],
    ['begins at no time', NaN, 1, 0]
  ])('take a run that %s', (_, start, duration, runs) => {
    const cells = new RetiredCells();
    cells.add(lane(0), 3, start, duration);
    const width = 2 ** cells.level / 1e6;
    const first = Math.floor(start / width / 512) || 0;
    const page = (index: number) => cells.page(lane(0), first + index);
    expect(totalOf(page, 'runs')).toBe(runs);
    expect(totalOf(page, 'busy') / 1e6 / duration || 0).toBeCloseTo(runs, 2);
  });

  it.each([1e30, -1e30])('count a short run that begins at %d', start => {
    const cells = new RetiredCells();
    cells.add(lane(0), 3, start, 1);
    const cell = Math.floor((start * 1e6) / 2 ** cells.level);
    const number = Math.floor(cell / 512);
    expect(cells.page(lane(0), number)!.runs[cell - 512 * number]).toBe(1);
  });
});

/** The sum of a column of a lane's pages. */
function totalOf(
  page: (index: number) => ReturnType<RetiredCells['page']>,
  column: 'busy' | 'runs'
): number {
  let sum = 0;
  for (let index = 0; index < 2001; index++) {
    page(index)?.[column].forEach(each => (sum += each));
  }
  return sum;
}

describe('the boxes of a tile', () => {
  it('have every figure in its own column, and functions by order of appearance', () => {
    const boxes = new BoxList();
    const count = 600;
    for (let i = 0; i < count; i++) {
      const fn = i === 3 ? SEVERAL_FUNCTIONS : 1000 + (i % 300);
      boxes.add(lane(i), i, i + 2, fn, i % 5, i % 2, i % 7, 3 * i, 5 * i);
    }
    boxes.add(lane(0), -1e9, 1e9, 1000, 0, 0, 0, 0, 0);
    expect(boxes.length).toBe(count + 1);
    const columns = boxes.columns();
    const numbers = Array.from({ length: count }, (_, i) => i);
    const column = (values: ArrayLike<number>): number[] =>
      Array.from(values).slice(0, count);
    expect(column(columns.laneIndex)).toEqual(numbers);
    expect(column(columns.from)).toEqual(numbers);
    expect(column(columns.to)).toEqual(numbers.map(i => i + 2));
    // The function of row 3 comes up again in row 303, as the last one.
    expect(column(columns.function)).toEqual(
      numbers.map(i =>
        i === 3
          ? NONE_U16
          : i % 300 === 3
            ? 299
            : (i % 300) - (i % 300 > 3 ? 1 : 0)
      )
    );
    expect(column(columns.kind)).toEqual(numbers.map(i => i % 5));
    expect(column(columns.strip)).toEqual(numbers.map(i => i % 2));
    expect(column(columns.cover)).toEqual(numbers.map(i => i % 7));
    expect(column(columns.run)).toEqual(numbers.map(i => 3 * i));
    expect(column(columns.tasks)).toEqual(numbers.map(i => 5 * i));
    expect([columns.from[count], columns.to[count]]).toEqual([
      -(2 ** 19),
      2 ** 19
    ]);
    const names = boxes.functionNames(id => `f${id}`);
    expect(names.slice(0, 4)).toEqual(['f1000', 'f1001', 'f1002', 'f1004']);
    expect(names).toHaveLength(300);
    for (const values of Object.values(columns)) {
      expect(values).toHaveLength(count + 1);
    }
  });

  it('have no one function beyond what a column of 16 bits can tell apart', () => {
    const boxes = new BoxList();
    for (let fn = 0; fn <= NONE_U16; fn++) {
      boxes.add(lane(0), 0, 1, fn, 0, 0, 0, 0, 0);
    }
    boxes.add(lane(0), 0, 1, NONE_U16 - 1, 0, 0, 0, 0, 0);
    const { function: functions } = boxes.columns();
    expect([...functions.slice(-3)]).toEqual([
      NONE_U16 - 1,
      NONE_U16,
      NONE_U16 - 1
    ]);
    expect(boxes.functionNames(String)).toHaveLength(NONE_U16);
  });
});
