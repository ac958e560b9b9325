import { waitFor } from '../../../testing/wait-for';
import type { WireClient } from '../../../testing/wire-client';
import { WireCluster } from '../../../testing/wire-cluster';
import type { Message } from '../../../wire/schema';
import { NONE, TaskState } from '../../../scheduler';
import { Follows } from '../follows';

type Followed = Message<'client', 'down', 'followed'>;
type Fields = Partial<Message<'client', 'up', 'follow'>['fields']>;

/** What is not 0 of a group. */
type Counts = Record<string, number>;

describe('tasks that a client follows', () => {
  let wire: WireCluster;
  let client: WireClient;
  let request = 0;

  beforeEach(async () => {
    wire = await WireCluster.start({ nWorkers: 2 });
    client = wire.owner;
  });

  afterEach(() => wire.end());

  async function follow(
    what: 'open' | 'keys' | 'group' | 'count',
    fields: Fields = {},
    ids: number[] = [],
    group: number[] = []
  ): Promise<Followed> {
    const own = ++request;
    client.link.send(
      'follow',
      { number: 1, ...fields, request: own, what },
      { ids: { id: ids }, groups: { group } }
    );
    return waitFor('how far they are', () =>
      client.received.find(
        (m): m is Followed => m.type === 'followed' && m.fields.request === own
      )
    );
  }

  function counts({ tables: { groups } }: Followed): Counts[] {
    const { rows, start, end, span, ...columns } = groups;
    void [start, end, span];
    return Array.from({ length: rows }, (_, row) =>
      Object.fromEntries(
        Object.entries(columns)
          .map(([name, column]) => [name, column[row]!] as const)
          .filter(([, count]) => count > 0)
      )
    );
  }

  function names({ tables: { groups, keys }, blobs }: Followed): string[] {
    const { rows, start, end } = groups.rows > 0 ? groups : keys;
    return Array.from({ length: rows }, (_, row) =>
      Buffer.from(blobs[0]!.subarray(start[row], end[row])).toString()
    );
  }

  it('are those that it names and all that they need, by prefix', async () => {
    client.submit('a b -> c -> d', { does: { c: 'hold' } });
    const held = await waitFor('c runs', () =>
      wire.workers.find(each => each.held.length === 1)
    );
    const opened = await follow('open', {}, [client.id('d')]);
    expect(opened.fields.tasks).toBe(4);
    const byName = (answer: Followed): Counts[] =>
      ['a', 'b', 'c', 'd'].map(
        name => counts(answer)[names(opened).indexOf(name)]!
      );
    const done = { total: 1, done: 1 };
    expect(byName(opened)).toEqual([
      done,
      done,
      { total: 1, running: 1 },
      { total: 1 }
    ]);
    held.letGo();
    await client.outcome('d');
    // What the first ones held is gone by now.
    expect(byName(await follow('count'))).toEqual([done, done, done, done]);
    client.release('d');
    expect(byName(await follow('count'))).toEqual([done, done, done, done]);
  });

  it('are fewer without what is there', async () => {
    client.submit('a -> b', { want: 'a b', does: { b: 'hold' } });
    await client.outcome('a');
    await waitFor('b runs', () =>
      wire.workers.some(each => each.held.length === 1)
    );
    const opened = await follow('open', { complete: false }, [0, 1]);
    expect(names(opened)).toEqual(['b']);
  });

  it('are grouped by span, or as the client says once it has the keys', async () => {
    client.submit('a -> b -> c');
    await client.outcome('c');
    const bySpan = await follow('open', { by: 'span' }, [2]);
    expect([...bySpan.tables.groups.span]).toEqual([3]);
    expect(counts(bySpan)).toEqual([{ total: 3, done: 3 }]);
    expect(counts(await follow('open', { by: 'task' }, [2]))).toEqual([]);
    const { fields, ...page } = await follow('keys');
    expect(fields.next).toBeNull();
    expect(names({ fields, ...page } as Followed)).toEqual([
      'c-1',
      'b-1',
      'a-1'
    ]);
    expect(counts(await follow('group', {}, [], [1, 0, 1]))).toEqual([
      { total: 1, done: 1 },
      { total: 2, done: 2 }
    ]);
  });

  it('tells failed ones with their error, those given up and those nobody needs apart', async () => {
    client.submit('a -> x', { does: { a: 'raise' } });
    await client.outcome('x');
    const failed = await follow('open', {}, [client.id('x')]);
    expect(counts(failed)).toEqual([
      { total: 1, failed: 1 },
      { total: 1, failed: 1 }
    ]);
    expect(failed.fields.error).toMatchObject({ key: 'a-1' });
    client.submit('c -> d -> e', { does: { c: 'hold' } });
    await waitFor('c runs', () =>
      wire.workers.find(each => each.held.length === 1)
    );
    await follow('open', { number: 2 }, [client.id('e')]);
    client.link.send('cancel', {}, { ids: { id: [client.id('e')] } });
    // Their ids are given back, and others have them.
    client.submit('f g h', { want: 'f g h' });
    await client.outcome('h');
    const given = await follow('count', { number: 2 });
    expect(
      counts(given).reduce((sum, each) => sum + (each.cancelled ?? 0), 0)
    ).toBe(3);
  });

  it('have failed, or were skipped, also once they are forgotten', async () => {
    client.submit('a b -> c', { does: { a: 'raise', b: 'hold' } });
    await client.outcome('c');
    const opened = await follow('open', { by: 'span' }, [client.id('c')]);
    const ended = [{ total: 3, failed: 2, skipped: 1 }];
    expect(counts(opened)).toEqual(ended);
    client.release('c');
    // Their ids are given back, and others have them.
    client.submit('d e f', { want: 'd e f' });
    await client.outcome('f');
    const later = await follow('count');
    expect(counts(later)).toEqual(ended);
    expect(later.fields.error).toMatchObject({ key: 'a-1' });
  });

  it('answers what it does not know, and refuses what is too much', async () => {
    const opened = await follow('open', {}, [7, 8]);
    expect([...opened.tables.unknown.id]).toEqual([7, 8]);
    expect(opened.fields.tasks).toBe(0);
    expect((await follow('count', { number: 9 })).fields.refused).toMatch(
      'does not follow'
    );
    for (let number = 2; number <= 64; number++) {
      await follow('open', { number });
    }
    const more = await follow('open', { number: 65 });
    expect(more.fields.refused).toMatch('Close others first');
    const close = { number: 2, what: 'close', request: 0 } as const;
    client.link.send('follow', close, {
      ids: { id: [] },
      groups: { group: [] }
    });
    expect((await follow('open', { number: 65 })).fields.refused).toBe('');
  });

  it('leaves out what groups other tasks than there are, and says of which request', async () => {
    client.submit('a');
    await client.outcome('a');
    await follow('open', { by: 'task' }, [0]);
    client.link.send(
      'follow',
      { request: 99, what: 'group', number: 1 },
      { ids: { id: [] }, groups: { group: [0, 1] } }
    );
    const { fields } = await client.message('problem');
    expect(fields.request).toBe(99);
    expect(counts(await follow('group', {}, [], [0]))).toEqual([
      { total: 1, done: 1 }
    ]);
  });
});

/** Eight tasks without inputs that a client follows, and no cluster. */
function followed(mostTasks?: number) {
  const tasks = {
    capacity: 8,
    state: new Uint8Array(8).fill(TaskState.Released),
    reason: new Uint8Array(8),
    firstInput: new Int32Array(8),
    edges: { dependent: new Int32Array(1).fill(NONE) },
    hadResult: () => false
  };
  const ids = {
    outer: (task: number) => task,
    resolve: (id: number) => (tasks.state[id] === TaskState.Forgotten ? -1 : id)
  };
  const rows = { ids, functionId: new Uint32Array(8) };
  const follows = new Follows({ core: { tasks }, rows } as never, mostTasks);
  const sent: Followed['fields'][] = [];
  const link = { send: (_: string, fields: never) => sent.push(fields) };
  const own = { client: 0, resolve: (id: number) => id };
  const ask = (what: string, number: number, id: number[] = []): void =>
    follows.take(
      {
        fields: { request: 0, what, number, by: 'task', complete: true },
        tables: { ids: { id } }
      } as never,
      own as never,
      {} as never,
      link as never
    );
  const forget = (task: number): void => {
    follows.forgotten(task as never);
    tasks.state[task] = TaskState.Forgotten;
  };
  return { follows, sent, ask, forget };
}

it('keeps nothing of the tasks of a bar that is closed while another is open', () => {
  const { follows, ask, forget } = followed();
  ask('open', 1, [0, 3]);
  ask('open', 2, [1, 2, 4]);
  [1, 2, 3].forEach(forget);
  expect(follows['_ends'].size).toBe(3);
  ask('close', 2);
  expect([...follows['_ends'].keys()]).toEqual([3]);
  expect([...follows['_marks']]).toEqual([1, 0, 0, 0, 0, 0, 0, 0]);
  ask('open', 1, [5]);
  expect(follows['_ends'].size).toBe(0);
  expect([...follows['_marks']]).toEqual([0, 0, 0, 0, 0, 1, 0, 0]);
  follows.clientLeft(0);
  expect(follows['_marks'].length).toBe(0);
});

it('goes on following what a bar shows if it is not let open with more', () => {
  const { sent, ask } = followed(2);
  ask('open', 1, [0, 1]);
  ask('open', 1, [0, 1, 2]);
  expect(sent.at(-1)!.refused).toMatch('Close others first');
  ask('count', 1);
  expect(sent.at(-1)).toMatchObject({ tasks: 2 });
  expect(sent.at(-1)!.refused ?? '').toBe('');
  ask('open', 1, [2, 3]);
  expect(sent.at(-1)!.refused ?? '').toBe('');
});
