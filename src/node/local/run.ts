import { checkedGraph } from '../graph/graph';
import { UnknownKeyError } from '../graph/graph-errors';
import { DataNode, type Graph } from '../graph/nodes';
import {
  activeCallbacks,
  type CallbackHooks,
  checkedCallbacks,
  RunScope
} from './callback';
import type { Executor, TaskOutcome } from './executor';
import { HookPromises, tellLate } from './hook-promises';
import { type Failure, type LoopListener, SchedulingLoop } from './loop';
import { keysIn, type Request, RunPlan } from './plan';
import { type Keys, requestOf } from './request';
import type { Cache, RunGraph, RunState } from './state';
import {
  FOLLOW,
  type FollowedComputation,
  isFollower,
  type ComputationFollower
} from './computation-follower';
import { isStamped, STAMPED } from './stamped-callback';
import { asGiven } from '../option-names';
import { StateView } from './state-view';
import { RunTables } from './tables';
import { noteTask } from './task-note';
import { CachedValues, OwnValues, type Values } from './values';

/**
 * Options of every scheduler.
 *
 * @group Schedulers
 * @example
 * ```ts
 * import { getSync, ref, task, type RunOptions } from 'spanwise';
 *
 * const options: RunOptions = {
 *   callbacks: [{ pretask: key => console.log(key) }],
 *   signal: AbortSignal.timeout(60_000)
 * };
 * const graph = { a: task(Math.abs, -16), b: task(Math.sqrt, ref('a')) };
 * console.log(getSync(graph, 'b', options));
 * // → a
 * // → b
 * // → 4
 * ```
 */
export type RunOptions = {
  /**
   * Where values are kept: read for keys that the graph lacks, given every result, told to drop what is no longer needed.
   * The graph's own tasks run even if it has their values.
   */
  readonly cache?: Cache;
  /**
   * Tasks per batch, one batch per worker; −1 divides what is ready evenly. By default, and for 0: one in this thread; threads and
   * processes are given about 2 ms of work ahead.
   */
  readonly chunkSize?: number;
  /** Exactly these callbacks; by default the active ones. */
  readonly callbacks?: readonly CallbackHooks[];
  /** Ends the run early, with the signal's reason. Promises that `getAsync` has begun go on unless their functions are given it too. */
  readonly signal?: AbortSignal;
};

/** Option of the schedulers whose tasks may run elsewhere. */
export type RerunOption = {
  /** Call a failing task again in this thread, so that a debugger sees it; if it succeeds then, that value counts. False by default. */
  readonly rerunExceptionsLocally?: boolean;
};

/** Runs a graph with an executor that answers within `submit`. */
export function runNow(
  graph: Graph,
  keys: Keys,
  executor: Executor,
  options: RunOptions
): unknown {
  options.signal?.throwIfAborted();
  // The call was in this thread to begin with.
  const scope = new RunScope();
  const run = new Run(graph, keys, executor, scope, {
    ...options,
    rerunExceptionsLocally: false
  });
  let outcome: TaskOutcome | undefined;
  scope.run(() =>
    run.begin(ended => {
      outcome = ended;
    })
  );
  run.hooks.leave();
  return valueOf(outcome!);
}

/**
 * Runs a graph with an executor that answers later.
 *
 * After an error the promise is rejected when the executor has stopped.
 */
export async function runGraph(
  graph: Graph,
  keys: Keys,
  executor: Executor,
  options: RunOptions & RerunOption
): Promise<unknown> {
  const { signal } = options;
  signal?.throwIfAborted();
  const scope = new RunScope();
  const run = new Run(graph, keys, within(scope, executor), scope, options);
  const onAbort = () => scope.run(() => run.abort(signal!.reason));
  const outcome = await new Promise<TaskOutcome>(resolve => {
    signal?.addEventListener('abort', onAbort);
    scope.run(() => run.begin(resolve));
  });
  signal?.removeEventListener('abort', onAbort);
  if ('error' in outcome) {
    await stopAfter(executor, outcome.error);
  }
  const late = await run.hooks.settled(signal);
  if (late !== null && !('error' in outcome)) {
    throw late.error;
  }
  if (late !== null && 'error' in outcome && late.error !== outcome.error) {
    tellLate(late.error);
  }
  return valueOf(outcome);
}

/**
 * The value of an option that counts something.
 *
 * @param or - what else its caller takes, for the error.
 * @throws RangeError for what is no whole number from 1 on: 0, NaN and null, too.
 */
export function countOption(
  name: string,
  value: number | undefined,
  fallback: number,
  or = ''
): number {
  const count = value === undefined ? fallback : value;
  if (!Number.isInteger(count) || count < 1) {
    throw new RangeError(
      `${name} is a whole number from 1 on${or}, not ${asGiven(value)}.`
    );
  }
  return count;
}

/** Tasks per batch: 0 and nothing mean the scheduler's own size. @throws RangeError for what else is neither a count nor −1. */
export function chunkSizeOption(
  value: number | undefined,
  fallback: number
): number {
  return value === -1
    ? -1
    : countOption(
        'chunkSize',
        value === 0 ? undefined : value,
        fallback,
        ', or −1'
      );
}

function valueOf(outcome: TaskOutcome): unknown {
  if ('error' in outcome) {
    throw outcome.error;
  }
  return outcome.value;
}

async function stopAfter(executor: Executor, error: unknown): Promise<void> {
  try {
    await executor.stop(error);
  } catch (stopError) {
    throw new AggregateError(
      [error, stopError],
      'The run failed, and so did stopping its workers.'
    );
  }
}

/** Answers come from sockets and threads, outside of any run; what they set off belongs to the run that submitted. */
function within(scope: RunScope, executor: Executor): Executor {
  if (executor.answersInContext === true) {
    return executor;
  }
  return {
    numWorkers: executor.numWorkers,
    get slots() {
      return executor.slots;
    },
    remote: executor.remote,
    stamp: () => executor.stamp?.(),
    check: (key, node) => executor.check?.(key, node),
    submit: (batch, done) =>
      executor.submit(batch, (answered, outcome) =>
        scope.run(() => done(answered, outcome))
      ),
    stop: reason => executor.stop(reason)
  };
}

/** One run: everything around the loop, in the order of the steps that docs/local-schedulers.md lists. */
class Run {
  private readonly _graph: RunGraph;
  private readonly _request: Request;
  private readonly _chunkSize: number;
  private readonly _callbacks: readonly CallbackHooks[];
  private readonly _followers: readonly ComputationFollower[];
  private readonly _followed: FollowedComputation[] = [];
  private readonly _started: CallbackHooks[] = [];
  /** What hooks have promised. */
  readonly hooks = new HookPromises(error => this.abort(error));
  private _state: RunState | null = null;
  private _values: Values | null = null;
  private _plan: RunPlan | null = null;
  private _loop: SchedulingLoop | null = null;
  private _onEnd: (outcome: TaskOutcome) => void = () => undefined;

  constructor(
    graph: Graph,
    keys: Keys,
    private readonly _executor: Executor,
    private readonly _scope: RunScope,
    private readonly _options: RunOptions & RerunOption
  ) {
    this._chunkSize = chunkSizeOption(_options.chunkSize, 1);
    this._graph = checkedGraph(graph);
    this._request = requestOf(
      keys,
      key => this._graph.has(key) || _options.cache?.has(key) === true,
      _options.cache === undefined ? this._graph.longestTuple : Infinity
    );
    const callbacks =
      _options.callbacks === undefined
        ? activeCallbacks()
        : checkedCallbacks(_options.callbacks);
    this._callbacks = callbacks.filter(callback => !isFollower(callback));
    this._followers = callbacks.filter(isFollower);
  }

  /** @param onEnd - called once, at the latest when the executor has answered everything. */
  begin(onEnd: (outcome: TaskOutcome) => void): void {
    this._onEnd = onEnd;
    let loop: SchedulingLoop;
    try {
      loop = this._prepare();
    } catch (error) {
      this._end({ error });
      return;
    }
    this._loop = loop;
    const { signal } = this._options;
    if (signal?.aborted === true) {
      loop.abort(signal.reason);
    } else {
      loop.start();
    }
  }

  abort(reason: unknown): void {
    this._loop?.abort(reason);
  }

  private _prepare(): SchedulingLoop {
    for (const callback of this._callbacks) {
      this.hooks.note(callback.start?.(this._graph));
      this._started.push(callback);
    }
    const { cache } = this._options;
    const keys = keysIn(this._request);
    const plan = new RunPlan(
      this._graph,
      keys,
      key => cache?.has(key) === true
    );
    const values =
      cache === undefined ? new OwnValues(plan) : new CachedValues(plan, cache);
    const watched = this._callbacks.length > 0;
    const tables = new RunTables(plan, values, watched);
    const state = new StateView(plan, tables, values);
    this._plan = plan;
    this._values = values;
    this._state = state;
    this._checkNodes(plan);
    if (this._callbacks.some(isStamped)) {
      this._executor.stamp?.();
    }
    for (const callback of this._callbacks) {
      this.hooks.note(callback.startState?.(this._graph, state));
    }
    return new SchedulingLoop(
      plan,
      tables,
      values,
      this._followedExecutor(plan),
      {
        chunkSize: this._chunkSize,
        rerunExceptionsLocally: this._options.rerunExceptionsLocally === true,
        listener: watched ? this._listener(state) : null,
        now: () => performance.now()
      },
      failure => this._end(failure)
    );
  }

  /** The executor, with everybody who follows the run standing before it. */
  private _followedExecutor(plan: RunPlan): Executor {
    let executor = this._executor;
    for (const follower of this._followers) {
      const followed = follower[FOLLOW](plan, executor);
      if (followed !== null) {
        this._followed.push(followed);
        executor = followed.executor;
      }
    }
    return executor;
  }

  /** Errors of tasks that cannot run come before any task runs. */
  private _checkNodes({ graph, reached }: RunPlan): void {
    const executor = this._executor;
    if (executor.check === undefined) {
      return;
    }
    for (let id = 0; id < graph.nodeCount; id++) {
      const node = graph.nodes[id]!;
      if (reached[id] === 1 && !(node instanceof DataNode)) {
        executor.check(graph.keys[id]!, node);
      }
    }
  }

  private _listener(state: RunState): LoopListener {
    const before = this._callbacks.filter(({ pretask }) => pretask);
    const after = this._callbacks.filter(({ posttask }) => posttask);
    const stamped = this._callbacks.filter(isStamped);
    return {
      pretask: key => {
        for (const callback of before) {
          this.hooks.note(callback.pretask!(key, this._graph, state));
        }
      },
      posttask: (key, result, workerId, startMs, stopMs) => {
        if (startMs !== undefined) {
          for (const callback of stamped) {
            callback[STAMPED](this._graph, startMs, stopMs!);
          }
        }
        for (const callback of after) {
          this.hooks.note(
            callback.posttask!(key, result, this._graph, state, workerId)
          );
        }
      }
    };
  }

  private _end(failure: Failure | null): void {
    let outcome: TaskOutcome;
    try {
      if (failure?.call !== undefined) {
        noteTask(failure.error, failure.call, this._scope, key =>
          this._graph.has(key)
        );
      }
      this._followed.forEach(followed => followed.ended());
      for (const callback of this._started) {
        this.hooks.note(
          callback.finish?.(this._graph, this._state ?? {}, failure !== null)
        );
      }
      outcome =
        failure !== null
          ? { error: failure.error }
          : { value: this._answer(this._request, { next: 0 }) };
    } catch (error) {
      // A finish hook that throws replaces what went wrong before.
      outcome = { error };
    }
    this._onEnd(outcome);
  }

  /** @param cursor - the place of the next key among those of the whole request. */
  private _answer(request: Request, cursor: { next: number }): unknown {
    if (!('key' in request)) {
      return request.map(part => this._answer(part, cursor));
    }
    const { asked, nodeCount } = this._plan!.graph;
    const id = asked[cursor.next++]!;
    if (id >= nodeCount && !this._values!.has(id)) {
      throw new UnknownKeyError(request.key);
    }
    return this._values!.get(id);
  }
}
