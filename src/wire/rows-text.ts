/** Rows that Python builds and reads by position, as text: the module `spanwise/wire/rows.py` that `jlpm build:schema` writes. */
import type { Columns } from './describe';
import { WORKER_LINK } from './worker-link';

const { finished } = WORKER_LINK.up;
const { assign } = WORKER_LINK.down;

/**
 * For each row: its type in Python, the prefix of its positions' names (null: they have none, since nothing reads single columns), what it
 * is, its columns.
 */
const ROWS: readonly (readonly [
  type: string,
  prefix: string | null,
  what: string,
  columns: Columns
])[] = [
  ['TaskRow', 'TASK', '`assign.tasks`', assign.tables.tasks],
  ['RunRow', null, '`finished.runs`', finished.tables.runs],
  ['PartRow', 'PART', '`finished.parts`', finished.tables.parts]
];

/** `firstDependency` → `FIRST_DEPENDENCY`. */
const constant = (name: string): string =>
  name.replace(/\B[A-Z]/g, '_$&').toUpperCase();

export function rowsForPython(): string {
  const lines = [
    '"""Rows of messages as tuples. Written by `jlpm build:schema` from `src/wire/worker-link.ts`.',
    '',
    'A position is a constant: a tuple with names costs ten times as much to make.',
    '"""',
    '',
    'from typing import Final'
  ];
  for (const [type, prefix, what, columns] of ROWS) {
    const names = Object.keys(columns);
    lines.push('', `#: A row of ${what}.`, `${type} = tuple[`);
    for (const [name, kind] of Object.entries(columns)) {
      lines.push(`    ${kind.startsWith('f') ? 'float' : 'int'},  # ${name}`);
    }
    lines.push(']');
    if (prefix !== null) {
      lines.push(
        ...names.map((name, i) => {
          // The name alone says what it is: taskId of a task is TASK_ID.
          const own = constant(name).replace(new RegExp(`^${prefix}_`), '');
          return `${prefix}_${own}: Final = ${i}`;
        })
      );
    }
  }
  return `${lines.join('\n')}\n`;
}
