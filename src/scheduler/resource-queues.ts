import { RankedHeap } from '../base/ranked-heap';
import { ClientQueue } from './client-queue';
import type { ClientTurns } from './client-turns';
import { NONE } from './edge-table';
import type { Restrictions } from './restrictions';
import { TaskState } from './task-state';
import type { TaskTable } from './task-table';

/** Lines whose tasks wait for resources of the same names, whatever the amounts. */
type ResourceGroup = {
  readonly key: string;
  readonly names: readonly string[];
  /** The heads of its lines. May hold dead entries, and some twice. */
  readonly heads: ClientQueue;
  lines: number;
};

/** `Queued` tasks of one client that wait under one restriction; those apart that were at a worker when it died. */
export type ResourceLine = {
  readonly key: number;
  readonly restriction: number;
  readonly isSuspicious: boolean;
  readonly group: ResourceGroup;
  /** May hold dead entries. */
  readonly heap: RankedHeap;
  /** The living entries. */
  count: number;
  /** The first of them. */
  head: number;
};

const MOST_CLIENTS = 2 ** 16;

/**
 * `Queued` tasks that wait for resources: a line for each restriction that names some, and the heads of all lines in the order of their turns,
 * by the names of what they wait for: so those whose resources are all kept are passed over at once.
 *
 * A task that goes only to a free thread has a line of its own: else it would hide those behind it, which may go to any thread.
 */
export class ResourceQueues {
  private readonly _lines = new Map<number, ResourceLine>();
  /** As many as there are different sets of names, of those that some worker has: few. */
  private readonly _groups = new Map<string, ResourceGroup>();
  /** The head that was first when resources were given last, and was given none; or NONE. */
  first = NONE;
  private _count = 0;
  private _suspiciousCount = 0;

  constructor(
    private readonly _turns: ClientTurns,
    private readonly _tasks: TaskTable,
    private readonly _restrictions: Restrictions
  ) {}

  /** The living entries of all lines. */
  get count(): number {
    return this._count;
  }

  /** Those of them that were at a worker when it died. */
  get suspiciousCount(): number {
    return this._suspiciousCount;
  }

  lines(): ResourceLine[] {
    return [...this._lines.values()];
  }

  push(task: number): void {
    const { rank, restriction } = this._tasks;
    const key = this._keyOf(task);
    let line = this._lines.get(key);
    if (line === undefined) {
      line = {
        key,
        restriction: restriction[task]!,
        isSuspicious: this._isSuspicious(task),
        group: this._groupOf(restriction[task]!),
        heap: new RankedHeap(),
        count: 0,
        head: NONE
      };
      this._lines.set(key, line);
      line.group.lines++;
    }
    line.heap.push(task, rank[task]!);
    line.count++;
    this._count++;
    this._suspiciousCount += Number(line.isSuspicious);
    if (line.head === NONE || rank[task]! < rank[line.head]!) {
      this._setHead(line, task);
    }
  }

  /** Takes a task off the books; its entries are dead from now on, even if its state is still to change. */
  remove(task: number): void {
    const line = this._lines.get(this._keyOf(task))!;
    this._count--;
    this._suspiciousCount -= Number(line.isSuspicious);
    if (--line.count === 0) {
      line.head = NONE;
      this._lines.delete(line.key);
      if (--line.group.lines === 0) {
        this._groups.delete(line.group.key);
      }
      return;
    }
    const isLiving = (other: number): boolean =>
      other !== task && this._waitsIn(other, line.key);
    if (line.heap.length > 2 * line.count + 64) {
      line.heap.retain(isLiving);
    }
    if (line.head === task) {
      while (!isLiving(line.heap.peek())) {
        line.heap.pop();
      }
      this._setHead(line, line.heap.peek());
    }
  }

  /** The line of a task that waits. */
  lineOf(task: number): ResourceLine {
    return this._lines.get(this._keyOf(task))!;
  }

  /**
   * Takes out of the order of heads the one whose turn it is, of those that wait for such resources; {@link ResourceQueues.putBack} enters it
   * again if it stays. NONE: there is none.
   */
  pop(isMeant: (names: readonly string[]) => boolean): number {
    let best = NONE;
    let heads: ClientQueue | null = null;
    for (const group of this._groups.values()) {
      const task = isMeant(group.names) ? this._peek(group.heads) : NONE;
      if (
        task !== NONE &&
        (best === NONE || this._turns.isBefore(task, best))
      ) {
        best = task;
        heads = group.heads;
      }
    }
    heads?.pop();
    return best;
  }

  putBack(heads: Iterable<number>): void {
    const { rank, client } = this._tasks;
    for (const task of heads) {
      if (this._isHead(task)) {
        this.lineOf(task).group.heads.push(task, rank[task]!, client[task]!);
      }
    }
  }

  private _setHead(line: ResourceLine, task: number): void {
    const { rank, client } = this._tasks;
    const { heads, lines } = line.group;
    line.head = task;
    heads.push(task, rank[task]!, client[task]!);
    if (heads.length > 2 * lines + 64) {
      const seen = new Set<number>();
      heads.retain(other => {
        const isFirst = this._isHead(other) && !seen.has(other);
        seen.add(other);
        return isFirst;
      });
    }
  }

  private _peek(heads: ClientQueue): number {
    for (;;) {
      const task = heads.peek();
      if (task === NONE || this._isHead(task)) {
        return task;
      }
      heads.pop();
    }
  }

  private _groupOf(restriction: number): ResourceGroup {
    const names = this._restrictions.needOf(restriction)!.map(n => n.name);
    const key = JSON.stringify(names);
    let group = this._groups.get(key);
    if (group === undefined) {
      group = { key, names, heads: new ClientQueue(this._turns), lines: 0 };
      this._groups.set(key, group);
    }
    return group;
  }

  private _isHead(task: number): boolean {
    return (
      this._tasks.state[task] === TaskState.Queued &&
      this._lines.get(this._keyOf(task))?.head === task
    );
  }

  private _waitsIn(task: number, key: number): boolean {
    return (
      this._tasks.state[task] === TaskState.Queued && this._keyOf(task) === key
    );
  }

  /** Of a task that needs nothing: that of no line. */
  private _keyOf(task: number): number {
    const { restriction, client } = this._tasks;
    return (
      (restriction[task]! * MOST_CLIENTS + client[task]!) * 2 +
      Number(this._isSuspicious(task))
    );
  }

  private _isSuspicious(task: number): boolean {
    return this._tasks.suspicious[task]! > 0;
  }
}
