import { emptyCluster } from '../../../testing/observed-cluster';
import { drawBlocks } from '../../../testing/run-from-text';
import { waitFor } from '../../../testing/wait-for';
import { answerVersion, type Answer } from '../answers';
import type { ClusterEntry } from '../clusters';
import { RunningWatch } from '../watch';
import { encoded } from './observer-fixture';

const drawn = drawBlocks('0/0 aaaa');
const blocks = drawn.map(encoded);

/** A block with another run, the `n`th after those of the drawing. */
function more(n: number): Uint8Array {
  const runs = drawn.find(({ table }) => table === 'runs')!;
  runs.columns['run']![0] = 100 + n;
  return encoded({ ...runs, seq: blocks.length + n });
}

/** A watch whose answers are made by hand. */
class WatchFixture {
  readonly cluster = emptyCluster();
  canSend = true;
  isFull = false;
  readonly asked: number[] = [];
  readonly sent: number[] = [];
  readonly failures: string[] = [];
  isDone = false;
  readonly watch: RunningWatch;

  /** @param cost - what the watch is told that an answer cost, in milliseconds. */
  constructor(request: { maxHz: number; afterSeq?: number }, cost = 0) {
    const entry = {
      cluster: this.cluster,
      answers: {
        get: (_question: unknown, _urgent: boolean, afterSeq = 0) => {
          this.asked.push(afterSeq);
          return Promise.resolve({
            version: answerVersion(this.cluster, 'tasks'),
            milliseconds: cost
          } as Answer);
        }
      }
    } as unknown as ClusterEntry;
    this.watch = new RunningWatch(
      { id: 1, view: 'tasks', filter: {}, time: 'all', params: {}, ...request },
      entry,
      {
        snapshot: (_id, seq) => {
          if (!this.canSend) {
            throw new Error('too long');
          }
          this.sent.push(seq);
        },
        failure: (_id, sentence) => this.failures.push(sentence),
        done: () => (this.isDone = true),
        isFull: () => this.isFull,
        owner: this
      }
    );
  }
}

describe('a watch', () => {
  let fixture: WatchFixture;
  afterEach(() => {
    fixture.watch.dispose();
    jest.useRealTimers();
  });

  it('answers a change at once, however long the answer before it rests', async () => {
    fixture = new WatchFixture({ maxHz: 60 }, 3_600_000);
    await waitFor('the first answer', () => fixture.sent.length === 1);
    fixture.watch.ack(1);
    // The next answer is due in four hours.
    fixture.cluster.take(blocks);
    fixture.watch.change({ time: { last: 1 } });
    await waitFor('an answer', () => fixture.sent.length === 2);
  });

  it('asks for no other answer when nothing changes that the view depends on', async () => {
    fixture = new WatchFixture({ maxHz: 60 });
    await waitFor('the first answer', () => fixture.sent.length === 1);
    const { length } = fixture.asked;
    for (const params of [{ colourBy: 'kind' }, { sort: 7 }, { limit: NaN }]) {
      fixture.watch.change({ params, time: 'all' });
    }
    expect(fixture.asked).toHaveLength(length);
    fixture.watch.change({ params: { sort: 'duration' } });
    await waitFor('an answer', () => fixture.sent.length === 2);
    expect(fixture.asked).toHaveLength(length + 1);
  });

  it('answers the former question again after a change that was refused', async () => {
    fixture = new WatchFixture({ maxHz: 60 });
    await waitFor('the first answer', () => fixture.sent.length === 1);
    fixture.watch.ack(1);
    fixture.watch.refuseChange();
    fixture.watch.change({ params: {}, time: 'all' });
    await waitFor('an answer', () => fixture.sent.length === 2);
  });

  it('answers nothing between a change that was refused and the next', async () => {
    fixture = new WatchFixture({ maxHz: 60 });
    fixture.watch.refuseChange();
    fixture.cluster.take(blocks);
    await new Promise(resolve => setImmediate(resolve));
    expect(fixture.asked).toHaveLength(1);
    expect(fixture.sent).toEqual([]);
    fixture.watch.change({});
    await waitFor('an answer', () => fixture.sent.length === 1);
  });

  it('does not say of a block that is there that it did not arrive', async () => {
    jest.useFakeTimers();
    for (const hold of ['refused', 'full'] as const) {
      fixture = new WatchFixture({ maxHz: 4, afterSeq: blocks.length });
      if (hold === 'refused') {
        fixture.watch.refuseChange();
      } else {
        fixture.isFull = true;
      }
      fixture.cluster.take(blocks);
      await jest.advanceTimersByTimeAsync(30_000);
      expect(fixture.failures).toEqual([]);
      fixture.isFull = false;
      fixture.watch.change({ time: { last: 1 } });
      await jest.advanceTimersByTimeAsync(0);
      expect(fixture.sent).toEqual([1]);
      fixture.watch.dispose();
    }
  });

  it('waits for its block anew after a change that was refused', async () => {
    jest.useFakeTimers();
    fixture = new WatchFixture({ maxHz: 4, afterSeq: blocks.length });
    fixture.watch.refuseChange();
    await jest.advanceTimersByTimeAsync(30_000);
    expect(fixture.failures).toEqual([]);
    fixture.watch.change({ params: {} });
    await jest.advanceTimersByTimeAsync(10_000);
    expect(fixture.failures).toEqual([
      expect.stringContaining('did not arrive within 10 s')
    ]);
  });

  it('ends as a query with a change that is refused', async () => {
    jest.useFakeTimers();
    for (const afterSeq of [0, blocks.length]) {
      fixture = new WatchFixture({ maxHz: 0, afterSeq });
      fixture.watch.refuseChange();
      expect(fixture.isDone).toBe(true);
      await jest.advanceTimersByTimeAsync(30_000);
      expect([fixture.sent, fixture.failures]).toEqual([[], []]);
    }
  });

  it('sends two answers before the first is acknowledged, whatever else is', async () => {
    jest.useFakeTimers();
    fixture = new WatchFixture({ maxHz: 60 });
    fixture.watch.ack(99);
    for (let n = 0; n < 5; n++) {
      fixture.cluster.take(n === 0 ? blocks : [more(n)]);
      await jest.advanceTimersByTimeAsync(2000);
    }
    expect(fixture.sent).toEqual([1, 2]);
    fixture.watch.ack(1);
    await jest.advanceTimersByTimeAsync(2000);
    expect(fixture.sent).toEqual([1, 2, 3]);
  });

  it('goes on after answers that could not be sent', async () => {
    jest.useFakeTimers();
    fixture = new WatchFixture({ maxHz: 60 });
    fixture.canSend = false;
    for (let n = 0; n < 3; n++) {
      fixture.cluster.take(n === 0 ? blocks : [more(n)]);
      await jest.advanceTimersByTimeAsync(2000);
      expect(fixture.failures).toHaveLength(n + 1);
    }
    fixture.canSend = true;
    fixture.cluster.take([more(3)]);
    await jest.advanceTimersByTimeAsync(2000);
    expect(fixture.sent).toEqual([1]);
  });

  it('waits for its block no longer than until it is there', async () => {
    jest.useFakeTimers();
    fixture = new WatchFixture({ maxHz: 4, afterSeq: blocks.length });
    fixture.cluster.take(blocks);
    await jest.advanceTimersByTimeAsync(30_000);
    expect(fixture.asked[0]).toBe(blocks.length);
    expect(fixture.sent).toContain(1);
    expect(fixture.failures).toEqual([]);
  });

  it('makes nothing for a page that does not read, and the newest when it does', async () => {
    fixture = new WatchFixture({ maxHz: 60 });
    await waitFor('the first answer', () => fixture.sent.length === 1);
    fixture.isFull = true;
    const { length } = fixture.asked;
    for (let n = 0; n < 100; n++) {
      fixture.watch.change({ time: { last: n + 1 } });
    }
    expect(fixture.asked).toHaveLength(length);
    fixture.isFull = false;
    fixture.watch.wake();
    await waitFor('an answer', () => fixture.sent.length === 2);
    expect(fixture.asked).toHaveLength(length + 1);
  });

  it('says so when its block does not come', async () => {
    jest.useFakeTimers();
    fixture = new WatchFixture({ maxHz: 0, afterSeq: blocks.length });
    await jest.advanceTimersByTimeAsync(10_000);
    expect(fixture.failures).toEqual([
      expect.stringContaining('did not arrive within 10 s')
    ]);
  });
});
