/** Modules in the scheduler's process: what each is told, and when it is removed. */
import fc from 'fast-check';
import { TaskState, type SchedulerPlugin } from '../../../scheduler';
import { type ModuleOrder, SchedulerPlugins } from '../scheduler-plugins';
import type { Happening, IEventListener } from '../task-events';
import type { WorkerSession } from '../worker-session';

const worker = {
  id: 3,
  intro: { worker: 3, address: 'tcp://w', name: '', threads: 1, memoryLimit: 0 }
} as unknown as WorkerSession;

const member = {
  client: 1,
  worker,
  why: 'left',
  isExpected: true,
  stimulus: 's',
  topic: 't',
  content: null
};

/** A method of plugins, and what has it called. */
const eventOf = {
  transition: key => ({
    what: 'move',
    task: 0,
    key,
    from: TaskState.Waiting,
    to: TaskState.Processing,
    worker: 3,
    t: 0,
    event: 1,
    stimulus: 's',
    run: null,
    failure: null
  }),
  updateGraph: key => ({
    what: 'graph',
    client: 1,
    stimulus: 's',
    generation: 0,
    keys: [key],
    inputs: [[]],
    places: [0],
    wanted: [1],
    event: {}
  }),
  addWorker: () => ({ ...member, what: 'add-worker' }),
  removeWorker: () => ({ ...member, what: 'remove-worker' }),
  addClient: () => ({ ...member, what: 'add-client' }),
  removeClient: () => ({ ...member, what: 'remove-client' }),
  restart: () => ({ ...member, what: 'restart' })
} satisfies Record<string, (key: string) => object>;

type Hook = keyof typeof eventOf;
const HOOKS = Object.keys(eventOf) as Hook[];

function happening(hook: Hook, place: number): Happening {
  return eventOf[hook](`task-${place}`) as unknown as Happening;
}

const order = (name: string): ModuleOrder => ({
  name,
  load: true,
  path: `/${name}.mjs`,
  exported: 'default',
  options: {},
  idempotent: false
});

/** Plugins without a scheduler: a test has things happen, and says what the processor's clock shows. */
class Bench {
  readonly warned: string[] = [];
  listener: IEventListener | null = null;
  cpuMs = 0;
  readonly plugins: SchedulerPlugins;
  private readonly _modules = new Map<string, Promise<SchedulerPlugin>>();

  constructor(loadSeconds = 600) {
    this.plugins = new SchedulerPlugins(
      {
        start: 0,
        wallEpoch: 1e9,
        workers: new Map([[3, worker]]),
        events: {
          listen: listener => (this.listener = listener),
          unlisten: () => (this.listener = null),
          flush: () => undefined
        }
      },
      { gather: act => act(), warn: sentence => this.warned.push(sentence) },
      {
        load: ({ path }) => this._modules.get(path)!,
        loadSeconds,
        cpuMs: () => this.cpuMs
      }
    );
  }

  /** @returns why it was not loaded. */
  async load(
    name: string,
    plugin: SchedulerPlugin | Promise<SchedulerPlugin>
  ): Promise<string> {
    this._modules.set(`/${name}.mjs`, Promise.resolve(plugin));
    return new Promise(resolve =>
      this.plugins.take(order(name), (_, why) => resolve(why))
    );
  }

  unload(name: string): boolean {
    let known = false;
    this.plugins.take({ ...order(name), load: false }, was => (known = was));
    return known;
  }
}

type Heard = { readonly calls: string[]; closed: number };

/** Writes down its calls, does something at each of them, and throws at one. */
function noting(
  throwsAt: number,
  isAsync: boolean,
  before: () => void = () => undefined
): { readonly plugin: SchedulerPlugin; readonly heard: Heard } {
  const heard: Heard = { calls: [], closed: 0 };
  const call = (hook: Hook): unknown => {
    before();
    const at = heard.calls.push(hook) - 1;
    if (at !== throwsAt) {
      return undefined;
    }
    const error = new Error(`wrong at ${at}`);
    if (isAsync) {
      return Promise.reject(error);
    }
    throw error;
  };
  const plugin = {
    ...Object.fromEntries(HOOKS.map(hook => [hook, () => call(hook)])),
    close: () => void heard.closed++
  };
  return { plugin, heard };
}

const turns = fc.array(
  fc.array(fc.constantFrom(...HOOKS), { minLength: 1, maxLength: 12 }),
  { maxLength: 12 }
);

describe('modules in the scheduler', () => {
  it('are told all in order, and one that throws at any event is removed alone (drawn)', async () => {
    await fc.assert(
      fc.asyncProperty(
        turns,
        fc.array(
          fc.record({
            throwsAt: fc.integer({ min: -1, max: 40 }),
            isAsync: fc.boolean()
          }),
          { minLength: 1, maxLength: 4 }
        ),
        async (drawn, drawnPlugins) => {
          const bench = new Bench();
          const all = drawnPlugins.map(({ throwsAt, isAsync }) =>
            noting(throwsAt, isAsync)
          );
          for (const [i, { plugin }] of all.entries()) {
            expect(await bench.load(`p${i}`, plugin)).toBe('');
          }
          for (const hooks of drawn) {
            bench.listener?.hear(hooks.map(happening));
            // What a promise brings comes before the next turn.
            await new Promise(resolve => setImmediate(resolve));
          }
          const told = drawn.flat();
          const expected = drawnPlugins.map(({ throwsAt, isAsync }) => {
            const isRemoved = throwsAt >= 0 && throwsAt < told.length;
            let turnEnd = 0;
            for (const { length } of drawn) {
              turnEnd += turnEnd > throwsAt ? 0 : length;
            }
            const last = isAsync ? turnEnd : throwsAt + 1;
            return { isRemoved, calls: isRemoved ? told.slice(0, last) : told };
          });
          expect(
            all.map(({ heard }) => ({
              isRemoved: heard.closed === 1,
              calls: heard.calls
            }))
          ).toEqual(expected);
          expect(all.every(({ heard }) => heard.closed <= 1)).toBe(true);
          const failed = drawnPlugins.flatMap(({ throwsAt }, i) =>
            expected[i]!.isRemoved
              ? [[`"p${i}" has thrown`, `wrong at ${throwsAt}`]]
              : []
          );
          expect(bench.warned).toHaveLength(failed.length);
          for (const words of failed) {
            expect(
              bench.warned.some(each =>
                words.every(word => each.includes(word))
              )
            ).toBe(true);
          }
          // Nobody listens to the scheduler when the last has gone.
          expect(bench.listener === null).toBe(
            expected.every(({ isRemoved }) => isRemoved)
          );
          drawnPlugins.forEach((_, i) =>
            expect(bench.unload(`p${i}`)).toBe(!expected[i]!.isRemoved)
          );
        }
      ),
      { numRuns: 60 }
    );
  });

  it.each([
    // 50 ms of a turn, and 0.05 ms for each of its calls
    [100, 54.9, true],
    [100, 55.1, false],
    [1, 50, true],
    [1, 50.1, false]
  ])('told %d things in %d ms stay: %s', async (count, ms, stays) => {
    const bench = new Bench();
    const slow = noting(-1, false, () => (bench.cpuMs += ms / count));
    const quick = noting(-1, false);
    await bench.load('slow', slow.plugin);
    await bench.load('quick', quick.plugin);
    const turn = Array.from({ length: count }, (_, i) =>
      happening('transition', i)
    );
    bench.listener!.hear(turn);
    expect(bench.warned).toEqual(
      stays
        ? []
        : [
            `The scheduler plugin "slow" took ${Math.round(ms)} ms of the processor for ${count} calls, ` +
              'while the scheduler waited. It was removed; the cluster goes on.'
          ]
    );
    bench.listener!.hear(turn);
    expect(slow.heard.calls).toHaveLength(stays ? 2 * count : count);
    expect(quick.heard.calls).toHaveLength(2 * count);
  });

  it('that wait for what never comes are not loaded, and a sentence says so', async () => {
    const bench = new Bench(0.01);
    let resolve!: (plugin: SchedulerPlugin) => void;
    const late = noting(-1, false);
    const why = await bench.load(
      'waits',
      new Promise(found => (resolve = found))
    );
    expect(why).toBe(
      '/waits.mjs was not loaded: it did not get ready within 0.01 s. A top-level await of it, or a promise that its export returns, ' +
        'may wait for something that does not come'
    );
    // Should it come after all, nobody is told of anything.
    resolve(late.plugin);
    await new Promise(next => setImmediate(next));
    expect(bench.listener).toBeNull();
    expect(bench.unload('waits')).toBe(false);
  });
});
