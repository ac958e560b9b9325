import { grownColumn, tightCapacity } from '../../base/growable-columns';

/** Rows per entry of the zone map. */
const ZONE_SHIFT = 8;
const ZONE_ROWS = 1 << ZONE_SHIFT;
/** 2^41 µs are 25 days: everything longer is in the last class. */
export const CLASS_COUNT = 42;

/** floor(log2(duration in µs)); durations below 2 µs are class 0. */
export function durationClass(seconds: number): number {
  const microseconds = seconds * 1e6;
  if (!(microseconds >= 2)) {
    return 0;
  }
  if (microseconds < 0x80000000) {
    return 31 - Math.clz32(microseconds);
  }
  return Math.min(CLASS_COUNT - 1, Math.floor(Math.log2(microseconds)));
}

/**
 * Row numbers in the order in which they came, with the extent in time of each 256 of them, so that a range of time is found by looking
 * at the zones. Rows of one duration class come nearly in the order of time (a run is reported when it stops, and durations differ by less
 * than a factor of two), so zones are narrow however long other runs take. Rows of which none is left out are not kept one by one.
 */
export class ZonedRows {
  /** null while each row follows the one before it: then row i is `_firstRow` + i. */
  private _rows: Uint32Array | null = null;
  private _firstRow = 0;
  private _from = new Float64Array(1);
  private _to = new Float64Array(1);
  private _length = 0;
  private _firstZone = 0;
  /** Zones before those that the arrays hold. */
  private _goneZones = 0;

  get isEmpty(): boolean {
    return this._firstZone * ZONE_ROWS >= this._length;
  }

  /**
   * A row whose time is not known lies in no range and is left out: its zone's extent would be unknown, which would hide all rows of the
   * zone.
   */
  push(row: number, from: number, to: number): void {
    if (Number.isNaN(from) || Number.isNaN(to)) {
      return;
    }
    this._note(row);
    const zone = this._length >> ZONE_SHIFT;
    if (zone === this._from.length) {
      const zones = tightCapacity(zone, zone + 1);
      this._from = grownColumn(this._from, zones);
      this._to = grownColumn(this._to, zones);
    }
    if (this._length++ % ZONE_ROWS === 0) {
      this._from[zone] = from;
      this._to[zone] = to;
      return;
    }
    if (from < this._from[zone]!) {
      this._from[zone] = from;
    }
    if (to > this._to[zone]!) {
      this._to[zone] = to;
    }
  }

  /** Row i of the list, which has i rows so far. */
  private _note(row: number): void {
    const length = this._length;
    if (this._rows === null) {
      if (length === 0) {
        this._firstRow = row;
      }
      if (row === this._firstRow + length) {
        return;
      }
      this._rows = this._listed(0, length, tightCapacity(0, length + 1));
    } else if (length === this._rows.length) {
      this._rows = grownColumn(this._rows, tightCapacity(length, length + 1));
    }
    this._rows[length] = row;
  }

  /** Rows first … end − 1 of the list, in an array with room for so many. */
  private _listed(first: number, end: number, capacity: number): Uint32Array {
    const rows = new Uint32Array(capacity);
    for (let i = first; i < end; i++) {
      rows[i - first] = this._firstRow + i;
    }
    return rows;
  }

  /** At most how many rows the zones of {@link ZonedRows.zones} hold. */
  count(from: number, to: number): number {
    let count = 0;
    const zones = Math.ceil(this._length / ZONE_ROWS);
    for (let zone = this._firstZone; zone < zones; zone++) {
      if (this._from[zone]! < to && this._to[zone]! >= from) {
        count += ZONE_ROWS;
      }
    }
    return Math.min(count, this._length);
  }

  /**
   * Zones that reach into [from, to): `visit(rows, first, end)`; rows[first…end) may hold some that do not.
   *
   * @param before - rows from this one on are left out; they must have come in rising order.
   */
  *zones(
    from: number,
    to: number,
    before = Infinity
  ): Generator<[Uint32Array, number, number]> {
    const endZone = this._goneZones + Math.ceil(this._length / ZONE_ROWS);
    // Counted since the first one ever: zones may go while who asks does something else.
    for (let at = this._goneZones + this._firstZone; at < endZone; at++) {
      const zone = at - this._goneZones;
      if (this._from[zone]! < to && this._to[zone]! >= from) {
        const first = zone * ZONE_ROWS;
        let end = Math.min(first + ZONE_ROWS, this._length);
        while (
          end > first &&
          (this._rows?.[end - 1] ?? this._firstRow + end - 1) >= before
        ) {
          end--;
        }
        if (end === first) {
          return;
        }
        if (this._rows === null) {
          yield [this._listed(first, end, end - first), 0, end - first];
        } else {
          yield [this._rows, first, end];
        }
      }
    }
  }

  /** Forgets zones that hold only rows below `row`. */
  dropBelow(row: number): void {
    const zones = Math.floor(this._length / ZONE_ROWS);
    while (this._firstZone < zones) {
      const first = this._firstZone * ZONE_ROWS;
      for (let i = first; i < first + ZONE_ROWS; i++) {
        if ((this._rows?.[i] ?? this._firstRow + i) >= row) {
          this._compact();
          return;
        }
      }
      this._firstZone++;
    }
    this._compact();
  }

  /** Moves the kept rows to the front once more than half of the list is forgotten. */
  private _compact(): void {
    const forgotten = this._firstZone * ZONE_ROWS;
    if (forgotten === 0 || forgotten * 2 < this._length) {
      return;
    }
    this._rows = this._rows?.slice(forgotten) ?? null;
    this._firstRow += forgotten;
    this._from = this._from.slice(this._firstZone);
    this._to = this._to.slice(this._firstZone);
    this._length -= forgotten;
    this._goneZones += this._firstZone;
    this._firstZone = 0;
  }
}

/** The rows of a table by duration class. */
export class DurationClasses {
  private readonly _classes: ZonedRows[] = Array.from(
    { length: CLASS_COUNT },
    () => new ZonedRows()
  );
  private _shortest = CLASS_COUNT;

  /** The smallest class that has a row. */
  get shortest(): number {
    return this._shortest;
  }

  /** A row whose duration is not known (NaN) is in no class: it lies in no range of time. */
  push(row: number, from: number, duration: number): void {
    const number = durationClass(duration);
    if (number < this._shortest) {
      this._shortest = number;
    }
    this._classes[number]!.push(row, from, from + duration);
  }

  of(number: number): ZonedRows {
    return this._classes[number]!;
  }

  /** An upper bound of the rows shorter than 2^level µs that reach into [from, to). */
  countShorter(level: number, from: number, to: number): number {
    let count = 0;
    const end = Math.min(level, CLASS_COUNT);
    for (let number = this._shortest; number < end; number++) {
      count += this._classes[number]!.count(from, to);
    }
    return count;
  }

  dropBelow(row: number): void {
    for (const rows of this._classes) {
      rows.dropBelow(row);
    }
  }
}
