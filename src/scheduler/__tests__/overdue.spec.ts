import type { DenseTaskIds } from '../../records/ids';
import type { Restriction } from '..';
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

/** A task of 20 ms waits at worker 0, with 2 GB there, behind another. @param behind - what comes before them, if anything. */
function withLargeInput(behind = ''): SchedulerFixture {
  const s = new SchedulerFixture();
  s.join(0);
  s.submit('b; x', { want: 'b x' });
  s.finish(0, 'b', { duration: 0.02 });
  s.finish(0, 'x', { nbytes: 2e9 });
  s.submit(`x -> ${behind} b1 b2`, { want: `${behind} b1 b2` });
  s.said();
  return s;
}

describe('for overdue nothing is taken', () => {
  it('that was paused and goes on', () => {
    const s = withLargeInput();
    s.pause(0);
    s.pass(60);
    s.resume(0);
    s.said();
    s.join(1);
    expect(s.said()).toEqual([]);
  });

  it('whose thread a cancelled task had, and has left', () => {
    const s = withLargeInput('b0');
    const taskIds = Int32Array.of(s.id('b0')) as DenseTaskIds;
    const runIds = Uint32Array.of(s.runId('b0'));
    s.cancel('b0');
    s.pass(60);
    const seconds = Float64Array.of(60);
    s.handle({
      type: 'tasksSeceded',
      at: s.now,
      worker: 0,
      taskIds,
      runIds,
      duration: seconds,
      back: false
    });
    s.said();
    s.join(1);
    expect(s.said()).toEqual([]);
  });
});

describe('a worker that is overdue', () => {
  it.each(['queued', 'sent'])(
    'whose tasks are bound to it hides none that are %s elsewhere',
    where => {
      const s = new SchedulerFixture();
      const bound = (
        names: string[],
        workers: number[]
      ): Record<string, Restriction> =>
        Object.fromEntries(
          names.map(name => [name, { workers, allowOther: false }])
        );
      const submit = (names: string[], workers: number[]): void =>
        s.submit(names.join(';'), {
          want: names.join(' '),
          restrict: bound(names, workers)
        });
      s.join(0);
      s.submit('b');
      s.finish(0, 'b', SHORT);
      submit(['b1', 'b2'], [0]);
      s.pass(300);
      if (where === 'queued') {
        submit(['b3'], [0]);
        expect(s.state('b3')).toBe('Queued');
      }
      s.join(1);
      s.submit('f');
      s.finish(1, 'f', { duration: 5 });
      submit(where === 'queued' ? ['f1', 'f2', 'f3'] : ['f1', 'f2'], [1, 2]);
      s.said();
      s.join(2);
      expect(s.said()).toEqual([
        where === 'queued' ? 'assign 2: f3' : 'take back 1: f2'
      ]);
    }
  );
});

describe('what a worker gives back', () => {
  it('goes where it was asked for, also if it needs resources and its inputs are there', () => {
    const s = new SchedulerFixture();
    const gpu = { workers: null, allowOther: false, resources: { GPU: 1 } };
    s.join(0, 1, [], { GPU: 4 });
    s.submit('b; x', { want: 'b x' });
    s.finish(0, 'b x', SHORT);
    s.submit('x -> b1 b2', { want: 'b1 b2', restrict: { b1: gpu, b2: gpu } });
    s.join(1, 1, [], { GPU: 1 });
    s.said();
    s.pass(0.3);
    expect(s.said()).toEqual(['take back 0: b2']);
    s.takenBack(0, 'b2');
    expect(s.saidOf('assign')).toEqual(['assign 1: b2']);
  });

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
