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
          expect(union.firstReaching(from)).toBe(
            intervalsOf(slots).filter(([, end]) => end < from).length
          );
          const lengths = union.lengthsBefore([to, from, from + 0.5, to]);
          for (const t of [from, from + 0.5, to]) {
            expect(lengths.get(t)).toBe(union.measure(-1, t));
          }
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

  it('beyond its bound closes the shortest gaps between the older ones', () => {
    const union = new IntervalUnion(1000);
    let covered = 0;
    let at = 0;
    for (let i = 0; i < 100_000; i++) {
      // One of a thousand gaps is a night.
      at += i % 1000 === 0 ? 5000 : 1 + (i % 7);
      union.add(at, at + 1);
      covered += 1;
      at += 1;
      expect(union.length).toBeLessThanOrEqual(1000);
    }
    // The newest are as they were.
    const newest = listed(union).slice(-200);
    newest.forEach(([from, to]) => expect(to - from).toBe(1));
    expect(newest.at(-1)![1]).toBe(at);
    // Nothing is lost, and no night is closed, for shorter gaps are there.
    const length = union.measure(0, Infinity);
    expect(length).toBeGreaterThanOrEqual(covered);
    expect(length).toBeLessThanOrEqual(at - 100 * 5000);
    for (let i = 1; i < union.length; i++) {
      expect(union.from(i)).toBeGreaterThan(union.to(i - 1));
    }
  });

  it('beyond its bound closes no more gaps than need be, though all are as long', () => {
    const most = 4096;
    const union = new IntervalUnion(most);
    for (let i = 0; i <= most; i++) {
      union.add(2 * i, 2 * i + 1);
    }
    const left = Math.floor(((most + 1) * 7) / 8);
    expect(union.length).toBe(left);
    // Each is a second long.
    expect(union.measure(0, Infinity)).toBe(most + 1 + (most + 1 - left));
  });

  it('beyond its bound is thinned though few gaps are short', () => {
    const union = new IntervalUnion(4096);
    let thinned = 0;
    for (let i = 0; i < 50_000; i++) {
      const before = union.length;
      // Ever longer ones.
      union.add(i * i, i * i + 1);
      thinned += union.length < before ? 1 : 0;
      expect(union.length).toBeLessThanOrEqual(4096);
    }
    expect(thinned).toBeGreaterThan(0);
    expect(thinned).toBeLessThan((50_000 / 4096) * 9);
  });
});
