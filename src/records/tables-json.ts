/** The record log's tables as data, for Python: what `jlpm build:schema` writes to spanwise/records/tables.json. */
import { TABLES } from './tables';

export function tablesForPython(): object {
  return Object.fromEntries(
    Object.entries(TABLES).map(([name, { number, columns, bound }]) => [
      name,
      // Columns as pairs: their order is the order in a block.
      { number, columns: Object.entries(columns), bound }
    ])
  );
}
