import type { SpanId } from '../../records/ids';
import { TaskOrigin } from '../../records/enumerations';
import { grownColumn, nextCapacity } from '../../base/growable-columns';

/**
 * Figures per span that are not seconds of threads: the tasks submitted, by how their span is known, when the first and the last of them was,
 * those that failed, with and without a run that failed, the time from the first start to the last stop, and the bytes of the results.
 */
export class SpanFigures {
  private _tasks = new Float64Array(16);
  private _exact = new Float64Array(16);
  private _inferred = new Float64Array(16);
  private _failedUnrun = new Float64Array(16);
  private _failedInRuns = new Float64Array(16);
  private _firstStart = new Float64Array(16).fill(Infinity);
  private _lastStop = new Float64Array(16).fill(-Infinity);
  private _enqueued = new Float64Array(16).fill(Infinity);
  private _lastEnqueued = new Float64Array(16).fill(-Infinity);
  private _nbytes = new Float64Array(16);

  /** @param origin - {@link TaskOrigin} */
  addTask(span: SpanId, origin: number, submitted: number): void {
    this._reach(span);
    this._tasks[span]! += 1;
    if (submitted < this._enqueued[span]!) {
      this._enqueued[span] = submitted;
    }
    if (submitted > this._lastEnqueued[span]!) {
      this._lastEnqueued[span] = submitted;
    }
    if (origin === TaskOrigin.User) {
      this._exact[span]! += 1;
    } else if (origin === TaskOrigin.Inferred) {
      this._inferred[span]! += 1;
    }
  }

  /** A task failed of which no run has: it ended each worker that ran it, say. */
  addFailed(span: SpanId): void {
    this._reach(span);
    this._failedUnrun[span]! += 1;
  }

  /** A run has failed of a task of which none has before. */
  addFailedInRuns(span: SpanId): void {
    this._reach(span);
    this._failedInRuns[span]! += 1;
  }

  addExtent(span: SpanId, start: number, stop: number): void {
    this._reach(span);
    if (start < this._firstStart[span]!) {
      this._firstStart[span] = start;
    }
    if (stop > this._lastStop[span]!) {
      this._lastStop[span] = stop;
    }
  }

  /** @param nbytes - of a result; negative: takes one back. */
  addBytes(span: SpanId, nbytes: number): void {
    this._reach(span);
    this._nbytes[span]! += nbytes;
  }

  /**
   * The figures of some spans become those of others.
   *
   * @param into - by span: the other, or itself.
   */
  fold(into: ArrayLike<number>): void {
    for (let span = 0; span < this._tasks.length; span++) {
      const other = into[span]!;
      if (other === span) {
        continue;
      }
      this._reach(other as SpanId);
      for (const sums of [
        this._tasks,
        this._exact,
        this._inferred,
        this._failedUnrun,
        this._failedInRuns,
        this._nbytes
      ]) {
        sums[other]! += sums[span]!;
        sums[span] = 0;
      }
      for (const first of [this._firstStart, this._enqueued]) {
        first[other] = Math.min(first[other]!, first[span]!);
        first[span] = Infinity;
      }
      for (const last of [this._lastStop, this._lastEnqueued]) {
        last[other] = Math.max(last[other]!, last[span]!);
        last[span] = -Infinity;
      }
    }
  }

  tasks(span: SpanId): number {
    return this._tasks[span] ?? 0;
  }

  exact(span: SpanId): number {
    return this._exact[span] ?? 0;
  }

  inferred(span: SpanId): number {
    return this._inferred[span] ?? 0;
  }

  /** Tasks that failed without a run that failed. */
  failedUnrun(span: SpanId): number {
    return this._failedUnrun[span] ?? 0;
  }

  /** Tasks of which a run has failed, however often. */
  failedInRuns(span: SpanId): number {
    return this._failedInRuns[span] ?? 0;
  }

  /** Infinity if nothing ran. */
  firstStart(span: SpanId): number {
    return this._firstStart[span] ?? Infinity;
  }

  lastStop(span: SpanId): number {
    return this._lastStop[span] ?? -Infinity;
  }

  /** Infinity if nothing was submitted. */
  enqueued(span: SpanId): number {
    return this._enqueued[span] ?? Infinity;
  }

  lastEnqueued(span: SpanId): number {
    return this._lastEnqueued[span] ?? -Infinity;
  }

  /** Of all results, also of those that have gone. */
  nbytes(span: SpanId): number {
    return this._nbytes[span] ?? 0;
  }

  private _reach(span: SpanId): void {
    if (span < this._tasks.length) {
      return;
    }
    const capacity = nextCapacity(this._tasks.length, span + 1);
    this._tasks = grownColumn(this._tasks, capacity);
    this._exact = grownColumn(this._exact, capacity);
    this._inferred = grownColumn(this._inferred, capacity);
    this._failedUnrun = grownColumn(this._failedUnrun, capacity);
    this._failedInRuns = grownColumn(this._failedInRuns, capacity);
    this._firstStart = grownColumn(this._firstStart, capacity, Infinity);
    this._lastStop = grownColumn(this._lastStop, capacity, -Infinity);
    this._enqueued = grownColumn(this._enqueued, capacity, Infinity);
    this._lastEnqueued = grownColumn(this._lastEnqueued, capacity, -Infinity);
    this._nbytes = grownColumn(this._nbytes, capacity);
  }
}
