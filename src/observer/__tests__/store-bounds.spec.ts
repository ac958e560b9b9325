import { TABLES } from '../../records/tables';
import { boundsFor, DEFAULT_BUDGET_BYTES } from '../store/store-bounds';

const GIB = 2 ** 30;

describe('the bounds of the tables', () => {
  it('are those of the record log up to the default budget', () => {
    for (const budget of [GIB / 1024, GIB / 2, DEFAULT_BUDGET_BYTES]) {
      const { pages, ...bounds } = boundsFor(budget);
      expect(pages).toBe(4096);
      for (const [name, rows] of Object.entries(bounds)) {
        expect([name, rows]).toEqual([
          name,
          TABLES[name as keyof typeof TABLES].bound.rows
        ]);
      }
    }
  });

  it('grow with what the budget is above it, all alike', () => {
    const { runs, nodes, edges, pages } = boundsFor(4 * GIB);
    expect([runs, nodes, edges, pages]).toEqual([
      12_000_000, 12_000_000, 48_000_000, 24_576
    ]);
    // Ids of as many runs have pages.
    expect(pages! * 4096).toBeGreaterThan(runs!);
    expect(boundsFor(1.6 * GIB).runs).toBeCloseTo(4e6, -1);
  });

  it('leave rows numbers of 32 bits, whatever the budget', () => {
    for (const [, rows] of Object.entries(boundsFor(Number.MAX_VALUE))) {
      expect(rows).toBeLessThan(2 ** 32);
    }
  });
});
