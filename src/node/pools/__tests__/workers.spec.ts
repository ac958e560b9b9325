/** What both kinds of worker do, on real threads and real processes. */
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import { type Key, keyText } from '../../graph/key';
import { alias, data, type Graph, ref, task } from '../../graph/nodes';
import { module } from '../../graph/portable';
import type { CallbackHooks } from '../../local/callback';
import { getProcesses } from '../get-processes';
import { getThreads } from '../get-threads';
import { ProcessPool, ThreadPool } from '../worker-pool';
import { buildNodePrograms } from '../../../testing/node-programs';
import { isAlive } from './is-alive';
import { workerKinds } from './worker-kinds';

const inc = (x: number) => x + 1;
const add = (x: number, y: number) => x + y;
const sum = (xs: readonly number[]) => xs.reduce((a, b) => a + b, 0);

let folder: string;
beforeAll(() => {
  buildNodePrograms('pool-thread.mjs', 'pool-process.mjs');
  folder = mkdtempSync(join(tmpdir(), 'spanwise-workers-'));
  writeFileSync(
    join(folder, 'functions.mjs'),
    `let calls = 0;
     const kept = new Float64Array(100_000).fill(7);
     export const countCalls = () => ++calls;
     export const scale = (x, { by }) => x * by;
     export const keeps = () => kept;
     export default () => 'default export';`
  );
});
afterAll(() => rmSync(folder, { recursive: true }));

describe.each(workerKinds)('§1.8: $kind', ({ kind, get, makePool }) => {
  const here = () => pathToFileURL(join(folder, 'functions.mjs'));

  it('§1.1: answer in the form of the keys', async () => {
    const graph = {
      a: 1,
      b: task(inc, ref('a')),
      c: task(add, ref('a'), ref('b'))
    };
    expect(await get(graph, ['c', ['b', 'a'], []])).toEqual([3, [2, 1], []]);
  });

  it('forget functions without end, and call again what was forgotten', async () => {
    await using pool = makePool({ size: 2 });
    const made = Array.from(
      { length: 150 },
      (_, at) =>
        globalThis.eval(`x => x + ${at} + '${'-'.repeat(60_000)}'.length`) as (
          x: number
        ) => number
    );
    for (let round = 0; round < 2; round++) {
      const graph: Record<string, unknown> = {};
      made.forEach((fn, at) => (graph[`k${at}`] = task(fn, round)));
      expect(await get(graph, Object.keys(graph), { pool })).toEqual(
        made.map((_, at) => 60_000 + at + round)
      );
      // 9 million characters, of which 4 Mi are kept.
      expect(pool.functions.size).toBeLessThan(70);
    }
  });

  it('put values in the place of references anywhere in arguments', async () => {
    const graph = {
      x: 5,
      y: [ref('x'), { z: ref('x') }],
      total: task(sum, [1, ref('x'), 3]),
      shape: task((o: unknown) => o, {
        list: [ref('x')],
        map: new Map([['k', ref('x')]]),
        set: new Set([ref('x')])
      })
    };
    const [y, total, shape] = await get<unknown[]>(graph, [
      'y',
      'total',
      'shape'
    ]);
    expect(y).toEqual([5, { z: 5 }]);
    expect(total).toBe(9);
    // Maps of another realm than jest's are only alike when printed.
    expect(inspect(shape, { depth: null })).toBe(
      "{ list: [ 5 ], map: Map(1) { 'k' => 5 }, set: Set(1) { 5 } }"
    );
  });

  it('make nested calls in the worker, promises awaited', async () => {
    const later = async (x: number) => {
      await new Promise(resolve => setTimeout(resolve, 1));
      return x + 1;
    };
    const graph = {
      x: 1,
      y: task(
        add,
        task(later, ref('x')),
        task(sum, [task(inc, 4), ref('x'), data(2).value])
      ),
      z: task((m: unknown) => m, {
        deep: new Map([['k', [task(inc, 1), new Set([task(inc, 2)])]]])
      })
    };
    expect(await get(graph, 'y')).toBe(2 + 8);
    expect(inspect(await get(graph, 'z'), { depth: null, compact: 9 })).toBe(
      "{ deep: Map(1) { 'k' => [ 2, Set(1) { 3 } ] } }"
    );
  });

  it('give aliases their value', async () => {
    const graph: Graph = {
      a: task(inc, 1),
      b: alias('a'),
      c: ref('b'),
      d: task(inc, ref('c'))
    };
    const aliasesAt = new Set<number | null>();
    const callback: CallbackHooks = {
      posttask: (key, _result, _graph, _state, workerId) => {
        if (key === 'b' || key === 'c') {
          aliasesAt.add(workerId);
        }
      }
    };
    expect(
      await get(graph, ['b', 'c', 'd'], {
        chunkSize: 1,
        callbacks: [callback]
      })
    ).toEqual([2, 2, 3]);
    // They are not sent.
    expect([...aliasesAt]).toEqual([null]);
    expect(await get(graph, ['b', 'c', 'd'], { chunkSize: 3 })).toEqual([
      2, 2, 3
    ]);
  });

  it('await asynchronous functions', async () => {
    const wait = async (x: number) => {
      const { setTimeout: after } = await import('node:timers/promises');
      await after(2);
      return x * 2;
    };
    expect(await get({ a: task(wait, 3), b: task(wait, ref('a')) }, 'b')).toBe(
      12
    );
  });

  it('import exported functions, once per worker', async () => {
    const graph = {
      a: task(module(here(), 'countCalls')),
      b: task(
        add,
        task(module(here(), 'countCalls')),
        task(() => 0)
      ),
      c: task(module(here(), 'scale'), 3, { by: 5 }),
      d: task(module(here()))
    };
    await using pool = makePool({ size: 1 });
    const [a, b, c, d] = await get<number[]>(graph, ['a', 'b', 'c', 'd'], {
      pool
    });
    expect([a, b].sort()).toEqual([1, 2]);
    expect([c, d]).toEqual([15, 'default export']);
  });

  it('keep what a module keeps: its results are copied', async () => {
    const graph = {
      a: task(module(here(), 'keeps')),
      b: task(module(here(), 'keeps'))
    };
    await using pool = makePool({ size: 1 });
    const both = await get<Float64Array[]>(graph, ['a', 'b'], { pool });
    expect(both.map(x => [x.length, x[99_999]])).toEqual([
      [100_000, 7],
      [100_000, 7]
    ]);
  });

  it('tell callbacks of each task, with the id of its worker', async () => {
    const seen: string[] = [];
    const workers = new Set<number | null>();
    const callback: CallbackHooks = {
      pretask: key => seen.push(`pre ${keyText(key)}`),
      posttask: (key, result, _graph, _state, workerId) => {
        seen.push(`post ${keyText(key)} ${String(result)}`);
        workers.add(workerId);
      }
    };
    const idOfWorker = async () => {
      const { threadId } = await import('node:worker_threads');
      return threadId === 0 ? process.pid : threadId;
    };
    const graph = { a: task(idOfWorker), b: task(inc, ref('a')) };
    const id = await get<number>(graph, 'a', {
      numWorkers: 1,
      callbacks: [callback]
    });
    expect(seen).toEqual(['pre a', `post a ${id}`]);
    expect([...workers]).toEqual([id]);
    expect(id).not.toBe(process.pid);
  });

  it('have each of many small tasks told in its order', async () => {
    const count = 5_000;
    const states = new Map<Key, number>();
    let running = 0;
    let mostRunning = 0;
    const callback: CallbackHooks = {
      pretask: key => {
        expect(states.get(key)).toBe(undefined);
        states.set(key, 1);
        mostRunning = Math.max(mostRunning, ++running);
      },
      posttask: (key, result) => {
        expect(states.get(key)).toBe(1);
        expect(result).toBe(Number((key as string).slice(1)) + 1);
        states.set(key, 2);
        running--;
      }
    };
    const graph = Object.fromEntries(
      Array.from({ length: count }, (_, at) => [`k${at}`, task(inc, at)])
    );
    const keys = Object.keys(graph);
    const values = await get<number[]>(graph, keys, { callbacks: [callback] });
    expect(values).toEqual(Array.from({ length: count }, (_, at) => at + 1));
    expect(states.size).toBe(count);
    // Handed out ahead, or each would have waited for the one before it.
    expect(mostRunning).toBeGreaterThan(10);
  });

  it('§1.1: without a chunkSize, begin with one task per thread, six per process', async () => {
    const ahead = kind === 'threads' ? 1 : 6;
    for (const chunkSize of [undefined, 0]) {
      let begun = 0;
      let atFirst = 0;
      const callback: CallbackHooks = {
        pretask: () => {
          if (begun++ === 0) {
            // When all of this hand-out has been told.
            queueMicrotask(() => {
              atFirst = begun;
            });
          }
        }
      };
      await using pool = makePool({ size: 1 });
      const graph = Object.fromEntries(
        Array.from({ length: 20 }, (_, at) => [`k${at}`, task(inc, at)])
      );
      await get(graph, Object.keys(graph), {
        pool,
        callbacks: [callback],
        ...(chunkSize === undefined ? {} : { chunkSize })
      });
      expect(atFirst).toBe(ahead);
    }
  });

  it('§1.8: are the same in every run without a pool, as many as CPUs may be used', async () => {
    /** Adds those of one run. */
    const run = async (seen: Set<number | null>, numWorkers?: number) => {
      const callback: CallbackHooks = {
        posttask: (_key, _result, _graph, _state, id) => seen.add(id)
      };
      // Each waits a while until every worker has one: until then none takes the others' share. Not for ever: a worker whose last result is
      // still on its way is passed over, and what waits behind another task in a process stays there.
      const wanted = Math.min(12, numWorkers ?? availableParallelism());
      const place = mkdtempSync(join(folder, 'all-'));
      const meet = async (path: string, count: number, at: number) => {
        const fs = await import('node:fs');
        fs.writeFileSync(`${path}/${at}`, '');
        const limit = Date.now() + 300;
        while (fs.readdirSync(path).length < count && Date.now() < limit);
      };
      const graph = Object.fromEntries(
        Array.from({ length: 12 }, (_, at) => [
          `k${at}`,
          task(meet, place, wanted, at)
        ])
      );
      await get(graph, Object.keys(graph), {
        chunkSize: 1,
        callbacks: [callback],
        ...(numWorkers === undefined ? {} : { numWorkers })
      });
    };
    const wanted = Math.min(12, availableParallelism());
    const ids = async () => {
      const seen = new Set<number | null>();
      for (let rounds = 0; seen.size < wanted && rounds < 50; rounds++) {
        await run(seen);
      }
      return seen;
    };
    const first = await ids();
    expect(first.size).toBe(wanted);
    expect(await ids()).toEqual(first);
    const one = new Set<number | null>();
    await run(one, 1);
    expect(one.size).toBe(1);
    expect([...first]).toEqual(expect.arrayContaining([...one]));
  });

  it('§1.5: with a chunkSize, hand out that many per worker and no more', async () => {
    let running = 0;
    let most = 0;
    const callback: CallbackHooks = {
      pretask: () => (most = Math.max(most, ++running)),
      posttask: () => running--
    };
    const graph = Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => [`k${at}`, task(inc, at)])
    );
    await get(graph, Object.keys(graph), {
      chunkSize: 3,
      numWorkers: 2,
      callbacks: [callback]
    });
    expect(most).toBe(6);
  });

  it('§1.5: run the tasks of a batch one after the other in one worker', async () => {
    const workerOf = new Map<Key, number | null>();
    const callback: CallbackHooks = {
      posttask: (key, _result, _graph, _state, workerId) => {
        workerOf.set(key, workerId);
      }
    };
    const graph = Object.fromEntries(
      Array.from({ length: 12 }, (_, at) => [`k${at}`, task(inc, at)])
    );
    await get(graph, Object.keys(graph), {
      chunkSize: 6,
      numWorkers: 2,
      callbacks: [callback]
    });
    const ids = [...workerOf.values()];
    expect(new Set(ids.slice(0, 6)).size).toBe(1);
    expect(new Set(ids.slice(6)).size).toBe(1);
  });

  it('take runs of different programs at the same time', async () => {
    await using pool = makePool({ size: 2 });
    const runs = Array.from({ length: 6 }, (_, run) =>
      get<number[]>(
        Object.fromEntries(
          Array.from({ length: 200 }, (__, at) => [
            `k${at}`,
            task(add, at, run)
          ])
        ),
        ['k0', 'k199'],
        { pool }
      )
    );
    expect(await Promise.all(runs)).toEqual(
      Array.from({ length: 6 }, (_, run) => [run, 199 + run])
    );
  });

  it('bring back 200 MB', async () => {
    const make = (n: number) => new Float64Array(n).fill(1.5);
    const total = (x: Float64Array) => x.length * x[x.length - 1]!;
    const n = 25_000_000;
    const graph = { big: task(make, n), total: task(total, ref('big')) };
    const [big, size] = await get<[Float64Array, number]>(graph, [
      'big',
      'total'
    ]);
    expect(size).toBe(1.5 * n);
    expect([big.length, big[0], big[n - 1]]).toEqual([n, 1.5, 1.5]);
  });

  it('leave inputs whole that other tasks need', async () => {
    const head = (x: Float64Array) => x[0];
    const same = (x: Float64Array) => x;
    const x = new Float64Array(50_000).fill(3);
    const graph = Object.fromEntries(
      Array.from({ length: 20 }, (_, at) => [
        `k${at}`,
        task(at % 2 === 0 ? same : head, ref('x'))
      ])
    );
    const keys = Object.keys(graph);
    const values = await get<(Float64Array | number)[]>({ x, ...graph }, keys);
    expect(
      values.map(value => (typeof value === 'number' ? value : value[49_999]))
    ).toEqual(keys.map(() => 3));
    expect(x[0]).toBe(3);
  });

  it('are not let go by a run, and are gone when their pool is closed', async () => {
    const pool = makePool({ size: 2 });
    const pid = () => process.pid;
    const pids = await get<number[]>(
      { a: task(pid), b: task(pid) },
      ['a', 'b'],
      { pool }
    );
    expect(pids.every(isAlive)).toBe(true);
    await pool.close();
    if (kind === 'processes') {
      expect(pids.some(isAlive)).toBe(false);
    }
    await expect(get({ a: task(pid) }, 'a', { pool })).rejects.toThrow(
      'The pool is closed.'
    );
  });

  it('print on the standard output of this process, before the result is told', async () => {
    const printed: string[] = [];
    const write = jest
      .spyOn(process.stdout, 'write')
      .mockImplementation(text => printed.push(String(text)) > 0);
    try {
      // oxlint-disable-next-line no-console -- printing is what is tested
      const speak = (text: string) => console.log('hello', text);
      const callback: CallbackHooks = {
        posttask: () => printed.push('posttask')
      };
      await get({ a: task(speak, 'you') }, 'a', { callbacks: [callback] });
    } finally {
      write.mockRestore();
    }
    expect(printed).toEqual(['hello you\n', 'posttask']);
  });

  it('run no other worker count than asked for', async () => {
    const numbers = new Set<unknown>();
    const callback: CallbackHooks = {
      posttask: (_key, _result, _graph, _state, workerId) =>
        numbers.add(workerId)
    };
    const graph = Object.fromEntries(
      Array.from({ length: 300 }, (_, at) => [`k${at}`, task(inc, at)])
    );
    await get(graph, Object.keys(graph), {
      numWorkers: 1,
      callbacks: [callback]
    });
    expect(numbers.size).toBe(1);
    await expect(get({}, [], { numWorkers: -1 })).rejects.toThrow('numWorkers');
  });

  it('do not let a long task hold up what could run elsewhere', async () => {
    // The first waits for a file that the last one writes: were they in one worker's list, nobody would ever write it.
    const gate = join(folder, `gate-${kind}`);
    const work = async (at: number, last: number, path: string) => {
      const fs = await import('node:fs');
      if (at === last) {
        fs.writeFileSync(path, 'open');
      }
      const limit = Date.now() + 60_000;
      while (at === 50 && !fs.existsSync(path)) {
        if (Date.now() > limit) {
          throw new Error('nobody came');
        }
      }
      return at;
    };
    const count = 400;
    const graph = Object.fromEntries(
      Array.from({ length: count }, (_, at) => [
        `k${at}`,
        task(work, at, count - 1, gate)
      ])
    );
    const keys = Object.keys(graph);
    expect(await get(graph, keys, { numWorkers: 2 })).toHaveLength(count);
    expect(existsSync(gate) && readFileSync(gate, 'utf8')).toBe('open');
  });
});

describe('§1.8: threads', () => {
  it('share SharedArrayBuffers', async () => {
    const shared = new Int32Array(new SharedArrayBuffer(4));
    const count = (cell: Int32Array) => Atomics.add(cell, 0, 1);
    const graph = Object.fromEntries(
      Array.from({ length: 100 }, (_, at) => [
        `k${at}`,
        task(count, data(shared))
      ])
    );
    await getThreads(graph, Object.keys(graph));
    expect(shared[0]).toBe(100);
  });

  it('move large results of functions that cannot keep them', async () => {
    // The second task looks at what the first has returned: moved memory is empty afterwards. (A text that named `globalThis` would be copied.)
    const make = () =>
      ((process as { last?: unknown }).last = new Uint8Array(1 << 20));
    const lengthOfLast = (_after: number) =>
      (process as { last?: Uint8Array }).last!.length;
    const graph = {
      a: task(make),
      b: task((x: Uint8Array) => x.length, ref('a')),
      c: task(lengthOfLast, ref('b'))
    };
    await using pool = new ThreadPool({ size: 1 });
    expect(await getThreads(graph, ['b', 'c'], { pool })).toEqual([1 << 20, 0]);
  });
});

describe('§1.8: processes', () => {
  it('refuse a SharedArrayBuffer and say where it was', async () => {
    const shared = new SharedArrayBuffer(8);
    const graph = {
      total: task((o: unknown) => o, { cells: data(shared).value })
    };
    await expect(getProcesses(graph, 'total')).rejects.toThrow(
      'Task total cannot be sent to a worker: argument 0.cells is of class SharedArrayBuffer.'
    );
  });

  it('drop what the request does not need, before any callback', async () => {
    const keys: Key[] = [];
    const callback: CallbackHooks = {
      start: graph => void keys.push(...graph.keys())
    };
    const graph = {
      a: 1,
      b: task(inc, ref('a')),
      c: task(inc, ref('nowhere'))
    };
    expect(await getProcesses(graph, 'b', { callbacks: [callback] })).toBe(2);
    expect(keys).toEqual(['a', 'b']);
    await expect(
      getProcesses(graph, 'd', { callbacks: [callback] })
    ).rejects.toThrow('no key d');
    expect(keys).toHaveLength(2);
  });
});

describe('§1.8: pools given by the caller', () => {
  it('of the other kind are refused, with what to do', async () => {
    await using threads = new ThreadPool();
    await using processes = new ProcessPool();
    const graph = { a: task(inc, 1) };
    await expect(
      getThreads(graph, 'a', { pool: processes as never })
    ).rejects.toThrow('use getProcesses for a ProcessPool');
    await expect(
      getProcesses(graph, 'a', { pool: threads as never })
    ).rejects.toThrow('use getThreads for a ThreadPool');
  });
});
