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

/** 'SWB2' and 'SWB1' as little-endian u32. */
const MAGIC = 0x32425753;
const FIRST_MAGIC = 0x31425753;
const BLOCK_HEADER_BYTES = 24;

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

/**
 * @param columns at least `rows` values each; of text columns the end offsets within `text`.
 * @param text the texts of all text columns, one column after another.
 */
export function encodeBlock<T extends TableName>(
  seq: number,
  table: T,
  rows: number,
  columns: ColumnArrays<T>,
  text: Uint8Array = new Uint8Array(0)
): Uint8Array<ArrayBuffer> {
  const { number, columns: types } = TABLES[table];
  const arrays = columns as Readonly<Record<string, Uint8Array>>;
  let total = BLOCK_HEADER_BYTES;
  for (const type of Object.values(types) as ColumnType[]) {
    total = aligned(total) + rows * COLUMN_ARRAYS[type].BYTES_PER_ELEMENT;
  }
  const textStart = aligned(total);
  total = aligned(textStart + text.length);

  const buffer = new ArrayBuffer(total);
  const view = new DataView(buffer);
  view.setUint32(0, MAGIC, true);
  view.setUint32(4, seq, true);
  view.setUint16(8, number, true);
  view.setUint32(12, rows, true);
  view.setUint32(16, text.length, true);
  view.setUint32(20, total, true);
  let at = BLOCK_HEADER_BYTES;
  for (const [name, type] of Object.entries(types) as [string, ColumnType][]) {
    at = aligned(at);
    const values = arrays[name];
    if (values === undefined || values.length < rows) {
      throw new TypeError(
        `${table}.${name} has ${values?.length ?? 'no'} values, the block ${rows} rows.`
      );
    }
    const array = COLUMN_ARRAYS[type];
    new array(buffer, at, rows).set(values.subarray(0, rows));
    at += rows * array.BYTES_PER_ELEMENT;
  }
  const bytes = new Uint8Array(buffer);
  bytes.set(text, textStart);
  return bytes;
}

/** What the first bytes of a block say of it. */
type BlockHeader = {
  readonly isFirstFormat: boolean;
  readonly seq: number;
  readonly table: TableName;
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
  if (magic !== MAGIC && magic !== FIRST_MAGIC) {
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
    rows: view.getUint32(12, true),
    textBytes: view.getUint32(16, true),
    total
  };
}

/**
 * @param bytes begins with the block; what follows it is left alone.
 * @throws BrokenBlock
 */
export function decodeBlock(bytes: Uint8Array): Block {
  const aligned8 = bytes.byteOffset % 8 === 0 ? bytes : new Uint8Array(bytes);
  const { buffer, byteOffset } = aligned8;
  const { isFirstFormat, seq, table, rows, textBytes, total } =
    blockHeader(aligned8);
  const types = isFirstFormat ? columnsOfFirstFormat(table) : columnsOf(table);
  let end = BLOCK_HEADER_BYTES;
  for (const [, type] of types) {
    end = aligned(end) + rows * COLUMN_ARRAYS[type].BYTES_PER_ELEMENT;
  }
  const textStart = aligned(end);
  if (aligned(textStart + textBytes) !== total) {
    throw new BrokenBlock(
      `${table}: ${rows} rows and ${textBytes} bytes of text do not make ${total} bytes.`
    );
  }
  const text = new Uint8Array(buffer, byteOffset + textStart, textBytes);
  const columns: Record<string, unknown> = {};
  let at = BLOCK_HEADER_BYTES;
  let textAt = 0;
  for (const [name, type] of types) {
    at = aligned(at);
    const array = COLUMN_ARRAYS[type];
    const values = new array(buffer as ArrayBuffer, byteOffset + at, rows);
    at += rows * array.BYTES_PER_ELEMENT;
    if (type === 'text') {
      const ends = values as Uint32Array;
      columns[name] = new TextColumn(text, ends, textAt);
      textAt = checkEnds(table, name, ends, textAt, textBytes);
    } else {
      columns[name] = values;
    }
  }
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

function columnsOf(table: TableName): [string, ColumnType][] {
  return Object.entries(TABLES[table].columns);
}

function columnsOfFirstFormat(table: TableName): [string, ColumnType][] {
  const narrow = narrowBefore(table);
  return columnsOf(table).map(([name, type]) => [
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
