import * as fc from 'fast-check';
import { BookedTime } from '../booked-time';
import { FunctionDurations } from '../durations';

const UNKNOWN_SECONDS = 0.5;

describe('what is booked', () => {
  it('is the sum of what is known of the functions now, whenever tasks were booked', () => {
    const step = fc.record({
      functionId: fc.constantFrom(0, 7, 100_000),
      adds: fc.boolean(),
      measured: fc.option(fc.double({ min: 0, max: 100, noNaN: true }))
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), steps => {
        const durations = new FunctionDurations(UNKNOWN_SECONDS);
        const time = new BookedTime();
        const rows: number[] = [];
        for (const { functionId, adds, measured } of steps) {
          const row = durations.rowOf(functionId);
          if (adds) {
            rows.push(row);
            time.add(row, durations.booked(row));
          } else if (rows.length > 0) {
            const done = rows.shift()!;
            time.remove(done, durations.booked(done));
          }
          if (measured !== null) {
            time.change(row, durations.add(row, measured));
          }
          const sum = rows.reduce((all, r) => all + durations.booked(r), 0);
          expect(time.seconds).toBeCloseTo(sum, 6);
        }
      }),
      { numRuns: 300 }
    );
  });

  it('is a guess until a task has ended, and then close to the average', () => {
    const durations = new FunctionDurations(UNKNOWN_SECONDS);
    const row = durations.rowOf(9);
    expect(durations.booked(row)).toBe(UNKNOWN_SECONDS);
    expect(durations.add(row, 0.01)).toBeCloseTo(0.01 - UNKNOWN_SECONDS);
    expect(durations.booked(row)).toBe(0.01);
    // Within the tolerance: the books stay as they are.
    expect(durations.add(row, 0.011)).toBe(0);
    expect(durations.booked(row)).toBe(0.01);
    expect(durations.add(row, 0.02)).toBeGreaterThan(0);
  });
});
