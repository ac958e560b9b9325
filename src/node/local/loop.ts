import { Queue } from '../../base/queue';
import type { Key } from '../graph/key';
import type { TaskNode } from '../graph/nodes';
import { callNode } from '../graph/references';
import type { BatchDone, BatchOutcome, Executor, TaskValue } from './executor';
import type { TaskCall } from './execution';
import type { RunPlan } from './plan';
import type { RunTables } from './tables';
import { isThenable } from '../graph/thenable';
import { InputValues, type Values } from './values';

/** What the loop tells its listener, if it has one. An error of the listener ends the run. */
export type LoopListener = {
  pretask(key: Key): void;
  /** @param startMs - when the task ran, if its executor stamps tasks */
  posttask(
    key: Key,
    result: unknown,
    workerId: number | null,
    startMs: number | undefined,
    stopMs: number | undefined
  ): void;
};

type LoopOptions = {
  /** Tasks per batch; −1 divides what is ready evenly among the workers. */
  readonly chunkSize: number;
  /** Whether a failing task is called again here, so that a debugger sees it. */
  readonly rerunExceptionsLocally: boolean;
  readonly listener: LoopListener | null;
  /** Milliseconds of this thread's clock. */
  now(): number;
};

/** Why a run ended early. `call` is the task that threw, if it was one. */
export type Failure = { readonly error: unknown; readonly call?: TaskCall };

type Arrival = {
  readonly batch: readonly TaskCall[];
  readonly outcome: BatchOutcome;
};

/**
 * The scheduling loop: hands out what is ready, waits for one batch, books it, and again, until nothing is left.
 *
 * It neither waits nor knows where tasks run: an executor answers when it likes, also from within `submit`. Answers are queued, so that a
 * chain of any length needs no stack.
 */
export class SchedulingLoop {
  private readonly _arrivals = new Queue<Arrival>();
  private _ended = false;
  private _pumping = false;
  /** While a failed task is called again here; other answers wait. */
  private _rerunning = false;
  private _abort: Failure | null = null;

  /** @param _onEnd - called once; null when every task is finished. */
  constructor(
    private readonly _plan: RunPlan,
    private readonly _tables: RunTables,
    private readonly _values: Values,
    private readonly _executor: Executor,
    private readonly _options: LoopOptions,
    private readonly _onEnd: (failure: Failure | null) => void
  ) {}

  start(): void {
    this._pump();
  }

  /** Ends the run with `reason`: at once, or, from within a callback or a task of this thread, right after that. */
  abort(reason: unknown): void {
    this._abort ??= { error: reason };
    this._pump();
  }

  private _pump(): void {
    if (this._pumping || this._ended) {
      return;
    }
    this._pumping = true;
    let failure: Failure | null = null;
    try {
      failure = this._advance();
    } catch (error) {
      // Ends the run with an error of a callback, or of an executor that could not take a batch.
      failure = { error };
    }
    this._pumping = false;
    if (failure !== null || this._tables.openCount === 0) {
      this._ended = true;
      this._arrivals.clear();
      this._onEnd(failure);
    }
  }

  /** Goes on until there is nothing to do but wait, or nothing at all. */
  private _advance(): Failure | null {
    for (;;) {
      if (this._abort !== null) {
        return this._abort;
      }
      if (this._rerunning) {
        return null;
      }
      // Answers that have come are booked first: the next tasks may wait for them.
      const arrival = this._arrivals.shift();
      const failure = arrival === undefined ? null : this._book(arrival);
      if (failure !== null) {
        return failure;
      }
      if (this._rerunning || this._tables.openCount === 0) {
        return null;
      }
      this._handOut();
      if (this._arrivals.length === 0) {
        return this._abort;
      }
    }
  }

  private _handOut(): void {
    const ready = this._tables.readyCount;
    const workers = this._executor.numWorkers;
    let size = this._options.chunkSize;
    let take = ready;
    if (ready === 0) {
      return;
    }
    const { slots } = this._executor;
    if (slots !== undefined) {
      take = Math.min(ready, Math.max(slots - this._tables.runningCount, 0));
      size = take;
    } else if (size === -1) {
      size = Math.ceil(ready / workers);
    } else {
      const busy = Math.ceil(this._tables.runningCount / size);
      take = Math.min(ready, size * Math.max(workers - busy, 0));
    }
    // Everything is prepared before anything is submitted. Mostly it is one task: an array that grows would reserve 17 places.
    const calls = new Array<TaskCall>(take);
    for (let i = 0; i < take && this._abort === null; i++) {
      calls[i] = this._prepare(this._tables.takeReady());
    }
    for (let at = 0; at < take && this._abort === null; at += size) {
      this._submit(size >= take ? calls : calls.slice(at, at + size));
    }
  }

  private _prepare(id: number): TaskCall {
    const key = this._plan.keyOf(id);
    this._options.listener?.pretask(key);
    const { start, ids } = this._plan.dependencies;
    const first = start[id]!;
    const count = start[id + 1]! - first;
    let inputs = noInputs;
    if (count > 0) {
      const values = new Array<unknown>(count);
      for (let i = 0; i < count; i++) {
        values[i] = this._values.get(ids[first + i]!);
      }
      inputs = new InputValues(this._plan.graph.keys, ids, first, values);
    }
    return { id, key, node: this._plan.graph.nodes[id] as TaskNode, inputs };
  }

  private _submit(batch: readonly TaskCall[]): void {
    this._executor.submit(batch, this._onDone);
  }

  private readonly _onDone: BatchDone = (batch, outcome) => {
    if (!this._ended) {
      this._arrivals.push({ batch, outcome });
      this._pump();
    }
  };

  private _book({ batch, outcome }: Arrival): Failure | null {
    const first = outcome.first ?? 0;
    for (let i = 0; i < outcome.results.length; i++) {
      const result = outcome.results[i]!;
      const at = first + i;
      if (!('value' in result)) {
        const call = batch[at]!;
        if (
          !this._options.rerunExceptionsLocally ||
          result.isOfTask === false
        ) {
          return { error: result.error, call };
        }
        // After a part, the executor itself goes on with the rest of the batch.
        const end = outcome.first === undefined ? batch.length : at + 1;
        return this._rerun(batch, at, end);
      }
      this._finish(batch[at]!.id, result, outcome.workerId);
      if (this._abort !== null) {
        return this._abort;
      }
    }
    return null;
  }

  private _finish(
    id: number,
    { value, startMs, stopMs }: TaskValue,
    workerId: number | null
  ): void {
    this._values.set(id, value);
    this._tables.finish(id);
    this._options.listener?.posttask(
      this._plan.keyOf(id),
      value,
      workerId,
      startMs,
      stopMs
    );
  }

  /** Calls a failed task again, here. If it succeeds now, its value counts, and the tasks after it, up to `end`, are submitted again. */
  private _rerun(
    batch: readonly TaskCall[],
    at: number,
    end: number
  ): Failure | null {
    const call = batch[at]!;
    const startMs = this._options.now();
    const goOn = (value: unknown) => {
      // This thread has done it, wherever it failed before.
      const stopMs = this._options.now();
      this._finish(call.id, { value, startMs, stopMs }, null);
      if (at + 1 < end) {
        this._submit(batch.slice(at + 1, end));
      }
    };
    let value: unknown;
    let isPending: boolean;
    try {
      value = callNode(call.node, call.inputs);
      isPending = isThenable(value);
    } catch (error) {
      return { error, call };
    }
    if (!isPending) {
      goOn(value);
      return null;
    }
    this._rerunning = true;
    Promise.resolve(value).then(
      resolved => this._resume(() => goOn(resolved), null),
      (error: unknown) => this._resume(null, { error, call })
    );
    return null;
  }

  private _resume(goOn: (() => void) | null, failure: Failure | null): void {
    if (this._ended) {
      return;
    }
    this._rerunning = false;
    try {
      goOn?.();
    } catch (error) {
      this._abort ??= { error };
    }
    this._abort ??= failure;
    this._pump();
  }
}

const noInputs = new InputValues([], new Int32Array(), 0, []);
