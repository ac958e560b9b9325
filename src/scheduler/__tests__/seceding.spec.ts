import { RunStatus } from '../../records/enumerations';
import { SchedulerFixture } from '../../testing/scheduler-fixture';
import { DEFAULT_OPTIONS } from '..';

const ONE_AHEAD = { options: { aheadPerThread: 1, aheadMost: 1 } };

describe('a run that secedes', () => {
  it('leaves its thread to others, and takes one again', () => {
    const s = new SchedulerFixture(ONE_AHEAD);
    s.join(0);
    s.submit('a; b; c', { want: 'a b c' });
    expect(s.said()).toEqual(['assign 0: a']);
    s.secede(0, 'a');
    expect(s.said()).toEqual(['assign 0: b']);
    s.secede(0, 'a', true);
    s.finish(0, 'b');
    expect(s.saidOf('assign')).toEqual([]);
    s.finish(0, 'a');
    expect(s.saidOf('assign')).toEqual(['assign 0: c']);
  });

  it('goes elsewhere when its worker dies, and is blamed like others', () => {
    const s = new SchedulerFixture({ options: { allowedFailures: 1 } });
    s.submit('a');
    for (const worker of [0, 1]) {
      s.join(worker);
      expect(s.saidOf('assign')).toEqual([`assign ${worker}: a`]);
      s.secede(worker, 'a');
      s.leave(worker);
    }
    expect(s.said()).toContain('report 0: a Erred by a, KilledWorker');
  });

  it('is told of once, and what is said of another run counts for nothing', () => {
    const s = new SchedulerFixture(ONE_AHEAD);
    s.join(0);
    s.submit('a; b; c', { want: 'a b c' });
    s.secede(0, 'a');
    s.secede(0, 'a');
    s.secede(0, 'b', true);
    expect(s.saidOf('assign')).toEqual(['assign 0: a b']);
    s.cancel('a');
    s.said();
    s.finish(0, 'b');
    expect(s.saidOf('assign')).toEqual(['assign 0: c']);
  });

  it('secedes by the word of its own worker alone', () => {
    const s = new SchedulerFixture(ONE_AHEAD);
    s.join(0);
    s.join(1);
    s.submit('a; b; c', { want: 'a b c' });
    expect(s.said()).toEqual(['assign 0: a', 'assign 1: b']);
    s.secede(1, 'a');
    expect(s.said()).toEqual([]);
    s.secede(0, 'a');
    expect(s.said()).toEqual(['assign 0: c']);
    s.secede(1, 'a', true);
    s.finish(0, 'a c');
    s.finish(1, 'b');
    expect(s.states('a b c')).toBe('Memory Memory Memory');
  });

  it('waits for a task that no worker has memory for: that one fails, and it goes on', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('a');
    s.secede(0, 'a');
    s.submit('b', { within: 'a' });
    s.pause(0, true);
    s.said();
    s.giveUpStall();
    expect(s.saidOf('report')).toEqual(['report 0: b Erred by b, Stalled']);
    expect(s.state('a')).toBe('Processing');
  });
});

describe('what a task submits', () => {
  it('goes before what stands beside the task', () => {
    const s = new SchedulerFixture(ONE_AHEAD);
    s.join(0);
    s.submit('a; b; c', { want: 'a b c', priority: { a: 1, b: 1 } });
    s.secede(0, 'a');
    s.secede(0, 'b');
    s.submit('x; y', { want: 'x y', within: 'a' });
    s.said();
    const order: string[] = [];
    for (let running = 'c'; running !== '';) {
      s.finish(0, running);
      running = s.saidOf('assign').pop()?.split(' ').pop() ?? '';
      order.push(running);
    }
    expect(order).toEqual(['x', 'y', '']);
    s.submit('d; e', { want: 'd e', priority: { d: 1, e: 1 } });
    s.submit('z', { within: 'a' });
    s.finish(0, 'd');
    expect(s.saidOf('assign').pop()).toBe('assign 0: z');
  });

  it('takes the turns of the client for which the task runs', () => {
    const s = new SchedulerFixture(ONE_AHEAD);
    s.join(0);
    s.submit('a', { client: 0 });
    s.secede(0, 'a');
    s.submit('x', { within: 'a', client: 7 });
    expect([...'xa'].map(name => s.scheduler.tasks.client[s.id(name)])).toEqual(
      [0, 0]
    );
  });
});

describe('a task that asks to be run anew', () => {
  it('is given to a worker again, as often as is allowed', () => {
    const s = new SchedulerFixture({ options: { mostReschedules: 2 } });
    s.join(0);
    s.submit('a', { retries: { a: 1 } });
    for (let run = 0; run < 3; run++) {
      expect(s.saidOf('assign')).toEqual(['assign 0: a']);
      s.finish(0, 'a', { status: RunStatus.Rescheduled });
    }
    expect(s.saidOf('report')).toEqual(['report 0: a Erred by a, Rescheduled']);
    expect(DEFAULT_OPTIONS.mostReschedules).toBe(1000);
  });
});

describe('a task that was at a worker when it died', () => {
  it('goes to a thread that has nothing but what waits for a run that has seceded', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('a -> b');
    expect(s.saidOf('assign')).toEqual(['assign 0: a b']);
    s.secede(0, 'a');
    s.join(1);
    const there = { workers: [1], allowOther: true };
    s.submit('t', { within: 'a', restrict: { t: there } });
    expect(s.saidOf('assign')).toEqual(['assign 1: t']);
    // `a` waits for it, and `b` for `a`.
    s.leave(1);
    expect(s.saidOf('assign')).toEqual(['assign 0: t']);
  });
});
