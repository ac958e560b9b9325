import { TextColumn, type Block } from '../../records/block';
import type { AnyColumn, BlockRows } from './column-table';

const noText = new Uint8Array(0);

/** A decoded block as the tables take it: plain columns, and where each text column begins in the block's text. Nothing is copied. */
export function blockRows(block: Block): BlockRows {
  const columns: Record<string, AnyColumn> = {};
  const textStarts: Record<string, number> = {};
  let text: Uint8Array = noText;
  for (const [name, column] of Object.entries(block.columns) as [
    string,
    AnyColumn | TextColumn
  ][]) {
    if (column instanceof TextColumn) {
      const raw = column.raw;
      columns[name] = raw.ends;
      textStarts[name] = raw.start;
      text = raw.text;
    } else {
      columns[name] = column;
    }
  }
  return {
    seq: block.seq,
    table: block.table,
    rows: block.rows,
    columns,
    text,
    textStarts
  };
}
