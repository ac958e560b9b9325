import { emptyCluster } from '../../../testing/observed-cluster';
import { drawBlocks } from '../../../testing/run-from-text';
import { Answers } from '../answers';
import { NotWanted, WorkQueue } from '../work-queue';
import { encoded } from './observer-fixture';

/** A fold that takes `slices` steps and writes down each. */
function* steps(name: string, slices: number, log: string[]) {
  for (let i = 0; i < slices; i++) {
    log.push(name);
    yield;
  }
  return name;
}

/** The time of folds by a clock that only they move: shares are counted, however busy the machine is. */
class Work {
  milliseconds = 0;
  readonly queue = new WorkQueue(() => this.milliseconds);

  /** A fold of so many milliseconds, in steps of half a one; gives when it was over. */
  *fold(milliseconds: number) {
    for (let done = 0; done < milliseconds; done += 0.5) {
      this.milliseconds += 0.5;
      yield;
    }
    return this.milliseconds;
  }
}

describe('the work queue', () => {
  it('does urgent work first and gives every result to who asked', async () => {
    const queue = new WorkQueue();
    const log: string[] = [];
    const results = await Promise.all([
      queue.run(steps('ordinary', 2, log)),
      queue.run(steps('urgent', 2, log), true)
    ]);
    expect(results.map(({ value }) => value)).toEqual(['ordinary', 'urgent']);
    expect(log).toEqual(['urgent', 'urgent', 'ordinary', 'ordinary']);
  });

  it('lets the sockets be read in between', async () => {
    const work = new Work();
    const readAt: number[] = [];
    let running = true;
    const read = (): void => {
      readAt.push(work.milliseconds);
      if (running) {
        setImmediate(read);
      }
    };
    setImmediate(read);
    const { milliseconds } = await work.queue.run(work.fold(100));
    running = false;
    // 8 ms a turn: twelve whole turns and a half one.
    expect(readAt).toEqual(Array.from({ length: 13 }, (_, turn) => 8 * turn));
    expect(milliseconds).toBe(100);
  });

  it('goes on after a fold that throws', async () => {
    const queue = new WorkQueue();
    const failing = queue.run(
      (function* () {
        yield;
        throw new Error('broken fold');
      })()
    );
    const next = queue.run(steps('next', 1, []));
    await expect(failing).rejects.toThrow('broken fold');
    expect((await next).value).toBe('next');
  });
});

describe('askers', () => {
  const always = () => true;

  it('have their turns one after another, however much one of them asks', async () => {
    const work = new Work();
    const greedy = { owner: {}, isWanted: always };
    const modest = { owner: {}, isWanted: always };
    const all = Array.from({ length: 50 }, () =>
      work.queue.run(work.fold(10), true, greedy)
    );
    const { value } = await work.queue.run(work.fold(10), false, modest);
    // Five shares of 2 ms, and one in which it is found to be over; before each the greedy one had one of its 500 ms.
    expect(value).toBe(10 + 6 * 2);
    await Promise.all(all);
    expect(work.milliseconds).toBe(510);
  });

  it('do a slice at least in each of their turns, however little time is left', async () => {
    // Each look at this clock takes half a millisecond: the third asker's turn begins with the last one of the 8 ms.
    let at = 0;
    const queue = new WorkQueue(() => (at += 0.5));
    const log: string[] = [];
    await Promise.all(
      ['a', 'b', 'c'].map(name =>
        queue.run(steps(name, 8, log), true, { owner: {}, isWanted: always })
      )
    );
    expect(log.slice(0, 7).join('')).toBe('aaabbbc');
  });

  it('are not kept from what is not urgent by what is', async () => {
    const work = new Work();
    const asker = { owner: {}, isWanted: always };
    const urgent = Array.from({ length: 1000 }, () =>
      work.queue.run(work.fold(1), true, asker)
    );
    const { value } = await work.queue.run(work.fold(1), false, asker);
    // Three shares of 2 ms for what is urgent, and the fourth.
    expect(value).toBe(7);
    await Promise.all(urgent);
  });

  it('who have gone have nothing done for them', async () => {
    const work = new Work();
    const { queue } = work;
    const log: string[] = [];
    let isHere = true;
    const asker = { owner: {}, isWanted: () => isHere };
    const first = queue.run(work.fold(20), false, asker);
    const second = queue.run(steps('second', 1, log), false, asker);
    const results = Promise.allSettled([first, second]);
    isHere = false;
    for (const result of await results) {
      expect(result).toMatchObject({
        status: 'rejected',
        reason: expect.any(NotWanted)
      });
    }
    expect(log).toEqual([]);
    // And nothing keeps others from theirs.
    expect((await queue.run(steps('third', 1, log))).value).toBe('third');
  });
});

describe('equal questions', () => {
  it('are computed once, and again only when rows that matter came in', async () => {
    const cluster = emptyCluster();
    const blocks = drawBlocks('0/0 aabb');
    cluster.take(blocks.map(encoded));
    const queue = new WorkQueue();
    // Everybody stands in line for a fold; how many folds there are is what counts.
    const join = jest.spyOn(queue, 'join');
    const folds = () => new Set(join.mock.calls.map(([job]) => job)).size;
    const answers = new Answers(cluster, queue);
    const question = {
      view: 'tasks',
      filter: {},
      time: 'all',
      params: {}
    } as const;
    const [one, two] = await Promise.all([
      answers.get(question, true),
      answers.get({ ...question }, false)
    ]);
    expect(two).toBe(one);
    expect(await answers.get(question, false)).toBe(one);
    expect(folds()).toBe(1);
    // Names change nothing in a table of tasks; runs do.
    const names = blocks.find(({ table }) => table === 'names')!;
    cluster.take([encoded({ ...names, seq: blocks.length + 1 })]);
    expect(await answers.get(question, false)).toBe(one);
    const runs = blocks.find(({ table }) => table === 'runs')!;
    runs.columns['run']![0] = 77;
    cluster.take([encoded({ ...runs, seq: blocks.length + 2 })]);
    expect(await answers.get(question, false)).not.toBe(one);
    expect(folds()).toBe(2);
  });

  it('go on as long as one of those who asked wants the answer', async () => {
    const cluster = emptyCluster();
    cluster.take(drawBlocks('0/0 aabb').map(encoded));
    const answers = new Answers(cluster, new WorkQueue());
    const question = {
      view: 'tasks',
      filter: {},
      time: 'all',
      params: {}
    } as const;
    const wants = [true, true];
    const asked = wants.map((_, i) =>
      answers.get(question, true, 0, {
        owner: {},
        isWanted: () => wants[i] === true
      })
    );
    wants[0] = false;
    expect((await asked[1])?.result.view).toBe('tasks');
    const other = { ...question, time: { last: 1 } } as const;
    const gone = answers.get(other, true, 0, {
      owner: {},
      isWanted: () => false
    });
    await expect(gone).rejects.toThrow(NotWanted);
    // Nothing of it is left to be given to a new asker.
    expect((await answers.get(other, true)).result.view).toBe('tasks');
  });

  it('are not answered by a fold that began before the block that one of them names', async () => {
    const cluster = emptyCluster();
    const blocks = drawBlocks('0/0 aabb');
    const runs = blocks.findIndex(({ table }) => table === 'runs');
    cluster.take(blocks.slice(0, runs).map(encoded));
    const answers = new Answers(cluster, new WorkQueue());
    const question = {
      view: 'summary',
      filter: {},
      time: 'all',
      params: {}
    } as const;
    const early = answers.get(question, false);
    cluster.take(blocks.slice(runs).map(encoded));
    const late = answers.get(question, false, blocks.length);
    expect((await early).logSeq).toBe(runs);
    expect((await late).logSeq).toBe(blocks.length);
    expect((await late).result).toMatchObject({ totalNanoseconds: 4e9 });
  });
});
