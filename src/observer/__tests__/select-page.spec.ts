import fc from 'fast-check';
import { PageCandidates, selectPage } from '../folds/select-page';

/** The page of the whole list, sorted. */
function sortedPage(
  ranks: readonly number[],
  descending: boolean,
  offset: number,
  limit: number
): number[] {
  const sign = descending ? -1 : 1;
  return ranks
    .map((rank, row) => ({ rank, row }))
    .sort((a, b) =>
      a.rank === b.rank ? a.row - b.row : a.rank < b.rank ? -sign : sign
    )
    .slice(offset, offset + limit)
    .map(({ row }) => row);
}

// Few ranks, so that many are equal; infinite ones subtract to NaN.
const anyRank = fc.oneof(
  { arbitrary: fc.nat(20), weight: 9 },
  fc.constantFrom(Infinity, -Infinity)
);

describe('a page of a sorted list', () => {
  it('is the same as if all of it was sorted', () => {
    fc.assert(
      fc.property(
        fc.array(anyRank, { maxLength: 60 }),
        fc.boolean(),
        fc.nat(30),
        fc.nat(30),
        (ranks, descending, offset, limit) => {
          const page = selectPage(
            Uint32Array.from(ranks, (_, row) => 2 * row),
            Float64Array.from(ranks),
            descending,
            offset,
            limit
          );
          expect([...page].map(row => row / 2)).toEqual(
            sortedPage(ranks, descending, offset, limit)
          );
        }
      ),
      { numRuns: 300 }
    );
  });

  it.each([false, true])(
    'is no more work where the list is sorted already (descending: %s)',
    descending => {
      const count = 4096;
      for (const sign of [1, -1]) {
        let looks = 0;
        const ranks = new Proxy(
          Float64Array.from({ length: count }, (_, i) => sign * i),
          {
            get: (target, name) => {
              looks += 1;
              return Reflect.get(target, name) as unknown;
            }
          }
        );
        const rows = Uint32Array.from({ length: count }, (_, i) => i);
        selectPage(rows, ranks, descending, 1000, 20);
        expect(looks).toBeLessThan(30 * count);
      }
    }
  );

  it('is the same when rows go by that are too many to be kept', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 500 }),
        fc.boolean(),
        fc.nat(40),
        fc.integer({ min: 1, max: 40 }),
        fc.constantFrom(4000, 5000, 15_000),
        (seed, descending, offset, limit, rows) => {
          const candidates = new PageCandidates(descending, offset, limit);
          const ranks = Array.from(
            { length: rows },
            (_, row) => (row * 7919 * seed) % 1009
          );
          ranks.forEach((rank, row) => candidates.add(row, rank));
          expect(candidates.total).toBe(rows);
          expect([...candidates.page()]).toEqual(
            sortedPage(ranks, descending, offset, limit)
          );
        }
      ),
      { numRuns: 15 }
    );
  });
});
