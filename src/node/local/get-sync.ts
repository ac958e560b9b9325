import { keyText } from '../graph/key';
import type { Graph } from '../graph/nodes';
import { reasonOfPromise } from '../graph/portable';
import { callNode } from '../graph/references';
import type { BatchDone, Executor, TaskOutcome } from './executor';
import type { TaskCall } from './execution';
import { isThenable } from '../graph/thenable';
import type { Keys } from './request';
import { runNow, type RunOptions } from './run';
import { checkRunOptions } from './run-options';

/**
 * Computes keys of a graph in this thread, one task after the other, and returns when they are done.
 *
 * @param keys - a key, or keys in lists nested at will: the answer has the same form.
 * @throws GraphError for a graph or a request that cannot be run, else what a task or a callback throws. A promise as a task's result is
 * an error: use `getAsync`.
 *
 * @group Schedulers
 * @example
 * ```ts
 * import { getSync, ref, task } from 'spanwise';
 *
 * const inc = (x: number) => x + 1;
 * const graph = { a: 1, b: task(inc, ref('a')), c: task(inc, ref('b')) };
 * console.log(getSync(graph, ['b', ['c']])); // → [ 2, [ 3 ] ]
 * const c = getSync<number>(graph, 'c'); // the type of the answer is yours to say
 * console.log(c.toFixed(1)); // → 3.0
 * ```
 */
export function getSync<R = unknown>(
  graph: Graph,
  keys: Keys,
  options: RunOptions = {}
): NoInfer<R> {
  checkRunOptions(options);
  return runNow(
    graph,
    keys,
    new ThisThread(options.signal),
    options
  ) as NoInfer<R>;
}

/**
 * A task gave a promise to `getSync`, which cannot wait.
 *
 * @group Errors
 * @example
 * ```ts
 * import { getAsync, getSync, PromiseResultError, task } from 'spanwise';
 *
 * const graph = { a: task(async () => 42) };
 * try {
 *   getSync(graph, 'a');
 * } catch (error) {
 *   console.log(error instanceof PromiseResultError); // → true
 * }
 * console.log(await getAsync(graph, 'a')); // → 42
 * ```
 */
export class PromiseResultError extends TypeError {
  /** The class's name. */
  override readonly name = 'PromiseResultError';
}

/** Runs calls where they are submitted. */
class ThisThread implements Executor {
  readonly numWorkers = 1;
  private _isStamped = false;

  constructor(private readonly _signal: AbortSignal | undefined) {}

  stamp(): void {
    this._isStamped = true;
  }

  submit(batch: readonly TaskCall[], done: BatchDone): void {
    const results = new Array<TaskOutcome>(batch.length);
    for (let i = 0; i < results.length; i++) {
      this._signal?.throwIfAborted();
      const call = batch[i]!;
      const result = this._isStamped ? stampedOutcomeOf(call) : outcomeOf(call);
      results[i] = result;
      if ('error' in result) {
        results.length = i + 1;
      }
    }
    done(batch, { workerId: null, results });
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }
}

function stampedOutcomeOf(call: TaskCall): TaskOutcome {
  const startMs = performance.now();
  const outcome = outcomeOf(call);
  const stopMs = performance.now();
  return 'error' in outcome
    ? outcome
    : { value: outcome.value, startMs, stopMs };
}

function outcomeOf(call: TaskCall): TaskOutcome {
  let value: unknown;
  try {
    value = callNode(call.node, call.inputs);
    if (!isThenable(value)) {
      return { value };
    }
  } catch (error) {
    return { error };
  }
  // Nobody waits for it: what becomes of it must not end the program as an unhandled rejection.
  Promise.resolve(value).catch(() => undefined);
  const ofModule = reasonOfPromise(value);
  const what =
    ofModule === undefined
      ? 'returned a promise'
      : `calls a module: ${ofModule}`;
  return {
    error: new PromiseResultError(
      `Task ${keyText(call.key)} ${what}, for which getSync cannot wait: use getAsync.`
    )
  };
}
