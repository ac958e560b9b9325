import * as fc from 'fast-check';
import { type Key, keyText } from '../../graph/key';
import { alias, data, ref, Task, task } from '../../graph/nodes';
import { Callback } from '../../local/callback';
import { getAsync } from '../../local/get-async';
import { getSync } from '../../local/get-sync';
import { epochSeconds } from '../clock';
import { Profiler } from '../profiler';
import { drawnGraphs } from './random-graph';

const inc = (x: number) => x + 1;
const fail = () => {
  throw new Error('broken');
};
const chain = {
  one: 1,
  x: task(inc, ref('one')),
  y: alias('x'),
  z: task(inc, ref('y'))
};

describe('Profiler', () => {
  it('§3.1: records key, task, start, end and worker of every task', () => {
    const before = Date.now() / 1000;
    const profiler = new Profiler();
    expect(profiler.run(() => getSync(chain, 'z'))).toBe(3);
    const after = Date.now() / 1000;
    expect(profiler.results.map(({ key }) => key)).toEqual(['x', 'y', 'z']);
    const [x, y, z] = profiler.results;
    expect(Object.keys(x!).sort()).toEqual(
      ['key', 'task', 'startTime', 'endTime', 'workerId'].sort()
    );
    expect(x!.task).toBeInstanceOf(Task);
    expect((x!.task as Task).fn).toBe(inc);
    expect(y!.task).toEqual(alias('x'));
    expect(x!.workerId).toBeNull();
    // Seconds since the epoch; the wall clock may have been set a little since this process began.
    expect(x!.startTime).toBeGreaterThan(before - 60);
    expect(z!.endTime).toBeLessThan(after + 60);
    expect(x!.endTime).toBeGreaterThanOrEqual(x!.startTime);
    expect(z!.startTime).toBeGreaterThanOrEqual(y!.endTime);
  });

  it('§3.1: records appear when the run finishes', () => {
    const profiler = new Profiler();
    const seen: number[] = [];
    const look = new Callback({
      posttask: () => seen.push(profiler.results.length)
    });
    profiler.run(() => look.run(() => getSync(chain, 'z')));
    expect(seen).toEqual([0, 0, 0]);
    expect(profiler.results).toHaveLength(3);
  });

  it('§3.1: of a run that fails what was completed is kept', () => {
    const profiler = new Profiler();
    const graph = { ...chain, z: task(fail, ref('y')) };
    expect(() => profiler.run(() => getSync(graph, 'z'))).toThrow('broken');
    expect(profiler.results.map(({ key }) => key)).toEqual(['x', 'y']);
  });

  it('§3.1: what is under way when another task fails is dropped', async () => {
    const profiler = new Profiler();
    const graph = {
      never: task(() => new Promise(() => undefined)),
      done: task(() => 1),
      broken: task(fail, ref('done'))
    };
    await expect(
      profiler.run(() => getAsync(graph, ['never', 'broken']))
    ).rejects.toThrow('broken');
    expect(profiler.results.map(({ key }) => key)).toEqual(['done']);
  });

  it.each([
    ['getSync', getSync],
    ['getAsync', getAsync]
  ] as const)(
    '§3.1: tasks of one batch of %s have the times of each, not of the batch',
    async (_, get) => {
      const profiler = new Profiler();
      const inside: (readonly [start: number, end: number])[] = [];
      const spin = () => {
        const begin = epochSeconds();
        while (epochSeconds() < begin + 0.003) {
          // Computing.
        }
        inside.push([begin, epochSeconds()]);
      };
      const batch = { a: task(spin), b: task(spin), c: task(spin) };
      await profiler.run(async () =>
        get(batch, ['a', 'b', 'c'], { chunkSize: 3, numWorkers: 1 } as object)
      );
      expect(profiler.results).toHaveLength(3);
      let last = 0;
      profiler.results.forEach(({ startTime, endTime }, at) => {
        const [begin, end] = inside[at]!;
        expect(startTime).toBeLessThanOrEqual(begin);
        expect(endTime).toBeGreaterThanOrEqual(end);
        expect(startTime).toBeGreaterThanOrEqual(last);
        last = endTime;
      });
    }
  );

  it('§3.1: what a hook takes before and after a task is no part of it', () => {
    const profiler = new Profiler();
    // Each task is recorded after what hooks did before it, and up to what they do after it.
    let before = 0;
    const beforeEach: number[] = [];
    const afterEach: number[] = [];
    const pause = () => {
      const end = performance.now() + 3;
      while (performance.now() < end) {
        // Computing.
      }
    };
    let ran = 0;
    const slow = () =>
      new Callback({
        pretask: () => {
          pause();
          before = epochSeconds();
        },
        posttask: () => {
          beforeEach.push(before);
          afterEach.push(epochSeconds());
          pause();
        }
      });
    const timed = () => (ran = epochSeconds());
    slow().run(() =>
      profiler.run(() =>
        slow().run(() => getSync({ a: task(timed), b: alias('a') }, 'b'))
      )
    );
    expect(profiler.results).toHaveLength(2);
    expect(profiler.results[0]!.startTime).toBeLessThanOrEqual(ran);
    profiler.results.forEach(({ startTime, endTime }, at) => {
      // Two hooks each: the first to be called after a task comes before any pause.
      expect(startTime).toBeGreaterThanOrEqual(beforeEach[2 * at]!);
      expect(endTime).toBeLessThanOrEqual(afterEach[2 * at]!);
    });
  });

  it('a task that is called again here after it failed has the times and the place of that call', async () => {
    const profiler = new Profiler();
    let calls = 0;
    const failing = () => {
      if (calls++ === 0) {
        throw new Error('not yet');
      }
      return calls;
    };
    expect(
      await profiler.run(() =>
        getAsync({ a: task(failing) }, 'a', { rerunExceptionsLocally: true })
      )
    ).toBe(2);
    const [a] = profiler.results;
    expect(a!.workerId).toBeNull();
    expect(a!.endTime).toBeGreaterThanOrEqual(a!.startTime);
  });

  it('§3: the clock is no wall clock: it goes on when that is set', () => {
    const now = epochSeconds();
    const wallClock = jest.spyOn(Date, 'now').mockReturnValue(0);
    try {
      const profiler = new Profiler();
      profiler.run(() => getSync(chain, 'z'));
      expect(profiler.startTime!).toBeGreaterThanOrEqual(now);
      expect(profiler.endTime! - now).toBeLessThan(60);
    } finally {
      wallClock.mockRestore();
    }
  });

  it('§3: entering forgets earlier records and notes the times of the block', () => {
    const profiler = new Profiler();
    expect([profiler.startTime, profiler.endTime]).toEqual([null, null]);
    profiler.run(() => getSync(chain, 'z'));
    const { startTime, endTime } = profiler;
    expect(startTime!).toBeLessThanOrEqual(profiler.results[0]!.startTime);
    expect(endTime!).toBeGreaterThanOrEqual(profiler.results[2]!.endTime);
    profiler.run(() => {
      getSync(chain, 'x');
      getSync(chain, 'x');
      expect(profiler.endTime).toBeNull();
    });
    expect(profiler.results.map(({ key }) => key)).toEqual(['x', 'x']);
    expect(profiler.startTime!).toBeGreaterThan(startTime!);
  });

  it('§3: `using` ends with its block', () => {
    const profiler = new Profiler();
    {
      using active = profiler.enter();
      getSync(chain, 'z');
      expect(active).toBe(profiler);
    }
    getSync(chain, 'z');
    expect(profiler.results).toHaveLength(3);
    expect(profiler.endTime).not.toBeNull();
  });

  it('§3: entered again inside, it goes on until the outer block ends', () => {
    const profiler = new Profiler();
    profiler.run(() => {
      getSync(chain, 'x');
      profiler.run(() => getSync(chain, 'x'));
      expect(profiler.endTime).toBeNull();
      getSync(chain, 'x');
    });
    expect(profiler.results).toHaveLength(3);
  });

  it('§3: registered, it gathers records over runs and has no times', () => {
    const profiler = new Profiler();
    profiler.register();
    try {
      getSync(chain, 'z');
      getSync(chain, 'x');
    } finally {
      profiler.unregister();
    }
    expect(profiler.results).toHaveLength(4);
    expect([profiler.startTime, profiler.endTime]).toEqual([null, null]);
    expect(profiler.timeRange).toEqual({
      start: profiler.results[0]!.startTime,
      end: profiler.results[3]!.endTime
    });
  });

  it('§3.1: clear empties the list in place and forgets the times', () => {
    const profiler = new Profiler();
    profiler.run(() => getSync(chain, 'z'));
    const { results } = profiler;
    profiler.clear();
    expect(results).toEqual([]);
    expect(profiler.results).toBe(results);
    expect([profiler.startTime, profiler.endTime]).toEqual([null, null]);
    expect(profiler.timeRange).toBeNull();
  });

  it('§3.1: clear in the middle of a run forgets what has begun', () => {
    const profiler = new Profiler();
    const clear = new Callback({
      posttask: key => {
        if (key === 'y') {
          profiler.clear();
        }
      }
    });
    profiler.run(() => clear.run(() => getSync(chain, 'z')));
    expect(profiler.results.map(({ key }) => key)).toEqual(['z']);
  });

  it('§3: given twice it records once', () => {
    const profiler = new Profiler();
    getSync(chain, 'z', { callbacks: [profiler, profiler] });
    expect(profiler.results.map(({ key }) => key)).toEqual(['x', 'y', 'z']);
  });

  it('§3: a body that promises something ends when it is kept', async () => {
    const profiler = new Profiler();
    const pause = () => new Promise(resolve => setTimeout(resolve, 5));
    await profiler.run(async () => {
      await getAsync({ a: task(pause) }, 'a');
      expect(profiler.endTime).toBeNull();
    });
    expect(profiler.endTime!).toBeGreaterThanOrEqual(
      profiler.results[0]!.endTime
    );
  });

  it('§3.1: tells two runs at the same time apart', async () => {
    const profiler = new Profiler();
    const pause = () => new Promise(resolve => setTimeout(resolve, 2));
    const graph = { a: data(1), b: task(pause), c: task(pause, ref('b')) };
    await profiler.run(() =>
      Promise.all([getAsync(graph, 'c'), getAsync(graph, 'c')])
    );
    expect(profiler.results.map(({ key }) => key)).toEqual([
      'b',
      'c',
      'b',
      'c'
    ]);
  });

  it('§3.1: has exactly the tasks that finished, in the order of their pretasks', () => {
    fc.assert(
      fc.property(drawnGraphs, ({ graph, keys }) => {
        const begun: Key[] = [];
        const done = new Set<string>();
        const witness = new Callback({
          pretask: key => begun.push(key),
          posttask: key => done.add(keyText(key))
        });
        const profiler = new Profiler();
        profiler.run(() =>
          witness.run(() => {
            try {
              getSync(graph, [...keys]);
            } catch (error) {
              expect((error as Error).message).toBe('drawn to fail');
            }
          })
        );
        expect(profiler.results.map(({ key }) => keyText(key))).toEqual(
          begun.map(keyText).filter(key => done.has(key))
        );
        profiler.results.reduce((end, { startTime, endTime }) => {
          expect(startTime).toBeGreaterThanOrEqual(end);
          expect(endTime).toBeGreaterThanOrEqual(startTime);
          return endTime;
        }, profiler.startTime!);
      }),
      { numRuns: 200 }
    );
  });
});
