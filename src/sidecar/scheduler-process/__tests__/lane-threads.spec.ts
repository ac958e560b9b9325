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
          const threads = new LaneThreads();
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

  it('are not known where nothing was told, or no number', () => {
    const threads = new LaneThreads();
    expect(threads.of(0, 1)).toBe(0);
    threads.note(0, 0, NaN);
    expect(threads.of(0, 1)).toBe(0);
  });

  it('of a run that seems older than all that was noted are the first', () => {
    const threads = new LaneThreads();
    threads.note(0, 5, 1000);
    threads.note(0, 6, 1001);
    expect(threads.of(0, 4)).toBe(1000);
  });
});
