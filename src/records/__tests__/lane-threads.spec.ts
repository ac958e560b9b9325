import fc from 'fast-check';
import { LaneThreads } from '../lane-threads';

describe('threads of lanes', () => {
  /**
   * A worker with one thread for tasks, whose tasks leave it: the task goes on beside, in the smallest free lane from 1 on, and a thread
   * with another number has lane 0. Each run is told some moments after its end.
   */
  it('are those that ran the tasks, also of tasks that left their lane', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('run', 'leave', 'end'), { maxLength: 40 }),
        steps => {
          const threads = new LaneThreads<number>();
          let now = 0;
          let ident = 1000;
          const beside = new Map<number, number>();
          threads.note(0, now, ident);
          for (const step of steps) {
            now += 1;
            if (step === 'run') {
              expect(threads.of(0, now)).toBe(ident);
            } else if (step === 'leave') {
              let lane = 1;
              while (beside.has(lane)) {
                lane += 1;
              }
              beside.set(lane, ident);
              threads.note(lane, now, ident);
              ident += 1;
              threads.note(0, now, ident);
            } else if (beside.size > 0) {
              const [lane, own] = [...beside][0]!;
              beside.delete(lane);
              // It has another thread before the run is told.
              threads.note(lane, now + 0.5, -1);
              expect(threads.of(lane, now)).toBe(own);
            }
          }
        }
      )
    );
  });

  /** Of a list of all that was told, the last one of the newest moment before the end. */
  it('are those that any account of all that was told names, in whatever order it came', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            lane: fc.integer({ min: 0, max: 2 }),
            since: fc.integer({ min: 0, max: 20 }),
            ident: fc.constantFrom(70, 71, 72, NaN)
          }),
          { maxLength: 40 }
        ),
        told => {
          const threads = new LaneThreads<number>();
          told.forEach(each => threads.note(each.lane, each.since, each.ident));
          for (let lane = 0; lane < 3; lane++) {
            const own = told.filter(each => each.lane === lane);
            const first = Math.min(...own.map(({ since }) => since));
            for (let end = -1; end < 22; end++) {
              const before = own.filter(
                ({ since }) => since <= Math.max(end, first)
              );
              const newest = Math.max(...before.map(({ since }) => since));
              const expected = before.findLast(({ since }) => since === newest);
              expect(threads.of(lane, end)).toBe(expected?.ident ?? NaN);
            }
          }
        }
      )
    );
  });

  it('are not known where nothing was told, or no number, or no time', () => {
    const threads = new LaneThreads<number>();
    expect(threads.of(0, 1)).toBeNaN();
    threads.note(0, NaN, 1000);
    expect(threads.of(0, 1)).toBeNaN();
    threads.note(0, 0, NaN);
    expect(threads.of(0, 1)).toBeNaN();
  });

  it('of runs before the oldest 64 changes are not known', () => {
    const threads = new LaneThreads<number>();
    for (let i = 0; i < 64; i++) {
      threads.note(0, i, 100 + i);
    }
    // As long as all are known, what seems older is of the first.
    expect(threads.of(0, -1)).toBe(100);
    threads.note(0, 64, 164);
    expect([-1, 0.5, 1, 64].map(end => threads.of(0, end))).toEqual([
      NaN,
      NaN,
      101,
      164
    ]);
    // Of other lanes nothing was forgotten.
    threads.note(1, 5, 200);
    expect(threads.of(1, 4)).toBe(200);
  });
});
