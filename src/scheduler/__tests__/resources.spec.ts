import * as fc from 'fast-check';
import { SchedulerFixture } from '../../testing/scheduler-fixture';
import { RunStatus } from '../../records/enumerations';
import { Int32Queue } from '../../base/int-queue';
import { ResourceQueues } from '../resource-queues';
import { Restrictions } from '../restrictions';
import type { SchedulerState } from '../scheduler-state';
import { needFrom, WorkerResources, type Amounts } from '../worker-resources';

const needs = (
  resources: Record<string, number>,
  workers: (string | number)[] | null = null,
  allowOther = false
) => ({ resources, workers, allowOther });

/** Tasks that each need the same. */
function restricted(
  names: string,
  resources: Record<string, number>
): Record<string, ReturnType<typeof needs>> {
  const same = needs(resources);
  return Object.fromEntries(names.split(' ').map(name => [name, same]));
}

describe('resources', () => {
  it('are held from the moment a task is given to a worker until its run has ended', () => {
    const s = new SchedulerFixture();
    s.join(0, 4, [], { GPU: 2 });
    const names = 'a1 a2 a3';
    s.submit(names, { want: names, restrict: restricted(names, { GPU: 1 }) });
    expect(s.saidOf('assign')).toEqual(['assign 0: a1 a2']);
    s.finish(0, 'a2');
    expect(s.saidOf('assign')).toEqual(['assign 0: a3']);
    s.fail(0, 'a1');
    s.finish(0, 'a3', { status: RunStatus.Rescheduled });
    expect(s.saidOf('assign')).toEqual(['assign 0: a3']);
  });

  it('are held whatever another worker says of the run', () => {
    const s = new SchedulerFixture();
    s.join(0, 1, [], { GPU: 1 });
    s.join(1, 1, [], { GPU: 1 });
    const names = 'a b c';
    s.submit(names, { want: names, restrict: restricted(names, { GPU: 1 }) });
    expect(s.said()).toEqual(['assign 0: a', 'assign 1: b']);
    s.finish(1, 'a');
    s.fail(1, 'a');
    expect(s.said()).toEqual([]);
    expect(s.states(names)).toBe('Processing Processing Queued');
    s.finish(0, 'a');
    expect(s.saidOf('assign')).toEqual(['assign 0: c']);
  });

  it('keep nobody waiting who needs none', () => {
    const s = new SchedulerFixture();
    s.join(0, 1, [], { GPU: 1 });
    s.place(0, 'x');
    s.submit('x -> g1 g2 c', {
      want: 'g1 g2 c',
      restrict: restricted('g1 g2', { GPU: 1 })
    });
    expect(s.saidOf('assign')).toEqual(['assign 0: g1 c']);
  });

  it('are not held by tasks whose inputs are still to be made', () => {
    const s = new SchedulerFixture();
    s.join(0, 1, [], { GPU: 1 });
    s.submit('a -> b', { restrict: restricted('b', { GPU: 1 }) });
    expect(s.saidOf('assign')).toEqual(['assign 0: a']);
    s.finish(0, 'a');
    expect(s.saidOf('assign')).toEqual(['assign 0: b']);
  });

  it('have a task go to the worker that has them free', () => {
    const s = new SchedulerFixture();
    s.join(0, 4, [], { GPU: 1 });
    s.join(1, 1, [], { GPU: 1 });
    s.join(2, 4);
    s.submit('a1 a2 a3', {
      want: 'a1 a2 a3',
      restrict: restricted('a1 a2 a3', { GPU: 1 })
    });
    expect(s.saidOf('assign').sort()).toEqual(['assign 0: a1', 'assign 1: a2']);
    s.leave(1);
    expect(s.states('a1 a2 a3')).toBe('Processing Queued Queued');
    s.finish(0, 'a1');
    expect(s.saidOf('assign')).toEqual(['assign 0: a2']);
  });

  it('that no worker has let a task wait for one, and say so', () => {
    const s = new SchedulerFixture();
    s.join(0, 1, [], { GPU: 1 });
    s.submit('a', { restrict: restricted('a', { GPU: 2 }) });
    s.submit('b', { restrict: restricted('b', { MEM: 1 }) });
    expect(s.states('a b')).toBe('NoWorker NoWorker');
    expect(s.scheduler.unplacedCount).toBe(2);
    s.join(1, 1, [], { GPU: 2 });
    expect(s.states('a b')).toBe('Processing NoWorker');
    s.leave(1);
    expect(s.state('a')).toBe('NoWorker');
  });

  it('count as unplaced when only workers that leave have them', () => {
    const s = new SchedulerFixture();
    s.join(0, 1, [], { GPU: 1 });
    s.join(1, 1);
    s.submit('a1 a2', {
      want: 'a1 a2',
      restrict: restricted('a1 a2', { GPU: 1 })
    });
    expect(s.scheduler.unplacedCount).toBe(0);
    s.handle({ type: 'workerRetires', at: 1, worker: 0 });
    expect(s.scheduler.unplacedCount).toBe(1);
    expect(s.scheduler.anUnplaced()).toBe(s.id('a2'));
  });

  it('are kept for a task that needs many, so that those that need few do not go before it for ever', () => {
    const s = new SchedulerFixture();
    s.join(0, 8, [], { GPU: 2 });
    s.submit('a1 b a2 a3', {
      want: 'a1 b a2 a3',
      restrict: {
        ...restricted('a1 a2 a3', { GPU: 1 }),
        b: needs({ GPU: 2 })
      }
    });
    expect(s.saidOf('assign')).toEqual(['assign 0: a1']);
    s.finish(0, 'a1');
    expect(s.saidOf('assign')).toEqual(['assign 0: b']);
    s.finish(0, 'b');
    expect(s.saidOf('assign')).toEqual(['assign 0: a2 a3']);
  });

  it('of another name are not kept', () => {
    const s = new SchedulerFixture();
    s.join(0, 8, [], { GPU: 1, MEM: 1 });
    s.submit('a1 a2 b', {
      want: 'a1 a2 b',
      restrict: {
        ...restricted('a1 a2', { GPU: 1 }),
        b: needs({ MEM: 1 })
      }
    });
    expect(s.saidOf('assign')).toEqual(['assign 0: a1 b']);
  });

  it('and workers= hold both; others are taken that have the resources', () => {
    const s = new SchedulerFixture();
    s.join(0, 1, ['w'], {});
    s.join(1, 1, [], { GPU: 1 });
    s.submit('a b', {
      want: 'a b',
      restrict: {
        a: needs({ GPU: 1 }, ['w']),
        b: needs({ GPU: 1 }, ['w'], true)
      }
    });
    expect(s.states('a b')).toBe('NoWorker Processing');
    expect(s.saidOf('assign')).toEqual(['assign 1: b']);
  });

  it('stay held by a run that is given up, until its worker says that it has ended or will not begin', () => {
    const s = new SchedulerFixture();
    s.join(0, 4, [], { GPU: 1 });
    s.submit('a1 a2 a3', {
      want: 'a1 a2 a3',
      restrict: restricted('a1 a2 a3', { GPU: 1 })
    });
    s.said();
    const run = s.runId('a1');
    s.cancel('a1');
    // It is asked before it forgets.
    expect(s.said().slice(0, 2)).toEqual(['take back 0: a1', 'release 0: a1']);
    s.takenBack(0, 'a1', { taken: false, runIds: [run] });
    expect(s.state('a2')).toBe('Queued');
    s.finish(0, 'a1', { runIds: [run] });
    expect(s.state('a2')).toBe('Processing');
    s.said();
    const next = s.runId('a2');
    s.cancel('a2');
    s.takenBack(0, 'a2', { runIds: [next] });
    expect(s.state('a3')).toBe('Processing');
  });

  it('are free at once of a run that its worker has not heard of', () => {
    const s = new SchedulerFixture();
    s.join(0, 4, [], { GPU: 1 });
    s.submit('a1 a2', {
      want: 'a1 a2',
      restrict: restricted('a1 a2', { GPU: 1 })
    });
    s.cancel('a1');
    expect(s.saidOf('take back')).toEqual([]);
    expect(s.state('a2')).toBe('Processing');
  });

  it('are held by a run that has left its thread', () => {
    const s = new SchedulerFixture();
    s.join(0, 1, [], { GPU: 1 });
    s.submit('a1 a2', {
      want: 'a1 a2',
      restrict: restricted('a1 a2', { GPU: 1 })
    });
    s.secede(0, 'a1');
    expect(s.state('a2')).toBe('Queued');
    s.finish(0, 'a1');
    expect(s.state('a2')).toBe('Processing');
  });

  it('let a task be asked back only by a worker that has them free', () => {
    const s = new SchedulerFixture({ options: { takeBackSeconds: 0 } });
    s.join(0, 1, [], { GPU: 4 });
    s.submit('a1 a2', {
      want: 'a1 a2',
      restrict: restricted('a1 a2', { GPU: 1 })
    });
    expect(s.saidOf('assign')).toEqual(['assign 0: a1 a2']);
    s.join(1, 1);
    expect(s.saidOf('take back')).toEqual([]);
    s.join(2, 1, [], { GPU: 1 });
    expect(s.saidOf('take back')).toEqual(['take back 0: a2']);
    s.takenBack(0, 'a2');
    expect(s.saidOf('assign')).toEqual(['assign 2: a2']);
  });

  it('end with a stall, as other tasks that wait', () => {
    const s = new SchedulerFixture();
    s.join(0, 1, [], { GPU: 1 });
    s.pause(0, true);
    s.submit('a', { restrict: restricted('a', { GPU: 1 }) });
    expect(s.scheduler.isStalled).toBe(true);
    s.giveUpStall();
    expect(s.state('a')).toBe('Erred');
  });

  it('are waited for without a stall where a run that was given up goes on', () => {
    const s = new SchedulerFixture();
    s.join(0, 1, [], { GPU: 1 });
    s.join(1, 2, [], { GPU: 1 });
    s.pause(0, true);
    s.submit('a1 a2', {
      want: 'a1 a2',
      restrict: restricted('a1 a2', { GPU: 1 })
    });
    s.said();
    const run = s.runId('a1');
    s.cancel('a1');
    s.submit('c', { restrict: { c: needs({}, [0]) } });
    expect(s.scheduler.isStalled).toBe(false);
    s.giveUpStall();
    expect(s.states('a2 c')).toBe('Queued Queued');
    s.finish(1, 'a1', { runIds: [run] });
    s.finish(1, 'a2');
    // Now only `c` waits, for the full worker.
    expect(s.scheduler.isStalled).toBe(true);
  });

  it('that only workers have that leave are no matter of a stall', () => {
    const s = new SchedulerFixture();
    s.join(0, 1);
    s.join(1, 1, [], { GPU: 1 });
    s.pause(0, true);
    s.submit('a1 a2', {
      want: 'a1 a2',
      restrict: restricted('a1 a2', { GPU: 1 })
    });
    s.handle({ type: 'workerRetires', at: 1, worker: 1 });
    s.finish(1, 'a1');
    expect(s.scheduler.isStalled).toBe(false);
    expect(s.scheduler.unplacedCount).toBe(1);
    s.submit('c', { restrict: { c: needs({}, [0]) } });
    s.giveUpStall();
    expect(s.states('a2 c')).toBe('Queued Erred');
  });

  it('of a full worker keep nobody waiting for those of another, however many different ones are waited for', () => {
    const s = new SchedulerFixture();
    s.join(0, 1, [], { MEM: 100 });
    s.join(1, 1, [], { GPU: 1 });
    s.pause(0, true);
    const wishes = Array.from({ length: 70 }, (_, i) => `m${i}`);
    s.submit([...wishes, 'g'].join(' '), {
      want: [...wishes, 'g'].join(' '),
      restrict: {
        ...Object.fromEntries(
          wishes.map((name, i) => [name, needs({ MEM: i + 1 })])
        ),
        g: needs({ GPU: 1 })
      }
    });
    expect(s.state('g')).toBe('Processing');
  });

  it('that are kept for one task keep nobody waiting for others, however many different ones are waited for', () => {
    const s = new SchedulerFixture();
    s.join(0, 1, [], { MEM: 100 });
    s.join(1, 1, [], { GPU: 1 });
    const wishes = Array.from({ length: 70 }, (_, i) => `m${i}`);
    s.submit([...wishes, 'g'].join(' '), {
      want: [...wishes, 'g'].join(' '),
      restrict: {
        ...Object.fromEntries(
          wishes.map((name, i) => [name, needs({ MEM: 100 - i })])
        ),
        g: needs({ GPU: 1 })
      }
    });
    expect(s.states('m0 m1 g')).toBe('Processing Queued Processing');
  });

  it('are given to a task that was at a worker when it died before more is sent there that needs none', () => {
    const s = new SchedulerFixture();
    s.join(0, 1, [], { GPU: 1 });
    s.submit('g1', { restrict: restricted('g1', { GPU: 1 }) });
    s.join(1, 1, [], { GPU: 1 });
    const names = Array.from({ length: 20 }, (_, i) => `c${i}`);
    s.submit(names.join(' '), {
      want: names.join(' '),
      restrict: Object.fromEntries(names.map(name => [name, needs({}, [1])]))
    });
    s.submit('g2', { restrict: restricted('g2', { GPU: 1 }) });
    s.leave(0);
    s.submit('g3', { restrict: restricted('g3', { GPU: 1 }) });
    for (let ended = 0; s.state('g1') !== 'Processing'; ended++) {
      // As many as were there already, and no more.
      expect(ended).toBeLessThan(2);
      s.finish(1, names[ended]!);
    }
    s.finish(1, 'g1');
    expect(s.states('g2 g3')).toBe('Processing Queued');
  });

  it('are given past a task that was at a worker when it died, and waits for a free thread', () => {
    const s = new SchedulerFixture();
    s.join(0, 1, [], { GPU: 1 });
    s.submit('g1', { restrict: restricted('g1', { GPU: 1 }) });
    s.join(1, 1, [], { GPU: 1 });
    s.join(2, 1, [], { GPU: 1 });
    s.submit('c1 c2', {
      want: 'c1 c2',
      restrict: { c1: needs({}, [1]), c2: needs({}, [2]) }
    });
    s.leave(0);
    s.submit('g2 g3', {
      want: 'g2 g3',
      restrict: restricted('g2 g3', { GPU: 1 })
    });
    // One GPU is kept for g1, which comes first, the other is free.
    expect(s.states('g1 g2 g3')).toBe('Queued Processing Queued');
    s.finish(1, 'c1');
    s.finish(2, 'c2');
    s.finish(s.workerOf('g2'), 'g2');
    expect(s.state('g1')).toBe('Processing');
  });

  it('are given with as much work per event however many different needs wait', () => {
    const work = (count: number): number => {
      const s = new SchedulerFixture();
      for (let worker = 0; worker < 8; worker++) {
        s.join(worker, 2, [], { MEM: 1e6 });
      }
      // It has what nobody waits for.
      s.join(8, 2, [], { GPU: 1 });
      const names = Array.from({ length: count }, (_, i) => `m${i}`);
      s.submit(names.join(' '), {
        want: names.join(' '),
        restrict: Object.fromEntries(
          names.map((name, i) => [name, needs({ MEM: 6e5 + i })])
        )
      });
      const spies = (['has', 'hasFree', 'share'] as const).map(method =>
        jest.spyOn(WorkerResources.prototype, method)
      );
      const pop = jest.spyOn(ResourceQueues.prototype, 'pop');
      const validate = jest
        .spyOn(s.scheduler, 'validateState')
        .mockImplementation(() => undefined);
      s.finish(0, 'm0');
      const calls = [pop, ...spies].reduce(
        (sum, spy) => sum + spy.mock.calls.length,
        0
      );
      pop.mockRestore();
      spies.forEach(spy => spy.mockRestore());
      validate.mockRestore();
      expect(s.states('m8 m9')).toBe('Processing Queued');
      return calls;
    };
    const few = work(50);
    expect(few).toBeGreaterThan(8);
    expect(work(500)).toBeLessThanOrEqual(few);
  });

  it('and names of workers are kept no longer than tasks have them', () => {
    const s = new SchedulerFixture();
    const { restrictions } = (
      s.scheduler as unknown as { _state: SchedulerState }
    )._state;
    s.join(0, 1, [], { GPU: 1 });
    for (let round = 0; round < 3; round++) {
      s.submit(`a${round} b${round}; c${round}`, {
        restrict: {
          [`a${round}`]: needs({ GPU: 1 }),
          [`c${round}`]: needs({ GPU: round }, [0])
        }
      });
      expect(restrictions.size).toBe(1);
      s.release(`c${round}`);
      expect(restrictions.size).toBe(0);
    }
  });
});

it('able workers are remembered of restrictions that live, whatever came before', () => {
  const s = new SchedulerFixture();
  s.join(0, 1, [], { GPU: 1e6 });
  const { restrictions } = (
    s.scheduler as unknown as { _state: SchedulerState }
  )._state;
  for (let round = 1; round <= 300; round++) {
    s.submit(`a${round}`, {
      restrict: restricted(`a${round}`, { GPU: round })
    });
    s.finish(0, `a${round}`);
    s.release(`a${round}`);
  }
  // What is remembered has a limit: nothing of it is for what has gone.
  expect(restrictions).toMatchObject({ size: 0, _remembered: 0 });
});

it('tasks without a worker are counted with as little work however many there are', () => {
  const work = (count: number): number => {
    const s = new SchedulerFixture();
    const names = Array.from({ length: count }, (_, i) => `t${i}`);
    s.submit(names.join(' '), {
      want: names.join(' '),
      restrict: Object.fromEntries(
        names
          .slice(1)
          .map(name => [name, { workers: ['w'], allowOther: false }])
      )
    });
    const shift = jest.spyOn(Int32Queue.prototype, 'shift');
    const isInVain = jest.spyOn(Restrictions.prototype, 'isInVain');
    expect(s.scheduler.placeableCount({})).toBe(count);
    expect(s.scheduler.areUnplacedInVain).toBe(false);
    const calls = shift.mock.calls.length + isInVain.mock.calls.length;
    shift.mockRestore();
    isInVain.mockRestore();
    return calls;
  };
  expect(work(1_000)).toBe(work(50));
});

describe("a worker's resources", () => {
  const amounts: fc.Arbitrary<Amounts> = fc.dictionary(
    fc.constantFrom('GPU', 'MEM', 'x'),
    fc.constantFrom(0, 0.1, 0.2, 0.3, 1, 2, 5)
  );

  it('are added up as by hand, in tenths, whatever comes and goes', () => {
    fc.assert(
      fc.property(
        amounts,
        fc.array(amounts),
        fc.array(fc.nat()),
        (total, asked, picks) => {
          const resources = new WorkerResources(total);
          const held: Amounts[] = [];
          const tenths = (of: Amounts, name: string): number =>
            Math.round(10 * (of[name] ?? 0));
          const sum = (name: string): number =>
            held.reduce((all, each) => all + tenths(each, name), 0);
          const fits = (need: Amounts): boolean =>
            Object.keys(need).every(
              name =>
                name in total &&
                sum(name) + tenths(need, name) <= tenths(total, name)
            );
          for (const [i, need] of asked.entries()) {
            const entries = needFrom(need);
            if (entries !== null) {
              expect(resources.hasFree(entries)).toBe(fits(need));
              if (fits(need)) {
                resources.take(entries);
                held.push(need);
              }
            }
            if (held.length > 0 && (picks[i] ?? 0) % 2 === 1) {
              const [ended] = held.splice(picks[i]! % held.length, 1);
              resources.giveBack(needFrom(ended)!);
            }
            for (const [name, { held: booked }] of resources.amounts()) {
              expect(10 * booked).toBeCloseTo(sum(name), 6);
            }
          }
        }
      ),
      { numRuns: 200 }
    );
  });
});
