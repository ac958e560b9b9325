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

  /** Looks at ranks, per row. */
  function looksPerRow(
    rankOf: (row: number, count: number) => number,
    offset: number,
    limit: number
  ): number {
    const count = 4096;
    let looks = 0;
    const ranks = new Proxy(
      Float64Array.from({ length: count }, (_, row) => rankOf(row, count)),
      {
        get: (target, name) => {
          looks += 1;
          return Reflect.get(target, name) as unknown;
        }
      }
    );
    const rows = Uint32Array.from({ length: count }, (_, row) => row);
    selectPage(rows, ranks, false, offset, limit);
    return looks / count;
  }

  it('needs no look where it is empty, and only those of sorting where it is the whole list', () => {
    expect(looksPerRow(row => row, 5, 0)).toBe(0);
    expect(looksPerRow(row => row, 4096, 9)).toBe(0);
    let looks = 0;
    Uint32Array.from({ length: 4096 }, (_, row) => row).sort((a, b) => {
      looks += 2;
      return a - b;
    });
    expect(looksPerRow(row => row, 0, 4096)).toBe(looks / 4096);
  });

  // Counted, and a fiftieth more: a pivot that is not the median of its three needs more.
  it.each<[string, (row: number, count: number) => number, number]>([
    ['in order', row => row, 7.07],
    ['in reverse', row => -row, 7.07],
    ['up and down', (row, n) => Math.min(row, n - row), 22.4],
    ['down and up', (row, n) => Math.max(row, n - row), 41.3],
    ['turned by a third', (row, n) => (row + n / 3) % n, 5.25],
    ['two in turn', (row, n) => (row % 2) * n + row, 7.39],
    ['as by chance', row => (row * 2654435761) % 4093, 8.89]
  ])('takes few looks at a list that is %s', (_, rankOf, most) => {
    expect(looksPerRow(rankOf, 1000, 20)).toBeLessThan(1.02 * most);
  });

  it.each<[string, boolean, (row: number) => number, number]>([
    ['in order', false, row => row, 2],
    ['in reverse', true, row => -row, 2],
    ['all alike', false, () => 7, 2],
    ['all alike', true, () => 7, 2],
    ['in reverse', false, row => -row, 8],
    ['in order', true, row => row, 8]
  ])(
    'is seldom cut while rows go by %s (descending: %s)',
    (_, descending, rankOf, most) => {
      const candidates = new PageCandidates(descending, 20, 10);
      const cuts = jest.spyOn(Uint32Array, 'from');
      for (let row = 0; row < 30_000; row++) {
        candidates.add(row, rankOf(row));
      }
      candidates.page();
      const count = cuts.mock.calls.length;
      cuts.mockRestore();
      expect(count).toBeGreaterThan(0);
      expect(count).toBeLessThanOrEqual(most);
    }
  );

  it('may be longer than what is kept beside it', () => {
    const candidates = new PageCandidates(false, 5000, 6000);
    const ranks = Array.from(
      { length: 20_000 },
      (_, row) => (row * 7919) % 9973
    );
    ranks.forEach((rank, row) => candidates.add(row, rank));
    expect([...candidates.page()]).toEqual(
      sortedPage(ranks, false, 5000, 6000)
    );
  });

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
