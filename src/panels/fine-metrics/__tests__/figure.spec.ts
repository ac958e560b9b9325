import fc from 'fast-check';

import { longest, stackedBar } from '../figure';
import { partsOf } from '../rows';

describe('stacked bars', () => {
  it('are as long as their parts, never longer than the whole', () => {
    const value = fc.double({ min: 0, max: 50, noNaN: true });
    fc.assert(
      fc.property(value, value, value, (cpu, transfer, disk) => {
        const parts = partsOf(
          { 'thread-cpu': cpu, transfer, 'disk-read': disk },
          100,
          'seconds'
        );
        const bar = stackedBar(parts, 100);
        const width = bar.reduce((sum, part) => sum + part.width, 0);
        expect(width).toBeLessThanOrEqual(100 + 1e-9);
        expect(width).toBeCloseTo(Math.min(100, cpu + transfer + disk), 6);
      })
    );
  });

  it('are empty of nothing', () => {
    expect(stackedBar([], 0)).toEqual([]);
    expect(longest([])).toBeGreaterThan(0);
  });
});
