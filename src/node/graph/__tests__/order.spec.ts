import fc from 'fast-check';
import { CycleError } from '../graph-errors';
import { type Key, KeyMap } from '../key';
import { data, ref, task } from '../nodes';
import { order } from '../order';

const noop = () => null;

/** Needs by place, of earlier places; null is data. */
type Drawn = readonly (readonly number[] | null)[];

const drawn: fc.Arbitrary<Drawn> = fc
  .integer({ min: 0, max: 40 })
  .chain(count =>
    fc.tuple(
      ...Array.from({ length: count }, (_, place) =>
        fc.oneof(
          { weight: 1, arbitrary: fc.constant(null) },
          {
            weight: 6,
            arbitrary:
              place === 0
                ? fc.constant([])
                : fc.array(fc.nat(place - 1), { maxLength: 4 })
          }
        )
      )
    )
  );

function graphOf(
  nodes: Drawn,
  nameOf: (place: number) => Key
): KeyMap<unknown> {
  return new KeyMap(
    nodes.map((needs, place) => [
      nameOf(place),
      needs === null
        ? data(place)
        : task(noop, ...needs.map(need => ref(nameOf(need))))
    ])
  );
}

/** The numbers by place. */
function numbersOf(nodes: Drawn, nameOf: (place: number) => Key): number[] {
  const numbers = order(graphOf(nodes, nameOf) as never);
  return nodes.map((_, place) => numbers.get(nameOf(place))!);
}

describe('§6.7: static order', () => {
  it('§6.7: is a permutation that goes with the dependencies', () => {
    fc.assert(
      fc.property(drawn, nodes => {
        const numbers = numbersOf(nodes, place => `k${place}`);
        expect([...numbers].sort((a, b) => a - b)).toEqual(
          nodes.map((_, i) => i)
        );
        nodes.forEach((needs, place) =>
          needs?.forEach(need => {
            expect(numbers[need]).toBeLessThan(numbers[place]!);
          })
        );
      }),
      { numRuns: 1000 }
    );
  });

  it('§6.7: does not depend on the names', () => {
    fc.assert(
      fc.property(drawn, fc.nat(), (nodes, seed) => {
        const scrambled = (place: number): Key => [
          `z${(place * 7919 + seed) % 104_729}`,
          place
        ];
        expect(numbersOf(nodes, scrambled)).toEqual(
          numbersOf(nodes, place => `k${place}`)
        );
      }),
      { numRuns: 300 }
    );
  });

  it('§6.7: keys outside the graph have no number', () => {
    const numbers = order({
      a: task(noop, ref('out')),
      b: task(noop, ref('out'), ref('a'))
    });
    expect([...numbers]).toEqual([
      ['a', 0],
      ['b', 1]
    ]);
  });

  it('§6.7: leaves its input as it was', () => {
    fc.assert(
      fc.property(drawn, nodes => {
        const graph = graphOf(nodes, place => `k${place}`);
        const before = [...graph];
        order(graph as never);
        const after = [...graph];
        expect(after.length).toBe(before.length);
        after.forEach(([key, value], at) => {
          expect(key).toBe(before[at]![0]);
          expect(value).toBe(before[at]![1]);
        });
      }),
      { numRuns: 100 }
    );
  });

  it('§6.7: an empty graph is empty', () => {
    expect(order({}).size).toBe(0);
  });

  it('§6.7: names a loop', () => {
    const cyclic = {
      start: 1,
      a: task(noop, ref('b'), ref('start')),
      b: task(noop, ref(['c', 1]))
    };
    const graph = new KeyMap<unknown>([
      ...Object.entries(cyclic),
      [['c', 1] as const, task(noop, ref('a'))]
    ]);
    const failed = () => order(graph as never);
    expect(failed).toThrow(CycleError);
    expect(failed).toThrow("  -> a\n  -> b\n  -> ('c', 1)\n  -> a");
  });

  it('§6.7: walks a tree depth first: only one result per level is held', () => {
    const height = 10;
    const nodes: number[][] = [];
    const build = (level: number): number =>
      nodes.push(level === 0 ? [] : [build(level - 1), build(level - 1)]) - 1;
    build(height);
    expect(
      peakOf(
        nodes,
        numbersOf(nodes, place => `k${place}`)
      )
    ).toBe(height + 2);
  });

  it('§6.7: runs equal tasks in the order of the graph', () => {
    const nodes = Array.from({ length: 50 }, () => []);
    expect(numbersOf(nodes, place => `k${place}`)).toEqual(
      nodes.map((_, i) => i)
    );
  });

  it('§6.7: takes a chain of 20,000 and a splitter of 20,000 in their stride', () => {
    const chain = Array.from({ length: 20_000 }, (_, i) =>
      i === 0 ? [] : [i - 1]
    );
    expect(numbersOf(chain, place => `k${place}`)).toEqual(
      chain.map((_, i) => i)
    );
    const shared = Array.from({ length: 20_000 }, (_, i) =>
      i % 2 === 0 ? [] : i === 1 ? [0] : [0, i - 1]
    );
    expect(numbersOf(shared, place => `k${place}`)).toHaveLength(20_000);
  });
});

/** The largest number of results held when the tasks run in this order on one thread. */
function peakOf(
  nodes: readonly (readonly number[])[],
  numbers: number[]
): number {
  const users = nodes.map(() => 0);
  nodes.flat().forEach(need => users[need]!++);
  let held = 0;
  let peak = 0;
  const places = nodes.map((_, place) => place);
  places.sort((a, b) => numbers[a]! - numbers[b]!);
  for (const place of places) {
    peak = Math.max(peak, ++held);
    for (const need of nodes[place]!) {
      if (--users[need]! === 0) {
        held--;
      }
    }
  }
  return peak;
}
