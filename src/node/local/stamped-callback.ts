import type { CallbackHooks } from './callback';
import type { RunGraph } from './state';

/** The method by which a callback hears when a task ran, right before its `posttask`: not for users, so it has no name. */
export const STAMPED = Symbol('stamped');

/** A callback that wants to know when tasks ran, and not when this thread handed them out and heard of them again. */
type StampedCallback = CallbackHooks & {
  /** Milliseconds of this thread's `performance.now()`. Not called for an alias that ran nowhere. */
  [STAMPED](graph: RunGraph, startMs: number, stopMs: number): void;
};

export function isStamped(
  callback: CallbackHooks
): callback is StampedCallback {
  return STAMPED in callback;
}
