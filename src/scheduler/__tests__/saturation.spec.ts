import { SchedulerFixture } from '../../testing/scheduler-fixture';

const NAMES = Array.from({ length: 40 }, (_, i) => `t${i}`);

/** Submits 40 roots; how many each worker is given at once, and once its tasks are known to take a moment. */
function given(saturation: number | null, workers: readonly number[]): string {
  const s = new SchedulerFixture({ options: { saturation } });
  workers.forEach((threads, id) => s.join(id, threads));
  s.submit(NAMES.join(' '), { want: NAMES.join(' ') });
  const counts = (): number[] =>
    workers.map((_, id) => s.scheduler.workers.get(id)!.processingCount);
  const before = counts();
  const first = NAMES.find(name => s.state(name) === 'Processing')!;
  s.finish(s.workerOf(first), first, { duration: 1e-6 });
  return `${before.join(' ')}, ${counts().join(' ')}`;
}

describe('worker-saturation', () => {
  it('bounds how many roots a worker has, be they ever so short', () => {
    expect(given(1, [2])).toBe('2, 2');
    expect(given(1.1, [2])).toBe('3, 3');
    expect(given(1.1, [1, 4])).toBe('2 5, 2 5');
    expect(given(0.1, [2])).toBe('1, 1');
  });

  it('counts no tasks that were sent behind the roots', () => {
    const s = new SchedulerFixture({ options: { saturation: 1 } });
    s.join(0, 8);
    s.submit(NAMES.map(name => `${name} -> use${name}`).join(';'), {
      want: NAMES.map(name => `use${name}`).join(' ')
    });
    expect(s.scheduler.workers.get(0)!.runnableCount).toBe(8);
  });

  it('that is infinite has all of them sent at once', () => {
    expect(given(Infinity, [2])).toBe('40, 39');
    expect(given(Infinity, [1, 3])).toBe('10 30, 9 30');
  });

  it('leaves the number to their durations if it is not set', () => {
    expect(given(null, [2])).toBe('4, 39');
  });

  it('bounds no tasks that have inputs', () => {
    const s = new SchedulerFixture({ options: { saturation: 1 } });
    s.join(0);
    s.submit('a -> b c', { want: 'b c' });
    expect(s.saidOf('assign')).toEqual(['assign 0: a b']);
    s.finish(0, 'a');
    expect(s.saidOf('assign')).toEqual(['assign 0: c']);
  });
});
