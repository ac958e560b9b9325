import { ClientQueue } from './client-queue';
import type { ClientTurns } from './client-turns';
import { NONE } from './edge-table';

/** `Queued` tasks that wait for resources: a queue for each restriction that names some. Queues may hold dead entries. */
export class ResourceQueues {
  private readonly _queues = new Map<
    number,
    { readonly queue: ClientQueue; count: number }
  >();
  private _count = 0;

  /** @param _isAlive - whether a task waits here under a restriction. */
  constructor(
    private readonly _turns: ClientTurns,
    private readonly _isAlive: (task: number, restriction: number) => boolean
  ) {}

  /** The living entries of all queues. */
  get count(): number {
    return this._count;
  }

  /** Those under one restriction. */
  countOf(restriction: number): number {
    return this._queues.get(restriction)?.count ?? 0;
  }

  /** The restrictions under which tasks wait. */
  restrictions(): number[] {
    return [...this._queues.keys()];
  }

  push(task: number, restriction: number, rank: number, client: number): void {
    let entry = this._queues.get(restriction);
    if (entry === undefined) {
      entry = { queue: new ClientQueue(this._turns), count: 0 };
      this._queues.set(restriction, entry);
    }
    entry.queue.push(task, rank, client);
    entry.count++;
    this._count++;
  }

  /** Takes a task off the books; its entry is dead from now on. */
  remove(restriction: number): void {
    const entry = this._queues.get(restriction)!;
    this._count--;
    if (--entry.count === 0) {
      this._queues.delete(restriction);
    } else if (entry.queue.length > 2 * entry.count + 64) {
      entry.queue.retain(task => this._isAlive(task, restriction));
    }
  }

  /** The task whose turn it is under a restriction, or NONE. */
  peek(restriction: number): number {
    const queue = this._queues.get(restriction)?.queue;
    for (;;) {
      const task = queue?.peek() ?? NONE;
      if (task === NONE || this._isAlive(task, restriction)) {
        return task;
      }
      queue!.pop();
    }
  }
}
