import fc from 'fast-check';
import type { AcceptedLink } from '../../../link/door';
import { TaskState as SchedulerTaskStates } from '../../../scheduler';
import { waitFor } from '../../../testing/wait-for';
import type { WireClient } from '../../../testing/wire-client';
import { WireCluster } from '../../../testing/wire-cluster';
import type { Message } from '../../../wire/schema';

import { SchedulerWatchers } from '../scheduler-watchers';
import type { Happening, TaskEvents } from '../task-events';

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
        fields.members
          .filter(({ what }) => what !== 'log-event')
          .map(({ what, client: who }) => `${what} ${who}`)
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

/** A link that keeps what it was sent. */
class Kept {
  queuedBytes = 0;
  readonly sent: Sent[] = [];
  readonly link = this as unknown as AcceptedLink<'client'>;

  send(
    type: string,
    fields: Partial<Sent['fields']>,
    tables: Sent['tables'],
    blobs: readonly Uint8Array[] = []
  ): void {
    expect(type).toBe('happened');
    this.sent.push({
      fields: { lost: false, members: [], graphs: [], ...fields },
      tables,
      blobs
    });
  }

  get isLost(): boolean {
    return this.sent.some(({ fields }) => fields.lost);
  }
}

type Sent = {
  readonly fields: {
    readonly lost: boolean;
    readonly members: readonly { before: number; topic: string }[];
    readonly graphs: readonly {
      before: number;
      order: number;
      firstTask: number;
    }[];
  };
  readonly tables: {
    readonly moves: { readonly key: readonly number[] };
    readonly tasks: { readonly key: readonly number[] };
    readonly keys: { readonly end: readonly number[] };
  };
  readonly blobs: readonly Uint8Array[];
};

/** The names of what a message tells, in order, as `before` and `order` have it. */
function namesIn({ fields, tables, blobs }: Sent): string[] {
  const { members, graphs } = fields;
  const keyOf = (key: number): string =>
    Buffer.from(
      blobs[0]!.subarray(
        key === 0 ? 0 : tables.keys.end[key - 1]!,
        tables.keys.end[key]
      )
    ).toString();
  const names: string[] = [];
  let member = 0;
  let graph = 0;
  for (let row = 0; row <= tables.moves.key.length; row++) {
    for (;;) {
      const next = graphs[graph];
      if (next?.before === row && next.order <= member) {
        names.push(keyOf(tables.tasks.key[next.firstTask]!));
        graph++;
      } else if (members[member]?.before === row) {
        names.push(members[member]!.topic);
        member++;
      } else {
        break;
      }
    }
    if (row < tables.moves.key.length) {
      names.push(keyOf(tables.moves.key[row]!));
    }
  }
  return names;
}

const KINDS = {
  move: {
    what: 'move',
    from: 0,
    to: 1,
    worker: -1,
    t: 0,
    stimulus: 's',
    run: null,
    failure: null
  },
  graph: {
    what: 'graph',
    client: 1,
    stimulus: 's',
    generation: 0,
    inputs: [[]],
    places: [0],
    wanted: [1],
    event: { restrictionSets: [] }
  },
  member: {
    what: 'log-event',
    client: 1,
    worker: null,
    why: '',
    isExpected: true,
    stimulus: 's',
    content: null
  }
} as const;

function happeningOf(kind: keyof typeof KINDS, name: string): Happening {
  return {
    ...KINDS[kind],
    key: name,
    keys: [name],
    topic: name
  } as unknown as Happening;
}

/** What watchers are told without a cluster. */
function watchersOf(): {
  readonly watchers: SchedulerWatchers;
  readonly listening: () => boolean;
} {
  let listening = false;
  const events = {
    listen: () => (listening = true),
    unlisten: () => (listening = false),
    flush: () => undefined
  } as unknown as TaskEvents;
  return {
    watchers: new SchedulerWatchers(events),
    listening: () => listening
  };
}

describe('what watchers are sent', () => {
  // A message ends behind 4,096 moves, or as many tasks of graphs.
  const stretch = fc.tuple(
    fc.constantFrom('move', 'graph', 'member'),
    fc.oneof(
      { weight: 6, arbitrary: fc.integer({ min: 1, max: 4 }) },
      { weight: 1, arbitrary: fc.constantFrom(4_095, 4_096, 4_097) }
    )
  );

  it('is all that happened in its order, in batches with a bound, to each client (drawn)', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(stretch, { maxLength: 6 }), { maxLength: 4 }),
        turns => {
          const { watchers } = watchersOf();
          const clients = [new Kept(), new Kept()];
          clients.forEach((kept, i) => watchers.watch(i, kept.link, true));
          const names: string[] = [];
          for (const turn of turns) {
            const happened = turn.flatMap(([kind, count]) =>
              Array.from({ length: count }, () => {
                names.push(`n${names.length}`);
                return happeningOf(kind as keyof typeof KINDS, names.at(-1)!);
              })
            );
            watchers.hear(happened);
          }
          for (const { sent } of clients) {
            // As one text: comparing lists takes Jest seconds.
            expect(sent.flatMap(namesIn).join()).toBe(names.join());
            for (const { tables } of sent) {
              expect(tables.moves.key.length).toBeLessThanOrEqual(4_096);
              expect(tables.tasks.key.length).toBeLessThanOrEqual(4_096);
            }
          }
        }
      ),
      { numRuns: 30 }
    );
  });

  it('ends for a client that leaves more than 64 MiB unread, and goes on for others', () => {
    const { watchers, listening } = watchersOf();
    const [slow, quick] = [new Kept(), new Kept()];
    watchers.watch(0, slow.link, true);
    watchers.watch(1, quick.link, true);
    slow.queuedBytes = 64 * 2 ** 20;
    watchers.hear([happeningOf('move', 'a')]);
    expect(slow.sent.flatMap(namesIn)).toEqual(['a']);
    slow.queuedBytes++;
    watchers.hear([happeningOf('move', 'b')]);
    watchers.hear([happeningOf('move', 'c')]);
    expect(slow.isLost).toBe(true);
    expect(slow.sent).toHaveLength(2);
    expect(quick.isLost).toBe(false);
    expect(quick.sent.flatMap(namesIn)).toEqual(['a', 'b', 'c']);
    // It may watch again once it has read.
    slow.queuedBytes = 0;
    watchers.watch(0, slow.link, true);
    watchers.hear([happeningOf('move', 'd')]);
    expect(namesIn(slow.sent.at(-1)!)).toEqual(['d']);
    // When the last one is too slow, the scheduler tells nobody.
    [slow, quick].forEach(kept => (kept.queuedBytes = 65 * 2 ** 20));
    watchers.hear([happeningOf('move', 'e')]);
    expect(listening()).toBe(false);
  });
});
