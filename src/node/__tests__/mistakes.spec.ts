/** What the compiler refuses is refused with a sentence in programs without types, too. */
import { inspect } from 'node:util';
import {
  addCallbacks,
  Callback,
  CacheProfiler,
  delayed,
  getAsync,
  getProcesses,
  getSync,
  getThreads,
  observe,
  Profiler,
  ProgressBar,
  ResourceProfiler,
  span,
  task,
  ThreadPool,
  type Get
} from '..';

const graph = { a: task(() => 1) };
const schedulers: [string, Get][] = [
  ['getSync', getSync],
  ['getAsync', getAsync],
  ['getThreads', getThreads],
  ['getProcesses', getProcesses]
];

describe.each(schedulers)('%s', (_, get) => {
  const run = async (options: object, of: object = graph) =>
    get(of as never, 'a', options as never);

  it.each([
    [{ cache: { get() {}, set() {}, has() {} } }, "a method 'delete'"],
    [{ signal: { aborted: false } }, 'is an AbortSignal'],
    [{ callbacks: new Callback() }, 'given as a list']
  ])('refuses %p', async (options, message) => {
    await expect(run(options)).rejects.toThrow(message);
    await expect(run(options)).rejects.toThrow(TypeError);
  });

  it('takes options of which only others make use', async () => {
    expect(await run({ rerunExceptionsLocally: true, numWorkers: 1 })).toBe(1);
  });

  it('refuses a promise of a graph', async () => {
    await expect(run({}, Promise.resolve(graph))).rejects.toThrow('await it');
  });
});

describe('mistakes', () => {
  it.each<[string, (options: never) => unknown]>([
    ['ProgressBar', options => new ProgressBar(options)],
    ['CacheProfiler', options => new CacheProfiler(options)],
    ['ResourceProfiler', options => new ResourceProfiler(options)],
    ['A pool', options => new ThreadPool(options)]
  ])('%s refuses an option that it does not have', (owner, make) => {
    const options = { dt: 0.5 } as never;
    expect(() => make(options)).toThrow(`${owner} has no option 'dt'; it has `);
  });

  it('Callback refuses hooks of other names, and hooks that are no functions', () => {
    const misspelt = { preTask: () => 1 } as never;
    expect(() => new Callback(misspelt)).toThrow(
      'hooks are start, startState, pretask, posttask, finish; none is among preTask'
    );
    const noFunction = { pretask: 3 } as never;
    expect(() => new Callback(noFunction)).toThrow(
      'hook pretask must be a function'
    );
    // What else an object with hooks has is its own business.
    const other = { count: 0, pretask() {} };
    expect(new Callback(other)).toBeInstanceOf(Callback);
  });

  it('A pool, observe and profilers refuse options that are no object', () => {
    expect(() => new ThreadPool(4 as never)).toThrow(
      'A pool takes its options as an object, { size: … }, not 4.'
    );
    expect(() => new ProgressBar(null as never)).toThrow(TypeError);
    expect(() => observe('daily' as never)).toThrow('{ name: … }, not daily');
    expect(() => observe({ nam: 'daily' } as never)).toThrow(
      "observe has no option 'nam'; it has name, connection."
    );
  });

  it('run, addCallbacks, span and observe refuse a run that has begun', () => {
    const begun = getAsync(graph, 'a') as never;
    const as = 'a function that starts the run, as () => getAsync(graph, keys)';
    const refusal = `${as}, not a promise.`;
    expect(() => new ProgressBar().run(begun)).toThrow(`run takes ${refusal}`);
    expect(() => new Profiler().run(begun)).toThrow(`run takes ${refusal}`);
    expect(() => addCallbacks([], begun)).toThrow(refusal);
    expect(() => span('load', begun)).toThrow(`span takes ${refusal}`);
    expect(() => observe(begun)).toThrow(`observe takes ${refusal}`);
  });

  it('delayed refuses what cannot be called, and to compute by nothing', () => {
    expect(() => delayed(3 as never)).toThrow('not number');
    expect(() => delayed(undefined as never)).toThrow('not undefined');
    const one = delayed(() => 1)();
    expect(() => one.compute(undefined as never)).toThrow('needs a scheduler');
  });
});

describe('consoles print', () => {
  it('what callbacks, profilers and pools are, not what they are made of', () => {
    class Counter extends Callback {
      count = 3;
    }
    expect(inspect(new Counter())).toBe('Counter { count: 3 }');
    expect(inspect(new ProgressBar())).toBe('ProgressBar {}');
    const profiler = new Profiler();
    profiler.run(() => getSync(graph, 'a'));
    expect(inspect(profiler)).toBe('Profiler { 1 record in results }');
    expect(inspect(new ThreadPool({ size: 4 }))).toBe('ThreadPool { size: 4 }');
  });
});
