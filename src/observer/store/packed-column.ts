import { BoundedMap } from '../../base/bounded-map';
import type { ColumnArray } from '../../records/block';
import type { ColumnType } from '../../records/tables';

type AnyColumn = ColumnArray[ColumnType];
type Packed<C extends AnyColumn> = {
  readonly column: C;
  /** Bytes that it takes by itself: 0 if another column has the same array. */
  readonly nbytes: number;
};

const WORD_BYTES = 4;
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
  if (hasOnlyOne(column)) {
    return shared(column, first);
  }
  const narrower = narrowed(column);
  return { column: narrower as C, nbytes: narrower.byteLength };
}

/** Compares bits, so that NaN is itself and 0 is not −0, in words of 32: one loop for all types of columns, six times as fast. */
function hasOnlyOne(column: AnyColumn): boolean {
  const width = column.BYTES_PER_ELEMENT;
  const last = column.length - 1;
  if (!Object.is(column[last], column[0])) {
    return false;
  }
  if ((column.byteOffset | column.byteLength) % WORD_BYTES !== 0) {
    return column.every((value: number) => Object.is(value, column[0]));
  }
  const words = new Uint32Array(
    column.buffer,
    column.byteOffset,
    column.byteLength / WORD_BYTES
  );
  const few = Math.max(1, WORD_BYTES / width);
  for (let i = 1; i < few; i++) {
    if (!Object.is(column[i], column[0])) {
      return false;
    }
  }
  const step = Math.max(1, width / WORD_BYTES);
  for (let i = step; i < words.length; i++) {
    if (words[i] !== words[i - step]) {
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
  const largest =
    column instanceof Uint32Array ? largestU32(column) : largestU16(column);
  // (not by `from`, which iterates)
  if (largest <= LARGEST_U8) {
    return new Uint8Array(column);
  }
  return largest <= LARGEST_U16 && column instanceof Uint32Array
    ? new Uint16Array(column)
    : column;
}

// A loop of its own for each type, as one for both reads its array five times as slowly.

function largestU32(column: Uint32Array): number {
  let largest = 0;
  for (let i = 0; i < column.length && largest <= LARGEST_U16; i++) {
    if (column[i]! > largest) {
      largest = column[i]!;
    }
  }
  return largest;
}

function largestU16(column: Uint16Array): number {
  let largest = 0;
  for (let i = 0; i < column.length && largest <= LARGEST_U8; i++) {
    if (column[i]! > largest) {
      largest = column[i]!;
    }
  }
  return largest;
}
