/** Tables with figures beside their texts, so that a program that reads the page gets them exactly. */
import type { Cell } from '../content';
import { element } from './elements';
import { textOf } from './shown';

/** With a text of its own if what it is does not say it. */
type TableCell = Cell & { readonly text?: string };
type Column = { readonly name: string; readonly numeric?: boolean };

export function tableOf(
  columns: readonly Column[],
  rows: Iterable<{
    readonly cells: readonly TableCell[];
    /** How far the first cell is moved to the right. */
    readonly depth?: number | undefined;
  }>,
  label: string
): HTMLTableElement {
  const kind = (index: number) =>
    columns[index]?.numeric === true ? 'figure' : undefined;
  const body = element('tbody');
  for (const { cells, depth } of rows) {
    const row = element(
      'tr',
      {},
      ...cells.map((cell, index) =>
        element(
          'td',
          {
            class: kind(index),
            'data-value':
              typeof cell.value === 'number' ? cell.value : undefined
          },
          cell.text ?? textOf(cell)
        )
      )
    );
    const first = row.cells[0];
    if (depth !== undefined && first !== undefined) {
      first.style.paddingLeft = `${8 + 12 * depth}px`;
      first.dataset['depth'] = String(depth);
    }
    body.append(row);
  }
  return element(
    'table',
    { 'aria-label': label },
    element(
      'thead',
      {},
      element(
        'tr',
        {},
        ...columns.map(({ name }, index) =>
          element('th', { scope: 'col', class: kind(index) }, name)
        )
      )
    ),
    body
  );
}
