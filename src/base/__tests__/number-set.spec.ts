import fc from 'fast-check';
import { NumberSet } from '../number-set';

it('a set of numbers that has a bound lets go of those that came first', () => {
  const set = new NumberSet(2);
  const added = [5000, 1, 5001, 2 ** 31, 2];
  expect(added.map(number => set.add(number))).toEqual(added.map(() => true));
  expect(added.map(number => set.has(number))).toEqual([
    false,
    true,
    false,
    true,
    true
  ]);
  expect(set.add(5000)).toBe(true);
  expect(set.has(1)).toBe(false);
});

it('a set of numbers has those that were added, each new once', () => {
  const number = fc.oneof(
    fc.nat(3000),
    fc.integer({ min: 2 ** 32 - 3000, max: 2 ** 32 - 1 }),
    fc.integer({ min: 0, max: 2 ** 32 - 1 }),
    fc.constantFrom(0, 31, 32, 1023, 1024, 2 ** 31 - 1, 2 ** 31)
  );
  fc.assert(
    fc.property(fc.array(number), fc.array(number), (added, others) => {
      const set = new NumberSet();
      const expected = new Set<number>();
      for (const each of added) {
        expect(set.add(each)).toBe(!expected.has(each));
        expected.add(each);
      }
      for (const each of [...added, ...others]) {
        expect(set.has(each)).toBe(expected.has(each));
      }
    })
  );
});
