import fc from 'fast-check';
import { ClockChange } from '../../records/enumerations';
import { ClockChanges, type ClockRow } from '../clock-changes';

const { Measured, Slewed, Stepped } = ClockChange;

function rowsOf(
  told: readonly (readonly [t: number, offset: number, within: number])[]
): ClockRow[] {
  const changes = new ClockChanges();
  return told.map(each => changes.tell(...each)).filter(row => row !== null);
}

describe('what a worker adds to its clock', () => {
  it('is a row when it is measured, followed and set, and else not', () => {
    const rows = rowsOf([
      [0, 3, 0.004],
      [1, 3.0004, 0.003],
      [2, 3.0011, 0.003],
      [3, 3.0012, 0.001],
      [4, 3.0012, 0.001],
      [5, 9, 0.001]
    ]);
    expect(rows.map(({ offset, why }) => [offset, why])).toEqual([
      [3, Measured],
      [3.0011, Slewed],
      [3.0012, Measured],
      [9, Stepped]
    ]);
  });

  it('is known to the newest, which may have no row', () => {
    const changes = new ClockChanges();
    expect(changes.newest).toBeNull();
    changes.tell(0, 3, 0.0001);
    expect(changes.tell(20, 3.0004, 0.0002)).toBeNull();
    const { offset, within, drift } = changes.newest!;
    expect([offset, within]).toEqual([3.0004, 0.0002]);
    expect(drift).toBeCloseTo(0.0004 / 20, 12);
  });

  it('is never further from its newest row than is told', () => {
    const moment = fc.record({
      pause: fc.double({ min: 0.1, max: 5, noNaN: true }),
      step: fc.oneof(
        { weight: 9, arbitrary: fc.constant(0) },
        { weight: 1, arbitrary: fc.double({ min: -9, max: 9, noNaN: true }) }
      ),
      within: fc.double({ min: 0.0001, max: 0.1, noNaN: true })
    });
    fc.assert(
      fc.property(
        fc.array(moment, { minLength: 1, maxLength: 80 }),
        fc.double({ min: -1e4, max: 1e4, noNaN: true }),
        fc.double({ min: -5e-4, max: 5e-4, noNaN: true }),
        (moments, skew, drift) => {
          const changes = new ClockChanges();
          let [t, offset] = [0, skew];
          let told: ClockRow | null = null;
          for (const { pause, step, within } of moments) {
            t += pause;
            offset += step + drift * pause;
            told = changes.tell(t, offset, within) ?? told;
            expect(Math.abs(told!.offset - offset)).toBeLessThanOrEqual(0.001);
            expect(within).toBeLessThan(Math.max(0.00051, 2 * told!.within));
          }
        }
      )
    );
  });

  it('has a drift once it has been followed for ten seconds, anew after a step', () => {
    fc.assert(
      fc.property(
        fc.double({ min: -4e-4, max: 4e-4, noNaN: true }),
        fc.integer({ min: 1, max: 40 }),
        fc.constantFrom(-60, 60),
        (drift, stepAt, step) => {
          const changes = new ClockChanges();
          let begin = 0;
          for (let t = 0; t <= 60; t++) {
            const stepped = t >= stepAt;
            begin = t === stepAt ? t : begin;
            changes.tell(t, 3 + drift * t + (stepped ? step : 0), 0.0001);
            const found = changes.newest!.drift;
            if (t - begin < 10) {
              expect(found).toBeNaN();
            } else {
              expect(found).toBeCloseTo(drift, 9);
            }
          }
        }
      )
    );
  });
});
