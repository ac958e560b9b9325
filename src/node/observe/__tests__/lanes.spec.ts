import fc from 'fast-check';
import { OVERLAPPING_FROM } from '../../../records/beside-lanes';
import { HomeLanes, LaneRange } from '../lanes';
import { ProcessSlots } from '../process-slots';

const all = () => true;
const nobody = () => false;

describe('lanes', () => {
  it('are kept by a worker whose stamps lie a rounding before its last ones', () => {
    const range = new LaneRange(2);
    const rows = [
      [1, 0, 5],
      [2, 0, 7],
      [1, 5 - 1e-7, 6],
      [2, 7 - 1e-7, 8],
      [1, 6, 9]
    ] as const;
    const lanes = rows.map(([worker, start, stop]) =>
      range.ofWorker(worker, start, stop, all)
    );
    expect(lanes).toEqual([0, 1, 0, 1, 0]);
  });

  it('of a worker that is at a long task are not for one that takes the place of another', () => {
    const range = new LaneRange(2);
    const lives = (worker: number) => worker !== 2;
    const lanes = [
      range.ofWorker(1, 0, 1, all),
      range.ofWorker(2, 0, 5, all),
      // Worker 2 is gone; nothing is known yet of the task that worker 1 began at 1.
      range.ofWorker(3, 6, 7, lives),
      range.ofWorker(1, 1, 8, lives),
      range.ofWorker(3, 7, 9, lives)
    ];
    expect(lanes).toEqual([0, 1, 1, 0, 1]);
  });

  it('never hold two tasks at a time, whichever workers a pool uses', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4 }),
        fc.boolean(),
        fc.array(
          fc.record({
            workerId: fc.integer({ min: 1, max: 8 }),
            wait: fc.integer({ min: 0, max: 3 }),
            length: fc.integer({ min: 0, max: 5 })
          }),
          { maxLength: 40 }
        ),
        (size, live, tasks) => {
          const range = new LaneRange(size);
          // A worker runs one task after the other.
          const free = new Map<number, number>();
          const planned = tasks.map(({ workerId, wait, length }) => {
            const start = (free.get(workerId) ?? 0) + wait;
            free.set(workerId, start + length);
            return { workerId, start, stop: start + length };
          });
          const stops = new Map<number, number>();
          for (const { workerId, start, stop } of planned.sort(
            (a, b) => a.start - b.start
          )) {
            const lane = range.ofWorker(workerId, start, stop, () => live);
            expect(stops.get(lane) ?? 0).toBeLessThanOrEqual(start);
            stops.set(lane, stop);
          }
        }
      ),
      { numRuns: 300 }
    );
  });

  it('are as many as workers at a time, however many workers there were', () => {
    const range = new LaneRange(2);
    const lanes = Array.from({ length: 20 }, (_, at) =>
      range.ofWorker(at, at, at + 1.5, nobody)
    );
    expect(new Set(lanes).size).toBe(2);
  });

  it('are the same for runs that follow each other, and apart for runs at a time', () => {
    const home = new HomeLanes();
    const pool = {};
    const first = home.acquire(pool, 4);
    const beside = home.acquire({}, 2);
    expect([first.base, beside.base, home.count]).toEqual([0, 4, 6]);
    home.release(first, 4);
    expect(home.acquire({}, 3).base).toBe(0);
    expect(home.acquire(pool, 4).base).toBe(6);
    home.release(beside, 2);
    expect(home.count).toBe(10);
  });

  it('are enough for runs of one pool at a time, that use a part of it each', () => {
    const home = new HomeLanes();
    const pool = {};
    const one = home.acquire(pool, 2, 4);
    expect(home.count).toBe(2);
    const two = home.acquire(pool, 2, 4);
    expect(home.count).toBe(4);
    const three = home.acquire(pool, 2, 4);
    expect([one.base, two.base, three.base, home.count]).toEqual([0, 0, 0, 4]);
    // Computations beside them do not run in their lanes.
    expect(home.acquire({}, 1).base).toBe(4);
    const busy = [1, 2, 3, 4].map(id => one.ofWorker(id, 0, 1, all));
    expect(busy).toEqual([0, 1, 2, 3]);
  });

  it('of tasks of this thread are its own one, else the first free one of those that overlap', () => {
    fc.assert(
      fc.property(
        // Which of the taken ones is given back, if one is.
        fc.array(fc.option(fc.nat(), { freq: 3 }), { maxLength: 60 }),
        fc.integer({ min: 0, max: 5 }),
        (steps, size) => {
          const home = new HomeLanes();
          // Beside a pool.
          home.acquire({}, size);
          const range = home.acquire({}, 1);
          const taken: number[] = [];
          for (const given of steps) {
            if (given === null || taken.length === 0) {
              const all = [
                size,
                ...taken.map((_, at) => OVERLAPPING_FROM + at)
              ];
              const lane = range.take();
              expect(lane).toBe(all.find(each => !taken.includes(each)));
              taken.push(lane);
            } else {
              range.give(taken.splice(given % taken.length, 1)[0]!);
            }
          }
          // What overlaps is nothing that could be idle.
          expect(home.count).toBe(size + 1);
        }
      ),
      { numRuns: 300 }
    );
  });
});

describe('slots of processes', () => {
  it('are kept by a process, and taken by the next one when it has ended', () => {
    const pool = {};
    const slots = new ProcessSlots(1);
    const [one, two] = slots.acquire(pool, 2);
    expect(slots.of(pool, 100)).toEqual({ slot: one, isNew: true });
    expect(slots.of(pool, 200)).toEqual({ slot: two, isNew: true });
    expect(slots.of(pool, 100)).toEqual({ slot: one, isNew: false });
    slots.release([one!, two!]);
    slots.ended(one!);
    expect(slots.acquire(pool, 1)).toEqual([two]);
    expect(slots.of({}, 300)).toEqual({ slot: one, isNew: true });
    expect(slots.all).toHaveLength(2);
  });

  it('are as many as a pool has processes, however many runs use it', () => {
    const pool = {};
    const slots = new ProcessSlots(1);
    const first = slots.acquire(pool, 2, 3);
    const second = slots.acquire(pool, 2, 3);
    expect(slots.acquire(pool, 3, 3)).toHaveLength(3);
    expect(slots.all).toHaveLength(3);
    expect(new Set([...first, ...second]).size).toBe(3);
  });

  it('are not those of another pool that lives on', () => {
    const slots = new ProcessSlots(1);
    const pools = [{}, {}] as const;
    const [old] = slots.acquire(pools[0], 1);
    slots.of(pools[0], 100);
    slots.release([old!]);
    const [other] = slots.acquire(pools[1], 1);
    expect(other).not.toBe(old);
    expect(slots.of(pools[1], 200).slot).toBe(other);
  });
});
