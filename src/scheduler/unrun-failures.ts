import type { DenseTaskId } from '../records/ids';
import { FailureReason } from './task-state';

/** A task that ended, or a run that did, without a worker telling of it. */
export type UnrunFailure = {
  readonly task: DenseTaskId;
  /** The task that is to blame; the task itself if it ran, or may have run, at a worker that died. */
  readonly cause: DenseTaskId;
  /** `None`: its worker died while it may have been running, and it runs again. */
  readonly reason: FailureReason;
};

/** Of one event, of those that are to blame and of those that others took along; a failed input may have a million dependents. */
const MOST = 1000;
const NOTHING: readonly UnrunFailure[] = [];

/** What the log has no run of: tasks that failed without one, and runs that were lost. */
export class UnrunFailures {
  private _failures: UnrunFailure[] = [];
  private _toBlame = 0;

  /** Leaves out tasks that raised, which have a run, and graphs that were refused whole. */
  add(task: number, cause: number, reason: FailureReason): void {
    const hasRun = reason === FailureReason.Raised && cause === task;
    const isRefused = reason === FailureReason.NoRoom;
    const isToBlame = cause === task && reason !== FailureReason.None;
    const before = isToBlame
      ? this._toBlame
      : this._failures.length - this._toBlame;
    if (!hasRun && !isRefused && before < MOST) {
      this._toBlame += isToBlame ? 1 : 0;
      this._failures.push({
        task: task as DenseTaskId,
        cause: cause as DenseTaskId,
        reason
      });
    }
  }

  /** Those since the last call. */
  take(): readonly UnrunFailure[] {
    if (this._failures.length === 0) {
      return NOTHING;
    }
    const failures = this._failures;
    this._failures = [];
    this._toBlame = 0;
    return failures;
  }
}
