import { placeInOrder } from '../../base/place-in-order';
import type { LaneId } from '../../records/ids';
import { CHUNK_MASK } from '../store/column-table';
import { CLASS_COUNT } from '../store/duration-classes';
import { STATUS_REPLACED } from '../store/log-store';
import {
  ROWS_PER_SLICE,
  type FoldContext,
  type Range,
  type Slices
} from './context';

/** So many of the longest stretches are kept, and as many again until they are sorted out. */
const MOST_STRETCHES = 4096;
/** A run with less of the idle seconds than that is not what threads have waited for. */
const LEAST_SHARE = 0.1;

export type WaitedFor = {
  /** Of the run; its number as a name of the log. */
  readonly function: number;
  /** Idle seconds on all threads while it ran. */
  readonly seconds: number;
  /** There were more stretches than are kept, so it may have been more. */
  readonly isLeast: boolean;
};

type Stretch = {
  readonly from: number;
  readonly to: number;
  readonly threads: number;
};

/**
 * Finds the run during which threads had nothing runnable for the longest:
 *
 *     0/0  aaaaaa▒▒▒▒▒▒
 *     0/1  bb▒▒▒▒▒▒▒▒▒▒      a: 10, c: 12 of 22 seconds
 *     0/2  ▒▒▒▒▒▒cccccc
 *
 * Sums over the idle stretches are taken from one curve, their integral from the range's start on: of a run it is the difference between its
 * stop and its start. So each run is looked at once at most, and most are passed over by their
 * duration alone.
 */
export class LongestWaitedFor {
  private _stretches: Stretch[] = [];
  /** Thread seconds of the longest stretch that was left out. */
  private _leftOut = 0;
  private _seconds = 0;

  add(from: number, to: number, threads: number): void {
    const seconds = (to - from) * threads;
    this._seconds += seconds;
    if (seconds > this._leftOut) {
      this._stretches.push({ from, to, threads });
      if (this._stretches.length === 2 * MOST_STRETCHES) {
        this._keepLongest();
      }
    }
  }

  private _keepLongest(): void {
    this._stretches.sort((a, b) => secondsOf(b) - secondsOf(a));
    this._leftOut = secondsOf(this._stretches[MOST_STRETCHES]!);
    this._stretches.length = MOST_STRETCHES;
  }

  /** Null: no run stands out. */
  *find(
    { log, moment }: Pick<FoldContext, 'log' | 'moment'>,
    range: Range
  ): Slices<WaitedFor | null> {
    if (this._stretches.length === 0) {
      return null;
    }
    const curve = new IdleCurve(this._stretches);
    let best = null as Omit<WaitedFor, 'isLeast'> | null;
    let least = LEAST_SHARE * this._seconds;
    const look = (
      start: number,
      stop: number,
      fn: number,
      lane: LaneId
    ): void => {
      // What has left its thread waits for others itself.
      if (log.besideLanes[lane] !== 1) {
        const seconds = curve.at(stop) - curve.at(start);
        if (seconds > least) {
          least = seconds;
          best = { function: fn, seconds };
        }
      }
    };
    for (const [lane, running] of moment.running) {
      look(running.started, range.to, running.function, lane);
    }
    let seen = 0;
    // The longest come first: then few others can have more.
    for (let number = CLASS_COUNT - 1; number >= 0; number--) {
      if (longestOf(number) * curve.mostThreads <= least) {
        break;
      }
      for (const [rows, first, end] of log.runClasses
        .of(number)
        .zones(curve.from, curve.to, moment.rows.runs)) {
        for (let i = first; i < end; i++) {
          const row = rows[i]!;
          const columns = log.runs.chunkOf(row)?.columns;
          const j = row & CHUNK_MASK;
          const duration = columns?.duration[j] ?? 0;
          if (
            columns !== undefined &&
            duration * curve.mostThreads > least &&
            columns.status[j] !== STATUS_REPLACED
          ) {
            const start = columns.start[j]!;
            look(
              start,
              start + duration,
              columns.function[j]!,
              columns.lane[j]!
            );
          }
        }
        seen += end - first;
        if (seen >= ROWS_PER_SLICE) {
          seen = 0;
          yield;
        }
      }
    }
    return best === null ? null : { ...best, isLeast: this._leftOut > 0 };
  }
}

/** No run of a duration class takes as long. */
const longestOf = (number: number): number =>
  number === CLASS_COUNT - 1 ? Infinity : 2 ** (number + 1) / 1e6;

const secondsOf = ({ from, to, threads }: Stretch): number =>
  (to - from) * threads;

/** Idle thread seconds up to a time. */
class IdleCurve {
  /** In the order of time: the seconds up to each, and how many threads are idle from there on. */
  private readonly _corners: {
    readonly t: number;
    readonly seconds: number;
    readonly threads: number;
  }[] = [];
  readonly mostThreads: number;
  /** When it begins to rise, and ends. */
  readonly from: number;
  readonly to: number;

  constructor(stretches: readonly Stretch[]) {
    const edges = stretches
      .flatMap(({ from, to, threads }) => [
        [from, threads] as const,
        [to, -threads] as const
      ])
      .sort(([a], [b]) => a - b);
    this.from = edges[0]![0];
    this.to = edges.at(-1)![0];
    let [seconds, threads, most, before] = [0, 0, 0, this.from];
    for (const [t, change] of edges) {
      seconds += threads * (t - before);
      threads += change;
      most = Math.max(most, threads);
      before = t;
      this._corners.push({ t, seconds, threads });
    }
    this.mostThreads = most;
  }

  at(t: number): number {
    const last = this._corners[placeInOrder(this._corners, t, timeOf) - 1];
    return last === undefined ? 0 : last.seconds + last.threads * (t - last.t);
  }
}

const timeOf = ({ t }: { readonly t: number }): number => t;
