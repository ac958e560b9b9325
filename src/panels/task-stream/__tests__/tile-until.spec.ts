/** Of a tile what there was at an earlier moment: held against the tile of a log that ended then. */
import fc from 'fast-check';
import { tile } from '../../../observer/__tests__/ask';
import { ingestBlock } from '../../../observer/store/ingest';
import { LogStore } from '../../../observer/store/log-store';
import type { LaneIndex } from '../../../records/ids';
import { rowsToBlock } from '../../../testing/rows-to-block';
import type { TileData } from '../../../feed/feed-types';
import { tileSeconds } from '../tile-plan';
import { tileUntil } from '../tile-until';

const LEVEL = 10;
const CELL = 2 ** LEVEL / 1e6;

type Run = {
  readonly lane: number;
  readonly from: number;
  readonly to: number;
};

function tileOf(runs: readonly Run[], index = 0): TileData {
  const log = new LogStore('log');
  ingestBlock(
    log,
    rowsToBlock(
      1,
      'lanes',
      [0, 1, 2].map(lane => ({ lane, worker: lane, thread: 0 }))
    )
  );
  const rows = runs.map(({ lane, from, to }, run) => ({
    run,
    lane,
    start: from * CELL,
    duration: (to - from) * CELL
  }));
  ingestBlock(log, rowsToBlock(2, 'runs', rows));
  const { columns, ...header } = tile(log, LEVEL, index);
  return { ...header, ...columns, logSeq: 1 };
}

const boxesOf = (of: TileData) =>
  [...of.laneIndex.keys()].map(row => [
    ...[of.laneIndex[row], of.run[row], of.from[row], of.to[row]],
    ...[of.kind[row], of.strip[row], of.cover[row], of.tasks[row]]
  ]);

/** Of a lane, one after the other; in cells. */
const aLane = fc.array(
  fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 2, max: 40 })),
  { maxLength: 12 }
);

describe('a tile until an earlier moment', () => {
  it('has what had ended, and nothing of what runs or is to come', () => {
    fc.assert(
      fc.property(
        fc.tuple(aLane, aLane, aLane),
        fc.integer({ min: 1, max: 500 }),
        fc.integer({ min: 0, max: 1 }),
        (lanes, now, index) => {
          const runs = lanes.flatMap((lane, number) => {
            let at = 0;
            return lane.map(([gap, length]) => {
              const from = at + gap;
              at = from + length;
              return { lane: number, from, to: at };
            });
          });
          const running = new Set(
            runs
              .filter(({ from, to }) => from < now && to > now)
              .map(({ lane }) => lane as LaneIndex)
          );
          const whole = tileOf(runs, index);
          const until = tileUntil(whole, now * CELL, running);
          const ended = new Set(
            [...runs.keys()].filter(run => runs[run]!.to <= now)
          );
          const expected = boxesOf(whole).filter(([, run]) =>
            ended.has(run as number)
          );
          expect(boxesOf(until)).toEqual(expected);
          if (expected.length === whole.run.length) {
            expect(until).toBe(whole);
          }
        }
      )
    );
  });

  it('cuts off what reaches farther: of what is told of at its end alone, and of cells', () => {
    const runs = [
      { lane: 0, from: 2, to: 9 },
      // Each half as long as a cell, in each cell.
      ...Array.from({ length: 9 }, (_, at) => ({
        lane: 1,
        from: at + 0.25,
        to: at + 0.75
      }))
    ];
    const whole = tileOf(runs);
    const until = tileUntil(whole, 5 * CELL, new Set());
    const ends = (of: TileData) => Math.max(...of.to);
    expect([ends(whole), ends(until)]).toEqual([9, 5]);
    expect(until.run).toHaveLength(whole.run.length);
    // Of an aggregate nobody knows what of it runs.
    const running = new Set([0, 1] as unknown as LaneIndex[]);
    const [only, ...more] = boxesOf(tileUntil(whole, 5 * CELL, running));
    expect(more).toEqual([]);
    expect(only!.slice(0, 4)).toEqual([1, 0xffffffff, 0, 5]);
  });

  it('has nothing of what begins at that moment', () => {
    // (in float32 a little before it: it was a box without a width)
    const runs = [5, 44, 55, 59].map((from, at) => ({
      lane: 1,
      from,
      to: [38, 48, 57, 61][at]!
    }));
    const whole = tileOf([...runs, { lane: 1, from: 62, to: 64 }]);
    expect(tileUntil(whole, 62 * CELL, new Set()).run).toHaveLength(4);
  });

  it('counts from the begin of the tile', () => {
    const whole = tileOf([{ lane: 0, from: 600, to: 640 }], 1);
    const at = (cells: number) =>
      tileUntil(whole, tileSeconds(LEVEL) + cells * CELL, new Set());
    expect(at(100).to[0]).toBe(100);
    expect(at(128)).toBe(whole);
    expect(at(88).to).toHaveLength(0);
  });
});
