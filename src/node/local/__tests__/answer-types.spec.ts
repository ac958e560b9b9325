/** What the compiler is told of answers: nothing that is not known. The compiler checks this file; jest sees that it runs. */
import { buildNodePrograms } from '../../../testing/node-programs';
import { delayed } from '../../graph/delayed';
import { task } from '../../graph/nodes';
import { module } from '../../graph/portable';
import { getProcesses } from '../../pools/get-processes';
import { getThreads } from '../../pools/get-threads';
import { getAsync } from '../get-async';
import { getSync } from '../get-sync';

beforeAll(() => buildNodePrograms('pool-thread.mjs', 'pool-process.mjs'));

const graph = { b: task(() => 2) };

describe('answers', () => {
  it('of getSync are unknown unless the caller says what they are', () => {
    // @ts-expect-error -- nobody knows that it is a text
    const wrong: string = getSync(graph, 'b');
    expect(wrong).toBe(2);
    const unknown: unknown = getSync(graph, 'b');
    expect(unknown).toBe(2);
    const said: number = getSync<number>(graph, 'b');
    expect(said.toFixed(1)).toBe('2.0');
    // @ts-expect-error -- nor can a function that takes a text be given it
    expect(((text: string) => text)(getSync(graph, 'b'))).toBe(2);
  });

  it('of the others are promises of such', async () => {
    // @ts-expect-error -- nobody knows that it is a text
    const one: string = await getAsync(graph, 'b');
    // @ts-expect-error -- nobody knows that it is a text
    const two: string = await getThreads(graph, 'b');
    // @ts-expect-error -- nobody knows that it is a text
    const three: string = await getProcesses(graph, 'b');
    expect([one, two, three]).toEqual([2, 2, 2]);
    const said: Promise<number>[] = [
      getAsync<number>(graph, 'b'),
      getThreads<number>(graph, 'b'),
      getProcesses<number>(graph, 'b')
    ];
    expect(await Promise.all(said)).toEqual([2, 2, 2]);
    // @ts-expect-error -- the promise is none of a text either
    const promise: Promise<string> = getAsync(graph, 'b');
    expect(await promise).toBe(2);
  });

  it('of delayed calls are what their function returns', () => {
    const two = delayed(() => 2)();
    const known: number = two.compute(getSync);
    // @ts-expect-error -- a number
    const wrong: string = two.compute(getSync);
    expect([known, wrong]).toEqual([2, 2]);
  });

  it('of functions of modules are unknown unless the caller says what they are', () => {
    // @ts-expect-error -- nobody knows that it takes and gives texts
    const wrong: (text: string) => string = module('node:path', 'basename');
    const said = module<(text: string) => string>('node:path', 'basename');
    expect([wrong('/a/b'), said('/a/b')]).toEqual(['b', 'b']);
  });
});
