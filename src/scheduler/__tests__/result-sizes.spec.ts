import * as fc from 'fast-check';
import { ResultSizes } from '../result-sizes';

const LEAST = 10_000;

/** The share of results that change books. */
function changes(sizes: readonly number[]): number {
  const books = new ResultSizes(LEAST);
  return (
    sizes.filter(nbytes => books.add(3, nbytes) !== 0).length / sizes.length
  );
}

describe('the size with which a task stands in books', () => {
  it('is near the average of the last results, or 0 where that is small', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 1e9 }), { minLength: 1 }),
        fc.integer({ min: 0, max: 1e9 }),
        (before, nbytes) => {
          const books = new ResultSizes(LEAST);
          let booked = 0;
          for (const size of [...before, ...Array<number>(200).fill(nbytes)]) {
            booked += books.add(3, size);
          }
          expect(books.booked(3)).toBeCloseTo(booked, 3);
          expect(books.booked(4)).toBe(0);
          if (nbytes < LEAST / 2) {
            expect(booked).toBeLessThanOrEqual(2 * LEAST);
          }
          if (nbytes > 2 * LEAST) {
            expect(booked / nbytes).toBeGreaterThan(1 / 2);
            expect(booked / nbytes).toBeLessThan(2.1);
          }
        }
      )
    );
  });

  it.each([
    ['alternate about the least figure', (i: number) => (i % 2) * 2 * LEAST],
    ['rise and fall by a half', (i: number) => 1e6 * (1 + Math.sin(i) / 2)],
    ['are small', (i: number) => 28 + (i % 7)],
    [
      'are exponential',
      (i: number) => -1e6 * Math.log(((i * 0.618) % 1) + 1e-9)
    ]
  ])('changes with few results that %s', (_, sizeOf) => {
    expect(
      changes(Array.from({ length: 2000 }, (_, i) => sizeOf(i)))
    ).toBeLessThan(0.01);
  });
});
