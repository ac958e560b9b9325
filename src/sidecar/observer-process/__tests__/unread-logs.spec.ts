/** Logs that nobody has asked about are read between other questions, and not before them. */
import { syntheticLog } from '../../../testing/synthetic-log';
import { rowsToBlock } from '../../../testing/rows-to-block';
import { waitFor } from '../../../testing/wait-for';
import type { ClusterInfo } from '../../../wire/panel-link';
import { complete } from '../../../observer/folds/context';
import { Clusters } from '../clusters';
import type { ObservedCluster } from '../observed-cluster';
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

/** An observer without sockets, whose clock goes on by half a millisecond whenever the queue looks: a share is four blocks. */
function observer() {
  let at = 0;
  const notes: string[] = [];
  const note = (sentence: string): void => void notes.push(sentence);
  const queue = new WorkQueue(() => (at += 0.5));
  const clusters = new Clusters({ queue, note });
  const open = (id: string, blobs: readonly Uint8Array[]): ObservedCluster => {
    const cluster = clusters.open({
      ...{ clusterId: id, logId: `log of ${id}`, name: id, kind: 'embedded' },
      ...{ wallEpoch: 0, clockAhead: 0, pid: process.pid, environment: '' }
    } as never);
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
