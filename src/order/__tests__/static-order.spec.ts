import fc from 'fast-check';
import type { Edges } from '../edges';
import { LoopFound, staticOrder } from '../static-order';

function edgesOf(needs: readonly (readonly number[])[]): Edges {
  const start = new Int32Array(needs.length + 1);
  const ids: number[] = [];
  needs.forEach((own, id) => {
    ids.push(...new Set(own));
    start[id + 1] = ids.length;
  });
  return { start, ids: Int32Array.from(ids) };
}

/** Needs of places that come before or after: a drawn graph whose ids are scrambled. */
const drawn = fc
  .record({
    count: fc.integer({ min: 1, max: 50 }),
    window: fc.constantFrom(1, 3, 10, 50),
    seeds: fc.array(fc.nat(), { minLength: 200, maxLength: 200 }),
    ids: fc.shuffledSubarray(
      Array.from({ length: 50 }, (_, i) => i),
      { minLength: 50 }
    )
  })
  .map(({ count, window, seeds, ids }) => {
    const places = ids.filter(id => id < count);
    const needs: number[][] = Array.from({ length: count }, () => []);
    for (let place = 1; place < count; place++) {
      const own = seeds.slice(
        4 * place - 4,
        4 * place - 4 + (seeds[place]! % 4)
      );
      needs[places[place]!] = own.map(
        seed => places[Math.max(0, place - 1 - (seed % window))]!
      );
    }
    return needs;
  });

describe('the static order on integer edges', () => {
  it('of a line is the line, and only of a line', () => {
    const orderOf = (needs: readonly (readonly number[])[]): number[] => [
      ...staticOrder({
        dependencies: edgesOf(needs),
        data: Uint8Array.from(needs, own => Number(own.length === 0)),
        nodeCount: needs.length
      })
    ];
    expect(orderOf([[], [0], [1], [2]])).toEqual([0, 1, 2, 3]);
    expect(orderOf([[1], [2], [3], []])).toEqual([3, 2, 1, 0]);
    expect(orderOf([[2], [0], []])).toEqual([1, 2, 0]);
    // As many edges as a line has.
    expect(orderOf([[3], [], [], [1, 2]])).toEqual([3, 0, 1, 2]);
  });

  it('is a permutation that goes with the dependencies, however small the samples', () => {
    fc.assert(
      fc.property(
        drawn,
        fc.integer({ min: 1, max: 40 }),
        fc.array(fc.boolean(), { minLength: 50, maxLength: 50 }),
        (needs, sample, isData) => {
          const graph = {
            dependencies: edgesOf(needs),
            data: Uint8Array.from(needs, (own, id) =>
              Number(own.length === 0 && isData[id]!)
            ),
            nodeCount: needs.length
          };
          const numbers = staticOrder(graph, sample);
          expect([...numbers].sort((a, b) => a - b)).toEqual(
            needs.map((_, id) => id)
          );
          needs.forEach((own, id) =>
            own.forEach(need =>
              expect(numbers[need]).toBeLessThan(numbers[id]!)
            )
          );
          expect(staticOrder(graph, sample)).toEqual(numbers);
        }
      ),
      { numRuns: 1000 }
    );
  });

  it('names a loop by its ids', () => {
    const graph = {
      dependencies: edgesOf([[], [0, 3], [1], [2]]),
      data: null,
      nodeCount: 4
    };
    expect(() => staticOrder(graph)).toThrow(LoopFound);
    expect(() => staticOrder(graph)).toThrow('1 -> 3 -> 2 -> 1');
  });

  it('orders a fold over loads load by load, however long it is', () => {
    const steps = 50_000;
    // All loads first, then all fits, as they may come in.
    const needs = Array.from({ length: 2 * steps }, (_, id) =>
      id < steps ? [] : id === steps ? [0] : [id - 1, id - steps]
    );
    const numbers = staticOrder({
      dependencies: edgesOf(needs),
      data: null,
      nodeCount: needs.length
    });
    for (let step = 1; step < steps; step++) {
      // The load of the step after next is not begun before this step's fit.
      if (step + 2 < steps) {
        expect(numbers[steps + step]).toBeLessThan(numbers[step + 2]!);
      }
    }
  });
});
