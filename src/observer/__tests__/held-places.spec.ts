/** What tasks that have seceded held of threads, in tiles and of what runs: held against who held which thread in each tick of drawn workers. */
import fc from 'fast-check';
import { BoxKind, NONE_U32 } from '../../records/enumerations';
import { rowsToBlock } from '../../testing/rows-to-block';
import { drawSeceding, TICK, TICKS } from '../../testing/drawn-seceding';
import type { Filter, TaskStreamResult } from '../../wire/panel-link';
import { runningSeconds, stripBars } from '../../panels/task-stream/rows';
import { compileFilter } from '../filter';
import { complete } from '../folds/context';
import { ingestBlock } from '../store/ingest';
import { LogStore } from '../store/log-store';
import { pageSeconds, Pyramid } from '../tiles/pyramid';
import { heldByRow, scanHeld } from '../tiles/held-places';
import { atLeast } from '../tiles/scan-rows';
import { makeTile } from '../tiles/tile';
import { ask, tile } from './ask';

type Box = {
  readonly laneIndex: number;
  readonly from: number;
  readonly to: number;
  readonly run: number;
  readonly function: string;
  readonly cover: number;
  readonly tasks: number;
};

const END = TICKS * TICK;
/** Every tick is several cells wide, and a cell several ticks. */
const [FINE, COARSE] = [10, 17];

function boxesOf(
  log: LogStore,
  level: number,
  filter: Filter = {},
  end = END
): Box[] {
  const found: Box[] = [];
  const seconds = pageSeconds(level);
  for (let index = 0; index * seconds < end; index++) {
    const { columns, functions } = tile(log, level, index, filter);
    const origin = index * seconds;
    const cell = 2 ** level / 1e6;
    columns.kind.forEach((kind, row) => {
      if (kind === BoxKind.Seceded) {
        found.push({
          laneIndex: columns.laneIndex[row]!,
          // (a box over several tiles is a row in each)
          from: origin + Math.max(0, columns.from[row]!) * cell,
          to: origin + Math.min(512, columns.to[row]!) * cell,
          run: columns.run[row]!,
          function: functions[columns.function[row]!]!,
          cover: columns.cover[row]!,
          tasks: columns.tasks[row]!
        });
      }
    });
  }
  return found;
}

const laneOf = (
  { lanes }: TaskStreamResult,
  worker: number,
  thread: number
): number =>
  lanes.find(each => each.worker === worker && each.thread === thread)!
    .laneIndex;

describe('what tasks that have seceded held of threads', () => {
  const drawn = [1, 2, 3, 4].map(seed => {
    const each = drawSeceding(seed);
    const stream = ask(each.log, 'task-stream', { now: END });
    const goesOn = new Set(
      each.ticks.at(-1)!.flatMap(one => [...one.held, ...one.beside])
    );
    return { ...each, stream, goesOn };
  });

  it('is a box of the task in the lane of the thread, in each tick that it was held', () => {
    let seen = 0;
    for (const { log, ticks, stream, goesOn } of drawn) {
      const boxes = boxesOf(log, FINE);
      ticks.forEach((workers, tick) => {
        const at = (tick + 0.5) * TICK;
        for (const { worker, held } of workers) {
          held.forEach((run, place) => {
            const laneIndex = laneOf(stream, worker, place);
            const here = boxes.filter(
              box => box.laneIndex === laneIndex && box.from < at && box.to > at
            );
            const isElsewhere =
              run !== null && run.beside !== null && !goesOn.has(run);
            expect(here.map(box => [box.run, box.function, box.tasks])).toEqual(
              isElsewhere ? [[run.run, `f${run.function}`, 0]] : []
            );
            seen += here.length;
          });
        }
      });
    }
    expect(seen).toBeGreaterThan(500);
  });

  it('is found for any stretch of time as by going through all', () => {
    const found = { few: 0, none: 0 };
    const any = fc.double({ min: -0.1, max: 1.1, noNaN: true });
    fc.assert(
      fc.property(fc.constantFrom(...drawn), any, any, ({ log }, a, b) => {
        const scan = (from: number, to: number) => {
          const places: (readonly [
            row: number,
            lane: number,
            start: number,
            duration: number
          ])[] = [];
          scanHeld(
            log,
            compileFilter({}, log),
            atLeast(0),
            from,
            to,
            (row, lane, start, duration) =>
              places.push([row, lane, start, duration])
          );
          return places;
        };
        const [from, to] = [Math.min(a, b) * END, Math.max(a, b) * END];
        const all = scan(-Infinity, Infinity);
        const here = all.filter(
          ([, , start, duration]) => start < to && start + duration >= from
        );
        expect(scan(from, to)).toEqual(here);
        found.few += here.length > 0 && here.length < all.length ? 1 : 0;
        found.none += here.length === 0 ? 1 : 0;
      })
    );
    expect(found.few).toBeGreaterThan(0);
    expect(found.none).toBeGreaterThan(0);
  });

  it('has the same seconds from afar, in fewer boxes, and is told apart by function', () => {
    for (const { log } of drawn) {
      const seconds = (level: number) =>
        boxesOf(log, level).reduce(
          (sum, { from, to, cover }) => sum + ((to - from) * cover) / 255,
          0
        );
      const coarse = boxesOf(log, COARSE);
      const cells = coarse.filter(({ run }) => run === NONE_U32);
      expect(cells.length).toBeGreaterThan(0);
      expect(coarse.length).toBeLessThan(boxesOf(log, FINE).length);
      expect(seconds(COARSE) / seconds(FINE)).toBeCloseTo(1, 1);
      const functions = new Set(cells.map(each => each.function));
      expect([...functions].sort()).toEqual(['f1', 'f2', 'f3']);
    }
  });

  it('is that of the selection, and counted so', () => {
    for (const { log, stream } of drawn) {
      const all = boxesOf(log, FINE);
      const runs = new Set(all.map(({ run }) => run));
      expect(stream.kinds.seceded).toBeGreaterThanOrEqual(runs.size);
      const filter = { functions: ['f2'], workers: [3] };
      const own = boxesOf(log, FINE, filter);
      const lanes = new Set(
        stream.lanes
          .filter(({ worker }) => worker === 3)
          .map(({ laneIndex }) => laneIndex as number)
      );
      expect(own).toEqual(
        all.filter(box => box.function === 'f2' && lanes.has(box.laneIndex))
      );
      const { kinds } = ask(log, 'task-stream', { filter, now: END });
      expect(kinds.seceded).toBeGreaterThan(0);
      expect(kinds.seceded).toBeLessThan(stream.kinds.seceded!);
      const none = { from: END + 1, to: END + 2 };
      const later = ask(log, 'task-stream', { time: none, now: END + 3 });
      expect(later.kinds.seceded).toBeUndefined();
    }
  });

  it('is in the rows of a group that is opened, and not in those of groups, which have the task', () => {
    const kindsOf = (group: number) =>
      drawn.flatMap(({ log }) => {
        const grouping = { groupSize: 1, group };
        const pyramid = new Pyramid(
          log,
          compileFilter({}, log),
          undefined,
          undefined,
          grouping
        );
        const made = makeTile(log, pyramid, COARSE, 0, Infinity);
        return [...complete(made).columns.kind];
      });
    expect(kindsOf(0)).toContain(BoxKind.Seceded);
    expect(new Set(kindsOf(-1))).toEqual(new Set([BoxKind.Compute]));
  });

  it('is worked out once for all answers, until more is told', () => {
    const [{ log }] = drawn as [(typeof drawn)[number]];
    expect(heldByRow(log).size).toBeGreaterThan(0);
    expect(heldByRow(log)).toBe(heldByRow(log));
  });

  it('is all of a run of whose thread nothing is told', () => {
    const log = new LogStore('unknown');
    const lane = (number: number) => ({ lane: number, worker: 3 });
    const tables = {
      header: [{ t: 0, json: '{"kind":"embedded","capabilities":{}}' }],
      workers: [{ worker: 3, name: 'w3', threads: 1, joined: 0, left: NaN }],
      lanes: [
        { ...lane(0), thread: 0 },
        { ...lane(1), thread: 1 }
      ],
      runs: [{ run: 1, node: 1, lane: 1, start: 1, duration: 8 }]
    };
    for (const [table, rows] of Object.entries(tables)) {
      ingestBlock(log, rowsToBlock(log.seq + 1, table as 'runs', rows));
    }
    const { lanes, workers, strip } = ask(log, 'task-stream', { now: 10 });
    expect(lanes[1]!.beside?.[0]).toBe('seceded');
    expect(workers[0]!.busy).toBe(8);
    expect(strip.compute.reduce((a, b) => a + b, 0)).toBeCloseTo(8, 9);
  });

  it('is seen where nothing else is short', () => {
    const log = new LogStore('one');
    const lane = (number: number, ident: number, since: number) => ({
      lane: number,
      worker: 3,
      thread: number,
      ident,
      since
    });
    const tables = {
      header: [{ t: 0, json: '{"kind":"embedded","capabilities":{}}' }],
      workers: [{ worker: 3, name: 'w3', threads: 1, joined: 0, left: NaN }],
      lanes: [lane(0, 70, 0), lane(1, 70, 1.01), lane(0, 71, 1.01)],
      runs: [{ run: 1, node: 1, lane: 1, start: 1, duration: 8 }]
    };
    for (const [table, rows] of Object.entries(tables)) {
      ingestBlock(log, rowsToBlock(log.seq + 1, table as 'runs', rows));
    }
    const [box, ...more] = boxesOf(log, COARSE);
    expect(more).toEqual([]);
    expect(box).toMatchObject({ laneIndex: 0, tasks: 0, run: NONE_U32 });
    expect(((box!.to - box!.from) * box!.cover) / 255).toBeCloseTo(0.01, 2);
    // What is told later counts, too.
    const later = {
      lanes: [lane(0, 70, 20), lane(1, 70, 20.5)],
      runs: [{ run: 2, node: 2, lane: 1, start: 20, duration: 1 }]
    };
    for (const [table, rows] of Object.entries(later)) {
      ingestBlock(log, rowsToBlock(log.seq + 1, table as 'runs', rows));
    }
    expect(boxesOf(log, FINE, {}, 22).map(({ run }) => run)).toContain(2);
  });

  it('is told of tasks that go on, in the lanes of the threads', () => {
    let seen = 0;
    for (const { ticks, stream, goesOn } of drawn) {
      ticks.forEach((workers, tick) => {
        const at = (tick + 0.5) * TICK;
        for (const { worker, held } of workers) {
          held.forEach((run, place) => {
            const laneIndex = laneOf(stream, worker, place);
            const here = stream.running.filter(each =>
              each.held?.some(
                ({ laneIndex: lane, from, to }) =>
                  lane === laneIndex && from < at && (to ?? END) > at
              )
            );
            const isElsewhere =
              run !== null && run.beside !== null && goesOn.has(run);
            expect(here.map(({ started }) => started)).toEqual(
              isElsewhere ? [run.start] : []
            );
            seen += here.length;
          });
        }
      });
    }
    expect(seen).toBeGreaterThan(10);
  });

  it('counts in the strip and as busy, however often a task that goes on has had a thread again', () => {
    const log = new LogStore('often');
    const at = (number: number, ident: number, since: number) => ({
      lane: number,
      worker: 3,
      thread: number,
      ident,
      since
    });
    // Thread 70 has the place in each even second, and leaves it to 71 in each odd one.
    const places = Array.from({ length: 12 }, (_, i) => [
      at(0, 70, 2 * i),
      at(1, 70, 2 * i + 1),
      at(0, 71, 2 * i + 1)
    ]).flat();
    const tables = {
      header: [{ t: 0, json: '{"kind":"embedded","capabilities":{}}' }],
      names: [{ id: 1, text: 'waits' }],
      workers: [{ worker: 3, name: 'w3', threads: 1, joined: 0, left: NaN }],
      lanes: places,
      running: [{ lane: 1, node: 1, function: 1, started: 0 }]
    };
    for (const [table, rows] of Object.entries(tables)) {
      ingestBlock(log, rowsToBlock(log.seq + 1, table as 'runs', rows));
    }
    const stream = ask(log, 'task-stream', { now: 24 });
    const [task] = stream.running;
    expect(task!.held).toHaveLength(8);
    const [worker] = stream.workers;
    expect(worker!.busy + runningSeconds(stream).get(3)!).toBeCloseTo(12, 9);
    const bars = stripBars(stream);
    const second = bars.length / (stream.to - stream.from);
    const seconds = bars.reduce((sum, { compute }) => sum + compute, 0);
    expect(seconds / second).toBeCloseTo(12, 9);
    expect(bars[Math.floor(0.5 * second)]!.compute).toBeCloseTo(1, 9);
    expect(bars[Math.floor(1.5 * second)]!.compute).toBe(0);
    const filter: Filter = { functions: ['another'] };
    const other = ask(log, 'task-stream', { filter, now: 24 });
    expect(other.workers[0]!.busy).toBe(0);
  });
});
