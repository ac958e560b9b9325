import { AsyncLocalStorage } from 'node:async_hooks';
import {
  CycleError,
  GraphError,
  MissingDependencyError,
  UnknownKeyError
} from '../../graph/graph-errors';
import { KeyMap } from '../../graph/key';
import {
  Alias,
  alias,
  data,
  DataNode,
  ref,
  Task,
  task
} from '../../graph/nodes';
import { Callback, type CallbackHooks } from '../callback';
import { getAsync } from '../get-async';
import { getSync, PromiseResultError } from '../get-sync';
import type { RunOptions } from '../run';
import type { RunGraph } from '../state';
import { pictured, recorder } from './recorder';

const inc = (x: number) => x + 1;
const add = (x: number, y: number) => x + y;
const graph = {
  x: 1,
  y: task(inc, ref('x')),
  z: task(add, ref('x'), ref('y'))
};

describe('§1.1: entry points', () => {
  it('§1.1: answers in the nesting of the keys', () => {
    expect(getSync(graph, 'y')).toBe(2);
    expect(getSync(graph, ['x', 'y'])).toEqual([1, 2]);
    expect(getSync(graph, [['x'], 'y', [[]]])).toEqual([[1], 2, [[]]]);
    expect(getSync(graph, [])).toEqual([]);
  });

  it('§1.1: the same with getAsync', async () => {
    expect(await getAsync(graph, [['x'], 'z'])).toEqual([[1], 3]);
  });

  it('§1.1: a tuple is a key, never a list of keys', () => {
    const tuples = new Map([[['a', 1] as const, 10]]);
    expect(getSync(tuples, ['a', 1])).toBe(10);
    expect(getSync(tuples, [['a', 1]])).toEqual([10]);
    expect(() => getSync(tuples, ['a', 2])).toThrow(UnknownKeyError);
  });

  it('§1.1: an array that is both a tuple and a list is refused, ref decides', () => {
    const both = new Map<never, unknown>([
      [['a', 'b'], 1],
      ['a', 2],
      ['b', 3]
    ] as never);
    expect(() => getSync(both, ['a', 'b'])).toThrow(GraphError);
    expect(getSync(both, ref(['a', 'b']))).toBe(1);
    expect(getSync(both, [ref('a'), ref('b')])).toEqual([2, 3]);
  });

  it('§1.1, §6.1: takes plain objects, Maps and other maps', () => {
    expect(getSync(new Map(Object.entries(graph)), 'z')).toBe(3);
    expect(getSync(new KeyMap(Object.entries(graph)), 'z')).toBe(3);
    expect(() => getSync([1] as never, 'x')).toThrow(TypeError);
    expect(() => getSync(graph, 5 as never)).toThrow(TypeError);
  });

  it('§1.1, §6.1: does not change the graph; unknown options are ignored', () => {
    const before = { ...graph };
    expect(getSync(graph, 'z', { unheardOf: 1 } as never)).toBe(3);
    expect(graph).toEqual(before);
  });

  it('§1.1: callbacks see a graph of nodes of their own, not the caller’s', () => {
    const mine = { a: 1, b: ref('a'), c: [ref('b')], d: task(inc, ref('a')) };
    let seen: RunGraph | undefined;
    const callback = new Callback({
      start: g => {
        seen = g;
        g.set('a', data(5));
      }
    });
    expect(getSync(mine, ['c', 'd'], { callbacks: [callback] })).toEqual([
      [5],
      6
    ]);
    expect(Array.from(seen!.values(), node => node.constructor)).toEqual([
      DataNode,
      Alias,
      Task,
      Task
    ]);
    expect(mine.a).toBe(1);
  });

  it('§1.1: getSync has one worker, whatever it is told', () => {
    let most = 0;
    const callbacks: CallbackHooks[] = [
      {
        pretask: (_key, _graph, { running }) => {
          most = Math.max(most, running.size);
        }
      }
    ];
    const options = { numWorkers: 4, callbacks } as RunOptions;
    const many = { a: task(inc, 1), b: task(inc, 2), c: task(inc, 3) };
    expect(getSync(many, ['a', 'b', 'c'], options)).toEqual([2, 3, 4]);
    expect(most).toBe(1);
  });

  it('§1.1: a chunk size or a number of workers that is none is refused', async () => {
    expect(() => getSync(graph, 'z', { chunkSize: -2 })).toThrow(RangeError);
    expect(() => getSync(graph, 'z', { chunkSize: 1.5 })).toThrow(RangeError);
    await expect(getAsync(graph, 'z', { numWorkers: -1 })).rejects.toThrow(
      RangeError
    );
    expect(getSync(graph, 'z', { chunkSize: 0 })).toBe(3);
  });

  it('§1.1: an entry that refers to itself is dropped: its value comes from the cache', () => {
    const self = { x: alias('x'), y: task(inc, ref('x')) };
    const seen: string[] = [];
    const callback = new Callback({
      start: g => seen.push(...(g.keys() as Iterable<string>)) as never
    });
    expect(
      getSync(self, 'y', {
        cache: new KeyMap([['x', 41]]),
        callbacks: [callback]
      })
    ).toBe(42);
    expect(seen).toEqual(['y']);
  });
});

describe('§1.2: the state', () => {
  const stateOf = (
    g: Record<string, unknown>,
    keys: string[],
    cache?: KeyMap<unknown>
  ) => {
    let picture = {};
    getSync(g, keys, {
      cache,
      callbacks: [
        { startState: (_, state) => void (picture = pictured(state)) }
      ]
    });
    return picture;
  };

  it('§1.2: lists what the request reaches, data evaluated, ready sorted with the first one last', () => {
    expect(
      stateOf(
        {
          x: 1,
          y: 2,
          z: task(inc, ref('x')),
          w: task(add, ref('z'), ref('y')),
          aside: task(inc, ref('x'))
        },
        ['w']
      )
    ).toEqual({
      ready: 'z',
      running: '',
      finished: '',
      released: '',
      dependencies: 'x:; y:; z:x; w:y z',
      dependents: 'x:z; y:w; z:w; w:',
      waiting: 'w:z',
      waitingData: 'x:z; y:w; z:w; w:'
    });
  });

  it('§1.2: externally cached keys have an entry', () => {
    expect(
      stateOf({ b: task(inc, ref('a')) }, ['b'], new KeyMap([['a', 1]]))
    ).toMatchObject({ dependencies: 'b:a; a:', waitingData: 'b:; a:b' });
  });

  it('§1.2: aliases are tasks, constants are not', () => {
    const log: string[] = [];
    getSync({ x: data(1), y: alias('x'), z: ref('y') }, ['z'], {
      callbacks: [recorder(log)]
    });
    expect(log).toEqual([
      'start',
      'startState',
      'pretask y',
      'posttask y=1',
      'pretask z',
      'posttask z=1',
      'finish ok'
    ]);
  });

  it('§1.2: a dependency that is nowhere is an error that names the task that needs it', () => {
    const missing = { a: task(inc, ref('gone')), b: task(inc, ref('gone')) };
    expect(() => getSync(missing, ['a', 'b'])).toThrow(
      /^Missing dependency gone for dependents \{(a, b|b, a)\}$/
    );
    expect(() => getSync(missing, 'a')).toThrow(MissingDependencyError);
  });

  it.each([0, null, '', undefined, []])('§1.2: a cached %p is there', value => {
    const cache = new KeyMap<unknown>([['a', value]]);
    expect(
      getSync({ b: task((x: unknown) => [x], ref('a')) }, 'b', { cache })
    ).toEqual([value]);
  });

  it('§1.2: an unreachable dependency that is missing does not matter', () => {
    expect(getSync({ a: 1, b: task(inc, ref('gone')) }, 'a')).toBe(1);
  });

  it('§1.2: an unknown requested key is an error only when all else is done', () => {
    const log: string[] = [];
    expect(() =>
      getSync(graph, ['z', 'gone'], { callbacks: [recorder(log)] })
    ).toThrow(UnknownKeyError);
    expect(log.at(-2)).toBe('posttask z=3');
    expect(log.at(-1)).toBe('finish ok');
  });
});

describe('§1.3: order of events', () => {
  it('§1.3: start, startState, pretask and posttask of each, finish', () => {
    const log: string[] = [];
    getSync(graph, 'z', { callbacks: [recorder(log)] });
    expect(log).toEqual([
      'start',
      'startState',
      'pretask y',
      'posttask y=2',
      'pretask z',
      'posttask z=3',
      'finish ok'
    ]);
  });

  it('§1.3: a cycle anywhere is an error that names its keys', () => {
    const cyclic = {
      ok: 1,
      a: task(inc, ref('c')),
      b: task(inc, ref('a')),
      c: task(inc, ref('b')),
      behind: task(inc, ref('a'))
    };
    const failed = () => getSync(cyclic, 'ok');
    expect(failed).toThrow(CycleError);
    expect(failed).toThrow(
      'Cycle detected between the following keys:\n  -> a\n  -> c\n  -> b\n  -> a'
    );
    expect(() => getSync({ a: task(inc, ref('a')) }, 'a')).toThrow(
      /-> a\n {2}-> a$/
    );
  });

  it('§1.3: a start hook may replace entries', () => {
    const callbacks = [
      { start: (g: KeyMap<unknown>) => void g.set('y', data(10)) }
    ];
    expect(getSync(graph, 'z', { callbacks: callbacks as never })).toBe(11);
  });

  it('§1.3: what is released is gone before posttask, requested keys stay', () => {
    const seen: string[] = [];
    const callbacks = [
      {
        posttask: (
          ...[key, , , state]: Parameters<NonNullable<Callback['posttask']>>
        ) => {
          const held = ['x', 'y', 'z'].filter(k => state.cache.has(k));
          seen.push(
            `${String(key)}: held ${held.join(' ')}, ready ${state.ready.join(' ')}`
          );
        }
      }
    ];
    getSync(graph, ['z'], { callbacks });
    getSync(graph, ['z', 'y'], { callbacks });
    expect(seen).toEqual([
      'y: held x y, ready z',
      'z: held z, ready ',
      'y: held x y, ready z',
      'z: held y z, ready '
    ]);
  });

  it('§1.3: a chain of 10,000 tasks needs no stack', async () => {
    const chain: Record<string, unknown> = { k0: 0 };
    for (let i = 1; i <= 10_000; i++) {
      chain[`k${i}`] = task(inc, ref(`k${i - 1}`));
    }
    expect(getSync(chain, 'k10000')).toBe(10_000);
    expect(await getAsync(chain, 'k10000', { numWorkers: 1 })).toBe(10_000);
  });
});

describe('§1.8: this thread', () => {
  it('§1.8: values go from task to task as they are', async () => {
    const value = { rows: [1] };
    const graphOfOne = {
      a: task(() => value),
      b: task((x: unknown) => x, ref('a'))
    };
    expect(getSync(graphOfOne, 'b')).toBe(value);
    expect(await getAsync(graphOfOne, 'b')).toBe(value);
  });

  it('§1.8: tasks are in the async context of the run’s caller, whatever ran before them', async () => {
    const storage = new AsyncLocalStorage<string>();
    const look = () => storage.getStore();
    const lookLater = async () => {
      await new Promise(setImmediate);
      return storage.getStore();
    };
    // Its context must not be that of the task which takes its place.
    const stray = () =>
      storage.run('stray', async () => {
        await new Promise(setImmediate);
        return storage.getStore();
      });
    const contexts = {
      one: task(look),
      left: task(stray),
      two: task(lookLater),
      three: task(look),
      four: task((...seen: unknown[]) => [...seen, look()], ref('two'))
    };
    const keys = ['one', 'left', 'two', 'three', 'four'];
    const seen = ['caller', 'stray', 'caller', 'caller'];
    await storage.run('caller', async () => {
      expect(await getAsync(contexts, keys, { numWorkers: 1 })).toEqual([
        ...seen,
        ['caller', 'caller']
      ]);
      expect(getSync({ one: task(look) }, 'one')).toBe('caller');
    });
  });

  it('§1.8: the worker of getSync is null, those of getAsync are numbered', async () => {
    const ids: (number | null)[] = [];
    const callbacks = [
      { posttask: (...args: unknown[]) => void ids.push(args[4] as number) }
    ];
    getSync(graph, 'z', { callbacks });
    await getAsync(graph, 'z', { callbacks });
    expect(ids).toEqual([null, null, 0, 0]);
  });

  it('§1.8: getSync runs functions that are not async; a promise is an error that says what to use', () => {
    const later = { a: task(() => Promise.reject(new Error('unseen'))) };
    expect(() => getSync(later, 'a')).toThrow(PromiseResultError);
    expect(() => getSync(later, 'a')).toThrow(/use getAsync/);
  });

  it('§1.8: getAsync has numWorkers promises under way, never more', async () => {
    let now = 0;
    let most = 0;
    const visit = async () => {
      most = Math.max(most, ++now);
      await new Promise(setImmediate);
      now--;
    };
    const many = Object.fromEntries(
      Array.from({ length: 30 }, (_, i) => [`k${i}`, task(visit)])
    );
    await getAsync(many, Object.keys(many), { numWorkers: 4 });
    expect(most).toBe(4);
    most = 0;
    await getAsync(many, Object.keys(many), { numWorkers: 1 });
    expect(most).toBe(1);
  });

  it('§1.8: getAsync lets timers have their turn between tasks that do not wait', async () => {
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    const spin = () => {
      const end = performance.now() + 5;
      while (performance.now() < end) {
        // Computing.
      }
    };
    const busy = Object.fromEntries(
      Array.from({ length: 12 }, (_, i) => [`k${i}`, task(spin)])
    );
    await getAsync(busy, Object.keys(busy));
    clearInterval(timer);
    expect(turns).toBeGreaterThan(1);
  });
});

describe('§1.9: caches', () => {
  it('§1.9: inputs come from the cache, results go there, what nobody needs is deleted, inputs too', () => {
    const cache = new Map<unknown, unknown>([
      ['a', 1],
      ['other', 'untouched']
    ]);
    const chain = { b: task(inc, ref('a')), c: task(inc, ref('b')) };
    expect(getSync(chain, 'c', { cache })).toBe(3);
    expect(cache).toEqual(
      new Map<unknown, unknown>([
        ['other', 'untouched'],
        ['c', 3]
      ])
    );
  });

  it('§1.9: a requested key may be in the cache alone', () => {
    const cache = new KeyMap<unknown>([[['a', 1], 5]]);
    expect(getSync({}, ['a', 1], { cache })).toBe(5);
    expect(cache.size).toBe(1);
  });

  it('§1.9: the graph wins over the cache', () => {
    const cache = new KeyMap<unknown>([['y', 100]]);
    expect(getSync(graph, ['y', 'z'], { cache })).toEqual([2, 3]);
  });

  it('§1.9: a cache that takes undefined for nothing still serves', () => {
    const forgetful = new Map<unknown, unknown>();
    const cache = {
      get: (key: unknown) => forgetful.get(key),
      has: (key: unknown) => forgetful.has(key),
      delete: (key: unknown) => forgetful.delete(key),
      set: (key: unknown, value: unknown) =>
        value === undefined ? forgetful.delete(key) : forgetful.set(key, value)
    };
    const g = {
      a: task(() => undefined),
      b: task((x: unknown) => x === undefined, ref('a'))
    };
    expect(getSync(g, ['a', 'b'], { cache })).toEqual([undefined, true]);
  });

  it('§1.9: a cache that dropped a needed value is an error that says so', () => {
    const small = new Map<unknown, unknown>();
    const cache = {
      get: (key: unknown) => small.get(key),
      has: (key: unknown) => small.has(key),
      delete: (key: unknown) => small.delete(key),
      set: (key: unknown, value: unknown) => {
        small.clear();
        small.set(key, value);
      }
    };
    const g = {
      a: task(() => 1),
      b: task(() => 2),
      c: task(add, ref('a'), ref('b'))
    };
    expect(() => getSync(g, 'c', { cache })).toThrow(
      /no longer holds the value of [ab]/
    );
  });
});
