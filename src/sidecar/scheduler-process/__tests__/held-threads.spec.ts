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

  it('are nothing to be told of while one thread is free or runs what is wanted', () => {
    cluster.s.cancel('a');
    cluster.submit('c');
    pass(100);
    expect(told).toEqual([]);
  });

  it('are told of with their workers in order', () => {
    cluster.s.cancel('a b');
    cluster.s.leave(0, 'closed');
    cluster.sessions.clear();
    cluster.join(5);
    cluster.join(2);
    cluster.submit('e f', { want: 'e f' });
    cluster.s.cancel('e f');
    cluster.submit('g');
    for (let i = 0; i < 20; i++) {
      cluster.s.pass(1);
      cluster.sessions.forEach(each => (each.heardAt = cluster.s.now));
      held.look(cluster.s.now);
    }
    expect(told).toEqual([
      expect.stringContaining('restart_workers(["worker-2", "worker-5"])')
    ]);
  });

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
