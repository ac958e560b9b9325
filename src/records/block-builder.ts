/**
 * The open rows of one table. Two ways to add:
 *
 *     builder.append({ t: 0.5, worker: 1, threads: 2, state: CapacityState.Running }); // one row, any table
 *
 *     const row = builder.grow(n);                                        // many rows, columns written in place
 *     builder.columns.taskId.set(ids, row);                               // fetch `columns` after `grow`: it may move them
 *     builder.addText('suffix', 'x-1');                                   // once per new row and text column, in the rows' order
 */
import { grownColumn, nextCapacity } from '../base/growable-columns';
import {
  COLUMN_ARRAYS,
  encodeBlock,
  type ColumnArray,
  type ColumnArrays,
  type Row
} from './block';
import { TABLES, type ColumnType, type TableName } from './tables';

const FIRST_ROWS = 64;
/** So few bytes are copied faster one by one: a view of them takes 100 ns. */
const FEW_BYTES = 24;

/** The texts of one column so far, and where each ends. */
type OpenText = {
  bytes: Uint8Array;
  ends: ColumnArray['text'];
  length: number;
  rows: number;
};

export class BlockBuilder<T extends TableName> {
  private readonly _types: readonly (readonly [string, ColumnType])[];
  private readonly _columns: Record<string, ColumnArray[ColumnType]>;
  private readonly _texts = new Map<string, OpenText>();
  /** The column that got a text last: most tables have one. */
  private _lastColumn = '';
  private _lastText: OpenText | undefined;
  private readonly _utf8 = new TextEncoder();
  private _rows = 0;
  private _capacity = FIRST_ROWS;
  private _rowBytes = 0;
  private _textBytes = 0;

  constructor(readonly table: T) {
    const types = TABLES[table].columns as Readonly<Record<string, ColumnType>>;
    this._types = Object.entries(types);
    const columns: Record<string, ColumnArray[ColumnType]> = {};
    for (const [name, type] of this._types) {
      const column = new COLUMN_ARRAYS[type](FIRST_ROWS);
      columns[name] = column;
      this._rowBytes += COLUMN_ARRAYS[type].BYTES_PER_ELEMENT;
      if (type === 'text') {
        this._texts.set(name, {
          bytes: new Uint8Array(0),
          ends: column as ColumnArray['text'],
          length: 0,
          rows: 0
        });
      }
    }
    this._columns = columns;
  }

  get rows(): number {
    return this._rows;
  }

  /** About how many bytes the block will take. */
  get byteLength(): number {
    return this._rows * this._rowBytes + this._textBytes;
  }

  /** Arrays with room for at least the rows there are. Fetch them again after each `grow`, and do not write text columns. */
  get columns(): ColumnArrays<T> {
    return this._columns as unknown as ColumnArrays<T>;
  }

  /** Add `count` rows, to be written by the caller. @returns the first one's index. */
  grow(count = 1): number {
    const first = this._rows;
    this._rows += count;
    if (this._rows > this._capacity) {
      this._capacity = nextCapacity(this._capacity, this._rows);
      for (const [name] of this._types) {
        const column = this._columns[name];
        if (column !== undefined) {
          const grown = grownColumn(column, this._capacity);
          this._columns[name] = grown;
          const text = this._texts.get(name);
          if (text !== undefined) {
            text.ends = grown as ColumnArray['text'];
          }
        }
      }
    }
    return first;
  }

  /** Adds the text of the first row that has none yet in this column. */
  addText(column: string, value: string): void {
    const text = this._text(column);
    // A UTF-16 unit takes at most three bytes of utf8.
    this._reserve(text, value.length * 3);
    const { written } = this._utf8.encodeInto(
      value,
      text.bytes.subarray(text.length)
    );
    this._endText(column, text, written);
  }

  /** The same from utf8 bytes, from `start` to `end`, as keys come in over the wire. */
  addTextBytes(
    column: string,
    utf8: Uint8Array,
    start = 0,
    end = utf8.length
  ): void {
    const text = this._text(column);
    this._reserve(text, end - start);
    const { bytes, length } = text;
    if (end - start > FEW_BYTES) {
      bytes.set(utf8.subarray(start, end), length);
    } else {
      for (let i = start; i < end; i++) {
        bytes[length + i - start] = utf8[i]!;
      }
    }
    this._endText(column, text, end - start);
  }

  append(row: Row<T>): void {
    const values = row as Readonly<Record<string, number | string>>;
    const at = this.grow();
    for (const [name, type] of this._types) {
      const value = values[name];
      if (type === 'text') {
        this.addText(name, String(value));
      } else {
        const column = this._columns[name];
        if (column !== undefined) {
          column[at] = value as number;
        }
      }
    }
  }

  /**
   * The rows as a block; the builder is empty afterwards and keeps its arrays.
   *
   * @param constantFrom see {@link encodeBlock}.
   */
  seal(seq: number, constantFrom?: number): Uint8Array<ArrayBuffer> {
    const text = new Uint8Array(this._textBytes);
    let at = 0;
    for (const [name, open] of this._texts) {
      if (open.rows !== this._rows) {
        throw new TypeError(
          `${this.table}.${name} has ${open.rows} texts for ${this._rows} rows.`
        );
      }
      const ends = this._columns[name];
      if (at > 0 && ends !== undefined) {
        for (let row = 0; row < this._rows; row++) {
          ends[row] = (ends[row] ?? 0) + at;
        }
      }
      text.set(open.bytes.subarray(0, open.length), at);
      at += open.length;
      open.length = 0;
      open.rows = 0;
    }
    const block = encodeBlock(
      seq,
      this.table,
      this._rows,
      this.columns,
      text,
      constantFrom
    );
    this._rows = 0;
    this._textBytes = 0;
    return block;
  }

  private _text(column: string): OpenText {
    if (column === this._lastColumn && this._lastText !== undefined) {
      return this._lastText;
    }
    const text = this._texts.get(column);
    if (text === undefined) {
      throw new TypeError(`${this.table}.${column} is not a text column.`);
    }
    this._lastColumn = column;
    this._lastText = text;
    return text;
  }

  private _reserve(text: OpenText, byteLength: number): void {
    const needed = text.length + byteLength;
    if (needed > text.bytes.length) {
      text.bytes = grownColumn(
        text.bytes,
        nextCapacity(text.bytes.length, needed)
      );
    }
  }

  private _endText(column: string, text: OpenText, byteLength: number): void {
    text.length += byteLength;
    this._textBytes += byteLength;
    if (text.rows >= this._rows) {
      throw new TypeError(`${this.table}.${column}: more texts than rows.`);
    }
    text.ends[text.rows++] = text.length;
  }
}
