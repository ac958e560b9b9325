import { blockRows } from '../observer/store/block-rows';
import type { AnyColumn, BlockRows } from '../observer/store/column-table';
import { decodeBlock, type Row as FullRow } from '../records/block';
import { BlockBuilder } from '../records/block-builder';
import { TABLES, type TableName } from '../records/tables';

export type Row = Readonly<Record<string, number | string>>;

/** A decoded block from rows as objects: columns that a row leaves out hold 0, text columns the empty text. */
export function rowsToBlock(
  seq: number,
  table: TableName,
  rows: readonly Row[]
): BlockRows {
  const builder = new BlockBuilder(table);
  const nothing = Object.fromEntries(
    Object.entries(TABLES[table].columns).map(([name, type]) => [
      name,
      type === 'text' ? '' : 0
    ])
  );
  for (const row of rows) {
    builder.append({ ...nothing, ...row } as FullRow<TableName>);
  }
  return blockRows(decodeBlock(builder.seal(seq)));
}

/** A block of so many rows of zeros, of a table without texts or with empty ones; quicker to make than rows one by one. */
export function blockOfZeros(
  seq: number,
  table: TableName,
  rows: number
): BlockRows {
  const { columns, ...block } = rowsToBlock(seq, table, [{}]);
  return {
    ...block,
    rows,
    columns: Object.fromEntries(
      Object.entries(columns).map(([name, column]) => [
        name,
        new (column.constructor as new (length: number) => AnyColumn)(rows)
      ])
    )
  };
}
