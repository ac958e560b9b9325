import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as fc from 'fast-check';
import { type Key, keyText } from '../../graph/key';
import { alias, ref, task } from '../../graph/nodes';
import { Callback } from '../../local/callback';
import { getSync } from '../../local/get-sync';
import { CacheProfiler } from '../cache-profiler';
import { drawnGraphs } from './random-graph';

const list = (...parts: unknown[]) => parts;
const fail = () => {
  throw new Error('broken');
};
/** `a` and `b` are needed until `c`. */
const fork = {
  one: 1,
  a: task(list, ref('one')),
  b: task(list, ref('a')),
  c: task(list, ref('a'), ref('b'))
};

describe('CacheProfiler', () => {
  it('§3.3: records key, task, metric, entry and exit', () => {
    const profiler = new CacheProfiler({ metric: 'count' });
    profiler.run(() => getSync(fork, 'c'));
    const byKey = Object.fromEntries(
      profiler.results.map(record => [record.key as string, record])
    );
    expect(Object.keys(byKey).sort()).toEqual(['a', 'b', 'c']);
    const { a, b, c } = byKey;
    expect(Object.keys(a!).sort()).toEqual(
      ['key', 'task', 'metric', 'cacheTime', 'freeTime'].sort()
    );
    expect(a!.task).toMatchObject({ fn: list });
    expect(a!.metric).toBe(1);
    // Leaving and entering at the same posttask carry the same time.
    expect(a!.freeTime).toBe(c!.cacheTime);
    expect(b!.freeTime).toBe(c!.cacheTime);
    expect(b!.cacheTime).toBeGreaterThanOrEqual(a!.cacheTime);
    expect(c!.freeTime).toBeGreaterThanOrEqual(c!.cacheTime);
    expect(profiler.results.at(-1)!.key).toBe('c');
  });

  it('§3.3: the metric is asked once per task, after the time was read', () => {
    const asked: unknown[] = [];
    const times: number[] = [];
    const profiler = new CacheProfiler({
      metric: result => {
        asked.push(result);
        const end = performance.now() + 3;
        while (performance.now() < end) {
          // The metric takes its time.
        }
        times.push((performance.timeOrigin + performance.now()) / 1000);
        return asked.length;
      }
    });
    profiler.run(() => getSync(fork, 'c'));
    expect(asked).toEqual([[1], [[1]], [[1], [[1]]]]);
    const a = profiler.results.find(({ key }) => key === 'a')!;
    expect(a.metric).toBe(1);
    expect(a.cacheTime).toBeLessThan(times[0]! - 0.0025);
  });

  it('§3.3, issue 4: bytes by default; count and functions by name', () => {
    const nbytes = (result: unknown) => (result as unknown[]).length;
    expect(new CacheProfiler().metricName).toBe('bytes');
    expect(new CacheProfiler({ metric: 'count' }).metricName).toBe('count');
    expect(new CacheProfiler({ metric: nbytes }).metricName).toBe('nbytes');
    expect(
      new CacheProfiler({
        metric: (
          () => () =>
            1
        )()
      }).metricName
    ).toBe('metric');
    expect(
      new CacheProfiler({ metric: nbytes, metricName: 'rows' }).metricName
    ).toBe('rows');
    expect(() => new CacheProfiler({ metric: 'kilos' as never })).toThrow(
      TypeError
    );
    const profiler = new CacheProfiler();
    const block = () => new Float64Array(1000);
    profiler.run(() => getSync({ a: task(block) }, 'a'));
    expect(profiler.results[0]!.metric).toBe(8000);
  });

  it('§3.3: after an error everything still held leaves at the end', () => {
    const profiler = new CacheProfiler({ metric: 'count' });
    const graph = { ...fork, c: task(fail, ref('a'), ref('b')) };
    expect(() => profiler.run(() => getSync(graph, 'c'))).toThrow('broken');
    expect(profiler.results.map(({ key }) => key).sort()).toEqual(['a', 'b']);
    const [first, second] = profiler.results;
    expect(first!.freeTime).toBe(second!.freeTime);
  });

  it('§3.3: what throws in the metric ends the run', () => {
    const profiler = new CacheProfiler({ metric: fail });
    expect(() => profiler.run(() => getSync(fork, 'c'))).toThrow('broken');
    expect(profiler.results).toEqual([]);
  });

  it('§3.3: what was released by a task without a record leaves at the end', () => {
    // The last task finishes and releases; then its metric throws.
    const profiler = new CacheProfiler({
      metric: result => (result === 'last' ? fail() : 1)
    });
    const graph = { a: task(list), last: task(() => 'last', ref('a')) };
    expect(() => profiler.run(() => getSync(graph, 'last'))).toThrow('broken');
    const [only, ...others] = profiler.results;
    expect(others).toEqual([]);
    expect(only!.key).toBe('a');
    expect(only!.freeTime).toBeGreaterThanOrEqual(only!.cacheTime);
    expect(only!.freeTime).toBeLessThanOrEqual(profiler.endTime!);
  });

  it('§3.3: records read during a run are those of what has left, and stay', () => {
    const profiler = new CacheProfiler({ metric: 'count' });
    const seen: unknown[] = [];
    const look = new Callback({
      posttask: key => seen.push([key, profiler.results.map(r => r.key)])
    });
    profiler.run(() => look.run(() => getSync(fork, 'c')));
    expect(seen).toEqual([
      ['a', []],
      ['b', []],
      ['c', ['a', 'b']]
    ]);
    expect(profiler.results.map(({ key }) => key)).toEqual(['a', 'b', 'c']);
  });

  it('keeps no value of a run alive', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const profiler = new CacheProfiler({ metric: 'count' });
    let value: WeakRef<object>;
    const make = () => {
      const made = { large: true };
      value = new WeakRef(made);
      return made;
    };
    profiler.run(() => {
      getSync({ a: task(make), b: task(list, ref('a')) }, ['a', 'b']);
    });
    // Other values that the collector takes for roots are gone after a few turns.
    for (let turn = 0; turn < 100 && value!.deref() !== undefined; turn++) {
      await new Promise(resolve => setImmediate(resolve));
      collect();
    }
    expect(value!.deref()).toBeUndefined();
    expect(profiler.results).toHaveLength(2);
  });

  it('§3.3: clear forgets records, times, and what is held', () => {
    const profiler = new CacheProfiler({ metric: 'count' });
    const clear = new Callback({
      posttask: key => {
        if (key === 'b') {
          profiler.clear();
        }
      }
    });
    profiler.run(() => clear.run(() => getSync(fork, 'c')));
    expect(profiler.results.map(({ key }) => key)).toEqual(['c']);
    expect(profiler.startTime).toBeNull();
  });

  it('§3.3: an alias is a result of its own', () => {
    const profiler = new CacheProfiler({ metric: 'count' });
    profiler.run(() => getSync({ ...fork, d: alias('c') }, 'd'));
    const find = (key: string) =>
      profiler.results.find(record => record.key === key)!;
    expect(find('c').freeTime).toBe(find('d').cacheTime);
  });

  it('§3.3: results enter at their posttask and leave at that of their last user, or at the end', () => {
    fc.assert(
      fc.property(drawnGraphs, ({ graph, keys }) => {
        const entered: string[] = [];
        const left = new Map<string, string>();
        const released = (all: Iterable<Key>, by: string) => {
          for (const key of all) {
            const text = keyText(key);
            if (!left.has(text)) {
              left.set(text, by);
            }
          }
        };
        const witness = new Callback({
          posttask: (key, _result, _graph, state) => {
            entered.push(keyText(key));
            released(state.released, keyText(key));
          }
        });
        const profiler = new CacheProfiler({ metric: () => 2 });
        profiler.run(() =>
          witness.run(() => {
            try {
              getSync(graph, [...keys]);
            } catch (error) {
              expect((error as Error).message).toBe('drawn to fail');
            }
          })
        );
        const records = new Map(
          profiler.results.map(record => [keyText(record.key), record])
        );
        expect([...records.keys()].sort()).toEqual([...entered].sort());
        expect(records.size).toBe(profiler.results.length);
        const end = Math.max(
          0,
          ...profiler.results.map(({ freeTime }) => freeTime)
        );
        records.forEach(({ freeTime }, key) => {
          const by = left.get(key);
          expect(freeTime).toBe(
            by === undefined ? end : records.get(by)!.cacheTime
          );
        });
        const frees = profiler.results.map(({ freeTime }) => freeTime);
        expect(frees).toEqual([...frees].sort((a, b) => a - b));
      }),
      { numRuns: 200 }
    );
  });
});
