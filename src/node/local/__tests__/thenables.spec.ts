import { ref, task } from '../../graph/nodes';
import { getAsync } from '../get-async';
import { getSync } from '../get-sync';
import { taskKeyOf } from '../task-note';

/** What query builders are: functions with a `then`. */
const callable = () =>
  Object.assign(() => 0, {
    then: (resolve: (value: number) => void) => resolve(5)
  });
const hostile = () =>
  Object.defineProperty({}, 'then', {
    get: () => {
      throw new Error('no then');
    }
  });
const inc = (x: number) => x + 1;

describe('results that behave like promises', () => {
  it('§1.8: a function with `then` is waited for', async () => {
    const graph = { a: task(callable), b: task(inc, ref('a')) };
    expect(await getAsync(graph, ['a', 'b'])).toEqual([5, 6]);
    expect(() => getSync(graph, 'b')).toThrow('returned a promise');
  });

  it.each([1, 3])(
    '§1.7: a `then` that throws when it is looked at is the error of its task (batches of %d)',
    async chunkSize => {
      const graph = {
        before: task(() => Promise.resolve(1)),
        bad: task(hostile),
        after: task(() => 1)
      };
      const keys = ['before', 'bad', 'after'];
      for (const rerunExceptionsLocally of [false, true]) {
        const options = { chunkSize, rerunExceptionsLocally };
        const error = await getAsync<Error>(graph, keys, options).catch(
          (reason: Error) => reason
        );
        expect(error.message).toBe('no then');
        expect(taskKeyOf(error)).toBe('bad');
      }
      expect(() => getSync(graph, 'bad')).toThrow('no then');
    }
  );
});
