import { arrayOf } from '../../base/typed-arrays';
import { SchedulerFixture } from '../../testing/scheduler-fixture';
import type { DenseTaskId } from '../../records/ids';

/** `a` lies at worker 0; three workers are there. */
function held(): SchedulerFixture {
  const s = new SchedulerFixture();
  [0, 1, 2].forEach(worker => s.join(worker));
  s.place(0, 'a');
  s.said();
  return s;
}

function says(
  s: SchedulerFixture,
  type: 'copiesAsked' | 'copiesDropped',
  worker: number,
  ...names: string[]
): string[] {
  const taskIds = arrayOf(
    Int32Array,
    names.map(name => (name === '-' ? (-1 as DenseTaskId) : s.id(name)))
  );
  s.handle({ type, at: 1, worker, taskIds });
  return s.said();
}

describe('copies that are asked for', () => {
  it('are ordered where they are not, of what is in memory', () => {
    const s = held();
    s.submit('b');
    s.said();
    expect(says(s, 'copiesAsked', 1, 'a', 'b', '-')).toEqual(['acquire 1: a']);
    expect(says(s, 'copiesAsked', 0, 'a')).toEqual([]);
    expect(says(s, 'copiesAsked', 9, 'a')).toEqual([]);
  });

  it('do not come to workers that are full or are to leave', () => {
    const s = held();
    s.pause(1);
    s.handle({ type: 'workerRetires', at: 1, worker: 2 });
    s.said();
    expect(says(s, 'copiesAsked', 1, 'a')).toEqual([]);
    expect(says(s, 'copiesAsked', 2, 'a')).toEqual([]);
  });

  it('are dropped unless they are the last on a worker that stays', () => {
    const s = held();
    expect(says(s, 'copiesDropped', 0, 'a')).toEqual([]);
    s.replicas(1, 'a');
    s.handle({ type: 'workerRetires', at: 1, worker: 1 });
    s.said();
    expect(says(s, 'copiesDropped', 0, 'a')).toEqual([]);
    s.replicas(2, 'a');
    s.said();
    expect(says(s, 'copiesDropped', 0, 'a')).toEqual(['release 0: a']);
    expect(says(s, 'copiesDropped', 0, 'a', '-')).toEqual([]);
    expect(s.scheduler.tasks.holdersOf(s.id('a')).sort()).toEqual([1, 2]);
  });

  it('are not counted on where they are to be dropped, whatever the worker says meanwhile', () => {
    const s = held();
    s.replicas(1, 'a');
    s.said();
    const taskIds = arrayOf(Int32Array, [s.id('a')]);
    s.handle({ type: 'copiesDropped', at: 1, worker: 1, taskIds });
    s.replicas(1, 'a');
    expect(s.scheduler.tasks.holdersOf(s.id('a'))).toEqual([0]);
    expect(s.said()).toEqual(['release 1: a']);
    s.replicas(1, 'a');
    expect(s.scheduler.tasks.holdersOf(s.id('a')).sort()).toEqual([0, 1]);
  });

  it('stay where a task needs them', () => {
    const s = held();
    s.submit('a -> b', { want: 'b' });
    s.said();
    s.replicas(1, 'a');
    expect(says(s, 'copiesDropped', 0, 'a')).toEqual([]);
    expect(says(s, 'copiesDropped', 1, 'a')).toEqual(['release 1: a']);
  });
});
