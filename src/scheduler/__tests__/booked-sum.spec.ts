import * as fc from 'fast-check';
import { BookedSum } from '../booked-sum';
import { FunctionDurations } from '../durations';

const UNKNOWN_SECONDS = 0.5;

describe('what is booked', () => {
  it('is the sum of what is known of the functions now, whenever tasks were booked', () => {
    const step = fc.record({
      functionId: fc.constantFrom(0, 7, 100_000),
      adds: fc.boolean(),
      measured: fc.option(fc.double({ min: 0, max: 100, noNaN: true })),
      passes: fc.constantFrom(0, 0.002, 0.1)
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), steps => {
        const durations = new FunctionDurations(UNKNOWN_SECONDS);
        const time = new BookedSum();
        const rows: number[] = [];
        let now = 0;
        for (const { functionId, adds, measured, passes } of steps) {
          now += passes;
          const row = durations.rowOf(functionId);
          if (adds) {
            rows.push(row);
            time.add(row, durations.booked(row), durations.isKnown(row));
            durations.begin(row, now);
          } else if (rows.length > 0) {
            const done = rows.shift()!;
            time.remove(done, durations.booked(done), durations.isKnown(done));
          }
          if (measured !== null) {
            const isNew = !durations.isKnown(row);
            time.change(row, durations.add(row, measured), isNew);
          }
          const due = durations.nextDue(now);
          if (due !== -1) {
            time.change(due, durations.grow(due, now), false);
          }
          const unknown = rows.filter(r => !durations.isKnown(r));
          expect(time.unknownCount).toBe(unknown.length);
          const sum = rows.reduce((all, r) => all + durations.booked(r), 0);
          expect(time.sum).toBeCloseTo(sum, 6);
        }
      }),
      { numRuns: 300 }
    );
  });

  it('is a guess that grows until a task has ended, and then close to the average', () => {
    const durations = new FunctionDurations(UNKNOWN_SECONDS);
    const row = durations.rowOf(9);
    const grow = (now: number): number => {
      for (let due = 0; due !== -1; due = durations.nextDue(now)) {
        durations.grow(row, now);
      }
      return durations.booked(row);
    };
    expect(durations.booked(row)).toBe(0.001);
    durations.begin(row, 10);
    expect(durations.nextDue(10.0005)).toBe(-1);
    expect(grow(10.01)).toBeCloseTo(0.02);
    // Not at each look, but when the time has doubled.
    expect(durations.nextDue(10.015)).toBe(-1);
    expect(grow(10.1)).toBeCloseTo(0.2);
    expect(grow(20)).toBe(UNKNOWN_SECONDS);
    expect(durations.nextDue(1000)).toBe(-1);
    expect(durations.add(row, 0.01)).toBeCloseTo(0.01 - UNKNOWN_SECONDS);
    expect(durations.booked(row)).toBe(0.01);
    // Within the tolerance: the books stay as they are.
    expect(durations.add(row, 0.011)).toBe(0);
    expect(durations.booked(row)).toBe(0.01);
    expect(durations.add(row, 0.02)).toBeGreaterThan(0);
  });
});
