import * as fc from 'fast-check';
import { waitFor } from '../../../testing/wait-for';
import { WireClient } from '../../../testing/wire-client';
import { WireCluster } from '../../../testing/wire-cluster';
import { CLIENT_LINK } from '../../../wire/client-link';
import type { ClusterState } from '../cluster-state';

const secret = Buffer.alloc(32, 7);
const OK = 1;
const ERRED = 2;

const start = (nWorkers = 1): Promise<WireCluster> =>
  WireCluster.start({ nWorkers, stallSeconds: 0.4 });

const stateOf = ({ cluster }: WireCluster): ClusterState =>
  (cluster as unknown as { _state: ClusterState })._state;

describe('clients of one cluster', () => {
  let shared: WireCluster;
  let owner: WireClient;
  let guest: WireClient;

  beforeEach(async () => {
    shared = await start(2);
    owner = shared.owner;
    guest = await shared.guest();
  });

  afterEach(() => shared.end());

  const stored = (): number =>
    shared.workers.reduce((sum, worker) => sum + worker.store.size, 0);

  const held = () => shared.workers.flatMap(worker => worker.held);

  it('may use the same ids, keys, templates and names for different things', async () => {
    owner.submit('a -> b', { want: 'a b' });
    guest.submit('a -> b', { want: 'a b', does: { a: 'raise', b: 'raise' } });
    expect((await owner.outcome('b')).status).toBe(OK);
    expect((await guest.outcome('b')).status).toBe(ERRED);
    expect(guest.id('a')).toBe(owner.id('a'));
    owner.submit('c', { does: { c: 'raise' } });
    guest.submit('c', { does: { c: 'ok' } });
    expect((await owner.outcome('c')).status).toBe(ERRED);
    const c = await guest.outcome('c');
    expect(c.inline).toBe(`result of ${c.taskId}`);
    expect(c.taskId).not.toBe((await owner.outcome('c')).taskId);
  });

  it('are told which results are signs, whatever is reported beside them', async () => {
    // With x all of them may run, and end in one message.
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    const shown = ['b', 'd', 'e', 'g'];
    owner.submit(names.map(name => `x -> ${name}`).join('; '), {
      want: names.join(' '),
      does: { b: 'show', c: 'raise', d: 'show', e: 'show', g: 'show' }
    });
    for (const name of names) {
      const found = await owner.outcome(name);
      expect(found.isSign).toBe(shown.includes(name));
      expect(found.inline).toBe(
        name === 'c' ? null : `result of ${found.taskId}`
      );
    }
  });

  it('release, cancel and try again what is their own alone', async () => {
    owner.submit('a; h', { want: 'a h', does: { h: 'hold' } });
    guest.submit('a; h', { want: 'a h', does: { h: 'hold' } });
    await owner.outcome('a');
    await guest.outcome('a');
    await waitFor('both hold', () => held().length === 2);
    guest.release('a');
    await waitFor('one result', () => stored() === 1);
    guest.link.send('cancel', {}, { ids: { id: [guest.id('h')] } });
    await waitFor('the cancel', () => guest.history.includes('h 4'));
    expect(owner.history).toEqual(['a 1']);
    owner.submit('a -> b');
    expect((await owner.outcome('b')).status).toBe(OK);
  });

  it('are told of tasks that have gone, those too that went in the same turn', async () => {
    owner.submit('w; a; c', { want: 'w a c' });
    await Promise.all(['w', 'a', 'c'].map(name => owner.outcome(name)));
    owner.reports.clear();
    owner.release('w a c');
    owner.want('w');
    owner.adopt('b', 0, owner.id('a'));
    owner.submit('', { want: 'd', aliases: { d: 'c' } });
    for (const name of ['w', 'b', 'd']) {
      expect((await owner.outcome(name)).status).toBe(ERRED);
    }
    owner.reports.clear();
    owner.want('w');
    expect((await owner.outcome('w')).status).toBe(ERRED);
  });

  it('carry spans of their own into the log', async () => {
    // Both number their span 3.
    owner.submit('a', { does: { a: 'hold' } });
    guest.submit('a', { does: { a: 'hold' } });
    await waitFor('both run', () => held().length === 2);
    const spans = held().map(({ span }) => span);
    expect(new Set(spans).size).toBe(2);
    expect(spans).toContain(3);
  });

  it('have one default span for a graph, also if its first part is finished before the next comes', async () => {
    const told = jest.spyOn(stateOf(shared).log, 'spans');
    const closed = () =>
      told.mock.calls
        .flatMap(([, rows]) => rows)
        .filter(row => row.closed !== null)
        .map(({ id, tag }) => [id, tag]);
    const flush = async (request: number) => {
      owner.link.send('flush', { request });
      await waitFor('the flush', () =>
        owner.received.some(
          message =>
            message.type === 'flushed' && message.fields.request === request
        )
      );
    };
    owner.submit('a', { span: 0, last: false });
    await owner.outcome('a');
    await flush(1);
    expect(closed()).toEqual([]);
    owner.submit('b', { span: 0 });
    await owner.outcome('b');
    await flush(2);
    expect(closed()).toEqual([[0, 'default']]);
  });

  it('keep data that they put apart, and lose it when they go', async () => {
    guest.scattered('x', 0);
    expect((await guest.outcome('x')).status).toBe(OK);
    const [adopted] = shared.workers.flatMap(w => w.messages('adopt'));
    expect(adopted!.tables.items.client[0]).toBe(1);
    guest.link.destroy();
    await waitFor('what it put is dropped', () =>
      shared.workers.every(worker =>
        worker.messages('discard').some(m => m.fields.clients.includes(1))
      )
    );
  });

  it('lose all that is theirs when they end without a word, and nothing of others', async () => {
    owner.submit('a', { want: 'a' });
    guest.submit('a -> b; h', { want: 'a b h', does: { h: 'hold' } });
    await owner.outcome('a');
    await guest.outcome('b');
    guest.submit('c -> d', { want: 'd', last: false });
    await waitFor('it holds', () => shared.workers.some(w => w.held.length));
    guest.link.destroy();
    await waitFor('one result', () => stored() === 1);
    await waitFor('one task', () => stateOf(shared).core.tasks.size === 1);
    stateOf(shared).core.validateState();
    expect(stateOf(shared).blobs.size).toBe(1);
    owner.submit('a -> e');
    expect((await owner.outcome('e')).status).toBe(OK);
    expect(owner.isClosed).toBe(false);
  });

  it('leave with a word, and the cluster stays', async () => {
    guest.link.send('close', {});
    await guest.message('closed');
    await waitFor('its end', () => guest.isClosed);
    owner.submit('a');
    expect((await owner.outcome('a')).status).toBe(OK);
    const next = await shared.guest();
    next.submit('a');
    expect((await next.outcome('a')).status).toBe(OK);
  });

  it('end the cluster for all if they say so', async () => {
    guest.link.send('close', { cluster: true });
    const { why } = (await owner.message('closed')).fields;
    expect(why).toBe('another of its clients has shut it down');
    expect(await shared.cluster.ended).toBe('closed');
  });

  /** Each field of each message, with what it cannot be. */
  const WRONG: [string, string, unknown][] = Object.entries(
    CLIENT_LINK.up
  ).flatMap(([type, { fields }]) =>
    Object.keys(
      (fields as unknown as { entries: Record<string, unknown> }).entries
    ).flatMap(name =>
      // (a map may hold anything)
      [NaN, -7.5, { of: [1] }, [[{}]], 'x'.repeat(50_000)].map(
        (value): [string, string, unknown] => [type, name, value]
      )
    )
  );

  it('who say what cannot be are told, and what they and others compute goes on', async () => {
    let asked = 0;
    const told = (client: WireClient): number =>
      client.received.filter(({ type }) => type === 'problem').length;
    const isTurnedAway = (client: WireClient): boolean =>
      client.isClosed && client.link.refusal?.by === 'them';
    owner.submit('a');
    await owner.outcome('a');
    const closing = new Set<string>();
    const answered = new Set<string>();
    for (const [type, name, value] of WRONG) {
      const isAccepted = type === 'close' || typeof value === 'string';
      if (isAccepted && type === 'close') {
        continue; // (a text is a reason to close)
      }
      const before = told(guest);
      guest.link.send(type as never, { [name]: value } as never);
      // Whatever it is: something comes back, and all is handled in order.
      guest.link.send('askClock', { sent: ++asked });
      await waitFor(`an answer to ${type}.${name}`, () => {
        const answer = guest.received.some(
          m => m.type === 'clockIs' && m.fields.sent === asked
        );
        return answer || guest.isClosed;
      });
      if (guest.isClosed) {
        expect([type, isTurnedAway(guest)]).toEqual([type, true]);
        closing.add(type);
        guest = await shared.guest();
      } else if (told(guest) > before) {
        answered.add(type);
      }
      expect([type, name, owner.isClosed]).toEqual([type, name, false]);
    }
    expect([...closing].filter(type => answered.has(type))).toEqual([]);
    expect([...answered]).toEqual(
      expect.arrayContaining(['memoryRun', 'logEvent', 'command', 'question'])
    );
    owner.submit('a -> b');
    expect((await owner.outcome('b')).status).toBe(OK);
  });

  it('are told which request cannot be, and the owner stays for it', async () => {
    owner.submit('a');
    await owner.outcome('a');
    owner.link.send('memoryRun', {
      request: 8,
      run: 1,
      label: 2026,
      state: 'start'
    } as never);
    owner.link.send('askEvents', { request: 9, topic: 3 } as never);
    await waitFor(
      'both',
      () => owner.received.filter(({ type }) => type === 'problem').length === 2
    );
    expect(
      owner.received.flatMap(({ type, fields }) =>
        type === 'problem' ? [fields] : []
      )
    ).toEqual([
      expect.objectContaining({
        sentence: expect.stringContaining('"memoryRun": label:') as string,
        request: 8
      }),
      expect.objectContaining({ request: 9 })
    ]);
    owner.submit('a -> b');
    expect((await owner.outcome('b')).status).toBe(OK);
  });

  it('compute on when the owner is turned away, until the last of them leaves', async () => {
    owner.link.send('submit', { names: 3 } as never);
    await waitFor('its end', () => owner.isClosed);
    guest.submit('a');
    expect((await guest.outcome('a')).status).toBe(OK);
    const { sentence } = (await guest.message('problem')).fields;
    expect(sentence).toContain('was turned away for what it said ("submit"');
    guest.link.destroy();
    expect(await shared.cluster.ended).toBe('kernel-ended');
  });

  it('are all told when the owner ends', async () => {
    owner.link.destroy();
    const { why } = (await guest.message('closed')).fields;
    expect(why).toBe('the program that started it has ended');
    expect(await shared.cluster.ended).toBe('kernel-ended');
    await waitFor('the end of the link', () => guest.isClosed);
  });

  it('come only from the environment of the workers, which is told with theirs', async () => {
    const launch = {
      executable: 'another-python',
      path: [],
      cwd: '/',
      versions: { python: '2.7', numpy: '1' }
    };
    await expect(
      WireClient.join(shared.cluster.address, secret, true, launch)
    ).rejects.toThrow(
      /Workers: python, python 3\.11\. Client: another-python, python 2\.7, numpy 1\./
    );
  });

  it('do not take the place of the owner', async () => {
    await expect(
      WireClient.join(shared.cluster.address, secret)
    ).rejects.toThrow(/belongs to another client/);
  });

  it('are told of their own tasks alone', async () => {
    owner.submit('a; b', { want: 'a b' });
    guest.submit('c', { want: 'c' });
    await owner.outcome('b');
    await guest.outcome('c');
    guest.link.send('question', { request: 1 });
    const { tables, blobs } = await guest.message('answer');
    expect(tables.tasks.rows).toBe(1);
    expect(new TextDecoder().decode(blobs[0])).toBe('c-1');
  });

  it('get the answers to their own questions', async () => {
    owner.link.send('flush', { request: 5 });
    guest.link.send('flush', { request: 6 });
    expect((await owner.message('flushed')).fields.request).toBe(5);
    expect((await guest.message('flushed')).fields.request).toBe(6);
    for (const client of [owner, guest]) {
      client.link.send('memoryRun', {
        request: 1,
        run: 1,
        label: 'A',
        // None is due before it is stopped.
        intervalSeconds: 3600,
        state: 'start'
      });
    }
    guest.link.send('memoryRun', { request: 1, run: 1, state: 'stop' });
    await guest.message('memoryRunEnded');
    owner.link.send('memoryRun', { request: 1, run: 1, state: 'stop' });
    const { samples } = (await owner.message('memoryRunEnded')).tables;
    // Its own run was not ended by the guest's.
    expect(samples.rows).toBe(2);
  });

  it('have their folders searched for modules, the owner’s first', async () => {
    const submit = (client: WireClient, path: string[], cwd: string): void =>
      client.link.send('submit', { launch: { path, cwd, modules: [] } });
    submit(owner, ['', '/lib'], '/own');
    submit(guest, ['', '/lib', '/more'], '/guest');
    const launches = () =>
      shared.workers[0]!.messages('assign').map(m => m.fields.launch);
    await waitFor('both', () => launches().at(-1)?.path.length === 4);
    expect(launches().at(-1)).toMatchObject({
      path: ['', '/lib', '/guest', '/more'],
      cwd: '/own'
    });
    guest.link.destroy();
    await waitFor('its end', () => launches().at(-1)?.path.length === 2);
  });

  it('have their folders searched by a new worker before it sets up plugins', async () => {
    guest.link.send('submit', { launch: { path: ['/guest'], cwd: '/' } });
    await waitFor('the folder', () => stateOf(shared).launch !== null);
    const setUp = { request: 1, name: 'p', setUp: true };
    guest.link.send('plugin', setUp, {}, [Uint8Array.of(1)]);
    guest.link.send('command', { request: 2, what: 'scale', count: 3 });
    const third = await waitFor('a third', () => shared.fleet.workers.get(2));
    await waitFor('its plugin', () => third.messages('plugin').length > 0);
    const told = third.received.filter(
      ({ type }) => type === 'plugin' || type === 'assign'
    );
    expect(told.map(({ type }) => type)).toEqual(['assign', 'plugin']);
    expect(third.messages('assign')[0]!.fields.launch?.path).toContain(
      '/guest'
    );
  });

  it('fail what stalls if one that came after the question waits, and another is stopped', async () => {
    owner.waiting = null;
    guest.waiting = null;
    owner.submit('kept');
    await owner.outcome('kept');
    for (const { link } of shared.workers) {
      link.send('state', { paused: true, why: 'full', stalled: true });
    }
    owner.submit('a');
    await owner.message('stalled');
    const late = await shared.guest();
    late.submit('b');
    expect((await late.outcome('b')).status).toBe(ERRED);
  });

  it('fail what stalls if one waits, whatever the others say', async () => {
    owner.waiting = false;
    // As one that is stopped.
    const silent = await shared.guest();
    silent.waiting = null;
    owner.submit('kept');
    await owner.outcome('kept');
    for (const { link } of shared.workers) {
      link.send('state', { paused: true, stalled: true, why: 'it is full' });
    }
    guest.submit('a');
    expect((await guest.outcome('a')).status).toBe(ERRED);
    expect((await owner.outcome('kept')).status).toBe(OK);
  });
});

/** What one of three clients does next. */
type Act =
  | {
      readonly type: 'submit';
      readonly client: number;
      readonly size: number;
      readonly raises: boolean;
      readonly holds: boolean;
    }
  | { readonly type: 'release' | 'again'; readonly client: number }
  | { readonly type: 'go'; readonly client: number; readonly word: boolean }
  | { readonly type: 'step'; readonly client: number };

const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('submit' as const),
      client: fc.nat({ max: 2 }),
      size: fc.integer({ min: 1, max: 4 }),
      raises: fc.boolean(),
      holds: fc.boolean()
    })
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constantFrom('release' as const, 'again' as const),
      client: fc.nat({ max: 2 })
    })
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('go' as const),
      client: fc.integer({ min: 1, max: 2 }),
      word: fc.boolean()
    })
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('step' as const),
      client: fc.constant(0)
    })
  }
);

it('are served as if each were alone, whatever the others do', async () => {
  const shared = await start(2);
  try {
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 40 }), async acts => {
        await play(shared, acts);
      }),
      { numRuns: 40 }
    );
  } finally {
    await shared.end();
  }
});

/** The owner stays from one run to the next, so its names are never used twice. */
let runs = 0;

async function play(shared: WireCluster, acts: readonly Act[]): Promise<void> {
  const run = runs++;
  const clients: WireClient[] = [
    shared.owner,
    await shared.guest(),
    await shared.guest()
  ];
  const expected = new Map<WireClient, Map<string, number>>(
    clients.map(client => [client, new Map()])
  );
  const releaseAll = (client: WireClient): void => {
    const names = [...expected.get(client)!.keys()];
    if (names.length > 0) {
      client.release(names.join(' '));
    }
  };
  let count = 0;
  for (const act of acts) {
    const client = clients[act.client]!;
    const own = expected.get(client)!;
    switch (act.type) {
      case 'submit': {
        // Equal names, ids and templates for all.
        const names = Array.from(
          { length: act.size },
          (_, i) => `r${run}n${count}t${i}`
        );
        count++;
        const first = act.raises ? 'raise' : act.holds ? 'hold' : 'ok';
        client.submit(names.join(' -> '), {
          want: names.join(' '),
          does: { [names[0]!]: first }
        });
        names.forEach(name => own.set(name, act.raises ? ERRED : OK));
        break;
      }
      case 'release':
      case 'again': {
        const [name] = own.keys();
        if (name !== undefined) {
          client.release(name);
          if (act.type === 'again') {
            client.release(name);
            const ids = { ids: { id: [client.id(name)] } };
            client.link.send('cancel', {}, ids);
            client.link.send('retry', {}, ids);
          }
          // Its outcome, and those of the tasks that need it, are not checked.
          const prefix = name.slice(0, name.lastIndexOf('t'));
          for (const each of [...own.keys()]) {
            if (each.startsWith(`${prefix}t`)) {
              client.release(each);
              own.delete(each);
            }
          }
        }
        break;
      }
      case 'go': {
        if (act.word) {
          client.link.send('close', {});
        } else {
          client.link.destroy();
        }
        shared.guests.delete(client);
        clients[act.client] = await shared.guest();
        expected.set(clients[act.client]!, new Map());
        break;
      }
      case 'step':
        shared.workers.forEach(worker => worker.letGo());
        await new Promise(resolve => setImmediate(resolve));
        break;
    }
  }
  for (const client of clients) {
    for (const [name, status] of expected.get(client)!) {
      const found = await waitFor(`${name} of one`, () => {
        shared.workers.forEach(worker => worker.letGo());
        return client.reports.get(name);
      });
      expect([name, found.status]).toEqual([name, status]);
      if (status === OK) {
        expect(found.inline).toBe(`result of ${found.taskId}`);
      }
    }
    expect(client.isClosed).toBe(false);
  }
  stateOf(shared).core.validateState();
  releaseAll(shared.owner);
  clients.slice(1).forEach(client => {
    client.link.destroy();
    shared.guests.delete(client);
  });
  await waitFor('nothing is left', () => {
    shared.workers.forEach(worker => worker.letGo());
    return (
      stateOf(shared).core.tasks.size === 0 &&
      // Only the owner may name templates again: as many as there are things that tasks do.
      stateOf(shared).blobs.size <= 3 &&
      shared.workers.every(worker => worker.store.size === 0)
    );
  });
}
