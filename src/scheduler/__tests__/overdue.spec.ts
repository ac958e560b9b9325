import { SchedulerFixture } from '../../testing/scheduler-fixture';

const SHORT = { duration: 20e-6 };

/** Worker 0 has tasks of a function that takes 20 us; it has told of the last that ended at the present time. Worker 1 has none. */
function withShortTasks(drawing: (i: number) => string): SchedulerFixture {
  const s = new SchedulerFixture();
  s.join(0);
  const numbers = Array.from({ length: 200 }, (_, i) => i);
  s.submit('x');
  s.finish(0, 'x', SHORT);
  s.submit('b');
  s.finish(0, 'b', SHORT);
  s.submit(numbers.map(drawing).join(';'), {
    want: numbers.map(i => `b${i}`).join(' ')
  });
  s.finish(0, 'b0', SHORT);
  s.join(1);
  expect(s.saidOf('take')).toEqual([]);
  expect(s.states('b1 b199')).toBe('Processing Processing');
  return s;
}

describe('of a worker that has ended nothing for much longer than its tasks take', () => {
  it('an idle one is given what waits there, one task after another', () => {
    const s = withShortTasks(i => `b${i}`);
    s.pass(0.02);
    expect(s.said()).toEqual([]);
    s.pass(0.1);
    expect(s.said()).toEqual(['take back 0: b199']);
    s.takenBack(0, 'b199');
    expect(s.saidOf('assign')).toEqual(['assign 1: b199']);
    s.finish(1, 'b199', SHORT);
    expect(s.saidOf('take')).toEqual(['take back 0: b198']);
    // It goes on: what is left takes 4 ms.
    s.finish(0, 'b1', SHORT);
    s.takenBack(0, 'b198', { taken: false });
    expect(s.said()).toEqual([expect.stringContaining('report')]);
  });

  it('so it is of tasks whose inputs are there, if they have waited for as long as the transfer takes', () => {
    const s = withShortTasks(i => `x -> b${i}`);
    s.pass(0.1);
    expect(s.said()).toEqual(['take back 0: b199']);
    s.takenBack(0, 'b199');
    // (Where it is placed by what is booked it would go to and fro.)
    expect(s.saidOf('assign')).toEqual(['assign 1: b199']);
  });

  it('none of what travels for longer than it has waited is taken', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('b; x', { want: 'b x' });
    s.finish(0, 'b', SHORT);
    s.finish(0, 'x', { nbytes: 250e6 });
    s.submit('x -> b1 b2 b3', { want: 'b1 b2 b3' });
    s.join(1);
    s.said();
    s.pass(0.4);
    expect(s.said()).toEqual([]);
    s.pass(0.2);
    expect(s.said()).toEqual(['take back 0: b3']);
  });

  it('nothing more is sent ahead to it until it goes on', () => {
    const s = withShortTasks(i => `x -> b${i}`);
    s.leave(1);
    s.pass(0.1);
    s.said();
    s.submit('x -> b200; x -> b201', { want: 'b200 b201' });
    expect(s.said()).toEqual([]);
    s.finish(0, 'b1', SHORT);
    expect(s.saidOf('assign')).toEqual(['assign 0: b200 b201']);
  });

  it('nothing is taken for overdue whose tasks are known to take as long', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('b; x', { want: 'b x' });
    s.finish(0, 'b', { duration: 0.5 });
    // One second of transfer, two tasks of half a second there.
    s.finish(0, 'x', { nbytes: 500e6 });
    s.submit('x -> b1 b2', { want: 'b1 b2' });
    s.join(1);
    s.said();
    s.pass(0.5);
    expect(s.said()).toEqual([]);
  });
});

describe('what a worker gives back', () => {
  it('is placed as usual where the one for which it was asked has other work meanwhile', () => {
    const s = withShortTasks(i => `x -> b${i}`);
    s.pass(0.1);
    expect(s.said()).toEqual(['take back 0: b199']);
    s.submit('c', { restrict: { c: { workers: [1], allowOther: false } } });
    s.takenBack(0, 'b199');
    expect(s.saidOf('assign')).toEqual(['assign 1: c']);
    expect(s.state('b199')).toBe('Queued');
    expect(s.workerOf('b199')).toBe(0);
  });
});
