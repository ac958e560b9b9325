/** What `observe` shows, asked from a real observer, against the package's own `Profiler` of the same run. */
import { FakeJupyter } from '../../../testing/fake-jupyter';
import { buildNodePrograms } from '../../../testing/node-programs';
import type { RunDetail } from '../../../wire/panel-link';
import { Profiler } from '../../diagnostics/profiler';
import { keyText } from '../../graph/key';
import { type Graph, ref, task } from '../../graph/nodes';
import { getAsync } from '../../local/get-async';
import { getSync } from '../../local/get-sync';
import { getProcesses } from '../../pools/get-processes';
import { getThreads } from '../../pools/get-threads';
import { Callback } from '../../local/callback';
import { delayed } from '../../graph/delayed';
import { observe } from '../observe';
import { observerSink } from '../observer-sink';
import { createRecorder } from '../recorder';
import { currentSpan, span } from '../span';

let jupyter: FakeJupyter;
const before = process.env['JUPYTER_RUNTIME_DIR'];
/** Milliseconds since the epoch, on the clock that counts on from the start of this process. */
const countedMs = () => performance.timeOrigin + performance.now();

beforeAll(async () => {
  // Stamps are compared to microseconds: a wall clock that has come apart from that clock is for live-log.spec.ts.
  jest.spyOn(Date, 'now').mockImplementation(() => Math.floor(countedMs()));
  buildNodePrograms('pool-thread.mjs', 'pool-process.mjs', 'sender.mjs');
  jupyter = await FakeJupyter.start();
  process.env['JUPYTER_RUNTIME_DIR'] = jupyter.runtimeFolder;
});
afterAll(async () => {
  if (before === undefined) {
    delete process.env['JUPYTER_RUNTIME_DIR'];
  } else {
    process.env['JUPYTER_RUNTIME_DIR'] = before;
  }
  await jupyter.close();
  jest.restoreAllMocks();
});

const spin = (ms: number, ..._inputs: readonly number[]) => {
  const end = performance.now() + ms;
  while (performance.now() < end) {
    Math.sqrt(end);
  }
  return ms;
};

/** For so many milliseconds each task spins, by the clock that it is measured with. */
const SPINS: ReadonlyMap<string, number> = new Map([
  ...Array.from({ length: 6 }, (_, i) => [`part-${i}`, 5 + i] as const),
  ['sum', 4]
]);

function spinning(): Graph {
  const graph = new Map<string, unknown>();
  for (const [key, ms] of SPINS) {
    const inputs =
      key === 'sum' ? [...graph.keys()].map(part => ref(part)) : [];
    graph.set(key, task(spin, ms, ...(inputs as never[])));
  }
  return graph as never;
}

/** No two tasks are in one place at a time. */
function expectLanesTrue(rows: readonly RunDetail[]): void {
  const stops = new Map<string, number>();
  for (const row of [...rows].sort((a, b) => a.start - b.start)) {
    const lane = `${row.worker} ${row.thread}`;
    // Durations are single precision.
    expect(row.start).toBeGreaterThanOrEqual((stops.get(lane) ?? 0) - 1e-6);
    stops.set(lane, row.start + row.duration);
  }
}

const ended = (name: string) =>
  jupyter.cluster(name, ({ state }) => state === 'ended');

async function rowsOf(cluster: string): Promise<readonly RunDetail[]> {
  const { rows, total } = await jupyter.ask(cluster, 'tasks', {
    sort: 'start',
    descending: false,
    offset: 0,
    limit: 500
  });
  expect(rows).toHaveLength(total);
  return rows;
}

const schedulers = { getSync, getAsync, getThreads, getProcesses };

describe.each(Object.entries(schedulers))('observe with %s', (name, get) => {
  it('shows the tasks of the Profiler, each within its interval', async () => {
    const profiler = new Profiler();
    const began = countedMs() / 1000;
    const value = await observe(
      () =>
        profiler.run(() => get(spinning(), 'sum', { numWorkers: 2 } as never)),
      { name: `${name} equal` }
    );
    const over = countedMs() / 1000;
    expect(value).toBe(4);
    const cluster = await ended(`${name} equal`);
    expect(cluster).toMatchObject({ kind: 'local', tasks: 7 });
    const rows = await rowsOf(cluster.cluster);
    const profiled = new Map(
      profiler.results.map(record => [keyText(record.key), record])
    );
    expect(rows.map(({ key }) => key).sort()).toEqual(
      [...profiled.keys()].sort()
    );
    for (const row of rows) {
      const { startTime, endTime } = profiled.get(row.key)!;
      const start = cluster.startedAt + row.start;
      expect(row).toMatchObject({ status: 'ok', span: ['default'] });
      // Read one within the other, however long the machine is elsewhere between two of them; what is left is rounding and, between the
      // clocks of two threads, microseconds.
      expect(start).toBeGreaterThanOrEqual(startTime - 1e-5);
      expect(start + row.duration).toBeLessThanOrEqual(endTime + 1e-5);
      expect(row.duration).toBeGreaterThanOrEqual(
        SPINS.get(row.key)! / 1000 - 1e-6
      );
      expect(startTime).toBeGreaterThanOrEqual(began - 1e-5);
      expect(endTime).toBeLessThanOrEqual(over + 1e-5);
      expect(row.cpu).toBeGreaterThan(0);
      expect(row.nbytes).toBe(8);
    }
    expectLanesTrue(rows);
    const fine = await jupyter.ask(cluster.cluster, 'fine-metrics', {
      unit: 'seconds',
      top: 12
    });
    const cpu = fine.byActivity.find(each => each.activity === 'thread-cpu');
    const total = rows.reduce(
      (sum, row) => sum + Math.min(row.cpu!, row.duration),
      0
    );
    expect(cpu!.value).toBeCloseTo(total, 4);
  });

  it('shows what failed, with where it was thrown', async () => {
    const graph = {
      good: task(spin, 1),
      bad: task((_: number) => {
        throw new RangeError('too far');
      }, ref('good'))
    };
    await expect(
      observe(async () => get(graph, 'bad'), { name: `${name} failed` })
    ).rejects.toThrow('too far');
    const cluster = await ended(`${name} failed`);
    const rows = await rowsOf(cluster.cluster);
    expect(rows.map(({ key, status }) => [key, status])).toEqual([
      ['good', 'ok'],
      ['bad', 'failed']
    ]);
    expect(rows[1]!.error).toBe('RangeError: too far');
    expect(rows[1]!.nbytes).toBeNull();
  });

  it('counts tasks to the span where they were written, else to that of the run', async () => {
    const inc = (x: number) => x + 1;
    const load = span('load', () => delayed(inc)(1));
    const written = span('parts', () => ({ a: task(inc, 1), b: task(inc, 2) }));
    await observe(
      async () => {
        await span(['daily', 'sum'], async () => {
          await Promise.resolve();
          await get({ ...written, c: task(inc, ref('a')) }, ['b', 'c']);
        });
        await load.compute(get as typeof getAsync);
        await get({ d: task(inc, 3) }, 'd');
      },
      { name: `${name} spans` }
    );
    const cluster = await ended(`${name} spans`);
    const rows = await rowsOf(cluster.cluster);
    expect(
      Object.fromEntries(rows.map(row => [row.key, row.span.join('/')]))
    ).toEqual({
      a: 'parts',
      b: 'parts',
      c: 'daily/sum',
      "('inc', 0)": 'load',
      d: 'default'
    });
    const spans = await jupyter.ask(cluster.cluster, 'spans');
    const byTag = new Map(spans.rows.map(row => [row.tag, row]));
    expect(byTag.get('daily')).toMatchObject({ tasks: 1, ownTasks: 0 });
    expect(byTag.get('sum')!.closed).not.toBeNull();
    expect(byTag.get('parts')).toMatchObject({ tasks: 2, exact: 2 });
    expect(currentSpan()).toBeNull();
  });
});

describe('observe', () => {
  it('shows tasks of one thread that overlap side by side, their CPU time unknown', async () => {
    // None ends before all have begun, however late this thread begins one.
    const count = 5;
    let begun = 0;
    let goOn = () => {};
    const allBegan = new Promise<void>(resolve => (goOn = resolve));
    const wait = async (ms: number) => {
      begun++;
      if (begun === count) {
        goOn();
      }
      await allBegan;
      await new Promise(resolve => setTimeout(resolve, ms));
      return ms;
    };
    const graph = Object.fromEntries(
      Array.from({ length: count }, (_, i) => [`wait-${i}`, task(wait, 30)])
    );
    await observe(
      () => getAsync(graph, Object.keys(graph), { numWorkers: count }),
      {
        name: 'overlapping'
      }
    );
    const cluster = await ended('overlapping');
    const rows = await rowsOf(cluster.cluster);
    expectLanesTrue(rows);
    expect(rows.map(({ beside }) => beside?.join(' ') ?? '').sort()).toEqual([
      '',
      'overlapping 1',
      'overlapping 2',
      'overlapping 3',
      'overlapping 4'
    ]);
    expect(rows.every(({ cpu }) => cpu === null)).toBe(true);
    const fine = await jupyter.ask(cluster.cluster, 'fine-metrics', {
      unit: 'seconds',
      top: 12
    });
    const activities = fine.byActivity.filter(({ value }) => value > 0);
    expect(activities.map(({ activity }) => activity)).not.toContain(
      'thread-cpu'
    );
  });

  it('takes getAsync for one thread, which is what the process computes with', async () => {
    const graph = Object.fromEntries(
      Array.from({ length: 30 }, (_, i) => [`spin-${i}`, task(spin, 8)])
    );
    const usedBefore = process.cpuUsage();
    const began = performance.now();
    await observe(() => getAsync(graph, Object.keys(graph)), { name: 'one' });
    const wall = (performance.now() - began) / 1000;
    const { user, system } = process.cpuUsage(usedBefore);
    const used = (user + system) / 1e6;
    const cluster = await ended('one');
    const { lanes, workers } = await jupyter.ask(
      cluster.cluster,
      'task-stream'
    );
    expect(lanes.map(({ thread }) => thread)).toEqual([0]);
    expect(workers).toMatchObject([{ threads: 1 }]);
    const fine = await jupyter.ask(cluster.cluster, 'fine-metrics', {
      unit: 'seconds',
      top: 12
    });
    const of = (...activities: string[]) =>
      fine.byActivity
        .filter(({ activity }) => activities.includes(activity))
        .reduce((sum, { value }) => sum + value, 0);
    // Of the process's account one thread was the tasks'; no more could have been idle than the clock has seconds.
    const computed = of('thread-cpu', 'compute');
    expect(computed).toBeGreaterThan(0);
    expect(of('thread-cpu')).toBeLessThanOrEqual(used);
    const idle = fine.idle.reduce((sum, { seconds }) => sum + seconds, 0);
    const held = fine.byActivity
      .filter(({ activity }) => !activity.startsWith('idle'))
      .reduce((sum, { value }) => sum + value, 0);
    expect(held).toBeGreaterThanOrEqual(30 * 0.008 - 1e-4);
    expect(held + idle).toBeLessThanOrEqual(wall);
    expect(fine.capacitySeconds).toBeLessThanOrEqual(wall);
    expect(fine.capacitySeconds).toBeGreaterThanOrEqual(held);
  });

  it('shows what ran before an abort, and rejects with its reason', async () => {
    const abort = new AbortController();
    const graph = {
      first: task(spin, 1),
      second: task(spin, 60_000, ref('first'))
    };
    const callback = new Callback({
      posttask: () => setTimeout(() => abort.abort(new Error('enough')), 50)
    });
    await expect(
      observe(
        () =>
          callback.run(() =>
            getThreads(graph, 'second', { signal: abort.signal })
          ),
        { name: 'aborted' }
      )
    ).rejects.toThrow('enough');
    const cluster = await ended('aborted');
    expect((await rowsOf(cluster.cluster)).map(({ key }) => key)).toEqual([
      'first'
    ]);
  });

  it('measures the memory of this process and of those that compute', async () => {
    const seen = observe({ name: 'memory' });
    await getProcesses({ a: task(spin, 100) }, 'a', { numWorkers: 1 });
    // The process lives on, and is measured as long as somebody observes.
    const { workers } = await jupyter.cluster(
      'memory',
      cluster =>
        cluster.workers.length === 2 &&
        cluster.workers.every(({ process: bytes }) => bytes > 1e6)
    );
    // This one has only handed out the task.
    expect(workers.map(({ name, threads }) => [name, threads])).toEqual([
      ['this process', 0],
      ['process 1', 1]
    ]);
    await seen.close();
    expect(seen.status).toBe('ended');
  });

  it('sees nothing inside of tasks, and nothing outside of its body', async () => {
    const inner = () => getSync({ inner: task(spin, 1) }, 'inner');
    await observe(() => getSync({ outer: task(inner) }, 'outer'), {
      name: 'inside'
    });
    getSync({ outside: task(spin, 1) }, 'outside');
    const { cluster } = await ended('inside');
    expect((await rowsOf(cluster)).map(({ key }) => key)).toEqual(['outer']);
  });

  it('may be nested: both see the tasks', async () => {
    for (const get of [getSync, getThreads]) {
      const outer = observe({ name: `outer ${get.name}` });
      await observe(() => get({ a: task(spin, 1) }, 'a'), {
        name: `inner ${get.name}`
      });
      await outer.close();
      for (const which of ['outer', 'inner']) {
        const { cluster } = await ended(`${which} ${get.name}`);
        expect(await rowsOf(cluster)).toMatchObject([{ key: 'a' }]);
      }
    }
  });

  it('is told by an observer that has taken the place of one that died', async () => {
    const seen = observe({ name: 'two observers' });
    getSync({ first: task(spin, 1) }, 'first');
    await seen.flush();
    await jupyter.killObserver();
    getSync({ second: task(spin, 1) }, 'second');
    await jupyter.startObserver();
    getSync({ third: task(spin, 1) }, 'third');
    // It has found the new one: closing waits five seconds for an observer, and no longer.
    await jupyter.cluster('two observers');
    await seen.close();
    const { cluster } = await ended('two observers');
    expect((await rowsOf(cluster)).map(({ key }) => key)).toEqual([
      'first',
      'second',
      'third'
    ]);
  });
});

describe('functions', () => {
  it('have their own names, and those of keys where they have none or a name was given', async () => {
    const fit = (x: number) => x;
    const graph: Graph = {
      a: task(fit, 1),
      'score-1': task(x => x, ref('a')),
      whole: [ref('a'), ref('score-1')]
    };
    await observe(
      () => {
        getSync(graph, 'whole');
        const called = delayed(fit, 'step');
        called(delayed(fit)(1)).compute(getSync);
      },
      { name: 'functions' }
    );
    const { cluster } = await ended('functions');
    const rows = await rowsOf(cluster);
    expect(rows.map(({ key, function: name }) => [key, name])).toEqual([
      ['a', 'fit'],
      ['score-1', 'score'],
      ['whole', 'whole'],
      ["('fit', 0)", 'fit'],
      ["('step', 0)", 'step']
    ]);
  });
});

describe('createRecorder', () => {
  it('shows what takes long while it runs', async () => {
    const recorder = createRecorder({ name: 'long', into: observerSink() });
    const run = recorder.begin({ key: 'fetch-1' });
    const { cluster } = await jupyter.cluster('long', c => c.running === 1);
    const { running } = await jupyter.ask(cluster, 'task-stream');
    expect(running).toMatchObject([{ key: 'fetch-1', function: 'fetch' }]);
    run.end();
    await jupyter.cluster('long', c => c.running === 0 && c.tasks === 1);
    expect(() => recorder.begin({ key: 'a', lane: -1 })).toThrow(RangeError);
    await recorder.close();
  });

  it('makes any program a source', async () => {
    const recorder = createRecorder({
      name: 'recorded',
      into: observerSink()
    });
    span('download', () => {
      const one = recorder.begin({ key: 'fetch-1' });
      const two = recorder.begin({ key: 'fetch-2' });
      one.end({ nbytes: 100, cpuSeconds: 0 });
      two.end({ error: new Error('no answer') });
      two.end();
    });
    // On the clock of the other two: cut off to a millisecond it could be before them, and rows come in the order of their begin.
    const at = countedMs() / 1000;
    recorder
      .begin({ key: ['parse', 1], lane: 4, startTime: at, span: null })
      .end({ endTime: at + 2 });
    await recorder.close();
    const { cluster, startedAt } = await ended('recorded');
    const rows = await rowsOf(cluster);
    expect(rows).toMatchObject([
      { key: 'fetch-1', function: 'fetch', thread: 0, status: 'ok' },
      { key: 'fetch-2', thread: 1, status: 'failed', nbytes: null },
      { key: "('parse', 1)", thread: 4, span: ['default'], cpu: null }
    ]);
    expect(rows[0]).toMatchObject({ nbytes: 100, span: ['download'] });
    expect(rows[1]!.error).toContain('no answer');
    expect(startedAt + rows[2]!.start).toBeCloseTo(at, 3);
    expect(rows[2]!.duration).toBeCloseTo(2, 3);
  });
});
