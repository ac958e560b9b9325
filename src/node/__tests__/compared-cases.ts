/** Rows of the comparison with Dask that are shown by one input and what comes of it. */
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type CallbackHooks,
  cull,
  getAsync,
  getSync,
  getThreads,
  order,
  Profiler,
  ProgressBar,
  ref,
  ResourceProfiler,
  task,
  ThreadPool,
  visualize
} from '..';
import * as published from '..';
import { CycleError } from '../graph/graph-errors';

const inc = (x: number): number => x + 1;
const chain = {
  a: task(inc, 0),
  b: task(inc, ref('a')),
  c: task(inc, ref('b'))
};

/** How many promises of `getAsync` are under way at most. */
async function mostUnderWay(count: number): Promise<number> {
  let now = 0;
  let most = 0;
  const wait = async (): Promise<void> => {
    most = Math.max(most, ++now);
    await new Promise(resolve => setImmediate(resolve));
    now--;
  };
  const graph = Object.fromEntries(
    Array.from({ length: count }, (_, at) => [`k${at}`, task(wait)])
  );
  await getAsync(graph, Object.keys(graph));
  return most;
}

/** Names of Dask's that have no counterpart here. */
const ABSENT = [
  ...['get', 'sync', 'threads', 'threaded', 'processes', 'multiprocessing'],
  ...['get_id', 'getId', 'dumps', 'loads', 'packException', 'raiseException'],
  ...['funcDumps', 'funcLoads', 'optimizeGraph', 'optimize', 'fuse'],
  ...['config', 'setConfig', 'groupOf', 'keySplitGroup', 'renamed', 'finalize']
];

export const cases: Readonly<Record<string, () => void | Promise<void>>> = {
  'a requested key may be given as a reference': () => {
    expect(getSync(chain, ref('c'))).toBe(3);
    expect(getSync(chain, [ref('a'), ['b']])).toEqual([1, [2]]);
  },
  'getAsync has sixteen under way': async () => {
    expect(await mostUnderWay(40)).toBe(16);
  },
  'no setting comes from the environment': async () => {
    const names = [
      'DASK_NUM_WORKERS',
      'DASK_SCHEDULER',
      'SPANWISE_NUM_WORKERS'
    ];
    try {
      names.forEach(name => (process.env[name] = '1'));
      expect(await mostUnderWay(40)).toBe(16);
    } finally {
      names.forEach(name => delete process.env[name]);
    }
  },
  'has nothing of the names that Dask alone has': () => {
    const names = Object.keys(published);
    expect(names).toContain('getSync');
    expect(names.filter(name => ABSENT.includes(name))).toEqual([]);
  },
  'no cycle comes as far as the loop': () => {
    const graph = { ...chain, x: task(inc, ref('y')), y: task(inc, ref('x')) };
    const told: string[] = [];
    const callback: CallbackHooks = {
      startState: () => void told.push('startState'),
      pretask: () => void told.push('pretask')
    };
    const run = (): unknown => getSync(graph, 'c', { callbacks: [callback] });
    expect(run).toThrow(CycleError);
    expect(told).toEqual([]);
  },
  'the context of the caller ends at a worker': async () => {
    const context = new AsyncLocalStorage<number>();
    const here = { a: task(() => context.getStore()) };
    expect(context.run(5, () => getSync(here, 'a'))).toBe(5);
    // There is no way to send it: the function would have to close over it.
    await expect(
      context.run(5, () => getThreads(here, 'a', { numWorkers: 1 }))
    ).rejects.toThrow(/uses `context` from outside/);
  },
  'nothing is fused': () => {
    const told: unknown[] = [];
    const callback: CallbackHooks = { pretask: key => void told.push(key) };
    expect(getSync(chain, 'c', { callbacks: [callback] })).toBe(3);
    expect(told).toEqual(['a', 'b', 'c']);
    expect([...cull(chain, 'c').keys()]).toEqual(['a', 'b', 'c']);
  },
  'nodes are compared by identity': () => {
    const [one, other] = [task(inc, 1), task(inc, 1)];
    expect(one === other).toBe(false);
    expect('key' in one).toBe(false);
    expect(getSync({ a: one, b: one }, ['a', 'b'])).toEqual([2, 2]);
  },
  'a node cannot be called': () => {
    expect(typeof task(inc, 1)).toBe('object');
  },
  'order gives numbers and no statistics': () => {
    const given = (order as (...args: unknown[]) => unknown)(chain, {
      returnStats: true
    });
    expect([...(given as Map<string, unknown>)]).toEqual([
      ['a', 0],
      ['b', 1],
      ['c', 2]
    ]);
  },
  'has options of other names': () => {
    for (const Made of [ProgressBar, ResourceProfiler]) {
      expect(() => new Made({ dt: 1 } as never)).toThrow(/dt/);
      expect(() => new Made({ interval: 1 })).not.toThrow();
    }
  },
  'a bar without a stream has the standard output': () => {
    const written: string[] = [];
    const write = jest
      .spyOn(process.stdout, 'write')
      .mockImplementation(text => written.push(String(text)) > 0);
    try {
      new ProgressBar().run(() => getSync(chain, 'c'));
    } finally {
      write.mockRestore();
    }
    expect(written.join('')).toContain('100%');
  },
  'times are seconds since the epoch': () => {
    // The profilers' clock is set by the wall clock when this process begins; that may have been corrected since.
    const corrected = (): number =>
      (Date.now() - performance.timeOrigin - performance.now()) / 1000;
    const profiler = new Profiler();
    const corrections = [corrected()];
    const before = Date.now() / 1000;
    profiler.run(() => getSync(chain, 'c'));
    const after = Date.now() / 1000;
    corrections.push(corrected());
    expect(Math.max(...corrections.map(Math.abs))).toBeLessThan(60);
    for (const { startTime, endTime } of profiler.results) {
      // The wall clock is told in milliseconds.
      expect(startTime).toBeGreaterThan(
        before - Math.max(...corrections) - 0.002
      );
      expect(endTime).toBeLessThan(after - Math.min(...corrections) + 0.002);
    }
    expect(profiler.results).toHaveLength(3);
  },
  'an alias among workers has no worker and takes no time': async () => {
    const profiler = new Profiler();
    await using pool = new ThreadPool({ size: 1 });
    const graph = { a: task(inc, 1), b: ref('a') };
    await profiler.run(() => getThreads(graph, 'b', { pool }));
    const alias = profiler.results.find(({ key }) => key === 'b')!;
    expect(alias.workerId).toBeNull();
    expect(alias.endTime).toBe(alias.startTime);
  },
  'a block keeps its runs, and a second block its own': () => {
    const profiler = new Profiler();
    profiler.run(() => [getSync(chain, 'a'), getSync(chain, 'b')]);
    expect(profiler.results.map(({ key }) => key)).toEqual(['a', 'a', 'b']);
    profiler.run(() => getSync(chain, 'a'));
    expect(profiler.results.map(({ key }) => key)).toEqual(['a']);
  },
  'visualize has none of Bokeh’s options': () => {
    for (const name of ['mode', 'tools', 'plot_width', 'file_path', 'save']) {
      const options = { [name]: 1 } as never;
      expect(() => visualize(new Profiler(), options)).toThrow(name);
    }
  },
  'lines of resources are three pixels wide': async () => {
    const profiler = new ResourceProfiler({ interval: 0.01 });
    await profiler.run(() => new Promise(resolve => setTimeout(resolve, 30)));
    const lines = visualize(profiler).data.filter(
      ({ type }) => type === 'scatter'
    );
    expect(lines.length).toBeGreaterThan(0);
    for (const trace of lines) {
      expect(trace).toMatchObject({ line: { width: 3 } });
      expect(trace['hovertemplate']).toContain('%{y');
    }
  }
};
