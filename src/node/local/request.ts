import { isTupleKey, keyId, type Key } from '../graph/key';
import { TaskRef } from '../graph/nodes';
import { ambiguousRequest, type Request } from './plan';

/**
 * A request: a key, or keys in lists, nested at will; the answer has the same form.
 *
 * An array is a tuple key if the graph has that tuple or if a number is in it, else a list; `ref([…])` is a key for certain.
 *
 * @group Schedulers
 * @example
 * ```ts
 * import { getSync, KeyMap, type Keys } from 'spanwise';
 *
 * const graph = new KeyMap([['a', 1], ['b', 2], [['block', 0], 3]]);
 * const wanted: Keys[] = ['a', ['a', 'b'], ['block', 0], [['a'], ['block', 0]]];
 * for (const keys of wanted) {
 *   console.log(getSync(graph, keys));
 * }
 * // → 1
 * // → [ 1, 2 ]
 * // → 3
 * // → [ [ 1 ], 3 ]
 * ```
 */
export type Keys = Key | TaskRef | readonly Keys[];

/**
 * Reads a request.
 *
 * @param has - whether there is such a key.
 * @param longest - no tuple among the keys has more parts: a list of thousands of texts need not be looked up as one.
 * @throws TypeError for what is neither a key nor a list.
 * @throws GraphError if an array can be read both ways.
 */
export function requestOf(
  keys: Keys,
  has: (key: Key) => boolean,
  longest = Infinity
): Request {
  if (keys instanceof TaskRef) {
    return { key: keys.key };
  }
  if (typeof keys === 'string') {
    return { key: keys };
  }
  if (!Array.isArray(keys)) {
    refuseIterable(keys);
    keyId(keys as Key);
  }
  if (isTupleKey(keys)) {
    const isKey = keys.length <= longest && has(keys);
    const isList = keys.every(part => typeof part === 'string');
    if (isKey && isList && keys.every(part => has(part as Key))) {
      throw ambiguousRequest(keys);
    }
    if (isKey || !isList) {
      return { key: keys };
    }
  }
  return (keys as readonly Keys[]).map(part => requestOf(part, has, longest));
}

/** Programs without types: a set of keys would be refused as if it were one. */
function refuseIterable(keys: unknown): void {
  if (typeof keys === 'object' && keys !== null && Symbol.iterator in keys) {
    const kind = Object.prototype.toString
      .call(keys)
      .slice('[object '.length, -1);
    const all = keys instanceof Map ? '[...keys.keys()]' : '[...keys]';
    throw new TypeError(
      `Several keys are given as an array: ${all} makes one of this ${kind}.`
    );
  }
}
