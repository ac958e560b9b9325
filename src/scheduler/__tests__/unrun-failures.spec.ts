import { RunStatus } from '../../records/enumerations';
import { SchedulerFixture } from '../../testing/scheduler-fixture';
import { FailureReason } from '..';
import { UnrunFailures } from '../unrun-failures';

/** Name, cause and reason of what ended without a run. */
function unrun(s: SchedulerFixture, names: string): string[] {
  const nameOf = (id: number): string =>
    names.split(' ').find(name => s.id(name) === id) ?? '?';
  return s.scheduler
    .takeUnrunFailures()
    .map(
      ({ task, cause, reason }) =>
        `${nameOf(task)} by ${nameOf(cause)}: ${FailureReason[reason]}`
    );
}

describe('what ended without a run', () => {
  it('is what needs a task that raised, and not that task', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('a -> b; b -> c', { want: 'a b c' });
    s.finish(0, 'a', { status: RunStatus.Failed });
    expect(unrun(s, 'a b c')).toEqual(['b by a: Raised', 'c by a: Raised']);
    expect(unrun(s, 'a b c')).toEqual([]);
  });

  it('is what may have been running at a worker that died: the oldest, as many as it has threads', () => {
    const s = new SchedulerFixture({ options: { aheadPerThread: 4 } });
    s.join(0, 2);
    s.submit('a; b; c; d', { want: 'a b c d' });
    s.finish(0, 'a');
    s.leave(0);
    expect(unrun(s, 'a b c d')).toEqual(['b by b: None', 'c by c: None']);
  });

  it('is nothing of a worker that left in order', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('a');
    s.leave(0, 'closed');
    expect(unrun(s, 'a')).toEqual([]);
  });

  it('is a task that killed as many workers as it may, once for each', () => {
    const s = new SchedulerFixture({ options: { allowedFailures: 1 } });
    s.submit('a -> b', { want: 'b' });
    s.join(0);
    s.leave(0);
    expect(unrun(s, 'a b')).toEqual(['a by a: None']);
    s.join(1);
    s.leave(1);
    expect(unrun(s, 'a b')).toEqual([
      'a by a: KilledWorker',
      'b by a: KilledWorker'
    ]);
  });

  it('is at most a thousand between two looks, and no graph that was refused', () => {
    const failures = new UnrunFailures();
    failures.add(0, 0, FailureReason.NoRoom);
    failures.add(1, 1, FailureReason.Raised);
    expect(failures.take()).toEqual([]);
    for (let task = 0; task < 1200; task++) {
      failures.add(task, 5000, FailureReason.Raised);
    }
    // What is to blame is told, however much it took along.
    for (let task = 2000; task < 3200; task++) {
      failures.add(task, task, FailureReason.KilledWorker);
    }
    const told = failures.take();
    expect(told).toHaveLength(2000);
    expect(told.filter(({ task, cause }) => task === cause)).toHaveLength(1000);
    failures.add(7, 8, FailureReason.Raised);
    expect(failures.take()).toEqual([
      { task: 7, cause: 8, reason: FailureReason.Raised }
    ]);
  });
});
