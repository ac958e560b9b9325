import type { Nanoseconds } from '../../base/brand';
import { OTHER_TASKS } from '../../records/enumerations';
import {
  ACTIVITIES,
  BLOCKED,
  COMPUTE,
  CORE,
  GIL,
  THREAD_CPU,
  THREAD_NONCPU,
  type ActivityCells
} from '../store/activity-cells';
import type { MeterSums } from '../store/meter-sums';
import type { LockWaits } from './lock-waits';

const OFF_CORE: readonly number[] = [THREAD_NONCPU, CORE, GIL, BLOCKED];
const SPAN = 0x100000000;

type Asked = {
  /** Label → nanoseconds, in the order in which they came. */
  readonly labels: Map<number, Nanoseconds>;
  onCore: Nanoseconds;
  offCore: Nanoseconds;
  /** Off a core, for other tasks. */
  forTasks: Nanoseconds;
};
type Taken = {
  readonly byActivity: Float64Array;
  readonly labels: ReadonlyMap<number, Nanoseconds>;
};
const nothing: Taken = {
  byActivity: new Float64Array(ACTIVITIES.length),
  labels: new Map()
};

/**
 * Nanoseconds of each cell: its activities as the runs tell them, with the waits for the interpreter lock taken out of `blocked`, and with what
 * tasks measured themselves taken out of their computing. Each is taken from where there is something, so a cell's sum stays what it was.
 * Who waits for other tasks is blocked, and waits for no core and no lock: that is taken from there first.
 *
 *     cell      thread-cpu 5 │ core 1 │ gil 3 │ blocked 1
 *     told      decode 2 (0.5 on a core), save 1 (none)
 *     shown     thread-cpu 4.5 │ core 0.5 │ gil 1.5 │ blocked 0.5 │ decode 2 │ save 1
 */
export class ThreadAccount {
  private readonly _asked = new Map<number, Asked>();
  private readonly _taken = new Map<number, Taken>();

  constructor(
    private readonly _cells: ActivityCells,
    private readonly _waits: LockWaits,
    meters: MeterSums,
    labelOf: (name: number) => string
  ) {
    for (const sum of meters.all()) {
      const total = sum.onCore + sum.offCore;
      if (total <= 0) {
        continue;
      }
      const key = sum.span * SPAN + sum.function;
      let asked = this._asked.get(key);
      if (asked === undefined) {
        asked = { labels: new Map(), onCore: 0, offCore: 0, forTasks: 0 };
        this._asked.set(key, asked);
      }
      const { labels } = asked;
      labels.set(sum.label, (labels.get(sum.label) ?? 0) + total);
      asked.onCore += sum.onCore;
      if (labelOf(sum.label) === OTHER_TASKS) {
        asked.forTasks += sum.offCore;
      } else {
        asked.offCore += sum.offCore;
      }
    }
  }

  nanoseconds(cell: number, activity: number): Nanoseconds {
    const own = this._waits.nanoseconds(this._cells, cell, activity);
    return this._asked.size === 0
      ? own
      : own - this._of(cell).byActivity[activity]!;
  }

  /** Label (a name id) → nanoseconds of this cell. */
  labels(cell: number): ReadonlyMap<number, Nanoseconds> {
    return this._asked.size === 0 ? nothing.labels : this._of(cell).labels;
  }

  private _of(cell: number): Taken {
    let taken = this._taken.get(cell);
    if (taken === undefined) {
      const key = this._cells.span(cell) * SPAN + this._cells.function(cell);
      const asked = this._asked.get(key);
      taken = asked === undefined ? nothing : this._take(cell, asked);
      this._taken.set(cell, taken);
    }
    return taken;
  }

  private _take(cell: number, asked: Asked): Taken {
    const left = Float64Array.from(ACTIVITIES, (_, activity) =>
      Math.max(0, this._waits.nanoseconds(this._cells, cell, activity))
    );
    const byActivity = new Float64Array(ACTIVITIES.length);
    // (both kinds from elsewhere, if there is not enough where they were)
    const notBlocked = takeFrom(left, byActivity, [BLOCKED], asked.forTasks);
    const rest =
      takeFrom(left, byActivity, [THREAD_CPU], asked.onCore) +
      takeFrom(left, byActivity, OFF_CORE, asked.offCore + notBlocked);
    const over = takeFrom(
      left,
      byActivity,
      OFF_CORE,
      takeFrom(left, byActivity, [COMPUTE], rest)
    );
    let missing = takeFrom(left, byActivity, [THREAD_CPU], over);
    const labels = new Map(asked.labels);
    for (const [label, ns] of [...labels].reverse()) {
      const less = Math.min(ns, missing);
      missing -= less;
      labels.set(label, ns - less);
    }
    return { byActivity, labels };
  }
}

/** Takes `wanted` nanoseconds, in whole ones, in proportion to what is there. @returns how much was not there. */
function takeFrom(
  left: Float64Array,
  taken: Float64Array,
  activities: readonly number[],
  wanted: Nanoseconds
): Nanoseconds {
  const whole = activities.reduce((sum, activity) => sum + left[activity]!, 0);
  const all = Math.min(whole, wanted);
  let rest = all;
  let there = whole;
  for (const activity of activities) {
    const own = left[activity]!;
    // The last one that has something takes what is left.
    const share =
      there > 0 ? Math.min(own, Math.round((rest * own) / there)) : 0;
    there -= own;
    rest -= share;
    left[activity]! -= share;
    taken[activity]! += share;
  }
  return wanted - all + rest;
}
