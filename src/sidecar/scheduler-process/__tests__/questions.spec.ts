import { NONE_U16, NONE_U32 } from '../../../records/enumerations';
import { TaskState } from '../../../scheduler';
import { waitFor } from '../../../testing/wait-for';
import type { WireClient } from '../../../testing/wire-client';
import { WireCluster } from '../../../testing/wire-cluster';
import { TASK_STATE_WORDS } from '../../../wire/task-states';
import type { Message } from '../../../wire/schema';

type Answer = Message<'client', 'down', 'answer'>;

it('words are those of the states', () => {
  expect(TASK_STATE_WORDS.map(word => word.replace('-', ''))).toEqual(
    Object.values(TaskState)
      .filter(name => typeof name === 'string' && name !== 'Forgotten')
      .map(name => String(name).toLowerCase())
  );
});

describe('questions about tasks', () => {
  let wire: WireCluster;
  let client: WireClient;

  beforeEach(async () => {
    wire = await WireCluster.start({ nWorkers: 2 });
    client = wire.owner;
  });

  afterEach(() => wire.end());

  let request = 0;

  async function ask(
    fields: Partial<Message<'client', 'up', 'question'>['fields']>,
    ids: number[] = []
  ): Promise<Answer> {
    const own = ++request;
    client.link.send(
      'question',
      { request: own, ...fields, ...{ states: [...(fields.states ?? [])] } },
      { ids: { id: ids } }
    );
    return waitFor('the answer', () =>
      client.received.find(
        (m): m is Answer => m.type === 'answer' && m.fields.request === own
      )
    );
  }

  /** Key → [its ids, worker that runs it, bytes, holders] */
  function told({ tables, blobs }: Answer): Record<string, unknown[]> {
    const { tasks, holders } = tables;
    const found: Record<string, unknown[]> = {};
    for (let row = 0; row < tasks.rows; row++) {
      const key = Buffer.from(
        blobs[0]!.subarray(tasks.keyStart[row], tasks.keyEnd[row])
      ).toString();
      const held = [...holders.worker].filter((_, k) => holders.row[k] === row);
      found[`${tasks.id[row]} ${key}`] = [
        tasks.worker[row],
        tasks.nbytes[row],
        held
      ];
    }
    return found;
  }

  it('tells of all, of those in some states, and of those at a worker', async () => {
    client.submit('a -> b', { want: 'a b', does: { b: 'hold' } });
    const { worker } = await client.outcome('a');
    const held = await waitFor('b runs', () =>
      wire.workers.find(each => each.held.length === 1)
    );
    const a = [NONE_U16, 'result of 0'.length, [worker]];
    const b = [held.id, -1, []];
    expect(told(await ask({}))).toEqual({ '0 a-1': a, '1 b-1': b });
    expect(told(await ask({ states: ['memory'] }))).toEqual({ '0 a-1': a });
    expect(told(await ask({ states: ['processing', 'erred'] }))).toEqual({
      '1 b-1': b
    });
    expect(told(await ask({ worker: held.id }))).toEqual({
      ...(worker === held.id ? { '0 a-1': a } : {}),
      '1 b-1': b
    });
    expect(told(await ask({ worker: 77 }))).toEqual({});
    held.letGo();
    await client.outcome('b');
    expect(told(await ask({ states: ['processing'] }))).toEqual({});
  });

  it('tells of those that are named, under their names, and of unknown ones', async () => {
    client.submit('a', { aliases: { other: 'a' }, want: 'a other' });
    await client.outcome('other');
    const { worker } = await client.outcome('a');
    const place = [NONE_U16, 11, [worker]];
    expect(told(await ask({ named: true }, [1, 999, 1]))).toEqual({
      '1 a-1': place,
      '999 ': [NONE_U16, -1, []]
    });
    expect(told(await ask({}))).toEqual({ '0 a-1': place, '1 a-1': place });
    const unknown = await ask({ named: true }, [999]);
    expect(unknown.tables.tasks.taskId[0]).toBe(NONE_U32);
    client.release('other');
    expect(told(await ask({}))).toEqual({ '0 a-1': place });
  });

  it('answers in pages, which together tell of each task once', async () => {
    const count = 4_200;
    const names = Array.from({ length: count }, (_, i) => `t${i}`);
    client.submit(names.join(' '), { want: names.join(' ') });
    await client.outcome(names.at(-1)!);
    const ids: number[] = [];
    let pages = 0;
    let next: number | null = 0;
    while (next !== null) {
      const answer: Answer = await ask({ after: next });
      pages++;
      ids.push(...answer.tables.tasks.id);
      next = answer.fields.next;
      expect(answer.tables.tasks.rows).toBeLessThanOrEqual(4096);
    }
    expect(pages).toBe(2);
    expect(ids.sort((a, b) => a - b)).toEqual(names.map((_, i) => i));
    const all = names.map((_, i) => i);
    const first = await ask({ named: true }, all);
    expect(first.fields.next).toBe(4096);
    const last = await ask({ named: true, after: 4096 }, all);
    expect([...last.tables.tasks.id]).toEqual(all.slice(4096));
    expect(last.fields.next).toBeNull();
    const beyond = await ask({ after: 0xffff_fff0 });
    expect([beyond.tables.tasks.rows, beyond.fields.next]).toEqual([0, null]);
  });

  it('tells how a task was moved, not the one before it under its number', async () => {
    client.submit('a');
    await client.outcome('a');
    client.release('a');
    expect(told(await ask({}))).toEqual({});
    client.submit('b');
    await client.outcome('b');
    const { story } = (await ask({ about: 'story' }, [1, 999])).fields;
    expect(story.map(({ id, from, to }) => [id, from, to])).toEqual([
      [1, 'Released', 'Waiting'],
      [1, 'Waiting', 'Queued'],
      [1, 'Queued', 'Processing'],
      [1, 'Processing', 'Memory']
    ]);
    const events = story.map(({ event }) => event);
    expect(events).toEqual([...events].sort((a, b) => a - b));
  });

  it('refuses a state that there is not', async () => {
    client.link.send(
      'question',
      { request: 1, states: ['nonsense' as 'memory'] },
      { ids: { id: [] } }
    );
    const { fields } = await client.message('problem');
    expect(fields.request).toBe(1);
    expect(fields.sentence).toMatch(/"question".*states/u);
    expect(client.isClosed).toBe(false);
  });
});
