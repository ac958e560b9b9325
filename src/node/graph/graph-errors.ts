import { type Key, keyText } from './key';

/** A graph that cannot be run: the mistake is in the graph or in the keys asked for, nothing of the request was answered. */
export class GraphError extends Error {
  override readonly name: string = 'GraphError';
}

/** Tasks that wait for each other. `keys` is the loop; the first key is also the last. */
export class CycleError extends GraphError {
  override readonly name = 'CycleError';
  readonly keys: readonly Key[];

  constructor(keys: readonly Key[]) {
    super(
      `Cycle detected between the following keys:\n  -> ${keys.map(keyText).join('\n  -> ')}`
    );
    this.keys = keys;
  }
}

/** A reference to a key that neither the graph nor the cache has. */
export class MissingDependencyError extends GraphError {
  override readonly name = 'MissingDependencyError';
  readonly key: Key;
  readonly dependents: readonly Key[];

  constructor(key: Key, dependents: readonly Key[]) {
    super(
      `Missing dependency ${keyText(key)} for dependents {${dependents.map(keyText).join(', ')}}`
    );
    this.key = key;
    this.dependents = dependents;
  }
}

/** A requested key that neither the graph nor the cache has. */
export class UnknownKeyError extends GraphError {
  override readonly name = 'UnknownKeyError';
  readonly key: Key;

  constructor(key: Key) {
    super(`The graph has no key ${keyText(key)}`);
    this.key = key;
  }
}
