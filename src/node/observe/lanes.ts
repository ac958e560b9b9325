/**
 * Which lanes tasks get. A lane is a place in a process where one task can run at a time. Computations that follow each other use the same
 * lanes, so that a program of a hundred computations still shows four; computations at the same time stand side by side:
 *
 * ```
 *   1: pool of 4           2: getSync        3: pool of 4     │ 4, beside 3: getAsync
 *   lanes 0 1 2 3          lane 0            lanes 0 1 2 3    │ lane 4, and overlapping 1 2 … while promises wait
 * ```
 *
 * This thread computes one task at a time, so it has one lane, however many tasks are under way in it.
 */
import { RankedHeap } from '../../base/ranked-heap';
import { OVERLAPPING_FROM } from '../../records/beside-lanes';

/** Lanes next to each other. */
export class LaneRange {
  /** The first one's number, while it is in use. */
  base = 0;
  /** Computations that use it now. */
  users = 0;
  private readonly _holders: { workerId: number; lastStop: number }[] = [];
  /** Of this thread's tasks, places that had been taken and are free: 0 is the thread's own lane, the others are of what overlaps. */
  private readonly _free = new RankedHeap();
  /** All places from here on are free too. */
  private _untaken = 0;

  /** Lanes that the computations which use it may fill together. */
  wanted = 0;

  constructor(readonly size: number) {}

  /**
   * The lane of a worker's task. A worker is at one task at a time, so it keeps its lane. A new worker takes a lane that no worker had; if there
   * is none, one whose worker is gone and that was idle at `start`: what a worker that lives is at is not known before it is done.
   */
  ofWorker(
    workerId: number,
    start: number,
    stop: number,
    lives: (workerId: number) => boolean
  ): number {
    let place = this._holders.findIndex(each => each.workerId === workerId);
    if (place === -1 && this._holders.length >= this.size) {
      place = this._longestIdle(start, lives);
    }
    if (place === -1) {
      place = this._holders.length;
    }
    this._holders[place] = { workerId, lastStop: stop };
    return this.base + place;
  }

  /** The lane of a worker that may be at a task now; null if others have them all. */
  whereIs(workerId: number): number | null {
    let place = this._holders.findIndex(holder => holder.workerId === workerId);
    if (place === -1 && this._holders.length < this.size) {
      place = this._holders.push({ workerId, lastStop: -Infinity }) - 1;
    }
    return place === -1 ? null : this.base + place;
  }

  /** A lane for a task of this thread: the thread's own one, or, while that is taken, the first free one of those that overlap. */
  take(): number {
    const place = this._free.length === 0 ? this._untaken++ : this._free.pop();
    return place === 0 ? this.base : OVERLAPPING_FROM + place - 1;
  }

  /** A lane beside the thread's for a task that nobody waits for any more: one that none had, as this one began before. */
  moveBeside(lane: number): number {
    if (lane !== this.base) {
      return lane;
    }
    this.give(lane);
    return OVERLAPPING_FROM + this._untaken++ - 1;
  }

  give(lane: number): void {
    const place = lane === this.base ? 0 : lane - OVERLAPPING_FROM + 1;
    this._free.push(place, place);
  }

  private _longestIdle(
    at: number,
    lives: (workerId: number) => boolean
  ): number {
    let found = -1;
    let longest = Infinity;
    this._holders.forEach(({ workerId, lastStop }, place) => {
      if (lastStop <= at && lastStop < longest && !lives(workerId)) {
        found = place;
        longest = lastStop;
      }
    });
    return found;
  }
}

/** The lanes of this process. */
export class HomeLanes {
  private readonly _known = new WeakMap<object, LaneRange>();
  private readonly _active: LaneRange[] = [];

  /**
   * The lanes of a pool, or of this thread, for one more computation.
   *
   * @param size - how many of its tasks can be under way at a time.
   * @param most - the same of all computations of the owner together: they have one lane for each of its workers.
   */
  acquire(owner: object, size: number, most = size): LaneRange {
    let range = this._known.get(owner);
    if (range === undefined || range.size < most) {
      range = new LaneRange(most);
      this._known.set(owner, range);
    }
    if (range.users++ === 0) {
      range.base = this._free(range.size);
      this._active.push(range);
    }
    range.wanted += size;
    return range;
  }

  release(range: LaneRange, size: number): void {
    range.users -= 1;
    range.wanted -= size;
    if (range.users === 0) {
      this._active.splice(this._active.indexOf(range), 1);
    }
  }

  /** How many lanes are in use. */
  get count(): number {
    return Math.max(
      0,
      ...this._active.map(
        ({ base, size, wanted }) => base + Math.min(size, wanted)
      )
    );
  }

  private _free(size: number): number {
    let base = 0;
    for (const range of this._active.slice().sort((a, b) => a.base - b.base)) {
      if (base + size <= range.base) {
        break;
      }
      base = Math.max(base, range.base + range.size);
    }
    return base;
  }
}
