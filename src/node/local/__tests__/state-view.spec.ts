import { inspect } from 'node:util';
import { ref, task } from '../../graph/nodes';
import { getSync } from '../get-sync';

describe('the state of a run', () => {
  it('prints what it holds, and none of the tables behind it', () => {
    const printed: string[] = [];
    const inc = (x: number) => x + 1;
    const graph = { a: task(inc, 1), b: task(inc, ref('a')) };
    getSync(graph, 'b', {
      callbacks: [
        {
          pretask: (key, _, { dependencies, waiting, running, finished }) =>
            printed.push(
              inspect(
                { key, dependencies, waiting, running, finished },
                { breakLength: Infinity }
              )
            )
        }
      ]
    });
    expect(printed).toEqual([
      "{ key: 'a', dependencies: ReadonlyKeyMap(2) { 'a' => ReadonlyKeySet(0) {}, 'b' => ReadonlyKeySet(1) { 'a' } }, waiting: ReadonlyKeyMap(1) { 'b' => ReadonlyKeySet(1) { 'a' } }, running: ReadonlyKeySet(1) { 'a' }, finished: ReadonlyKeySet(0) {} }",
      "{ key: 'b', dependencies: ReadonlyKeyMap(2) { 'a' => ReadonlyKeySet(0) {}, 'b' => ReadonlyKeySet(1) { 'a' } }, waiting: ReadonlyKeyMap(0) {}, running: ReadonlyKeySet(1) { 'b' }, finished: ReadonlyKeySet(1) { 'a' } }"
    ]);
  });
});
