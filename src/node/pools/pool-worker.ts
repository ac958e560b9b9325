import type { FunctionTable } from './function-table';
import type { Entry } from './batch';
import type { Pack } from './pack';
import type { ResultsMessage } from './messages';
import type { IWorkerTransport, WorkerEnd } from './worker-transport';

/** A run on a pool, as the pool and its workers see it. */
export interface IPoolRun {
  readonly numWorkers: number;
  /** One batch of the size that was asked for per worker, neither more nor together. */
  readonly isExact: boolean;
  readonly isStopped: boolean;
  /** Whether it has tasks that no worker has. */
  readonly isWaiting: boolean;
  dispatch(): void;
  receive(worker: PoolWorker, pack: RunPack, message: ResultsMessage): void;
  lose(
    worker: PoolWorker,
    pack: RunPack,
    end: WorkerEnd,
    mayRun: boolean
  ): void;
}

export type RunPack = Pack<IPoolRun>;

/** A worker of a pool, and what it has been given. */
export class PoolWorker {
  /** In the order in which they run. */
  readonly packs = new Map<number, RunPack>();
  isReady = false;
  /** Why it is ended before it was ready, if its initializer failed. */
  startFailure: WorkerEnd | null = null;
  /** Gone, or on its way: gets nothing any more. */
  isEnding = false;
  /** Expected time of the tasks it has been given and has not sent results of. */
  aheadMs = 0;
  aheadTasks = 0;
  private readonly _freeCells: number[];
  private _definedUpTo = 0;
  private _isHeld = true;
  private _isLeaving = false;
  /** When it last sent something, or was given something while idle. */
  private _heardAtMs = 0;

  constructor(readonly transport: IWorkerTransport) {
    this._freeCells = Array.from(
      { length: transport.packLimit },
      (_, cell) => cell
    );
    this.updateHold();
  }

  get workerId(): number {
    return this.transport.workerId;
  }

  get canTakePack(): boolean {
    return !this.isEnding && this._freeCells.length > 0;
  }

  worksFor(run: IPoolRun): boolean {
    for (const pack of this.packs.values()) {
      if (pack.owner === run) {
        return true;
      }
    }
    return false;
  }

  /** Whether it has something of another run. */
  worksForOthers(run: IPoolRun): boolean {
    for (const pack of this.packs.values()) {
      if (pack.owner !== run) {
        return true;
      }
    }
    return false;
  }

  /** Tasks of a finished run that it still runs, or may still begin. */
  leftOver(): RunPack | undefined {
    for (const pack of this.packs.values()) {
      if (pack.owner.isStopped && pack.left > 0) {
        return pack;
      }
    }
    return undefined;
  }

  /** Whether it has work and has sent nothing for so long. */
  isSilent(nowMs: number, limitMs: number): boolean {
    return this.packs.size > 0 && nowMs - this._heardAtMs > limitMs;
  }

  /** The task that it should be at, and since when at the earliest. */
  current(): { entry: Entry; owner: IPoolRun; sinceMs: number } | null {
    for (const { entries, received, end, owner } of this.packs.values()) {
      if (received < end) {
        return { entry: entries[received]!, owner, sinceMs: this._heardAtMs };
      }
    }
    return null;
  }

  takeCell(): number {
    return this._freeCells.pop()!;
  }

  freeCell(cell: number): void {
    this._freeCells.push(cell);
  }

  /** Sends a pack and notes it. @throws if an argument cannot be sent; nothing is noted then. */
  post(
    pack: RunPack,
    calls: readonly number[],
    args: readonly unknown[],
    isShared: boolean,
    functions: FunctionTable
  ): void {
    this.transport.post(
      {
        type: 'run',
        pack: pack.id,
        cell: pack.cell,
        measures: pack.measures,
        define: functions.definitionsFrom(this._definedUpTo),
        count: pack.entries.length,
        calls: areAlike(calls) ? calls.slice(0, 2) : calls,
        args,
        isShared
      },
      args
    );
    this._definedUpTo = functions.nextSerial;
    if (this.packs.size === 0) {
      this._heardAtMs = performance.now();
    }
    this.packs.set(pack.id, pack);
    this._count(pack, pack.left);
    this.updateHold();
  }

  /** The next `count` tasks of a pack have outcomes. */
  received(pack: RunPack, count: number): void {
    this._heardAtMs = performance.now();
    pack.received += count;
    this._count(pack, -count);
  }

  /** Takes back what has not begun. @returns how many entries from the pack's end, none if that cannot be known. */
  takeBack(pack: RunPack): number {
    const begun = this.transport.takeBack(pack.id, pack.cell);
    const kept = begun === null ? pack.end : Math.min(begun, pack.end);
    const taken = pack.end - kept;
    pack.end = kept;
    this._count(pack, -taken);
    return taken;
  }

  /** The worker is done with the pack. */
  close(pack: RunPack): void {
    this._count(pack, -pack.left);
    this.packs.delete(pack.id);
    this.freeCell(pack.cell);
    this.updateHold();
  }

  /** Ends it, whatever it does. Resolves when it is gone; this process stays alive until then: its caller may wait for nothing else. */
  async kill(): Promise<void> {
    this._isLeaving = true;
    this.updateHold();
    try {
      await this.transport.kill();
    } finally {
      this._isLeaving = false;
      this.updateHold();
    }
  }

  /** This process stays alive for workers that work for a run which is still awaited. */
  updateHold(): void {
    let isNeeded = this._isLeaving;
    for (const pack of this.packs.values()) {
      isNeeded ||= !pack.owner.isStopped;
    }
    if (isNeeded !== this._isHeld) {
      this._isHeld = isNeeded;
      this.transport.hold(isNeeded);
    }
  }

  private _count(pack: RunPack, tasks: number): void {
    this.aheadTasks += tasks;
    // Sums of fractions do not come back to zero by themselves.
    this.aheadMs =
      this.aheadTasks === 0 ? 0 : this.aheadMs + tasks * pack.taskMs;
  }
}

/** Whether every pair is the first one. */
function areAlike(calls: readonly number[]): boolean {
  for (let at = 2; at < calls.length; at += 2) {
    if (calls[at] !== calls[0] || calls[at + 1] !== calls[1]) {
      return false;
    }
  }
  return true;
}
