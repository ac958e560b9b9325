import { getAsync } from '../../local/get-async';
import { getSync } from '../../local/get-sync';
import { delayed, type Get } from '../delayed';
import { GraphError } from '../graph-errors';

const inc = delayed((x: number) => x + 1, 'inc');
const add = delayed((x: number, y: number) => x + y, 'add');

describe('delayed', () => {
  it('builds a graph from calls and computes it', () => {
    const total: number = add(inc(1), add(inc(2), 10)).compute(getSync);
    expect(total).toBe(15);
  });

  it('computes with every scheduler', async () => {
    const later = delayed(async (x: number) => x * 2, 'later');
    await expect(inc(later(20)).compute(getAsync)).resolves.toBe(41);
  });

  it('knows only of a scheduler whose type is known whether it gives a promise', async () => {
    const get: Get = getSync;
    // @ts-expect-error -- it may be a promise
    const value: number = inc(1).compute(get);
    expect(value).toBe(2);
    expect(await inc(1).compute(getAsync as Get)).toBe(2);
  });

  it('finds delayed values in lists, objects, Maps and Sets', () => {
    const sum = delayed(
      (parts: {
        list: number[];
        byName: Map<string, number>;
        set: Set<number>;
      }) =>
        [...parts.list, ...parts.byName.values(), ...parts.set].reduce(
          (a, b) => a + b
        ),
      'sum'
    );
    const parts = {
      list: [inc(0), 10],
      byName: new Map([['a', inc(99)]]),
      set: new Set([inc(999)])
    };
    expect(sum(parts).compute(getSync)).toBe(1111);
  });

  it('computes a call once, however often it is used', () => {
    let calls = 0;
    const once = delayed(() => ++calls, 'once')();
    expect(add(once, once).compute(getSync)).toBe(2);
    expect(calls).toBe(1);
  });

  it('gives the same calls the same keys', () => {
    const keysOf = () =>
      Array.from(
        (add(inc(1), inc(2)).toGraph().graph as Map<unknown, unknown>).keys()
      );
    expect(keysOf()).toEqual([
      ['inc', 0],
      ['inc', 1],
      ['add', 0]
    ]);
    expect(keysOf()).toEqual(keysOf());
  });

  it('follows a chain of 10,000 calls', () => {
    let chain = inc(0);
    for (let i = 1; i < 10_000; i++) {
      chain = inc(chain);
    }
    expect(chain.compute(getSync)).toBe(10_000);
  });
});

describe('delayed arguments of unusual shape', () => {
  const length = delayed((list: readonly unknown[]) => list.length, 'length');

  it('a list that contains itself is a value', () => {
    const list: unknown[] = [1];
    list.push(list);
    expect(length(list).compute(getSync)).toBe(2);
  });

  it('a list that contains itself and a delayed value cannot be rebuilt', () => {
    const list: unknown[] = [inc(1)];
    list.push(list);
    expect(() => length(list).compute(getSync)).toThrow(GraphError);
  });

  it('150,000 delayed values in one list', () => {
    const one = Array.from({ length: 150_000 }, () => inc(1));
    expect(length(one).toGraph().key).toEqual(['length', 0]);
  });
});
