import { RankedHeap } from '../base/ranked-heap';
import type { ClientTurns } from './client-turns';
import { NONE } from './edge-table';

/** A queue of tasks: each client's by rank, the clients' in turn. With one client it is a heap. May hold dead entries, as the heap may. */
export class ClientQueue {
  /** By client; those of `_clients` alone may have entries. */
  private readonly _heaps: (RankedHeap | undefined)[] = [];
  private _clients: number[] = [];
  private _length = 0;

  constructor(private readonly _turns: ClientTurns) {}

  get length(): number {
    return this._length;
  }

  push(task: number, rank: number, client: number): void {
    let heap = this._heaps[client];
    if (heap === undefined) {
      heap = new RankedHeap();
      this._heaps[client] = heap;
      this._clients.push(client);
    }
    heap.push(task, rank);
    this._length++;
  }

  /** The task whose turn it is, or NONE. */
  peek(): number {
    return this._next()?.peek() ?? NONE;
  }

  /** Takes the task whose turn it is. */
  pop(): number {
    const heap = this._next();
    if (heap === null || heap.length === 0) {
      return NONE;
    }
    this._length--;
    return heap.pop();
  }

  /**
   * Up to `most` entries, of each client in turn one that is about its last. Entries for which `isLiving` does not hold are dropped from
   * the end first, or those that were taken there would soon hide all others.
   */
  lastOnes(most: number, isLiving: (task: number) => boolean): number[] {
    const last: number[] = [];
    const heaps = this._clients.map(client => this._heaps[client]!);
    for (const heap of heaps) {
      this._length -= heap.dropFromEnd(isLiving);
    }
    for (let back = 1; last.length < most; back++) {
      const deep = heaps.filter(heap => back <= heap.length);
      if (deep.length === 0) {
        break;
      }
      last.push(
        ...deep
          .slice(0, most - last.length)
          .map(heap => heap.at(heap.length - back))
      );
    }
    return last;
  }

  clear(): void {
    this._clients.forEach(client => (this._heaps[client] = undefined));
    this._clients = [];
    this._length = 0;
  }

  /** Keeps only the tasks for which `keep` holds; O(n). */
  retain(keep: (task: number) => boolean): void {
    this._length = 0;
    for (const client of this._clients) {
      const heap = this._heaps[client]!;
      heap.retain(keep);
      this._length += heap.length;
    }
  }

  private _next(): RankedHeap | null {
    if (this._clients.length > 1) {
      return this._nextOfMany();
    }
    return this._clients.length === 0 ? null : this._heaps[this._clients[0]!]!;
  }

  private _nextOfMany(): RankedHeap | null {
    let best: RankedHeap | null = null;
    let hasEmpty = false;
    for (const client of this._clients) {
      const heap = this._heaps[client]!;
      if (heap.length === 0) {
        hasEmpty = true;
      } else if (
        best === null ||
        this._turns.isBefore(heap.peek(), best.peek())
      ) {
        best = heap;
      }
    }
    if (hasEmpty) {
      this._dropEmpty();
    }
    return best;
  }

  /** Clients come and go: of those that have nothing here nothing is kept. */
  private _dropEmpty(): void {
    this._clients = this._clients.filter(client => {
      const hasEntries = this._heaps[client]!.length > 0;
      if (!hasEntries) {
        this._heaps[client] = undefined;
      }
      return hasEntries;
    });
  }
}
