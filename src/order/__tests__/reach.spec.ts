import fc from 'fast-check';
import { type Edges, listOf, reversed } from '../edges';
import { reachOf, ReachSearch, SAMPLE } from '../reach';

function edgesOf(needs: readonly (readonly number[])[]): Edges {
  const start = new Int32Array(needs.length + 1);
  const ids: number[] = [];
  needs.forEach((own, id) => {
    ids.push(...new Set(own));
    start[id + 1] = ids.length;
  });
  return { start, ids: Int32Array.from(ids) };
}

const drawn = fc
  .integer({ min: 1, max: 60 })
  .chain(count =>
    fc.tuple(
      ...Array.from({ length: count }, (_, id) =>
        id === 0 ? fc.constant([]) : fc.array(fc.nat(id - 1), { maxLength: 4 })
      )
    )
  );

/** Every root that an id leads to, by whole sets. */
function rootsOf(needs: readonly (readonly number[])[]): Set<number>[] {
  const roots: Set<number>[] = [];
  needs.forEach((own, id) => {
    roots.push(
      new Set(own.length === 0 ? [id] : own.flatMap(need => [...roots[need]!]))
    );
  });
  return roots;
}

describe('what ids reach', () => {
  it('is exact for as many as a sample holds, and never leaves the true set', () => {
    fc.assert(
      fc.property(drawn, fc.integer({ min: 1, max: 70 }), (needs, most) => {
        const edges = edgesOf(needs);
        const weights = (id: number) => (id * 7) % 11;
        const found = reachOf(
          edges,
          reversed(edges),
          weights,
          () => true,
          most
        );
        rootsOf(needs).forEach((roots, id) => {
          if (needs[id]!.length === 0) {
            expect(found.counts[id]).toBe(0);
            return;
          }
          const sample = listOf(found.samples, id);
          expect(new Set(sample).size).toBe(sample.length);
          expect(sample.length).toBe(Math.min(roots.size, most));
          expect(sample.every(root => roots.has(root))).toBe(true);
          expect(found.largest[id]).toBe(
            Math.max(...[...roots].map(root => weights(root)))
          );
          if (roots.size < most) {
            expect(found.counts[id]).toBe(roots.size);
          } else {
            expect(found.counts[id]).toBeGreaterThanOrEqual(most);
            // An estimate too: there are not more. Tables of the static order end there.
            const all = needs.filter(own => own.length === 0).length;
            expect(found.counts[id]).toBeLessThanOrEqual(all);
          }
        });
      }),
      { numRuns: 500 }
    );
  });

  it('is the same for those that are asked for, in whichever order', () => {
    fc.assert(
      fc.property(
        drawn,
        fc.array(fc.nat(59), { maxLength: 60 }),
        fc.integer({ min: 1, max: 20 }),
        (needs, asked, most) => {
          const edges = edgesOf(needs);
          const back = reversed(edges);
          const weights = (id: number) => (id * 7) % 11;
          const all = reachOf(edges, back, weights, () => true, most);
          const search = new ReachSearch(
            edges,
            back,
            weights,
            id => id % 3 === 0,
            most
          );
          const known = asked.filter(id => id < needs.length);
          const kept = known.filter(id => id % 3 === 0);
          expect(known.map(id => search.countOf(id))).toEqual(
            known.map(id => all.counts[id])
          );
          expect(known.map(id => search.largest[id])).toEqual(
            known.map(id => all.largest[id])
          );
          const samples = search.samples();
          expect(kept.map(id => listOf(samples, id))).toEqual(
            kept.map(id => listOf(all.samples, id))
          );
        }
      ),
      { numRuns: 500 }
    );
  });

  it('is about right for large sets', () => {
    const roots = 20_000;
    // Id roots + i needs the i-th root and the one before it: chains that take up one root per link.
    const needs = Array.from({ length: 2 * roots }, (_, id) =>
      id < roots ? [] : id === roots ? [0] : [id - 1, id - roots]
    );
    const edges = edgesOf(needs);
    const { counts } = reachOf(
      edges,
      reversed(edges),
      () => 0,
      () => false
    );
    let sum = 0;
    for (let id = roots + 100; id < 2 * roots; id++) {
      const ratio = counts[id]! / (id - roots + 1);
      sum += ratio;
      expect(ratio).toBeGreaterThan(1 / 8);
      expect(ratio).toBeLessThan(8);
      expect(counts[id]).toBeGreaterThanOrEqual(counts[id - 1]!);
    }
    expect(sum / (roots - 100)).toBeGreaterThan(0.5);
    expect(sum / (roots - 100)).toBeLessThan(2);
    expect(counts[roots + SAMPLE - 2]).toBe(SAMPLE - 1);
  });
});
