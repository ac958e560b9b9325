/** Runs folds in slices between reads of the sockets. In the observer process. */
import { performance } from 'node:perf_hooks';
import type { Slices } from '../../observer/folds/context';

/** How long folds may keep the process from its sockets: rows that come in wait no longer than this. */
const TURN_MILLISECONDS = 8;

type Job = {
  readonly slices: Slices<unknown>;
  readonly done: (value: unknown, milliseconds: number) => void;
  readonly failed: (error: unknown) => void;
  milliseconds: number;
};

/**
 * A queue of folds. Each turn of the event loop gives them 8 ms, urgent ones first, then the sockets are read: taking rows in has priority
 * over answering, and no answer waits behind more than what was asked before it.
 */
export class WorkQueue {
  private readonly _urgent: Job[] = [];
  private readonly _ordinary: Job[] = [];
  private _scheduled = false;

  /** Milliseconds of the process that the fold took, for whoever limits how often it is run. */
  run<R>(
    slices: Slices<R>,
    urgent = false
  ): Promise<{ readonly value: R; readonly milliseconds: number }> {
    return new Promise((resolve, reject) => {
      (urgent ? this._urgent : this._ordinary).push({
        slices,
        done: (value, milliseconds) =>
          resolve({ value: value as R, milliseconds }),
        failed: reject,
        milliseconds: 0
      });
      this._schedule();
    });
  }

  private _schedule(): void {
    if (!this._scheduled) {
      this._scheduled = true;
      setImmediate(() => this._turn());
    }
  }

  private _turn(): void {
    this._scheduled = false;
    const end = performance.now() + TURN_MILLISECONDS;
    for (
      let job = this._next();
      job !== undefined && performance.now() < end;
      job = this._next()
    ) {
      this._advance(job, end);
    }
    if (this._next() !== undefined) {
      this._schedule();
    }
  }

  private _next(): Job | undefined {
    return this._urgent[0] ?? this._ordinary[0];
  }

  private _advance(job: Job, end: number): void {
    const start = performance.now();
    try {
      let step = job.slices.next();
      while (step.done !== true && performance.now() < end) {
        step = job.slices.next();
      }
      job.milliseconds += performance.now() - start;
      if (step.done === true) {
        this._remove(job);
        job.done(step.value, job.milliseconds);
      }
    } catch (error) {
      this._remove(job);
      job.failed(error);
    }
  }

  private _remove(job: Job): void {
    const queue = this._urgent[0] === job ? this._urgent : this._ordinary;
    queue.shift();
  }
}
