import type { BlockRows } from '../observer/store/ingest';
import { TABLES } from '../records/tables';
import type { TableName } from '../records/tables';

const CONSTRUCTORS = {
  u8: Uint8Array,
  u16: Uint16Array,
  u32: Uint32Array,
  i32: Int32Array,
  f32: Float32Array,
  f64: Float64Array,
  text: Uint32Array
} as const;

export type Row = Readonly<Record<string, number | string>>;

/** A decoded block from rows as objects: columns that a row leaves out hold 0, text columns the empty text. */
export function rowsToBlock(
  seq: number,
  table: TableName,
  rows: readonly Row[]
): BlockRows {
  const columns: Record<string, BlockRows['columns'][string]> = {};
  const textStarts: Record<string, number> = {};
  const encoder = new TextEncoder();
  const pieces: Uint8Array[] = [];
  let textBytes = 0;
  for (const [name, type] of Object.entries(TABLES[table].columns)) {
    const column = new CONSTRUCTORS[type](rows.length);
    if (type === 'text') {
      textStarts[name] = textBytes;
      rows.forEach((row, i) => {
        const piece = encoder.encode(String(row[name] ?? ''));
        pieces.push(piece);
        textBytes += piece.length;
        column[i] = textBytes;
      });
    } else {
      rows.forEach((row, i) => {
        column[i] = Number(row[name] ?? 0);
      });
    }
    columns[name] = column;
  }
  const text = new Uint8Array(textBytes);
  let at = 0;
  for (const piece of pieces) {
    text.set(piece, at);
    at += piece.length;
  }
  return { seq, table, rows: rows.length, columns, text, textStarts };
}
