import * as fc from 'fast-check';
import { SchedulerFixture } from '../../../testing/scheduler-fixture';
import { wantedWorkers } from '../wanted-workers';

/** Tasks that nobody has run yet count as half a second each. */
function wanted(
  workers: number,
  tasks: number,
  threads = 1,
  range = { minimum: 0, maximum: 100 }
): number {
  const s = new SchedulerFixture();
  for (let worker = 0; worker < workers; worker++) {
    s.join(worker, threads);
  }
  if (tasks > 0) {
    const names = Array.from({ length: tasks }, (_, i) => `t${i}`).join(' ');
    s.submit(names, { want: names });
  }
  return wantedWorkers(s.scheduler, threads, {}, range);
}

it('wants as many as end the work in five seconds, and as it can fill', () => {
  expect(wanted(0, 0)).toBe(0);
  expect(wanted(0, 1)).toBe(1);
  expect(wanted(0, 40)).toBe(4);
  expect(wanted(0, 40, 2)).toBe(2);
  expect(wanted(2, 40)).toBe(4);
  expect(wanted(2, 0)).toBe(0);
  expect(wanted(1, 3)).toBe(1);
  expect(wanted(0, 40, 1, { minimum: 0, maximum: 3 })).toBe(3);
  expect(wanted(0, 0, 1, { minimum: 2, maximum: 3 })).toBe(2);
});

it('wants no more than long tasks can fill', () => {
  const s = new SchedulerFixture();
  s.join(0, 2);
  s.submit('t1', { want: 't1' });
  s.finish(0, 't1', { duration: 60 });
  s.submit('t2 t3 t4', { want: 't2 t3 t4' });
  const range = { minimum: 0, maximum: 100 };
  expect(wantedWorkers(s.scheduler, 2, {}, range)).toBe(2);
});

it('wants another for one whose threads are taken by runs that were given up', () => {
  const s = new SchedulerFixture();
  s.join(0);
  s.submit('a');
  s.said();
  s.cancel('a');
  const range = { minimum: 0, maximum: 100 };
  expect(wantedWorkers(s.scheduler, 1, {}, range)).toBe(0);
  s.submit('b');
  expect(wantedWorkers(s.scheduler, 1, {}, range)).toBe(2);
});

it('wants none for tasks that no worker which it starts could run', () => {
  const s = new SchedulerFixture();
  const range = { minimum: 0, maximum: 100 };
  const need = (resources: Record<string, number>, workers?: string[]) => ({
    resources,
    workers: workers ?? null,
    allowOther: false
  });
  s.submit('g', { restrict: { g: need({ GPU: 1 }) } });
  s.submit('n', { restrict: { n: need({ GPU: 1 }, ['w']) } });
  expect(wantedWorkers(s.scheduler, 1, {}, range)).toBe(0);
  expect(wantedWorkers(s.scheduler, 1, { GPU: 1 }, range)).toBe(1);
  // One that has joined by itself, and has not what is needed, changes nothing.
  s.join(0);
  expect(wantedWorkers(s.scheduler, 1, {}, range)).toBe(0);
  expect(wantedWorkers(s.scheduler, 1, { GPU: 1 }, range)).toBe(1);
  s.cancel('g');
  // Who is named is not among those that are there.
  expect(wantedWorkers(s.scheduler, 1, { GPU: 1 }, range)).toBe(0);
});

it('wants no worker after another for a task whose workers= names nobody', () => {
  const s = new SchedulerFixture();
  const range = { minimum: 0, maximum: 100 };
  const bound = (name: string): object => ({
    restrict: { [name]: { workers: ['late'], allowOther: false } }
  });
  s.submit('a', bound('a'));
  let started = 0;
  for (let look = 0; look < 10; look++) {
    // What `adapt` does: starts what is wanted, and ends what is not.
    if (wantedWorkers(s.scheduler, 1, {}, range) > 0) {
      s.join(started++);
    } else if (s.scheduler.workers.all.length > 0) {
      s.leave(started - 1, 'closed');
    }
  }
  expect(started).toBe(1);
  // Another one that names the same is as little worth, one that names another is worth a look.
  s.submit('b', bound('b'));
  expect(wantedWorkers(s.scheduler, 1, {}, range)).toBe(0);
  expect(s.scheduler.areUnplacedInVain).toBe(true);
  s.submit('c', { restrict: { c: { workers: ['w'], allowOther: false } } });
  expect(wantedWorkers(s.scheduler, 1, {}, range)).toBe(1);
  expect(s.scheduler.areUnplacedInVain).toBe(false);
  s.join(started, 1, ['w', 'late']);
  expect(s.states('a b c')).toBe('Processing Processing Queued');
});

it('wants one for a task that names a worker which has left: the next may get its name', () => {
  const s = new SchedulerFixture();
  const range = { minimum: 0, maximum: 100 };
  s.join(0, 1, ['worker-0']);
  s.join(1);
  s.submit('a', {
    restrict: { a: { workers: ['worker-0'], allowOther: false } }
  });
  s.leave(0);
  s.leave(1, 'closed');
  expect(wantedWorkers(s.scheduler, 1, {}, range)).toBe(1);
  // If it has not got it, no other one is started.
  s.join(2);
  s.leave(2, 'closed');
  expect(wantedWorkers(s.scheduler, 1, {}, range)).toBe(0);
});

it('wants the same however the tasks are spread, and stays in the range', () => {
  const numbers = fc.record({
    workers: fc.nat({ max: 5 }),
    tasks: fc.nat({ max: 120 }),
    minimum: fc.nat({ max: 4 })
  });
  fc.assert(
    fc.property(numbers, ({ workers, tasks, minimum }) => {
      const range = { minimum, maximum: minimum + 4 };
      const found = wanted(workers, tasks, 1, range);
      const plain = Math.max(Math.ceil((tasks * 0.5) / 5), tasks > 0 ? 1 : 0);
      expect(found).toBe(Math.min(Math.max(plain, minimum), minimum + 4));
    }),
    { numRuns: 60 }
  );
});
