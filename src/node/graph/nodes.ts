import { type Key, keyId } from './key';
import { noteWritten } from './written-in';

/**
 * What a graph holds under its keys.
 *
 * ```
 *   { a: 1,                        a bare value is data; a bare string too, it is never a reference
 *     b: data(task),               data that would otherwise be taken for a node
 *     c: task(add, ref('a'), 10),  a call; ref('a') stands for the value of a
 *     d: [ref('b'), ref('c')],     a container with references: a task that builds it
 *     e: alias('d') }              another name for d
 * ```
 *
 * References and nested calls may stand anywhere in arguments, also within plain arrays, plain objects, `Map`s and `Set`s.
 */
export type Graph =
  | Readonly<Record<string, unknown>>
  | { entries(): Iterable<readonly [Key, unknown]>; readonly size: number };

/** A node of a checked graph. */
export type Node = Task | Alias | DataNode;

/** A node that is scheduled: it runs, and callbacks hear of it. Data is there from the beginning. */
export type TaskNode = Task | Alias;

/** What a task calls. Portable forms (`module(url, name)`) are functions too, so that every scheduler may call them. */
export type TaskFunction<Args extends unknown[] = never[], R = unknown> = (
  ...args: Args
) => R;

/** A call. `args` may hold references, nested tasks, and containers of both. */
export class Task {
  readonly fn: TaskFunction;
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

/** Stands for the value of another key, inside arguments. */
export class TaskRef {
  readonly key: Key;

  constructor(key: Key) {
    keyId(key);
    this.key = key;
  }
}

/** Another name for the value of `target`; inside arguments the same as a {@link TaskRef}. */
export class Alias {
  readonly target: Key;

  constructor(target: Key) {
    keyId(target);
    this.target = target;
  }
}

/** A value that is there before anything runs. */
export class DataNode<T = unknown> {
  readonly value: T;

  constructor(value: T) {
    this.value = value;
  }
}

/** @returns the task that calls `fn` with `args`, where references stand for values. */
export function task(fn: TaskFunction, ...args: unknown[]): Task {
  return new Task(fn, args);
}

export function ref(key: Key): TaskRef {
  return new TaskRef(key);
}

export function data<T>(value: T): DataNode<T> {
  return new DataNode(value);
}

export function alias(target: Key): Alias {
  return new Alias(target);
}
