import { drawBlocks } from '../../../testing/run-from-text';
import { Answers } from '../answers';
import { ObservedCluster } from '../observed-cluster';
import { WorkQueue } from '../work-queue';
import { encoded } from './observer-fixture';

/** A fold that takes `slices` steps and writes down each. */
function* steps(name: string, slices: number, log: string[]) {
  for (let i = 0; i < slices; i++) {
    log.push(name);
    yield;
  }
  return name;
}

/** Keeps the process busy. */
function* busy(milliseconds: number) {
  const end = performance.now() + milliseconds;
  while (performance.now() < end) {
    const slice = performance.now() + 0.5;
    while (performance.now() < slice) {
      // Nothing: this is the work.
    }
    yield;
  }
  return performance.now();
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
    const queue = new WorkQueue();
    let turns = 0;
    let running = true;
    const count = (): void => {
      turns++;
      if (running) {
        setImmediate(count);
      }
    };
    setImmediate(count);
    const { milliseconds } = await queue.run(busy(100));
    running = false;
    // At most 8 ms a turn make a dozen turns of 100 ms; a busy machine stretches some.
    expect(turns).toBeGreaterThanOrEqual(4);
    expect(milliseconds).toBeGreaterThan(50);
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

describe('equal questions', () => {
  it('are computed once, and again only when rows that matter came in', async () => {
    const cluster = new ObservedCluster({
      logId: 'l',
      clusterId: 'c',
      name: 'n',
      kind: 'embedded',
      wallEpoch: 0,
      pid: 1,
      versions: {},
      capabilities: {},
      environmentId: ''
    });
    const blocks = drawBlocks('0/0 aabb');
    cluster.take(blocks.map(encoded));
    const queue = new WorkQueue();
    const run = jest.spyOn(queue, 'run');
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
    expect(run).toHaveBeenCalledTimes(1);
    // Names change nothing in a table of tasks; runs do.
    const names = blocks.find(({ table }) => table === 'names')!;
    cluster.take([encoded({ ...names, seq: blocks.length + 1 })]);
    expect(await answers.get(question, false)).toBe(one);
    const runs = blocks.find(({ table }) => table === 'runs')!;
    runs.columns['run']![0] = 77;
    cluster.take([encoded({ ...runs, seq: blocks.length + 2 })]);
    expect(await answers.get(question, false)).not.toBe(one);
    expect(run).toHaveBeenCalledTimes(2);
  });

  it('are not answered by a fold that began before the block that one of them names', async () => {
    const cluster = new ObservedCluster({
      logId: 'l',
      clusterId: 'c',
      name: 'n',
      kind: 'embedded',
      wallEpoch: 0,
      pid: 1,
      versions: {},
      capabilities: {},
      environmentId: ''
    });
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
