/** The record log's tables as data, for Python: what `jlpm build:schema` writes to spanwise/records/tables.json. */
import { narrowBefore, TABLES, type TableName } from './tables';

export function tablesForPython(): object {
  return Object.fromEntries(
    Object.entries(TABLES).map(([name, { number, columns, bound }]) => [
      name,
      {
        number,
        // Columns as pairs: their order is the order in a block.
        columns: Object.entries(columns),
        narrowBefore: narrowBefore(name as TableName),
        bound
      }
    ])
  );
}
