/** Tables with figures beside their texts, so that a program that reads the page gets them exactly. */
import { element } from './elements';

type Cell = { readonly text: string; readonly value: string | number | null };
type Column = { readonly name: string; readonly numeric?: boolean };

export function tableOf(
  columns: readonly Column[],
  rows: Iterable<{
    readonly cells: readonly Cell[];
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
          cell.text
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
