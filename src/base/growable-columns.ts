import type { IndexedBy } from './typed-arrays';

/** A typed array whose contents survive growth; the types that a column may have. */
type Column =
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Int16Array
  | Uint32Array
  | Int32Array
  | Float32Array
  | Float64Array;

/**
 * A copy of `column` with room for `length` rows. New rows hold `fill`.
 *
 * The old array stays as it was, so that a reader who kept it does not see later writes: fetch a column again after every call that may
 * add rows.
 */
export function grownColumn<T extends Column>(
  column: T,
  length: number,
  fill?: number
): T;
export function grownColumn<I extends number, T extends Column>(
  column: IndexedBy<I, T>,
  length: number,
  fill?: number
): IndexedBy<I, T>;
export function grownColumn<T extends Column>(
  column: T,
  length: number,
  fill = 0
): T {
  const grown = new (column.constructor as new (length: number) => T)(length);
  grown.set(column);
  if (fill !== 0) {
    grown.fill(fill, column.length);
  }
  return grown;
}

/** The same rows in a column of another type, which holds larger numbers. */
export function widenedColumn<T extends Column>(
  column: Column,
  wider: new (length: number) => T
): T {
  const widened = new wider(column.length);
  widened.set(column);
  return widened;
}

/** From here on a table grows by less than double: what it has too much would be megabytes. Smaller steps before cost more than they save. */
const DOUBLED_ROWS = 2 ** 17;

/**
 * The capacity of tables with a row per task or edge, for `needed` rows: a power of two, or, beyond {@link DOUBLED_ROWS}, one of three steps
 * between two of them. So at most a fifth of a large table is empty, and each row is copied five times in all.
 */
export function tightCapacity(current: number, needed: number): number {
  if (needed <= Math.max(current, DOUBLED_ROWS)) {
    return nextCapacity(current, needed);
  }
  const step = nextCapacity(DOUBLED_ROWS, needed) / 8;
  return Math.ceil(needed / step) * step;
}

/**
 * The capacity to grow to for `needed` rows: the next power of two, so that n appended rows cost O(n) copies in all.
 */
export function nextCapacity(current: number, needed: number): number {
  let capacity = Math.max(current, 16);
  while (capacity < needed) {
    capacity *= 2;
  }
  return capacity;
}
