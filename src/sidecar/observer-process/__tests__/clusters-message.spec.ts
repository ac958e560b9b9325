/** What a page is sent of all clusters, twice a second while one of them runs. */
import { rowsToBlock } from '../../../testing/rows-to-block';
import type { ClusterInfo } from '../../../wire/panel-link';
import { FrameEncoder } from '../../../wire/frame';
import { Clusters } from '../clusters';
import { PanelSession } from '../panel-session';
import { WorkQueue } from '../work-queue';
import { encoded } from './observer-fixture';

/** With those that are listed though their history was dropped. */
const MOST_LISTED = 220;
/** What is listed of a run without clients and workers. */
const MOST_BYTES_PER_RUN = 300;
/** Beside it, of one that is compared with: its id and a number. */
const MOST_SHARED_BYTES = 100;

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** Each ran functions of its own and some of the one before it. */
function drawnClusters(count: number, functions: number, budget = 1e9) {
  const clusters = new Clusters({
    queue: new WorkQueue(),
    budgetBytes: budget,
    note: () => undefined
  });
  for (let i = 0; i < count; i++) {
    run(clusters, `cluster-${i}`, i, functions);
  }
  return clusters;
}

const of = (from: number, count: number) =>
  Array.from(
    { length: count },
    (_, i) => `package.module.function_${from + i}`
  );

function run(clusters: Clusters, id: string, i: number, functions: number) {
  const cluster = clusters.open({
    ...{ clusterId: id, logId: `log of ${id}`, name: 'notebook' },
    ...{ kind: 'embedded', wallEpoch: 1.8e9 + i, clockAhead: 0, pid: 1 },
    ...{ versions: {}, capabilities: {}, environmentId: '', environment: '' }
  });
  ran(cluster, 1, of((i * functions) / 2, functions));
  // (what is read is told at once)
  expect(cluster.store.seq).toBe(2);
  return cluster;
}

function ran(
  cluster: ReturnType<Clusters['open']>,
  seq: number,
  names: readonly string[]
) {
  const first = 1000 * seq;
  cluster.take([
    encoded(
      rowsToBlock(
        seq,
        'names',
        names.map((text, j) => ({ id: first + j, text }))
      )
    ),
    encoded(
      rowsToBlock(
        seq + 1,
        'runs',
        names.map((_, j) => ({
          ...{ run: first + j, function: first + j },
          ...{ start: j, duration: 1 }
        }))
      )
    )
  ]);
}

/** A page, and the lists that it was sent. */
function page(clusters: Clusters) {
  const encoder = new FrameEncoder('panel', 'down');
  const sent: { readonly clusters: readonly ClusterInfo[]; bytes: number }[] =
    [];
  let take!: (batch: readonly unknown[]) => void;
  const link = {
    start: ({ messages }: { messages: typeof take }) => (take = messages),
    send: (type: string, fields: { clusters: ClusterInfo[] }) => {
      if (type === 'clusters') {
        const bytes = encoder.encode('clusters', fields).bodyLength;
        sent.push({ ...fields, bytes });
      }
    },
    queuedBytes: 0,
    pause: () => undefined,
    resume: () => undefined
  };
  new PanelSession(link as never, clusters, new WorkQueue(), () => undefined);
  const watch = (id: number, cluster: string, over: object = {}) =>
    take([
      {
        type: 'watch',
        fields: {
          ...{ id, cluster, view: 'spans', question: 1, expected: false },
          ...{ filter: {}, params: {}, time: 'all', ...over }
        }
      }
    ]);
  return {
    sent,
    last: () => sent.at(-1)!,
    watch,
    unwatch: (id: number) => take([{ type: 'unwatch', fields: { id } }])
  };
}

const shared = (info: ClusterInfo | undefined, cluster: string) =>
  info?.sharedFunctions?.find(each => each.cluster === cluster)?.count;

describe('the list of clusters', () => {
  it('has few bytes a run, however many functions ran', () => {
    const clusters = drawnClusters(MOST_LISTED, 600);
    const { last, watch } = page(clusters);
    watch(1, 'cluster-7');
    expect(last().clusters).toHaveLength(MOST_LISTED);
    expect(last().bytes).toBeLessThan(MOST_LISTED * MOST_BYTES_PER_RUN);
    const before = last().bytes;
    watch(2, 'cluster-7', { sharedFunctions: true });
    expect(shared(last().clusters[8], 'cluster-7')).toBeGreaterThan(100);
    expect(last().bytes - before).toBeLessThan(MOST_LISTED * MOST_SHARED_BYTES);
  });

  it('has the functions in common with the runs that a page compares, as long as it does', () => {
    const clusters = drawnClusters(4, 20);
    const { last, sent, watch, unwatch } = page(clusters);
    const { sent: ofAnother } = page(clusters);
    expect(last().clusters[1]).not.toHaveProperty('sharedFunctions');
    watch(1, 'cluster-1', { sharedFunctions: true });
    // At once, and not with the next change: what the page proposes hangs on it.
    expect(sent).toHaveLength(2);
    expect(last().clusters.map(info => info.sharedFunctions)).toEqual([
      [{ cluster: 'cluster-1', count: 10 }],
      undefined,
      [{ cluster: 'cluster-1', count: 10 }],
      [{ cluster: 'cluster-1', count: 0 }]
    ]);
    watch(2, 'cluster-3', { sharedFunctions: true });
    watch(3, 'cluster-3', { sharedFunctions: true });
    watch(4, 'cluster-9', { sharedFunctions: true });
    expect(sent).toHaveLength(3);
    expect(last().clusters[2]!.sharedFunctions).toEqual([
      { cluster: 'cluster-1', count: 10 },
      { cluster: 'cluster-3', count: 10 }
    ]);
    unwatch(1);
    unwatch(2);
    ran(clusters.get('cluster-0')!.cluster, 3, of(40, 5));
    jest.advanceTimersByTime(600);
    expect(shared(last().clusters[0], 'cluster-1')).toBeUndefined();
    expect(shared(last().clusters[0], 'cluster-3')).toBe(5);
    unwatch(3);
    run(clusters, 'cluster-4', 4, 20);
    jest.advanceTimersByTime(600);
    expect(last().clusters[2]).not.toHaveProperty('sharedFunctions');
    expect(last().clusters).toHaveLength(5);
    // The other page, which compares nothing, was told of what came.
    expect(ofAnother.at(-1)!.clusters).toHaveLength(5);
    expect(
      ofAnother
        .flatMap(each => each.clusters)
        .some(info => info.sharedFunctions)
    ).toBe(false);
  });

  it('tells it of runs whose history was dropped, too, and of none of which nothing ran', () => {
    const clusters = drawnClusters(3, 20, 1);
    const none = clusters.open({
      ...{ clusterId: 'none', logId: 'log of none', name: 'notebook' },
      ...{ kind: 'embedded', wallEpoch: 1, clockAhead: 0, pid: 1 },
      ...{ versions: {}, capabilities: {}, environmentId: '', environment: '' }
    });
    const { last, watch } = page(clusters);
    watch(1, 'cluster-1', { sharedFunctions: true });
    watch(2, 'none', { sharedFunctions: true });
    expect(last().clusters.map(info => info.sharedFunctions)).toEqual([
      [{ cluster: 'cluster-1', count: 10 }],
      undefined,
      [{ cluster: 'cluster-1', count: 10 }],
      undefined
    ]);
    none.end('stopped', 1);
    for (let i = 0; i < 2; i++) {
      clusters.get(`cluster-${i}`)!.cluster.end('stopped', i);
      jest.setSystemTime(Date.now() + 1);
    }
    clusters.keepBudget();
    jest.advanceTimersByTime(600);
    expect(last().clusters).toHaveLength(4);
    expect(
      shared(
        last().clusters.find(
          info => info.dropped !== undefined && info.cluster === 'cluster-0'
        ),
        'cluster-1'
      )
    ).toBe(10);
  });
});
