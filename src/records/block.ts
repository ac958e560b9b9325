/**
 * A block of the record log: some rows of one table, as bytes.
 *
 *     0  u32 'SWB2' ┬ 4  u32 seq ┬ 8  u16 table ┬ 10 u16 flags ┬ 12 u32 rows ┬ 16 u32 textBytes ┬ 20 u32 totalBytes
 *     24 column 0 ┬ 0 to 8 ┬ column 1 ┬ 0 to 8 ┬ … ┬ text (utf8) ┬ 0 to 8
 *
 * Every column starts 8-aligned and the total is a multiple of 8, so that blocks may stand one behind the other in a file. A text column is
 * its u32 end offsets; the texts of the first text column come first, then those of the second, so that a text starts where the one
 * before it ends:
 *
 *     rows   name   host      name: 3 6   host: 8 10    text "incaddh1h2"
 *     0      inc    h1
 *     1      add    h2
 *
 * A block that begins with 'SWB3' has columns of one value for all rows, which stands there once; bit i of its flags is column i's. Neither
 * the first column nor a text column is one, so that the rows always follow from the length, and a few bytes claim no million rows:
 *
 *     flags 0b0110     column 0: rows values ┬ column 1: one value ┬ column 2: one value ┬ column 3: rows values ┬ …
 *
 * A block of the first format begins with 'SWB1': its numbers of spans are u16.
 */
import {
  aligned,
  type ArrayIn,
  type NumberIn,
  type NumberType,
  TYPED_ARRAYS,
  type TypedArrays
} from '../base/typed-arrays';
import { decodeText } from './decode-text';
import { NONE_U16, NONE_U32 } from './enumerations';
import {
  narrowBefore,
  TABLES,
  type ColumnType,
  type TableName
} from './tables';

/** 'SWB2', 'SWB3' and 'SWB1' as little-endian u32. */
const MAGIC = 0x32425753;
const CONSTANTS_MAGIC = 0x33425753;
const FIRST_MAGIC = 0x31425753;
const BLOCK_HEADER_BYTES = 24;
/** Blocks of fewer rows are written whole: there is little to gain. Of a run that does nothing, 25 of 60 bytes are the same in all rows. */
const CONSTANT_FROM_ROWS = 64;

/** The bytes are not a block of this log. */
export class BrokenBlock extends Error {
  override readonly name = 'BrokenBlock';
}

/** A text column holds end offsets. */
export const COLUMN_ARRAYS = {
  ...TYPED_ARRAYS,
  text: Uint32Array
} as const satisfies Record<ColumnType, unknown>;

export type ColumnArray = TypedArrays & { text: Uint32Array };
/** The array of a column of the type `C`. */
export type ArrayOfColumn<C> = C extends NumberType
  ? ArrayIn<C>
  : ColumnArray['text'];

type ColumnsOfTable<T extends TableName> = (typeof TABLES)[T]['columns'];

/** A table's columns as arrays; of a text column, its end offsets. */
export type ColumnArrays<T extends TableName> = {
  readonly [C in keyof ColumnsOfTable<T>]: ArrayOfColumn<ColumnsOfTable<T>[C]>;
};

/** A table's columns as read. */
type BlockColumns<T extends TableName> = {
  readonly [C in keyof ColumnsOfTable<T>]: ColumnsOfTable<T>[C] extends 'text'
    ? TextColumn
    : ArrayOfColumn<ColumnsOfTable<T>[C]>;
};

/** One row: numbers, and texts where the column is one. */
export type Row<T extends TableName> = {
  readonly [C in keyof ColumnsOfTable<T>]: ColumnsOfTable<T>[C] extends 'text'
    ? string
    : NumberIn<ColumnsOfTable<T>[C]>;
};

/** A block as read: a union over the tables, told apart by `table`. Columns are views of the bytes. */
export type Block<T extends TableName = TableName> = T extends TableName
  ? {
      readonly seq: number;
      readonly table: T;
      readonly rows: number;
      readonly columns: BlockColumns<T>;
      /** Of the whole block, padding included. */
      readonly byteLength: number;
    }
  : never;

/** Texts that are decoded when asked for. */
export class TextColumn {
  constructor(
    private readonly _text: Uint8Array,
    private readonly _ends: Uint32Array,
    private readonly _start: number
  ) {}

  get length(): number {
    return this._ends.length;
  }

  /** For readers of the whole column: where the first text begins in `text`, and where each ends. */
  get raw(): {
    readonly text: Uint8Array;
    readonly start: number;
    readonly ends: Uint32Array;
  } {
    return { text: this._text, start: this._start, ends: this._ends };
  }

  at(row: number): string {
    const start = row === 0 ? this._start : this._ends[row - 1]!;
    return decodeText(this._text, start, this._ends[row]!);
  }

  toArray(): string[] {
    return Array.from(this._ends, (_, row) => this.at(row));
  }
}

const TABLE_OF_NUMBER: ReadonlyMap<number, TableName> = new Map(
  Object.entries(TABLES).map(([name, { number }]) => [
    number,
    name as TableName
  ])
);

const columnsByTable = Object.fromEntries(
  Object.entries(TABLES).map(([name, { columns }]) => [
    name,
    Object.entries(columns)
  ])
) as unknown as Readonly<
  Record<TableName, readonly (readonly [string, ColumnType])[]>
>;

/**
 * @param columns at least `rows` values each; of text columns the end offsets within `text`.
 * @param text the texts of all text columns, one column after another.
 * @param constantFrom of so many rows on, columns of one value are written once.
 */
export function encodeBlock<T extends TableName>(
  seq: number,
  table: T,
  rows: number,
  columns: ColumnArrays<T>,
  text: Uint8Array = new Uint8Array(0),
  constantFrom: number = CONSTANT_FROM_ROWS
): Uint8Array<ArrayBuffer> {
  const types = columnsByTable[table];
  const arrays = columns as Readonly<Record<string, Uint8Array>>;
  let constants = 0;
  let total = BLOCK_HEADER_BYTES;
  types.forEach(([name, type], i) => {
    const values = arrays[name];
    if (values === undefined || values.length < rows) {
      throw new TypeError(
        `${table}.${name} has ${values?.length ?? 'no'} values, the block ${rows} rows.`
      );
    }
    if (
      rows >= constantFrom &&
      mayBeConstant(i, type) &&
      isConstant(values, rows)
    ) {
      constants |= 1 << i;
    }
    total = aligned(total) + columnBytes(type, valuesOf(constants, i, rows));
  });
  const textStart = aligned(total);
  total = aligned(textStart + text.length);

  const buffer = new ArrayBuffer(total);
  const view = new DataView(buffer);
  view.setUint32(0, constants === 0 ? MAGIC : CONSTANTS_MAGIC, true);
  view.setUint32(4, seq, true);
  view.setUint16(8, TABLES[table].number, true);
  view.setUint16(10, constants, true);
  view.setUint32(12, rows, true);
  view.setUint32(16, text.length, true);
  view.setUint32(20, total, true);
  let at = BLOCK_HEADER_BYTES;
  types.forEach(([name, type], i) => {
    at = aligned(at);
    const count = valuesOf(constants, i, rows);
    new COLUMN_ARRAYS[type](buffer, at, count).set(
      arrays[name]!.subarray(0, count)
    );
    at += columnBytes(type, count);
  });
  const bytes = new Uint8Array(buffer);
  bytes.set(text, textStart);
  return bytes;
}

function columnBytes(type: ColumnType, values: number): number {
  return values * COLUMN_ARRAYS[type].BYTES_PER_ELEMENT;
}

function mayBeConstant(index: number, type: ColumnType): boolean {
  return index > 0 && type !== 'text';
}

/** How many values of a column stand in the block. */
function valuesOf(constants: number, index: number, rows: number): number {
  return (constants >>> index) % 2 === 1 ? 1 : rows;
}

/** Whether all rows have the same bits: so 0 is not −0, and NaN is NaN. */
function isConstant(values: ColumnArray[ColumnType], rows: number): boolean {
  const { buffer, byteOffset, BYTES_PER_ELEMENT: width } = values;
  const words =
    width === 1
      ? new Uint8Array(buffer, byteOffset, rows)
      : width === 2
        ? new Uint16Array(buffer, byteOffset, rows)
        : new Uint32Array(buffer, byteOffset, (rows * width) / 4);
  const each = width === 8 ? 2 : 1;
  for (let i = each; i < words.length; i++) {
    if (words[i] !== words[i - each]) {
      return false;
    }
  }
  return true;
}

/** What the first bytes of a block say of it. */
type BlockHeader = {
  readonly isFirstFormat: boolean;
  readonly seq: number;
  readonly table: TableName;
  /** Bit i is column i's, which has one value. */
  readonly constants: number;
  readonly rows: number;
  readonly textBytes: number;
  /** Of the whole block, padding included. */
  readonly total: number;
};

/** @throws BrokenBlock */
function blockHeader(bytes: Uint8Array): BlockHeader {
  const { buffer, byteOffset, byteLength } = bytes;
  if (byteLength < BLOCK_HEADER_BYTES) {
    throw new BrokenBlock(`A block of ${byteLength} bytes.`);
  }
  const view = new DataView(buffer, byteOffset, byteLength);
  const magic = view.getUint32(0, true);
  const constants = view.getUint16(10, true);
  const isKnown =
    magic === CONSTANTS_MAGIC
      ? constants !== 0
      : (magic === MAGIC || magic === FIRST_MAGIC) && constants === 0;
  if (!isKnown) {
    throw new BrokenBlock('Not a block of this format.');
  }
  const table = TABLE_OF_NUMBER.get(view.getUint16(8, true));
  if (table === undefined) {
    throw new BrokenBlock(`No table ${view.getUint16(8, true)}.`);
  }
  const total = view.getUint32(20, true);
  if (total > byteLength) {
    throw new BrokenBlock(`${total} bytes, but ${byteLength} are there.`);
  }
  return {
    isFirstFormat: magic === FIRST_MAGIC,
    seq: view.getUint32(4, true),
    table,
    constants,
    rows: view.getUint32(12, true),
    textBytes: view.getUint32(16, true),
    total
  };
}

type BlockLayout = BlockHeader & {
  readonly types: readonly (readonly [string, ColumnType])[];
  /** Where the columns begin, and the text. */
  readonly starts: readonly number[];
  readonly textStart: number;
  /** What it would take with all its columns written whole. */
  readonly wholeBytes: number;
};

/**
 * Where everything lies. Looks at the header, the lengths, and where texts end: not at numbers.
 *
 * @param bytes begins with the block, at a multiple of 8.
 * @throws BrokenBlock
 */
function layoutOf(bytes: Uint8Array): BlockLayout {
  const header = blockHeader(bytes);
  const { table, rows, textBytes, total, constants } = header;
  const types = header.isFirstFormat
    ? columnsOfFirstFormat(table)
    : columnsByTable[table];
  const starts: number[] = [];
  let end = BLOCK_HEADER_BYTES;
  let whole = BLOCK_HEADER_BYTES;
  let named = 0;
  types.forEach(([, type], i) => {
    end = aligned(end);
    starts.push(end);
    end += columnBytes(type, valuesOf(constants, i, rows));
    whole = aligned(whole) + columnBytes(type, rows);
    named |= mayBeConstant(i, type) ? 1 << i : 0;
  });
  if ((constants & ~named) !== 0) {
    throw new BrokenBlock(
      `${table}: columns have one value that may not, or are not there.`
    );
  }
  const textStart = aligned(end);
  if (aligned(textStart + textBytes) !== total) {
    throw new BrokenBlock(
      `${table}: ${rows} rows and ${textBytes} bytes of text do not make ${total} bytes.`
    );
  }
  let textAt = 0;
  types.forEach(([name, type], i) => {
    if (type === 'text') {
      const at = bytes.byteOffset + starts[i]!;
      const ends = new Uint32Array(bytes.buffer, at, rows);
      textAt = checkEnds(table, name, ends, textAt, textBytes);
    }
  });
  const wholeBytes = aligned(aligned(whole) + textBytes);
  return { ...header, types, starts, textStart, wholeBytes };
}

/** The block at a multiple of 8, where columns are views of it. */
function inPlace(bytes: Uint8Array): Uint8Array {
  return bytes.byteOffset % 8 === 0 ? bytes : new Uint8Array(bytes);
}

/**
 * What can be said of a block without its columns: its number, and how many bytes they take when they are made.
 *
 * @throws BrokenBlock of what {@link decodeBlock} does.
 */
export function checkBlock(bytes: Uint8Array): {
  readonly seq: number;
  readonly wholeBytes: number;
} {
  return layoutOf(inPlace(bytes));
}

/**
 * @param bytes begins with the block; what follows it is left alone.
 * @throws BrokenBlock
 */
export function decodeBlock(bytes: Uint8Array): Block {
  const aligned8 = inPlace(bytes);
  const { buffer, byteOffset } = aligned8;
  const layout = layoutOf(aligned8);
  const { isFirstFormat, seq, table, rows, constants, total } = layout;
  const text = new Uint8Array(
    buffer,
    byteOffset + layout.textStart,
    layout.textBytes
  );
  const columns: Record<string, unknown> = {};
  let textAt = 0;
  layout.types.forEach(([name, type], i) => {
    const at = byteOffset + layout.starts[i]!;
    const array = COLUMN_ARRAYS[type];
    const count = valuesOf(constants, i, rows);
    const values = new array(buffer as ArrayBuffer, at, count);
    if (type === 'text') {
      const ends = values as Uint32Array;
      columns[name] = new TextColumn(text, ends, textAt);
      textAt = ends[rows - 1] ?? textAt;
    } else {
      columns[name] =
        count === rows ? values : new array(rows).fill(values[0]!);
    }
  });
  if (isFirstFormat) {
    for (const name of narrowBefore(table)) {
      columns[name] = widened(columns[name] as Uint16Array);
    }
  }
  return {
    seq,
    table,
    rows,
    columns,
    byteLength: total
  } as unknown as Block;
}

/** The same block without columns of one value, for who does not read these; itself if it has none. */
export function wholeBlock(bytes: Uint8Array): Uint8Array {
  if (blockHeader(bytes).constants === 0) {
    return bytes;
  }
  const { seq, table, rows, columns } = decodeBlock(bytes);
  const arrays: Record<string, unknown> = {};
  let text: Uint8Array | undefined;
  for (const [name, column] of Object.entries<unknown>(columns)) {
    if (column instanceof TextColumn) {
      arrays[name] = column.raw.ends;
      text = column.raw.text;
    } else {
      arrays[name] = column;
    }
  }
  return encodeBlock(seq, table, rows, arrays as never, text, Infinity);
}

function columnsOfFirstFormat(table: TableName): [string, ColumnType][] {
  const narrow = narrowBefore(table);
  return columnsByTable[table].map(([name, type]) => [
    name,
    narrow.includes(name) ? 'u16' : type
  ]);
}

function widened(numbers: Uint16Array): Uint32Array {
  return Uint32Array.from(numbers, number =>
    number === NONE_U16 ? NONE_U32 : number
  );
}

function checkEnds(
  table: string,
  column: string,
  ends: Uint32Array,
  start: number,
  limit: number
): number {
  let previous = start;
  for (const end of ends) {
    if (end < previous || end > limit) {
      throw new BrokenBlock(
        `${table}.${column}: a text ends before it starts.`
      );
    }
    previous = end;
  }
  return previous;
}
