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

/**
 * What was before the range holds where it begins, unless a sample is there, and what is in it where it ends, if one comes after it; neither
 * for longer than a sample holds.
 */
function within(
  samples: readonly Sample[],
  from: number,
  to: number,
  hold: number
): readonly Sample[] {
  const all = samples.flatMap((sample, index) => {
    const { t, bytes } = sample;
    const next = samples[index + 1]?.t ?? -Infinity;
    return Number.isNaN(bytes) || t + hold >= next
      ? [sample]
      : [sample, { t: t + hold, bytes: NaN }];
  });
  const inside = all.filter(({ t }) => t >= from && t <= to);
  const before = all.filter(({ t }) => t < from).at(-1);
  const isLast = before !== undefined && before === all.at(-1);
  if (before !== undefined && inside[0]?.t !== from) {
    if (!isLast || before.t + hold >= from) {
      inside.unshift({ t: from, bytes: before.bytes });
    }
  }
  const last = inside.at(-1);
  const comesMore = all.some(({ t }) => t > to);
  if (last && comesMore && !Number.isNaN(last.bytes) && last.t < to) {
    inside.push({ t: to, bytes: last.bytes });
  }
  return inside;
}

function drawn(
  samples: readonly Sample[],
  from: number,
  to: number,
  points: number,
  hold = Infinity
): DrawnLine {
  const thinner = new LineThinner({ from, to }, points, hold);
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
        fc.oneof(fc.integer({ min: 1, max: 9 }), fc.constant(Infinity)),
        (samples, from, eighths, points, hold) => {
          const to = from + 8 * eighths;
          const expected = within(samples, from, to, hold);
          const line = drawn(samples, from, to, points, hold);
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
            const unknown = bin.filter(({ bytes }) => Number.isNaN(bytes));
            if (known.length === 0) {
              points2.push(...unknown.slice(-1));
              continue;
            }
            const figures = known.map(({ bytes }) => bytes);
            const low = Math.min(...figures);
            const high = Math.max(...figures);
            const lowest = known.find(({ bytes }) => bytes === low)!;
            const highest = known.find(({ bytes }) => bytes === high)!;
            const both = lowest.t === highest.t ? [lowest] : [lowest, highest];
            points2.push(
              ...[...both, ...unknown.slice(-1)].sort((a, b) => a.t - b.t)
            );
            of.from.push(from + index * width);
            of.low.push(low);
            of.high.push(high);
            of.mean.push(
              figures.reduce((sum, each) => sum + each, 0) / figures.length
            );
          }
          expect(line).toEqual({
            t: points2.map(({ t }) => t),
            bytes: points2.map(({ bytes }) =>
              Number.isNaN(bytes) ? null : bytes
            ),
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
    expect(drawn(samples, 3, 8, 10)).toEqual({ t: [3, 8], bytes: [6, 6] });
    expect(drawn(samples.slice(0, 2), 3, 8, 10)).toEqual({
      t: [3],
      bytes: [6]
    });
    expect(drawn([], 3, 8, 10)).toEqual({ t: [], bytes: [] });
  });

  it('has a gap where no sample comes for longer than one holds, also where it is thinned', () => {
    const flat = (from: number, count: number) =>
      Array.from({ length: count }, (_, at) => ({ t: from + at, bytes: 5 }));
    const samples = [...flat(0, 4), ...flat(30, 4)];
    expect(drawn(samples, 0, 40, 20, 10)).toEqual({
      t: [0, 1, 2, 3, 13, 30, 31, 32, 33],
      bytes: [5, 5, 5, 5, null, 5, 5, 5, 5]
    });
    const thinned = drawn(samples, 0, 40, 8, 10);
    expect(thinned.t).toEqual([0, 13, 30]);
    expect(thinned.bytes).toEqual([5, null, 5]);
    // Looked at closely: it is over, and it still holds.
    expect(drawn(samples, 20, 25, 20, 10).bytes).toEqual([null]);
    expect(drawn(samples, 5, 12, 20, 10)).toEqual({
      t: [5, 12],
      bytes: [5, 5]
    });
    expect(drawn(samples, 50, 60, 20, 10).t).toEqual([]);
  });
});
