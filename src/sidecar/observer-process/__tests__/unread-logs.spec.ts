/** Logs that nobody has asked about are read between other questions, and not before them. */
import { syntheticLog } from '../../../testing/synthetic-log';
import { rowsToBlock } from '../../../testing/rows-to-block';
import { waitFor } from '../../../testing/wait-for';
import type { ClusterInfo } from '../../../wire/panel-link';
import { complete } from '../../../observer/folds/context';
import { Clusters } from '../clusters';
import type { ObservedCluster, OpenFields } from '../observed-cluster';
import { PanelSession } from '../panel-session';
import { AT_ONCE_BYTES } from '../unread-blocks';
import { WorkQueue } from '../work-queue';
import { encoded } from './observer-fixture';

const CLUSTERS = 5;
const RUNS = 6000;

const log = (runs: number): Uint8Array[] =>
  [
    ...syntheticLog({
      ...{ runs, workers: 2, threadsPerWorker: 2, functions: 3, spans: 3 },
      ...{ meanMilliseconds: 1, partsShare: 0.3 }
    })
  ].map(encoded);
const longLog = log(RUNS);
const shortLog = log(10);

/** What is looked at of messages. */
type Told = {
  readonly id?: number;
  readonly question?: number;
  readonly clusters?: readonly ClusterInfo[];
};

const opening = (id: string): OpenFields =>
  ({
    ...{ clusterId: id, logId: `log of ${id}`, name: id, kind: 'embedded' },
    ...{ wallEpoch: 0, clockAhead: 0, pid: process.pid, environment: '' }
  }) as OpenFields;

/** An observer without sockets, whose clock goes on by half a millisecond whenever the queue looks: a share is four blocks. */
function observer(budget: { readonly budgetBytes?: number } = {}) {
  let at = 0;
  const notes: string[] = [];
  const note = (sentence: string): void => void notes.push(sentence);
  const queue = new WorkQueue(() => (at += 0.5));
  const clusters = new Clusters({ queue, note, ...budget });
  const open = (id: string, blobs: readonly Uint8Array[]): ObservedCluster => {
    const cluster = clusters.open(opening(id));
    cluster.take(blobs);
    return cluster;
  };
  /** A page, and what it is sent. */
  const page = () => {
    const sent: { readonly type: string; readonly fields: Told }[] = [];
    let handlers!: {
      messages(batch: readonly unknown[]): void;
      closed(): void;
    };
    const link = {
      start: (given: typeof handlers) => (handlers = given),
      send: (type: string, fields: Told) => sent.push({ type, fields }),
      pause: () => undefined,
      resume: () => undefined,
      queuedBytes: 0
    };
    new PanelSession(link as never, clusters, queue, note);
    const message = (type: string, fields: object) =>
      handlers.messages([{ type, fields }]);
    const ask = (id: number, cluster: string, fields: object = {}) =>
      message('watch', {
        ...{ id, question: 0, cluster, view: 'summary', filter: {} },
        ...{ params: {}, time: 'all', maxHz: 0, ...fields }
      });
    const kinds = () =>
      sent.map(({ type, fields }) =>
        type === 'clusters' ? type : `${type} ${fields.id}`
      );
    return { sent, ask, message, kinds, close: () => handlers.closed() };
  };
  return { clusters, notes, open, page };
}

describe('logs that nobody has asked about', () => {
  it('are read block by block for the list of clusters', () => {
    const { clusters, notes, open } = observer();
    const odd = [1, 2, 3].map(seq =>
      encoded(rowsToBlock(seq, 'header', [{ t: 1e300, json: '{}' }]))
    );
    open('c1', odd);
    open('c2', odd);
    const list = clusters.list();
    const read: number[] = [];
    let step = list.next();
    for (; step.done !== true; step = list.next()) {
      read.push(notes.length);
    }
    expect(read).toEqual([1, 2, 3, 3, 4, 5, 6, 6]);
    expect(step.value).toHaveLength(2);
  });

  it('are read block by block, whatever a block tells', () => {
    const { open } = observer();
    // Its first blocks tell of workers, with which it goes on.
    const cluster = open('c1', longLog);
    let waits = cluster.unreadBytes;
    let steps = 0;
    const slices = cluster.readInSlices();
    while (slices.next().done !== true) {
      expect(waits - cluster.unreadBytes).toBeLessThan(AT_ONCE_BYTES);
      waits = cluster.unreadBytes;
      steps++;
    }
    expect(steps).toBe(longLog.length);
    expect(cluster.state).toBe('running');
  });

  it('are listed as they are at the end, and if they came meanwhile', () => {
    const { clusters, open } = observer();
    open('c1', longLog);
    open('c2', longLog);
    const list = clusters.list();
    list.next();
    open('c3', shortLog);
    const [c1, c2, c3] = complete(list);
    expect([c1, c2, c3].map(info => info?.tasks)).toEqual([RUNS, RUNS, 10]);
  });

  it('keep no question waiting for the list of clusters', async () => {
    const { open, page } = observer();
    for (let i = 1; i <= CLUSTERS; i++) {
      open(`c${i}`, longLog);
    }
    open('short', shortLog);
    const own = page();
    own.ask(1, 'short');
    await waitFor('list and answer', () => own.sent.length === 2);
    expect(own.kinds()).toEqual(['snapshot 1', 'clusters']);
    const listed = own.sent[1]!.fields.clusters!;
    expect(listed.map(({ tasks }) => tasks)).toEqual([
      ...new Array<number>(CLUSTERS).fill(RUNS),
      10
    ]);
    own.close();
  });

  it('keep no question waiting for a question about them', async () => {
    const { open, page } = observer();
    const long = open('c1', log(20 * RUNS));
    open('short', shortLog);
    const [first, second] = [page(), page()];
    const order: string[] = [];
    first.ask(1, 'c1');
    expect(long.unreadBytes).toBeGreaterThan(AT_ONCE_BYTES);
    second.ask(2, 'short');
    await waitFor('both answers', () => {
      for (const kind of [...first.kinds(), ...second.kinds()]) {
        if (kind !== 'clusters' && !order.includes(kind)) {
          order.push(kind);
        }
      }
      return order.length === 2;
    });
    expect(order).toEqual(['snapshot 2', 'snapshot 1']);
    first.close();
    second.close();
  });

  it('keep no other question of the page waiting', async () => {
    const { open, page } = observer();
    open('c1', log(20 * RUNS));
    open('short', shortLog);
    const own = page();
    own.ask(1, 'c1', { maxHz: 4 });
    own.message('detail', { request: 7, cluster: 'c1', run: 1 });
    own.ask(2, 'short', { maxHz: 4 });
    await waitFor('the answers', () => own.sent.length === 4);
    expect(own.kinds().filter(kind => kind !== 'clusters')).toEqual([
      'snapshot 2',
      'detail undefined',
      'snapshot 1'
    ]);
    own.close();
  });

  it('are not read in one go for the detail of a task', async () => {
    const { open, page } = observer();
    const cluster = open('c1', longLog);
    const own = page();
    const waits = cluster.unreadBytes;
    own.message('detail', { request: 7, cluster: 'c1', run: 1 });
    expect(cluster.unreadBytes).toBe(waits);
    const told = () => own.sent.find(({ type }) => type === 'detail');
    await waitFor('the detail', () => told() !== undefined);
    expect(told()!.fields).toMatchObject({ request: 7, run: { run: 1 } });
    // Nobody waits for the answer to a page that has gone.
    open('c2', longLog);
    own.message('detail', { request: 8, cluster: 'c2', run: 1 });
    own.close();
    await new Promise(resolve => setImmediate(resolve));
    expect(own.sent.filter(({ type }) => type === 'detail')).toHaveLength(1);
  });

  it('are not read when their source is gone, is back, or is given up', () => {
    const { open } = observer();
    const cluster = open('c1', longLog);
    const waits = cluster.unreadBytes;
    cluster.linkLost();
    expect(cluster.state).toBe('reconnecting');
    cluster.reopened({ ...opening('c1'), wallEpoch: 100 });
    cluster.linkLost();
    cluster.lost(performance.now());
    expect(cluster.unreadBytes).toBe(waits);
    expect(cluster.state).toBe('ended');
    // Then it is told as it would have been.
    const eager = open('c2', longLog);
    eager.info();
    eager.linkLost();
    expect(eager.info().why).toMatch(/^Reconnecting\. Figures are from /);
    cluster.reopened(opening('c1'));
    cluster.linkLost();
    expect(cluster.info().why).toBe(eager.info().why);
    expect(cluster.unreadBytes).toBe(0);
    cluster.reopened(opening('c1'));
    expect(cluster.info()).toMatchObject({ state: 'running', tasks: RUNS });
    expect(cluster.info().why).toBeUndefined();
  });

  it('are read between other questions before their history is dropped', async () => {
    const { clusters, notes, open } = observer({ budgetBytes: 1000 });
    const [old] = ['c1', 'c2'].map(id => {
      const cluster = open(id, longLog);
      cluster.end('closed', 10);
      return cluster;
    });
    const waits = old!.unreadBytes;
    clusters.keepBudget();
    clusters.keepBudget();
    expect([old!.unreadBytes, notes]).toEqual([waits, []]);
    await waitFor('the drop', () => notes.length > 0);
    expect(clusters.forgotten('c1')).toMatchObject({ tasks: RUNS });
    expect(clusters.get('c2')).toBeDefined();
    expect(notes).toHaveLength(1);
  });

  it('stay if their source is back before they are dropped', async () => {
    const { clusters, notes, open } = observer({ budgetBytes: 1000 });
    const old = open('c1', longLog);
    old.end('closed', 10);
    open('c2', shortLog).end('closed', 10);
    clusters.keepBudget();
    open('c1', []);
    await waitFor('the reading', () => old.unreadBytes === 0);
    await new Promise(resolve => setImmediate(resolve));
    expect(clusters.get('c1')?.cluster).toBe(old);
    expect(notes).toEqual([expect.stringContaining('c2')]);
  });

  it('tell who asks that they cannot be read, once', async () => {
    const { open, page } = observer();
    const cluster = open('c1', longLog);
    const own = page();
    jest.spyOn(cluster, 'readInSlices').mockImplementationOnce(function* () {
      yield;
      throw new Error('the disk is full');
    });
    own.ask(1, 'c1', { maxHz: 4 });
    const failures = () => own.kinds().filter(kind => kind === 'failure 1');
    await waitFor('the failure', () => failures().length > 0);
    expect(JSON.stringify(own.sent)).toContain(
      'summary could not be computed: the disk is full.'
    );
    // It is asked anew with the next change.
    own.message('change', { id: 1, question: 7 });
    await waitFor('the answer', () => own.kinds().includes('snapshot 1'));
    expect(failures()).toHaveLength(1);
    own.close();
  });

  it('are asked what a watch was changed to while they were read, once', async () => {
    const { open, page } = observer();
    open('c1', longLog);
    const own = page();
    own.ask(1, 'c1', { maxHz: 4 });
    own.message('change', { id: 1, question: 7, time: { from: 0, to: 1 } });
    own.ask(2, 'c1', { maxHz: 4 });
    own.message('unwatch', { id: 2 });
    await waitFor('list and answer', () => own.sent.length === 2);
    expect(own.kinds().sort()).toEqual(['clusters', 'snapshot 1']);
    const answer = own.sent.find(({ type }) => type === 'snapshot')!;
    expect(answer.fields.question).toBe(7);
    own.close();
  });
});
