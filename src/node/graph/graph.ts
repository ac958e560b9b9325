import { KeyMap, type Key, keyText, sameKey } from './key';
import { Alias, type Graph, type Node } from './nodes';
import { nodeOf, promiseError } from './references';

/**
 * The user's graph as nodes: a new map, in the same order, which callbacks see. An entry that refers to itself is left out: its value is
 * expected from elsewhere.
 *
 * @throws TypeError if it is no object or `Map`, or if a key is no key.
 */
export function checkedGraph(graph: Graph): KeyMap<Node> {
  const checked = new KeyMap<Node>();
  const add = (key: Key, value: unknown, isListedOnce = true) => {
    if (value instanceof Promise) {
      throw promiseError(keyText(key));
    }
    const node = nodeOf(value);
    if (node instanceof Alias && sameKey(node.target, key)) {
      return;
    }
    // Equal tuples may be several arrays, texts are equal or not.
    if (isListedOnce && typeof key === 'string') {
      checked.append(key, node);
    } else {
      checked.set(key, node);
    }
  };
  if (graph instanceof Map || graph instanceof KeyMap) {
    graph.forEach((value: unknown, key: unknown) => add(key as Key, value));
    return checked;
  }
  if (typeof graph !== 'object' || graph === null || Array.isArray(graph)) {
    throw new TypeError(
      'A graph is a plain object or a Map from keys to nodes.'
    );
  }
  if (graph instanceof Promise) {
    throw new TypeError(
      'A graph was expected, not a promise of one: await it.'
    );
  }
  // Other maps (an immutable one, a view) are known by being iterable, which plain objects are not.
  if (Symbol.iterator in graph && typeof graph.entries === 'function') {
    for (const [key, value] of graph.entries() as Iterable<[Key, unknown]>) {
      add(key, value, false);
    }
    return checked;
  }
  const named = graph as Readonly<Record<string, unknown>>;
  // Three times as fast as Object.entries.
  for (const key of Object.keys(named)) {
    add(key, named[key]);
  }
  return checked;
}
