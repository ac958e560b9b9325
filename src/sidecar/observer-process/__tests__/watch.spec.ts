import { NONE_U32 } from '../../../records/enumerations';
import { emptyCluster } from '../../../testing/observed-cluster';
import { drawBlocks } from '../../../testing/run-from-text';
import { type Row, rowsToBlock } from '../../../testing/rows-to-block';
import { waitFor } from '../../../testing/wait-for';
import type { ViewName } from '../../../wire/panel-link';
import { type Answer, Answers, answerVersion } from '../answers';
import type { ClusterEntry } from '../clusters';
import { RunningWatch } from '../watch';
import { WorkQueue } from '../work-queue';
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
  /** Whether the page acknowledges at once what it is sent. */
  isRead = false;
  isFull = false;
  readonly asked: number[] = [];
  readonly sent: number[] = [];
  /** Numbers of the questions that were answered. */
  readonly answered: number[] = [];
  readonly failures: string[] = [];
  isDone = false;
  readonly watch: RunningWatch;

  /** @param _cost - what the watch is told that an answer cost, in milliseconds. */
  constructor(
    request: { maxHz: number; afterSeq?: number },
    private readonly _cost = 0,
    view: ViewName = 'tasks'
  ) {
    const entry = {
      cluster: this.cluster,
      answers: {
        get: (_question: unknown, _urgent: boolean, afterSeq = 0) => {
          this.asked.push(afterSeq);
          return Promise.resolve({
            version: answerVersion(this.cluster, view),
            milliseconds: this._cost,
            at: Date.now()
          } as Answer);
        }
      }
    } as unknown as ClusterEntry;
    this.watch = new RunningWatch(
      {
        id: 1,
        question: 0,
        view,
        filter: {},
        time: 'all',
        params: {},
        ...request
      },
      entry,
      {
        snapshot: ({ question }, seq) => {
          if (!this.canSend) {
            throw new Error('too long');
          }
          this.sent.push(seq);
          this.answered.push(question);
          if (this.isRead) {
            queueMicrotask(() => this.watch.ack(seq));
          }
        },
        failure: (_id, sentence) => this.failures.push(sentence),
        done: () => (this.isDone = true),
        isFull: () => this.isFull,
        owner: this
      }
    );
  }

  /** The cluster tells what runs on the drawing's thread: nothing, if left out. */
  tellRunning(row: Row = { node: NONE_U32 }): void {
    const seq = this.cluster.store.seq + 1;
    this.cluster.take([encoded(rowsToBlock(seq, 'running', [row]))]);
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
    fixture.watch.change({ question: 0, time: { last: 1 } });
    await waitFor('an answer', () => fixture.sent.length === 2);
  });

  it('asks for no other answer when nothing changes that the view depends on', async () => {
    fixture = new WatchFixture({ maxHz: 60 });
    await waitFor('the first answer', () => fixture.sent.length === 1);
    const { length } = fixture.asked;
    for (const params of [{ colourBy: 'kind' }, { sort: 7 }, { limit: NaN }]) {
      fixture.watch.change({ question: 0, params, time: 'all' });
    }
    expect(fixture.asked).toHaveLength(length);
    fixture.watch.change({ question: 0, params: { sort: 'duration' } });
    await waitFor('an answer', () => fixture.sent.length === 2);
    expect(fixture.asked).toHaveLength(length + 1);
  });

  it('answers the former question again after a change that was refused', async () => {
    fixture = new WatchFixture({ maxHz: 60 });
    await waitFor('the first answer', () => fixture.sent.length === 1);
    fixture.watch.ack(1);
    fixture.watch.refuseChange();
    fixture.watch.change({ question: 0, params: {}, time: 'all' });
    await waitFor('an answer', () => fixture.sent.length === 2);
  });

  it('says which question it answers, and answers each, be it the same', async () => {
    fixture = new WatchFixture({ maxHz: 60 });
    fixture.isRead = true;
    await waitFor('the first answer', () => fixture.sent.length === 1);
    fixture.watch.change({ question: 1, time: { last: 1 } });
    await waitFor('the second answer', () => fixture.sent.length === 2);
    fixture.watch.change({ question: 2, time: { last: 1 } });
    await waitFor('the third answer', () => fixture.sent.length === 3);
    fixture.cluster.take(blocks);
    await waitFor('the fourth answer', () => fixture.sent.length === 4);
    expect(fixture.answered).toEqual([0, 1, 2, 2]);
  });

  it('answers nothing between a change that was refused and the next', async () => {
    fixture = new WatchFixture({ maxHz: 60 });
    fixture.watch.refuseChange();
    fixture.cluster.take(blocks);
    await new Promise(resolve => setImmediate(resolve));
    expect(fixture.asked).toHaveLength(1);
    expect(fixture.sent).toEqual([]);
    fixture.watch.change({ question: 0 });
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
      fixture.watch.change({ question: 0, time: { last: 1 } });
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
    fixture.watch.change({ question: 0, params: {} });
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
      fixture.watch.change({ question: 0, time: { last: n + 1 } });
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

describe('a watch while tasks run that write no row', () => {
  let fixture: WatchFixture;
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    fixture.watch.dispose();
    jest.useRealTimers();
  });

  /** A watch of a cluster in which one task has begun to run, with what it was sent so far. */
  async function begun(view: ViewName, cost = 0): Promise<WatchFixture> {
    fixture = new WatchFixture({ maxHz: 4 }, cost, view);
    fixture.isRead = true;
    fixture.cluster.take(blocks);
    fixture.tellRunning({ started: 5 });
    await jest.advanceTimersByTimeAsync(cost * 4 + 500);
    fixture.sent.length = 0;
    return fixture;
  }

  it.each<ViewName>(['spans', 'summary', 'task-stream', 'fine-metrics'])(
    'of %s goes on once a second, until none runs',
    async view => {
      const { sent, asked } = await begun(view);
      await jest.advanceTimersByTimeAsync(10_000);
      expect(sent).toHaveLength(10);
      fixture.tellRunning();
      await jest.advanceTimersByTimeAsync(1000);
      expect(sent).toHaveLength(11);
      await jest.advanceTimersByTimeAsync(30_000);
      expect(sent).toHaveLength(11);
      expect(jest.getTimerCount()).toBe(0);
      const { length } = asked;
      fixture.tellRunning({ started: 50 });
      await jest.advanceTimersByTimeAsync(10_500);
      expect(asked).toHaveLength(length + 11);
    }
  );

  it('rests four times as long as an answer took', async () => {
    const { sent } = await begun('fine-metrics', 1000);
    await jest.advanceTimersByTimeAsync(40_000);
    expect(sent).toHaveLength(10);
  });

  it('is answered as soon as rows come', async () => {
    const { sent, cluster } = await begun('fine-metrics');
    await jest.advanceTimersByTimeAsync(1000);
    const { length } = sent;
    await jest.advanceTimersByTimeAsync(300);
    cluster.take([more(2)]);
    await jest.advanceTimersByTimeAsync(0);
    expect(sent).toHaveLength(length + 1);
  });

  it('does nothing where time changes no figure', async () => {
    const { sent, watch } = await begun('tasks');
    await jest.advanceTimersByTimeAsync(10_000);
    expect(sent).toEqual([]);
    expect(jest.getTimerCount()).toBe(0);
    watch.change({ question: 0, time: { last: 60 } });
    await jest.advanceTimersByTimeAsync(10_000);
    expect(sent).toHaveLength(11);
  });

  it('goes on with a range until that is over', async () => {
    const { sent, watch, cluster } = await begun('fine-metrics');
    watch.change({ question: 0, time: { from: 0, to: cluster.now() + 5.5 } });
    await jest.advanceTimersByTimeAsync(30_000);
    expect(sent).toHaveLength(7);
    watch.change({ question: 0, time: { from: 0, to: cluster.now() - 1 } });
    await jest.advanceTimersByTimeAsync(30_000);
    expect(sent).toHaveLength(8);
  });

  it('makes nothing for a page that does not acknowledge, nor when it has gone', async () => {
    const { asked, sent, watch } = await begun('task-stream');
    fixture.isRead = false;
    await jest.advanceTimersByTimeAsync(30_000);
    expect(sent).toHaveLength(2);
    const { length } = asked;
    watch.dispose();
    await jest.advanceTimersByTimeAsync(30_000);
    expect(asked).toHaveLength(length);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('tells nothing of a cluster that cannot be reached', async () => {
    const { sent, cluster } = await begun('task-stream');
    cluster.linkLost();
    await jest.advanceTimersByTimeAsync(500);
    sent.length = 0;
    await jest.advanceTimersByTimeAsync(30_000);
    expect(sent).toEqual([]);
  });

  it('does not make an answer again that fails', async () => {
    const { asked } = await begun('task-stream');
    fixture.canSend = false;
    await jest.advanceTimersByTimeAsync(1000);
    const { length } = asked;
    await jest.advanceTimersByTimeAsync(30_000);
    expect(fixture.failures).toHaveLength(1);
    expect(asked).toHaveLength(length);
  });

  it('is made once for all that ask the same, and tells how long they run', async () => {
    await begun('fine-metrics');
    const { cluster } = fixture;
    const answers = new Answers(cluster, new WorkQueue());
    const told = new Map<number, number>();
    const watches: RunningWatch[] = [];
    for (const id of [1, 2, 3]) {
      const watch: RunningWatch = new RunningWatch(
        {
          ...{ id, question: 0, view: 'fine-metrics' },
          ...{ filter: {}, time: 'all', params: {} }
        },
        { cluster, answers },
        {
          snapshot: (_id, seq, _logId, { at, result }) => {
            queueMicrotask(() => watch.ack(seq));
            told.set(
              at,
              result.view === 'fine-metrics' ? result.wallSeconds : NaN
            );
          },
          failure: (_id, sentence) => {
            throw new Error(sentence);
          },
          done: () => undefined,
          isFull: () => false,
          owner: {}
        }
      );
      watches.push(watch);
      await jest.advanceTimersByTimeAsync(80);
    }
    await jest.advanceTimersByTimeAsync(5500);
    const seconds = [...told.values()];
    expect(seconds).toHaveLength(6);
    for (const [i, each] of seconds.slice(1).entries()) {
      expect(each - seconds[i]!).toBeCloseTo(1, 1);
    }
    watches.forEach(watch => watch.dispose());
  });
});
