import type { Restriction } from '../../../scheduler';
import { HeldResources } from '../held-resources';
import { WaitedCluster } from './waited-cluster';

const SENTENCE =
  '1 task waits for GPU, and for 10 s too little has come free. GPU is held by 1 task that was cancelled or released and still runs (a). ' +
  'A thread cannot be stopped: client.restart_workers(["worker-0"]) ends what it runs.';

function holding(GPU: number): Restriction {
  return { workers: null, allowOther: false, resources: { GPU } };
}

describe('resources that tasks hold which nobody waits for', () => {
  let cluster: WaitedCluster;
  let told: string[];
  let held: HeldResources;
  let areThreadsHeld: boolean;

  beforeEach(() => {
    cluster = new WaitedCluster();
    told = [];
    areThreadsHeld = false;
    held = new HeldResources(cluster.state, {
      warn: sentence => told.push(sentence)
    });
    cluster.join(0, 4, [], { GPU: 2 });
    cluster.submit('a', { restrict: { a: holding(2) } });
  });

  function wait(name: string, GPU: number): void {
    cluster.submit(name, { restrict: { [name]: holding(GPU) } });
  }

  /** Time passes, in which the workers are heard. */
  function pass(seconds: number, isHeard = true): void {
    for (let i = 0; i < seconds; i++) {
      cluster.s.pass(1);
      cluster.sessions.forEach(
        each => (each.heardAt = isHeard ? cluster.s.now : 0)
      );
      held.look(cluster.s.now, areThreadsHeld);
    }
  }

  it('are told of after a while, once as long as that lasts', () => {
    cluster.s.cancel('a');
    wait('b', 1);
    pass(10);
    expect(told).toEqual([]);
    pass(100);
    expect(told).toEqual([SENTENCE]);
  });

  it('are nothing to be told of while nothing waits, or only for what others hold', () => {
    wait('b', 1);
    pass(100);
    cluster.s.cancel('b');
    cluster.s.cancel('a');
    pass(100);
    expect(told).toEqual([]);
  });

  it('are nothing to be told of where enough comes free once others end', () => {
    const run = cluster.s.runId('a');
    cluster.s.cancel('a');
    cluster.s.finish(0, 'a', { runIds: [run] });
    cluster.s.said();
    wait('c', 1);
    wait('d', 1);
    cluster.s.cancel('c');
    wait('e', 1); // (d will end)
    pass(100);
    expect(told).toEqual([]);
    wait('f', 2);
    pass(20);
    expect(told).toEqual([
      expect.stringMatching(
        /^1 task waits for GPU, .* GPU is held by 1 task that was .* \(c\) and 1 task \(d\)\. A thread/
      )
    ]);
  });

  it('are nothing to be told of where another worker will have some', () => {
    cluster.s.cancel('a');
    cluster.join(1, 4, [], { GPU: 1 });
    wait('g', 1);
    wait('b', 1);
    pass(100);
    expect(told).toEqual([]);
    // Of which that one has too little in all.
    wait('h', 2);
    pass(20);
    expect(told).toEqual([expect.stringContaining('["worker-0"]')]);
  });

  it('are told of in numbers, of all that wait', () => {
    cluster.s.cancel('a');
    const names = Array.from({ length: 1200 }, (_, i) => `c${i}`);
    cluster.submit(names.join(' '), {
      want: names.join(' '),
      restrict: Object.fromEntries(
        names.map((name, i) => [name, holding(1 + (i % 2))])
      )
    });
    pass(20);
    expect(told).toEqual([
      expect.stringMatching(/^1,200 tasks wait for GPU, /)
    ]);
  });

  it('are not known of a worker that has said nothing since, or is stopped', () => {
    cluster.s.cancel('a');
    wait('b', 1);
    pass(100, false);
    expect(told).toEqual([]);
    cluster.sessions.get(0)!.standing = 'stopped';
    pass(100);
    expect(told).toEqual([]);
  });

  it('are not told of beside the threads that such tasks hold', () => {
    cluster.s.cancel('a');
    wait('b', 1);
    areThreadsHeld = true;
    pass(100);
    expect(told).toEqual([]);
    areThreadsHeld = false;
    pass(20);
    expect(told).toEqual([SENTENCE]);
  });

  it('are told of again if they came free and were held again between two looks', () => {
    const runIds = [cluster.s.runId('a')];
    cluster.s.cancel('a');
    wait('b', 2);
    pass(20);
    expect(told).toHaveLength(1);
    cluster.s.finish(0, 'a', { runIds });
    cluster.s.said();
    cluster.s.pass(0.5);
    cluster.s.cancel('b');
    wait('c', 1);
    pass(10);
    expect(told).toHaveLength(1);
    pass(20);
    expect(told).toHaveLength(2);
  });

  it('are told of again after it was over', () => {
    const run = cluster.s.runId('a');
    cluster.s.cancel('a');
    wait('b', 2);
    pass(20);
    cluster.s.finish(0, 'a', { runIds: [run] });
    pass(20);
    expect(told).toHaveLength(1);
    cluster.s.said();
    cluster.s.cancel('b');
    wait('c', 1);
    pass(20);
    expect(told).toHaveLength(2);
  });
});
