import fc from 'fast-check';
import { HeldFigures } from '../folds/held-figures';

type Sample = { readonly t: number; readonly bytes: number };

const anySamples = fc
  .array(
    fc.record({
      t: fc.integer({ min: 0, max: 40 }),
      bytes: fc.oneof({ arbitrary: fc.nat(9), weight: 6 }, fc.constantFrom(NaN))
    }),
    { maxLength: 12 }
  )
  .map(samples => samples.sort((a, b) => a.t - b.t));

/** What is known at a moment: of the newest sample until then, if another comes after it, or it is of that moment. */
function heldAt(samples: readonly Sample[], at: number, hold: number): number {
  const index = samples.findLastIndex(({ t }) => t <= at);
  const { t, bytes } = samples[index] ?? { t: NaN, bytes: NaN };
  const isHeld = at === t || (at < t + hold && index < samples.length - 1);
  return isHeld ? bytes : NaN;
}

it('have the peak and the mean of what is held in the range', () => {
  fc.assert(
    fc.property(
      anySamples,
      fc.integer({ min: 0, max: 40 }),
      fc.integer({ min: 1, max: 20 }),
      fc.oneof(fc.integer({ min: 1, max: 9 }), fc.constant(Infinity)),
      (samples, from, width, hold) => {
        const to = from + width;
        const held = new HeldFigures({ from, to }, hold);
        samples.forEach(({ t, bytes }) => held.add(t, bytes));
        const { first, last, peak, peakAt, mean } = held.figures();
        // All times are whole: within each second one value holds, seen at its middle.
        const seconds = Array.from({ length: width }, (_, second) =>
          heldAt(samples, from + second + 0.5, hold)
        ).filter(bytes => !Number.isNaN(bytes));
        // (of several samples of one moment each counts)
        const met = [
          ...samples.filter(({ t }) => t >= from && t <= to),
          { t: from, bytes: heldAt(samples, from, hold) }
        ]
          .filter(({ bytes }) => !Number.isNaN(bytes))
          .sort((a, b) => b.bytes - a.bytes || a.t - b.t);
        expect(peak).toBe(met[0]?.bytes ?? null);
        expect(peakAt).toBe(met[0]?.t ?? null);
        // The earliest of what is met, and what was told last; of one moment the first counts, and the last.
        const inTime = met.toSorted((a, b) => a.t - b.t);
        const earliest = inTime.filter(({ t }) => t === inTime[0]?.t);
        expect([null, ...earliest.map(({ bytes }) => bytes)]).toContain(first);
        expect(first === null).toBe(peak === null);
        const told = samples.findLast(({ t }) => t <= to)?.bytes ?? NaN;
        expect(last).toBe(peak === null || Number.isNaN(told) ? null : told);
        const sum = seconds.reduce((all, bytes) => all + bytes, 0);
        if (seconds.length > 0) {
          expect(mean).toBeCloseTo(sum / seconds.length, 9);
        } else {
          expect(mean).toBe(peak);
        }
      }
    ),
    { numRuns: 500 }
  );
});

it('are not known where there is no sample', () => {
  const none = {
    first: null,
    last: null,
    peak: null,
    peakAt: null,
    mean: null
  };
  const held = new HeldFigures({ from: 5, to: 9 }, 3);
  expect(held.figures()).toEqual(none);
  held.add(1, 7);
  held.add(20, 7);
  expect(held.figures()).toEqual(none);
});
