import {
  nextCapacity,
  tightCapacity,
  widenedColumn
} from '../growable-columns';

it('gives large tables little more room than they need, and copies each row a few times', () => {
  const most = 2 ** 22;
  let capacity = 0;
  let copied = 0;
  while (capacity < most) {
    const needed = capacity + 1;
    const grown = tightCapacity(capacity, needed);
    expect(grown).toBeGreaterThanOrEqual(needed);
    if (needed > 2 ** 17) {
      // At once, from an empty table.
      expect(tightCapacity(0, needed)).toBe(grown);
      expect(grown).toBeLessThanOrEqual(1.25 * needed);
    } else {
      expect(grown).toBe(nextCapacity(capacity, needed));
    }
    copied += capacity;
    capacity = grown;
  }
  expect(capacity).toBe(most);
  expect(copied).toBeLessThan(5.5 * most);
  expect(tightCapacity(most, 10)).toBe(most);
});

it('keeps the rows of a column that is widened', () => {
  const wide = widenedColumn(Int16Array.of(-1, 7, 32767), Int32Array);
  expect(wide).toEqual(Int32Array.of(-1, 7, 32767));
});
