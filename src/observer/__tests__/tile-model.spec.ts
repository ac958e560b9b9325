/**
 * The tiles of a drawn log are worked out twice: by pages, classes and zones, and here, from each drawn run and part. All cells of all
 * layers and all columns of the boxes are compared.
 */
import fc from 'fast-check';
import {
  BoxKind,
  NONE_U32,
  PartKind,
  RunStatus
} from '../../records/enumerations';
import type { LaneIndex } from '../../records/ids';
import { blockOfZeros, rowsToBlock } from '../../testing/rows-to-block';
import type { Filter } from '../../wire/panel-link';
import { compileFilter } from '../filter';
import { complete } from '../folds/context';
import { CHUNK_MASK } from '../store/column-table';
import { ingestBlock } from '../store/ingest';
import { LogStore } from '../store/log-store';
import { emptyPage, pageBytes, type CellPage } from '../tiles/cell-page';
import { category, functionOf, kindOf, TILE_CELLS } from '../tiles/cell-plane';
import { pageSeconds, Pyramid } from '../tiles/pyramid';
import { makeTile, type TileAnswer } from '../tiles/tile';

/** Seconds. Exact in float32; and no border of a cell but the first is a whole number of them. */
const UNIT = 2 ** -20;
/** By lane index; their ids are others. */
const LANES = [
  { lane: 4, worker: 0, thread: 0 },
  { lane: 9, worker: 1, thread: 0 },
  { lane: 5, worker: 1, thread: 1 }
];
const COMPUTING = PartKind.Compute;
const CHUNK = CHUNK_MASK + 1;

/** The last two have no name; 13 is the first id behind all that have one. */
const FUNCTIONS: readonly number[] = [1, 2, 3, 13, 40];
const anyFunction = fc.constantFrom(...FUNCTIONS);
const nameOf = (fn: number): string => (fn > 3 ? `#${fn}` : `f${fn}`);

const anyPart = fc.record({
  kind: fc.oneof(fc.constant(COMPUTING), fc.integer({ min: 1, max: 7 })),
  held: fc.boolean(),
  function: anyFunction,
  span: fc.integer({ min: 0, max: 2 }),
  sixteenths: fc.nat(5)
});
const anyRun = fc.record({
  gap: fc.nat({ max: 4000 }),
  units: fc.oneof(fc.constant(0), fc.nat({ max: 40 }), fc.nat({ max: 20_000 })),
  /** Its duration is not known: it shows as one that took no time. */
  isUnknown: fc.constantFrom(true, ...new Array<boolean>(7).fill(false)),
  function: anyFunction,
  span: fc.integer({ min: 0, max: 2 }),
  status: fc.oneof(fc.constant(0), fc.nat(3), fc.constant(RunStatus.Cancelled)),
  laneIndex: fc.nat(2),
  parts: fc.array(anyPart, { maxLength: 3 })
});
type DrawnRun = typeof anyRun extends fc.Arbitrary<infer R> ? R : never;
type Own = { readonly function: number; readonly span: number };

/** A filter, and who passes it. */
type Chosen = {
  readonly filter: Filter;
  readonly own?: (own: Own) => boolean;
  readonly run?: (run: DrawnRun) => boolean;
};
const CHOSEN: readonly Chosen[] = [
  { filter: {} },
  { filter: { functions: ['f1'] }, own: own => own.function === 1 },
  { filter: { notFunctions: ['f2'] }, own: own => own.function !== 2 },
  {
    filter: { spans: { any: [{ path: ['a'] }] } },
    own: own => own.span === 1
  },
  {
    filter: { spans: { not: [{ path: ['a'] }] }, functions: ['f1', 'f3'] },
    own: own => own.span !== 1 && [1, 3].includes(own.function)
  },
  { filter: { workers: [1] }, run: run => run.laneIndex > 0 },
  {
    filter: { status: ['failed'] },
    run: run => run.status === RunStatus.Failed
  },
  {
    filter: { status: ['ok', 'lost'], functions: ['f3'] },
    own: own => own.function === 3,
    run: run => run.status === RunStatus.Ok || run.status === RunStatus.Lost
  }
];

/** Something that is drawn; times in seconds. */
type Shape = {
  readonly layer: 'runs' | 'held' | 'strip';
  readonly laneIndex: number;
  readonly function: number;
  readonly kind: BoxKind;
  readonly start: number;
  readonly duration: number;
  /** What decides whether it is a box of its own or part of a cell. */
  readonly classSeconds: number;
  readonly run: number;
  readonly tasks: 0 | 1;
};

const BOX: Readonly<Record<number, BoxKind>> = {
  [PartKind.Transfer]: BoxKind.Transfer,
  [PartKind.DiskRead]: BoxKind.Disk,
  [PartKind.DiskWrite]: BoxKind.Disk,
  [PartKind.Deserialize]: BoxKind.Serialize,
  [PartKind.Serialize]: BoxKind.Serialize,
  [PartKind.Compute]: BoxKind.Compute,
  [PartKind.Import]: BoxKind.Import
};

/** The drawn runs with their times: one after another on each lane, parts that hold the thread one after another in their run. */
function placed(drawn: readonly DrawnRun[]) {
  const free = LANES.map(() => 0);
  return drawn.map((run, id) => {
    const start = free[run.laneIndex]! + run.gap * UNIT;
    const units = run.isUnknown ? 0 : run.units;
    const duration = units * UNIT;
    free[run.laneIndex] = start + duration;
    let offset = 0;
    const parts = run.parts.map(part => {
      // Compute parts hold the thread.
      const held = part.held || part.kind === COMPUTING;
      const length = Math.floor((units * part.sixteenths) / 16) * UNIT;
      const from = held ? offset : -length;
      offset += held ? length : 0;
      return { ...part, held, offset: from, duration: length };
    });
    return { ...run, id, start, duration, parts };
  });
}

function logOf(drawn: readonly DrawnRun[], partsFirst: boolean): LogStore {
  const log = new LogStore('drawn');
  const runs = placed(drawn);
  const names = [1, 2, 3].map(id => ({ id, text: `f${id}` }));
  const work = [
    rowsToBlock(
      0,
      'parts',
      runs.flatMap(({ id, parts }) =>
        parts.map(({ sixteenths: _, ...part }) => ({
          ...part,
          run: id,
          held: Number(part.held)
        }))
      )
    ),
    rowsToBlock(
      0,
      'runs',
      runs.map(({ id, laneIndex, start, duration, ...run }) => ({
        run: id,
        function: run.function,
        span: run.span,
        status: run.status,
        lane: LANES[laneIndex]!.lane,
        start,
        duration: run.isUnknown ? NaN : duration
      }))
    )
  ];
  [
    rowsToBlock(0, 'names', [
      ...names,
      { id: 11, text: 'a' },
      { id: 12, text: 'b' }
    ]),
    rowsToBlock(0, 'spans', [
      { id: 1, parent: 0, tag: 11, closed: NaN },
      { id: 2, parent: 0, tag: 12, closed: NaN }
    ]),
    rowsToBlock(0, 'lanes', LANES),
    ...(partsFirst ? work : work.reverse())
  ].forEach((block, i) => ingestBlock(log, { ...block, seq: i + 1 }));
  return log;
}

function shapesOf(drawn: readonly DrawnRun[], chosen: Chosen): Shape[] {
  const passes = (own: Own): boolean => chosen.own?.(own) ?? true;
  return placed(drawn)
    .filter(run => chosen.run?.(run) ?? true)
    .flatMap((run): Shape[] => {
      const { start, duration, laneIndex } = run;
      const isOwn = (part: Own): boolean =>
        part.function === run.function && part.span === run.span;
      const kind =
        run.status === RunStatus.Failed || run.status === RunStatus.Lost
          ? BoxKind.Failed
          : run.status === RunStatus.Cancelled
            ? BoxKind.Cancelled
            : BoxKind.Compute;
      const whole: Shape = {
        layer: 'runs',
        laneIndex,
        function: run.function,
        kind,
        start,
        duration,
        classSeconds: duration,
        run: run.id,
        tasks: 1
      };
      const executions = run.parts.filter(each => each.kind === COMPUTING);
      // Where functions or spans are chosen, the executions of a fused task stand for it.
      const isDivided =
        chosen.own !== undefined &&
        (executions.length > 1 || executions.some(each => !isOwn(each)));
      const isGone = run.status === RunStatus.Missing && duration === 0;
      return [
        ...(isDivided || isGone || !passes(run) ? [] : [whole]),
        ...run.parts.filter(passes).flatMap((part): Shape[] => {
          const isExecution = part.kind === COMPUTING;
          const stands = isExecution && chosen.own !== undefined;
          if (isExecution && isOwn(part) && !(isDivided && !isGone)) {
            // It is the run once more.
            return [];
          }
          if (isExecution && !stands && kind !== BoxKind.Compute) {
            // All that it computed was in vain.
            return [];
          }
          return [
            {
              ...whole,
              layer: stands ? 'runs' : part.held ? 'held' : 'strip',
              function: part.function,
              kind: stands ? kind : BOX[part.kind]!,
              start: start + part.offset,
              duration: part.duration,
              classSeconds:
                isExecution && isOwn(part) ? duration : part.duration,
              tasks: stands ? 1 : 0
            }
          ];
        })
      ];
    });
}

function isCell({ classSeconds }: Shape, level: number): boolean {
  return level > 0 && classSeconds * 1e6 < 2 ** level;
}

/** In microseconds since the page's begin. */
function inPage(shape: Shape, level: number, index: number) {
  const from = (shape.start - index * pageSeconds(level)) * 1e6;
  return { from, to: from + shape.duration * 1e6 };
}

type Cell = { busy: number; count: number; shares: Map<number, number> };

/** Of a layer, by cell, one lane after another: what is covered and what begins, and how much of it each category has. */
function expectedCells(
  shapes: readonly Shape[],
  level: number,
  index: number
): Map<number, Cell> {
  const width = 2 ** level;
  const cells = new Map<number, Cell>();
  for (const shape of shapes.filter(each => isCell(each, level))) {
    const { from, to } = inPage(shape, level, index);
    const first = Math.floor(from / width);
    for (let cell = first; cell === first || cell * width < to; cell++) {
      if (cell < 0 || cell >= TILE_CELLS) {
        continue;
      }
      const at = shape.laneIndex * TILE_CELLS + cell;
      const own = cells.get(at) ?? { busy: 0, count: 0, shares: new Map() };
      cells.set(at, own);
      const covered =
        Math.min(to, (cell + 1) * width) - Math.max(from, cell * width);
      own.busy += covered;
      own.count += cell === first ? 1 : 0;
      const value = category(shape.kind, shape.function);
      own.shares.set(value, (own.shares.get(value) ?? 0) + covered);
    }
  }
  return cells;
}

function expectPage(
  page: CellPage,
  shapes: readonly Shape[],
  level: number,
  index: number
): void {
  for (const layer of ['runs', 'held', 'strip'] as const) {
    const plane = page[layer];
    const own = shapes.filter(shape => shape.layer === layer);
    const expected = expectedCells(own, level, index);
    for (let at = 0; at < LANES.length * TILE_CELLS; at++) {
      const cell = expected.get(at);
      const { busy = 0, count = 0, shares = new Map() } = cell ?? {};
      const isAlike =
        Math.abs((plane?.busy[at] ?? 0) - busy) < 0.01 + 1e-5 * busy;
      if (!isAlike || (plane?.count[at] ?? 0) !== count) {
        expect([layer, at, plane?.busy[at], plane?.count[at]]).toEqual([
          layer,
          at,
          busy,
          count
        ]);
      }
      for (const [value, share] of shares) {
        const wins = shares.size === 1 || share > 0.51 * busy;
        if (wins && plane!.category[at] !== value) {
          expect([layer, at, plane!.category[at]]).toEqual([layer, at, value]);
        }
      }
    }
  }
}

/** What cells are never: drawn as it is. */
const EXACT = 255;

/** All columns of the boxes that stand for one run or part each, and of marks of failed runs. */
function exactBoxes({ columns: c, functions }: TileAnswer): string[] {
  return [...c.run.keys()]
    .filter(i => c.cover[i] === EXACT)
    .map(i =>
      [
        c.laneIndex[i],
        functions[c.function[i]!],
        c.kind[i],
        c.strip[i],
        c.cover[i],
        c.run[i],
        c.tasks[i],
        c.from[i]!.toFixed(2),
        c.to[i]!.toFixed(2)
      ].join(' ')
    )
    .sort();
}

function expectedBoxes(
  shapes: readonly Shape[],
  level: number,
  index: number
): string[] {
  return shapes
    .filter(shape => {
      const { from, to } = inPage(shape, level, index);
      return !isCell(shape, level) && from < TILE_CELLS * 2 ** level && to >= 0;
    })
    .map(shape => {
      const ends = inPage(shape, level, index);
      const cells = [ends.from, ends.to].map(us =>
        Math.fround(us / 2 ** level)
      );
      return [
        shape.laneIndex,
        nameOf(shape.function),
        shape.kind,
        shape.layer === 'strip' ? 1 : 0,
        EXACT,
        shape.run,
        shape.tasks,
        ...cells.map(each => each.toFixed(2))
      ].join(' ');
    })
    .sort();
}

/** As a tile has them: failed runs in cells, each where it begins, those of neighbouring cells together, with their function if it is one. */
function expectedMarks(
  shapes: readonly Shape[],
  level: number,
  index: number
): string[] {
  const width = 2 ** level;
  const byCell = new Map<number, Shape[]>();
  for (const shape of shapes) {
    const cell = Math.floor(inPage(shape, level, index).from / width);
    if (
      shape.kind === BoxKind.Failed &&
      shape.layer === 'runs' &&
      isCell(shape, level) &&
      cell >= 0 &&
      cell < TILE_CELLS
    ) {
      const at = shape.laneIndex * TILE_CELLS + cell;
      byCell.set(at, [...(byCell.get(at) ?? []), shape]);
    }
  }
  const marks: string[] = [];
  for (const at of byCell.keys()) {
    const cell = at % TILE_CELLS;
    if (cell > 0 && byCell.has(at - 1)) {
      continue;
    }
    const own: Shape[] = [];
    let end = cell;
    for (; end < TILE_CELLS && byCell.has(at - cell + end); end++) {
      own.push(...byCell.get(at - cell + end)!);
    }
    const [only] = own as [Shape];
    const isOne = own.length === 1;
    const { from, to } = inPage(only, level, index);
    marks.push(
      [
        Math.floor(at / TILE_CELLS),
        own.every(each => each.function === only.function)
          ? nameOf(only.function)
          : undefined,
        BoxKind.Failed,
        0,
        EXACT,
        isOne ? only.run : NONE_U32,
        own.length,
        ...(isOne
          ? [from / width, to / width].map(Math.fround)
          : [cell, end]
        ).map(each => each.toFixed(2))
      ].join(' ')
    );
  }
  return marks;
}

/** The boxes of cells show each cell of the page once, in its colour and nearly at its cover, in as few boxes as that allows. */
function expectCells(
  { columns: c, functions }: TileAnswer,
  page: CellPage,
  log: LogStore,
  level: number
): void {
  const aggregates = [...c.run.keys()].filter(i => c.cover[i] !== EXACT);
  for (const layer of ['runs', 'held', 'strip'] as const) {
    const plane = page[layer];
    /** By cell, one lane after another: its box, one higher. */
    const boxOf = new Uint32Array(LANES.length * TILE_CELLS);
    const isHere = (i: number): boolean =>
      (c.strip[i] === 1 ? 'strip' : c.tasks[i] ? 'runs' : 'held') === layer;
    for (const i of aggregates.filter(isHere)) {
      const cells = c.laneIndex[i]! * TILE_CELLS;
      const shown = boxOf.subarray(cells + c.from[i]!, cells + c.to[i]!);
      expect(shown.every(each => each === 0)).toBe(true);
      shown.fill(i + 1);
      const busy = [...plane!.busy.slice(cells + c.from[i]!, cells + c.to[i]!)];
      const covers = busy.map(us => Math.min(255, (us / 2 ** level) * 255));
      const away = covers.map(each => Math.abs(each - covers[0]!));
      expect(Math.max(...away)).toBeLessThan(12.001);
      const mean = covers.reduce((sum, each) => sum + each) / covers.length;
      const nearest = Math.min(254, Math.max(1, mean));
      expect(Math.abs(c.cover[i]! - nearest)).toBeLessThan(0.501);
      const tasks = plane!.count
        .slice(cells + c.from[i]!, cells + c.to[i]!)
        .reduce((sum, each) => sum + each);
      expect(c.tasks[i]).toBe(layer === 'runs' ? Math.max(1, tasks) : 0);
      const value = plane!.category[cells + c.from[i]!]!;
      expect(c.kind[i]).toBe(kindOf(value));
      expect(functions[c.function[i]!]).toBe(
        [BoxKind.Compute, BoxKind.Cancelled].includes(kindOf(value))
          ? log.name(functionOf(value))
          : undefined
      );
      // A box that could be joined with the one before is joined.
      const before = c.from[i]! > 0 ? boxOf[cells + c.from[i]! - 1]! - 1 : -1;
      if (before >= 0 && busy[0]! > 0) {
        const first = cells + c.from[before]!;
        const cover = Math.min(255, (plane!.busy[first]! / 2 ** level) * 255);
        const isAlike = plane!.category[first] === value;
        expect(isAlike && Math.abs(cover - covers[0]!) <= 12).toBe(false);
      }
    }
    for (let at = 0; at < boxOf.length; at++) {
      const isThere = plane !== null && plane.busy[at]! + plane.count[at]! > 0;
      const box = boxOf[at]! - 1;
      const isRight = isThere
        ? box >= 0 &&
          plane.category[at] ===
            plane.category[at - (at % TILE_CELLS) + c.from[box]!]
        : box < 0;
      if (!isRight) {
        expect([layer, at, box, isThere]).toBe('a box of its colour');
      }
    }
  }
}

describe('tiles of runs, parts and executions', () => {
  it('show each once, in its layer, as a box or in cells, under any filter', () => {
    fc.assert(
      fc.property(
        fc.array(anyRun, { minLength: 1, maxLength: 20 }),
        fc.boolean(),
        fc.constantFrom(...CHOSEN),
        fc.integer({ min: 0, max: 14 }),
        fc.nat(19),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (drawn, partsFirst, chosen, level, nth, share) => {
          // A tile in which there is something.
          const run = placed(drawn)[nth % drawn.length]!;
          const index = Math.floor(
            (run.start + share * run.duration) / pageSeconds(level)
          );
          const log = logOf(drawn, partsFirst);
          const filter = compileFilter(chosen.filter, log);
          const shapes = shapesOf(drawn, chosen);
          const direct = new Pyramid(log, filter);
          const page = complete(direct.page(level, index, Infinity));
          expectPage(page, shapes, level, index);
          // With one row as "few" each page is made from the two below it.
          const joined = new Pyramid(log, filter, 2 ** 26, 1);
          expectPage(
            complete(joined.page(level, index, 0)),
            shapes,
            level,
            index
          );
          const tile = complete(makeTile(log, direct, level, index, 0));
          const exact = [
            ...expectedBoxes(shapes, level, index),
            ...expectedMarks(shapes, level, index)
          ].sort();
          expect(exactBoxes(tile)).toEqual(exact);
          const other = complete(makeTile(log, joined, level, index, 0));
          expect(exactBoxes(other)).toEqual(exact);
          expectCells(tile, page, log, level);
          expect([tile.level, tile.index]).toEqual([level, index]);
        }
      ),
      { numRuns: 60 }
    );
  });

  it('draw the executions of one function, with others’ work between them', () => {
    const own = { function: 1, span: 0 };
    const parts = [COMPUTING, PartKind.Transfer, COMPUTING].map(kind => ({
      ...own,
      kind,
      held: true,
      sixteenths: 4
    }));
    const run = {
      ...own,
      gap: 1,
      units: 4096,
      isUnknown: false,
      status: 0,
      laneIndex: 0,
      parts
    };
    for (const partsFirst of [false, true]) {
      const log = logOf([run], partsFirst);
      const shapes = shapesOf([run], CHOSEN[1]!);
      const pyramid = new Pyramid(log, compileFilter(CHOSEN[1]!.filter, log));
      const tile = complete(makeTile(log, pyramid, 4, 0, 0));
      expect(exactBoxes(tile)).toEqual(expectedBoxes(shapes, 4, 0));
      expect([...tile.columns.tasks]).toEqual([1, 1, 0]);
      // The run reaches over several finer tiles, each execution over fewer.
      for (let index = 0; index < 9; index++) {
        const finer = complete(makeTile(log, pyramid, 0, index, 0));
        const expected = expectedBoxes(shapes, 0, index);
        expect([index, exactBoxes(finer)]).toEqual([index, expected]);
      }
    }
  });
});

describe('a run whose one execution is itself', () => {
  it('is drawn whole where its function is chosen, whatever stands beside it', () => {
    const own = { function: 1, span: 0 };
    const part = { ...own, held: true, sixteenths: 4 };
    const computing = { ...part, kind: COMPUTING };
    const transfer = { ...part, function: 2, kind: PartKind.Transfer };
    const drawn = [[computing], [computing], [transfer, computing]].map(
      parts => ({
        ...own,
        gap: 1,
        units: 4096,
        isUnknown: false,
        status: 0,
        laneIndex: 0,
        parts
      })
    );
    for (const partsFirst of [false, true]) {
      const log = logOf(drawn, partsFirst);
      const pyramid = new Pyramid(log, compileFilter(CHOSEN[1]!.filter, log));
      const tile = complete(makeTile(log, pyramid, 5, 0, 0));
      const shapes = shapesOf(drawn, CHOSEN[1]!);
      expect(shapes).toHaveLength(3);
      expect(exactBoxes(tile)).toEqual(expectedBoxes(shapes, 5, 0));
    }
  });
});

describe('a tile with more boxes than a message takes', () => {
  it('has wider cells in the same coordinates, and the same tasks', () => {
    const log = new LogStore('many');
    const lanes = 100;
    const cells = 400;
    const level = 10;
    const cell = 2 ** level / 1e6;
    ingestBlock(
      log,
      rowsToBlock(
        1,
        'lanes',
        Array.from({ length: lanes }, (_, lane) => ({
          lane,
          worker: lane,
          thread: 0
        }))
      )
    );
    // One run in each of the last cells of the fourth tile, unlike its neighbours: no two cells can be one box.
    const count = cells * lanes;
    const block = blockOfZeros(2, 'runs', count);
    const { columns } = block;
    for (let i = 0; i < count; i++) {
      const at = 4 * TILE_CELLS - cells + Math.floor(i / lanes);
      columns['run']![i] = i;
      columns['lane']![i] = i % lanes;
      columns['function']![i] = at % 2;
      columns['start']![i] = (at + 0.25) * cell;
      columns['duration']![i] = cell / 2;
    }
    ingestBlock(log, block);
    const pyramid = new Pyramid(log, compileFilter({}, log));
    const of = (index: number): TileAnswer =>
      complete(makeTile(log, pyramid, level, index, Infinity));
    const { columns: c, ...tile } = of(3);
    expect(tile).toMatchObject({ level, index: 3, settled: true });
    expect(c.tasks.reduce((sum, each) => sum + each)).toBe(count);
    // Two cells together are like the next two, so that each lane is one box.
    expect(c.run).toHaveLength(lanes);
    for (let i = 0; i < lanes; i++) {
      expect([c.from[i], c.to[i]]).toEqual([TILE_CELLS - cells, TILE_CELLS]);
      expect(c.laneIndex[i]).toBe(i);
      expect(c.cover[i]).toBe(128);
      expect(c.tasks[i]).toBe(cells);
    }
    expect(of(1).columns.run).toHaveLength(0);
    expect(of(2).columns.run).toHaveLength(0);
    const end = 3 * pageSeconds(level);
    for (const [before, settled] of [
      [end, true],
      [end - 1e-9, false]
    ] as const) {
      const own = complete(makeTile(log, pyramid, level, 2, before));
      expect([before, own.settled]).toEqual([before, settled]);
    }
  });
});

describe('cells that are joined', () => {
  it('end with their lane, and take in none that is only a mark', () => {
    const log = new LogStore('lanes');
    const level = 10;
    const cell = 2 ** level / 1e6;
    const runs = [0, 1].flatMap(lane =>
      Array.from({ length: TILE_CELLS }, (_, i) => ({
        lane,
        start: (i + 0.25) * cell,
        duration: cell / 2
      }))
    );
    // Two marks side by side.
    const marks = [7.5, 8.5].map(at => ({
      lane: 2,
      start: at * cell,
      duration: 0
    }));
    // Two functions side by side.
    const unlike = [7, 8].map(at => ({
      lane: 3,
      function: at,
      start: (at + 0.25) * cell,
      duration: cell / 2
    }));
    const rows = [...runs, ...marks, ...unlike].map((row, run) => ({
      ...row,
      run
    }));
    ingestBlock(log, rowsToBlock(1, 'runs', rows));
    const pyramid = new Pyramid(log, compileFilter({}, log));
    const { columns: c } = complete(makeTile(log, pyramid, level, 0, 0));
    expect(
      [...c.run.keys()].map(i => [c.laneIndex[i], c.from[i], c.to[i]])
    ).toEqual([
      [0, 0, TILE_CELLS],
      [1, 0, TILE_CELLS],
      [2, 7, 8],
      [2, 8, 9],
      [3, 7, 8],
      [3, 8, 9]
    ]);
  });
});

describe('a tile', () => {
  it('shows a run of two months as a box', () => {
    const log = new LogStore('long');
    const run = { run: 7, start: 3, duration: 5e6 };
    ingestBlock(log, rowsToBlock(1, 'runs', [run]));
    const pyramid = new Pyramid(log, compileFilter({}, log));
    const { columns } = complete(makeTile(log, pyramid, 35, 0, 0));
    expect([...columns.run]).toEqual([7]);
  });

  it.each([
    [1000, false],
    [700, true],
    [0, true]
  ])(
    'looks through all rows in order if %i of a thousand are others: %s',
    (others, inOrder) => {
      const log = new LogStore('mixed');
      const rows = Array.from({ length: 1010 }, (_, run) => ({
        run,
        duration: run < others ? 1 : 1e-5
      }));
      ingestBlock(log, rowsToBlock(1, 'runs', rows));
      const zones = jest.spyOn(log.runZones, 'zones');
      const pyramid = new Pyramid(log, compileFilter({}, log));
      const page = complete(pyramid.page(8, 0, 0));
      expect(page.runs!.count[0]).toBe(1010 - others);
      expect(zones).toHaveBeenCalledTimes(inOrder ? 1 : 0);
    }
  );

  it('shows nothing of rows that were dropped, while others of their zone are there', () => {
    const log = new LogStore('dropped', { runs: CHUNK, parts: CHUNK });
    const [runs, parts] = [
      blockOfZeros(1, 'runs', CHUNK),
      blockOfZeros(2, 'parts', CHUNK)
    ];
    for (const { columns } of [runs, parts]) {
      columns['run']!.forEach((_, i) => (columns['run']![i] = i));
      columns['duration']!.fill(1e-5);
      columns['duration']!.fill(1, 0, 100);
    }
    parts.columns['kind']!.fill(PartKind.Transfer);
    ingestBlock(log, runs);
    ingestBlock(log, parts);
    const part = { kind: PartKind.Transfer, duration: 1 };
    ingestBlock(log, rowsToBlock(3, 'parts', [{ ...part, run: 5 }]));
    const later = Array.from({ length: 601 }, (_, i) => ({
      run: CHUNK + i,
      duration: i < 600 ? 1e-5 : 1
    }));
    ingestBlock(log, rowsToBlock(4, 'runs', later));
    ingestBlock(log, rowsToBlock(5, 'parts', [{ ...part, run: CHUNK + 600 }]));
    expect([log.runs.firstRow, log.parts.firstRow]).toEqual([CHUNK, CHUNK]);
    const pyramid = new Pyramid(log, compileFilter({}, log));
    const { columns: c } = complete(makeTile(log, pyramid, 10, 0, 0));
    const own = [...c.run.keys()].filter(i => c.run[i] !== NONE_U32);
    expect(own.map(i => [c.run[i], c.strip[i], c.tasks[i]])).toEqual([
      [CHUNK + 600, 0, 1],
      [CHUNK + 600, 1, 0]
    ]);
    // Cells of dropped runs know no worker, so that these are of the rows alone.
    ingestBlock(log, rowsToBlock(6, 'lanes', [{ lane: 0, worker: 2 }]));
    const chosen = new Pyramid(log, compileFilter({ workers: [2] }, log));
    const { runs: cells } = complete(chosen.page(10, 0, 0));
    expect(cells!.count.reduce((sum, each) => sum + each)).toBe(600);
  });

  it('shows the executions that are left of a run whose other parts were dropped', () => {
    const log = new LogStore('dropped', { parts: CHUNK });
    ingestBlock(log, rowsToBlock(1, 'names', [{ id: 1, text: 'f1' }]));
    const run = { run: 7, function: 1, duration: 4e-3 };
    ingestBlock(log, rowsToBlock(2, 'runs', [run]));
    const part = { run: 7, kind: COMPUTING, held: 1, function: 1 };
    ingestBlock(log, rowsToBlock(3, 'parts', [{ ...part, duration: 1e-3 }]));
    ingestBlock(log, blockOfZeros(4, 'parts', CHUNK - 1));
    const left = [1, 2].map(fn => ({
      ...part,
      function: fn,
      offset: fn * 1e-3,
      duration: 1e-3
    }));
    ingestBlock(log, rowsToBlock(5, 'parts', left));
    expect(log.parts.firstRow).toBe(CHUNK);
    const filter = compileFilter({ functions: ['f1'] }, log);
    const pyramid = new Pyramid(log, filter);
    const { columns: c } = complete(makeTile(log, pyramid, 4, 0, 0));
    expect([...c.run.keys()].map(i => [c.run[i], c.from[i]])).toEqual([
      [7, expect.closeTo(62.5, 2)]
    ]);
  });

  it.each(['runs', 'parts'] as const)(
    'leaves out %s of a lane that appeared while it was made',
    table => {
      const count = 9000;
      const log = new LogStore('late');
      const own = { run: 0, lane: 0, start: 1e-3, duration: 1e-3 };
      ingestBlock(log, rowsToBlock(1, 'runs', [own]));
      const block = blockOfZeros(2, table, count);
      block.columns['duration']!.fill(1e-5);
      block.columns['start']?.fill(1e-3);
      block.columns['kind']?.fill(PartKind.Transfer);
      block.columns['run']!.forEach((_, i) => {
        block.columns['run']![i] = table === 'runs' ? 10 + i : 0;
      });
      ingestBlock(log, block);
      const pyramid = new Pyramid(log, compileFilter({}, log));
      const making = makeTile(log, pyramid, 3, 0, 0);
      expect(making.next().done).toBe(false);
      ingestBlock(
        log,
        rowsToBlock(3, 'runs', [{ ...own, run: 20_000, lane: 3 }])
      );
      const late = { run: 20_000, kind: PartKind.Transfer, duration: 1e-5 };
      ingestBlock(
        log,
        rowsToBlock(4, 'parts', table === 'parts' ? [late] : [])
      );
      const { columns } = complete(making);
      expect(columns.run).toHaveLength(1 + count);
      expect(new Set(columns.laneIndex)).toEqual(new Set([0]));
    }
  );
});

describe('pages', () => {
  const pageOf = (
    pyramid: Pyramid,
    level: number,
    index: number,
    before = Infinity
  ): CellPage => complete(pyramid.page(level, index, before));
  const run = { run: 0, lane: 0, start: 1e-3, duration: 1e-5 };
  const busyLog = (rows: number): LogStore => {
    const log = new LogStore('pages');
    const runs = Array.from({ length: rows }, (_, i) => ({
      ...run,
      run: i,
      start: 1e-3 + i * 2e-5
    }));
    ingestBlock(log, rowsToBlock(1, 'runs', runs));
    return log;
  };

  it('are kept while there is room, those that were asked for last', () => {
    const log = busyLog(1);
    const filter = compileFilter({}, log);
    const one = new Pyramid(log, filter);
    pageOf(one, 8, 0);
    const ofOne = one.nbytes;
    expect(ofOne).toBeGreaterThan(0);
    // All three have a run: it is in the first page of each level.
    const pyramid = new Pyramid(log, filter, 2 * ofOne);
    const [a, b] = [8, 9].map(level => pageOf(pyramid, level, 0));
    expect(pyramid.nbytes).toBe(2 * ofOne);
    expect(pageOf(pyramid, 8, 0)).toBe(a);
    const c = pageOf(pyramid, 10, 0);
    expect(pyramid.nbytes).toBe(2 * ofOne);
    expect(pageOf(pyramid, 8, 0)).toBe(a);
    expect(pageOf(pyramid, 10, 0)).toBe(c);
    expect(pageOf(pyramid, 9, 0)).not.toBe(b);
    expect(pyramid.nbytes).toBe(2 * ofOne);
    // The newest is kept, even if it alone is more than there is room for.
    const small = new Pyramid(log, filter, 1);
    const kept = pageOf(small, 8, 0);
    expect(pageOf(small, 8, 0)).toBe(kept);
    expect(small.nbytes).toBe(ofOne);
  });

  it('are kept if nothing that they show can change, however much above them can', () => {
    const log = busyLog(2);
    const pyramid = new Pyramid(log, compileFilter({}, log), 2 ** 26, 1);
    const end = pageSeconds(9);
    pageOf(pyramid, 9, 0, pageSeconds(4) - 1e-9);
    expect(pyramid.nbytes).toBe(0);
    const page = pageOf(pyramid, 9, 0, end - 1e-9);
    // The first of the two below it, and those below that one.
    const finer = pageOf(pyramid, 8, 0);
    const { nbytes } = pyramid;
    expect(pageOf(pyramid, 8, 0)).toBe(finer);
    const again = pageOf(pyramid, 9, 0, end);
    expect(again).not.toBe(page);
    expect(pageOf(pyramid, 9, 0)).toBe(again);
    const empty = pageBytes(emptyPage(1));
    expect(pyramid.nbytes).toBe(nbytes + pageBytes(again) + empty);
  });

  it('are made of finer ones where many rows lie, down to the shortest of them', () => {
    const log = busyLog(2);
    const pyramid = new Pyramid(log, compileFilter({}, log), 2 ** 26, 1);
    const page = pageOf(pyramid, 10, 0);
    // 10 µs are less than a cell from level 4 on. Of each level below the tenth there is a page with both runs, and an empty one beside it.
    const empty = pageBytes(emptyPage(1));
    expect(pyramid.nbytes).toBe(7 * pageBytes(page) + 6 * empty);
    // Two rows are few here.
    const few = new Pyramid(log, pyramid.filter, 2 ** 26, 2);
    expect(pageBytes(pageOf(few, 10, 0))).toBe(few.nbytes);
    // Parts are rows as well: two of them and two runs are more than three.
    const rows = [0, 1].map(id => ({
      run: id,
      kind: PartKind.Transfer,
      duration: 1e-5
    }));
    ingestBlock(log, rowsToBlock(2, 'parts', rows));
    for (const [most, isMore] of [
      [3, true],
      [4, false]
    ] as const) {
      const some = new Pyramid(log, pyramid.filter, 2 ** 26, most);
      const own = pageBytes(pageOf(some, 10, 0));
      expect([most, some.nbytes > own]).toEqual([most, isMore]);
    }
  });

  it('are made of finer ones only where those take less room than their rows do', () => {
    const log = new LogStore('crowd');
    const block = blockOfZeros(1, 'runs', 140_000);
    block.columns['run']!.forEach((_, i, runs) => (runs[i] = i));
    block.columns['duration']!.fill(1e-5);
    ingestBlock(log, block);
    const filter = compileFilter({}, log);
    const narrow = new Pyramid(log, filter);
    expect(pageBytes(pageOf(narrow, 5, 0))).toBeLessThan(narrow.nbytes);
    const lanes = Array.from({ length: 140 }, (_, lane) => ({
      lane,
      worker: 0,
      thread: lane
    }));
    ingestBlock(log, rowsToBlock(2, 'lanes', lanes));
    const wide = new Pyramid(log, filter);
    const page = pageOf(wide, 5, 0);
    expect(page.lanes).toBe(140);
    expect(pageBytes(page)).toBe(wide.nbytes);
  });

  it('are made again after rows came late, or were dropped', () => {
    const log = busyLog(1);
    const pyramid = new Pyramid(log, compileFilter({}, log));
    const first = pageOf(pyramid, 8, 0);
    log.lateRows++;
    const second = pageOf(pyramid, 8, 0);
    expect(second).not.toBe(first);
    const { nbytes } = pyramid;
    log.droppedRuns++;
    expect(pageOf(pyramid, 8, 0)).not.toBe(second);
    expect(pyramid.nbytes).toBe(nbytes);
  });

  it('are not kept if rows came late while they were made, and kept once if two asked', () => {
    const log = busyLog(9000);
    const pyramid = new Pyramid(log, compileFilter({}, log));
    const late = pyramid.page(14, 0, Infinity);
    expect(late.next().done).toBe(false);
    log.lateRows++;
    complete(late);
    expect(pyramid.nbytes).toBe(0);
    const [one, other] = [0, 1].map(() => pyramid.page(14, 0, Infinity));
    expect(one!.next().done).toBe(false);
    expect(other!.next().done).toBe(false);
    const kept = complete(one!);
    const { nbytes } = pyramid;
    expect(nbytes).toBeGreaterThan(0);
    complete(other!);
    expect(pyramid.nbytes).toBe(nbytes);
    expect(pageOf(pyramid, 14, 0)).toBe(kept);
  });

  it('leave out a lane that appeared while they were made', () => {
    const log = busyLog(9000);
    const pyramid = new Pyramid(log, compileFilter({}, log));
    const making = pyramid.page(14, 0, 0);
    expect(making.next().done).toBe(false);
    ingestBlock(
      log,
      rowsToBlock(2, 'runs', [{ ...run, run: 90_000, lane: 3, start: 0.3 }])
    );
    const page = complete(making);
    expect(page.lanes).toBe(1);
    expect(page.runs!.count.reduce((sum, each) => sum + each)).toBe(9000);
  });
});

describe('what is left of dropped runs', () => {
  it('is spread over finer cells and joined in coarser ones, with all its time and runs', () => {
    const anyRetired = fc.record({
      laneIndex: fc.nat(1),
      fn: fc.constantFrom(1, 2),
      // At the begin of a page, too, with empty ones before it.
      start: fc.oneof(fc.nat(3000), fc.constantFrom(0, 1024, 2048)),
      length: fc.oneof(fc.nat(4), fc.nat(900))
    });
    fc.assert(
      fc.property(
        fc.array(anyRetired, { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 0, max: 15 }),
        fc.nat(3),
        (runs, level, nth) => {
          const log = new LogStore('retired');
          // A page in which there is something, or one of the first.
          const halves = runs[nth]?.start;
          const index =
            halves === undefined
              ? nth
              : Math.floor((halves * 2 ** 11) / (TILE_CELLS * 2 ** level));
          const lanes = [0, 1].map(lane => ({ lane, worker: 0, thread: lane }));
          ingestBlock(log, rowsToBlock(1, 'lanes', lanes));
          const cell = 2 ** log.retired.level;
          for (const { laneIndex, fn, start, length } of runs) {
            const from = (start * cell) / 2 / 1e6;
            const duration = (length * cell) / 4 / 1e6;
            log.retired.add(laneIndex as LaneIndex, fn, from, duration);
            const stop = from + duration + 1e-6;
            log.droppedBefore = Math.max(log.droppedBefore, stop);
          }
          const open = new Pyramid(log, compileFilter({}, log));
          const page = complete(open.page(level, index, 0));
          const chosen = compileFilter({ workers: [0] }, log);
          expect(
            complete(new Pyramid(log, chosen).page(level, index, 0)).runs
          ).toBeNull();
          const width = 2 ** level;
          const begin = index * TILE_CELLS * width;
          for (let laneIndex = 0; laneIndex < 2; laneIndex++) {
            const busy = new Float64Array(TILE_CELLS);
            const count = new Float64Array(TILE_CELLS);
            const functions = new Map<number, Set<number>>();
            for (let number = 0; number < 12; number++) {
              const source = log.retired.page(laneIndex as LaneIndex, number);
              for (let at = 0; source && at < TILE_CELLS; at++) {
                if (source.busy[at] === 0 && source.runs[at] === 0) {
                  continue;
                }
                const from = (number * TILE_CELLS + at) * cell - begin;
                const first = Math.floor(from / width);
                for (
                  let own = first;
                  own === first || own * width < from + cell;
                  own++
                ) {
                  if (own >= 0 && own < TILE_CELLS) {
                    const to = Math.min(from + cell, (own + 1) * width);
                    const share = (to - Math.max(from, own * width)) / cell;
                    busy[own]! += share * source.busy[at]!;
                    count[own]! += own === first ? source.runs[at]! : 0;
                    const here = functions.get(own) ?? new Set();
                    functions.set(own, here.add(source.function[at]!));
                  }
                }
              }
            }
            for (let own = 0; own < TILE_CELLS; own++) {
              const at = laneIndex * TILE_CELLS + own;
              const shown = [
                page.runs?.busy[at] ?? 0,
                page.runs?.count[at] ?? 0
              ];
              const isAlike =
                Math.abs(shown[0]! - busy[own]!) < 1e-3 * (1 + busy[own]!);
              if (!isAlike || shown[1] !== count[own]) {
                expect([at, ...shown]).toEqual([at, busy[own], count[own]]);
              }
              const value = page.runs?.category[at];
              if (functions.has(own) && value !== undefined && busy[own]! > 0) {
                expect(kindOf(value)).toBe(BoxKind.Compute);
                expect(functions.get(own)).toContain(functionOf(value));
              }
            }
          }
        }
      ),
      {
        numRuns: 25,
        examples: [
          // A run that took no time, alone in its cell.
          [[{ laneIndex: 1, fn: 2, start: 6, length: 0 }], 11, 0],
          // A page within the last cell, after its last run.
          [[{ laneIndex: 0, fn: 1, start: 0, length: 1 }], 1, 2]
        ]
      }
    );
  });
});
