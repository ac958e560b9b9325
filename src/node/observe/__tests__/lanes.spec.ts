import fc from 'fast-check';
import { HomeLanes, LaneRange } from '../lanes';
import { ProcessSlots } from '../process-slots';

describe('lanes', () => {
  it('never hold two tasks at a time, whichever workers a pool uses', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4 }),
        fc.array(
          fc.record({
            workerId: fc.integer({ min: 1, max: 8 }),
            wait: fc.integer({ min: 0, max: 3 }),
            length: fc.integer({ min: 0, max: 5 })
          }),
          { maxLength: 40 }
        ),
        (size, tasks) => {
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
            const lane = range.ofWorker(workerId, start, stop);
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
      range.ofWorker(at, at, at + 1.5)
    );
    expect(new Set(lanes).size).toBe(2);
  });

  it('are the same for runs that follow each other, and apart for runs at a time', () => {
    const home = new HomeLanes();
    const pool = {};
    const first = home.acquire(pool, 4);
    const beside = home.acquire({}, 2);
    expect([first.base, beside.base, home.count]).toEqual([0, 4, 6]);
    home.release(first);
    expect(home.acquire({}, 3).base).toBe(0);
    expect(home.acquire(pool, 4).base).toBe(6);
    home.release(beside);
    expect(home.count).toBe(10);
  });

  it('are given to tasks of this thread from the first on', () => {
    const range = new LaneRange(2);
    const lanes = [range.take(), range.take()];
    range.give(lanes[0]!);
    expect([...lanes, range.take()]).toEqual([0, 1, 0]);
  });
});

describe('slots of processes', () => {
  it('are kept by a process, and taken by the next one when it has ended', () => {
    const slots = new ProcessSlots(1);
    const [one, two] = slots.acquire(2);
    expect(slots.of(100)).toEqual({ slot: one, isNew: true });
    expect(slots.of(200)).toEqual({ slot: two, isNew: true });
    expect(slots.of(100)).toEqual({ slot: one, isNew: false });
    slots.release([one!, two!]);
    one!.pid = null;
    // The one that lives is probably of the same pool.
    expect(slots.acquire(1)).toEqual([two]);
    expect(slots.of(300)).toEqual({ slot: one, isNew: true });
    expect(slots.all).toHaveLength(2);
  });
});
