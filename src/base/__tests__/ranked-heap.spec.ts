import * as fc from 'fast-check';
import { RankedHeap } from '../ranked-heap';

describe('RankedHeap', () => {
  it('gives ids in the order of their ranks, whatever was kept or dropped', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer(), { maxLength: 200, size: 'max' }),
        fc.nat({ max: 5 }),
        fc.nat({ max: 200 }),
        (ranks, modulus, fewest) => {
          const heap = new RankedHeap();
          ranks.forEach((rank, id) => heap.push(id, rank));
          const keeps = (id: number): boolean =>
            modulus < 2 || id % modulus > 0;
          heap.retain(keeps);
          const before = heap.length;
          const gone = new Set<number>();
          const drops = (id: number): boolean => {
            const isDropped = heap.length > fewest;
            return isDropped ? (gone.add(id), false) : true;
          };
          expect(heap.dropFromEnd(drops)).toBe(before - heap.length);
          expect(heap.length).toBe(Math.min(before, fewest));
          const popped: number[] = [];
          while (heap.length > 0) {
            expect(heap.peekRank()).toBe(ranks[heap.peek()]);
            popped.push(heap.pop());
          }
          const expected = ranks.filter((_, id) => keeps(id) && !gone.has(id));
          expect(popped.map(id => ranks[id])).toEqual(
            expected.sort((a, b) => a - b)
          );
        }
      )
    );
  });

  it('is empty without saying more', () => {
    const heap = new RankedHeap();
    const said = [heap.peek(), heap.pop(), heap.peekRank()];
    expect(said).toEqual([-1, -1, Infinity]);
  });
});
