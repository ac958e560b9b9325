import { KeyMap, type Key, keyText, sameKey } from './key';
import { Alias, type Graph, type Node } from './nodes';
import { nodeOf, promiseError } from './references';

/**
 * The user's graph as nodes: a new map, in the same order, which callbacks see. An entry that refers to itself is left out: its value is
 * expected from elsewhere.
 *
 * @throws TypeError if it is neither a plain object nor a map, or if a key is no key.
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
    // Two arrays may be one tuple key, so only texts are known to be new.
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
  if (isMapLike(graph)) {
    for (const [key, value] of graph.entries()) {
      add(key, value, false);
    }
    return checked;
  }
  refuseUnlikeGraph(graph);
  const named = graph as Readonly<Record<string, unknown>>;
  // Three times as fast as Object.entries.
  for (const key of Object.keys(named)) {
    add(key, named[key]);
  }
  return checked;
}

type MapLike = {
  entries(): Iterable<readonly [Key, unknown]>;
};

/** Other maps (an immutable one, a view, one of another realm) are iterable, which plain objects are not, and look keys up, which sets do not. */
function isMapLike(graph: object): graph is MapLike {
  const { entries, get } = graph as { entries?: unknown; get?: unknown };
  return (
    Symbol.iterator in graph &&
    typeof entries === 'function' &&
    typeof get === 'function'
  );
}

/** Refuses graphs that would be read differently from what their owner meant. */
function refuseUnlikeGraph(graph: object): void {
  const { entries, size } = graph as { entries?: unknown; size?: unknown };
  if (Symbol.iterator in graph) {
    throw new TypeError(
      `A graph is a plain object or a Map from keys to nodes, not ${classOf(graph)}, which has no value for each key.`
    );
  }
  if (typeof entries === 'function' && typeof size === 'number') {
    throw new TypeError(
      'A graph is a plain object or a Map from keys to nodes. One with a function `entries` and a number `size` may be meant as either: ' +
        'write new Map(graph.entries()) for a map, data(…) around the function for an object with such keys.'
    );
  }
  const prototype: unknown = Object.getPrototypeOf(graph);
  const isPlain =
    prototype === null || Object.getPrototypeOf(prototype) === null;
  if (!isPlain) {
    throw new TypeError(
      `A graph is a plain object or a Map from keys to nodes, not ${classOf(graph)}: write { ...graph } if its fields are the nodes.`
    );
  }
}

function classOf(value: object): string {
  const { constructor } = value as { constructor?: { name?: unknown } };
  return typeof constructor?.name === 'string' && constructor.name !== ''
    ? `an object of class ${constructor.name}`
    : 'an object with a prototype of its own';
}
