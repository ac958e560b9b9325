import { decodeBlock, TextColumn } from '../records/block';
import type { SealedBlock } from '../records/log-writer';
import type { TableName } from '../records/tables';

type LogRow = Readonly<Record<string, unknown>>;

/** Columns that hold ids of names. */
const NAMED = [
  'function',
  'group',
  'tag',
  'kind',
  'measure',
  'context',
  'activity',
  'unit',
  'file',
  'type'
];

/**
 * The rows of a log as objects, by table, as far as it is sealed; names as texts. `kind` is a name in events, and a number elsewhere.
 *
 * @returns what takes the blocks, and the tables, which grow.
 */
export function logRows(): {
  readonly emit: (block: SealedBlock) => void;
  readonly tables: Partial<Record<TableName, LogRow[]>>;
} {
  const names = new Map<unknown, string>();
  const tables: Partial<Record<TableName, LogRow[]>> = {};
  const emit = ({ bytes }: SealedBlock): void => {
    const { table, rows, columns } = decodeBlock(bytes);
    for (let i = 0; i < rows; i++) {
      const row: Record<string, unknown> = Object.fromEntries(
        Object.entries(
          columns as Record<string, ArrayLike<number> | TextColumn>
        ).map(([name, column]) => [
          name,
          column instanceof TextColumn ? column.at(i) : column[i]
        ])
      );
      if (table === 'names') {
        names.set(row.id, String(row.text));
      }
      for (const name of NAMED) {
        if (name in row && (name !== 'kind' || table === 'events')) {
          row[name] = names.get(row[name]);
        }
      }
      (tables[table] ??= []).push(row);
    }
  };
  return { emit, tables };
}
