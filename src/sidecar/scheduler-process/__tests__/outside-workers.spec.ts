import * as fc from 'fast-check';
import { OutsideWorkers } from '../outside-workers';
import type { IWorkerFleet } from '../worker-fleet';
import { whyNoMore } from '../worker-limit';

type Told = { worker: number; what: string };

describe('OutsideWorkers', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  function made(): {
    outside: OutsideWorkers;
    own: string[];
    exits: [number, string][];
    starter: () => {
      link: { send(type: 'order', fields: Told): void };
      told: Told[];
    };
  } {
    const own: string[] = [];
    const exits: [number, string][] = [];
    let next = 0;
    const fleet = {
      ...{ startingCount: 2, threads: 3, has: () => false },
      start: (count: number) => own.push(`start ${count}`),
      kill: (worker: number) => own.push(`kill ${worker}`),
      replace: (worker: number) => own.push(`replace ${worker}`),
      leave: (worker: number) => own.push(`leave ${worker}`),
      close: () => Promise.resolve()
    } as unknown as IWorkerFleet;
    const outside = new OutsideWorkers(fleet, {
      count: () => ({ count: 0, numbers: next }),
      takeNumber: () => next++,
      onExit: (worker, why) => exits.push([worker, why])
    });
    const starter = (): {
      link: { send(type: 'order', fields: Told): void };
      told: Told[];
    } => {
      const told: Told[] = [];
      return { link: { send: (_, fields) => told.push(fields) }, told };
    };
    return { outside, own, exits, starter };
  }

  it('tells the program that has started a worker, and the own fleet of its own', () => {
    const { outside, own, starter } = made();
    const [program, other] = [starter(), starter()];
    expect(outside.reserve(program, 2, ['a', 'b']).workers).toEqual([0, 1]);
    expect(outside.reserve(other, 1, []).workers).toEqual([2]);
    outside.kill(0);
    outside.leave(1, true);
    outside.leave(1, false);
    outside.replace(2);
    outside.kill(9);
    outside.leave(9, true);
    expect(program.told).toEqual([
      { worker: 0, what: 'kill' },
      { worker: 1, what: 'leave' },
      { worker: 1, what: 'stay' }
    ]);
    expect(other.told).toEqual([{ worker: 2, what: 'replace' }]);
    expect(own).toEqual(['kill 9', 'leave 9']);
    expect([0, 1, 2].map(worker => outside.has(worker))).toEqual([
      true,
      true,
      false
    ]);
  });

  it('gives up a worker whose program does not answer, once', () => {
    const { outside, exits, starter } = made();
    const program = starter();
    outside.reserve(program, 2, []);
    outside.kill(0);
    outside.kill(0);
    outside.kill(1);
    outside.ended(program, 1, 'was ended by SIGKILL');
    jest.advanceTimersByTime(60_000);
    expect(exits).toEqual([
      [1, 'was ended by SIGKILL'],
      [0, 'was given up: its program does not answer']
    ]);
    expect(outside.has(0)).toBe(false);
  });

  it('lets a successor have the name, and nobody else', () => {
    const { outside, starter } = made();
    const program = starter();
    outside.reserve(program, 1, ['big']);
    expect(outside.reserve(starter(), 1, ['big']).sentence).toContain(
      'There is a worker of the name "big" already'
    );
    outside.replace(0);
    expect(outside.reserve(program, 1, ['big']).workers).toEqual([1]);
    outside.ended(program, 1, 'has closed');
    expect(outside.reserve(program, 1, ['big']).workers).toEqual([2]);
  });

  it('each worker ends once, and no program ends those of another', () => {
    const step = fc.record({
      what: fc.constantFrom('reserve', 'ended', 'left', 'kill', 'wait'),
      program: fc.nat(2),
      worker: fc.nat(8)
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), steps => {
        const { outside, exits, starter } = made();
        const programs = [starter(), starter(), starter()];
        const owner = new Map<number, number>();
        for (const { what, program, worker } of steps) {
          const before = exits.length;
          if (what === 'reserve') {
            const given = outside.reserve(programs[program]!, 1, []).workers;
            given.forEach(number => owner.set(number, program));
          } else if (what === 'ended') {
            outside.ended(programs[program]!, worker, 'ended');
          } else if (what === 'left') {
            outside.starterLeft(programs[program]!);
          } else if (what === 'kill') {
            outside.kill(worker);
          } else {
            jest.advanceTimersByTime(10_000);
          }
          if (what === 'ended' || what === 'left') {
            exits.slice(before).forEach(([number]) => {
              expect(owner.get(number)).toBe(program);
            });
          }
        }
        const ended = exits.map(([number]) => number);
        expect(new Set(ended).size).toBe(ended.length);
        [...owner.keys()].forEach(number => {
          expect(outside.has(number)).toBe(!ended.includes(number));
        });
      }),
      { numRuns: 300 }
    );
  });
});

describe('whyNoMore', () => {
  const limit = { count: 10, numbers: 10, isTaken: () => false };
  it.each([
    [limit, 1014, [], ''],
    [limit, 1015, [], 'at most 1,024 workers'],
    [{ ...limit, numbers: 65_530 }, 10, [], 'no numbers left'],
    [limit, 2, ['a'], '1 names are given for 2'],
    [limit, 2, ['a', 'a'], 'already'],
    [limit, 1, [''], '1 to 256'],
    [limit, 1, ['7'], 'calls workers itself'],
    [limit, 1, ['worker-7'], 'calls workers itself'],
    [limit, 1, ['127.0.0.1'], 'all workers of this machine'],
    [limit, 1, ['worker-7b'], '']
  ])('%j, %d more, %j', (of, count, names, sentence) => {
    const why = whyNoMore(of, count, names, 0);
    expect(sentence === '' ? why : why.includes(sentence)).toBe(
      sentence === '' ? '' : true
    );
  });
});
