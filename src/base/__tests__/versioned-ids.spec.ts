import * as fc from 'fast-check';
import { VersionedIds } from '../versioned-ids';

describe('VersionedIds', () => {
  it('tells the owners of a dense id apart', () => {
    const tape = fc.array(fc.boolean(), { maxLength: 300, size: 'max' });
    fc.assert(
      fc.property(tape, steps => {
        const ids = new VersionedIds();
        const taken: { id: number; outer: number }[] = [];
        const gone: number[] = [];
        for (const isTake of steps) {
          if (isTake || taken.length === 0) {
            const id = ids.take();
            taken.push({ id, outer: ids.outer(id) });
          } else {
            const { id, outer } = taken.shift()!;
            ids.giveBack(id);
            gone.push(outer);
          }
        }
        expect(new Set(taken.map(({ id }) => id)).size).toBe(taken.length);
        taken.forEach(({ id, outer }) => {
          expect(ids.resolve(outer)).toBe(id);
          expect(outer).toBeGreaterThanOrEqual(0);
        });
        gone.forEach(outer => expect(ids.resolve(outer)).toBe(-1));
        expect(ids.size).toBe(taken.length);
      })
    );
  });

  it('gives outer ids that fit 32 unsigned bits, for a thousand owners', () => {
    const ids = new VersionedIds();
    const seen = new Set<number>();
    for (let i = 0; i < 1024; i++) {
      const id = ids.take();
      expect(id).toBe(0);
      seen.add(ids.outer(id));
      ids.giveBack(id);
    }
    expect(seen.size).toBe(1024);
    expect(Math.max(...seen)).toBeLessThan(2 ** 32);
    expect(ids.resolve(0xffffffff)).toBe(-1);
  });
});
