import type { Key, KeyMap, ReadonlyKeyMap, ReadonlyKeySet } from '../graph/key';
import type { Node } from '../graph/nodes';

/** The graph of a run, checked; a `start` hook may replace entries. */
export type RunGraph = KeyMap<Node>;

/** Where a run keeps its values: any object with these four methods, such as an `lru-cache`. */
export type Cache = {
  get(key: Key): unknown;
  set(key: Key, value: unknown): unknown;
  delete(key: Key): unknown;
  has(key: Key): boolean;
};

/**
 * What is going on in a run. The same object is handed to every callback of the run and changes under it; it is for reading.
 *
 * Each task is in exactly one of `waiting`, `ready`, `running`, `finished`; a failed one stays in `running`.
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

/** Handed to `finish` when the run failed before there was a state. */
export type EmptyState = Readonly<Record<string, never>>;
