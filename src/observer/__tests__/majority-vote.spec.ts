import fc from 'fast-check';
import { majorityVote } from '../store/majority-vote';

const CELL = 5;

describe('a majority vote', () => {
  it('is won by what has more than half of all weight, in whatever order, else by one that has some', () => {
    const anyVote = fc.tuple(
      fc.constantFrom(0, 1, 2, 3),
      fc.integer({ min: 0, max: 9 })
    );
    fc.assert(
      fc.property(fc.array(anyVote), votes => {
        const values = new Uint32Array(CELL + 2);
        const weights = new Float32Array(CELL + 2);
        const sums = new Map<number, number>();
        for (const [value, weight] of votes) {
          majorityVote(values, weights, CELL, value, weight);
          sums.set(value, (sums.get(value) ?? 0) + weight);
          const all = [...sums.values()].reduce((sum, each) => sum + each);
          for (const [each, sum] of sums) {
            if (sum > all / 2) {
              expect(values[CELL]).toBe(each);
              // It is left with what the others could not outweigh.
              expect(weights[CELL]).toBeGreaterThanOrEqual(2 * sum - all);
            }
          }
          const candidates = [...sums]
            .filter(([, sum]) => sum > 0 || all === 0)
            .map(([each]) => each);
          // A cell that 0 has left in a tie is like an empty one.
          if (!sums.has(0)) {
            expect(candidates).toContain(values[CELL]);
          }
        }
        expect(votes.length > 0 || values[CELL] === 0).toBe(true);
        // No other cell has changed.
        values[CELL] = weights[CELL] = 0;
        expect([...values, ...weights].every(each => each === 0)).toBe(true);
      })
    );
  });

  it('is won without weight by the first', () => {
    const [values, weights] = [new Uint32Array(1), new Float32Array(1)];
    majorityVote(values, weights, 0, 7, 0);
    majorityVote(values, weights, 0, 8, 0);
    expect([...values, ...weights]).toEqual([7, 0]);
  });
});
