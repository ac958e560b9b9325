/** state column of `capacity`. */
export const CAPACITY_PAUSED = 1;
export const CAPACITY_GONE = 3;
/** `running.node` when nothing runs on a lane. */
export const NOTHING_RUNS = 0xffffffff;

export type WorkerRow = {
  readonly worker: number;
  readonly pid: number;
  readonly threads: number;
  readonly memoryLimit: number;
  readonly joined: number;
  /** NaN while it lives. */
  readonly left: number;
  readonly name: string;
  readonly address: string;
  readonly host: string;
  readonly why: string;
};
export type LaneRow = {
  readonly lane: number;
  readonly worker: number;
  readonly thread: number;
};
/** From `t` on. */
export type CapacityStep = {
  readonly t: number;
  readonly threads: number;
  readonly state: number;
};
export type RunningRow = {
  readonly node: number;
  readonly function: number;
  readonly span: number;
  readonly started: number;
};
/** A stretch of time in which one thread of one worker could have worked. */
export type LaneCapacity = {
  readonly worker: number;
  readonly thread: number;
  /** −1: the thread has not been seen working, so the log has no lane for it. */
  readonly lane: number;
  readonly stretches: readonly {
    readonly from: number;
    readonly to: number;
    readonly paused: boolean;
  }[];
};

/** What the cluster consists of, and what it is doing now: workers, lanes, capacity over time, running tasks. */
export class ClusterShape {
  readonly workers = new Map<number, WorkerRow>();
  readonly running = new Map<number, RunningRow>();
  private readonly _lanes: LaneRow[] = [];
  private readonly _laneIndex = new Map<number, number>();
  private readonly _laneOf = new Map<number, number>();
  private readonly _capacity = new Map<number, CapacityStep[]>();

  /** In order of first appearance: a lane's index never changes, so that tiles stay valid when workers join. */
  get lanes(): readonly LaneRow[] {
    return this._lanes;
  }

  /** Index of a lane id in {@link lanes}; an unannounced id gets a lane of its own on a worker that is not known. */
  laneIndex(lane: number): number {
    const index = this._laneIndex.get(lane);
    return index ?? this.setLane({ lane, worker: 0xffff, thread: lane });
  }

  setLane(row: LaneRow): number {
    let index = this._laneIndex.get(row.lane);
    if (index === undefined) {
      index = this._lanes.length;
      this._laneIndex.set(row.lane, index);
    }
    this._lanes[index] = row;
    this._laneOf.set(row.worker * 65536 + row.thread, row.lane);
    return index;
  }

  setWorker(row: WorkerRow): void {
    this.workers.set(row.worker, row);
    if (!Number.isNaN(row.left)) {
      for (const lane of this._lanes) {
        if (lane.worker === row.worker) {
          this.running.delete(lane.lane);
        }
      }
    }
  }

  addCapacity(worker: number, step: CapacityStep): void {
    const steps = this._capacity.get(worker);
    if (steps === undefined) {
      this._capacity.set(worker, [step]);
      return;
    }
    const last = steps[steps.length - 1]!;
    if (last.threads === step.threads && last.state === step.state) {
      return;
    }
    steps.push(step);
    // Nearly always in order already; a late step goes to its place.
    for (let i = steps.length - 1; i > 0 && steps[i - 1]!.t > step.t; i--) {
      [steps[i - 1], steps[i]] = [steps[i]!, steps[i - 1]!];
    }
  }

  setRunning(lane: number, row: RunningRow): void {
    if (row.node === NOTHING_RUNS) {
      this.running.delete(lane);
    } else {
      this.running.set(lane, row);
    }
  }

  /** Threads of the workers that live. */
  get threads(): number {
    let threads = 0;
    for (const worker of this.workers.values()) {
      if (Number.isNaN(worker.left)) {
        threads += worker.threads;
      }
    }
    return threads;
  }

  stateOf(worker: number): 'running' | 'paused' | 'closing' | 'gone' {
    const row = this.workers.get(worker);
    if (row === undefined || !Number.isNaN(row.left)) {
      return 'gone';
    }
    const steps = this._capacity.get(worker);
    const state = steps?.[steps.length - 1]?.state ?? 0;
    return (['running', 'paused', 'closing', 'gone'] as const)[state] ?? 'gone';
  }

  /**
   * When each thread could have worked, up to `now`.
   *
   *     capacity rows of worker 0:  t=0: 2 threads   t=5: 1 thread   t=9: gone
   *     thread 0:                   0 ───────────────────────────── 9
   *     thread 1:                   0 ──────────── 5
   */
  laneCapacities(now: number): LaneCapacity[] {
    const capacities: LaneCapacity[] = [];
    for (const worker of this.workers.values()) {
      const steps = this._stepsOf(worker);
      const most = steps.reduce((max, step) => Math.max(max, step.threads), 0);
      for (let thread = 0; thread < most; thread++) {
        capacities.push({
          worker: worker.worker,
          thread,
          lane: this._laneOf.get(worker.worker * 65536 + thread) ?? -1,
          stretches: stretches(steps, thread, now)
        });
      }
    }
    return capacities;
  }

  private _stepsOf(worker: WorkerRow): readonly CapacityStep[] {
    const steps = this._capacity.get(worker.worker) ?? [
      { t: worker.joined, threads: worker.threads, state: 0 }
    ];
    return Number.isNaN(worker.left)
      ? steps
      : [
          ...steps.filter(step => step.t < worker.left),
          { t: worker.left, threads: 0, state: CAPACITY_GONE }
        ];
  }
}

function stretches(
  steps: readonly CapacityStep[],
  thread: number,
  now: number
): LaneCapacity['stretches'] {
  const found: { from: number; to: number; paused: boolean }[] = [];
  for (const [i, step] of steps.entries()) {
    if (step.threads <= thread || step.state === CAPACITY_GONE) {
      continue;
    }
    const paused = step.state === CAPACITY_PAUSED;
    const to = Math.min(steps[i + 1]?.t ?? now, now);
    const last = found[found.length - 1];
    if (last !== undefined && last.to === step.t && last.paused === paused) {
      last.to = to;
    } else if (to > step.t) {
      found.push({ from: step.t, to, paused });
    }
  }
  return found;
}
