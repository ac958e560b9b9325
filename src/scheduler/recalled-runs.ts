import type { WorkerRecord } from './worker-table';

type RecalledRun = { readonly run: number; readonly worker: WorkerRecord };

const NONE: readonly RecalledRun[] = [];

/**
 * Runs that were recalled for want of an input while their tasks are to run anew. A thread that has begun one goes on, and nobody has given
 * it up; unless its task is given up too, before it has a result.
 */
export class RecalledRuns {
  private readonly _byTask = new Map<number, RecalledRun[]>();

  /** The tasks that have some. */
  get tasks(): Iterable<number> {
    return this._byTask.keys();
  }

  add(task: number, run: number, worker: WorkerRecord): void {
    const runs = this._byTask.get(task);
    if (runs === undefined) {
      this._byTask.set(task, [{ run, worker }]);
    } else {
      runs.push({ run, worker });
    }
  }

  /** A run has ended, or will not begin. @param task - −1: not known any more. */
  ended(task: number, run: number): void {
    this._keep(task, each => each.run !== run);
  }

  workerLeft(worker: WorkerRecord): void {
    for (const task of this._byTask.keys()) {
      this._keep(task, each => each.worker !== worker);
    }
  }

  /** Forgets the runs of a task. @returns them. */
  take(task: number): readonly RecalledRun[] {
    // (asked of each task that ends, and hardly ever are there any)
    const runs = this._byTask.size === 0 ? undefined : this._byTask.get(task);
    if (runs === undefined) {
      return NONE;
    }
    this._byTask.delete(task);
    return runs;
  }

  private _keep(task: number, isKept: (run: RecalledRun) => boolean): void {
    const kept = this._byTask.get(task)?.filter(isKept);
    if (kept?.length === 0) {
      this._byTask.delete(task);
    } else if (kept !== undefined) {
      this._byTask.set(task, kept);
    }
  }
}
