import fc from 'fast-check';

import { legendOf, longest, seenOf, stackedBar } from '../figure';
import { partsOf } from '../rows';

/** Three parts: CPU, transfer, disk. */
const threeParts = (cpu: number, transfer: number, disk: number) =>
  partsOf({ 'thread-cpu': cpu, transfer, 'disk-read': disk }, 100, 'seconds');
const widths = (bar: ReturnType<typeof stackedBar>) =>
  bar.map(({ part, width }) => [part.id, width]);

describe('stacked bars', () => {
  it('are as long as their parts, never longer than the whole', () => {
    const value = fc.double({ min: 0, max: 50, noNaN: true });
    fc.assert(
      fc.property(value, value, value, (cpu, transfer, disk) => {
        const bar = stackedBar(threeParts(cpu, transfer, disk), 100);
        const width = bar.reduce((sum, part) => sum + part.width, 0);
        expect(width).toBeLessThanOrEqual(100 + 1e-9);
        expect(width).toBeCloseTo(Math.min(100, cpu + transfer + disk), 6);
      })
    );
  });

  it('give each part its share of the whole', () => {
    expect(widths(stackedBar(threeParts(20, 50, 10), 200))).toEqual([
      ['cpu', 10],
      ['transfer', 25],
      ['disk', 5]
    ]);
    // Text that does not fit is cut off at the end.
    expect(widths(stackedBar(threeParts(7, 8, 9), 10))).toEqual([
      ['cpu', 70],
      ['transfer', 30],
      ['disk', 0]
    ]);
  });

  it('are empty of nothing', () => {
    expect(stackedBar([], 0)).toEqual([]);
    expect(stackedBar(threeParts(1, 2, 3), 0)).toEqual([]);
    expect(longest([])).toBeGreaterThan(0);
    expect(longest([3, 7, 5])).toBe(7);
  });
});

describe('the words for bars', () => {
  const drawn = () => stackedBar(threeParts(600, 0.4, 0.5), 1000);

  it('are for what can be seen: half a pixel of 1,000', () => {
    expect(widths(seenOf(drawn()))).toEqual([
      ['cpu', 60],
      ['disk', 0.05]
    ]);
  });

  it('come once each, in the order of the bar over everything', () => {
    const all = partsOf({ transfer: 1, other: 2, lost: 3 }, 10, 'seconds');
    const ids = (...bars: Parameters<typeof legendOf>[1][number][]) =>
      legendOf(all, bars).map(({ id }) => id);
    expect(ids(stackedBar(all, 10))).toEqual(['transfer', 'other', 'lost']);
    // Parts that only a row below has come last; too thin ones have no word.
    expect(ids(drawn(), stackedBar([...all].reverse(), 10))).toEqual([
      'transfer',
      'other',
      'lost',
      'cpu',
      'disk'
    ]);
    expect(ids(stackedBar(all.slice(2), 10), drawn())).toEqual([
      'lost',
      'cpu',
      'disk'
    ]);
    expect(ids()).toEqual([]);
  });
});
