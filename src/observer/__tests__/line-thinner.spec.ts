import fc from 'fast-check';
import { LineThinner, type DrawnLine } from '../folds/line-thinner';

type Sample = { readonly t: number; readonly bytes: number };

const anySamples = fc
  .array(
    fc.record({
      t: fc.integer({ min: -4, max: 40 }),
      bytes: fc.oneof(
        { arbitrary: fc.nat(9), weight: 6 },
        fc.constantFrom(NaN, -1)
      )
    }),
    { maxLength: 60, size: 'max' }
  )
  .map(samples => samples.sort((a, b) => a.t - b.t));

/** What was before the range holds where it begins, unless a sample is there. */
function within(
  samples: readonly Sample[],
  from: number,
  to: number
): readonly Sample[] {
  const before = samples.filter(({ t }) => t < from).at(-1);
  const inside = samples.filter(({ t }) => t >= from && t <= to);
  return before !== undefined && inside[0]?.t !== from
    ? [{ t: from, bytes: before.bytes }, ...inside]
    : inside;
}

function drawn(
  samples: readonly Sample[],
  from: number,
  to: number,
  points: number
): DrawnLine {
  const thinner = new LineThinner({ from, to }, points);
  for (const { t, bytes } of samples) {
    thinner.add(t, bytes);
  }
  return thinner.drawn();
}

describe('a line for drawing', () => {
  it('has every sample while there is room; else the extremes of equal stretches', () => {
    fc.assert(
      fc.property(
        anySamples,
        fc.integer({ min: 0, max: 9 }),
        fc.integer({ min: 0, max: 4 }),
        fc.integer({ min: 1, max: 20 }),
        (samples, from, eighths, points) => {
          const to = from + 8 * eighths;
          const expected = within(samples, from, to);
          const line = drawn(samples, from, to, points);
          if (expected.length <= points) {
            expect(line).toEqual({
              t: expected.map(({ t }) => t),
              bytes: expected.map(({ bytes }) =>
                Number.isNaN(bytes) ? null : bytes
              )
            });
            return;
          }
          const count = Math.max(1, Math.floor(points / 2));
          const width = (to - from) / count;
          const bins = Array.from({ length: count }, (): Sample[] => []);
          for (const sample of expected) {
            const share = to > from ? (sample.t - from) / (to - from) : 0;
            bins[Math.min(count - 1, Math.floor(share * count))]!.push(sample);
          }
          const points2: Sample[] = [];
          const of = { from: [], low: [], high: [], mean: [] } as Record<
            'from' | 'low' | 'high' | 'mean',
            number[]
          >;
          for (const [index, bin] of bins.entries()) {
            const known = bin.filter(({ bytes }) => !Number.isNaN(bytes));
            if (known.length === 0) {
              continue;
            }
            const figures = known.map(({ bytes }) => bytes);
            const low = Math.min(...figures);
            const high = Math.max(...figures);
            const lowest = known.find(({ bytes }) => bytes === low)!;
            const highest = known.find(({ bytes }) => bytes === high)!;
            const both = [lowest, highest].sort((a, b) => a.t - b.t);
            points2.push(...(both[0]!.t === both[1]!.t ? [lowest] : both));
            of.from.push(from + index * width);
            of.low.push(low);
            of.high.push(high);
            of.mean.push(
              figures.reduce((sum, each) => sum + each, 0) / figures.length
            );
          }
          expect(line).toEqual({
            t: points2.map(({ t }) => t),
            bytes: points2.map(({ bytes }) => bytes),
            bins: { seconds: width, ...of }
          });
        }
      ),
      { numRuns: 400 }
    );
  });

  it('is what was before the range, if no sample lies within it', () => {
    const samples = [
      { t: 1, bytes: 5 },
      { t: 2, bytes: 6 },
      { t: 9, bytes: 7 }
    ];
    expect(drawn(samples, 3, 8, 10)).toEqual({ t: [3], bytes: [6] });
    expect(drawn([], 3, 8, 10)).toEqual({ t: [], bytes: [] });
  });
});
