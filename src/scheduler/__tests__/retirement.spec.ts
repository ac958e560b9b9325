import * as fc from 'fast-check';
import { FakeCluster } from '../../testing/fake-cluster';
import type { FakeWorker } from '../../testing/fake-worker';
import { SchedulerFixture } from '../../testing/scheduler-fixture';
import { TaskState } from '..';

/** Steps until a worker may go; it takes at most a few rounds. */
function retire(cluster: FakeCluster, worker: FakeWorker): void {
  for (let round = 0; cluster.retire(worker, 1) > 0; round++) {
    if (round > 50) {
      throw new Error('Its results do not move.');
    }
    for (let n = 0; n < 20; n++) {
      cluster.steps()[0]?.();
    }
  }
}

describe('a worker that retires', () => {
  const shape = fc.record({
    inputs: fc.array(fc.array(fc.nat({ max: 29 }), { maxLength: 3 }), {
      minLength: 1,
      maxLength: 30
    }),
    wanted: fc.array(fc.boolean(), { minLength: 30, maxLength: 30 }),
    placed: fc.nat({ max: 4 }),
    workers: fc.array(fc.integer({ min: 1, max: 3 }), {
      minLength: 2,
      maxLength: 4
    }),
    tape: fc.array(fc.nat({ max: 0xffff }), { maxLength: 80, size: 'max' })
  });

  it('loses nothing, data neither, whatever runs meanwhile', () => {
    fc.assert(
      fc.property(shape, ({ inputs, wanted, placed, workers, tape }) => {
        const cluster = new FakeCluster({}, 1 + (tape.length % 3));
        workers.forEach(threads => cluster.join(threads));
        const plain = { raises: 0, kills: false, retries: 0 };
        const nodes = (count: number, from: number) =>
          Array.from({ length: count }, (_, i) => ({
            ...plain,
            inputs: [
              ...new Set(
                (inputs[i] ?? []).filter(each => each < from + i && from > 0)
              )
            ],
            wanted: from === 0 || (wanted[i] ?? true),
            priority: 0,
            restriction: null
          }));
        if (placed > 0) {
          cluster.submit({
            type: 'placed',
            last: true,
            nodes: nodes(placed, 0)
          });
        }
        cluster.submit({
          type: 'graph',
          last: true,
          nodes: nodes(inputs.length, placed)
        });
        for (const number of tape) {
          const steps = cluster.steps();
          steps[number % steps.length]?.();
          const living = [...cluster.workers.values()];
          if (number % 13 === 0 && living.length > 1) {
            retire(cluster, living[number % living.length]!);
            cluster.end(living[number % living.length]!, 'closed');
          } else if (number % 17 === 0) {
            cluster.join(1 + (number % 3));
          }
        }
        cluster.drain();
        expect(cluster.lostReports).toBe(0);
        for (const task of cluster.tasks.filter(({ isWanted }) => isWanted)) {
          expect(cluster.state(task)).toBe(TaskState.Memory);
        }
      }),
      { numRuns: 60 }
    );
  });

  it('gets no tasks, gives back what it has not begun, and may stay after all', () => {
    const s = new SchedulerFixture();
    s.join(0, 1);
    s.join(1, 1);
    s.submit('a b c d e f', { want: 'a b c d e f' });
    s.said();
    s.handle({ type: 'workerRetires', at: 1, worker: 0 });
    expect(s.saidOf('take back 0')).not.toEqual([]);
    expect(s.scheduler.workers.get(0)!.paused).toBe(true);
    s.handle({ type: 'workerStays', at: 2, worker: 0 });
    expect(s.scheduler.workers.get(0)!.paused).toBe(false);
  });

  /** `a` lies at worker 0; three workers are there. */
  function held(): SchedulerFixture {
    const s = new SchedulerFixture();
    [0, 1, 2].forEach(worker => s.join(worker));
    s.place(0, 'a');
    s.said();
    return s;
  }

  const retires = (
    s: SchedulerFixture,
    worker: number,
    at: number
  ): string[] => {
    s.handle({ type: 'workerRetires', at, worker });
    return s.said();
  };

  it('has its results copied to one that stays, not to another that goes', () => {
    const s = held();
    s.replicas(1, 'a');
    s.said();
    expect(retires(s, 0, 1)).toEqual([]);
    expect(retires(s, 1, 1)).toEqual(['acquire 2: a']);
    expect(s.scheduler.workers.get(1)!.unmoved).toBe(1);
    s.replicas(2, 'a');
    expect(retires(s, 0, 2)).toEqual([]);
    expect(retires(s, 1, 2)).toEqual([]);
    expect(s.scheduler.workers.get(0)!.unmoved).toBe(0);
    expect(s.scheduler.workers.get(1)!.unmoved).toBe(0);
  });

  it('has all tasks gone through once, and then only its own results', () => {
    const s = held();
    s.place(1, 'b');
    const has = jest.spyOn(s.scheduler.tasks.replicas, 'has');
    const looks = (at: number): number => {
      has.mockClear();
      // Not through the fixture, which looks at everything.
      s.scheduler.handle({ type: 'workerRetires', at, worker: 0 });
      return has.mock.calls.length;
    };
    expect(looks(1)).toBeGreaterThan(0);
    expect(looks(2)).toBe(0);
    // What comes later counts too, and what goes does not.
    s.submit('c', { want: 'c' });
    s.finish(1, 'c');
    s.replicas(0, 'c');
    expect(s.scheduler.workers.get(0)!.results).toEqual(
      new Set([s.id('a'), s.id('c')])
    );
    expect(looks(3)).toBe(0);
    s.handle({ type: 'workerStays', at: 4, worker: 0 });
    expect(s.scheduler.workers.get(0)!.results).toBeNull();
    has.mockRestore();
  });

  it('asks another for a copy that does not come, and at once when the taker leaves', () => {
    const s = held();
    expect(retires(s, 0, 1)).toEqual(['acquire 1: a']);
    expect(retires(s, 0, 5)).toEqual([]);
    expect(retires(s, 0, 7)).toEqual(['acquire 2: a']);
    s.leave(2, 'died');
    s.said();
    expect(retires(s, 0, 8)).toEqual(['acquire 1: a']);
    s.pause(1);
    expect(retires(s, 0, 9)).toEqual([]);
    expect(s.scheduler.workers.get(0)!.unmoved).toBe(1);
  });
});
