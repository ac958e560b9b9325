import fc from 'fast-check';
import { rowsToBlock } from '../../testing/rows-to-block';
import { resolveRange } from '../folds/context';
import { Coverage } from '../folds/coverage';
import { ingestBlock } from '../store/ingest';
import { LogStore } from '../store/log-store';
import { contextOf } from './ask';

describe('the range of a question', () => {
  const run = { run: 1, lane: 0, start: 3, duration: 5 };
  const logOf = (isRunning: boolean): LogStore => {
    const log = new LogStore('log');
    [
      rowsToBlock(1, 'nodes', [{ node: 1, submitted: 2 }]),
      rowsToBlock(2, 'runs', [run]),
      rowsToBlock(3, 'memory', [{ t: 11 }]),
      rowsToBlock(4, 'running', isRunning ? [{ lane: 1, started: 6 }] : [])
    ].forEach(block => ingestBlock(log, block));
    return log;
  };

  it('reaches from the first task to the last stop, or to now while something runs', () => {
    const log = logOf(false);
    expect(resolveRange(contextOf(log, { now: 20 }))).toEqual({
      from: 2,
      to: 8
    });
    const live = logOf(true);
    const ends = [5, 15].map(now => contextOf(live, { now }).moment.end);
    // What the log tells may be newer than the asker's clock.
    expect(ends).toEqual([11, 15]);
    expect(contextOf(live, { now: 15, ended: true }).moment.end).toBe(8);
    const empty = new LogStore('empty');
    expect(contextOf(empty).moment.begin).toBe(0);
    expect(resolveRange(contextOf(empty, { now: 9 }))).toEqual({
      from: 0,
      to: 0
    });
    ingestBlock(empty, rowsToBlock(1, 'runs', [run]));
    expect(contextOf(empty).moment.begin).toBe(3);
  });

  it('is the last so many seconds of it, or as it is given, not upside down', () => {
    const log = logOf(true);
    const of = (time: Parameters<typeof contextOf>[1] & object) =>
      resolveRange(contextOf(log, { now: 15, ...time }));
    expect(of({ time: { last: 4 } })).toEqual({ from: 11, to: 15 });
    expect(of({ time: { from: 4, to: 5 } })).toEqual({ from: 4, to: 5 });
    expect(of({ time: { from: 4, to: 1 } })).toEqual({ from: 4, to: 4 });
  });
});

describe('the coverage of bins', () => {
  it('is what each interval has of each bin, so often as it weighs', () => {
    const anyInterval = fc.record({
      from: fc.integer({ min: -20, max: 120 }),
      length: fc.integer({ min: -5, max: 150 }),
      weight: fc.constantFrom(1, 2, 0.5)
    });
    fc.assert(
      fc.property(
        fc.array(anyInterval, { maxLength: 8 }),
        fc.constantFrom(1, 7, 10, 64),
        (intervals, bins) => {
          const coverage = new Coverage(bins, 3, 103);
          const expected = new Float64Array(bins);
          const width = 100 / bins;
          for (const { from, length, weight } of intervals) {
            coverage.add(from, from + length, weight);
            expected.forEach((_, bin) => {
              const begin = Math.max(from, 3 + bin * width);
              const end = Math.min(from + length, 3 + (bin + 1) * width);
              expected[bin]! += Math.max(0, end - begin) * weight;
            });
          }
          expect(coverage.width).toBe(width);
          const seconds = coverage.read();
          expect(seconds).toHaveLength(bins);
          seconds.forEach((value, bin) =>
            expect(Math.abs(value - expected[bin]!)).toBeLessThan(1e-9)
          );
          // Reading changes nothing.
          expect(coverage.read()).toEqual(seconds);
        }
      )
    );
  });

  it('weighs once what is not said, and takes no unknown times', () => {
    const coverage = new Coverage(2, 0, 2);
    coverage.add(0.5, 2);
    coverage.add(NaN, 1);
    coverage.add(0, NaN);
    expect([...coverage.read()]).toEqual([0.5, 1]);
  });
});
