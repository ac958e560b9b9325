import { runInNewContext } from 'node:vm';
import { getSync } from '../../local/get-sync';
import { cull } from '../cull';
import { checkedGraph } from '../graph';
import { GraphError } from '../graph-errors';
import { IndexedGraph } from '../indexed-graph';
import { KeyMap } from '../key';
import {
  Alias,
  alias,
  data,
  DataNode,
  type Graph,
  ref,
  Task,
  task
} from '../nodes';
import { prefixOf } from '../prefix';

const list = (...args: unknown[]) => args;
const compute = (args: unknown[]) =>
  getSync({ a: 1, b: 2, out: task(list, ...args) }, 'out');
const dependenciesOf = (value: unknown) => {
  const graph = new IndexedGraph(checkedGraph(new Map([['out', value]])));
  return graph.keys.slice(1);
};

describe('§6.3: nodes and arguments', () => {
  it('§6.3: a bare value is data, a bare text too', () => {
    const graph = checkedGraph({ a: 1, b: 'a', c: null, d: [1, ['a']] });
    for (const node of graph.values()) {
      expect(node).toBeInstanceOf(DataNode);
    }
    expect(getSync({ a: 1, b: 'a' }, ['b'])).toEqual(['a']);
    expect(compute(['a', ref('a')])).toEqual(['a', 1]);
  });

  it('§6.3: references in lists, objects, Maps and Sets, at any depth', () => {
    expect(
      compute([
        [ref('a'), [ref('b')]],
        { x: ref('a'), y: { z: ref('b') } },
        new Map<unknown, unknown>([[ref('a'), ref('b')]]),
        new Set([ref('a'), 5])
      ])
    ).toEqual([
      [1, [2]],
      { x: 1, y: { z: 2 } },
      new Map([[1, 2]]),
      new Set([1, 5])
    ]);
  });

  it('§6.3: nested tasks are called, aliases and data in arguments replaced', () => {
    expect(
      compute([
        task(list, ref('a'), [task(list, 3)]),
        alias('b'),
        data(ref('a'))
      ])
    ).toEqual([[1, [[3]]], 2, ref('a')]);
  });

  it('§6.3: containers with references are tasks, those without stay the same object', () => {
    const literal = { deep: [1, 2] };
    const [graphValue, argument] = getSync<[unknown, unknown[]]>(
      { a: 1, v: [ref('a'), { x: ref('a') }], out: task(list, literal) },
      ['v', 'out']
    );
    expect(graphValue).toEqual([1, { x: 1 }]);
    expect(argument[0]).toBe(literal);
  });

  it('§6.3: instances of other classes are not searched', () => {
    class Box {
      constructor(readonly inside: unknown) {}
    }
    const box = new Box(ref('a'));
    expect(compute([box, new Float64Array(2)])).toEqual([
      box,
      new Float64Array(2)
    ]);
    expect(dependenciesOf(task(list, box))).toEqual([]);
  });

  it('§6.3: a reference as a value is an alias', () => {
    expect(checkedGraph({ a: 1, b: ref('a') }).get('b')).toEqual(
      new Alias('a')
    );
  });

  it('§6.3: a task needs a function', () => {
    expect(() => task('inc' as never, 1)).toThrow(TypeError);
    expect(() => task(null as never)).toThrow(/not null/);
    expect(() => task(task(list) as never)).toThrow(TypeError);
    expect(() => ref(5 as never)).toThrow(TypeError);
  });

  it('§6.3: a container within itself is fine as data, an error with references', () => {
    const loop: unknown[] = [1];
    loop.push(loop);
    expect(compute([loop])).toEqual([loop]);
    const bad: unknown[] = [ref('a')];
    bad.push(bad);
    expect(() => compute([bad])).toThrow(GraphError);
  });

  it('§6.4: dependencies are exact, each once', () => {
    expect(
      dependenciesOf(
        task(
          list,
          ref('a'),
          [ref('b'), ref('a')],
          task(list, ref(['t', 1]), ref(['t', 1]))
        )
      )
    ).toEqual(['a', 'b', ['t', 1]]);
    expect(dependenciesOf(data(ref('a')))).toEqual([]);
  });
});

describe('§6.5: nothing is converted', () => {
  it('§6.5: texts and tuples that are keys elsewhere stay data, and lists that begin with a function are no calls', () => {
    const graph = {
      x: 1,
      same: 'x',
      call: [list, 'x'],
      argument: task(list, 'x', ['x', 1])
    };
    const [same, call, argument] = getSync<unknown[]>(graph, [
      'same',
      'call',
      'argument'
    ]);
    expect(same).toBe('x');
    expect(call).toBe(graph.call);
    expect(argument).toEqual(['x', ['x', 1]]);
    expect(dependenciesOf(graph.call)).toEqual([]);
  });
});

describe('§6.4: culling', () => {
  const graph = {
    a: 1,
    b: task(list, ref('a')),
    c: task(list, ref('b'), ref('outside')),
    d: task(list, ref('a'))
  };

  it('§6.4: keeps the ancestors of the keys, skips external ones', () => {
    expect([...cull(graph, ['c']).keys()]).toEqual(['a', 'b', 'c']);
    expect([...cull(graph, ['c', 'outside', 'nowhere']).keys()]).toEqual([
      'a',
      'b',
      'c'
    ]);
    expect(cull(graph, []).size).toBe(0);
  });

  it('§6.4: gives a graph of its own', () => {
    const culled = cull(graph, ['d']);
    expect(culled).toBeInstanceOf(KeyMap);
    expect(culled.get('d')).toBe(graph.d);
    expect(culled.get('d')).toBeInstanceOf(Task);
  });
});

describe('§6.6: prefixes', () => {
  // What Dask's key_split answers, asked of it.
  it.each([
    ['x', 'x'],
    ['x-1-2-3', 'x'],
    [['x-2', 1], 'x'],
    ["('x-2', 1)", 'x'],
    ["('x', 1)", 'x'],
    ['hello-world-1', 'hello-world'],
    ['x-abcdefab', 'x'],
    ['_(x)', 'x'],
    ['__x', 'x'],
    ['sum-aggregate-c28fcb', 'sum-aggregate'],
    ['add-ones_like-sum-39c5', 'add'],
    ['x-anything', 'x'],
    ['x-division-1', 'x'],
    ['x-Ab', 'x-Ab'],
    ['x--y', 'x'],
    ['1x', '1x'],
    ['a,b-c', 'a,b-c'],
    ["'a,b'", 'a'],
    ['é-ü-1', 'é-ü'],
    ['', 'Other'],
    ['-a', 'Other'],
    ['(_)', 'Other'],
    ['ae05086432ca935f6eba409a8ecd4896', 'data'],
    ['ABCDEF12ABCDEF12ABCDEF12ABCDEF12', 'ABCDEF12ABCDEF12ABCDEF12ABCDEF12'],
    ['<module.submodule.myclass object at 0xdaf372>', 'myclass'],
    ['<x>', 'x'],
    ['<a-b.c d>', 'a'],
    ['finalize-hlgfinalizecompute-12', 'finalize-hlgfinalizecompute']
  ] as const)('§6.6: %p → %p', (key, prefix) => {
    expect(prefixOf(key)).toBe(prefix);
  });
});

describe('values of unusual shape', () => {
  type Linked = { next: Linked | null };
  const linked = (length: number): Linked => {
    let list: Linked = { next: null };
    for (let at = 1; at < length; at++) {
      list = { next: list };
    }
    return list;
  };

  it('a linked list may be longer than the stack is deep', () => {
    const list = linked(100_000);
    expect(getSync({ a: list }, 'a')).toBe(list);
    expect(compute([list])).toEqual([expect.anything()]);
    expect((compute([list]) as unknown[])[0]).toBe(list);
  });

  it('a list that holds one list often is looked at once', () => {
    // 2 ** 60 ways lead to the reference.
    let value: unknown = [1, ref('a')];
    for (let level = 0; level < 60; level++) {
      value = [value, value];
    }
    expect(dependenciesOf(value)).toEqual(['a']);
  });
});

describe('what is no graph', () => {
  class Plan {
    a = task(Math.sqrt, 16);
  }

  it.each<[string, unknown, string]>([
    [
      'a Set',
      new Set([['a', 1]]),
      'an object of class Set, which has no value'
    ],
    ['an array', [['a', 1]], 'a plain object or a Map'],
    ['a typed array', new Float64Array(2), 'class Float64Array, which has no'],
    ['a generator', (function* () {})(), 'which has no value for each key'],
    ['a date', new Date(), 'not an object of class Date: write { ...graph }'],
    [
      'an instance',
      new Plan(),
      'not an object of class Plan: write { ...graph }'
    ],
    [
      'an object that may be a map',
      { entries: () => [['a', 1]], size: 1 },
      'write new Map(graph.entries()) for a map'
    ],
    ['a function', () => 1, 'a plain object or a Map'],
    ['a text', 'a', 'a plain object or a Map']
  ])('is refused: %s', (_, graph, sentence) => {
    expect(() => getSync(graph as Graph, 'a')).toThrow(TypeError);
    expect(() => getSync(graph as Graph, 'a')).toThrow(sentence);
    expect(() => cull(graph as Graph, [])).toThrow(sentence);
  });

  it('objects with keys of such names are graphs, and so is every map', () => {
    const four = task(Math.sqrt, 16);
    expect(getSync({ entries: four, size: 1 }, ['entries', 'size'])).toEqual([
      4, 1
    ]);
    expect(getSync({ entries: data(Math.sqrt), size: 1 }, 'entries')).toBe(
      Math.sqrt
    );
    expect(getSync(Object.assign(Object.create(null), { a: four }), 'a')).toBe(
      4
    );
    class View {
      readonly size = 1;
      get(key: string) {
        return key === 'a' ? four : undefined;
      }
      entries() {
        return [['a', four] as const];
      }
      [Symbol.iterator]() {
        return this.entries()[Symbol.iterator]();
      }
    }
    expect(getSync(new View(), 'a')).toBe(4);
    const ofAnotherRealm = runInNewContext('new Map([["a", 4]])') as Graph;
    expect(getSync(ofAnotherRealm, 'a')).toBe(4);
    expect(getSync(runInNewContext('({ a: 4 })') as Graph, 'a')).toBe(4);
  });

  it('the compiler refuses a Set, and what only looks like a map', () => {
    // @ts-expect-error -- a Set has no values
    const set: Graph = new Set([['a', 1] as const]);
    class Looks {
      readonly size = 0;
      entries() {
        return [] as (readonly [string, number])[];
      }
    }
    // @ts-expect-error -- it is not iterable
    const looks: Graph = new Looks();
    expect([set, looks]).toHaveLength(2);
  });
});
