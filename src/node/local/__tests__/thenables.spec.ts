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

  it('§6.3: nested calls that give promises are waited for, one after the other, each call once', async () => {
    const began: string[] = [];
    const later = async (name: string, value: number) => {
      began.push(name);
      await Promise.resolve();
      return value;
    };
    const shared = task(later, 'shared', 1);
    const nested = task(
      (parts: unknown) => parts,
      [
        shared,
        { deep: new Map([['k', task(inc, task(later, 'inner', 2))]]) },
        new Set([task(inc, 3), shared]),
        ref('x')
      ]
    );
    const graph = { x: task(later, 'x', 7), nested };
    expect(await getAsync(graph, 'nested')).toEqual([
      1,
      { deep: new Map([['k', 3]]) },
      new Set([4, 1]),
      7
    ]);
    expect(began).toEqual(['x', 'shared', 'inner']);
    expect(() => getSync(graph, 'nested')).toThrow('returned a promise');
  });

  it('§1.7: a nested call whose promise is rejected is the error of the task around it', async () => {
    const fails = () => Promise.reject(new Error('nested'));
    const never = jest.fn();
    const run = getAsync<Error>({ a: task(never, [task(fails)]) }, 'a');
    const error = await run.catch((reason: Error) => reason);
    expect(error.message).toBe('nested');
    expect(taskKeyOf(error)).toBe('a');
    expect(never).not.toHaveBeenCalled();
  });
});
