import fc from 'fast-check';
import { placeAmong, placeInOrder } from '../place-in-order';

/** Numbers in order, with many alike. */
const inOrder = fc
  .array(fc.integer({ min: 0, max: 20 }), { maxLength: 60 })
  .map(items => items.toSorted((a, b) => a - b));

describe('the place in order', () => {
  it('is behind all that are not greater', () => {
    fc.assert(
      fc.property(inOrder, fc.integer({ min: -1, max: 21 }), (items, value) => {
        const behind = items.filter(item => item <= value).length;
        expect(placeInOrder(items, value, item => item)).toBe(behind);
        expect(placeAmong(items, value)).toBe(behind);
      })
    );
  });

  it('is among those that are looked at', () => {
    const first = fc.integer({ min: 0, max: 60 });
    const value = fc.integer({ min: -1, max: 21 });
    fc.assert(
      fc.property(inOrder, value, first, (items, value, wanted) => {
        const first = Math.min(wanted, items.length);
        const of = jest.fn((item: number) => item);
        const hidden = items.map((item, i) => (i < first ? NaN : item));
        expect(placeInOrder(hidden, value, of, first)).toBe(
          first + items.slice(first).filter(item => item <= value).length
        );
        expect(of).not.toHaveBeenCalledWith(NaN);
      })
    );
  });

  it('is found by one look where it is the end, and by few elsewhere', () => {
    const items = Array.from({ length: 1024 }, (_, i) => i);
    const looks = (value: number) => {
      let count = 0;
      placeInOrder(items, value, item => {
        count += 1;
        return item;
      });
      return count;
    };
    expect(looks(1023)).toBe(1);
    expect(looks(2000)).toBe(1);
    expect(Math.max(...items.map(looks))).toBeLessThanOrEqual(22);
  });
});
