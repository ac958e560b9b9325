import { nextCapacity, grownColumn } from '../base/growable-columns';
import { type TaskState } from './task-state';

/**
 * Moves that transitions recommend for other tasks, first in, first out: a queue of (task, state) in two circular typed arrays.
 */
export class Recommendations {
  private _tasks = new Int32Array(64);
  private _targets = new Uint8Array(64);
  private _head = 0;
  private _length = 0;

  get length(): number {
    return this._length;
  }

  push(task: number, target: TaskState): void {
    if (this._length === this._tasks.length) {
      this._grow();
    }
    const slot = (this._head + this._length++) & (this._tasks.length - 1);
    this._tasks[slot] = task;
    this._targets[slot] = target;
  }

  /** The task of the oldest entry. */
  get task(): number {
    return this._tasks[this._head]!;
  }

  /** The state recommended by the oldest entry. */
  get target(): TaskState {
    return this._targets[this._head]!;
  }

  /** Drops the oldest entry. */
  shift(): void {
    this._head = (this._head + 1) & (this._tasks.length - 1);
    this._length--;
  }

  private _grow(): void {
    const old = this._tasks.length;
    const capacity = nextCapacity(old, old + 1);
    const tasks = grownColumn(this._tasks, capacity);
    const targets = grownColumn(this._targets, capacity);
    // The part before the head wraps round: it moves behind what was the end.
    tasks.copyWithin(old, 0, this._head);
    targets.copyWithin(old, 0, this._head);
    this._tasks = tasks;
    this._targets = targets;
  }
}
