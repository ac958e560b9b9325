import { delayed } from '../delayed';
import { alias, data, type Graph, ref, type Task, task } from '../nodes';
import { nodeOf } from '../references';
import { ownName } from '../task-name';

const fit = (x: number) => x;

describe('the name of a task’s function', () => {
  it('is its own', () => {
    expect(ownName(task(fit, 1))).toBe('fit');
    expect(ownName(task(fit.bind(null), 1))).toBe('fit');
    expect(ownName(task(Math.sqrt, task(fit, 1)))).toBe('sqrt');
  });

  it('is left to the key where it has none, or where its task calls none of the user’s', () => {
    const nameless = [
      task((x: number) => x, 1),

      task(new Function('x', 'return x') as typeof fit, 1),
      task(
        Object.defineProperty((x: number) => x, 'name', { value: 7 }),
        1
      ),
      task(
        Object.defineProperty((x: number) => x, 'name', { value: 'default' }),
        1
      ),
      nodeOf([ref('a')]),
      alias('a'),
      data(1)
    ];
    expect(nameless.map(ownName)).toEqual(nameless.map(() => null));
  });

  it('is left to the key of delayed calls that were given a name', () => {
    const namesIn = (graph: Graph): (string | null)[] =>
      Array.from(graph as Iterable<[unknown, Task]>, ([, node]) =>
        ownName(node)
      );
    expect(namesIn(delayed(fit)(1).toGraph().graph)).toEqual(['fit']);
    expect(namesIn(delayed(fit, 'step')(1).toGraph().graph)).toEqual([null]);
  });
});
