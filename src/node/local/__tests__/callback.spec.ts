import { AsyncLocalStorage } from 'node:async_hooks';
import { ref, task } from '../../graph/nodes';
import { addCallbacks, Callback } from '../callback';
import { getAsync } from '../get-async';
import { getSync } from '../get-sync';
import type { RunGraph } from '../state';
import { recorder } from './recorder';

const inc = (x: number) => x + 1;
const graph = { a: 1, b: task(inc, ref('a')), c: task(inc, ref('b')) };
const counted = () => {
  const log: string[] = [];
  return { log, callback: recorder(log) };
};
const runs = (log: string[]) => log.filter(line => line === 'start').length;

describe('§1.6: forms of callbacks', () => {
  it('§1.6: each hook gets what the table says', () => {
    const got: unknown[][] = [];
    const record = (...args: unknown[]) => void got.push(args);
    getSync(graph, 'b', {
      callbacks: [
        {
          start: record,
          startState: record,
          pretask: record,
          posttask: record,
          finish: record
        }
      ]
    });
    const [seen, state] = got[1]!;
    expect((seen as RunGraph).size).toBe(3);
    expect(got).toEqual([
      [seen],
      [seen, state],
      ['b', seen, state],
      ['b', 2, seen, state, null],
      [seen, state, false]
    ]);
    expect(got[4]![1]).toBe(got[1]![1]);
  });

  it('§1.6: hooks by constructor, by subclass, or as a plain object', () => {
    const log: string[] = [];
    class Sub extends Callback {
      readonly mark = 'sub';
      override pretask(key: unknown): void {
        log.push(`${this.mark} ${String(key)}`);
      }
    }
    const callbacks = [
      new Callback({ pretask: key => void log.push(`made ${String(key)}`) }),
      new Sub(),
      { pretask: (key: unknown) => void log.push(`plain ${String(key)}`) }
    ];
    getSync(graph, 'b', { callbacks });
    expect(log).toEqual(['made b', 'sub b', 'plain b']);
  });

  it('§1.6: hooks are read again for each run', () => {
    const log: string[] = [];
    const callback = new Callback();
    callback.run(() => {
      getSync(graph, 'b');
      callback.pretask = key => void log.push(String(key));
      getSync(graph, 'b');
    });
    expect(log).toEqual(['b']);
  });

  it('§1.6: an explicit list replaces the active ones, also when empty, and keeps its order', () => {
    const active = counted();
    const log: string[] = [];
    active.callback.run(() => {
      getSync(graph, 'b', { callbacks: [] });
      getSync(graph, 'b', {
        callbacks: [recorder(log, 'second'), recorder(log, 'first')]
      });
    });
    expect(active.log).toEqual([]);
    expect(log.slice(0, 2)).toEqual(['second:start', 'first:start']);
  });

  it('§1.6: what is no list or no callback is refused', () => {
    const { callback } = counted();
    expect(() => getSync(graph, 'b', { callbacks: callback as never })).toThrow(
      TypeError
    );
    expect(() => addCallbacks(['text' as never], () => 1)).toThrow(TypeError);
  });
});

describe('§1.6: registration', () => {
  it('§1.6: registered until unregistered; twice is once', () => {
    const { log, callback } = counted();
    callback.register();
    callback.register();
    getSync(graph, 'b');
    callback.unregister();
    getSync(graph, 'b');
    expect(runs(log)).toBe(1);
    expect(() => callback.unregister()).toThrow(/not registered/);
  });

  it('§1.6: run activates for a body, hands its value and its error on', () => {
    const { log, callback } = counted();
    expect(callback.run(() => getSync(graph, 'b'))).toBe(2);
    expect(() =>
      callback.run(() => {
        throw new Error('of the body');
      })
    ).toThrow('of the body');
    getSync(graph, 'b');
    expect(runs(log)).toBe(1);
  });

  it('§1.6: run follows what its body awaits and nothing else', async () => {
    const { log, callback } = counted();
    let goOn = () => {};
    const outsideIsDone = new Promise<void>(resolve => (goOn = resolve));
    const inside = callback.run(async () => {
      await outsideIsDone;
      return getAsync(graph, 'b');
    });
    await getAsync(graph, 'b');
    expect(runs(log)).toBe(0);
    goOn();
    await inside;
    expect(runs(log)).toBe(1);
  });

  it('§1.6: using activates for the rest of the block', () => {
    const { log, callback } = counted();
    {
      using entered = callback.enter();
      expect(entered).toBe(callback);
      getSync(graph, 'b');
    }
    getSync(graph, 'b');
    expect(runs(log)).toBe(1);
    callback[Symbol.dispose]();
  });

  it('§1.6: leaving an inner block leaves the outer one active', () => {
    const { log, callback } = counted();
    callback.run(() => {
      callback.run(() => getSync(graph, 'b'));
      getSync(graph, 'b');
    });
    expect(runs(log)).toBe(2);
  });

  it('§1.6: several at once are called in the order in which they became active', () => {
    const log: string[] = [];
    const [a, b, c] = ['a', 'b', 'c'].map(name => recorder(log, name));
    a!.register();
    try {
      addCallbacks([b!, c!], () => getSync(graph, 'b'));
    } finally {
      a!.unregister();
    }
    expect(log.slice(0, 3)).toEqual(['a:start', 'b:start', 'c:start']);
    expect(log.slice(-3)).toEqual([
      'a:finish ok',
      'b:finish ok',
      'c:finish ok'
    ]);
  });
});

describe('§1.6: nested runs', () => {
  const nested = { n: task(() => getSync(graph, 'c')) };

  it('§1.6: a run inside a task sees no callbacks from outside', () => {
    const { log, callback } = counted();
    callback.register();
    try {
      expect(callback.run(() => getSync(nested, 'n'))).toBe(3);
    } finally {
      callback.unregister();
    }
    expect(runs(log)).toBe(1);
  });

  it('§1.6: nor inside a task of getAsync, after whatever it awaited', async () => {
    const { log, callback } = counted();
    const later = {
      n: task(async () => {
        await new Promise(setImmediate);
        return getAsync(graph, 'c');
      })
    };
    expect(await callback.run(() => getAsync(later, 'n'))).toBe(3);
    expect(runs(log)).toBe(1);
  });

  it('§1.6: nor a run inside a hook', () => {
    const { log, callback } = counted();
    const starting = new Callback({ pretask: () => void getSync(graph, 'c') });
    addCallbacks([callback, starting], () => getSync(graph, 'b'));
    expect(runs(log)).toBe(1);
  });

  it('§1.6: what a task activates itself applies to its runs', () => {
    const outer = counted();
    const inner = counted();
    outer.callback.run(() =>
      getSync(
        { n: task(() => inner.callback.run(() => getSync(graph, 'c'))) },
        'n'
      )
    );
    expect(runs(inner.log)).toBe(1);
    expect(runs(outer.log)).toBe(1);
  });

  it('§1.6: a registration made inside a task is lost when the run ends', () => {
    const { log, callback } = counted();
    getSync({ n: task(() => callback.register()) }, 'n');
    getSync(graph, 'b');
    expect(runs(log)).toBe(0);
  });

  it('§1.6: two runs at once each have the callbacks of where they were started', async () => {
    const one = counted();
    const two = counted();
    const slow = { s: task(() => new Promise(setImmediate)) };
    await Promise.all([
      one.callback.run(() => getAsync(slow, 's')),
      two.callback.run(() => getAsync(slow, 's'))
    ]);
    expect([runs(one.log), runs(two.log)]).toEqual([1, 1]);
    one.callback.run(() => getSync(graph, 'b'));
    expect(runs(one.log)).toBe(2);
  });
});

it('§1.6: blocks that are over leave nothing behind, however many there were', () => {
  // Each block goes through all that are remembered.
  const scopes = jest.spyOn(AsyncLocalStorage.prototype, 'enterWith');
  for (let turn = 0; turn < 1000; turn++) {
    using active = new Callback().enter();
    void active;
  }
  const remembered = scopes.mock.calls.map(
    ([scope]) => (scope as { entered: readonly unknown[] }).entered.length
  );
  scopes.mockRestore();
  expect(remembered).toEqual(new Array(1000).fill(1));
  const { log, callback } = counted();
  using outer = callback.enter();
  void outer;
  {
    using inner = new Callback().enter();
    void inner;
  }
  getSync(graph, 'b');
  expect(runs(log)).toBe(1);
});
