import { type Key, KeyMap } from './key';
import { type Graph, ref, Task, type TaskFunction } from './nodes';
import { containsItself, holdsAny } from './references';
import { noteNamedByKey } from './task-name';
import { noteWritten, writtenAs } from './written-in';

/**
 * A scheduler: `getSync`, `getAsync`, `getThreads`, `getProcesses`, or a function of yours that takes a graph and a key.
 *
 * @group Schedulers
 * @example
 * ```ts
 * import { delayed, getAsync, getSync, type Get } from 'spanwise';
 *
 * const add = delayed((x: number, y: number) => x + y);
 * const schedulers: Get[] = [getSync, getAsync];
 * for (const get of schedulers) {
 *   console.log(await add(1, 2).compute(get)); // → 3
 * }
 * // → 3
 * ```
 */
export type Get = (graph: Graph, keys: Key, options?: never) => unknown;

/**
 * The type of a delayed function's argument where the function itself takes a `T`: the value, or a call that will give it, also within
 * plain lists, objects, `Map`s and `Set`s.
 *
 * @group Graphs
 * @example
 * ```ts
 * import { delayed, getSync, type Eventually } from 'spanwise';
 *
 * const two = delayed(() => 2)();
 * const numbers: Eventually<number[]> = [1, two, 3];
 * const sum = delayed((values: number[]) => values.reduce((a, b) => a + b));
 * console.log(sum(numbers).compute(getSync)); // → 6
 * ```
 */
export type Eventually<T> =
  | T
  | Delayed<T>
  | (T extends readonly (infer Item)[] ? readonly Eventually<Item>[] : never)
  | (T extends ReadonlyMap<infer K, infer V>
      ? ReadonlyMap<Eventually<K>, Eventually<V>>
      : never)
  | (T extends ReadonlySet<infer Item> ? ReadonlySet<Eventually<Item>> : never)
  | (T extends Readonly<Record<string, unknown>>
      ? { readonly [Name in keyof T]: Eventually<T[Name]> }
      : never);

/**
 * Makes a function whose calls are remembered instead of made; calls of calls are a graph.
 *
 * Delayed values may also stand within plain lists, objects, `Map`s and `Set`s of arguments.
 *
 * @param fn - may return a promise, if computed by another scheduler than `getSync`
 * @param name - what the keys begin with; by default the function's own name, or `delayed` if it has none.
 *
 * @group Graphs
 * @example
 * ```ts
 * import { delayed, getSync, getThreads } from 'spanwise';
 *
 * const add = delayed((x: number, y: number) => x + y, 'add');
 * const total = add(add(1, 2), 3);
 * console.log(total.compute(getSync)); // → 6
 * console.log(await total.compute(getThreads, { numWorkers: 2 })); // → 6
 * ```
 */
export function delayed<Args extends unknown[], R>(
  fn: (...args: Args) => R,
  name = fn?.name || 'delayed'
): (
  ...args: { [Place in keyof Args]: Eventually<Args[Place]> }
) => Delayed<Awaited<R>> {
  if (typeof fn !== 'function') {
    throw new TypeError(`delayed needs a function to call, not ${typeof fn}.`);
  }
  return (...args) => new Delayed(fn as TaskFunction, args, name);
}

/**
 * A call that is not made yet; functions of {@link delayed} return it.
 *
 * @group Graphs
 * @example
 * ```ts
 * import { Delayed, delayed, getSync } from 'spanwise';
 *
 * const inc = delayed((x: number) => x + 1, 'inc');
 * const value: Delayed<number> = inc(inc(1));
 * const { graph, key } = value.toGraph();
 * console.log(key, getSync(graph, key)); // → [ 'inc', 1 ] 3
 * ```
 */
export class Delayed<T = unknown> {
  /** Only for the compiler: the type of the value to come. */
  declare readonly valueType: T;

  constructor(
    /** What will be called. */
    readonly fn: TaskFunction,
    /** With what: values, delayed calls, and containers of both. */
    readonly args: readonly unknown[],
    /** What the key begins with. */
    readonly name: string
  ) {
    noteWritten(this);
  }

  /**
   * Computes the value.
   *
   * @param get - the scheduler
   * @param options - of that scheduler
   * @returns what `get` returns: the value of `getSync`, a promise of the others.
   */
  compute<G extends Get>(
    get: G,
    options?: Parameters<G>[2]
  ): Get extends G
    ? T | Promise<T>
    : ReturnType<G> extends PromiseLike<unknown>
      ? Promise<T>
      : T {
    if (typeof get !== 'function') {
      throw new TypeError(
        'compute needs a scheduler: compute(getSync), compute(getThreads), …'
      );
    }
    const { graph, key } = this.toGraph();
    return get(graph, key, options as never) as never;
  }

  /**
   * The call and all calls that it needs, as a graph. Keys are the function's name and a number, in the order in which calls need each
   * other, so that the same calls get the same keys each time.
   */
  toGraph(): {
    /** The call and all calls that it needs. */
    graph: Graph;
    /** The key of the call itself. */
    key: Key;
  } {
    const keys = new Map<Delayed, Key>();
    const numbers = new Map<string, number>();
    const graph = new KeyMap<Task>();
    for (const call of callsBehind(this)) {
      const number = numbers.get(call.name) ?? 0;
      numbers.set(call.name, number + 1);
      const key: Key = [call.name, number];
      keys.set(call, key);
      const args = call.args.map(arg =>
        withReferences(arg, other => keys.get(other)!)
      );
      const node = new Task(call.fn, args);
      writtenAs(node, call);
      if (call.name !== call.fn.name) {
        noteNamedByKey(node);
      }
      graph.set(key, node);
    }
    return { graph, key: keys.get(this)! };
  }
}

/** A call and what it needs, each after its own needs. Without recursion: chains may be long. */
function callsBehind(last: Delayed): Iterable<Delayed> {
  const ordered = new Set<Delayed>();
  const stack = [last];
  while (stack.length > 0) {
    const call = stack[stack.length - 1]!;
    const needs = delayedIn(call.args).filter(other => !ordered.has(other));
    if (needs.length > 0 && !ordered.has(call)) {
      for (let at = needs.length - 1; at >= 0; at--) {
        stack.push(needs[at]!);
      }
    } else {
      stack.pop();
      ordered.add(call);
    }
  }
  return ordered;
}

function delayedIn(value: unknown): Delayed[] {
  const found: Delayed[] = [];
  if (typeof value === 'object' && value !== null) {
    holdsAny(value, part => {
      if (part instanceof Delayed) {
        found.push(part);
      }
      // Not only the first.
      return false;
    });
  }
  return found;
}

/**
 * The value itself if nothing in it is delayed, else a copy with references.
 *
 * @param within - the containers around the value
 * @throws GraphError if a container with delayed values contains itself.
 */
function withReferences(
  value: unknown,
  keyOf: (call: Delayed) => Key,
  within: readonly unknown[] = []
): unknown {
  if (value instanceof Delayed) {
    return ref(keyOf(value));
  }
  if (delayedIn(value).length === 0) {
    return value;
  }
  if (within.includes(value)) {
    throw containsItself();
  }
  const around = [...within, value];
  const inside = (part: unknown) => withReferences(part, keyOf, around);
  if (value instanceof Map) {
    return new Map(
      Array.from(value, ([key, part]) => [inside(key), inside(part)])
    );
  }
  if (value instanceof Set) {
    return new Set(Array.from(value, inside));
  }
  if (Array.isArray(value)) {
    return value.map(inside);
  }
  return Object.fromEntries(
    Object.entries(value as object).map(([name, part]) => [name, inside(part)])
  );
}
