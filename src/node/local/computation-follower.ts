import type { CallbackHooks } from './callback';
import type { Executor } from './executor';
import type { RunPlan } from './plan';

/** The method by which a callback follows computations more closely than hooks can: not for users, so it has no name. */
export const FOLLOW = Symbol('follow');

/** A callback without hooks, which sees the plan and stands between the loop and the executor. */
export type ComputationFollower = CallbackHooks & {
  /** Called when a computation is about to begin. @returns null if it is not to be followed. */
  [FOLLOW](plan: RunPlan, executor: Executor): FollowedComputation | null;
};

export type FollowedComputation = {
  /** Returns the executor that the loop gets in place of the real one. */
  readonly executor: Executor;
  /** It is over; tasks that it gave up may still be running. */
  ended(): void;
};

export function isFollower(
  callback: CallbackHooks
): callback is ComputationFollower {
  return FOLLOW in callback;
}
