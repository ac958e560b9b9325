import { denseIds } from '../../testing/ids';
import { NONE_U32, RunStatus } from '../../records/enumerations';
import { SchedulerFixture } from '../../testing/scheduler-fixture';
import { type Instruction, InvalidTransition, TaskState } from '..';
import type { IPlacementPolicy } from '../placement';
import type { SchedulerState } from '../scheduler-state';

describe('running a graph', () => {
  it('runs inputs before their dependents and keeps only what is wanted', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.join(1);
    s.submit('a b -> c');
    expect(s.said()).toEqual(['assign 0: a', 'assign 1: b']);
    s.finish(0, 'a');
    expect(s.said()).toEqual([]);
    s.finish(1, 'b');
    expect(s.said()).toEqual(['assign 0: c']);
    s.finish(0, 'c');
    expect(s.said()).toEqual([
      'release 0: a',
      'release 1: b',
      'report 0: c Memory'
    ]);
    expect(s.states('a b c')).toBe('Released Released Memory');
    s.release('c');
    expect(s.said()).toEqual(['release 0: c', 'forgotten: c a b']);
    expect(s.path('a')).toBe(
      'Released → Waiting → Queued → Processing → Memory → Released → Forgotten'
    );
  });

  it('runs tasks in the order of user priority, submission and graph', () => {
    const s = new SchedulerFixture({ options: { aheadPerThread: 1 } });
    s.submit('a; b; c', { want: 'a b c', priority: { c: 1 } });
    s.submit('d', { priority: { d: 1 } });
    s.submit('e', { priority: { e: -1 } });
    s.join(0);
    const order: string[] = [];
    for (let line = s.said().pop(); line; line = s.saidOf('assign').pop()) {
      const name = line.split(' ').pop()!;
      order.push(name);
      s.finish(0, name);
    }
    expect(order).toEqual(['c', 'd', 'a', 'b', 'e']);
  });

  it('does not run what nobody wants', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('a -> b; a -> c', { want: 'b' });
    s.finish(0, 'a');
    s.finish(0, 'b');
    expect(s.path('c')).toBe('Released → Forgotten');
  });

  it('does not rerun a key in memory for a later graph', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('a');
    s.finish(0, 'a');
    s.said();
    s.submit('a -> b');
    expect(s.said()).toEqual(['assign 0: b']);
  });

  it('tells a client that comes late of what is there', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('a; b', { want: 'a b' });
    s.finish(0, 'a');
    s.fail(0, 'b');
    s.said();
    s.want('a b', 1);
    expect(s.said()).toEqual([
      'report 1: a Memory',
      'report 1: b Erred by b, Raised'
    ]);
    s.release('a b', 0);
    expect(s.said()).toEqual([]);
    s.clientLeft(1);
    expect(s.said()).toEqual(['release 0: a', 'forgotten: b a']);
  });

  it('keeps a graph that comes in parts until the last part', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('a; b', { want: 'b', last: false });
    s.finish(0, 'b');
    s.release('b');
    s.submit('a b -> c');
    expect(s.states('a b c')).toBe('Processing Processing Waiting');
  });

  it('starts a task that loses one dependent and gains another at once', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('gone');
    s.release('gone');
    s.submit('gone -> orphan; orphan x -> bad; x -> y -> z -> good', {
      want: 'orphan bad good'
    });
    expect(s.states('bad x')).toBe('Erred Processing');
  });

  it('reports a task whose input is not known any more', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('a');
    s.release('a');
    s.said();
    s.submit('a -> b -> c');
    expect(s.said()).toEqual(['report 0: c Erred by b, LostDependencies']);
    s.retry('c');
    expect(s.state('c')).toBe('Erred');
  });
});

describe('placing', () => {
  it('goes where the larger inputs are', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.join(1);
    s.submit('a b -> c');
    s.finish(0, 'a', { nbytes: 1e6 });
    s.finish(1, 'b', { nbytes: 5e6 });
    expect(s.saidOf('assign')).toContain('assign 1: c');
  });

  it('moves small inputs to an idle worker rather than wait for a busy one', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('a -> b1 b2 b3', { want: 'b1 b2 b3' });
    s.join(1);
    s.finish(0, 'a');
    expect(s.said()).toEqual(['assign 0: b1 b2', 'assign 1: b3']);
  });

  it('gives two idle workers one task each, and neighbours to one worker', () => {
    const s = new SchedulerFixture();
    s.submit('a1; a2', { want: 'a1 a2' });
    s.submit('b1; b2; b3; b4', { want: 'b1 b2 b3 b4' });
    s.join(0);
    s.finish(0, 'a1');
    expect(s.said()).toContain('assign 0: a2 b1');
    const t = new SchedulerFixture();
    t.join(0);
    t.join(1);
    t.submit('a1; a2', { want: 'a1 a2' });
    expect(t.said()).toEqual(['assign 0: a1', 'assign 1: a2']);
    t.submit('b1; b2; b3; b4', { want: 'b1 b2 b3 b4' });
    expect(t.said()).toEqual(['assign 0: b1', 'assign 1: b2']);
  });

  it('keeps to restrictions, and to others only where allowed', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('a; b; c', {
      want: 'a b c',
      restrict: {
        a: { workers: [1], allowOther: false },
        b: { workers: [1], allowOther: true }
      }
    });
    expect(s.said()).toEqual(['assign 0: b c']);
    expect(s.state('a')).toBe('NoWorker');
    s.join(1);
    expect(s.said()).toEqual(['assign 1: a']);
  });

  it('matches restrictions with who lives when a task is placed', () => {
    const s = new SchedulerFixture();
    s.join(0, 1, ['here', 'place-0']);
    s.join(1, 1, ['here', 'place-1']);
    s.leave(0);
    s.submit('a; b; c', {
      want: 'a b c',
      restrict: {
        a: { workers: ['place-0'], allowOther: false },
        b: { workers: ['nowhere', 'here'], allowOther: false },
        c: { workers: ['nowhere'], allowOther: false }
      }
    });
    expect(s.said()).toEqual(['assign 1: b']);
    expect(s.states('a c')).toBe('NoWorker NoWorker');
    s.join(7, 1, ['here', 'place-0', '0']);
    expect(s.said()).toEqual(['assign 7: a']);
    s.submit('d', {
      want: 'd',
      restrict: { d: { workers: [0], allowOther: false } }
    });
    expect(s.said()).toEqual(['assign 7: d']);
    expect(s.state('c')).toBe('NoWorker');
  });
});

describe('dealing roots', () => {
  it('gives neighbours to one worker, and keeps what is not sent yet', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.join(1);
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    s.submit('a b -> s; c d -> t; e f -> u; g h -> v', { want: 's t u v' });
    const homes = names.map(name => s.scheduler.tasks.worker[s.id(name)]!);
    for (let i = 0; i < 8; i += 2) {
      expect(homes[i]).toBe(homes[i + 1]);
    }
    expect(homes.filter(home => home === 0)).toHaveLength(4);
    expect(names.filter(n => s.state(n) === 'Processing')).toHaveLength(4);
  });

  it('deals a root once that was queued before', () => {
    const s = new SchedulerFixture();
    s.join(0, 2);
    s.join(1, 2);
    s.submit('e -> w; a -> x; b -> y', { want: 'w x y' });
    s.finish(0, 'e w a x');
    s.finish(1, 'b y');
    const others = 'f1 f2 f3 f4 f5 f6 f7 f8';
    s.submit(others, { want: others });
    // Three roots for four threads stay in the common queue, and two of them leave entries there, behind that of the first.
    s.submit('e -> v', { want: 'v' });
    s.submit('a b -> s', { want: 's' });
    expect(s.states('e a b')).toBe('Queued Queued Queued');
    s.release('s');
    s.submit('a b -> t; c d f -> u', { want: 't u' });
    s.scheduler.validateState();
    expect(s.scheduler.workers.all.map(w => w.queuedCount)).toEqual([3, 3]);
  });

  it('leaves them in one queue where nothing joins neighbours', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.join(1);
    s.submit('a b c d e f g h', { want: 'a b c d e f g h' });
    s.submit('i -> j; x y -> i');
    expect(s.scheduler.workers.all.map(w => w.queuedCount)).toEqual([0, 0]);
  });
});

describe('work ahead', () => {
  it('sends two tasks per thread as long as their duration is unknown', () => {
    const s = new SchedulerFixture();
    s.join(0, 2);
    s.submit('a1; a2; a3; a4; a5', { want: 'a1 a2 a3 a4 a5' });
    expect(s.said()).toEqual(['assign 0: a1 a2 a3 a4']);
    expect(s.state('a5')).toBe('Queued');
  });

  it('does not count those that wait for inputs there', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('a -> b');
    expect(s.said()).toEqual(['assign 0: a b']);
    s.submit('c d', { want: 'c d' });
    expect(s.said()).toEqual(['assign 0: c']);
    expect(s.state('d')).toBe('Queued');
  });

  it('has the inputs of two more tasks fetched, whatever could run there', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.join(1);
    const at = (id: number) => ({ workers: [id], allowOther: false });
    s.submit('a; b; c', {
      want: 'a b c',
      restrict: { a: at(0), b: at(1), c: at(1) }
    });
    s.finish(0, 'a');
    s.finish(1, 'b c');
    s.said();
    s.submit('b -> x1 x2; c -> x3; a -> y1 y2 y3', {
      want: 'x1 x2 x3 y1 y2 y3',
      restrict: Object.fromEntries(
        ['x1', 'x2', 'x3', 'y1', 'y2', 'y3'].map(name => [name, at(0)])
      )
    });
    expect(s.said()).toEqual(['assign 0: x1 x2 y1 y2']);
    s.replicas(0, 'b');
    // Now x1 and x2 could run, and leave room to have another input fetched.
    expect(s.said()).toEqual(['assign 0: x3']);
  });

  it('has as much ahead as ever when one input of all that was to be fetched comes', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.join(1);
    const at = (id: number) => ({ workers: [id], allowOther: false });
    s.submit('x', { restrict: { x: at(0) } });
    s.finish(0, 'x', { nbytes: 1e8 });
    const names = Array.from({ length: 100 }, (_, i) => `y${i}`);
    s.submit(`x -> ${names.join(' ')}`, {
      want: names.join(' '),
      restrict: Object.fromEntries(names.map(name => [name, at(1)]))
    });
    const worker = s.scheduler.workers.get(1)!;
    expect([worker.processingCount, worker.queuedCount]).toEqual([2, 98]);
    s.replicas(1, 'x');
    expect([worker.processingCount, worker.queuedCount]).toEqual([2, 98]);
    s.finish(1, 'y0', { duration: 0.5 });
    expect([worker.processingCount, worker.queuedCount]).toEqual([2, 97]);
  });

  it('sends about 10 ms of short tasks', () => {
    const s = new SchedulerFixture();
    s.join(0);
    const names = Array.from({ length: 1000 }, (_, i) => `a${i}`);
    s.submit(names.join(';'), { want: names.join(' ') });
    s.finish(0, 'a0 a1', { duration: 20e-6 });
    s.said();
    s.finish(0, 'a2', { duration: 20e-6 });
    // 10 ms / 20 us = 500, of which the last but one event sent the most.
    const ahead = s.scheduler.workers.get(0)!.processingCount;
    expect(ahead).toBeGreaterThanOrEqual(499);
    expect(ahead).toBeLessThanOrEqual(501);
  });

  it('sends roots whose results are 10 MB together, however fast they are', () => {
    const aheadOf = (
      isUsed: boolean,
      sizeOf: (task: number) => number
    ): number => {
      const s = new SchedulerFixture();
      s.join(0);
      const names = Array.from({ length: 1000 }, (_, i) => `a${i}`);
      const all = names.join(' ');
      s.submit(isUsed ? `${all} -> sum` : names.join(';'), {
        want: isUsed ? 'sum' : all
      });
      for (const [i, name] of names.slice(0, 20).entries()) {
        s.finish(0, name, { duration: 20e-6, nbytes: sizeOf(i) });
      }
      s.scheduler.validateState();
      return s.scheduler.workers.get(0)!.processingCount;
    };
    expect(aheadOf(true, () => 9e3)).toBeGreaterThan(490);
    expect(aheadOf(true, () => 1e6)).toBe(10);
    expect(aheadOf(true, () => 5e6)).toBe(2);
    expect(aheadOf(true, () => 1e9)).toBe(2);
    // It goes by the average: each tenth has 20 MB.
    expect(aheadOf(true, i => (i % 10 === 0 ? 20e6 : 28))).toBeLessThan(10);
    // What nothing uses stays anyway.
    expect(aheadOf(false, () => 5e6)).toBeGreaterThan(490);
  });

  it('ships what uses large results ahead as ever', () => {
    const s = new SchedulerFixture();
    s.join(0);
    const numbers = Array.from({ length: 100 }, (_, i) => i);
    s.submit(
      numbers
        .map(i => (i === 0 ? 'a0 -> m0' : `a${i} m${i - 1} -> m${i}`))
        .join(';'),
      { want: 'm99' }
    );
    for (const i of numbers.slice(0, 10)) {
      s.finish(0, `a${i}`, { duration: 20e-6, nbytes: 5e6 });
      s.finish(0, `m${i}`, { duration: 20e-6, nbytes: 8 });
    }
    s.scheduler.validateState();
    expect(s.states('a10 m10 a11 m11 a12')).toBe(
      'Processing Processing Processing Processing Queued'
    );
  });

  it('sends more than a few short tasks where some waited for a core', () => {
    const s = new SchedulerFixture();
    s.join(0);
    const names = Array.from({ length: 1000 }, (_, i) => `a${i}`);
    s.submit(names.join(';'), { want: names.join(' ') });
    for (let i = 0; i < 32; i++) {
      s.finish(0, `a${i}`, { duration: i % 8 === 7 ? 5e-3 : 20e-6 });
    }
    const worker = s.scheduler.workers.get(0)!;
    expect(worker.processingCount).toBeGreaterThan(150);
    // What all of them take is known as well: an idle worker asks for some of them.
    expect(worker.occupancy).toBeGreaterThan(0.02);
    s.scheduler.validateState();
  });

  it('sends no more tasks ahead where many take long', () => {
    const s = new SchedulerFixture();
    s.join(0);
    const names = Array.from({ length: 1000 }, (_, i) => `a${i}`);
    s.submit(names.join(';'), { want: names.join(' ') });
    for (let i = 0; i < 32; i++) {
      s.finish(0, `a${i}`, { duration: i % 2 === 0 ? 0.1 : 1e-3 });
    }
    expect(s.scheduler.workers.get(0)!.processingCount).toBe(2);
  });

  it('has no more in hand than fits when short tasks become longer', () => {
    const s = new SchedulerFixture();
    s.join(0);
    const names = Array.from({ length: 3000 }, (_, i) => `a${i}`);
    s.submit(names.join(';'), { want: names.join(' ') });
    const worker = s.scheduler.workers.get(0)!;
    let next = 0;
    const run = (count: number, duration: number): number => {
      for (const last = next + count; next < last;) {
        const batch = names.slice(next, (next += 50)).filter(isSent);
        s.finish(0, batch.join(' '), { duration });
      }
      return worker.processingCount;
    };
    const isSent = (name: string): boolean => s.state(name) === 'Processing';
    s.finish(0, 'a0 a1', { duration: 20e-6 });
    expect(run(200, 20e-6)).toBeGreaterThan(440);
    const longer = run(1000, 200e-6);
    expect(longer).toBeGreaterThan(40);
    expect(longer).toBeLessThan(60);
    expect(run(500, 20e-6)).toBeGreaterThan(440);
  });

  it('has few inputs fetched where some tasks take long', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.join(1);
    const numbers = Array.from({ length: 200 }, (_, i) => i);
    s.place(0, numbers.map(i => `x${i}`).join(' '));
    s.submit(numbers.map(i => `x${i} -> a${i}`).join(';'), {
      want: numbers.map(i => `a${i}`).join(' '),
      restrict: Object.fromEntries(
        numbers.map(i => [`a${i}`, { workers: [1], allowOther: false }])
      )
    });
    const worker = s.scheduler.workers.get(1)!;
    let most = 0;
    for (const i of numbers.slice(0, 100)) {
      s.replicas(1, `x${i}`);
      s.finish(1, `a${i}`, { duration: i % 5 === 0 ? 1 : 20e-6 });
      most = Math.max(most, i < 60 ? 0 : worker.fetchingCount);
    }
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(3);
  });

  it('ships a chain before its links are finished', () => {
    const s = new SchedulerFixture({ options: { aheadPerThread: 4 } });
    s.join(0);
    s.submit('a -> b -> c -> d -> e');
    expect(s.said()).toEqual(['assign 0: a b c d']);
    expect(s.states('d e')).toBe('Processing Waiting');
    s.finish(0, 'a b', { duration: 1e-5 });
    expect(s.said()).toEqual(['release 0: a', 'assign 0: e']);
  });

  it('ships a task that is submitted after its input was sent', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('a; x', { want: 'a x' });
    s.finish(0, 'x');
    s.said();
    s.submit('a -> b');
    expect(s.said()).toEqual(['assign 0: b']);
  });

  it('sends with a root what uses it before it sends the next root', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('a -> b');
    s.finish(0, 'a', { duration: 0.003 });
    s.finish(0, 'b', { duration: 0.003 });
    s.said();
    s.submit('a1 -> b1; a2 -> b2; a3 -> b3; a4 -> b4', {
      want: 'b1 b2 b3 b4'
    });
    // They are 12 ms of work.
    expect(s.said()).toEqual(['assign 0: a1 b1 a2 b2']);
  });

  it('ships nothing past a task that is queued and comes first', () => {
    const s = new SchedulerFixture();
    s.join(0);
    const numbers = Array.from({ length: 10 }, (_, i) => i);
    const all = (letter: string): string =>
      numbers.map(i => letter + i).join(' ');
    s.submit(numbers.map(i => `a${i}`).join(';'), { want: all('a') });
    s.finish(0, 'a0 a1', { duration: 20e-6 });
    s.said();
    s.submit(numbers.map(i => `a${i} -> b${i}`).join(';'), { want: all('b') });
    // Nobody knows how long `b` takes: of these there is room for one, and not for those behind b1.
    expect(s.said()).toEqual(['assign 0: b0']);
    expect(s.states('b1 b2')).toBe('Queued Waiting');
    s.finish(0, 'b0', { duration: 20e-6 });
    expect(s.saidOf('assign')).toEqual([
      'assign 0: b1 b2 b3 b4 b5 b6 b7 b8 b9'
    ]);
  });

  it('does not ship a task whose inputs are at two workers', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.join(1);
    s.submit('a b -> c');
    expect(s.state('c')).toBe('Waiting');
  });

  it('fails what was shipped when an input fails', () => {
    const s = new SchedulerFixture({ options: { aheadPerThread: 4 } });
    s.join(0);
    s.submit('a -> b -> c', { want: 'b c' });
    s.said();
    s.fail(0, 'a');
    expect(s.said()).toEqual([
      'release 0: b c',
      'report 0: b Erred by a, Raised',
      'report 0: c Erred by a, Raised'
    ]);
  });

  it('recalls what was shipped when an input is tried again', () => {
    const s = new SchedulerFixture({ options: { aheadPerThread: 4 } });
    s.join(0);
    s.submit('a -> b', { retries: { a: 1 } });
    s.said();
    s.fail(0, 'a');
    expect(s.said()).toEqual(['release 0: a b', 'assign 0: a b']);
    expect(s.path('b')).toBe(
      'Released → Waiting → Processing → Waiting → Processing'
    );
  });

  it('sends everything again when the worker of a chain dies', () => {
    const s = new SchedulerFixture({ options: { aheadPerThread: 4 } });
    s.join(0);
    s.submit('a -> b -> c');
    s.finish(0, 'a');
    s.join(1);
    s.said();
    s.leave(0);
    // Not b, which may have been running there: see `mayFollow`.
    expect(s.said()).toEqual(['assign 1: a']);
    s.finish(1, 'a');
    // Nor c behind b: see `shipTarget`.
    expect(s.said()).toEqual(['assign 1: b']);
    s.finish(1, 'b');
    expect(s.said()).toContain('assign 1: c');
  });
});

describe('balancing', () => {
  it('lets an idle worker take the last one from the queue of a busy one', () => {
    const s = new SchedulerFixture({ options: { aheadPerThread: 1 } });
    s.join(0);
    s.submit('a -> b1 b2 b3', { want: 'b1 b2 b3' });
    s.finish(0, 'a');
    expect(s.states('b1 b2 b3')).toBe('Processing Queued Queued');
    s.said();
    s.join(1);
    expect(s.said()).toEqual(['assign 1: b3']);
  });

  it('does not move a task whose inputs travel much longer than it runs', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('b0; a', { want: 'b0 a' });
    s.finish(0, 'b0', { duration: 0.001 });
    s.finish(0, 'a', { nbytes: 10e6 });
    const names = Array.from({ length: 200 }, (_, i) => `b${i + 1}`);
    s.submit(`a -> ${names.join(' ')}`, { want: names.join(' ') });
    s.said();
    // 200 ms of work wait there, and 20 ms of transfer would do; but for 1 ms of it.
    s.join(1);
    expect(s.said()).toEqual([]);
  });

  it('leaves tasks of a new function with their inputs until they prove long', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.join(1);
    s.submit('a -> b1 b2 b3 b4', { want: 'b1 b2 b3 b4' });
    s.finish(0, 'a', { nbytes: 25e6 });
    expect(s.saidOf('assign 1')).toEqual([]);
    s.pass(0.002);
    expect(s.said()).toEqual([]);
    // The transfer takes 50 ms.
    s.pass(0.1);
    expect(s.said()).toEqual(['assign 1: b4']);
  });

  it('does not send a task to and fro for ever', () => {
    const choose: IPlacementPolicy['choose'] = (_s, _task, candidates) =>
      candidates[0]!;
    const s = new SchedulerFixture({ policy: { choose } });
    s.join(0);
    s.join(1);
    // Placed at worker 0 whenever it is placed, and asked back for worker 1, which is idle.
    const here = { workers: [0, 1], allowOther: false };
    s.submit('a b', { want: 'a b', restrict: { a: here, b: here } });
    const asked = new Map<string, number>();
    s.pass(0.1);
    for (let round = 0; round < 20; round++) {
      for (const line of s.saidOf('take')) {
        for (const name of line.split(': ')[1]!.split(' ')) {
          asked.set(name, (asked.get(name) ?? 0) + 1);
          s.takenBack(0, name);
        }
      }
    }
    expect(asked.size).toBeGreaterThan(0);
    expect(Math.max(...asked.values())).toBeLessThanOrEqual(3);
  });

  it('asks a busy worker to give back what it has not started', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('a; b', { want: 'a b' });
    s.said();
    s.pass(0.1);
    s.join(1);
    expect(s.said()).toEqual(['take back 0: b']);
    s.takenBack(0, 'b');
    expect(s.saidOf('assign')).toEqual(['assign 1: b']);
  });

  it('does not ask twice for a run that has started', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('a; b', { want: 'a b' });
    s.pass(0.1);
    s.join(1);
    s.said();
    s.takenBack(0, 'b', { taken: false });
    s.submit('c', { restrict: { c: { workers: [0], allowOther: false } } });
    expect(s.said()).toEqual([]);
  });

  describe('of what it has asked back', () => {
    let s: SchedulerFixture;
    beforeEach(() => {
      s = new SchedulerFixture({ options: { aheadPerThread: 6 } });
      s.join(0);
      s.submit('a; b', { want: 'a b' });
      s.pass(0.1);
      s.join(1);
      expect(s.saidOf('take')).toEqual(['take back 0: b']);
      s.submit('b e -> c -> d', {
        restrict: { e: { workers: [0], allowOther: false } }
      });
      // Nothing is sent behind it: that would most likely come back with it.
      expect(s.said()).toEqual(['assign 0: e']);
    });

    it('sends the dependents when it stays', () => {
      s.takenBack(0, 'b', { taken: false });
      expect(s.said()).toEqual(['assign 0: c d']);
    });

    it('sends the dependents when it is done', () => {
      s.finish(0, 'a');
      s.finish(0, 'b');
      expect(s.saidOf('assign')).toEqual([]);
      s.finish(0, 'e');
      expect(s.saidOf('assign')).toEqual(['assign 0: c d']);
    });

    it('sends it elsewhere, alone', () => {
      s.takenBack(0, 'b');
      expect(s.said()).toEqual(['release 0: b', 'assign 1: b']);
    });
  });

  it('counts an answer that comes twice once, and still hears the next', () => {
    const s = new SchedulerFixture({ options: { aheadPerThread: 3 } });
    s.join(0);
    s.submit('a; b; c', { want: 'a b c' });
    s.pause(0);
    s.join(1);
    expect(s.saidOf('take')).toEqual(['take back 0: a b c']);
    const runIds = [s.runId('b')];
    s.takenBack(0, 'b');
    s.takenBack(0, 'b', { runIds });
    s.takenBack(0, 'b', { runIds });
    expect(s.scheduler.workers.get(0)!.takeBacksPending).toBe(2);
    s.takenBack(0, 'a', { taken: false });
    s.takenBack(0, 'c');
    expect(s.said()).toEqual(['release 0: b c', 'assign 1: b c']);
    expect(s.scheduler.workers.get(0)!.takeBacksPending).toBe(0);
  });

  it('asks a paused worker for its last task, however little it has booked', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('a -> b');
    s.join(1);
    s.pause(0);
    s.takenBack(0, 'a', { taken: false });
    s.said();
    s.finish(0, 'a');
    expect(s.saidOf('take')).toEqual(['take back 0: b']);
    s.takenBack(0, 'b');
    s.pause(0, true);
    expect(s.scheduler.isStalled).toBe(false);
    expect(s.states('b')).toBe('Processing');
  });

  it('asks back what still fetches its inputs, and not what runs', () => {
    const s = new SchedulerFixture({ options: { takeBackSeconds: 0 } });
    s.join(0);
    s.join(1);
    const at = (id: number) => ({ workers: [id], allowOther: false });
    s.submit('x', { restrict: { x: at(1) } });
    s.finish(1, 'x', { nbytes: 8 });
    // (f0 comes first, and lacks x.)
    s.submit('x -> f0', {
      restrict: { f0: { workers: [0, 2], allowOther: false } }
    });
    s.submit('r0', {
      restrict: { r0: { workers: [0, 2], allowOther: false } }
    });
    expect(s.scheduler.workers.get(0)!.processingCount).toBe(2);
    s.said();
    s.join(2);
    expect(s.saidOf('take')).toEqual(['take back 0: f0']);
  });

  it('takes from a long queue without asking for what was sent', () => {
    const s = new SchedulerFixture();
    const names = Array.from({ length: 500 }, (_, i) => `a${i}`);
    s.join(0);
    s.submit(names.join(';'), {
      want: names.join(' '),
      restrict: Object.fromEntries(
        names.map(name => [name, { workers: [0, 1], allowOther: false }])
      )
    });
    s.said();
    s.join(1);
    const taken: string[] = [];
    const asked: string[] = [];
    for (let round = 0; round < 200; round++) {
      for (const line of s.said()) {
        const [what, names] = line.split(': ') as [string, string];
        if (what === 'assign 1') {
          taken.push(...names.split(' '));
        } else if (what.startsWith('take')) {
          asked.push(line);
        }
      }
      s.finish(1, taken.shift()!, { duration: 1 });
    }
    expect(asked).toEqual([]);
  });

  it('does not ask for single short tasks at the end of many', () => {
    const s = new SchedulerFixture();
    const queues = [0, 1].map(worker => ({
      worker,
      // One is three times as fast.
      seconds: worker === 0 ? 10e-6 : 30e-6,
      tasks: [] as string[],
      time: 0
    }));
    queues.forEach(({ worker }) => s.join(worker));
    const names = Array.from({ length: 1000 }, (_, i) => `a${i}`);
    s.submit(names.join(';'), { want: names.join(' ') });
    const asked: string[] = [];
    for (let left = names.length; left > 0;) {
      for (const line of s.said()) {
        const [what, names] = line.split(': ') as [string, string];
        const [, worker] = what.split(/ (?=\d)/) as [string, string];
        if (what.startsWith('assign')) {
          queues[Number(worker)]!.tasks.push(...names.split(' '));
        } else if (what.startsWith('take')) {
          asked.push(line);
        }
      }
      const [first] = queues
        .filter(({ tasks }) => tasks.length > 0)
        .sort((a, b) => a.time - b.time);
      const batch = first!.tasks.splice(0, 16);
      left -= batch.length;
      first!.time += batch.length * first!.seconds;
      s.finish(first!.worker, batch.join(' '), { duration: first!.seconds });
    }
    expect(asked).toEqual([]);
  });

  it('takes back with a task what waits for it there', () => {
    const s = new SchedulerFixture({
      options: { aheadPerThread: 4, takeBackSeconds: 0.005 }
    });
    s.join(0);
    s.submit('a');
    s.submit('b -> c');
    expect(s.said()).toEqual(['assign 0: a b c']);
    s.join(1);
    expect(s.said()).toEqual(['take back 0: b']);
    const { b, c } = { b: s.runId('b'), c: s.runId('c') };
    s.takenBack(0, 'b');
    expect(s.said()).toEqual(['release 0: b c', 'assign 1: b c']);
    // The worker's own word of it comes after that, and is of a run that is no more.
    s.finish(0, 'c', { runIds: [c], missing: { b: 0 } });
    expect(s.said()).toEqual([]);
    expect(s.states('b c')).toBe('Processing Processing');
    expect(s.runId('b')).not.toBe(b);
  });

  it('does not take what is dearer to move than to wait for', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('a -> b1 b2', { want: 'b1 b2' });
    s.finish(0, 'a', { nbytes: 1e9 });
    s.said();
    s.join(1);
    expect(s.said()).toEqual([]);
  });
});

describe('failures', () => {
  it('tries a task again as often as asked, then fails its dependents', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('a -> b', { want: 'a b', retries: { a: 1 } });
    s.fail(0, 'a');
    expect(s.state('a')).toBe('Processing');
    s.said();
    s.fail(0, 'a');
    expect(s.said()).toEqual([
      'release 0: b',
      'report 0: a Erred by a, Raised',
      'report 0: b Erred by a, Raised'
    ]);
  });

  it('tries erred keys again on demand, with all that failed with them', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('a -> b1 b2', { want: 'b1 b2' });
    s.fail(0, 'a');
    s.said();
    s.retry('b1');
    expect(s.said()).toEqual([
      'assign 0: a b1',
      'report 0: b1 Lost',
      'report 0: b2 Lost'
    ]);
    s.finish(0, 'a');
    s.finish(0, 'b1 b2');
    expect(s.states('b1 b2')).toBe('Memory Memory');
  });

  it('knows since when a task is unfinished: submitted, retried, lost', () => {
    const s = new SchedulerFixture();
    const since = (name: string): number =>
      s.scheduler.tasks.unfinishedSince[s.id(name)]!;
    s.join(0);
    s.submit('a -> b1 b2', { want: 'a b1 b2' });
    const submitted = since('a');
    expect([since('b1'), since('b2')]).toEqual([submitted, submitted]);
    s.fail(0, 'a');
    s.retry('b1');
    const retried = since('a');
    expect(retried).toBeGreaterThan(submitted);
    expect([since('b1'), since('b2')]).toEqual([retried, retried]);
    s.finish(0, 'a');
    s.join(1);
    s.finish(0, 'b1');
    // b2 was running there, a and b1 were kept there.
    s.leave(0);
    expect(since('a')).toBeGreaterThan(retried);
    expect(since('b1')).toBe(since('a'));
    expect(since('b2')).toBe(retried);
  });

  it('fetches an input again that was not where it should be', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.join(1);
    s.submit('a b -> c');
    s.finish(0, 'a', { nbytes: 1e6 });
    s.finish(1, 'b');
    s.said();
    s.finish(0, 'c', { missing: { b: 1 } });
    expect(s.said()).toContain('release 1: b');
    expect(s.states('a b c')).toMatch(
      /^Memory Processing (Waiting|Processing)$/
    );
  });

  it('runs a task again that was given back', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('a');
    const first = s.runId('a');
    s.finish(0, 'a', { status: RunStatus.Missing });
    expect(s.state('a')).toBe('Processing');
    expect(s.runId('a')).not.toBe(first);
  });

  it('ignores what it hears of runs that it has given up', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('a');
    const first = s.runId('a');
    s.finish(0, 'a', { status: RunStatus.Missing });
    s.said();
    s.finish(0, 'a', { runIds: [first] });
    expect(s.state('a')).toBe('Processing');
    expect(s.said()).toEqual([]);
  });

  it('recomputes the results of a lost worker that are still needed', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('a -> b; a -> c', { want: 'b' });
    s.finish(0, 'a');
    s.finish(0, 'b');
    s.said();
    s.leave(0);
    expect(s.said()).toEqual(['report 0: b Lost']);
    expect(s.states('a b')).toBe('NoWorker Waiting');
    s.join(1);
    expect(s.said()).toEqual(['assign 1: a b']);
  });

  it('keeps a result of which another worker has a copy', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.join(1);
    s.submit('a');
    s.finish(0, 'a');
    s.replicas(1, 'a');
    s.said();
    s.leave(0);
    expect(s.said()).toEqual([]);
    expect(s.state('a')).toBe('Memory');
  });

  it('sends a task again when its worker has dropped its input', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('a -> b', { want: 'a b' });
    s.finish(0, 'a');
    s.join(1);
    s.replicas(1, 'a');
    s.said();
    s.replicas(0, '', 'a');
    expect(s.said()).toEqual(['take back 0: b', 'release 0: b', 'assign 1: b']);
  });

  it('has copies dropped that come too late', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.join(1);
    s.submit('a -> b', { want: 'b' });
    s.finish(0, 'a');
    s.finish(0, 'b');
    s.said();
    s.replicas(1, 'a');
    expect(s.said()).toEqual(['release 1: a']);
  });

  it('blames a task when workers have died under it too often', () => {
    const s = new SchedulerFixture({ options: { allowedFailures: 1 } });
    s.join(0);
    s.submit('a -> b');
    s.leave(0);
    s.join(1);
    expect(s.state('a')).toBe('Processing');
    s.said();
    s.leave(1);
    expect(s.said()).toEqual(['report 0: b Erred by a, KilledWorker']);
  });

  it('blames nobody when workers close in order', () => {
    const s = new SchedulerFixture({ options: { allowedFailures: 0 } });
    s.join(0);
    s.submit('a');
    s.leave(0, 'closed');
    expect(s.state('a')).toBe('NoWorker');
  });

  it('sends nothing behind a suspicious task and it behind nothing', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('a; b', { want: 'a b' });
    s.leave(0);
    s.join(1);
    expect(s.saidOf('assign')).toEqual(['assign 1: a']);
    s.finish(1, 'a');
    expect(s.saidOf('assign')).toEqual(['assign 1: b']);
  });

  it('says so when placed data is lost', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.place(0, 'x y');
    s.submit('x -> a');
    s.release('y');
    expect(s.said()).toEqual([
      'release 0: y',
      'assign 0: a',
      'report 0: x Memory',
      'report 0: y Memory',
      'forgotten: y'
    ]);
    s.leave(0);
    expect(s.said()).toEqual([
      'report 0: x Erred by x, LostData',
      'report 0: a Erred by x, LostData'
    ]);
  });

  it('fails tasks without a worker, or queued, when placed data is lost', () => {
    const s = new SchedulerFixture({ options: { aheadPerThread: 1 } });
    s.join(0);
    s.join(1);
    s.place(0, 'x');
    s.submit('busy1; busy2; x -> a b', {
      want: 'busy1 busy2 a b',
      restrict: { a: { workers: [9], allowOther: false } }
    });
    expect(s.states('a b')).toBe('NoWorker Queued');
    s.replicas(0, '', 'x');
    expect(s.path('a')).toMatch(/NoWorker → Erred$/);
    expect(s.path('b')).toMatch(/Queued → Erred$/);
  });

  it('waits again, without a worker or queued, when an input is lost', () => {
    const s = new SchedulerFixture({ options: { aheadPerThread: 1 } });
    s.join(0);
    s.submit('x -> busy a b', {
      want: 'busy a b',
      restrict: { a: { workers: [9], allowOther: false } }
    });
    s.finish(0, 'x');
    expect(s.states('busy a b')).toBe('Processing NoWorker Queued');
    s.replicas(0, '', 'x');
    expect(s.path('a')).toMatch(/NoWorker → Waiting$/);
    expect(s.path('b')).toMatch(/Queued → Waiting$/);
  });
});

describe('runs that are given up', () => {
  const runsOf = (each: Instruction): number[] =>
    each.type === 'release' ? [...each.runIds] : [];
  const two = (threads = 1): SchedulerFixture => {
    const s = new SchedulerFixture();
    s.join(0, threads);
    s.join(1, threads);
    return s;
  };

  it('have their thread until they end: others go elsewhere', () => {
    const s = two();
    s.submit('a');
    expect(s.said()).toEqual(['assign 0: a']);
    const run = s.runId('a');
    s.cancel('a');
    // It is asked before it forgets.
    expect(s.said().slice(0, 2)).toEqual(['take back 0: a', 'release 0: a']);
    s.takenBack(0, 'a', { taken: false, runIds: [run] });
    s.submit('b c d', { want: 'b c d' });
    expect(s.said()).toEqual(['assign 1: b c']);
    s.finish(0, 'a', { runIds: [run] });
    expect(s.said()).toEqual(['assign 0: d']);
  });

  it('are named as they are released, and what has ended is not', () => {
    const s = two();
    const released = () => s.scheduler.takeInstructions().flatMap(runsOf);
    s.submit('a b', { want: 'a b' });
    const run = s.runId('a');
    s.scheduler.takeInstructions();
    s.cancel('a');
    expect(released()).toEqual([run]);
    // It asks to run anew: its run is over.
    s.finish(1, 'b', { status: RunStatus.Rescheduled });
    expect(released()).toEqual([NONE_U32]);
    s.finish(1, 'b');
    s.scheduler.takeInstructions();
    s.cancel('b');
    expect(released()).toEqual([NONE_U32]);
  });

  it.each([
    ['went with its worker', (s: SchedulerFixture) => s.leave(0)],
    [
      'is not found by a peer',
      (s: SchedulerFixture) => s.finish(1, 'e', { missing: { x: 0 } })
    ],
    ['has no copy any more', (s: SchedulerFixture) => s.replicas(0, '', 'x')]
  ])('are none whose task waits anew for an input that %s', (_, lose) => {
    const s = two(2);
    s.submit('x');
    s.finish(0, 'x');
    const there = { workers: [1], allowOther: false };
    s.submit('x -> d e', { want: 'd e', restrict: { d: there, e: there } });
    const run = s.runId('d');
    s.scheduler.takeInstructions();
    lose(s);
    const releases = s.scheduler
      .takeInstructions()
      .filter(each => each.type === 'release' && each.worker === 1);
    expect(releases.flatMap(({ taskIds }) => [...taskIds])).toContain(
      s.id('d')
    );
    // Its task is wanted on, and runs anew.
    expect(releases.flatMap(runsOf)).not.toContain(run);
    s.finish(s.workerOf('x'), 'x');
    expect(s.state('d')).toBe('Processing');
    expect(s.runId('d')).not.toBe(run);
  });

  /** A task waits anew for its input; a thread may be in its first run. */
  const recalled = () => {
    const s = two(2);
    s.submit('x');
    s.finish(0, 'x');
    s.submit('x -> d', {
      want: 'd',
      restrict: { d: { workers: [1], allowOther: false } }
    });
    const run = s.runId('d');
    s.leave(0);
    const named = () =>
      s.scheduler
        .takeInstructions()
        .flatMap(runsOf)
        .filter(each => each !== NONE_U32);
    expect(named()).toEqual([]);
    const runsAnew = () => {
      s.finish(1, 'x');
      expect(s.state('d')).toBe('Processing');
      s.scheduler.takeInstructions();
      return s.runId('d');
    };
    return { s, run, named, runsAnew };
  };

  it('are those too that were recalled, once their task is given up', () => {
    const waits = recalled();
    waits.s.cancel('d');
    expect(waits.named()).toContain(waits.run);

    const { s, run, named, runsAnew } = recalled();
    const second = runsAnew();
    s.cancel('d');
    expect(named().sort()).toEqual([run, second].sort());

    const fails = recalled();
    fails.s.fail(1, 'x');
    expect(fails.s.state('d')).toBe('Erred');
    expect(fails.named()).toContain(fails.run);
  });

  it('are none that were recalled and whose task has a result, or that have ended', () => {
    const done = recalled();
    done.runsAnew();
    done.s.finish(1, 'd');
    done.s.release('d');
    expect(done.s.state('d')).toBe('Forgotten');
    expect(done.named()).toEqual([]);

    const ended = recalled();
    const second = ended.runsAnew();
    ended.s.finish(1, 'd', { runIds: [ended.run] });
    ended.s.cancel('d');
    expect(ended.named()).toEqual([second]);

    const alone = recalled();
    alone.s.leave(1);
    alone.s.cancel('d');
    expect(alone.named()).toEqual([]);
  });

  it('have none if they had not begun', () => {
    const s = two();
    s.submit('a');
    s.said();
    const run = s.runId('a');
    s.cancel('a');
    s.takenBack(0, 'a', { runIds: [run] });
    s.said();
    s.submit('b');
    expect(s.said()).toEqual(['assign 0: b']);
  });

  it('have none once they have left it to others', () => {
    const s = two();
    s.submit('a b', { want: 'a b' });
    s.said();
    s.secede(0, 'a');
    s.cancel('a');
    s.submit('c');
    expect(s.saidOf('assign')).toEqual(['assign 0: c']);
    s.said();
    const run = s.runId('b');
    s.cancel('b');
    s.secede(1, 'b');
    expect(s.runId('b')).toBe(run);
    s.submit('d');
    expect(s.saidOf('assign')).toEqual(['assign 1: d']);
  });

  it('are no wait for what was sent behind them: an idle worker asks for it', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('a b', { want: 'a b' });
    s.join(1);
    expect(s.said()).toEqual(['assign 0: a b']);
    s.cancel('a');
    expect(s.saidOf('take back')).toEqual(['take back 0: a', 'take back 0: b']);
    s.takenBack(0, 'b');
    expect(s.saidOf('assign')).toEqual(['assign 1: b']);
  });

  it('are no wait for what has its inputs there, if these can be moved', () => {
    const s = two();
    s.place(0, 'x');
    const here = { workers: [0], allowOther: false };
    s.submit('long', { restrict: { long: here } });
    s.submit('b1');
    s.finish(1, 'b1', { duration: 1e-5 });
    s.said();
    s.cancel('long');
    s.pass(1);
    s.said();
    s.submit('x -> b2');
    expect(s.saidOf('assign')).toEqual(['assign 1: b2']);
  });

  it('leave the other threads of their worker in use', () => {
    const s = two(2);
    s.submit('a');
    s.said();
    s.cancel('a');
    s.submit('b1 b2 b3', { want: 'b1 b2 b3' });
    expect(s.saidOf('assign').sort()).toEqual([
      'assign 0: b1',
      'assign 1: b2 b3'
    ]);
  });

  it('are asked for in one message per worker', () => {
    const s = new SchedulerFixture({ options: { aheadPerThread: 1000 } });
    s.join(0);
    const names = Array.from({ length: 1000 }, (_, i) => `a${i}`).join(' ');
    s.submit(names, { want: names });
    s.said();
    s.cancel(names);
    const types = s.scheduler.takeInstructions().map(({ type }) => type);
    expect(types.filter(type => type !== 'report')).toEqual([
      'takeBack',
      'release',
      'forgotten'
    ]);
  });
});

describe('workers that pause', () => {
  it('are given nothing until they resume', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.pause(0);
    s.submit('a');
    expect(s.said()).toEqual([]);
    expect(s.state('a')).toBe('Queued');
    s.resume(0);
    expect(s.said()).toEqual(['assign 0: a']);
  });

  it('hand over what is queued for them', () => {
    const s = new SchedulerFixture({ options: { aheadPerThread: 1 } });
    s.join(0);
    s.submit('a -> b1 b2', { want: 'b1 b2' });
    s.finish(0, 'a');
    s.pause(0);
    s.said();
    s.join(1);
    expect(s.said()).toEqual(['take back 0: b1', 'assign 1: b2']);
  });

  it('are asked for all they have not started, however little that is', () => {
    const s = new SchedulerFixture({ options: { unknownSeconds: 1e-6 } });
    s.join(0, 2);
    s.submit('a');
    s.submit('b -> c');
    expect(s.said()).toEqual(['assign 0: a b c']);
    s.join(1, 2);
    expect(s.said()).toEqual([]);
    s.pause(0);
    expect(s.said()).toEqual(['take back 0: a b']);
    s.takenBack(0, 'a', { taken: false });
    s.takenBack(0, 'b');
    expect(s.said()).toEqual(['release 0: b c', 'assign 1: b c']);
    s.finish(0, 'a');
    s.finish(1, 'b');
    s.finish(1, 'c');
    expect(s.states('a c')).toBe('Memory Memory');
  });

  it('are asked for what they are sent in the same turn, after it', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('a');
    s.pause(0);
    s.join(1);
    expect(s.said()).toEqual(['assign 0: a', 'take back 0: a']);
  });

  it('are asked when another resumes that may run it, and not before', () => {
    const s = new SchedulerFixture();
    const only0and2 = { workers: [0, 2], allowOther: false };
    s.join(0);
    s.join(1);
    s.submit('a', { restrict: { a: only0and2 } });
    expect(s.said()).toEqual(['assign 0: a']);
    s.pause(0);
    expect(s.said()).toEqual([]);
    s.join(2);
    expect(s.said()).toEqual(['take back 0: a']);
  });
});

describe('a stall', () => {
  it('is when tasks wait, all workers are full and nothing runs', () => {
    const s = new SchedulerFixture();
    expect(s.scheduler.isStalled).toBe(false);
    s.join(0);
    s.join(1);
    s.submit('a b -> c');
    s.pause(0);
    s.takenBack(0, 'a', { taken: false });
    s.pause(1);
    expect(s.scheduler.isStalled).toBe(false); // they run or free memory
    s.pause(0, true);
    expect(s.scheduler.isStalled).toBe(false);
    s.pause(1, true);
    expect(s.scheduler.isStalled).toBe(true);
    s.resume(1);
    expect(s.scheduler.isStalled).toBe(false);
  });

  it('is none while a worker that is not full runs something', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.join(1);
    s.submit('a; b', { want: 'a b' });
    s.pause(0, true);
    s.takenBack(0, 'a');
    expect(s.scheduler.isStalled).toBe(false);
  });

  it('is none without work', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.pause(0, true);
    expect(s.scheduler.isStalled).toBe(false);
  });

  it('that is given up fails what waits, and nothing else', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('a', { want: 'a' });
    s.finish(0, 'a');
    s.submit('b; c', { want: 'b c' });
    s.submit('d -> e');
    s.pause(0, true);
    s.said();
    const runs = [s.runId('b'), s.runId('c')];
    s.giveUpStall();
    expect(s.states('a b c d e')).toBe('Memory Erred Erred Erred Erred');
    expect(s.said()).toContain('release 0: b c');
    // Room again: what comes later runs.
    s.resume(0);
    s.takenBack(0, 'b c', { runIds: runs });
    s.submit('f');
    expect(s.said()).toContain('assign 0: f');
  });

  it('cannot be given up when it has ended', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('a');
    s.giveUpStall();
    expect(s.state('a')).toBe('Processing');
  });

  it('does not concern tasks whose workers are not there; these are named', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('a; b', {
      want: 'a b',
      restrict: { a: { workers: [7], allowOther: false } }
    });
    expect(s.scheduler.anUnplaced()).toEqual(s.id('a'));
    s.pause(0, true);
    s.giveUpStall();
    expect(s.states('a b')).toBe('NoWorker Erred');
    s.join(7);
    expect(s.scheduler.unplacedCount).toBe(0);
  });

  it('is none while all workers are to leave: what waits has no worker', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.join(1, 1, ['second']);
    s.handle({ type: 'workerRetires', at: 1, worker: 1 });
    s.submit('a; b', {
      want: 'a b',
      restrict: { b: { workers: ['second'], allowOther: false } }
    });
    // `b` may run only where nothing starts any more.
    expect(s.scheduler.unplacedCount).toBe(1);
    expect(s.scheduler.anUnplaced()).toBe(s.id('b'));
    s.finish(0, 'a');
    expect(s.scheduler.isStalled).toBe(false);
    s.handle({ type: 'workerRetires', at: 2, worker: 0 });
    s.submit('c; d', { want: 'c d' });
    expect(s.scheduler.isDeserted).toBe(true);
    expect(s.scheduler.isStalled).toBe(false);
    expect(s.scheduler.unplacedCount).toBe(3);
    s.leave(0);
    s.leave(1);
    expect(s.scheduler.unplacedCount).toBe(4); // `a` is made again too
    s.join(2);
    expect(s.scheduler.unplacedCount).toBe(1);
  });
});

describe('a death without hope', () => {
  it('is blamed on what ran and on what was held, whatever else there is', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.join(1);
    s.submit('a; b; c', { want: 'a b c' });
    s.finish(0, 'a');
    expect(s.states('a b c')).toBe('Memory Processing Processing');
    s.leave(0, 'hopeless');
    expect(s.states('a b c')).toBe('Erred Erred Processing');
    s.leave(1, 'died');
    expect(s.state('c')).not.toBe('Erred');
  });

  it('counts a task as a step ahead once', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('a', { want: 'a' });
    s.finish(0, 'a');
    expect(s.scheduler.stepsAhead).toBe(1);
    s.leave(0, 'closed');
    s.join(1);
    s.finish(1, 'a');
    expect([s.state('a'), s.scheduler.stepsAhead]).toEqual(['Memory', 1]);
    s.submit('b', { want: 'b' });
    s.fail(1, 'b');
    expect(s.scheduler.stepsAhead).toBe(2);
  });
});

describe('clients', () => {
  it('cancel a key with what depends on it', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('a -> b -> c; d', { want: 'a c d' });
    s.said();
    s.cancel('a');
    expect(s.said()).toEqual([
      'take back 0: a',
      'release 0: a',
      'report 0: a Cancelled',
      'report 0: c Cancelled',
      'forgotten: c b a'
    ]);
  });

  it('do not disturb each other', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('a', { client: 1 });
    s.want('a', 2);
    s.cancel('a', 1);
    expect(s.said()).toEqual(['assign 0: a', 'report 1: a Cancelled']);
    s.finish(0, 'a');
    expect(s.said()).toEqual(['report 2: a Memory']);
    s.clientLeft(2);
    expect(s.said()).toEqual(['release 0: a', 'forgotten: a']);
  });
});

it('throws with the story when a move is not in the table', () => {
  const s = new SchedulerFixture();
  s.join(0);
  s.submit('a');
  const error = new InvalidTransition(
    { log: { story: () => s.story('a') } } as unknown as SchedulerState,
    0,
    TaskState.Erred,
    TaskState.Processing
  );
  expect(error.message).toMatch(/^Task 0 cannot go from Erred to Processing/);
  expect(error.message).toContain(
    'graphSubmitted at 0.001000 s: Released → Waiting'
  );
});

it('refuses an id that is not free', () => {
  const s = new SchedulerFixture();
  s.submit('a');
  expect(() =>
    s.handle({
      type: 'dataPlaced',
      at: 1,
      client: 0,
      taskIds: denseIds(s.id('a')),
      functionIds: Uint32Array.of(0),
      nbytes: Float64Array.of(0),
      wanted: Uint8Array.of(0),
      holderRows: new Uint32Array(0),
      holderWorkers: new Uint16Array(0)
    })
  ).toThrow('Task id 0 is not free.');
});
