import { type Key, keyText } from './key';

/**
 * A graph or a request that cannot be run. The mistake is in the graph or in the keys asked for; the classes below say which.
 *
 * @group Errors
 * @example
 * ```ts
 * import { getSync, GraphError, ref } from 'spanwise';
 *
 * try {
 *   getSync({ a: ref('b') }, 'a');
 * } catch (error) {
 *   console.log(error instanceof GraphError && error.name); // → MissingDependencyError
 * }
 * ```
 */
export class GraphError extends Error {
  /** The class's name. */
  override readonly name: string = 'GraphError';
}

/**
 * Tasks that wait for each other.
 *
 * @group Errors
 * @example
 * ```ts
 * import { CycleError, getSync, ref, task } from 'spanwise';
 *
 * const graph = { a: task(Math.abs, ref('b')), b: task(Math.abs, ref('a')) };
 * try {
 *   getSync(graph, 'a');
 * } catch (error) {
 *   if (error instanceof CycleError) {
 *     console.log(error.keys); // → [ 'a', 'b', 'a' ]
 *   }
 * }
 * ```
 */
export class CycleError extends GraphError {
  /** The class's name. */
  override readonly name = 'CycleError';
  /** The loop, each key needing the next one; the first is also the last. */
  readonly keys: readonly Key[];

  constructor(keys: readonly Key[]) {
    super(
      `Cycle detected between the following keys:\n  -> ${keys.map(keyText).join('\n  -> ')}`
    );
    this.keys = keys;
  }
}

/**
 * A reference to a key that neither the graph nor the cache has.
 *
 * @group Errors
 * @example
 * ```ts
 * import { getSync, MissingDependencyError, ref, task } from 'spanwise';
 *
 * try {
 *   getSync({ total: task(Math.abs, ref('rows')) }, 'total');
 * } catch (error) {
 *   if (error instanceof MissingDependencyError) {
 *     console.log(error.key, error.dependents); // → rows [ 'total' ]
 *   }
 * }
 * ```
 */
export class MissingDependencyError extends GraphError {
  /** The class's name. */
  override readonly name = 'MissingDependencyError';
  /** The key that is nowhere. */
  readonly key: Key;
  /** The tasks that refer to it. */
  readonly dependents: readonly Key[];

  constructor(key: Key, dependents: readonly Key[]) {
    super(
      `Missing dependency ${keyText(key)} for dependents {${dependents.map(keyText).join(', ')}}`
    );
    this.key = key;
    this.dependents = dependents;
  }
}

/**
 * A requested key that neither the graph nor the cache has.
 *
 * @group Errors
 * @example
 * ```ts
 * import { getSync, UnknownKeyError } from 'spanwise';
 *
 * try {
 *   getSync({ total: 3 }, 'totals');
 * } catch (error) {
 *   console.log(error instanceof UnknownKeyError && error.message); // → The graph has no key totals
 * }
 * ```
 */
export class UnknownKeyError extends GraphError {
  /** The class's name. */
  override readonly name = 'UnknownKeyError';
  /** The key asked for. */
  readonly key: Key;

  constructor(key: Key) {
    super(`The graph has no key ${keyText(key)}`);
    this.key = key;
  }
}
