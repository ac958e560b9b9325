import fc from 'fast-check';
import { LaneThreads } from '../lane-threads';

describe('threads of a lane', () => {
  it('are those that ran its tasks when a run began', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat({ max: 2 }), fc.nat({ max: 3 })), {
          maxLength: 12
        }),
        fc.nat({ max: 3 }),
        (steps, back) => {
          const threads = new LaneThreads();
          const history = [0, 1, 2].map(() => [] as number[][]);
          let now = 0;
          for (const [lane, pause] of steps) {
            now += pause;
            const ident = 1000 + history[lane]!.length;
            history[lane]!.push([now, ident]);
            threads.note(lane, now, ident);
          }
          for (const [lane, placed] of history.entries()) {
            const began = now - back;
            // Only the newest four are kept; a run is older than these only by what a clock's offset has changed.
            const kept = placed.slice(-4);
            const before = kept.filter(([since]) => since! <= began);
            const [, ident] = before[before.length - 1] ?? kept[0] ?? [0, 0];
            expect(threads.at(lane, began)).toBe(ident);
          }
        }
      )
    );
  });

  it('are not known where nothing was told, or no number', () => {
    const threads = new LaneThreads();
    expect(threads.at(0, 1)).toBe(0);
    threads.note(0, 0, NaN);
    expect(threads.at(0, 1)).toBe(0);
  });
});
