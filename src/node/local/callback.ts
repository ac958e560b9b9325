import type { Key } from '../graph/key';
import type { EmptyState, RunGraph, RunState } from './state';

/**
 * What a callback may hear of a run, in this order:
 *
 * ```
 *   start → startState → ( pretask … posttask )* → finish
 * ```
 */
export type CallbackHooks = {
  /** The graph is converted; entries of it may still be replaced. */
  start?(graph: RunGraph): void;
  /** The state is built; nothing has run. */
  startState?(graph: RunGraph, state: RunState): void;
  /** `key` is in `state.running` and its inputs in `state.cache`; it is not submitted yet. */
  pretask?(key: Key, graph: RunGraph, state: RunState): void;
  /** `key` is in `state.finished`; what it made superfluous is already released. */
  posttask?(
    key: Key,
    result: unknown,
    graph: RunGraph,
    state: RunState,
    workerId: number | null
  ): void;
  /** The run is over. `state` is empty if it failed before there was one. */
  finish?(
    graph: RunGraph,
    state: RunState | EmptyState,
    errored: boolean
  ): void;
};
