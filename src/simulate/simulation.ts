import { RankedHeap } from '../base/ranked-heap';
import type { SimulatedGraph } from './graph';
import type { Order, Report, SimulatedCluster } from './orders';
import { type IWorkerSurroundings, SimulatedWorker } from './simulated-worker';

/** A scheduler in a simulation: told what happened at a moment, it says what is to be done. */
export interface ISimulatedScheduler {
  /** How often it looks by itself, in seconds; null: only when something happens. */
  readonly interval: number | null;
  begin(graph: SimulatedGraph, cluster: SimulatedCluster): Order[];
  /** No report: its interval has passed. */
  hear(at: number, reports: readonly Report[]): Order[];
}

export type Outcome = {
  /** From the submission until the scheduler knows that the last wanted result is there, in seconds. */
  readonly makespan: number;
  /** Bytes that went from worker to worker. */
  readonly bytesMoved: number;
  /** The most bytes that all workers together held at a time. */
  readonly peakBytes: number;
  /** Runs that were given back without having begun. */
  readonly takenBack: number;
  readonly runs: number;
};

/** @throws Error when the graph does not end: nothing is under way and results are missing. */
export function simulate(
  graph: SimulatedGraph,
  cluster: SimulatedCluster,
  scheduler: ISimulatedScheduler
): Outcome {
  return new Simulation(graph, cluster, scheduler).run();
}

class Simulation implements IWorkerSurroundings {
  now = 0;
  private readonly _workers: SimulatedWorker[];
  private readonly _due = new RankedHeap();
  private readonly _actions: (() => void)[] = [];
  private readonly _free: number[] = [];
  /** Reports that have reached the scheduler at this moment. */
  private _heard: Report[] = [];
  /** By worker, so that messages keep their order: those on their way to it, and from it. */
  private readonly _orders: Order[][];
  private readonly _reports: Report[][];
  private _isDue = false;
  private _left = 0;
  private _stored = 0;
  private _outcome = {
    makespan: 0,
    bytesMoved: 0,
    peakBytes: 0,
    takenBack: 0,
    runs: 0
  };
  private readonly _isDone: Uint8Array;

  constructor(
    readonly graph: SimulatedGraph,
    readonly cluster: SimulatedCluster,
    private readonly _scheduler: ISimulatedScheduler
  ) {
    const each = Array.from({ length: cluster.workers }, (_, id) => id);
    this._workers = each.map(id => new SimulatedWorker(id, this));
    this._orders = each.map(() => []);
    this._reports = each.map(() => []);
    this._isDone = new Uint8Array(graph.wanted.length);
    graph.wanted.forEach(wanted => (this._left += wanted));
  }

  run(): Outcome {
    this._send(this._scheduler.begin(this.graph, this.cluster));
    this._tick();
    while (this._left > 0) {
      if (this._due.length === 0) {
        throw new Error(
          `${this._left} results of ${this.graph.name} never come.`
        );
      }
      this.now = this._due.peekRank();
      while (this._due.length > 0 && this._due.peekRank() === this.now) {
        this._act(this._due.pop());
      }
      if (this._heard.length > 0 || this._isDue) {
        const heard = this._heard;
        this._heard = [];
        this._isDue = false;
        this._send(this._scheduler.hear(this.now, heard));
      }
    }
    this._outcome.makespan = this.now;
    return this._outcome;
  }

  peer(worker: number): SimulatedWorker {
    return this._workers[worker]!;
  }

  after(seconds: number, then: () => void): void {
    const slot = this._free.pop() ?? this._actions.length;
    this._actions[slot] = then;
    this._due.push(slot, this.now + seconds);
  }

  report(report: Report): void {
    const link = this._reports[report.worker]!;
    link.push(report);
    this.after(this.cluster.messageSeconds, () => this._hear(link.shift()!));
  }

  stored(bytes: number): void {
    this._stored += bytes;
    this._outcome.peakBytes = Math.max(this._outcome.peakBytes, this._stored);
  }

  moved(bytes: number): void {
    this._outcome.bytesMoved += bytes;
  }

  sendersFree(): void {
    this._workers.forEach(worker => worker.fetch());
  }

  private _act(slot: number): void {
    const action = this._actions[slot]!;
    this._free.push(slot);
    action();
  }

  private _hear(report: Report): void {
    this._heard.push(report);
    if (report.type === 'finished') {
      this._outcome.runs++;
      if (this._isDone[report.task] === 0) {
        this._isDone[report.task] = 1;
        this._left -= this.graph.wanted[report.task]!;
      }
    } else if (report.type === 'answered' && report.taken) {
      this._outcome.takenBack++;
    }
  }

  private _send(orders: readonly Order[]): void {
    for (const order of orders) {
      const link = this._orders[order.worker]!;
      link.push(order);
      this.after(this.cluster.messageSeconds, () =>
        this._workers[order.worker]!.obey(link.shift()!)
      );
    }
  }

  private _tick(): void {
    const { interval } = this._scheduler;
    if (interval !== null) {
      this.after(interval, () => {
        this._isDue = true;
        this._tick();
      });
    }
  }
}
