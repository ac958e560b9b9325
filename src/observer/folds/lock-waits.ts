import { BLOCKED, GIL, type ActivityCells } from '../store/activity-cells';
import type { FineSums } from '../store/fine-sums';
import type { LogStore } from '../store/log-store';
import { nanoseconds } from '../store/run-book';
import type { FoldContext } from './context';
import { cellPasses } from './fine-cells';

/** Context of the rows of `fine` that divide what tasks spent off their core. */
const NONCPU = 'noncpu';
const ESTIMATE = 'gil';
const ERROR = 'gil-error';

type Estimate = { nanoseconds: number; errorNanoseconds: number };

/**
 * How long tasks waited for the interpreter lock, as their workers estimate it, by span and function. Workers say it per second and not per
 * run: it is taken out of the time that the runs were blocked, and never more than that.
 *
 *     cell      thread-cpu 5 │ core 1 │ blocked 4
 *     estimate                         gil 3 ± 0.5
 *     shown     thread-cpu 5 │ core 1 │ gil 3 │ blocked 1
 */
export class LockWaits {
  private readonly _estimates = new Map<number, Estimate>();

  constructor(log: LogStore, sums: FineSums) {
    for (const sum of sums.all()) {
      if (!isLockWait(log, sum.context)) {
        continue;
      }
      const key = sum.span * 0x100000000 + sum.function;
      let estimate = this._estimates.get(key);
      if (estimate === undefined) {
        estimate = { nanoseconds: 0, errorNanoseconds: 0 };
        this._estimates.set(key, estimate);
      }
      const name = log.name(sum.activity);
      if (name === ESTIMATE) {
        estimate.nanoseconds += nanoseconds(sum.value);
      } else if (name === ERROR) {
        estimate.errorNanoseconds += nanoseconds(sum.value);
      }
    }
  }

  get isEmpty(): boolean {
    return this._estimates.size === 0;
  }

  /** Nanoseconds of one activity of a cell, with `gil` taken out of `blocked`. */
  nanoseconds(cells: ActivityCells, cell: number, activity: number): number {
    const own = cells.nanoseconds(cell, activity);
    switch (activity) {
      case GIL:
        return own + this._of(cells, cell);
      case BLOCKED:
        return own - this._of(cells, cell);
      default:
        return own;
    }
  }

  /** Whether anything would be divided in these cells. */
  anyOf(context: FoldContext, cells: ActivityCells): boolean {
    for (let cell = 0; cell < cells.length; cell++) {
      if (cellPasses(context, cells, cell) && this._of(cells, cell) > 0) {
        return true;
      }
    }
    return false;
  }

  /** How far off the estimate for a cell may be. */
  errorNanoseconds(cells: ActivityCells, cell: number): number {
    const estimate = this._estimate(cells, cell);
    return Math.min(estimate?.errorNanoseconds ?? 0, this._of(cells, cell));
  }

  private _of(cells: ActivityCells, cell: number): number {
    const most = Math.max(0, cells.nanoseconds(cell, BLOCKED));
    return Math.min(most, this._estimate(cells, cell)?.nanoseconds ?? 0);
  }

  private _estimate(cells: ActivityCells, cell: number): Estimate | undefined {
    return this._estimates.size === 0
      ? undefined
      : this._estimates.get(
          cells.span(cell) * 0x100000000 + cells.function(cell)
        );
  }
}

/** Whether rows of `fine` with this context are estimates of {@link LockWaits} and no measures of their own. */
export function isLockWait(log: LogStore, context: number): boolean {
  return log.name(context) === NONCPU;
}
