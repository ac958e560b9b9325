import { waitFor } from '../../../testing/wait-for';
import type { WireClient } from '../../../testing/wire-client';
import { WireCluster } from '../../../testing/wire-cluster';
import type { Message } from '../../../wire/schema';

type Ran = Message<'client', 'down', 'ran'>;

describe('runs of the tasks that a client wants', () => {
  let wire: WireCluster;
  let client: WireClient;

  beforeEach(async () => {
    wire = await WireCluster.start({ nWorkers: 1 });
    client = wire.owner;
  });

  afterEach(() => wire.end());

  function ran(of = client): Ran[] {
    return of.received.filter((m): m is Ran => m.type === 'ran');
  }

  /** The name of each task that was told of, and whether it had ended. */
  function told(of = client): [string, boolean][] {
    const names = 'a b c d'.split(' ');
    return ran(of).flatMap(({ tables: { runs } }) =>
      Array.from({ length: runs.rows }, (_, row): [string, boolean] => [
        names.find(name => of.id(name) === runs.id[row])!,
        runs.duration[row]! >= 0
      ])
    );
  }

  it('are told of when they end well, before their results are', async () => {
    client.link.send('watchRuns', { on: true });
    client.submit('a -> b', { want: 'a b c', aliases: { c: 'b' } });
    await client.outcome('b');
    await client.outcome('c');
    expect(told()).toEqual([
      ['a', true],
      ['b', true],
      ['c', true]
    ]);
    const kinds = client.received
      .map(({ type }) => type)
      .filter(type => type === 'ran' || type === 'report');
    expect(kinds[0]).toBe('ran');
    expect(kinds.at(-1)).toBe('report');
    const [{ tables }] = ran() as [Ran];
    expect([...tables.runs.worker]).toContain(0);
    client.submit('d', { does: { d: 'raise' } });
    await client.outcome('d');
    expect(told()).toHaveLength(3);
  });

  it('are told of when they have gone on for a while', async () => {
    client.link.send('watchRuns', { on: true });
    client.submit('a', { does: { a: 'hold' } });
    const worker = await waitFor('a runs', () =>
      wire.workers.find(each => each.held.length === 1)
    );
    const { taskId, runId, functionId, span } = worker.held[0]!;
    const running = (id: number) => ({
      running: {
        thread: [2],
        taskId: [id],
        runId: [runId],
        function: [functionId],
        span: [span],
        started: [12.5]
      }
    });
    worker.link.send('measured', {}, running(taskId));
    const begun = await waitFor('that it has begun', () => ran()[0]);
    const { thread, start, duration } = begun.tables.runs;
    expect([thread[0], start[0], duration[0]]).toEqual([2, 12.5, -1]);
    worker.letGo();
    await client.outcome('a');
    expect(told()).toEqual([
      ['a', false],
      ['a', true]
    ]);
  });

  it('are not told of to who does not want it, or wants it no more', async () => {
    const guest = await wire.guest();
    guest.link.send('watchRuns', { on: true });
    client.submit('a');
    await client.outcome('a');
    guest.submit('b');
    await guest.outcome('b');
    expect(ran()).toEqual([]);
    expect(told(guest)).toEqual([['b', true]]);
    guest.link.send('watchRuns', { on: false });
    guest.submit('c');
    await guest.outcome('c');
    expect(ran(guest)).toHaveLength(1);
    guest.link.send('watchRuns', { on: true });
    guest.link.destroy();
    client.submit('d');
    await client.outcome('d');
    expect(ran()).toEqual([]);
  });
});
