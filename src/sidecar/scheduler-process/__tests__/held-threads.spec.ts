import { HeldThreads } from '../held-threads';
import { WaitedCluster } from './waited-cluster';

const SENTENCE =
  '1 task waits for a thread, and for 10 s none has come free. All 2 threads of the cluster are held by ' +
  '2 tasks that were cancelled or released and still run (a, b). A thread cannot be stopped: ' +
  'client.restart_workers(["worker-0"]) ends what it runs.';

describe('threads that tasks hold which nobody waits for', () => {
  let cluster: WaitedCluster;
  let told: string[];
  let held: HeldThreads;

  beforeEach(() => {
    cluster = new WaitedCluster();
    told = [];
    held = new HeldThreads(cluster.state, {
      warn: sentence => told.push(sentence)
    });
    cluster.join(0, 2);
    cluster.submit('a b', { want: 'a b' });
  });

  /** Time passes, in which the worker is heard. */
  function pass(seconds: number, isHeard = true): void {
    for (let i = 0; i < seconds; i++) {
      cluster.s.pass(1);
      cluster.sessions.get(0)!.heardAt = isHeard ? cluster.s.now : 0;
      held.look(cluster.s.now);
    }
  }

  it('are told of after a while, once as long as that lasts', () => {
    cluster.s.cancel('a b');
    cluster.submit('c');
    pass(10);
    expect(told).toEqual([]);
    pass(100);
    expect(told).toEqual([SENTENCE]);
  });

  it('are told of again if they came free and were held again between two looks', () => {
    const runIds = ['a', 'b'].map(name => cluster.s.runId(name));
    cluster.s.cancel('a b');
    cluster.submit('c');
    pass(20);
    expect(told).toHaveLength(1);
    cluster.s.pass(0.5);
    cluster.s.finish(0, 'a b', { runIds });
    cluster.s.finish(0, 'c');
    cluster.submit('d e', { want: 'd e' });
    cluster.s.cancel('d e');
    cluster.submit('f');
    pass(10);
    expect(told).toHaveLength(1);
    pass(20);
    expect(told).toHaveLength(2);
  });

  it('are told of again to who asks, once they were told of and while it is so', () => {
    cluster.s.cancel('a b');
    cluster.submit('c');
    pass(9);
    expect(held.standing()).toBe('');
    pass(2);
    expect(held.standing()).toBe(SENTENCE);
    cluster.s.leave(0, 'closed');
    expect(held.standing()).toBe('');
  });

  it('are nothing to be told of while one thread is free or runs what is wanted', () => {
    cluster.s.cancel('a');
    cluster.submit('c');
    pass(100);
    expect(told).toEqual([]);
  });

  it.each([
    [1, ''],
    [3, ''],
    [4, ''],
    [16, ''],
    [17, ' 1 more worker has such tasks.'],
    [40, ' 24 more workers have such tasks.']
  ])(
    'of %i workers are told of with a call that can be pasted, in their order, and how many it leaves out',
    (count, leftOut) => {
      cluster.s.cancel('a b');
      cluster.s.leave(0, 'closed');
      cluster.sessions.clear();
      const ids = Array.from({ length: count }, (_, i) => i + 2);
      [...ids].reverse().forEach(id => cluster.join(id));
      const names = ids.map(id => `e${id}`).join(' ');
      cluster.submit(names, { want: names });
      cluster.s.cancel(names);
      cluster.submit('g');
      for (let i = 0; i < 20; i++) {
        cluster.s.pass(1);
        cluster.hear();
        held.look(cluster.s.now);
      }
      const inCall = ids.slice(0, 16).map(id => `worker-${id}`);
      expect(told).toHaveLength(1);
      expect(told[0]).toMatch(/\(e\)\. A thread cannot be stopped: /);
      const [, call, rest] =
        /stopped: (\S+\(.*\)) ends what it runs\.(.*)$/.exec(told[0]!)!;
      expect(rest).toBe(leftOut);
      const [, list] = /^client\.restart_workers\((.*)\)$/.exec(call!)!;
      expect(JSON.parse(list!)).toEqual(inCall);
    }
  );

  it('are nothing to be told of while others run on a worker that is to leave', () => {
    cluster.s.cancel('a b');
    cluster.join(1);
    cluster.submit('c');
    expect(cluster.s.workerOf('c')).toBe(1);
    cluster.s.handle({ type: 'workerRetires', at: cluster.s.now, worker: 1 });
    pass(100);
    expect(told).toEqual([]);
    cluster.submit('d');
    pass(20);
    expect(told).toEqual([
      expect.stringMatching(/^1 task waits for a thread, .* All 2 threads of/)
    ]);
  });

  it('are told of in numbers that can be read', () => {
    cluster.s.cancel('a b');
    const names = Array.from({ length: 1200 }, (_, i) => `c${i}`).join(' ');
    cluster.submit(names, { want: names });
    pass(20);
    expect(told).toEqual([
      expect.stringMatching(/^1,200 tasks wait for a thread, /)
    ]);
  });

  it('are nothing to be told of while nothing waits', () => {
    cluster.s.cancel('a b');
    pass(100);
    expect(told).toEqual([]);
  });

  it('are not known of a worker that has said nothing since, or is stopped', () => {
    cluster.s.cancel('a b');
    cluster.submit('c');
    pass(100, false);
    expect(told).toEqual([]);
    cluster.sessions.get(0)!.standing = 'stopped';
    pass(100);
    expect(told).toEqual([]);
  });

  it('are told of again after it was over', () => {
    const [a, b] = [cluster.s.runId('a'), cluster.s.runId('b')];
    cluster.s.cancel('a b');
    cluster.submit('c d', { want: 'c d' });
    pass(20);
    cluster.s.finish(0, 'a b', { runIds: [a, b] });
    pass(20);
    expect(told).toHaveLength(1);
    cluster.s.said();
    cluster.s.cancel('c d');
    cluster.submit('e');
    pass(20);
    expect(told).toHaveLength(2);
  });
});
