import type { SpanId } from '../../records/ids';
import { OTHER_FUNCTION } from './activity-cells';

/** Context of the rows of `fine` that are of tasks: their inputs, and of a Dask cluster all that they did. */
export const IN_TASKS = 'execute';
/** Bounds of the sums; beyond them rows are added up under {@link OTHER_FUNCTION} of span 0. */
const MOST_SUMS = 200_000;
/** A key is span × 2^32 + function. */
const SPAN = 0x100000000;

/** Rows of `fine` of one context, activity and unit (ids of names), added up. */
type Kind = {
  readonly context: number;
  readonly activity: number;
  readonly unit: number;
  /** By span and function. */
  values: Map<number, number>;
};

type FineSum = {
  /** Ids of names. */
  readonly context: number;
  readonly activity: number;
  readonly unit: number;
  readonly span: SpanId;
  /** A name id, or {@link OTHER_FUNCTION}. */
  readonly function: number;
  /** In the unit. */
  readonly value: number;
};

/**
 * Rows of `fine` without their seconds and workers.
 *
 *     second worker context activity  span function value        kind                       span function value
 *     17     0      noncpu  gil       1    inc      0.25         noncpu, gil, seconds   ─┬─ 1    inc      0.75
 *     18     1      noncpu  gil       1    inc      0.5                                  └─ 2    add      0.5
 *     18     1      noncpu  gil       2    add      0.5
 *
 * There are a handful of kinds, so a row costs a look at the last one and one look into a map.
 */
export class FineSums {
  private readonly _kinds: Kind[] = [];
  private _last: Kind | undefined;
  private _size = 0;

  add(
    context: number,
    activity: number,
    unit: number,
    span: SpanId,
    fn: number,
    value: number
  ): void {
    const { values } = this._kind(context, activity, unit);
    const own = span * SPAN + fn;
    const key =
      this._size < MOST_SUMS || values.has(own) ? own : OTHER_FUNCTION;
    const sum = values.get(key);
    if (sum === undefined) {
      this._size++;
    }
    values.set(key, (sum ?? 0) + value);
  }

  /**
   * The sums of some spans become those of others.
   *
   * @param into - by span: the other, or itself.
   */
  fold(into: ArrayLike<number>): void {
    this._size = 0;
    for (const kind of this._kinds) {
      const values = new Map<number, number>();
      for (const [key, value] of kind.values) {
        const span = Math.floor(key / SPAN);
        const folded = into[span]! * SPAN + (key - span * SPAN);
        values.set(folded, (values.get(folded) ?? 0) + value);
      }
      kind.values = values;
      this._size += values.size;
    }
  }

  *all(): Generator<FineSum> {
    for (const { context, activity, unit, values } of this._kinds) {
      for (const [key, value] of values) {
        const span = Math.floor(key / SPAN) as SpanId;
        const fn = key - span * SPAN;
        yield { context, activity, unit, span, function: fn, value };
      }
    }
  }

  private _kind(context: number, activity: number, unit: number): Kind {
    const isSame = (kind: Kind): boolean =>
      kind.activity === activity &&
      kind.context === context &&
      kind.unit === unit;
    if (this._last === undefined || !isSame(this._last)) {
      this._last = this._kinds.find(isSame);
      if (this._last === undefined) {
        this._last = { context, activity, unit, values: new Map() };
        this._kinds.push(this._last);
      }
    }
    return this._last;
  }
}
