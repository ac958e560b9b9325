import { keyText } from '../graph/key';
import type { Graph } from '../graph/nodes';
import { callNode } from '../graph/references';
import type { BatchDone, Executor, TaskCall, TaskOutcome } from './executor';
import { isThenable } from './loop';
import type { Keys } from './request';
import { runNow, type RunOptions } from './run';

/**
 * Computes keys of a graph in this thread, one task after the other, and returns when they are done.
 *
 * ```ts
 * getSync({ a: 1, b: task(inc, ref('a')), c: task(inc, ref('b')) }, ['b', ['c']]);   // [2, [3]]
 * ```
 *
 * @param keys - a key, or keys in lists nested at will: the answer has the same form.
 * @throws GraphError for a graph or a request that cannot be run, else what a task or a callback throws. A promise as a task's result is
 * an error: use `getAsync`.
 */
export function getSync<R = unknown>(
  graph: Graph,
  keys: Keys,
  options: RunOptions = {}
): R {
  return runNow(graph, keys, new ThisThread(options.signal), options) as R;
}

/** A task gave a promise to a scheduler that cannot wait. */
export class PromiseResultError extends TypeError {
  override readonly name = 'PromiseResultError';
}

/** Runs calls where they are submitted. */
class ThisThread implements Executor {
  readonly numWorkers = 1;

  constructor(private readonly _signal: AbortSignal | undefined) {}

  submit(batch: readonly TaskCall[], done: BatchDone): void {
    const results: TaskOutcome[] = [];
    for (const call of batch) {
      this._signal?.throwIfAborted();
      const result = outcomeOf(call);
      results.push(result);
      if ('error' in result) {
        break;
      }
    }
    done(batch, { workerId: null, results });
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }
}

function outcomeOf(call: TaskCall): TaskOutcome {
  let value: unknown;
  try {
    value = callNode(call.node, call.inputs);
  } catch (error) {
    return { error };
  }
  if (!isThenable(value)) {
    return { value };
  }
  // Nobody waits for it: what becomes of it must not end the program as an unhandled rejection.
  value.then(undefined, () => undefined);
  return {
    error: new PromiseResultError(
      `Task ${keyText(call.key)} returned a promise, for which getSync cannot wait: use getAsync.`
    )
  };
}
