import fc from 'fast-check';
import { IntervalUnion } from '../store/interval-union';

const SLOTS = 24;
/** Half-open intervals of whole numbers: some empty, some upside down. */
const anyInterval = fc.oneof(
  fc.tuple(fc.nat(SLOTS), fc.nat(SLOTS)),
  // Short ones, so that many stand apart and some come between two.
  fc
    .tuple(fc.nat(SLOTS - 2), fc.nat(2))
    .map(([from, length]): [number, number] => [from, from + length])
);

/** The intervals of a set of slots, by which a union is compared. */
function intervalsOf(slots: ReadonlySet<number>): [number, number][] {
  const intervals: [number, number][] = [];
  for (let slot = 0; slot <= SLOTS; slot++) {
    const last = intervals.at(-1);
    if (slots.has(slot)) {
      if (last?.[1] === slot) {
        last[1] = slot + 1;
      } else {
        intervals.push([slot, slot + 1]);
      }
    }
  }
  return intervals;
}

const listed = (union: IntervalUnion): [number, number][] =>
  Array.from({ length: union.length }, (_, i) => [union.from(i), union.to(i)]);

describe('a union of intervals', () => {
  it('is the set of all its points, in as few intervals as can be', () => {
    fc.assert(
      fc.property(
        fc.array(anyInterval, { maxLength: 20 }),
        anyInterval,
        (intervals, [from, to]) => {
          const union = new IntervalUnion();
          const slots = new Set<number>();
          for (const [from, to] of intervals) {
            union.add(from, to);
            for (let slot = from; slot < to; slot++) {
              slots.add(slot);
            }
            expect(listed(union)).toEqual(intervalsOf(slots));
          }
          const within = [...slots].filter(slot => slot >= from && slot < to);
          expect(union.measure(from, to)).toBe(within.length);
          expect(union.measure(from + 0.25, from + 0.75)).toBe(
            slots.has(from) ? 0.5 : 0
          );
          expect(union.firstEndingAfter(from)).toBe(
            intervalsOf(slots).filter(([, end]) => end <= from).length
          );
        }
      ),
      { numRuns: 300 }
    );
  });

  it('is left alone by its copy, and takes no unknown times', () => {
    const union = new IntervalUnion();
    union.add(1, 3);
    const copy = union.copy();
    copy.add(0, 4);
    copy.add(5, 6);
    union.add(NaN, 9);
    union.add(4, NaN);
    expect(listed(union)).toEqual([[1, 3]]);
    expect(listed(copy)).toEqual([
      [0, 4],
      [5, 6]
    ]);
  });

  it('ends nowhere past its last interval, and begins nowhere', () => {
    const union = new IntervalUnion();
    union.add(2, 3);
    expect([union.from(1), union.to(1)]).toEqual([Infinity, Infinity]);
  });
});
