/** How objects arrive: each task gets its own, with their methods or not at all. */
import fc from 'fast-check';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildNodePrograms } from '../../../testing/node-programs';
import { data, ref, task } from '../../graph/nodes';
import { module } from '../../graph/portable';
import { decodedCopy } from '../process-frames';
import { ClassLosses, SentValues } from '../sent-values';
import { UnsendableError } from '../unsendable';
import type { ProcessPool } from '../worker-pool';
import { failureOf, workerKinds } from './worker-kinds';

let folder: string;
beforeAll(() => {
  buildNodePrograms('pool-thread.mjs', 'pool-process.mjs');
  folder = mkdtempSync(join(tmpdir(), 'sent-values-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

class Point {
  constructor(
    readonly x: number,
    readonly y: number
  ) {}
  norm() {
    return Math.hypot(this.x, this.y);
  }
  get angle() {
    return Math.atan2(this.y, this.x);
  }
}
class Row {
  constructor(readonly cells: readonly number[]) {}
}
class Money {
  readonly cents = 5;
  toString() {
    return '0.05';
  }
}
class Matrix extends Float64Array {
  trace() {
    return this[0]!;
  }
}
class Registry extends Map<string, number> {
  lookUp(name: string) {
    return this.get(name);
  }
}
class Secret {
  readonly #value = 3;
  get value() {
    return this.#value;
  }
}

const losing: [name: string, make: () => unknown, names: string[]][] = [
  ['an instance', () => new Point(3, 4), ['norm', 'angle']],
  ['an own toString', () => new Money(), ['toString']],
  ['a private field', () => new Secret(), ['value']],
  ['a subclass of a typed array', () => new Matrix(4), ['trace']],
  ['a subclass of Map', () => new Registry([['a', 1]]), ['lookUp']],
  [
    'an object made from another',
    () => Object.create({ go: () => 1 }) as unknown,
    ['go']
  ],
  ['a URL', () => new URL('https://example.org/a'), ['href']]
];
const whole: [name: string, make: () => unknown][] = [
  ['plain data', () => ({ a: [1, { b: 'x' }], c: null })],
  ['data of a class', () => new Row([1, 2])],
  [
    'no prototype',
    () => Object.assign(Object.create(null) as object, { a: 1 })
  ],
  ['a date', () => new Date(0)],
  ['an expression', () => /a+/g],
  ['an error', () => Object.assign(new RangeError('far'), { at: 3 })],
  ['a Map and a Set', () => [new Map([[{ a: 1 }, new Set([1])]])]],
  ['a Buffer', () => Buffer.from('text')],
  [
    'typed arrays',
    () => [new Float32Array(3), new DataView(new ArrayBuffer(8))]
  ],
  ['wrappers', () => [Object(1), Object('a'), Object(true)]],
  ['a list with holes', () => Object.assign(new Array(5), { 3: {} })]
];

describe.each([
  ['threads', (value: unknown) => structuredClone(value)],
  ['processes', decodedCopy]
])('on the way to %s', (kind, arrival) => {
  const losses = new ClassLosses(arrival);
  const nestings: ((value: unknown) => unknown)[] = [
    value => value,
    value => [1, [value]],
    value => ({ rows: [{ value }] }),
    value => new Map([[1, { value }]]),
    value => new Map([[value, 1]]),
    value => new Set([[value]])
  ];

  // Of threads a URL is refused as what has no copy.
  const known = losing.filter(
    ([name]) => kind === 'processes' || name !== 'a URL'
  );
  it.each(known)(
    '%s would lose its methods, wherever it stands',
    (__, make, names) => {
      for (const nest of nestings) {
        const value = make();
        const loss = losses.find(nest(value));
        expect(loss?.object).toBe(value);
        expect(loss?.names).toEqual(expect.arrayContaining(names));
      }
    }
  );

  it.each(whole)('%s arrives as it is', (__, make) => {
    for (const nest of nestings) {
      expect(losses.find(nest(make()))).toBeNull();
    }
  });

  it('values that cannot be sent at all are left to the sender', () => {
    const throwing = {
      get link(): string {
        throw new Error('not loaded');
      }
    };
    for (const value of [throwing, () => 1, { f: () => 1 }, new WeakMap()]) {
      expect(losses.find(value)).toBeNull();
    }
    const circle: { self?: unknown } = {};
    circle.self = circle;
    expect(losses.find(circle)).toBeNull();
  });

  it('a class is tried once', () => {
    let tries = 0;
    const counting = new ClassLosses(value => {
      tries++;
      return arrival(value);
    });
    const points = Array.from({ length: 50 }, () => new Row([1]));
    expect(counting.find(points)).toBeNull();
    expect(tries).toBe(1);
  });

  it('objects of several tasks are noticed, whatever holds them', () => {
    // A drawn forest: each task has some of these, nested in some way.
    fc.assert(
      fc.property(
        fc.array(fc.array(fc.nat({ max: 30 }), { maxLength: 4 }), {
          maxLength: 8
        }),
        fc.array(fc.nat({ max: nestings.length - 1 }), { minLength: 1 }),
        (tasks, ways) => {
          const objects = Array.from({ length: 31 }, (__, at) =>
            at % 2 === 0 ? { at } : new Uint8Array(8)
          );
          const sent = new SentValues(losses);
          const usersOf = new Map<number, Set<number>>();
          let way = 0;
          tasks.forEach((own, at) => {
            for (const object of own) {
              const users = usersOf.get(object) ?? new Set();
              usersOf.set(object, users.add(at));
              const nest = nestings[ways[way++ % ways.length]!]!;
              const part = objects[object]!;
              // Another view of the same memory is the same memory.
              const held = ArrayBuffer.isView(part)
                ? new DataView(part.buffer)
                : part;
              expect(sent.look(nest(held), at)).toBeNull();
            }
          });
          const isShared = [...usersOf.values()].some(({ size }) => size > 1);
          expect(sent.isShared).toBe(isShared);
        }
      )
    );
  });

  it('what is too much to look at counts as shared', () => {
    const sent = new SentValues(losses);
    sent.look(
      Array.from({ length: 20_000 }, () => ({})),
      0
    );
    expect([sent.isShared, sent.isFull]).toEqual([true, true]);
    const sparse = new SentValues(losses);
    sparse.look(new Array(2 ** 32 - 1), 0);
    expect(sparse.isShared).toBe(true);
  });

  it('a task is looked at whatever was looked at before it', () => {
    for (const before of [[0], [9_990], [20_000], [9_000, 9_000, 9_000]]) {
      const sent = new SentValues(losses);
      before.forEach((count, at) =>
        sent.look(
          Array.from({ length: count }, () => ({})),
          at
        )
      );
      const point = new Point(1, 2);
      const value = [...Array.from({ length: 50 }, () => ({})), point];
      expect(sent.look(value, before.length)?.object).toBe(point);
    }
    const sparse = new SentValues(losses);
    sparse.look(new Array(2 ** 32 - 1), 0);
    expect(sparse.look([new Point(1, 2)], 1)).not.toBeNull();
  });

  it('what it no longer knows of counts as shared', () => {
    const sent = new SentValues(losses);
    const common = {};
    sent.look([common, ...Array.from({ length: 9_998 }, () => ({}))], 0);
    expect([sent.isShared, sent.isFull]).toEqual([false, true]);
    sent.look([common], 1);
    expect([sent.isShared, sent.isFull]).toEqual([true, false]);
  });

  it('shared memory is shared', () => {
    const sent = new SentValues(losses);
    const cells = new Int32Array(new SharedArrayBuffer(8));
    sent.look(cells, 0);
    sent.look(cells.buffer, 1);
    expect(sent.isShared).toBe(false);
  });
});

describe.each(workerKinds)('with $kind', ({ kind, label, get, makePool }) => {
  let pool: ProcessPool;
  beforeAll(() => {
    pool = makePool({ size: 1 });
  });
  afterAll(() => pool.close());

  const handOuts = [{ chunkSize: 1 }, { chunkSize: 3 }, { chunkSize: 64 }, {}];

  it.each(handOuts)('each task has its own arguments, %p', async options => {
    const count = (s: { n: number }) => ++s.n;
    const inner = (s: { deep: [{ n: number }] }) => ++s.deep[0].n;
    const bytes = (b: Uint8Array) => ++b[0]!;
    const twice = (a: { n: number }, b: { n: number }) => (a.n++, b.n);
    const own = { n: 0 };
    const memory = new ArrayBuffer(8);
    const graph: Record<string, unknown> = { s: data(own) };
    for (let at = 0; at < 4; at++) {
      graph[`ref-${at}`] = task(count, ref('s'));
      graph[`literal-${at}`] = task(count, own);
      graph[`nested-${at}`] = task(inner, { deep: [own] });
      graph[`call-${at}`] = task(
        count,
        task((s: object) => s, own)
      );
      graph[`bytes-${at}`] = task(bytes, data(new Uint8Array(memory)));
      // Within a task an object is one object, as in this thread.
      graph[`twice-${at}`] = task(twice, own, own);
    }
    const keys = Object.keys(graph).filter(key => key !== 's');
    for (let run = 0; run < 3; run++) {
      expect(await get(graph, keys, { pool, ...options })).toEqual(
        keys.map(() => 1)
      );
    }
    expect(own.n).toBe(0);
  });

  it.each(handOuts)(
    'what a module keeps and changes does not change earlier results, %p',
    async options => {
      const file = join(folder, `keeping-${kind}.mjs`);
      writeFileSync(
        file,
        `const kept = { n: 0 };
         const large = new Float64Array(1e5);
         export const next = () => (kept.n++, kept);
         export const nextLarge = () => (large[0]++, large);`
      );
      const graph: Record<string, unknown> = {};
      for (let at = 0; at < 5; at++) {
        graph[`next-${at}`] = task(module(file, 'next'));
        graph[`large-${at}`] = task(module(file, 'nextLarge'));
      }
      const of = (kind: string) =>
        Object.keys(graph).filter(key => key.startsWith(kind));
      await using fresh = makePool({ size: 1 });
      for (let run = 0; run < 3; run++) {
        const [small, large] = await get<[{ n: number }[], Float64Array[]]>(
          graph,
          [of('next'), of('large')],
          { pool: fresh, ...options }
        );
        const expected = [1, 2, 3, 4, 5].map(n => 5 * run + n);
        expect(small.map(({ n }) => n).sort((a, b) => a - b)).toEqual(expected);
        expect(large.map(([n]) => n!).sort((a, b) => a - b)).toEqual(expected);
      }
    }
  );

  it('results do not depend on how drawn tasks are handed out', async () => {
    const change = (...parts: { n: number; inner?: { n: number } }[]) => {
      let sum = 0;
      for (const part of parts) {
        sum += ++part.n;
        if (part.inner !== undefined) {
          sum += ++part.inner.n;
        }
      }
      return sum;
    };
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.nat({ max: 5 }), { maxLength: 3 }), {
          minLength: 2,
          maxLength: 12
        }),
        async tasks => {
          const leaf = { n: 0 };
          const objects = Array.from({ length: 6 }, (_, n) =>
            n % 2 === 0 ? { n, inner: leaf } : { n }
          );
          const graph: Record<string, unknown> = {};
          tasks.forEach((own, at) => {
            const args = own.map(object => objects[object]);
            graph[`t${at}`] = task(change as never, ...args);
          });
          const keys = Object.keys(graph);
          const answers = [];
          for (const options of handOuts) {
            answers.push(await get(graph, keys, { pool, ...options }));
          }
          for (const answer of answers) {
            expect(answer).toEqual(answers[0]);
          }
        }
      ),
      { numRuns: 30 }
    );
  });

  it.each(losing.filter(([name]) => kind === 'processes' || name !== 'a URL'))(
    '%s is no argument',
    async (_, make, names) => {
      const graph = { a: task((x: unknown) => x, 1, { rows: [make()] }) };
      const error = await failureOf(get(graph, 'a', { pool }));
      expect(error).toBeInstanceOf(UnsendableError);
      expect(error.message).toMatch(
        /^Task a cannot be sent to a worker: argument 1\.rows\[0\] is (of class \w+|an object), and only its data would arrive, without its methods and getters \(/
      );
      expect(error.message).toContain(names[0]!);
      expect(error.message).toContain('{ ...it }');
    }
  );

  it('an instance is no result', async () => {
    const make = () => {
      class Box {
        readonly n = 1;
        open() {
          return this.n;
        }
      }
      return { boxes: [new Box()] };
    };
    const fine = task(() => 1);
    const error = await failureOf(
      get({ fine, a: task(make), later: fine }, ['fine', 'a', 'later'], {
        pool
      })
    );
    expect(error).toBeInstanceOf(UnsendableError);
    expect(error.message).toMatch(
      new RegExp(
        `^The result of a cannot be sent back from ${label} \\d+: result\\.boxes\\[0\\] is of class Box, and only its data would arrive.*\\(open\\)`
      )
    );
    // The worker goes on.
    expect(await get({ fine }, 'fine', { pool })).toBe(1);
  });

  it('an instance within a nested call or a value of another task is found', async () => {
    const graph = {
      point: data(new Point(1, 2)),
      a: task(
        (x: unknown) => x,
        task((x: unknown) => x, [ref('point')])
      )
    };
    const error = await failureOf(get(graph, 'a', { pool }));
    expect(error.message).toContain('is of class Point');
    const rows = task((x: unknown[]) => x.length, [ref('point')]);
    expect(
      (await failureOf(get({ ...graph, rows }, 'rows', { pool }))).message
    ).toContain('argument 0[0] is of class Point');
  });

  it('an instance is no argument of an initializer', () => {
    expect(() =>
      makePool({
        size: 1,
        initializer: (x: unknown) => void x,
        initializerArgs: [new Point(1, 2)]
      })
    ).toThrow('initializerArgs[0] is of class Point');
  });

  it('instances that are only data arrive', async () => {
    const graph = { a: task((row: Row) => row.cells.length, new Row([1, 2])) };
    expect(await get(graph, 'a', { pool })).toBe(2);
  });
});

it('what lives by hidden fields is refused by processes', async () => {
  const { get, makePool } = workerKinds[1]!;
  await using pool = makePool({ size: 1 });
  const size = (x: { size: number }) => x.size;
  const graph = { a: task(size, new Blob(['text'])) };
  expect((await failureOf(get(graph, 'a', { pool }))).message).toContain(
    'argument 0 is of class Blob'
  );
});

it('what Node copies with its methods arrives in threads', async () => {
  const { get, makePool } = workerKinds[0]!;
  await using pool = makePool({ size: 1 });
  const blob = new Blob(['text']);
  const graph = { a: task((x: Blob) => x.text(), blob) };
  expect(await get(graph, 'a', { pool })).toBe('text');
});
