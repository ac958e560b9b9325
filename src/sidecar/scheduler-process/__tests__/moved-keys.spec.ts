import { waitFor } from '../../../testing/wait-for';
import type { WireClient } from '../../../testing/wire-client';
import { WireCluster } from '../../../testing/wire-cluster';
import type { WireWorker } from '../../../testing/wire-worker';
import { monotonicClock } from '../../../link/monotonic';
import type { OuterTaskId } from '../../../records/ids';
import { MovedKeys } from '../moved-keys';

describe('keys of forgotten tasks', () => {
  it('are bounded by their bytes, and hold no text of a submission', () => {
    const keys = new MovedKeys();
    const texts = new Uint8Array(1 << 20);
    for (let i = 0; i < 10; i++) {
      keys.keep(i as OuterTaskId, { group: i, suffix: texts });
    }
    expect(keys.size).toBe(7);
    expect(keys.get(0 as OuterTaskId)).toBeUndefined();
    keys.keep(10 as OuterTaskId, {
      group: 1,
      suffix: texts.subarray(0, 2)
    });
    expect(keys.get(10 as OuterTaskId)!.suffix.buffer.byteLength).toBe(2);
  });
});

describe('keys that a worker asks for', () => {
  let wire: WireCluster;
  let client: WireClient;

  beforeEach(async () => {
    wire = await WireCluster.start({ nWorkers: 1 });
    client = wire.owner;
  });

  afterEach(() => wire.end());

  const theWorker = (): WireWorker => wire.workers[0]!;
  let request = 0;

  async function ask(taskId: number[]): Promise<string[]> {
    const own = ++request;
    theWorker().link.send('askKeys', { request: own }, { ids: { taskId } });
    const answer = await waitFor('the answer', () =>
      theWorker()
        .messages('keys')
        .find(({ fields }) => fields.request === own)
    );
    const now = answer.fields.wallZero + monotonicClock()();
    expect(Math.abs(now - Date.now() / 1000)).toBeLessThan(60);
    return answer.fields.keys;
  }

  async function end(name: string): Promise<void> {
    await client.outcome(name);
    client.release(name);
  }

  it('are those of tasks that are there, and of forgotten ones whose results moved', async () => {
    client.submit('a -> b', { want: 'b', does: { b: 'hold' } });
    await waitFor('b runs', () => theWorker().held.length === 1);
    const [a, b] = theWorker()
      .messages('assign')
      .flatMap(({ tables }) => [...tables.tasks.taskId]);
    theWorker().link.send(
      'replicas',
      {},
      { added: { taskId: [a!], nbytes: [9] }, removed: { taskId: [] } }
    );
    expect(await ask([b!, a!, 77])).toEqual(['b-1', 'a-1', '']);
    theWorker().letGo();
    await end('b');
    await waitFor('both are dropped', () => theWorker().store.size === 0);
    // The client got b's result with the news of its end: it moved from nowhere.
    expect(await ask([a!, b!])).toEqual(['a-1', '']);
    // What it was shown it may have read.
    client.submit('e', { does: { e: 'show' } });
    const e = (await client.outcome('e')).taskId;
    await end('e');
    await waitFor('it is dropped', () => theWorker().store.size === 0);
    expect(await ask([e])).toEqual(['e-1']);
    // Their numbers are another's now, and they keep their keys.
    client.submit('c d');
    await end('d');
    expect(await ask([a!])).toEqual(['a-1']);
  });
});
