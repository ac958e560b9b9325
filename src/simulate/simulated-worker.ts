/**
 * The model of a worker. As the real one it runs the runnable task of the smallest number, fetches inputs as soon as a task that needs them is
 * assigned, has one request under way per peer while further wishes gather, and gives a run back if no thread has taken it.
 */
import { RankedHeap } from '../base/ranked-heap';
import type { SimulatedGraph } from './graph';
import type { Order, Report, RunOrder, SimulatedCluster } from './orders';

/** A request asks for at most so many bytes, as the real one. */
const REQUEST_BYTES = 64 * 2 ** 20;

type Run = {
  readonly order: RunOrder;
  lacking: number;
  isDropped: boolean;
};

/** What a worker needs of the simulation. */
export interface IWorkerSurroundings {
  readonly graph: SimulatedGraph;
  readonly cluster: SimulatedCluster;
  readonly now: number;
  peer(worker: number): SimulatedWorker;
  after(seconds: number, then: () => void): void;
  report(report: Report): void;
  /** Its memory has changed by so many bytes. */
  stored(bytes: number): void;
  /** So many bytes have come from another worker. */
  moved(bytes: number): void;
  /** A worker may send once more: whoever waits for it may ask. */
  sendersFree(): void;
}

export class SimulatedWorker {
  readonly store = new Set<number>();
  /** Tasks that it has and that no thread has taken. */
  private readonly _queued = new Map<number, Run>();
  private readonly _running = new Map<number, Run>();
  /** May hold dead entries. */
  private readonly _runnable = new RankedHeap();
  private readonly _waiters = new Map<number, Run[]>();
  /** Inputs that are to come from others. */
  private readonly _coming = new Set<number>();
  private readonly _wishes = new Map<number, number[]>();
  private readonly _asked = new Set<number>();
  private _busy = 0;
  private _receiving = 0;
  private _sending = 0;

  constructor(
    readonly id: number,
    private readonly _around: IWorkerSurroundings
  ) {}

  obey(order: Order): void {
    switch (order.type) {
      case 'run':
        order.runs.forEach(run => this._take(run));
        break;
      case 'drop':
        order.tasks.forEach(task => this._drop(task));
        break;
      case 'giveBack':
        order.runs.forEach(({ task, run }) => this._giveBack(task, run));
    }
    this.fetch();
    this._start();
  }

  private _take(order: RunOrder): void {
    const absent = order.inputs.filter(({ task }) => !this.store.has(task));
    const run: Run = { order, lacking: absent.length, isDropped: false };
    this._queued.set(order.task, run);
    for (const { task, holder } of absent) {
      this._listOf(this._waiters, task).push(run);
      if (holder !== this.id && !this._coming.has(task)) {
        this._coming.add(task);
        this._listOf(this._wishes, holder).push(task);
      }
    }
    if (absent.length === 0) {
      this._runnable.push(order.task, order.priority);
    }
  }

  private _drop(task: number): void {
    this._remove(task);
    this._queued.delete(task);
    this._coming.delete(task);
    const run = this._running.get(task);
    if (run !== undefined) {
      run.isDropped = true;
      this._running.delete(task);
    }
  }

  private _giveBack(task: number, id: number): void {
    const taken = this._queued.get(task)?.order.run === id;
    if (taken) {
      this._queued.delete(task);
    }
    const { id: worker } = this;
    this._around.report({ type: 'answered', worker, task, run: id, taken });
  }

  private _start(): void {
    while (this._busy < this._around.cluster.threads) {
      const task = this._runnable.pop();
      if (task === -1) {
        return;
      }
      const run = this._queued.get(task);
      if (run?.lacking === 0) {
        this._queued.delete(task);
        this._running.set(task, run);
        this._busy++;
        this._around.after(this._around.graph.seconds[task]!, () =>
          this._finish(run)
        );
      }
    }
  }

  private _finish(run: Run): void {
    const { task, run: id } = run.order;
    this._busy--;
    if (!run.isDropped) {
      this._running.delete(task);
      this._keep(task);
      this._around.report({
        type: 'finished',
        worker: this.id,
        task,
        run: id
      });
    }
    this._start();
  }

  /** Asks peers for inputs, as far as both sides have a place free. */
  fetch(): void {
    const { cluster } = this._around;
    for (const [holder, wishes] of this._wishes) {
      if (this._receiving === cluster.transfersAtOnce) {
        return;
      }
      const peer = this._around.peer(holder);
      if (
        wishes.length > 0 &&
        !this._asked.has(holder) &&
        peer._sending < cluster.transfersAtOnce
      ) {
        this._request(peer, wishes);
      }
    }
  }

  private _request(peer: SimulatedWorker, wishes: number[]): void {
    const { cluster, graph } = this._around;
    const tasks: number[] = [];
    let bytes = 0;
    while (wishes.length > 0 && bytes < REQUEST_BYTES) {
      const task = wishes.shift()!;
      if (this._coming.has(task)) {
        tasks.push(task);
        bytes += graph.nbytes[task]!;
      }
    }
    if (tasks.length === 0) {
      return;
    }
    this._asked.add(peer.id);
    this._receiving++;
    peer._sending++;
    const seconds = cluster.transferLatency + bytes / cluster.bandwidth;
    this._around.after(seconds, () => {
      this._asked.delete(peer.id);
      this._receiving--;
      peer._sending--;
      this._arrive(peer.id, tasks, bytes, seconds);
      this._around.sendersFree();
      this._start();
    });
  }

  private _arrive(
    from: number,
    asked: readonly number[],
    bytes: number,
    seconds: number
  ): void {
    this._around.moved(bytes);
    const tasks = asked.filter(task => this._coming.delete(task));
    tasks.forEach(task => this._keep(task));
    const { id: worker } = this;
    this._around.report({
      type: 'copied',
      worker,
      from,
      tasks,
      bytes,
      seconds
    });
  }

  private _keep(task: number): void {
    if (!this.store.has(task)) {
      this.store.add(task);
      this._around.stored(this._around.graph.nbytes[task]!);
    }
    const waiters = this._waiters.get(task);
    this._waiters.delete(task);
    waiters?.forEach(run => {
      if (--run.lacking === 0 && this._queued.get(run.order.task) === run) {
        this._runnable.push(run.order.task, run.order.priority);
      }
    });
  }

  private _remove(task: number): void {
    if (this.store.delete(task)) {
      this._around.stored(-this._around.graph.nbytes[task]!);
    }
  }

  private _listOf<T>(lists: Map<number, T[]>, key: number): T[] {
    let list = lists.get(key);
    if (list === undefined) {
      list = [];
      lists.set(key, list);
    }
    return list;
  }
}
