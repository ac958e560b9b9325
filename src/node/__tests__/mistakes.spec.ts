/** What the compiler refuses is refused with a sentence in programs without types, too. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { gzipSync } from 'node:zlib';
import { buildSync } from 'esbuild';
import {
  addCallbacks,
  Callback,
  CacheProfiler,
  createRecorder,
  data,
  delayed,
  getAsync,
  getProcesses,
  getSync,
  getThreads,
  observe,
  ProcessPool,
  Profiler,
  ProgressBar,
  ResourceProfiler,
  span,
  task,
  ThreadPool,
  type Get
} from '..';
import { checkNodeVersion } from '../node-version';

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

  it('refuses a promise in a graph, and says how it is meant', async () => {
    const pending = Promise.resolve(4);
    await expect(run({}, { a: pending })).rejects.toThrow(
      /^a is a promise.*await it.*data\(promise\)/
    );
  });

  it('shows a wrong number as it was given', async () => {
    const few = { numWorkers: 1.5, chunkSize: 1 };
    if (get !== getSync) {
      await expect(run(few)).rejects.toThrow(
        'numWorkers is a whole number from 1 on, not 1.5.'
      );
    }
    await expect(run({ chunkSize: '2' })).rejects.toThrow(
      "chunkSize is a whole number from 1 on, or −1, not the text '2'."
    );
  });

  it.each([0, -1, 1.5, NaN, Infinity, '2', null, true])(
    'refuses %p as a number of workers',
    async numWorkers => {
      await expect(run({ numWorkers })).rejects.toThrow(
        /^numWorkers is a whole number from 1 on, not /
      );
      await expect(run({ numWorkers })).rejects.toThrow(RangeError);
    }
  );

  it.each([-2, 1.5, NaN, '2', null])(
    'refuses %p as tasks per batch; 0 and nothing are its own size',
    async chunkSize => {
      await expect(run({ chunkSize })).rejects.toThrow(RangeError);
      expect(await run({ chunkSize: 0 })).toBe(1);
      expect(await run({ chunkSize: undefined })).toBe(1);
    }
  );

  it.each<[string, (keys: string[]) => unknown, string]>([
    ['Set', keys => new Set(keys), '[...keys]'],
    ['Map', keys => new Map(keys.map(key => [key, 1])), '[...keys.keys()]'],
    ['Set Iterator', keys => new Set(keys).values(), '[...keys]']
  ])('refuses keys in a %s, and says how', async (kind, make, way) => {
    const keys = make(['a']);
    const sentence = `Several keys are given as an array: ${way} makes one of this ${kind}.`;
    const ask = async (of: unknown) => get(graph, of as never);
    await expect(ask(keys)).rejects.toThrow(new TypeError(sentence));
    await expect(ask([['a'], keys])).rejects.toThrow(new TypeError(sentence));
  });

  it('refuses a promise of a graph', async () => {
    await expect(run({}, Promise.resolve(graph))).rejects.toThrow('await it');
  });
});

describe('mistakes', () => {
  it.each([getSync, getAsync])(
    'a promise as an argument is an error of its task, unless it is meant',
    async get => {
      const pending = Promise.resolve(4);
      const isPromise = (value: unknown) => value instanceof Promise;
      const run = async (argument: unknown) =>
        get({ a: task(isPromise, argument) }, 'a');
      await expect(run(pending)).rejects.toThrow(
        /^Argument 0 is a promise.*ref\(\).*data\(promise\)/
      );
      expect(await run(data(pending))).toBe(true);
    }
  );

  it.each([
    [readFile, "module('node:fs/promises', 'readFile')"],
    [gzipSync, "module('node:zlib', 'gzipSync')"]
  ])("threads are not given Node's own functions as text", async (fn, way) => {
    await expect(
      getThreads({ a: task(fn as never, 'x') }, 'a')
    ).rejects.toThrow(`is one of Node's own functions`);
    await expect(
      getThreads({ a: task(fn as never, 'x') }, 'a')
    ).rejects.toThrow(way);
  });

  it('a Node that is too old is told', () => {
    for (const version of ['20.19.5', '9.0.0', '']) {
      expect(() => checkNodeVersion(version)).toThrow(
        `spanwise needs Node 22 or newer; this is ${version}.`
      );
    }
    checkNodeVersion('22.0.0');
    checkNodeVersion('100.1.0-nightly');
  });

  it('a Node that is too old is told before anything else is done, in the bundle too', () => {
    const { outputFiles } = buildSync({
      entryPoints: [join(__dirname, '..', 'index.ts')],
      bundle: true,
      platform: 'node',
      format: 'esm',
      packages: 'external',
      write: false,
      logLevel: 'silent'
    });
    // The first line that is no import, comment or declaration.
    const first = /^(?!import|var|function|\/\/| |\}|$).*/m.exec(
      outputFiles[0]!.text
    );
    expect(first?.[0]).toBe('checkNodeVersion(process.versions.node);');
  });

  it('observe refuses its arguments in the wrong order; span what is no tag', () => {
    const body = jest.fn();
    expect(() => observe({ name: 'daily' } as never, body as never)).toThrow(
      'observe takes the body first'
    );
    expect(() => span(5 as never, body)).toThrow('at least one tag');
    expect(() => span(body as never)).toThrow('at least one tag');
    expect(body).not.toHaveBeenCalled();
  });

  it.each<[string, (options: never) => unknown]>([
    ['ProgressBar', options => new ProgressBar(options)],
    ['CacheProfiler', options => new CacheProfiler(options)],
    ['ResourceProfiler', options => new ResourceProfiler(options)],
    ['A pool', options => new ThreadPool(options)]
  ])('%s refuses an option that it does not have', (owner, make) => {
    const options = { dt: 0.5 } as never;
    expect(() => make(options)).toThrow(`${owner} has no option 'dt'; it has `);
  });

  it.each([ThreadPool, ProcessPool])(
    '%p refuses sizes and heaps that are no numbers of workers and megabytes',
    Pool => {
      for (const size of [0, -1, 1.5, NaN, Infinity, '2', null]) {
        expect(() => new Pool({ size: size as never })).toThrow(RangeError);
      }
      for (const maxHeapMegabytes of [0, 15, NaN, Infinity, '64', null]) {
        const options = { maxHeapMegabytes: maxHeapMegabytes as never };
        expect(() => new Pool(options)).toThrow(RangeError);
      }
    }
  );

  it('Callback refuses hooks of other names, and hooks that are no functions', () => {
    const misspelt = { preTask: () => 1 } as never;
    expect(() => new Callback(misspelt)).toThrow(
      'hooks are start, startState, pretask, posttask, finish; none is among preTask'
    );
    const noFunction = { pretask: 3 } as never;
    expect(() => new Callback(noFunction)).toThrow(
      'hook pretask must be a function'
    );
    // Other properties of an object with hooks are its own business.
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

  it.each([
    [3, '3'],
    [null, 'null'],
    [{ of: 'daily' }, 'an object']
  ])(
    'observe refuses %p as a name, also before a body',
    async (name, shown) => {
      const sentence = `observe: name is a text, as in { name: 'daily' }, not ${shown}.`;
      const options = { name } as never;
      expect(() => observe(options)).toThrow(new TypeError(sentence));
      const body = jest.fn();
      await expect(observe(body, options)).rejects.toThrow(
        new TypeError(sentence)
      );
      expect(body).not.toHaveBeenCalled();
    }
  );

  it.each([[{}], [null], ['stdout']])(
    'ProgressBar refuses %p, to which nothing can be written, before a run',
    out => {
      expect(() => new ProgressBar({ out: out as never })).toThrow(
        'ProgressBar: out is a stream, such as process.stderr: an object with a function write.'
      );
    }
  );

  it('createRecorder refuses what is no sink, and says what one is', () => {
    const what =
      'createRecorder writes to `into`, an object with the functions open, write, flush and end, such as observerSink()';
    for (const options of [{}, { into: null }, { into: {} }]) {
      expect(() => createRecorder(options as never)).toThrow(what);
    }
    const half = { open() {}, write() {}, end: () => Promise.resolve() };
    expect(() => createRecorder({ into: half as never })).toThrow(
      `${what}; flush is none.`
    );
    expect(() => createRecorder(undefined as never)).toThrow(
      'createRecorder takes its options as an object, { into: … }, not undefined.'
    );
    expect(() => createRecorder({ sink: half } as never)).toThrow(
      "createRecorder has no option 'sink'; it has into, name."
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
