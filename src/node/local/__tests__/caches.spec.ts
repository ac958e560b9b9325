/** §1.9 with caches that people use: `lru-cache`, and a callback that keeps results from run to run. */
import fc from 'fast-check';
import { LRUCache } from 'lru-cache';
import { drawnRuns, graphOf, keyAt } from '../../__tests__/drawn-graphs';
import { KeyMap, keyText, type Key } from '../../graph/key';
import { data, ref, task } from '../../graph/nodes';
import { Callback, type CallbackHooks } from '../callback';
import { getAsync } from '../get-async';
import { getSync } from '../get-sync';
import type { RunGraph } from '../state';

type Value = NonNullable<unknown>;

const add = (x: number, y: number) => x + y;
const wide = (count: number) => ({
  ...Object.fromEntries(
    Array.from({ length: count }, (_, at) => [`x${at}`, task(() => at)])
  ),
  total: task(
    (parts: number[]) => parts.reduce(add),
    Array.from({ length: count }, (_, at) => ref(`x${at}`))
  )
});

describe('§1.9: an lru-cache', () => {
  it('§1.9: serves as the store of a run: inputs read, results kept, the rest deleted', async () => {
    for (const get of [getSync, getAsync]) {
      const cache = new LRUCache<Key, Value>({ max: 100 });
      cache.set('input', 40);
      cache.set('other', 'untouched');
      const graph = {
        two: 2,
        b: task(add, ref('input'), ref('two')),
        c: task(add, ref('b'), ref('two'))
      };
      expect(await get(graph, ['c', 'two'], { cache })).toEqual([44, 2]);
      expect([...cache.keys()].sort()).toEqual(['c', 'other', 'two']);
    }
  });

  it('§1.9: keeps undefined, which lru-cache takes for nothing', () => {
    const cache = new LRUCache<Key, Value>({ max: 10 });
    const graph = {
      a: task(() => undefined),
      b: task((x: unknown) => typeof x, ref('a'))
    };
    expect(getSync(graph, ['a', 'b'], { cache })).toEqual([
      undefined,
      'undefined'
    ]);
  });

  it('§1.9: too small for what a run needs at once, the error names a value and the reason', async () => {
    const options = () => ({ cache: new LRUCache<Key, Value>({ max: 3 }) });
    const message =
      /^The cache no longer holds the value of x\d, which is still needed\. A cache that drops entries must have room for all values that a run needs at once\.$/;
    expect(() => getSync(wide(6), 'total', options())).toThrow(message);
    await expect(getAsync(wide(6), 'total', options())).rejects.toThrow(
      message
    );
    // For a request, too.
    expect(() => getSync(wide(6), ['x0', 'x1', 'x2', 'x3'], options())).toThrow(
      message
    );
    const roomy = { cache: new LRUCache<Key, Value>({ max: 7 }) };
    expect(getSync(wide(6), 'total', roomy)).toBe(15);
  });

  it('§1.9: limited by size, it says the same', () => {
    const cache = new LRUCache<Key, Float64Array>({
      maxSize: 3000,
      sizeCalculation: block => block.byteLength
    });
    const graph = {
      a: task(() => new Float64Array(200)),
      b: task(() => new Float64Array(200)),
      c: task(
        (x: Float64Array, y: Float64Array) => x.length + y.length,
        ref('a'),
        ref('b')
      )
    };
    expect(() => getSync(graph, 'c', { cache: cache as never })).toThrow(
      /no longer holds the value of [ab]/
    );
  });

  it('§1.9: answers as a run without a cache, on drawn graphs with texts as keys', () => {
    fc.assert(
      fc.property(drawnRuns(false), drawn => {
        const run = {
          ...drawn,
          nodes: drawn.nodes.map(node => ({
            ...node,
            fails: false,
            tuple: false
          }))
        };
        const cache = new LRUCache<Key, Value>({ max: 100 });
        const keys = run.request.flat().map(at => ref(keyAt(run, at)));
        expect(getSync(graphOf(run), keys, { cache })).toEqual(
          getSync(graphOf(run), keys)
        );
        expect([...cache.keys()].sort()).toEqual(
          [...new Set(keys.map(({ key }) => key as string))].sort()
        );
      }),
      { numRuns: 200 }
    );
  });
});

/**
 * What `dask.cache.Cache` does, in short: before a run entries whose value is known are replaced by the value; after each task its cost is
 * noted, that of its most expensive input included.
 */
class Remember extends Callback {
  readonly values = new KeyMap<unknown>();
  readonly costs = new KeyMap<number>();
  private readonly _begun = new KeyMap<number>();

  override start(graph: RunGraph): void {
    this.values.forEach((value, key) => {
      if (graph.has(key)) {
        graph.set(key, data(value));
      }
    });
  }

  override pretask(key: Key): void {
    this._begun.set(key, performance.now());
  }

  override posttask(
    ...[key, result, , state]: Parameters<NonNullable<Callback['posttask']>>
  ): void {
    const own = performance.now() - this._begun.get(key)!;
    const inputs = Array.from(
      state.dependencies.get(key)!,
      input => this.costs.get(input) ?? 0
    );
    this.costs.set(key, own + Math.max(0, ...inputs));
    this.values.set(key, result);
  }

  override finish(): void {
    for (const key of [...this._begun.keys()]) {
      this._begun.delete(key);
    }
  }
}

describe('§1.9: a callback that keeps results between runs', () => {
  it('§1.9: start hooks may replace entries by values, and the state is built after all of them', () => {
    const calls: string[] = [];
    const note =
      (name: string) =>
      (...parts: number[]) => {
        calls.push(name);
        return parts.reduce(add, 1);
      };
    const graph = {
      a: task(note('a')),
      b: task(note('b'), ref('a')),
      c: task(note('c'), ref('b'))
    };
    const remember = new Remember();
    const reached: string[] = [];
    const witness: CallbackHooks = {
      startState: (_graph, state) =>
        void reached.push(Array.from(state.dependencies.keys(), keyText).join())
    };
    // The witness is called first and still sees what the later start hook has done.
    const callbacks = [witness, remember];
    expect(getSync(graph, 'b', { callbacks })).toBe(2);
    expect(getSync(graph, 'c', { callbacks })).toBe(3);
    expect(calls).toEqual(['a', 'b', 'c']);
    expect(reached).toEqual(['a,b', 'b,c']);
    expect(remember.costs.get('b')!).toBeGreaterThanOrEqual(
      remember.costs.get('a')!
    );
  });
});
