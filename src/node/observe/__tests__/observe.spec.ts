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
import { observe } from '../observe';

let jupyter: FakeJupyter;
const before = process.env['JUPYTER_RUNTIME_DIR'];
beforeAll(async () => {
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
});

const spin = (ms: number, ..._inputs: readonly number[]) => {
  const end = performance.now() + ms;
  while (performance.now() < end) {
    Math.sqrt(end);
  }
  return ms;
};

function spinning(): Graph {
  const graph = new Map<string, unknown>();
  for (let i = 0; i < 6; i++) {
    graph.set(`part-${i}`, task(spin, 5 + i));
  }
  graph.set(
    'sum',
    task(spin, 4, ...Array.from({ length: 6 }, (_, i) => ref(`part-${i}`)))
  );
  return graph as never;
}

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

const SCHEDULERS = { getSync, getAsync, getThreads, getProcesses };

describe.each(Object.entries(SCHEDULERS))('observe with %s', (name, get) => {
  it('shows the tasks of the Profiler, each within its interval', async () => {
    const profiler = new Profiler();
    const value = await observe(
      () =>
        profiler.run(() => get(spinning(), 'sum', { numWorkers: 2 } as never)),
      { name: `${name} equal` }
    );
    expect(value).toBe(4);
    const cluster = await jupyter.cluster(
      `${name} equal`,
      ({ state }) => state === 'ended'
    );
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
      expect(start).toBeGreaterThanOrEqual(startTime - 1e-5);
      expect(start + row.duration).toBeLessThanOrEqual(endTime + 1e-5);
      expect(row.duration).toBeGreaterThan(0.0035);
      expect(row.cpu).toBeGreaterThan(0);
      expect(row.nbytes).toBe(8);
    }
  });
});
