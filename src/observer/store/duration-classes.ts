import { grownColumn, nextCapacity } from '../../base/growable-columns';

/** Rows per entry of the zone map. */
const ZONE_SHIFT = 8;
const ZONE_ROWS = 1 << ZONE_SHIFT;
/** 2^41 µs are 25 days: everything longer is in the last class. */
export const CLASS_COUNT = 42;

/** floor(log2(duration in µs)); durations below 2 µs are class 0. */
function durationClass(seconds: number): number {
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
 * than a factor of two), so zones are narrow however long other runs take.
 */
export class ZonedRows {
  private _rows = new Uint32Array(16);
  private _from = new Float64Array(1);
  private _to = new Float64Array(1);
  private _length = 0;
  private _firstZone = 0;

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
    if (this._length === this._rows.length) {
      const capacity = nextCapacity(this._length, this._length + 1);
      this._rows = grownColumn(this._rows, capacity);
      const zones = Math.max(1, capacity >> ZONE_SHIFT);
      this._from = grownColumn(this._from, zones);
      this._to = grownColumn(this._to, zones);
    }
    const zone = this._length >> ZONE_SHIFT;
    this._rows[this._length] = row;
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

  /** Zones that reach into [from, to): `visit(rows, first, end)`; rows[first…end) may hold some that do not. */
  *zones(from: number, to: number): Generator<[Uint32Array, number, number]> {
    const zones = Math.ceil(this._length / ZONE_ROWS);
    for (let zone = this._firstZone; zone < zones; zone++) {
      if (this._from[zone]! < to && this._to[zone]! >= from) {
        const first = zone * ZONE_ROWS;
        yield [this._rows, first, Math.min(first + ZONE_ROWS, this._length)];
      }
    }
  }

  /** Forgets zones that hold only rows below `row`. */
  dropBelow(row: number): void {
    const zones = Math.floor(this._length / ZONE_ROWS);
    while (this._firstZone < zones) {
      const first = this._firstZone * ZONE_ROWS;
      for (let i = first; i < first + ZONE_ROWS; i++) {
        if (this._rows[i]! >= row) {
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
    this._rows = this._rows.slice(forgotten);
    this._from = this._from.slice(this._firstZone);
    this._to = this._to.slice(this._firstZone);
    this._length -= forgotten;
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
