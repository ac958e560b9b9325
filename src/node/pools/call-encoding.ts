/**
 * Calls as they travel. Usually the caller puts the values of references in their places and the arguments go as they are. Only where a
 * call is nested in the arguments, which the worker shall make, they go as a tree:
 *
 * ```
 *   task(add, 1, [ref('x'), task(neg, 5)])      x is 7, add is function 3, neg is 4
 *
 *   { fn: 3, args: [ {value: 1}, {list: [ {value: 7}, {call: {fn: 4, args: [{value: 5}]}} ]} ] }
 * ```
 */
import type { Key } from '../graph/key';
import {
  Alias,
  DataNode,
  Task,
  TaskRef,
  type TaskFunction
} from '../graph/nodes';
import {
  holdsAny,
  type Inputs,
  isContainer,
  partsOf,
  valuesOf
} from '../graph/references';
import { NESTED } from './messages';

export type CallTree = {
  readonly fn: number;
  readonly args: readonly ArgTree[];
};

type ArgTree =
  | { readonly value: unknown }
  | { readonly call: CallTree }
  | { readonly list: readonly ArgTree[] }
  | { readonly set: readonly ArgTree[] }
  | { readonly map: readonly (readonly [ArgTree, ArgTree])[] }
  | { readonly object: readonly (readonly [string, ArgTree])[] };

/**
 * Appends a call to the columns of a pack.
 *
 * @param idOf - the id of a function
 */
export function encodeCall(
  node: Task,
  inputs: Inputs,
  idOf: (fn: TaskFunction) => number,
  calls: number[],
  args: unknown[]
): void {
  const own = node.args;
  let hasObjects = false;
  for (let at = 0; at < own.length; at++) {
    const arg = own[at];
    if (typeof arg === 'object' && arg !== null) {
      hasObjects = true;
      if (!(arg instanceof TaskRef) && holdsCall(arg)) {
        calls.push(idOf(node.fn), NESTED);
        args.push(callTree(node, inputs, idOf));
        return;
      }
    }
  }
  calls.push(idOf(node.fn), own.length);
  const values = hasObjects ? valuesOf(own, inputs) : own;
  for (let at = 0; at < values.length; at++) {
    args.push(values[at]);
  }
}

/** Every function that running the node calls: its own and those of nested calls. */
export function visitFunctions(
  value: unknown,
  visit: (fn: TaskFunction) => void
): void {
  if (value instanceof Task) {
    visit(value.fn);
    for (const arg of value.args) {
      if (typeof arg === 'object' && arg !== null && holdsCall(arg)) {
        visitFunctions(arg, visit);
      }
    }
  } else if (
    typeof value === 'object' &&
    value !== null &&
    isContainer(value)
  ) {
    for (const part of partsOf(value)) {
      visitFunctions(part, visit);
    }
  }
}

/** Puts the arguments together again, in the worker. `run` makes a nested call. */
export async function decodeArg(
  tree: ArgTree,
  run: (call: CallTree) => Promise<unknown>
): Promise<unknown> {
  const all = async (trees: readonly ArgTree[]) => {
    const values: unknown[] = [];
    // One after the other: a worker runs one call at a time.
    for (const inner of trees) {
      values.push(await decodeArg(inner, run));
    }
    return values;
  };
  if ('value' in tree) {
    return tree.value;
  }
  if ('call' in tree) {
    return run(tree.call);
  }
  if ('list' in tree) {
    return all(tree.list);
  }
  if ('set' in tree) {
    return new Set(await all(tree.set));
  }
  if ('map' in tree) {
    const keys = await all(tree.map.map(([key]) => key));
    const values = await all(tree.map.map(([, value]) => value));
    return new Map(keys.map((key, at) => [key, values[at]]));
  }
  const values = await all(tree.object.map(([, value]) => value));
  return Object.fromEntries(
    tree.object.map(([name], at) => [name, values[at]])
  );
}

function callTree(
  node: Task,
  inputs: Inputs,
  idOf: (fn: TaskFunction) => number
): CallTree {
  const encode = (value: unknown): ArgTree => {
    if (value instanceof Task) {
      return { call: callTree(value, inputs, idOf) };
    }
    if (value instanceof TaskRef || value instanceof Alias) {
      return { value: inputs.get(keyOf(value)) };
    }
    if (value instanceof DataNode) {
      return { value: value.value };
    }
    if (typeof value !== 'object' || value === null || !isContainer(value)) {
      return { value };
    }
    if (value instanceof Map) {
      return {
        map: Array.from(value, ([key, part]) => [encode(key), encode(part)])
      };
    }
    if (value instanceof Set) {
      return { set: Array.from(value, encode) };
    }
    if (Array.isArray(value)) {
      return { list: value.map(encode) };
    }
    return {
      object: Object.entries(value).map(([name, part]) => [name, encode(part)])
    };
  };
  return { fn: idOf(node.fn), args: node.args.map(encode) };
}

function keyOf(value: TaskRef | Alias): Key {
  return value instanceof TaskRef ? value.key : value.target;
}

/** Whether a call is nested in the value. A value may contain itself; such a one holds no nodes (the graph was checked). */
function holdsCall(value: object): boolean {
  return holdsAny(value, isCall);
}

function isCall(value: object): boolean {
  return value instanceof Task;
}
