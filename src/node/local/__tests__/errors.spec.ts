import { type Graph, ref, task } from '../../graph/nodes';
import type { CallbackHooks } from '../callback';
import { getAsync } from '../get-async';
import { getSync } from '../get-sync';
import type { RunOptions } from '../run';
import { taskKeyOf, type TaskNote } from '../task-note';
import { recorder } from './recorder';

const inc = (x: number) => x + 1;
const graph = { a: 1, b: task(inc, ref('a')), c: task(inc, ref('b')) };
const boom = new Error('boom');
const failing = {
  a: 1,
  b: task(inc, ref('a')),
  c: task((x: number) => {
    throw boom;
  }, ref('b'))
};

type Get = (g: object, keys: string, options: RunOptions) => Promise<unknown>;
const schedulers: [string, Get][] = [
  ['getSync', async (g, keys, options) => getSync(g as never, keys, options)],
  ['getAsync', (g, keys, options) => getAsync(g as never, keys, options)]
];

/** Runs with three callbacks, the second of which fails in a hook. */
async function logOf(
  get: Get,
  hook: keyof CallbackHooks | undefined,
  g: object = graph
): Promise<{ log: string[]; error: unknown }> {
  const log: string[] = [];
  const callbacks = [
    recorder(log, '1'),
    recorder(log, '2', hook),
    recorder(log, '3')
  ];
  let error: unknown;
  await get(g, 'c', { callbacks }).catch((reason: unknown) => {
    error = reason;
  });
  return { log, error };
}

describe.each(schedulers)('§1.7: error paths of %s', (_, get) => {
  it('§1.7: start of a callback: those before it are finished, without a state', async () => {
    const { log, error } = await logOf(get, 'start');
    expect(log).toEqual(['1:start', '2:start', '1:finish errored empty']);
    expect(error).toMatchObject({ message: 'start of 2 fails' });
  });

  it('§1.7: a cycle, a missing dependency: all started, all finished, without a state', async () => {
    for (const broken of [
      { c: task(inc, ref('c')) },
      { c: task(inc, ref('gone')) }
    ]) {
      const { log } = await logOf(get, undefined, broken);
      expect(log).toEqual([
        '1:start',
        '2:start',
        '3:start',
        '1:finish errored empty',
        '2:finish errored empty',
        '3:finish errored empty'
      ]);
    }
  });

  it('§1.7: startState: later ones do not hear it, all are finished', async () => {
    const { log, error } = await logOf(get, 'startState');
    expect(log.slice(3)).toEqual([
      '1:startState',
      '2:startState',
      '1:finish errored',
      '2:finish errored',
      '3:finish errored'
    ]);
    expect(error).toMatchObject({ message: 'startState of 2 fails' });
  });

  it('§1.7: pretask: the task does not run, all are finished', async () => {
    let calls = 0;
    const spied = { c: task(() => ++calls) };
    const { log, error } = await logOf(get, 'pretask', spied);
    expect(log.slice(6)).toEqual([
      '1:pretask c',
      '2:pretask c',
      '1:finish errored',
      '2:finish errored',
      '3:finish errored'
    ]);
    expect(calls).toBe(0);
    expect(error).toMatchObject({ message: 'pretask of 2 fails' });
  });

  it('§1.7: posttask: later ones do not hear it, all are finished', async () => {
    const { log, error } = await logOf(get, 'posttask');
    expect(log.slice(9)).toEqual([
      '1:posttask b=2',
      '2:posttask b=2',
      '1:finish errored',
      '2:finish errored',
      '3:finish errored'
    ]);
    expect(error).toMatchObject({ message: 'posttask of 2 fails' });
  });

  it('§1.7: finish: the remaining ones are not called, its error replaces the one under way', async () => {
    const { log, error } = await logOf(get, 'finish', failing);
    expect(log.slice(-2)).toEqual(['1:finish errored', '2:finish errored']);
    expect(error).toMatchObject({ message: 'finish of 2 fails' });
  });

  it('§1.7: a task: no posttask for it, finish errored, and the very error is thrown, with its key', async () => {
    const { log, error } = await logOf(get, undefined, failing);
    expect(log.slice(-7)).toEqual([
      '3:posttask b=2',
      '1:pretask c',
      '2:pretask c',
      '3:pretask c',
      '1:finish errored',
      '2:finish errored',
      '3:finish errored'
    ]);
    expect(error).toBe(boom);
    expect(taskKeyOf(error)).toBe('c');
  });

  it('§1.7: after the first error of a batch its other items do not run', async () => {
    const ran: string[] = [];
    const run = (name: string) => () => ran.push(name);
    const fail = () => {
      ran.push('fails');
      throw boom;
    };
    const batch = {
      c: task((...parts: unknown[]) => parts, ref('x'), ref('y'), ref('z')),
      x: task(run('x')),
      y: task(fail),
      z: task(run('z'))
    };
    await expect(
      get(batch, 'c', { chunkSize: 3, numWorkers: 1 } as RunOptions)
    ).rejects.toBe(boom);
    expect(ran).toEqual(['x', 'fails']);
  });

  it('§1.7: thrown texts, frozen errors and undefined come through as they are', async () => {
    for (const thrown of ['text', undefined, Object.freeze(new Error('ice'))]) {
      const throwing = {
        c: task(() => {
          throw thrown;
        })
      };
      await expect(get(throwing, 'c', {})).rejects.toBe(thrown);
    }
  });

  it('§1.7: a text argument that is also a key is pointed out when the call fails', async () => {
    const confused = {
      data: [1, 2],
      total: task((list: number[]) => list.reduce((a, b) => a + b), 'data')
    };
    await expect(get(confused, 'total', {})).rejects.toMatchObject({
      taskKey: 'total',
      taskHint: expect.stringContaining("ref('data')")
    });
  });

  it('§1.7: of nested runs the innermost key is named', async () => {
    const nested = { n: task(() => getSync(failing, 'c')) };
    const error = await get(nested, 'n', {}).catch((e: unknown) => e);
    expect(taskKeyOf(error)).toBe('c');
  });

  it('§1.8: an aborted signal: finish errored, rejected with its reason', async () => {
    const controller = new AbortController();
    const log: string[] = [];
    const reason = new Error('enough');
    const aborting = {
      b: task(() => controller.abort(reason)),
      c: task(inc, ref('b'))
    };
    await expect(
      get(aborting, 'c', {
        signal: controller.signal,
        callbacks: [recorder(log)]
      })
    ).rejects.toBe(reason);
    expect(log.at(-1)).toBe('finish errored');
    expect(log).not.toContain('posttask c=NaN');
    await expect(get(graph, 'c', { signal: controller.signal })).rejects.toBe(
      reason
    );
  });

  it('§1.8: aborting in a start hook ends the run before anything runs', async () => {
    const controller = new AbortController();
    const log: string[] = [];
    await expect(
      get(graph, 'c', {
        signal: controller.signal,
        callbacks: [recorder(log), { start: () => controller.abort(boom) }]
      })
    ).rejects.toBe(boom);
    expect(log.filter(line => line.startsWith('posttask'))).toEqual([]);
    expect(log.at(-1)).toBe('finish errored');
  });
});

describe('§1.7: tasks under way', () => {
  it('§1.7: are not waited for, and what becomes of them is discarded', async () => {
    let letGo!: () => void;
    const isOver = new Promise<void>(resolve => (letGo = resolve));
    const later = {
      never: task(() => new Promise(() => undefined)),
      rejects: task(async () => {
        await isOver;
        throw new Error('too late');
      }),
      now: task(() => Promise.reject(boom))
    };
    await expect(getAsync(later, ['never', 'rejects', 'now'])).rejects.toBe(
      boom
    );
    letGo();
    await new Promise(setImmediate);
    await new Promise(setImmediate);
  });

  it('§1.8: an abort from outside rejects at once', async () => {
    const controller = new AbortController();
    const waiting = getAsync(
      { never: task(() => new Promise(() => undefined)) },
      'never',
      { signal: controller.signal }
    );
    controller.abort(boom);
    await expect(waiting).rejects.toBe(boom);
  });
});

describe('§1.7: rerunExceptionsLocally', () => {
  const flaky = () => {
    let calls = 0;
    const get = () => {
      calls++;
      if (calls === 1) {
        throw new Error('only once');
      }
      return calls;
    };
    return { get, calls: () => calls };
  };

  it('§1.7: calls the failing task again; what that throws is thrown', async () => {
    let calls = 0;
    const always = {
      c: task(() => {
        throw new Error(`call ${++calls}`);
      })
    };
    await expect(
      getAsync(always, 'c', { rerunExceptionsLocally: true })
    ).rejects.toMatchObject({ message: 'call 2', taskKey: 'c' });
  });

  it('§1.7: if it succeeds now, its value counts', async () => {
    const { get } = flaky();
    const again = flaky();
    const g = {
      a: task(get),
      later: task(async () => again.get()),
      both: task((x: number, y: number) => [x, y], ref('a'), ref('later'))
    };
    const options = { rerunExceptionsLocally: true };
    expect(await getAsync(g, 'both', options)).toEqual([2, 2]);
  });

  it('§1.7: the rest of the batch runs as well', async () => {
    const { get } = flaky();
    const g = { a: task(get), b: task(() => 'b'), c: task(() => 'c') };
    expect(
      await getAsync(g, ['a', 'b', 'c'], {
        rerunExceptionsLocally: true,
        chunkSize: 3,
        numWorkers: 1
      })
    ).toEqual([2, 'b', 'c']);
  });

  it('§1.7: has no effect on getSync', () => {
    const { get, calls } = flaky();
    expect(() =>
      getSync({ a: task(get) }, 'a', {
        rerunExceptionsLocally: true
      } as RunOptions)
    ).toThrow('only once');
    expect(calls()).toBe(1);
  });
});

describe('taskKeyOf', () => {
  const throwing = (error: unknown) => () => {
    throw error;
  };
  const caught = (graph: Graph, key: string): unknown => {
    try {
      getSync(graph, key);
    } catch (error) {
      return error;
    }
    throw new Error('The run succeeded.');
  };

  it.each<[string, unknown]>([
    ['an error', new Error('again')],
    ['a frozen error', Object.freeze(new Error('again'))],
    ['a sealed error', Object.seal(new Error('again'))],
    ['an object', {}],
    ['a function', () => 1],
    ['a text', 'again'],
    ['a number', 7],
    ['NaN', NaN],
    ['null', null],
    ['undefined', undefined],
    ['a symbol', Symbol('again')]
  ])('is that of the last task that threw %s', (_, error) => {
    for (const key of ['first', 'second', 'third']) {
      const thrown = caught({ [key]: task(throwing(error)) }, key);
      expect(thrown).toBe(error);
      expect(taskKeyOf(thrown)).toBe(key);
    }
  });

  it.each<[string, () => unknown]>([
    ['an error', () => new Error('inside')],
    ['a frozen error', () => Object.freeze(new Error('inside'))],
    ['a text', () => 'inside']
  ])('is the innermost of nested runs for %s, each time', (_, make) => {
    const error = make();
    const inner = { deep: task(throwing(error)) };
    const around = { around: task(() => getSync(inner, 'deep')) };
    for (let time = 0; time < 2; time++) {
      expect(taskKeyOf(caught(around, 'around'))).toBe('deep');
      // Thrown by itself, and within again.
      expect(taskKeyOf(caught({ bare: task(throwing(error)) }, 'bare'))).toBe(
        'bare'
      );
    }
  });

  it('is not known of what no task threw', () => {
    expect(taskKeyOf(new Error('of nobody'))).toBeUndefined();
    expect(taskKeyOf('a text of nobody')).toBeUndefined();
  });

  it('keeps the latest of thrown texts only', () => {
    for (let at = 0; at < 100; at++) {
      caught({ a: task(throwing(`text ${at}`)) }, 'a');
    }
    expect(taskKeyOf('text 0')).toBeUndefined();
    expect(taskKeyOf('text 99')).toBe('a');
    const long = 'x'.repeat(1e6);
    expect(taskKeyOf(caught({ a: task(throwing(long)) }, 'a'))).toBeUndefined();
  });

  it('does not keep the hint of an earlier throw', () => {
    const error = new Error('odd');
    const odd = task(throwing(error) as (text: string) => never, 'rows');
    caught({ rows: 3, odd }, 'odd');
    expect((error as TaskNote).taskHint).toContain("ref('rows')");
    caught({ other: task(throwing(error)) }, 'other');
    expect(error).toMatchObject({ taskKey: 'other' });
    expect(error).not.toHaveProperty('taskHint');
  });
});
