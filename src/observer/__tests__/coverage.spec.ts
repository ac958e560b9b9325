import fc from 'fast-check';
import { Coverage } from '../folds/coverage';

const FROM = 10;
const BINS = 7;
/** No power of two, so that borders of bins are rounded. */
const WIDTH = 0.3;
const TO = FROM + BINS * WIDTH;

/** Before, on and after the range; half of them on a bin's border. */
const anyTime = fc.oneof(
  fc.integer({ min: -2, max: BINS + 2 }).map(bin => FROM + bin * WIDTH),
  fc.integer({ min: -50, max: 300 }).map(step => FROM + step / 100)
);

describe('the coverage of bins', () => {
  it('is how much of each bin each interval covers, added up by weight', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.tuple(anyTime, anyTime, fc.constantFrom(undefined, 0.25, 3)),
          { maxLength: 12 }
        ),
        intervals => {
          const coverage = new Coverage(BINS, FROM, TO);
          const expected = new Array<number>(BINS).fill(0);
          for (const [from, to, weight] of intervals) {
            coverage.add(from, to, weight);
            for (let bin = 0; bin < BINS; bin++) {
              const begin = Math.max(from, FROM + bin * WIDTH);
              const end = Math.min(to, FROM + (bin + 1) * WIDTH);
              expected[bin]! += Math.max(0, end - begin) * (weight ?? 1);
            }
          }
          const read = coverage.read();
          expect(read).toHaveLength(BINS);
          read.forEach((seconds, bin) =>
            expect(seconds).toBeCloseTo(expected[bin]!, 9)
          );
        }
      ),
      {
        numRuns: 200,
        examples: [
          [[[FROM - 5, TO + 5, 3]]],
          [[[FROM + 0.1, FROM + 0.2, 0.25]]],
          [[[TO - 0.5, TO, 3]]]
        ]
      }
    );
  });

  it('adds nothing for what has no length, and holds what one bin does', () => {
    const coverage = new Coverage(4, 0, 4);
    coverage.add(1, 1);
    coverage.add(2, 1);
    coverage.add(NaN, 3);
    expect([...coverage.read()]).toEqual([0, 0, 0, 0]);
    // Within a bin: exactly its length, where the way by both ends would round.
    const narrow = new Coverage(3, 0, 0.3);
    narrow.add(0.11, 0.13);
    expect([...narrow.read()]).toEqual([0, 0.13 - 0.11, 0]);
  });
});
