import type { Nanoseconds } from '../../base/brand';
import type { SpanId } from '../../records/ids';
import { NONE_U32 } from '../../records/enumerations';
import { OTHER_FUNCTION } from './activity-cells';
import { nanoseconds } from './run-book';

/**
 * Beyond this many sums, figures of one unit, span and function are added up under one label; beyond twice as many, those of one unit, under
 * no span and no function.
 */
const MOST_SUMS = 200_000;
/** A key is span × 2^32 + function. */
const SPAN = 0x100000000;
const OTHER_LABEL = NONE_U32;

type Figures = {
  /** Seconds of the runs, which are taken off their computing: those on a core, and the others. */
  onCore: Nanoseconds;
  offCore: Nanoseconds;
  /** What takes nothing off: figures of other units in them, and seconds beyond the time that there was. */
  beside: number;
};

type MeterSum = Readonly<Figures> & {
  /** Ids of names. */
  readonly label: number;
  readonly unit: number;
  readonly span: SpanId;
  readonly function: number;
};

/** Rows of `meters` of one label and unit, added up by span and function. */
type Kind = {
  readonly label: number;
  readonly unit: number;
  figures: Map<number, Figures>;
};

/** A row of `meters`, or the part of it that lies in a range of time. */
export type MeterFigure = {
  readonly label: number;
  readonly unit: number;
  readonly span: SpanId;
  readonly function: number;
  readonly value: number;
  /** Of seconds of a run those on a core; NaN: the value takes nothing off. */
  readonly cpu: number;
};

/**
 * What tasks measured themselves, without their runs. Nanoseconds are whole, so that sums are exact in any order.
 *
 *     run label  unit    span function value cpu         label, unit      span function on core  off core  beside
 *     17  decode seconds 1    load     0.25  0.1         decode, seconds ─┬ 1  load     150 ms   350 ms    0
 *     18  decode seconds 1    load     0.25  0.05                        └ 2  load     …
 *     18  rows   count   1    load     7     –           rows, count     ── 1  load     0        0         7
 */
export class MeterSums {
  private readonly _kinds = new Map<number, Map<number, Kind>>();
  private _size = 0;

  constructor(private readonly _most = MOST_SUMS) {}

  add({ label, unit, span, function: fn, value, cpu }: MeterFigure): void {
    if (Number.isNaN(value)) {
      return;
    }
    const key = span * SPAN + fn;
    const figures =
      this._figures(label, unit, key, this._most) ??
      this._figures(OTHER_LABEL, unit, key, 2 * this._most) ??
      this._figures(OTHER_LABEL, unit, OTHER_FUNCTION, Infinity)!;
    if (Number.isNaN(cpu)) {
      figures.beside += value;
    } else {
      const onCore = nanoseconds(cpu);
      figures.onCore += onCore;
      figures.offCore += nanoseconds(value) - onCore;
    }
  }

  /**
   * The sums of some spans become those of others.
   *
   * @param into - by span: the other, or itself.
   */
  fold(into: ArrayLike<number>): void {
    this._size = 0;
    for (const byLabel of this._kinds.values()) {
      for (const kind of byLabel.values()) {
        const folded = new Map<number, Figures>();
        for (const [key, sums] of kind.figures) {
          const span = Math.floor(key / SPAN);
          const other = into[span]! * SPAN + (key - span * SPAN);
          const before = folded.get(other);
          if (before === undefined) {
            folded.set(other, sums);
          } else {
            before.onCore += sums.onCore;
            before.offCore += sums.offCore;
            before.beside += sums.beside;
          }
        }
        kind.figures = folded;
        this._size += folded.size;
      }
    }
  }

  *all(): Generator<MeterSum> {
    for (const byLabel of this._kinds.values()) {
      for (const { label, unit, figures } of byLabel.values()) {
        for (const [key, sums] of figures) {
          const span = Math.floor(key / SPAN) as SpanId;
          yield { label, unit, span, function: key - span * SPAN, ...sums };
        }
      }
    }
  }

  private _figures(
    label: number,
    unit: number,
    key: number,
    most: number
  ): Figures | undefined {
    const hasRoom = this._size < most;
    let byLabel = this._kinds.get(unit);
    if (byLabel === undefined) {
      if (!hasRoom) {
        return undefined;
      }
      byLabel = new Map();
      this._kinds.set(unit, byLabel);
    }
    let kind = byLabel.get(label);
    if (kind === undefined) {
      if (!hasRoom) {
        return undefined;
      }
      kind = { label, unit, figures: new Map() };
      byLabel.set(label, kind);
    }
    let figures = kind.figures.get(key);
    if (figures === undefined && hasRoom) {
      figures = { onCore: 0, offCore: 0, beside: 0 };
      kind.figures.set(key, figures);
      this._size++;
    }
    return figures;
  }
}
