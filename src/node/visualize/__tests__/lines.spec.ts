import * as fc from 'fast-check';
import { cachePlot } from '../cache-plot';
import { stepLines, thinned } from '../lines';
import { cacheRecord } from './records';

const perLabel = (records: Parameters<typeof cachePlot>[0]) => {
  const plot = cachePlot(records, 'count', 1000, 60);
  return {
    labels: plot.labels,
    lines: stepLines(plot, label => label, plot.labels.length)
  };
};

describe('§4.3 the lines of the cache plot', () => {
  it('§4.3: one line per label: entries add, exits subtract, from (0, 0) on', () => {
    const { labels, lines } = perLabel([
      cacheRecord(0, 1, 4, 2),
      cacheRecord(0, 2, 5, 3),
      cacheRecord(1, 2, 4, 7)
    ]);
    expect(labels).toEqual(['add(_, *)', 'mul(_, *)']);
    expect(lines).toEqual([
      { x: [0, 1, 2, 4, 5], y: [0, 2, 5, 3, 0] },
      { x: [0, 2, 4], y: [0, 7, 0] }
    ]);
  });

  it('§4.3: changes at the same time are one step', () => {
    const { lines } = perLabel([cacheRecord(0, 1, 2), cacheRecord(0, 2, 3)]);
    expect(lines).toEqual([{ x: [0, 1, 2, 3], y: [0, 1, 1, 0] }]);
  });

  it('§4.3: a line says at every time what is held, and ends at nothing', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.tuple(
            fc.integer({ min: 1, max: 50 }),
            fc.integer({ min: 0, max: 30 }),
            fc.integer({ min: 0, max: 9 })
          ),
          { minLength: 1, maxLength: 40 }
        ),
        fc.integer({ min: 0, max: 80 }),
        (results, quarter) => {
          const { lines } = perLabel(
            results.map(([from, length, metric]) =>
              cacheRecord(0, from, from + length, metric)
            )
          );
          const { x, y } = lines[0]!;
          const at = quarter + 0.5;
          const held = results
            .filter(([from, length]) => from <= at && at < from + length)
            .reduce((sum, [, , metric]) => sum + metric, 0);
          const place = x.findLastIndex(time => time <= at);
          expect(y[place]).toBe(held);
          expect(y.at(-1)).toBe(0);
        }
      )
    );
  });
});

describe('thinned lines', () => {
  const line = fc
    .array(fc.integer({ min: -100, max: 100 }), {
      minLength: 1,
      maxLength: 2000
    })
    .map(y => ({ x: y.map((_, index) => index), y }));

  it('have at most four points per pixel and lose no peak', () => {
    fc.assert(
      fc.property(line, fc.integer({ min: 1, max: 50 }), ({ x, y }, pixels) => {
        const result = thinned({ x, y }, 0, x.length, pixels);
        expect(result.x.length).toBeLessThanOrEqual(4 * (pixels + 1));
        expect(Math.max(...result.y)).toBe(Math.max(...y));
        expect(Math.min(...result.y)).toBe(Math.min(...y));
        expect(result.x).toEqual([...result.x].sort((a, b) => a - b));
        expect(result.y.at(-1)).toBe(y.at(-1));
        result.x.forEach((at, index) => expect(result.y[index]).toBe(y[at]));
      })
    );
  });

  it('reach over both borders of the view', () => {
    const steps = { x: [0, 1, 2, 3, 4, 5], y: [0, 1, 2, 3, 4, 5] };
    expect(thinned(steps, 1.5, 3.5, 100).x).toEqual([1, 2, 3, 4]);
    expect(thinned(steps, 7, 9, 100).x).toEqual([5]);
  });
});
