import type { Key, KeyMap, ReadonlyKeyMap, ReadonlyKeySet } from '../graph/key';
import type { Node } from '../graph/nodes';

/**
 * The graph of a run, checked: every value is a node. A `start` hook may replace entries.
 *
 * @group Callbacks
 * @example
 * ```ts
 * import { Callback, data, getSync, ref, task, type RunGraph } from 'spanwise';
 *
 * const override = new Callback({
 *   start: (graph: RunGraph) => void graph.set('threshold', data(10))
 * });
 * const graph = { threshold: 1, double: task((x: number) => 2 * x, ref('threshold')) };
 * console.log(override.run(() => getSync(graph, 'double'))); // → 20
 * ```
 */
export type RunGraph = KeyMap<Node>;

/**
 * Where a run keeps its values: any object with these four methods, such as a `Map`, a {@link KeyMap} or an `lru-cache`.
 *
 * Results that no other task needs any more are deleted from it when that is so; what was asked for stays. For tuple keys take a `KeyMap`.
 *
 * @group Schedulers
 * @example
 * ```ts
 * import { getSync, ref, task, type Cache } from 'spanwise';
 *
 * const cache: Cache = new Map([['rows', 80]]);
 * const graph = { blocks: task((rows: number) => rows / 10, ref('rows')) };
 * console.log(getSync(graph, 'blocks', { cache })); // → 8
 * // The next run takes it from there instead of running the task again, if the graph has no such key.
 * console.log(getSync({}, 'blocks', { cache })); // → 8
 * ```
 */
export type Cache = {
  /** The value that was set. */
  get(key: Key): unknown;
  /** Keeps a value; what it returns does not matter. */
  set(key: Key, value: unknown): unknown;
  /** Drops a value; what it returns does not matter. */
  delete(key: Key): unknown;
  /** Whether there is a value, also undefined. */
  has(key: Key): boolean;
};

/**
 * What is going on in a run. The same object is handed to every callback of the run and changes under it; it is for reading.
 *
 * Each task is in exactly one of `waiting`, `ready`, `running`, `finished`; a failed one stays in `running`.
 *
 * @group Callbacks
 * @example
 * ```ts
 * import { Callback, getSync, ref, task, type RunState } from 'spanwise';
 *
 * const left = ({ waiting, ready, running }: RunState) => waiting.size + ready.length + running.size;
 * const countdown = new Callback({
 *   posttask: (key, result, graph, state) => console.log(key, left(state), 'left, released:', [...state.released])
 * });
 * const graph = { a: task(Math.abs, -4), b: task(Math.sqrt, ref('a')) };
 * countdown.run(() => getSync(graph, 'b'));
 * // → a 1 left, released: []
 * // → b 0 left, released: [ 'a' ]
 * ```
 */
export type RunState = {
  /** Direct dependencies of every key that the request reaches; fixed. */
  readonly dependencies: ReadonlyKeyMap<ReadonlyKeySet>;
  /** The inverse, among the reachable keys; fixed. */
  readonly dependents: ReadonlyKeyMap<ReadonlyKeySet>;
  /** Dependencies still missing, per task that waits. */
  readonly waiting: ReadonlyKeyMap<ReadonlyKeySet>;
  /** Dependents not yet finished, per key whose value is or will be there; released keys have no entry. */
  readonly waitingData: ReadonlyKeyMap<ReadonlyKeySet>;
  /** Values available now. */
  readonly cache: Cache;
  /** A stack: the last one runs next. */
  readonly ready: readonly Key[];
  /** Handed out, or about to be, and not finished. */
  readonly running: ReadonlyKeySet;
  /** Executed tasks, aliases included; never data. */
  readonly finished: ReadonlyKeySet;
  /** Keys whose value was dropped, data included. */
  readonly released: ReadonlyKeySet;
};

/**
 * What `finish` is handed instead of a state when the run failed before there was one: an object without properties.
 *
 * @group Callbacks
 * @example
 * ```ts
 * import { Callback, getSync, ref } from 'spanwise';
 *
 * const report = new Callback({
 *   finish: (graph, state, errored) =>
 *     console.log(errored, 'finished' in state ? state.finished.size : 'nothing began')
 * });
 * try {
 *   report.run(() => getSync({ a: ref('nowhere') }, 'a'));
 * } catch (error) {
 *   console.log((error as Error).name);
 * }
 * // → true nothing began
 * // → MissingDependencyError
 * ```
 */
export type EmptyState = Readonly<Record<string, never>>;
