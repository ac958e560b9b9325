import {
  type ArrayOfColumn,
  COLUMN_ARRAYS,
  type ColumnArray
} from '../../records/block';
import { decodeText } from '../../records/decode-text';
import type { ArrayOf } from '../../base/typed-arrays';
import type { SpanId } from '../../records/ids';
import { TABLES, type ColumnType, type TableName } from '../../records/tables';
import { packedColumn } from './packed-column';

/**
 * One table of the record log in memory: chunks of typed arrays, oldest chunk dropped first when the table's bound is reached.
 *
 * Rows are numbered from 0 for the log's whole life; a row's number never changes and is never used again:
 *
 *     row 0                                 firstRow            endRow
 *     ├─ dropped chunks ────────────────────┼─ chunk k ─┼─ k+1 ─┤
 *
 * A full chunk holds 65,536 rows, so that row → (chunk, index) is a shift and a mask. The newest chunk starts small and doubles: a log of
 * forty rows does not cost a full chunk in each of two dozen tables. A full chunk that is not the newest any more is packed: from then on
 * only columns that were named may be written to.
 */
export const CHUNK_SHIFT = 16;
export const CHUNK_ROWS = 1 << CHUNK_SHIFT;
export const CHUNK_MASK = CHUNK_ROWS - 1;
const FIRST_CAPACITY = 256;
/** It holds the store's own numbers of spans (`SpanSlots`). */
export const SPAN_COLUMN = 'span';

export type AnyColumn = ColumnArray[ColumnType];

type ColumnTypes = Readonly<Record<string, ColumnType>>;
type ArraysOf<C extends ColumnTypes> = {
  readonly [K in keyof C]: ArrayOfColumn<C[K]>;
};
type ColumnTypesOf<T extends TableName> = (typeof TABLES)[T]['columns'];
export type ColumnsOf<T extends TableName> = {
  readonly [K in keyof ColumnTypesOf<T>]: K extends typeof SPAN_COLUMN
    ? ArrayOf<Uint16Array, SpanId>
    : ArrayOfColumn<ColumnTypesOf<T>[K]>;
};

/** The source of a chunk's rows: a decoded block, or rows that a fold makes. */
type Rows = {
  readonly rows: number;
  readonly columns: Readonly<Record<string, AnyColumn>>;
  /** Bytes that the text columns' end offsets point into. */
  readonly text: Uint8Array;
  /** Text column → offset in `text` at which its first row begins; 0 if left out. Each column's rows stand one after another. */
  readonly textStarts?: Readonly<Record<string, number>>;
};

/** A block of the record log, decoded. */
export type BlockRows = Rows & {
  readonly seq: number;
  readonly table: TableName;
};

type Chunk<C> = {
  /** Number of the chunk's first row. */
  readonly firstRow: number;
  rows: number;
  columns: C;
  /** Text column → its bytes, one row after another. */
  texts: Readonly<Record<string, Uint8Array>>;
  /** Once it is packed: the bytes that each column and its texts take. */
  packedBytes?: Map<string, number>;
};

export class ColumnTable<
  T extends TableName,
  X extends ColumnTypes = Record<never, never>
> {
  private readonly _types: [string, ColumnType][];
  private readonly _textColumns: string[];
  private readonly _derived: Set<string>;
  private readonly _changing: Set<string>;
  private _chunks: Chunk<ColumnsOf<T> & ArraysOf<X>>[] = [];
  private _firstChunk = 0;
  private _capacity = 0;
  private _endRow = 0;

  /**
   * @param name - the table's name in the record log.
   * @param derived - further columns that the observer fills in itself; new rows hold 0.
   * @param bound - rows to keep; the record log's bound if left out.
   * @param changing - columns of the log's own whose values may change later, as those of derived ones do.
   */
  constructor(
    readonly name: T,
    derived: X = {} as X,
    readonly bound: number = TABLES[name].bound.rows,
    changing: readonly string[] = []
  ) {
    const own = Object.entries<ColumnType>(TABLES[name].columns).map(
      ([column, type]): [string, ColumnType] =>
        column === SPAN_COLUMN ? [column, 'u16'] : [column, type]
    );
    this._types = [...own, ...Object.entries(derived)];
    this._textColumns = own.filter(([, t]) => t === 'text').map(([c]) => c);
    this._derived = new Set(Object.keys(derived));
    this._changing = new Set([...Object.keys(derived), ...changing]);
  }

  /** The oldest row that is still here. */
  get firstRow(): number {
    return this._firstChunk * CHUNK_ROWS;
  }

  /** One more than the newest row. */
  get endRow(): number {
    return this._endRow;
  }

  /** Rows kept. */
  get length(): number {
    return this._endRow - this.firstRow;
  }

  /** Bytes of memory that the columns take. */
  get nbytes(): number {
    let nbytes = 0;
    for (const chunk of this._chunks) {
      if (chunk.packedBytes !== undefined) {
        for (const packed of chunk.packedBytes.values()) {
          nbytes += packed;
        }
        continue;
      }
      for (const [name] of this._types) {
        nbytes += (chunk.columns as Record<string, AnyColumn>)[name]!
          .byteLength;
      }
      for (const name of this._textColumns) {
        nbytes += chunk.texts[name]!.byteLength;
      }
    }
    return nbytes;
  }

  /** The chunks that are kept, oldest first. */
  get chunks(): readonly Chunk<ColumnsOf<T> & ArraysOf<X>>[] {
    return this._chunks;
  }

  /**
   * The rows before `end` that are kept now, by chunk. Who takes a break between two chunks misses none that go meanwhile and meets none that
   * come; and finds spans as they were, if some are folded.
   */
  rowsBefore(end: number): {
    readonly columns: ColumnsOf<T> & ArraysOf<X>;
    readonly rows: number;
  }[] {
    return this._chunks
      .filter(({ firstRow }) => firstRow < end)
      .map(({ columns, rows, firstRow }) => ({
        columns,
        rows: Math.min(rows, end - firstRow)
      }));
  }

  /** The chunk that holds `row`, or undefined when it was dropped or is not there yet. Its row is at `row & CHUNK_MASK`. */
  chunkOf(row: number): Chunk<ColumnsOf<T> & ArraysOf<X>> | undefined {
    return this._chunks[(row >>> CHUNK_SHIFT) - this._firstChunk];
  }

  has(row: number): boolean {
    return row >= this.firstRow && row < this._endRow;
  }

  /** Appends rows and returns the number of the first of them. Call {@link dropOldest} afterwards to keep the bound. */
  append(from: Rows): number {
    const first = this._endRow;
    let done = 0;
    while (done < from.rows) {
      const chunk = this._roomy(from.rows - done);
      const count = Math.min(this._capacity - chunk.rows, from.rows - done);
      this._copy(chunk, from, done, count);
      chunk.rows += count;
      this._endRow += count;
      done += count;
    }
    return first;
  }

  /** The oldest chunk if keeping it would break the bound: fold what must survive, then call {@link dropOldest}. */
  get overdue(): Chunk<ColumnsOf<T> & ArraysOf<X>> | undefined {
    return this.length > this.bound && this._chunks.length > 1
      ? this._chunks[0]
      : undefined;
  }

  dropOldest(): void {
    this._chunks.shift();
    this._firstChunk++;
  }

  /**
   * The rows of some spans become those of others.
   *
   * @param by - by span: the other, or itself.
   */
  foldSpans(by: Uint16Array): void {
    const name = SPAN_COLUMN;
    for (const chunk of this._chunks) {
      const before = (chunk.columns as Record<string, AnyColumn>)[name]!;
      let row = 0;
      while (row < chunk.rows && by[before[row]!] === before[row]) {
        row++;
      }
      if (row === chunk.rows) {
        continue;
      }
      const column = new Uint16Array(before.length);
      for (row = 0; row < chunk.rows; row++) {
        column[row] = by[before[row]!]!;
      }
      const packed =
        chunk.packedBytes === undefined ? undefined : packedColumn(column);
      if (packed !== undefined) {
        chunk.packedBytes!.set(name, packed.nbytes);
      }
      // Whoever holds the old one reads what was there.
      chunk.columns = { ...chunk.columns, [name]: packed?.column ?? column };
    }
  }

  /** Text of one cell. */
  text(column: keyof ColumnsOf<T> & string, row: number): string {
    const chunk = this.chunkOf(row);
    if (chunk === undefined) {
      return '';
    }
    const index = row & CHUNK_MASK;
    const ends = (chunk.columns as Record<string, Uint32Array>)[column]!;
    const start = index === 0 ? 0 : ends[index - 1]!;
    return decodeText(chunk.texts[column]!, start, ends[index]!);
  }

  private _roomy(rows: number): Chunk<ColumnsOf<T> & ArraysOf<X>> {
    const last = this._chunks[this._chunks.length - 1];
    if (last !== undefined && last.rows < this._capacity) {
      return last;
    }
    if (last !== undefined && this._capacity < CHUNK_ROWS) {
      this._capacity = Math.min(
        CHUNK_ROWS,
        Math.max(this._capacity * 2, roundUpToPowerOfTwo(last.rows + rows))
      );
      const old = last.columns as Record<string, AnyColumn>;
      last.columns = this._columns(old) as typeof last.columns;
      return last;
    }
    if (last !== undefined) {
      this._pack(last);
    }
    this._capacity =
      last === undefined
        ? Math.min(
            CHUNK_ROWS,
            Math.max(FIRST_CAPACITY, roundUpToPowerOfTwo(rows))
          )
        : CHUNK_ROWS;
    const chunk: Chunk<ColumnsOf<T> & ArraysOf<X>> = {
      firstRow: this._endRow,
      rows: 0,
      columns: this._columns() as ColumnsOf<T> & ArraysOf<X>,
      texts: Object.fromEntries(
        this._textColumns.map(name => [name, new Uint8Array(0)])
      )
    };
    this._chunks.push(chunk);
    return chunk;
  }

  /** Whoever holds the chunk's old arrays reads the same values there. */
  private _pack(chunk: Chunk<ColumnsOf<T> & ArraysOf<X>>): void {
    const columns: Record<string, AnyColumn> = { ...chunk.columns };
    const texts: Record<string, Uint8Array> = {};
    const packedBytes = new Map<string, number>();
    for (const name of this._textColumns) {
      const end = columns[name]![chunk.rows - 1]!;
      texts[name] = chunk.texts[name]!.slice(0, end);
      packedBytes.set(`text of ${name}`, end);
    }
    for (const [name] of this._types) {
      const column = columns[name]!;
      const packed = this._changing.has(name)
        ? { column, nbytes: column.byteLength }
        : packedColumn(column);
      columns[name] = packed.column;
      packedBytes.set(name, packed.nbytes);
    }
    chunk.columns = columns as typeof chunk.columns;
    chunk.texts = texts;
    chunk.packedBytes = packedBytes;
  }

  private _columns(
    old?: Readonly<Record<string, AnyColumn>>
  ): Record<string, AnyColumn> {
    const columns: Record<string, AnyColumn> = {};
    for (const [name, type] of this._types) {
      const column = new COLUMN_ARRAYS[type](this._capacity);
      if (old !== undefined) {
        column.set(old[name]!);
      }
      columns[name] = column;
    }
    return columns;
  }

  private _copy(
    chunk: Chunk<ColumnsOf<T> & ArraysOf<X>>,
    from: Rows,
    start: number,
    count: number
  ): void {
    const columns = chunk.columns as Record<string, AnyColumn>;
    for (const [name, type] of this._types) {
      if (type === 'text') {
        this._copyText(chunk, name, from, start, count);
      } else if (!this._derived.has(name)) {
        columns[name]!.set(
          from.columns[name]!.subarray(start, start + count),
          chunk.rows
        );
      }
    }
  }

  /** A column's rows are one stretch of bytes, so that a thousand key suffixes are one copy. */
  private _copyText(
    chunk: Chunk<ColumnsOf<T> & ArraysOf<X>>,
    name: string,
    from: Rows,
    start: number,
    count: number
  ): void {
    const ends = (chunk.columns as Record<string, Uint32Array>)[name]!;
    const given = from.columns[name] as Uint32Array;
    const begin =
      start > 0 ? given[start - 1]! : (from.textStarts?.[name] ?? 0);
    const bytes = from.text.subarray(begin, given[start + count - 1]!);
    const used = chunk.rows === 0 ? 0 : ends[chunk.rows - 1]!;
    let target = chunk.texts[name]!;
    if (target.length < used + bytes.length) {
      const grown = new Uint8Array(
        Math.max(64, target.length * 2, used + bytes.length)
      );
      grown.set(target.subarray(0, used));
      target = grown;
      (chunk.texts as Record<string, Uint8Array>)[name] = grown;
    }
    target.set(bytes, used);
    for (let i = 0; i < count; i++) {
      ends[chunk.rows + i] = given[start + i]! - begin + used;
    }
  }
}

function roundUpToPowerOfTwo(value: number): number {
  return value <= 1 ? 1 : 2 ** Math.ceil(Math.log2(value));
}
