import { BoundedMap } from '../../base/bounded-map';
import type { ColumnArray } from '../../records/block';
import type { ColumnType } from '../../records/tables';

type AnyColumn = ColumnArray[ColumnType];
type Packed<C extends AnyColumn> = {
  readonly column: C;
  /** Bytes that it takes by itself: 0 if another column has the same array. */
  readonly nbytes: number;
};

/** Larger whole numbers than these need an array of the next size. */
const LARGEST_U8 = 2 ** 8 - 1;
const LARGEST_U16 = 2 ** 16 - 1;
/** Of columns that have one value, so many bytes are remembered for later chunks. */
const SHARED_BYTES = 4 * 2 ** 20;

const sharedColumns = new BoundedMap<string, AnyColumn>(
  SHARED_BYTES,
  column => column.byteLength
);

/**
 * The values of a column that nobody writes to any more, in less memory where that can be: an array that chunks share if it has one value
 * only, or whole numbers in a narrower array. The same values, read in the same way.
 *
 *     attempt   1 1 1 1 …          one array for all chunks
 *     function  7 3 7 12 …  u32    u8
 *     start     0.1 0.3 …   f64    itself
 */
export function packedColumn<C extends AnyColumn>(column: C): Packed<C> {
  const first = column[0]!;
  if (hasOnly(column, first)) {
    return shared(column, first);
  }
  const narrower = narrowed(column);
  return { column: narrower as C, nbytes: narrower.byteLength };
}

function hasOnly(column: AnyColumn, value: number): boolean {
  for (let i = 0; i < column.length; i++) {
    // NaN is itself, and 0 is not −0.
    if (!Object.is(column[i], value)) {
      return false;
    }
  }
  return true;
}

function shared<C extends AnyColumn>(column: C, value: number): Packed<C> {
  const sign = Object.is(value, -0) ? '-' : '';
  const key = `${column.constructor.name} ${column.length} ${sign}${value}`;
  const known = sharedColumns.get(key);
  if (known !== undefined) {
    return { column: known as C, nbytes: 0 };
  }
  sharedColumns.set(key, column);
  return { column, nbytes: column.byteLength };
}

function narrowed(column: AnyColumn): AnyColumn {
  if (!(column instanceof Uint16Array || column instanceof Uint32Array)) {
    return column;
  }
  let largest = 0;
  for (let i = 0; i < column.length; i++) {
    if (column[i]! > largest) {
      largest = column[i]!;
    }
  }
  if (largest <= LARGEST_U8) {
    return Uint8Array.from(column);
  }
  return largest <= LARGEST_U16 && column instanceof Uint32Array
    ? Uint16Array.from(column)
    : column;
}
