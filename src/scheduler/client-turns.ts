import type { TaskTable } from './task-table';
import { urgencyOf } from './rank';

/**
 * Whose turn it is, where tasks of several clients could run: of equal user priority, the client's that has had the fewest turns since it
 * met the others. So clients with work take turns, however much each has.
 *
 * ```
 *   a  ████████████████████   100,000 tasks, alone: turns are not counted
 *   b              ██████     10 tasks: begins with as many turns as a has, and takes every other
 * ```
 *
 * A client is *active* while tasks of it are `Queued` or `Processing`. Clients are *contending* while two or more are.
 */
export class ClientTurns {
  /** By client its tasks that are queued or processing, and its turns. */
  private _tasks = new Int32Array(4);
  private _turns = new Float64Array(4);
  private readonly _active = new Set<number>();
  private _areCounted = false;
  /** Whether two clients or more are active. */
  areContending = false;

  constructor(private readonly _table: TaskTable) {}

  /** A task has come to the queues and workers (1), or left them (−1). */
  change(client: number, by: 1 | -1): void {
    if (client >= this._tasks.length) {
      this._grow(client + 1);
    }
    const count = (this._tasks[client]! += by);
    if (count === 1 && by === 1) {
      this._begins(client);
    } else if (count === 0) {
      this._active.delete(client);
      this.areContending = this._active.size > 1;
    }
  }

  /** A task of the client goes to a worker. */
  take(client: number): void {
    if (this.areContending) {
      this._areCounted = true;
      this._turns[client]!++;
    }
  }

  /** Whether task `a` goes to a worker before task `b`. */
  isBefore(a: number, b: number): boolean {
    const { client, rank } = this._table;
    if (client[a] !== client[b]) {
      const [first, second] = [urgencyOf(rank[a]!), urgencyOf(rank[b]!)];
      if (first !== second) {
        return first < second;
      }
      const turns = this._turns;
      const ahead = turns[client[a]!]! - turns[client[b]!]!;
      if (ahead !== 0) {
        return ahead < 0;
      }
    }
    return rank[a]! <= rank[b]!;
  }

  /** How many tasks of a client are queued or processing; for tests. */
  tasksOf(client: number): number {
    return this._tasks[client] ?? 0;
  }

  /** It has no claim on turns that it did not use, nor owes any. */
  private _begins(client: number): void {
    if (this._active.size === 0) {
      if (this._areCounted) {
        this._areCounted = false;
        this._turns.fill(0);
      }
    } else {
      let fewest = Infinity;
      for (const other of this._active) {
        fewest = Math.min(fewest, this._turns[other]!);
      }
      this._turns[client] = Math.max(this._turns[client]!, fewest);
    }
    this._active.add(client);
    this.areContending = this._active.size > 1;
  }

  private _grow(extent: number): void {
    const length = Math.max(extent, 2 * this._tasks.length);
    const tasks = new Int32Array(length);
    const turns = new Float64Array(length);
    tasks.set(this._tasks);
    turns.set(this._turns);
    this._tasks = tasks;
    this._turns = turns;
  }
}
