import { GraphError } from './graph-errors';
import { type Key } from './key';
import {
  Alias,
  DataNode,
  type Node,
  Task,
  type TaskNode,
  TaskRef
} from './nodes';
import { isThenable } from './thenable';

/** Where {@link callNode} finds the values of a task's dependencies. */
export type Inputs = {
  get(key: Key): unknown;
  /** The results of nested calls that were made before. */
  readonly calls?: ReadonlyMap<Task, unknown>;
};

/** A value that is searched for references: arrays, plain objects, `Map`s and `Set`s; no instances of other classes. */
type Container =
  | readonly unknown[]
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>
  | Readonly<Record<string, unknown>>;

/**
 * Calls `visit` with the key of every reference in a node or a value; the same key may come several times.
 *
 * @throws GraphError if a container that holds references contains itself: it cannot be rebuilt with values.
 */
export function visitReferences(
  value: unknown,
  visit: (key: Key) => void
): void {
  if (typeof value === 'object' && value !== null) {
    visitObject(value, visit, null);
  }
}

/** Whether the value holds a reference or a nested task, so that it must be built before it is used. */
function holdsNodes(value: unknown): boolean {
  return typeof value === 'object' && value !== null && holdsAny(value, isNode);
}

/**
 * Runs a node with the values of its dependencies. An alias gives the value it names; a task calls its function with references replaced,
 * nested tasks called, and containers that hold either rebuilt.
 *
 * @returns what the function returns; a promise of it if a nested call gives a promise, for whose value the function waits.
 */
export function callNode(node: TaskNode, inputs: Inputs): unknown {
  if (node instanceof Task) {
    const { args } = node;
    // Most arguments are references and bare values: one pass, and no search.
    const values = new Array<unknown>(args.length);
    for (let i = 0; i < args.length; i++) {
      const arg = args[i];
      if (typeof arg !== 'object' || arg === null) {
        values[i] = arg;
      } else if (arg instanceof TaskRef) {
        values[i] = inputs.get(arg.key);
      } else {
        return callWithContainers(node, inputs);
      }
    }
    return node.fn.apply(undefined, values as never[]);
  }
  return inputs.get(node.target);
}

/** Makes the error for a bare promise in a graph, which would not be waited for. */
export function promiseError(what: string): TypeError {
  return new TypeError(
    `${what} is a promise: tasks would get the promise and not its value. Either await it, or have a task make it, task(() => …), whose value ref() gives. For the promise itself write data(promise).`
  );
}

/** For arguments that may hold nodes, or are nested calls. */
function callWithContainers(node: Task, inputs: Inputs): unknown {
  const { args } = node;
  let hasReferences = false;
  // The calls nested in the arguments, without those nested in them in turn.
  let calls: Set<Task> | null = null;
  for (const arg of args) {
    if (arg instanceof TaskRef) {
      hasReferences = true;
    } else if (arg instanceof Promise) {
      throw promiseError(`Argument ${args.indexOf(arg)}`);
    } else if (typeof arg === 'object' && arg !== null) {
      const found = new Set<Task>();
      holdsAny(arg, part => {
        if (part instanceof Task) {
          found.add(part);
        } else if (isNode(part)) {
          hasReferences = true;
        }
        // Not only the first.
        return false;
      });
      if (found.size > 0) {
        calls = calls === null ? found : new Set([...calls, ...found]);
      }
    }
  }
  if (calls !== null) {
    return callAfter(calls, node, inputs, new Map());
  }
  return node.fn.apply(
    undefined,
    (hasReferences ? valuesOf(args, inputs) : args) as never[]
  );
}

/**
 * Makes the nested calls one after the other, then the outer one: at once, or, after a nested call that gives a promise, when that is
 * fulfilled.
 */
function callAfter(
  nested: Iterable<Task>,
  node: Task,
  inputs: Inputs,
  calls: Map<Task, unknown>
): unknown {
  for (const task of nested) {
    if (!calls.has(task)) {
      const value = callNode(task, inputs);
      if (isThenable(value)) {
        return Promise.resolve(value).then(fulfilled =>
          callAfter(nested, node, inputs, calls.set(task, fulfilled))
        );
      }
      calls.set(task, value);
    }
  }
  const values = valuesOf(node.args, { get: key => inputs.get(key), calls });
  return node.fn.apply(undefined, values as never[]);
}

/** The arguments of a task with references replaced by values: what its function is called with. */
export function valuesOf(args: readonly unknown[], inputs: Inputs): unknown[] {
  const values = new Array<unknown>(args.length);
  for (let i = 0; i < args.length; i++) {
    const arg = args[i];
    values[i] =
      arg instanceof TaskRef ? inputs.get(arg.key) : built(arg, inputs);
  }
  return values;
}

/** The node that a value of the user's graph stands for. */
export function nodeOf(value: unknown): Node {
  if (
    value instanceof Task ||
    value instanceof DataNode ||
    value instanceof Alias
  ) {
    return value;
  }
  if (value instanceof TaskRef) {
    return new Alias(value.key);
  }
  return holdsNodes(value) ? new Task(identity, [value]) : new DataNode(value);
}

// Sent to workers as text like every function, so it must stay self-contained.
export function identity(value: unknown): unknown {
  return value;
}

function isPlainObject(
  value: object
): value is Readonly<Record<string, unknown>> {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

export function isContainer(value: object): value is Container {
  return (
    Array.isArray(value) ||
    value instanceof Map ||
    value instanceof Set ||
    isPlainObject(value)
  );
}

/** What a container holds directly; the keys of a `Map` too. */
export function* partsOf(container: Container): Generator<unknown, void> {
  if (container instanceof Map) {
    for (const [key, value] of container) {
      yield key;
      yield value;
    }
  } else if (Array.isArray(container) || container instanceof Set) {
    yield* container as Iterable<unknown>;
  } else {
    yield* Object.values(container);
  }
}

/** @param visited - the containers seen so far, and whether the value lies within each; null at the top. */
function visitObject(
  value: object,
  visit: (key: Key) => void,
  visited: Map<object, boolean> | null
): void {
  if (value instanceof TaskRef) {
    visit(value.key);
  } else if (value instanceof Task) {
    for (const arg of value.args) {
      if (typeof arg === 'object' && arg !== null) {
        visitObject(arg, visit, visited);
      }
    }
  } else if (value instanceof Alias) {
    visit(value.target);
  } else if (!(value instanceof DataNode) && isContainer(value)) {
    if (visited === null && !holdsAny(value, isNode)) {
      // Nearly always; and a value may be deeper than the stack.
      return;
    }
    const seen = visited ?? new Map<object, boolean>();
    if (seen.get(value) === true && holdsAny(value, isNode)) {
      throw containsItself();
    }
    if (seen.has(value)) {
      return;
    }
    seen.set(value, true);
    for (const part of partsOf(value)) {
      if (typeof part === 'object' && part !== null) {
        visitObject(part, visit, seen);
      }
    }
    seen.set(value, false);
  }
}

/** A container with references inside cannot be rebuilt with values if it is inside itself. */
export function containsItself(): GraphError {
  return new GraphError(
    'An argument contains itself and holds references: it cannot be rebuilt with their values. Wrap it in data(…) if it is a value.'
  );
}

function isNode(value: object): boolean {
  return (
    value instanceof TaskRef ||
    value instanceof Task ||
    value instanceof Alias ||
    value instanceof DataNode
  );
}

/** Whether the value is a node, or a container that holds one at any depth; containers may contain themselves. */
export function holdsAny(
  value: object,
  isSought: (part: object) => boolean
): boolean {
  if (isSought(value)) {
    return true;
  }
  if (!isContainer(value)) {
    return false;
  }
  const seen = new Set<object>([value]);
  // Not by recursion: a linked list of values is as deep as it is long.
  const open = [partsOf(value)];
  for (let parts = open[0]; parts !== undefined; parts = open.at(-1)) {
    const { value: part, done } = parts.next();
    if (done === true) {
      open.pop();
    } else if (typeof part === 'object' && part !== null) {
      if (isSought(part)) {
        return true;
      }
      if (isContainer(part) && !seen.has(part)) {
        seen.add(part);
        open.push(partsOf(part));
      }
    }
  }
  return false;
}

/** The value itself if it holds no nodes, else a copy with values in their places. */
function built(value: unknown, inputs: Inputs): unknown {
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  if (value instanceof TaskRef) {
    return inputs.get(value.key);
  }
  if (value instanceof Task) {
    return inputs.calls!.get(value);
  }
  if (value instanceof Alias) {
    return inputs.get(value.target);
  }
  if (value instanceof DataNode) {
    return value.value;
  }
  if (!isContainer(value) || !holdsAny(value, isNode)) {
    return value;
  }
  if (value instanceof Map) {
    return new Map(
      Array.from(value, ([key, part]) => [
        built(key, inputs),
        built(part, inputs)
      ])
    );
  }
  if (value instanceof Set) {
    return new Set(Array.from(value, part => built(part, inputs)));
  }
  if (Array.isArray(value)) {
    return value.map(part => built(part, inputs));
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [name, built(part, inputs)])
  );
}
