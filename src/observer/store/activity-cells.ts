/**
 * The uses of tasks' seconds, in the order in which they are drawn. Computing off a core is divided into waiting for a core, for the
 * interpreter lock, and blocked, or is `thread-noncpu` where that is not known; `compute` is computing of which the CPU share is not known;
 * `failed`, `cancelled` and `lost` are all of a run that raised while somebody waited for it, whose result nobody wanted, or that ended with
 * its worker.
 *
 * No cell holds `gil`: it is estimated beside the runs, and the folds take it out of `blocked`.
 */
import type { Nanoseconds } from '../../base/brand';
import type { ArrayOf } from '../../base/typed-arrays';
import type { SpanId } from '../../records/ids';
import { NONE_U32, PartKind, wordsOf } from '../../records/enumerations';
export const ACTIVITIES = [
  'thread-cpu',
  'core',
  'gil',
  'blocked',
  'thread-noncpu',
  'compute',
  'transfer',
  'disk-read',
  'disk-write',
  'import',
  'deserialize',
  'serialize',
  'other',
  'failed',
  'cancelled',
  'lost'
] as const;
type ActivityName = (typeof ACTIVITIES)[number];
const ACTIVITY_COUNT = ACTIVITIES.length;
const indexOf = (activity: ActivityName): number =>
  ACTIVITIES.indexOf(activity);
export const THREAD_CPU = indexOf('thread-cpu');
export const CORE = indexOf('core');
export const GIL = indexOf('gil');
export const BLOCKED = indexOf('blocked');
export const THREAD_NONCPU = indexOf('thread-noncpu');
export const COMPUTE = indexOf('compute');
export const TRANSFER = indexOf('transfer');
export const OTHER = indexOf('other');
export const FAILED = indexOf('failed');
export const CANCELLED = indexOf('cancelled');
export const LOST = indexOf('lost');

/** {@link PartKind} → the activity of the same name; compute is divided by CPU time instead. */
export const ACTIVITY_OF_PART: readonly number[] = wordsOf(PartKind).map(word =>
  word === undefined ? OTHER : indexOf(word)
);

/** The function under which pairs beyond the bound are added up. */
export const OTHER_FUNCTION = NONE_U32;
const MOST_CELLS = 200_000;
/** A power of two. */
const RECENT = 256;

/**
 * Integer nanoseconds, bytes and counts per (span, function, activity); runs and executions per (span, function).
 *
 * A float64 holds integers exactly up to 2^53: 104 days of one pair's thread time, so sums of whole nanoseconds are exact in any order.
 *
 *     cell  span  function     ns[cell * 16 + activity]
 *     0     1     inc          thread-cpu 12 000, core 800, …
 *     1     1     add          …
 */
export class ActivityCells {
  private _ns = new Float64Array(16 * ACTIVITY_COUNT);
  private _bytes = new Float64Array(16 * ACTIVITY_COUNT);
  private _events = new Float64Array(16 * ACTIVITY_COUNT);
  private _runs = new Float64Array(16);
  private _failed = new Float64Array(16);
  private _executions = new Float64Array(16);
  private _spans = new Uint16Array(16) as ArrayOf<Uint16Array, SpanId>;
  private _functions = new Uint32Array(16);
  private readonly _cellOf = new Map<number, number>();
  private _length = 0;
  // Pairs that were asked for lately, by a hash of theirs, and their cells: runs of some functions take turns, and a look-up in `_cellOf`
  // makes an object for its key.
  private readonly _recentSpans = new Int32Array(RECENT).fill(-1);
  private readonly _recentFunctions = new Uint32Array(RECENT);
  private readonly _recentCells = new Uint32Array(RECENT);

  /** @param _onNew - called when a pair is met for the first time, in that order. */
  constructor(
    private readonly _onNew: (span: SpanId, fn: number) => void = () => {}
  ) {}

  get length(): number {
    return this._length;
  }

  span(cell: number): SpanId {
    return this._spans[cell]!;
  }

  function(cell: number): number {
    return this._functions[cell]!;
  }

  /** Whole tasks, in the span and under the function of their last part. */
  runs(cell: number): number {
    return this._runs[cell]!;
  }

  failed(cell: number): number {
    return this._failed[cell]!;
  }

  /** How often the function ran: parts of fused tasks, and runs that are not divided. */
  executions(cell: number): number {
    return this._executions[cell]!;
  }

  nanoseconds(cell: number, activity: number): Nanoseconds {
    return this._ns[cell * ACTIVITY_COUNT + activity]!;
  }

  bytes(cell: number, activity: number): number {
    return this._bytes[cell * ACTIVITY_COUNT + activity]!;
  }

  events(cell: number, activity: number): number {
    return this._events[cell * ACTIVITY_COUNT + activity]!;
  }

  /** All activities of a cell. */
  totalNanoseconds(cell: number): Nanoseconds {
    let sum = 0;
    const from = cell * ACTIVITY_COUNT;
    for (let i = from; i < from + ACTIVITY_COUNT; i++) {
      sum += this._ns[i]!;
    }
    return sum;
  }

  cell(span: SpanId, fn: number): number {
    const at = (fn + span * 37) & (RECENT - 1);
    if (this._recentSpans[at] === span && this._recentFunctions[at] === fn) {
      return this._recentCells[at]!;
    }
    const key = span * 0x100000000 + fn;
    let cell = this._cellOf.get(key);
    if (cell === undefined) {
      if (this._length >= MOST_CELLS && fn !== OTHER_FUNCTION) {
        return this.cell(span, OTHER_FUNCTION);
      }
      cell = this._add(span, fn);
      this._cellOf.set(key, cell);
    }
    this._recentSpans[at] = span;
    this._recentFunctions[at] = fn;
    this._recentCells[at] = cell;
    return cell;
  }

  /** @param sign - −1 takes one back. */
  addRun(cell: number, failed: boolean, sign: 1 | -1): void {
    this._runs[cell]! += sign;
    if (failed) {
      this._failed[cell]! += sign;
    }
  }

  /** @param count - −1 takes one back. */
  addExecutions(cell: number, count: number): void {
    this._executions[cell]! += count;
  }

  /** Negative: takes an earlier booking back. */
  addNanoseconds(cell: number, activity: number, ns: Nanoseconds): void {
    this._ns[cell * ACTIVITY_COUNT + activity]! += ns;
  }

  addEvent(cell: number, activity: number, bytes: number): void {
    this._events[cell * ACTIVITY_COUNT + activity]! += 1;
    if (bytes > 0) {
      this._bytes[cell * ACTIVITY_COUNT + activity]! += bytes;
    }
  }

  /**
   * The cells of some spans become those of others.
   *
   * @param into - by span: the other, or itself.
   */
  fold(into: ArrayLike<number>): void {
    const sums = [this._ns, this._bytes, this._events] as const;
    const counts = [this._runs, this._failed, this._executions] as const;
    const [spans, functions] = [this._spans, this._functions];
    const length = this._length;
    this._ns = new Float64Array(sums[0].length);
    this._bytes = new Float64Array(sums[1].length);
    this._events = new Float64Array(sums[2].length);
    this._runs = new Float64Array(counts[0].length);
    this._failed = new Float64Array(counts[1].length);
    this._executions = new Float64Array(counts[2].length);
    this._spans = new Uint16Array(spans.length) as typeof spans;
    this._functions = new Uint32Array(functions.length);
    this._cellOf.clear();
    this._length = 0;
    this._recentSpans.fill(-1);
    for (let old = 0; old < length; old++) {
      const cell = this.cell(into[spans[old]!] as SpanId, functions[old]!);
      [this._runs, this._failed, this._executions].forEach((column, i) => {
        column[cell]! += counts[i]![old]!;
      });
      [this._ns, this._bytes, this._events].forEach((column, i) => {
        for (let activity = 0; activity < ACTIVITY_COUNT; activity++) {
          column[cell * ACTIVITY_COUNT + activity]! +=
            sums[i]![old * ACTIVITY_COUNT + activity]!;
        }
      });
    }
  }

  private _add(span: SpanId, fn: number): number {
    const cell = this._length++;
    if (cell === this._spans.length) {
      this._grow(cell * 2);
    }
    this._spans[cell] = span;
    this._functions[cell] = fn;
    this._onNew(span, fn);
    return cell;
  }

  private _grow(capacity: number): void {
    const wide = (old: Float64Array) => {
      const grown = new Float64Array(capacity * ACTIVITY_COUNT);
      grown.set(old);
      return grown;
    };
    const narrow = (old: Float64Array) => {
      const grown = new Float64Array(capacity);
      grown.set(old);
      return grown;
    };
    this._ns = wide(this._ns);
    this._bytes = wide(this._bytes);
    this._events = wide(this._events);
    this._runs = narrow(this._runs);
    this._failed = narrow(this._failed);
    this._executions = narrow(this._executions);
    const spans = new Uint16Array(capacity) as ArrayOf<Uint16Array, SpanId>;
    spans.set(this._spans);
    this._spans = spans;
    const functions = new Uint32Array(capacity);
    functions.set(this._functions);
    this._functions = functions;
  }
}
