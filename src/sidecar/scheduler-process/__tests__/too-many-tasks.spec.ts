import { waitFor } from '../../../testing/wait-for';
import type { WireClient } from '../../../testing/wire-client';
import { WireCluster } from '../../../testing/wire-cluster';

describe('a cluster with room for six tasks', () => {
  let wire: WireCluster;
  let client: WireClient;

  beforeEach(async () => {
    wire = await WireCluster.start({ mostTasks: 6 });
    client = wire.owner;
  });

  afterEach(() => wire.end());

  const errors = (): string[] =>
    client.received.flatMap(message =>
      message.type === 'report'
        ? message.fields.errors.map(
            ({ type, message: why }) => type + ' ' + why
          )
        : []
    );
  const status = async (name: string): Promise<number> =>
    (await client.outcome(name)).status;
  const refused = /^TooManyTasks The cluster has room for 6 tasks at a time/;

  it('fails a graph that is larger, and nothing else', async () => {
    client.submit('kept');
    expect(await status('kept')).toBe(1);
    client.submit('kept -> a -> b -> c -> d -> e -> f', { want: 'c f' });
    expect([await status('c'), await status('f')]).toEqual([2, 2]);
    expect(errors()).toEqual([expect.stringMatching(refused)]);
    client.submit('kept -> g -> h -> i -> j -> k');
    expect(await status('k')).toBe(1);
    expect(client.received.some(({ type }) => type === 'problem')).toBe(false);
  });

  it('gives the room back that the first parts of a graph had', async () => {
    client.submit('kept; a; kept -> b -> c', { want: 'kept b c', last: false });
    expect(await status('kept')).toBe(1);
    client.submit('c -> d -> e -> f', { want: 'e f', last: false });
    for (const name of ['b', 'c', 'e', 'f']) {
      expect(await status(name)).toBe(2);
    }
    client.submit('f -> g; h', { want: 'g h', does: { h: 'raise' } });
    expect([await status('g'), await status('h')]).toEqual([2, 2]);
    expect(errors()).toHaveLength(3);
    errors().forEach(error => expect(error).toMatch(refused));
    // Released in the same turn in which their room is needed; what was named in refused parts is known.
    client.release('b c e f g h');
    client.submit('kept -> i -> j -> k -> l -> m', {
      want: 'm',
      does: { i: 'ok', m: 'raise' }
    });
    expect(await status('m')).toBe(2);
    expect(errors().at(-1)).toBe('ValueError boom');
  });

  it('counts no aliases of what is there, or comes with them', async () => {
    client.submit('kept');
    expect(await status('kept')).toBe(1);
    client.submit('kept -> a -> b -> c -> d', {
      want: 'd x y z',
      aliases: { x: 'kept', y: 'd', z: 'y' }
    });
    for (const name of ['d', 'x', 'y', 'z']) {
      expect(await status(name)).toBe(1);
    }
    expect(errors()).toEqual([]);
    expect(client.isClosed).toBe(false);
  });

  it('counts aliases of what is gone', async () => {
    client.submit('gone', { want: 'gone' });
    expect(await status('gone')).toBe(1);
    client.release('gone');
    client.submit('a b c d e', { want: 'a b c d e' });
    expect(await status('e')).toBe(1);
    client.submit('', { want: 'x y', aliases: { x: 'gone', y: 'gone' } });
    expect([await status('x'), await status('y')]).toEqual([2, 2]);
    expect(errors()).toEqual([expect.stringMatching(refused)]);
    client.submit('', { want: 'z', aliases: { z: 'gone' } });
    expect(await status('z')).toBe(2);
    expect(errors().at(-1)).not.toMatch(refused);
    expect(client.isClosed).toBe(false);
  });

  it('fails data for which there is no room', async () => {
    client.submit('a b c d e f', { want: 'a b c d e f' });
    expect(await status('f')).toBe(1);
    client.scattered('x', 0);
    expect(await status('x')).toBe(2);
    client.release('a b');
    client.scattered('y', 0);
    client.submit('y -> z');
    expect(await status('z')).toBe(1);
  });

  it('says of a refused task that is tried again that it is not there', async () => {
    client.submit('a -> b -> c -> d -> e -> f -> g');
    expect(await status('g')).toBe(2);
    client.reports.clear();
    client.retry('g');
    expect(await status('g')).toBe(2);
    expect(errors().at(-1)).toMatch(/^LostTask .* Submit it again\.$/);
  });

  it('counts ids of graphs that it refused, however many', async () => {
    const ids = (from: number): number[] =>
      Array.from({ length: 4 }, (_, i) => from + i * 1_000_000);
    for (let i = 0; i < 3; i++) {
      sendRows(client, i, [
        ...ids(i * 4_000_000),
        i * 4_000_000 + 7,
        i * 4_000_000 + 8,
        i * 4_000_000 + 9
      ]);
    }
    await waitFor('three refusals', () => errors().length === 3);
    expect(client.isClosed).toBe(false);
  });
});

/** A graph of tasks without inputs, by their ids. */
function sendRows(
  client: WireClient,
  generation: number,
  id: readonly number[]
): void {
  const zeros = id.map(() => 0);
  const none = id.map(() => 0xffffffff);
  client.link.send(
    'submit',
    {
      generation,
      firstName: 0,
      names: ['f'],
      spans: [],
      templates: [{ id: 0, blob: 1 }],
      keysBlob: 0
    },
    {
      tasks: {
        id: [...id],
        group: zeros,
        suffix: zeros,
        function: zeros,
        span: zeros,
        origin: zeros,
        template: zeros,
        chunk: none,
        row: zeros,
        flags: id.map(() => 1),
        retries: zeros,
        restriction: zeros,
        userPriority: zeros,
        firstDependency: zeros
      },
      dependencies: { id: [] }
    },
    [new Uint8Array(0), new TextEncoder().encode('ok')]
  );
}
