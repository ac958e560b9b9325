import { TaskState as SchedulerTaskStates } from '../../../scheduler';
import { waitFor } from '../../../testing/wait-for';
import type { WireClient } from '../../../testing/wire-client';
import { WireCluster } from '../../../testing/wire-cluster';
import type { Message } from '../../../wire/schema';

type Happened = Message<'client', 'down', 'happened'>;

describe('a client that watches the scheduler', () => {
  let wire: WireCluster;
  let client: WireClient;

  beforeEach(async () => {
    wire = await WireCluster.start({ nWorkers: 1 });
    client = wire.owner;
  });

  afterEach(() => wire.end());

  function happened(of = client): Happened[] {
    return of.received.filter((m): m is Happened => m.type === 'happened');
  }

  /** Of each task, where it has been. */
  function paths(of = client): Map<string, string[]> {
    const found = new Map<string, string[]>();
    for (const { tables, blobs } of happened(of)) {
      const { moves, keys } = tables;
      for (let i = 0; i < moves.rows; i++) {
        const key = moves.key[i]!;
        const start = key === 0 ? 0 : keys.end[key - 1]!;
        const text = Buffer.from(
          blobs[0]!.subarray(start, keys.end[key])
        ).toString();
        const path = found.get(text) ?? [];
        path.push(
          `${SchedulerTaskStates[moves.from[i]!]} ${SchedulerTaskStates[moves.to[i]!]}`
        );
        found.set(text, path);
      }
    }
    return found;
  }

  it('is told of the moves of each task in order, before its result', async () => {
    client.link.send('watchScheduler', { request: 1, on: true });
    client.submit('a -> b', { want: 'b' });
    await client.outcome('b');
    const kinds = client.received
      .map(({ type }) => type)
      .filter(type => type === 'happened' || type === 'report');
    expect(kinds.slice(-2)).toEqual(['happened', 'report']);
    const run = ['Released Waiting', 'Waiting Processing', 'Processing Memory'];
    expect(Object.fromEntries(paths())).toEqual({
      'a-1': [...run, 'Memory Released'],
      'b-1': run
    });
    const [{ fields }] = happened() as [Happened];
    expect(fields.graphs).toHaveLength(1);
  });

  it('is told of failures by the way that they take in Dask', async () => {
    client.link.send('watchScheduler', { request: 1, on: true });
    client.submit('a -> b', { want: 'b', does: { a: 'raise' } });
    await client.outcome('b');
    expect(paths().get('a-1')!.slice(-1)).toEqual(['Processing Erred']);
    expect(paths().get('b-1')!.slice(-1)).toEqual(['Released Erred']);
    const failures = happened().flatMap(({ fields }) => fields.failures);
    expect(failures.map(({ isOwn }) => isOwn)).toEqual([true, false]);
  });

  it('is told first who is there, and then who comes and goes', async () => {
    client.link.send('watchScheduler', { request: 1, on: true });
    const watched = await waitFor('the answer', () =>
      client.received.find(({ type }) => type === 'watched')
    );
    expect(watched.fields).toMatchObject({
      request: 1,
      workers: [{ id: 0, name: 'worker-0' }],
      clients: [0]
    });
    const guest = await wire.guest();
    guest.link.destroy();
    const members = (): string[] =>
      happened().flatMap(({ fields }) =>
        fields.members.map(({ what, client: who }) => `${what} ${who}`)
      );
    await waitFor('both', () => members().length === 2);
    expect(members()).toEqual(['add-client 1', 'remove-client 1']);
  });

  it('and does no more is told of nothing', async () => {
    const guest = await wire.guest();
    client.link.send('watchScheduler', { request: 1, on: true });
    guest.link.send('watchScheduler', { request: 1, on: true });
    client.submit('a', {});
    await client.outcome('a');
    client.link.send('watchScheduler', { request: 2, on: false });
    client.submit('b', {});
    await client.outcome('b');
    await waitFor('the guest is told of b', () => paths(guest).has('b-1'));
    expect([...paths().keys()]).toEqual(['a-1']);
  });
});
