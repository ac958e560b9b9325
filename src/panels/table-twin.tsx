/**
 * A panel's figures as a table of the panel's name: for screen readers, for copying, and for users who prefer figures. Headers sort; while the
 * pointer is over the rows their order does not change under it.
 */
import * as React from 'react';
import { createElement } from '../charts/shown-element';
import type { TableCell, TableData } from './format';

type TableTwinProps = {
  /** The panel's accessible name, e.g. `Task Stream, first-look`. */
  readonly label: string;
  readonly data: TableData;
  /** Given when the observer sorts (long tables); left out, the rows here are sorted. */
  readonly sort?: TableSort | null;
  onSort?(sort: TableSort): void;
  onRowClick?(row: number): void;
};

export type TableSort = {
  readonly column: number;
  readonly descending: boolean;
};

export function TableTwin(props: TableTwinProps): JSX.Element {
  const { data, label } = props;
  const [ownSort, setOwnSort] = React.useState<TableSort | null>(null);
  const sort = props.sort === undefined ? ownSort : props.sort;
  const isOver = React.useRef(false);
  const shown = React.useRef<readonly number[]>([]);
  const order = React.useMemo(
    () =>
      props.sort === undefined && ownSort !== null
        ? sortedRows(data, ownSort)
        : data.rows.map((_, index) => index),
    [data, ownSort, props.sort]
  );
  if (!isOver.current || shown.current.length !== order.length) {
    shown.current = order;
  }
  const sortBy = (column: number) => {
    const next = {
      column,
      descending:
        sort?.column === column
          ? !sort.descending
          : data.columns[column]?.numeric === true
    };
    isOver.current = false;
    setOwnSort(next);
    props.onSort?.(next);
  };
  return (
    <div className="sw-table-scroll">
      <table className="sw-table" aria-label={label}>
        <thead>
          <tr>
            {data.columns.map((column, index) => (
              <th
                key={column.name}
                scope="col"
                className={column.numeric ? 'sw-table-number' : undefined}
                aria-sort={ariaSort(sort, index)}
              >
                <button type="button" onClick={() => sortBy(index)}>
                  {column.name}
                  {sort?.column === index && (
                    <span aria-hidden="true">
                      {sort.descending ? ' ▾' : ' ▴'}
                    </span>
                  )}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody
          onPointerEnter={() => {
            isOver.current = true;
          }}
          onPointerLeave={() => {
            isOver.current = false;
          }}
        >
          {shown.current.map(index => (
            <tr
              key={index}
              onClick={
                props.onRowClick ? () => props.onRowClick?.(index) : undefined
              }
            >
              {data.columns.map((column, place) => (
                <td
                  key={column.name}
                  className={column.numeric ? 'sw-table-number' : undefined}
                >
                  <CellText cell={data.rows[index]?.[place]} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {data.note && <div className="sw-table-note">{data.note}</div>}
    </div>
  );
}

function CellText({
  cell: { text = '', tail = 0 } = {}
}: {
  readonly cell: Partial<TableCell> | undefined;
}): JSX.Element {
  const cut = text.length - tail;
  return tail === 0 ? (
    <>{text}</>
  ) : (
    <>
      <span
        className="sw-table-before"
        style={{ '--sw-tail': `${tail}ch` } as React.CSSProperties}
      >
        {text.slice(0, cut)}
      </span>
      {text.slice(cut)}
    </>
  );
}

/** Row numbers in the order of the sorted column; what is unknown comes last. */
export function sortedRows(
  data: TableData,
  sort: TableSort
): readonly number[] {
  const value = (index: number): TableCell['value'] =>
    data.rows[index]?.[sort.column]?.value ?? null;
  const sign = sort.descending ? -1 : 1;
  return data.rows
    .map((_, index) => index)
    .sort((a, b) => {
      const left = value(a);
      const right = value(b);
      if (left === null || right === null) {
        return Number(left === null) - Number(right === null);
      }
      return typeof left === 'number' && typeof right === 'number'
        ? sign * (left - right)
        : sign * String(left).localeCompare(String(right));
    });
}

/**
 * The table as comma-separated values (RFC 4180), raw values rather than the rounded text. A heading says what they are in; where rows of a
 * column differ in that, a column before it does.
 *
 *     Key, Duration, CPU      →  key, duration_seconds, cpu_seconds
 *     Figure, run A, Ratio    →  figure, unit, run A, ratio
 */
export function tableAsCsv(data: TableData): string {
  const field = (value: string | number | null) => {
    const text = value === null ? '' : String(value);
    // A leading =, +, - or @ would be run as a formula by spreadsheets.
    const safe =
      typeof value === 'string' && /^[=+\-@\t\r]/.test(text)
        ? `'${text}`
        : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const units = data.columns.map(({ unit = [] }, place) => {
    const told = new Set(data.rows.flatMap(row => row[place]?.unit ?? []));
    return told.size === 0 ? [unit].flat() : [...told];
  });
  const mixed = units.findIndex(({ length }) => length > 1);
  const line = <T,>(cells: readonly T[], unit: T) =>
    mixed < 0 ? cells : cells.toSpliced(mixed, 0, unit);
  const headings = data.columns.map((column, place) =>
    headingOf(column, units[place] ?? [])
  );
  return [
    line(headings, 'unit').map(field).join(','),
    ...data.rows.map(row =>
      line(
        row.map(({ value }) => value),
        row[mixed]?.unit ?? ''
      )
        .map(field)
        .join(',')
    )
  ].join('\r\n');
}

/** "duration_seconds" */
function headingOf(
  { name, isGiven }: TableData['columns'][number],
  units: readonly string[]
): string {
  if (isGiven === true) {
    return name;
  }
  const word = name
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, '_')
    .replaceAll(/^_|_$/gu, '');
  const unit = units.length === 1 ? units[0]! : '';
  return unit === '' || word === unit ? word : `${word}_${unit}`;
}

function ariaSort(
  sort: TableSort | null,
  index: number
): 'ascending' | 'descending' | 'none' {
  if (sort?.column !== index) {
    return 'none';
  }
  return sort.descending ? 'descending' : 'ascending';
}
