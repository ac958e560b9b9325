import { placeInOrder } from '../../base/place-in-order';
import {
  CapacityState,
  NONE_U16,
  NONE_U32,
  WaitReason,
  type WordOf,
  wordsOf
} from '../../records/enumerations';
import type { LaneId, LaneIndex, SpanId } from '../../records/ids';
import { LaneThreads } from '../../records/lane-threads';
import { TABLES } from '../../records/tables';

const STATES = wordsOf(CapacityState);
const REASONS = wordsOf(WaitReason);

type WorkerRow = {
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
type LaneRow = {
  readonly lane: LaneId;
  readonly worker: number;
  readonly thread: number;
};
/** Which thread of the operating system runs its tasks from a time on; NaN, both: not known. */
type LaneThread = { readonly ident?: number; readonly since?: number };
/** From `t` on. */
type CapacityStep = {
  readonly t: number;
  readonly threads: number;
  readonly state: number;
};
/** So many threads, from a time on. */
export type ThreadStep = { readonly from: number; readonly threads: number };
/** A task that runs, as its worker has told. */
export type RunningRow = {
  readonly node: number;
  readonly function: number;
  readonly span: SpanId;
  readonly started: number;
  /** Since when nobody wants its result; undefined: somebody does. */
  readonly givenUp?: number | undefined;
};
/** From `t` on so many tasks wait for one reason. */
type WaitingRow = {
  readonly t: number;
  readonly reason: number;
  readonly tasks: number;
  /** The notice that users have for it; empty: none. */
  readonly told: string;
  /** What those need that wait for resources; empty: not told. */
  readonly need: string;
  /** To be pasted; empty: none. */
  readonly command: string;
};
export const NO_LANE = -1;

/** When a thread of a worker could have worked; or several threads, if they could at the same times. */
export type LaneCapacity = {
  readonly worker: number;
  /** The first of them. */
  readonly thread: number;
  /** −1: the threads have not been seen working, so the log has no lane for them. */
  readonly lane: LaneId | typeof NO_LANE;
  /** How many: 1 if it is a lane. */
  readonly threads: number;
  readonly stretches: readonly {
    readonly from: number;
    readonly to: number;
    /** Why the worker began no task then: its memory was full, or it was stopped. */
    readonly heldBy: 'paused' | 'stopped' | null;
  }[];
};

/** How many different numbers of threads one worker may have had: each makes groups of threads of its own. */
const MOST_LEVELS = 64;
/** Changes of lanes' threads: two for each time that a task secedes, by which it is known what it held. */
const MOST_PLACED = 262_144;

/** The cluster's workers, lanes, capacity over time and running tasks. */
export class ClusterShape {
  readonly workers = new Map<number, WorkerRow>();
  readonly running = new Map<LaneId, RunningRow>();
  /** By lane the newest run that was given up there: when it began, and since when. Its row of `running` may come later. */
  private readonly _givenUp = new Map<
    LaneId,
    { readonly started: number; readonly t: number }
  >();
  /** By reason, in their order. A reason that this observer does not know is not kept. */
  private readonly _waiting: (WaitingRow | undefined)[] = Array.from(
    REASONS,
    () => undefined
  );
  private readonly _lanes: LaneRow[] = [];
  private readonly _laneIndex = new Map<LaneId, LaneIndex>();
  private readonly _laneOf = new Map<number, LaneId>();
  /** Which threads of the operating system ran what ended on them. */
  readonly laneThreads = new LaneThreads<LaneId>(MOST_PLACED);
  /** By worker its steps of capacity, and the numbers of threads that it has had. */
  private readonly _capacity = new Map<
    number,
    { readonly steps: CapacityStep[]; readonly levels: Set<number> }
  >();
  private _steps = 0;
  private _version = 0;
  /** {@link mostThreads}, and the version of which it is. */
  private _most = 0;
  private _mostAt = -1;

  /** Grows when a worker, a lane or the number of a worker's threads is told. */
  get version(): number {
    return this._version;
  }

  /** In order of first appearance: a lane's index never changes, so that tiles stay valid when workers join. */
  get lanes(): readonly LaneRow[] {
    return this._lanes;
  }

  /** Index of a lane id in {@link lanes}; an unannounced id gets a lane of its own on a worker that is not known. */
  laneIndex(lane: LaneId): LaneIndex {
    const index = this._laneIndex.get(lane);
    return index ?? this.setLane({ lane, worker: NONE_U16, thread: lane });
  }

  setLane({
    ident = NaN,
    since = NaN,
    ...row
  }: LaneRow & LaneThread): LaneIndex {
    this._version++;
    let index = this._laneIndex.get(row.lane);
    if (index === undefined) {
      index = this._lanes.length as LaneIndex;
      this._laneIndex.set(row.lane, index);
    }
    const before = this._lanes[index];
    const key = row.worker * 65536 + row.thread;
    if (before !== undefined) {
      const keyBefore = before.worker * 65536 + before.thread;
      if (keyBefore !== key && this._laneOf.get(keyBefore) === row.lane) {
        this._laneOf.delete(keyBefore);
      }
    }
    this.laneThreads.note(row.lane, since, ident);
    this._lanes[index] = row;
    this._laneOf.set(key, row.lane);
    return index;
  }

  setWorker(row: WorkerRow): void {
    this._version++;
    this.workers.set(row.worker, row);
    if (!Number.isNaN(row.left)) {
      for (const lane of this._lanes) {
        if (lane.worker === row.worker) {
          this.running.delete(lane.lane);
        }
      }
    }
  }

  /** Returns false if there is no room for the step, or the worker has had too many numbers of threads. */
  addCapacity(worker: number, step: CapacityStep): boolean {
    const capacity = this._capacity.get(worker) ?? {
      steps: [],
      levels: new Set()
    };
    const { steps, levels } = capacity;
    if (levels.size >= MOST_LEVELS && !levels.has(step.threads)) {
      return false;
    }
    if (this._steps >= TABLES.capacity.bound.rows) {
      if (steps.length < 3) {
        return false;
      }
      this._steps -= dropQuarter(steps);
    }
    this._capacity.set(worker, capacity);
    this._version++;
    this._steps++;
    levels.add(step.threads);
    steps.splice(
      placeInOrder(steps, step.t, each => each.t),
      0,
      step
    );
    return true;
  }

  /** Of a worker that has left nothing runs any more: where both are told in one batch, its end comes first. */
  setRunning(lane: LaneId, row: RunningRow): void {
    const worker = this._lanes[this._laneIndex.get(lane) ?? -1]?.worker;
    const left = this.workers.get(worker ?? NONE_U16)?.left ?? NaN;
    if (row.node === NONE_U32 || !Number.isNaN(left)) {
      this.running.delete(lane);
    } else {
      const given = this._givenUp.get(lane);
      const isGivenUp = given?.started === row.started;
      this.running.set(lane, isGivenUp ? { ...row, givenUp: given!.t } : row);
    }
  }

  /** Nobody wants the result any more of the run that began then. */
  setGivenUp(lane: LaneId, started: number, t: number): void {
    if (started >= (this._givenUp.get(lane)?.started ?? -Infinity)) {
      this._givenUp.set(lane, { started, t });
    }
    const row = this.running.get(lane);
    if (row?.started === started) {
      this.running.set(lane, { ...row, givenUp: t });
    }
  }

  setWaiting(row: WaitingRow): void {
    if (REASONS[row.reason] !== undefined) {
      this._waiting[row.reason] = row;
    }
  }

  /** For what tasks wait, as far as the source tells. */
  get waiting(): (Omit<WaitingRow, 't' | 'reason'> & {
    readonly reason: WordOf<typeof WaitReason>;
  })[] {
    return this._waiting.flatMap(row =>
      row === undefined || row.tasks === 0
        ? []
        : [{ ...row, reason: REASONS[row.reason]! }]
    );
  }

  /** How many of the runs that go on were given up. */
  get givenUpCount(): number {
    let count = 0;
    for (const { givenUp } of this.running.values()) {
      count += givenUp === undefined ? 0 : 1;
    }
    return count;
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

  /** How many threads a worker has had, in the order of time; none: nobody has told of it. */
  threadSteps(worker: number): ThreadStep[] {
    const row = this.workers.get(worker);
    return row === undefined
      ? []
      : this._stepsOf(row).map(({ t, threads, state }) => ({
          from: t,
          threads: state === CapacityState.Gone ? 0 : threads
        }));
  }

  /** The most threads that its workers had at a time: those of a worker that was replaced count once. */
  get mostThreads(): number {
    if (this._mostAt !== this._version) {
      this._mostAt = this._version;
      const changes: { readonly t: number; readonly by: number }[] = [];
      for (const worker of this.workers.keys()) {
        let had = 0;
        for (const { from, threads } of this.threadSteps(worker)) {
          changes.push({ t: from, by: threads - had });
          had = threads;
        }
      }
      // (of what happens at once, those that go are first)
      changes.sort((a, b) => a.t - b.t || a.by - b.by);
      this._most = 0;
      let threads = 0;
      for (const { by } of changes) {
        threads += by;
        this._most = Math.max(this._most, threads);
      }
    }
    return this._most;
  }

  stateOf(worker: number): WordOf<typeof CapacityState> {
    const row = this.workers.get(worker);
    if (row === undefined || !Number.isNaN(row.left)) {
      return 'gone';
    }
    const steps = this._capacity.get(worker)?.steps;
    const state = steps?.[steps.length - 1]?.state ?? CapacityState.Running;
    return STATES[state] ?? 'gone';
  }

  /**
   * When each thread could have worked, up to `now`.
   *
   *     capacity rows of worker 0:  t=0: 4 threads   t=5: 1 thread   t=9: gone
   *     thread 0, lane 0:           0 ───────────────────────────── 9
   *     thread 1, lane 1:           0 ──────────── 5
   *     threads 2 and 3, no lane:   0 ──────────── 5
   *
   * Threads without a lane that could work at the same times are one entry, so that a source's number of threads costs no memory.
   */
  laneCapacities(now: number): LaneCapacity[] {
    const lanes = this._lanesOfWorkers();
    const capacities: LaneCapacity[] = [];
    for (const row of this.workers.values()) {
      const { worker } = row;
      const steps = this._stepsOf(row);
      const levels = [...new Set(steps.map(step => step.threads))];
      levels.sort((a, b) => a - b);
      let first = 0;
      for (const end of levels) {
        const shared = stretches(steps, first, now);
        const seen = new Set<number>();
        for (const { thread, lane } of lanes.get(worker) ?? []) {
          if (thread >= first && thread < end && !seen.has(thread)) {
            seen.add(thread);
            capacities.push({
              worker,
              thread,
              lane,
              threads: 1,
              stretches: shared
            });
          }
        }
        const unseen = end - first - seen.size;
        if (unseen > 0) {
          let thread = first;
          while (seen.has(thread)) {
            thread++;
          }
          capacities.push({
            worker,
            thread,
            lane: NO_LANE,
            threads: unseen,
            stretches: shared
          });
        }
        first = end;
      }
    }
    return capacities;
  }

  /** The newest lane of each thread. */
  private _lanesOfWorkers(): Map<number, { thread: number; lane: LaneId }[]> {
    const found = new Map<number, { thread: number; lane: LaneId }[]>();
    for (const [key, lane] of this._laneOf) {
      const worker = Math.floor(key / 65536);
      const entry = { thread: key % 65536, lane };
      const list = found.get(worker);
      if (list === undefined) {
        found.set(worker, [entry]);
      } else {
        list.push(entry);
      }
    }
    return found;
  }

  private _stepsOf(worker: WorkerRow): readonly CapacityStep[] {
    const steps = this._capacity.get(worker.worker)?.steps ?? [
      {
        t: worker.joined,
        threads: worker.threads,
        state: CapacityState.Running
      }
    ];
    return Number.isNaN(worker.left)
      ? steps
      : [
          ...steps.filter(step => step.t < worker.left),
          { t: worker.left, threads: 0, state: CapacityState.Gone }
        ];
  }
}

/**
 * Drops at least a quarter of the steps at a time, since each drop moves all others: the steps that change nothing if there are enough of
 * them, else the oldest except the first.
 *
 * Steps that change nothing are kept till then: a late step may lie between two of them.
 *
 * @returns how many are gone.
 */
function dropQuarter(steps: CapacityStep[]): number {
  const quarter = Math.ceil(steps.length / 4);
  const changes = steps.filter((step, i) => {
    const before = steps[i - 1];
    return before?.threads !== step.threads || before.state !== step.state;
  });
  const dropped = steps.length - changes.length;
  if (dropped < quarter) {
    steps.splice(1, quarter);
    return quarter;
  }
  steps.splice(0, steps.length, ...changes);
  return dropped;
}

function stretches(
  steps: readonly CapacityStep[],
  thread: number,
  now: number
): LaneCapacity['stretches'] {
  const found: {
    from: number;
    to: number;
    heldBy: 'paused' | 'stopped' | null;
  }[] = [];
  for (const [i, step] of steps.entries()) {
    if (step.threads <= thread || step.state === CapacityState.Gone) {
      continue;
    }
    const heldBy =
      step.state === CapacityState.Paused
        ? 'paused'
        : step.state === CapacityState.Stopped
          ? 'stopped'
          : null;
    const to = Math.min(steps[i + 1]?.t ?? now, now);
    const last = found[found.length - 1];
    if (last !== undefined && last.to === step.t && last.heldBy === heldBy) {
      last.to = to;
    } else if (to > step.t) {
      found.push({ from: step.t, to, heldBy });
    }
  }
  return found;
}
