import fc from 'fast-check';
import { MEMORY_MEASURES } from '../enumerations';
import { measureMemory, type MemoryUse } from '../memory-measures';

const all = (use: MemoryUse) =>
  Object.fromEntries(
    MEMORY_MEASURES.map(measure => [measure, measureMemory(measure, use)])
  );

describe('the measures of memory', () => {
  it.each([
    [
      { process: 100, unmanagedOld: 15, managed: 68, spilled: 12 },
      {
        process: 100,
        managed: 68,
        managed_total: 80,
        spilled: 12,
        unmanaged: 32,
        unmanaged_old: 15,
        unmanaged_recent: 17,
        optimistic: 83
      }
    ],
    [
      { process: 11, unmanagedOld: 2, managed: 3, spilled: 1 },
      {
        process: 11,
        managed: 3,
        managed_total: 4,
        spilled: 1,
        unmanaged: 8,
        unmanaged_old: 2,
        unmanaged_recent: 6,
        optimistic: 5
      }
    ]
  ])('are those of distributed’s own examples', (use, expected) => {
    expect(all(use)).toEqual(expected);
  });

  const bytes = fc.nat({ max: 2 ** 40 });
  const use = fc.record({
    process: bytes,
    managed: bytes,
    spilled: bytes,
    unmanagedOld: bytes
  });

  it('add up, and are never below nothing, whatever a worker sends', () => {
    fc.assert(
      fc.property(use, drawn => {
        const m = all(drawn);
        expect(Math.min(...Object.values(m))).toBeGreaterThanOrEqual(0);
        expect(m.managed! + m.unmanaged!).toBe(m.process);
        expect(m.unmanaged_old! + m.unmanaged_recent!).toBe(m.unmanaged);
        expect(m.optimistic! + m.unmanaged_recent!).toBe(m.process);
        expect(m.managed_total! - m.spilled!).toBe(m.managed);
      })
    );
  });

  it('of the cluster follow from the sums, within bounds at each worker', () => {
    fc.assert(
      fc.property(fc.array(use, { maxLength: 9 }), workers => {
        const sum = (measure: (typeof MEMORY_MEASURES)[number]) =>
          workers.reduce((all, each) => all + measureMemory(measure, each), 0);
        const cluster = {
          process: sum('process'),
          managed: sum('managed'),
          spilled: sum('spilled'),
          unmanagedOld: sum('unmanaged_old')
        };
        for (const measure of MEMORY_MEASURES) {
          expect(measureMemory(measure, cluster)).toBe(sum(measure));
        }
      })
    );
  });

  it('are unknown where a figure that they need is', () => {
    const local = { process: 9, managed: NaN, spilled: NaN, unmanagedOld: NaN };
    expect(all(local)).toEqual({
      process: 9,
      managed: NaN,
      managed_total: NaN,
      spilled: NaN,
      unmanaged: NaN,
      unmanaged_old: NaN,
      unmanaged_recent: NaN,
      optimistic: NaN
    });
    const whole = { process: NaN, managed: 4, spilled: 2, unmanagedOld: 1 };
    expect(all(whole)).toMatchObject({ managed: 4, spilled: 2, process: NaN });
  });
});
