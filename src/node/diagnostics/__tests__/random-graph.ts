import * as fc from 'fast-check';
import { alias, ref, task } from '../../graph/nodes';

/** Texts and tuples, which are compared by value. */
const keyOf = (index: number) =>
  index % 3 === 0 ? (['block', index] as const) : `x${index}`;

type DrawnGraph = {
  readonly graph: Map<ReturnType<typeof keyOf>, unknown>;
  /** The key of the task that throws, if one does. */
  readonly failing: ReturnType<typeof keyOf> | null;
  readonly keys: readonly ReturnType<typeof keyOf>[];
};

/** Graphs of data, calls and aliases; one call may throw. */
export const drawnGraphs: fc.Arbitrary<DrawnGraph> = fc
  .record({
    inputs: fc.array(
      fc.record({
        kind: fc.constantFrom('data', 'alias', 'call', 'call', 'call'),
        from: fc.array(fc.nat(), { maxLength: 4 })
      }),
      { minLength: 1, maxLength: 25 }
    ),
    failing: fc.option(fc.nat(), { freq: 3 }),
    wanted: fc.array(fc.nat(), { minLength: 1, maxLength: 3 })
  })
  .map(({ inputs, failing, wanted }) => {
    const graph: DrawnGraph['graph'] = new Map();
    const failingIndex = failing === null ? -1 : failing % inputs.length;
    inputs.forEach(({ kind, from }, index) => {
      const before = from.map(each => each % Math.max(1, index));
      if (kind === 'data' || (kind === 'alias' && index === 0)) {
        graph.set(keyOf(index), index);
      } else if (kind === 'alias') {
        graph.set(keyOf(index), alias(keyOf(before[0] ?? 0)));
      } else {
        const fn = (...args: number[]) => {
          if (index === failingIndex) {
            throw new Error('drawn to fail');
          }
          return args.reduce((sum, value) => sum + value, 1);
        };
        const references =
          index === 0 ? [] : before.map(each => ref(keyOf(each)));
        graph.set(keyOf(index), task(fn, ...references));
      }
    });
    return {
      graph,
      failing: failingIndex === -1 ? null : keyOf(failingIndex),
      keys: wanted.map(each => keyOf(each % inputs.length))
    };
  });
