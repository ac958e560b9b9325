import { type Key, keyId } from './key';
import { noteWritten } from './written-in';

/**
 * A graph of function calls: a plain object, a `Map` or a {@link KeyMap} from keys to what they stand for.
 *
 * References and nested calls may stand anywhere in arguments, also within plain arrays, plain objects, `Map`s and `Set`s. Keys that are
 * tuples need a `Map` or a `KeyMap`; for large graphs these are the faster ones too.
 *
 * @group Graphs
 * @example
 * ```ts
 * import { alias, data, getSync, ref, task, type Graph } from 'spanwise';
 *
 * const graph: Graph = {
 *   a: 1, // a bare value is data; a bare string too: it is never a reference
 *   b: task((x: number, y: number) => x + y, ref('a'), 10), // a call; ref('a') stands for the value of a
 *   c: [ref('a'), { sum: ref('b') }], // a container with references: a task that builds it
 *   d: alias('c'), // another name for c
 *   e: data(task) // a value that would otherwise be searched, or taken for a node
 * };
 * console.log(getSync(graph, 'd')); // → [ 1, { sum: 11 } ]
 * ```
 */
export type Graph =
  | Readonly<Record<string, unknown>>
  | {
      /** Keys and what they stand for. */
      entries(): Iterable<readonly [Key, unknown]>;
      /** What a key stands for. */
      get(key: never): unknown;
      /** The same as `entries`: plain objects are not iterable. */
      [Symbol.iterator](): Iterator<readonly [Key, unknown]>;
      /** How many keys there are. */
      readonly size: number;
    };

/**
 * A node of a checked graph, as callbacks see it: every bare value has become one.
 *
 * @group Graphs
 * @example
 * ```ts
 * import { Alias, cull, DataNode, ref, task, type Node } from 'spanwise';
 *
 * const kindOf = (node: Node) =>
 *   node instanceof DataNode ? 'data' : node instanceof Alias ? 'alias' : 'task';
 * const nodes = cull({ a: -1, b: task(Math.abs, ref('a')), c: ref('b') }, ['c']);
 * nodes.forEach((node, key) => console.log(key, kindOf(node)));
 * // → a data
 * // → b task
 * // → c alias
 * ```
 */
export type Node = Task | Alias | DataNode;

/** A node that is scheduled: it runs, and callbacks hear of it. Data is there from the beginning. */
export type TaskNode = Task | Alias;

/**
 * What a task calls. Portable forms (`module(url, name)`) are functions too, so that every scheduler may call them.
 *
 * @group Graphs
 * @example
 * ```ts
 * import { getSync, task, type TaskFunction } from 'spanwise';
 *
 * const add: TaskFunction<[number, number], number> = (x, y) => x + y;
 * console.log(getSync({ sum: task(add, 2, 3) }, 'sum')); // → 5
 * ```
 */
export type TaskFunction<Args extends unknown[] = never[], R = unknown> = (
  ...args: Args
) => R;

/**
 * A call in a graph; {@link task} makes one.
 *
 * @group Graphs
 * @example
 * ```ts
 * import { cull, ref, Task } from 'spanwise';
 *
 * const node = cull({ a: 4, b: new Task(Math.sqrt, [ref('a')]) }, ['b']).get('b');
 * if (node instanceof Task) {
 *   console.log(node.fn.name, node.args.length); // → sqrt 1
 * }
 * ```
 */
export class Task {
  /** What is called. */
  readonly fn: TaskFunction;
  /** With what: values, references, nested tasks, and containers of these. */
  readonly args: readonly unknown[];

  /** @throws TypeError if `fn` is no function. */
  constructor(fn: TaskFunction, args: readonly unknown[]) {
    if (typeof fn !== 'function') {
      throw new TypeError(
        `A task needs a function to call, not ${fn === null ? 'null' : typeof fn}.`
      );
    }
    this.fn = fn;
    this.args = args;
    noteWritten(this);
  }
}

/**
 * Stands for the value of another key, inside arguments; {@link ref} makes one.
 *
 * @group Graphs
 * @example
 * ```ts
 * import { getSync, task, TaskRef } from 'spanwise';
 *
 * console.log(getSync({ a: 4, b: task(Math.sqrt, new TaskRef('a')) }, 'b')); // → 2
 * ```
 */
export class TaskRef {
  /** Whose value it stands for. */
  readonly key: Key;

  /** @throws TypeError for what is no key. */
  constructor(key: Key) {
    keyId(key);
    this.key = key;
  }
}

/**
 * Another name for the value of a key; {@link alias} makes one. Inside arguments it is the same as a {@link TaskRef}.
 *
 * @group Graphs
 * @example
 * ```ts
 * import { Alias, getSync } from 'spanwise';
 *
 * console.log(getSync({ a: 4, again: new Alias('a') }, ['a', 'again'])); // → [ 4, 4 ]
 * ```
 */
export class Alias {
  /** Whose value it is. */
  readonly target: Key;

  /** @throws TypeError for what is no key. */
  constructor(target: Key) {
    keyId(target);
    this.target = target;
  }
}

/**
 * A value that is there before anything runs; {@link data} makes one.
 *
 * @group Graphs
 * @example
 * ```ts
 * import { cull, DataNode } from 'spanwise';
 *
 * const node = cull({ a: 4 }, ['a']).get('a');
 * console.log(node instanceof DataNode && node.value); // → 4
 * ```
 */
export class DataNode<T = unknown> {
  /** The value itself, never searched for references. */
  readonly value: T;

  constructor(value: T) {
    this.value = value;
  }
}

/**
 * A call of `fn` with `args`, made when a scheduler comes to it.
 *
 * @param fn - what to call; its own `this` is not kept
 * @param args - values; where a reference stands, `fn` gets the value of its key
 * @throws TypeError if `fn` is no function.
 *
 * @group Graphs
 * @example
 * ```ts
 * import { getSync, ref, task } from 'spanwise';
 *
 * const graph = {
 *   x: 3,
 *   y: task((x: number) => 2 * x, ref('x')),
 *   // References and calls may stand within arguments, too.
 *   total: task((parts: number[]) => parts.reduce((a, b) => a + b), [ref('y'), task(Math.sqrt, 16)])
 * };
 * console.log(getSync(graph, 'total')); // → 10
 * ```
 */
export function task(fn: TaskFunction, ...args: unknown[]): Task {
  return new Task(fn, args);
}

/**
 * A reference: stands for the value of `key` in the arguments of tasks. In a request it says that an array is a key.
 *
 * @throws TypeError for what is no key.
 *
 * @group Graphs
 * @example
 * ```ts
 * import { getSync, KeyMap, ref, task } from 'spanwise';
 *
 * const graph = new KeyMap<unknown>([
 *   [['part', 'a'], 2],
 *   ['double', task((x: number) => 2 * x, ref(['part', 'a']))]
 * ]);
 * console.log(getSync(graph, ['double', ref(['part', 'a'])])); // → [ 4, 2 ]
 * ```
 */
export function ref(key: Key): TaskRef {
  return new TaskRef(key);
}

/**
 * A value that is taken as it is: not searched for references, and not taken for a node.
 *
 * @group Graphs
 * @example
 * ```ts
 * import { data, getSync, task } from 'spanwise';
 *
 * const graph = {
 *   plan: data(task(Math.sqrt, 16)) // the task itself, not its result
 * };
 * console.log(getSync(graph, 'plan')); // → Task { fn: [Function: sqrt], args: [ 16 ] }
 * ```
 */
export function data<T>(value: T): DataNode<T> {
  return new DataNode(value);
}

/**
 * Another name for the value of `target`.
 *
 * @throws TypeError for what is no key.
 *
 * @group Graphs
 * @example
 * ```ts
 * import { alias, getSync, task } from 'spanwise';
 *
 * const graph = { 'sum-c28fcb': task(() => 6), total: alias('sum-c28fcb') };
 * console.log(getSync(graph, 'total')); // → 6
 * ```
 */
export function alias(target: Key): Alias {
  return new Alias(target);
}
