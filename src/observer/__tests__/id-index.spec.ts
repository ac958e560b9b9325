import fc from 'fast-check';
import { IdIndex } from '../store/id-index';

const PAGE = 4096;
// Of four pages, the ids around their borders among them; the last one is the largest that there is.
const anyId = fc
  .tuple(
    fc.constantFrom(0, 1, 5, 2 ** 20 - 1),
    fc.constantFrom(0, 1, 7, PAGE - 1)
  )
  .map(([page, place]) => page * PAGE + place);
const anyStep = fc.oneof(
  { arbitrary: fc.record({ id: anyId, row: fc.nat(50) }), weight: 5 },
  { arbitrary: fc.record({ dropBelow: fc.nat(50) }), weight: 1 }
);

describe('an index of ids', () => {
  it('answers the newest row of an id, and makes so many pages', () => {
    fc.assert(
      fc.property(
        fc.array(anyStep, { maxLength: 40 }),
        fc.integer({ min: 1, max: 4 }),
        (steps, mostPages) => {
          const index = new IdIndex(mostPages);
          const pages = new Map<number, Map<number, number>>();
          for (const step of steps) {
            if ('dropBelow' in step) {
              index.dropBelow(step.dropBelow);
              for (const [number, page] of pages) {
                if ([...page.values()].every(row => row < step.dropBelow)) {
                  pages.delete(number);
                }
              }
              continue;
            }
            const { id, row } = step;
            const number = Math.floor(id / PAGE);
            // Asked for before it is there, too.
            expect(index.get(id)).toBe(pages.get(number)?.get(id) ?? -1);
            const hasRoom = pages.has(number) || pages.size < mostPages;
            expect(index.set(id, row)).toBe(hasRoom);
            if (hasRoom) {
              const page = pages.get(number) ?? new Map<number, number>();
              pages.set(number, page.set(id, row));
            }
            for (const [place, page] of pages) {
              for (const [known, at] of page) {
                expect(index.get(known)).toBe(at);
              }
              expect(index.get(place * PAGE + 9)).toBe(-1);
            }
            expect(index.get(77 * PAGE)).toBe(-1);
          }
        }
      )
    );
  });

  it('takes less for ids whose rows are in order, or near each other', () => {
    const bytesOf = (rowOf: (id: number) => number, count = 3 * PAGE) => {
      const index = new IdIndex();
      for (let id = 0; id < count; id++) {
        index.set(id, rowOf(id));
      }
      for (let id = 0; id < count; id++) {
        if (index.get(id) !== rowOf(id)) {
          throw new Error(`${id} is at ${index.get(id)}`);
        }
      }
      return index.nbytes;
    };
    // The last page, and the one before its second half, are as they came.
    expect(bytesOf(id => id + 9)).toBe(PAGE * 4);
    expect(bytesOf(id => id ^ 1)).toBe(2 * PAGE * 2 + PAGE * 4);
    expect(bytesOf(id => id * 16)).toBe(2 * PAGE * 2 + PAGE * 4);
    expect(bytesOf(id => id * 17)).toBe(3 * PAGE * 4);
  });

  it('answers later rows of ids whose page was packed, and drops it', () => {
    fc.assert(
      fc.property(
        fc.constantFrom<(id: number) => number>(
          id => id,
          id => id ^ 5
        ),
        fc.array(fc.tuple(fc.nat(2 * PAGE - 1), fc.nat(9 * PAGE)), {
          maxLength: 5
        }),
        (rowOf, later) => {
          const index = new IdIndex();
          const rows = new Map<number, number>();
          for (let id = 0; id < 2 * PAGE; id++) {
            rows.set(id, rowOf(id));
            index.set(id, rowOf(id));
          }
          for (const [id, row] of later) {
            rows.set(id, row);
            index.set(id, row);
          }
          for (const [id, row] of rows) {
            if (index.get(id) !== row) {
              throw new Error(`${id} is at ${index.get(id)}`);
            }
          }
          const most = Math.max(
            ...[...rows].filter(([id]) => id < PAGE).map(([, row]) => row)
          );
          index.dropBelow(most);
          expect(index.get(0)).toBe(rows.get(0));
          index.dropBelow(most + 1);
          expect(index.get(0)).toBe(-1);
        }
      ),
      { numRuns: 20 }
    );
  });
});
