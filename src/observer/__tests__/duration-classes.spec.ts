import fc from 'fast-check';
import {
  CLASS_COUNT,
  DurationClasses,
  ZonedRows
} from '../store/duration-classes';

const ZONE = 256;
type Row = { readonly row: number; readonly from: number; readonly to: number };

/** Pushes and drops; row numbers rise, times do not quite. */
const anyStep = fc.oneof(
  fc.record({
    push: fc.integer({ min: 1, max: 700 }),
    seed: fc.nat(1000)
  }),
  // To the row, and all of them.
  fc.record({
    dropShare: fc.oneof(
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.constant(1)
    )
  })
);

function shown(rows: ZonedRows, from: number, to: number): number[] {
  const found: number[] = [];
  for (const [numbers, first, end] of rows.zones(from, to)) {
    found.push(...numbers.subarray(first, end));
  }
  return found;
}

describe('rows in zones', () => {
  it('show each row of a stretch of time, in zones that reach into it', () => {
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 7 }), steps => {
        const rows = new ZonedRows();
        // The zones that are kept, as they were pushed.
        let kept: Row[] = [];
        let next = 0;
        for (const step of steps) {
          if ('push' in step) {
            for (let i = 0; i < step.push; i++) {
              const from = next + ((next * 7 + step.seed) % 11);
              const row = { row: 3 * next++, from, to: from + (i % 5) };
              rows.push(row.row, row.from, row.to);
              kept.push(row);
            }
          } else {
            const below = 3 * Math.floor(next * step.dropShare);
            rows.dropBelow(below);
            while (
              kept.length >= ZONE &&
              kept.slice(0, ZONE).every(({ row }) => row < below)
            ) {
              kept = kept.slice(ZONE);
            }
          }
          expect(rows.isEmpty).toBe(kept.length === 0);
        }
        const last = next + 20;
        for (const [from, to] of [
          [0, last],
          [next / 3, next / 2],
          [next, last],
          [next / 2, next / 2 + 1]
        ] as const) {
          const zones: Row[][] = [];
          for (let i = 0; i < kept.length; i += ZONE) {
            zones.push(kept.slice(i, i + ZONE));
          }
          const reaching = zones.filter(
            zone =>
              Math.min(...zone.map(each => each.from)) < to &&
              Math.max(...zone.map(each => each.to)) >= from
          );
          expect(shown(rows, from, to)).toEqual(
            reaching.flat().map(({ row }) => row)
          );
          const most = reaching.length * ZONE;
          expect(rows.count(from, to)).toBeGreaterThanOrEqual(
            reaching.flat().length
          );
          expect(rows.count(from, to)).toBeLessThanOrEqual(most);
        }
      }),
      { numRuns: 60 }
    );
  });

  it('are counted exactly while all of them are in one zone', () => {
    const rows = new ZonedRows();
    expect([rows.isEmpty, rows.count(0, 9)]).toEqual([true, 0]);
    rows.push(4, 2, 3);
    rows.push(5, 1, 5);
    expect(rows.count(0, 9)).toBe(2);
    // [from, to): what begins at its end is not in it, what ends at its begin is.
    expect(rows.count(0, 1)).toBe(0);
    expect(rows.count(5, 6)).toBe(2);
    expect(rows.count(5.5, 6)).toBe(0);
    expect(shown(rows, 0, 1)).toEqual([]);
    expect(shown(rows, 5, 6)).toEqual([4, 5]);
    expect(shown(rows, 5.5, 6)).toEqual([]);
  });

  it('are shown each once while old ones are forgotten', () => {
    for (const step of [1, 2]) {
      const rows = new ZonedRows();
      for (let i = 0; i < 10 * ZONE; i++) {
        rows.push(step * i, i, i);
      }
      const seen: number[] = [];
      for (const [numbers, first, end] of rows.zones(0, Infinity)) {
        seen.push(numbers[first]! / step / ZONE, end - first);
        if (seen.length === 4) {
          // Six of ten zones: the others move to the front.
          rows.dropBelow(step * 6 * ZONE);
          rows.push(step * 10 * ZONE, 1e6, 1e6);
        }
      }
      expect(seen).toEqual([0, 1, 6, 7, 8, 9].flatMap(zone => [zone, ZONE]));
    }
  });

  it('take room for those that are kept, however many went by', () => {
    const rows = new ZonedRows();
    for (let row = 0; row < 200 * ZONE; row++) {
      rows.push(row, row, row + 1);
      if (row % ZONE === ZONE - 1) {
        rows.dropBelow(row - 2 * ZONE);
        const [[numbers] = []] = rows.zones(0, Infinity);
        expect(numbers!.length).toBeLessThanOrEqual(16 * ZONE);
        const kept = shown(rows, 0, Infinity);
        expect([
          kept[0]! <= row - 2 * ZONE || kept[0] === 0,
          kept.at(-1)
        ]).toEqual([true, row]);
        expect(kept.length).toBeLessThanOrEqual(4 * ZONE);
      }
    }
    rows.dropBelow(1e9);
    expect(rows.isEmpty).toBe(true);
    expect(shown(rows, 0, Infinity)).toEqual([]);
  });
});

describe('classes of durations', () => {
  it('hold a row by the power of two of its microseconds', () => {
    fc.assert(
      fc.property(fc.nat(40), fc.double({ min: 0, max: 0.999 }), (n, more) => {
        const classes = new DurationClasses();
        const microseconds = 2 ** n * (1 + more);
        classes.push(7, 10, microseconds / 1e6);
        // Powers of two themselves may be a rounding below.
        fc.pre(more > 1e-9);
        expect(classes.shortest).toBe(n);
        expect(classes.of(n).isEmpty).toBe(false);
        expect(shown(classes.of(n), 0, 1e9)).toEqual([7]);
        expect(classes.countShorter(n, 0, 1e9)).toBe(0);
        expect(classes.countShorter(n + 1, 0, 1e9)).toBe(1);
        expect(classes.countShorter(CLASS_COUNT + 5, 0, 1e9)).toBe(1);
        expect(classes.countShorter(n + 1, 0, 10)).toBe(0);
      })
    );
  });

  it('put what is unknown first and what is longest last', () => {
    const classes = new DurationClasses();
    expect(classes.shortest).toBe(CLASS_COUNT);
    classes.push(1, 0, 1e12);
    expect(classes.shortest).toBe(CLASS_COUNT - 1);
    classes.push(2, 0, 2e-6);
    expect(classes.shortest).toBe(1);
    classes.push(3, 0, -1);
    classes.push(4, 0, 1.9e-6);
    expect(classes.shortest).toBe(0);
    expect(classes.countShorter(1, -1, 1)).toBe(2);
    expect(classes.countShorter(2, -1, 1)).toBe(3);
    classes.push(5, 50, 2e-6);
    expect(classes.shortest).toBe(0);
  });

  it('show all other rows beside one whose time is not known', () => {
    const classes = new DurationClasses();
    classes.push(1, NaN, 1e-6);
    classes.push(2, 0, NaN);
    classes.push(3, 5, 1e-6);
    expect(shown(classes.of(0), 0, 9)).toEqual([3]);
  });

  it('count the end of a row from its duration, and drop old rows', () => {
    const classes = new DurationClasses();
    for (let row = 0; row < 2 * ZONE; row++) {
      classes.push(row, row, 3);
    }
    const rows = classes.of(21);
    expect(rows.count(2 * ZONE + 2, 1e9)).toBe(ZONE);
    expect(rows.count(2 * ZONE + 2.5, 1e9)).toBe(0);
    classes.dropBelow(ZONE);
    expect(shown(rows, 0, 1e9)[0]).toBe(ZONE);
    expect(shown(rows, 0, 1e9)).toHaveLength(ZONE);
  });
});
