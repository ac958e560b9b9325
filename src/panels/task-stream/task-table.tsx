/** The table twin: the tasks behind the boxes, 500 at a time, sorted by the observer. A click selects as in the chart. */
import * as React from 'react';
import { createElement } from '../../charts/shown-element';
import type { Trans } from '../../base/trans';
import type { TasksResult } from '../../wire/panel-link';
import { formatCount, type TableData } from '../format';
import { Loading } from '../loading';
import type { PanelContext } from '../panel-context';
import { type TableSort, TableTwin } from '../table-twin';
import { useSize } from '../use-size';
import { useWatch } from '../use-watch';
import { columnOrder, taskColumns, taskRow } from './rows';

const PAGE_ROWS = 500;

export function TaskTable(props: {
  readonly context: PanelContext;
  readonly label: string;
  readonly search: string;
}): JSX.Element {
  const { context, label, search } = props;
  const trans = context.translator.load('spanwise');
  const box = React.useRef<HTMLDivElement>(null);
  const { width } = useSize(box);
  const columns = React.useMemo(() => taskColumns(trans), [trans]);
  const order = React.useMemo(
    () => columnOrder(columns, width),
    [columns, width]
  );
  // `column` counts the columns of the observer's order.
  const [sort, setSort] = React.useState<TableSort>({
    column: columns.findIndex(column => column.sort === 'start'),
    descending: false
  });
  const [offset, setOffset] = React.useState(0);
  const { snapshot, failure } = useWatch(context, 'tasks', {
    sort: columns[sort.column]?.sort ?? 'start',
    descending: sort.descending,
    offset,
    limit: PAGE_ROWS,
    search
  });
  const result =
    snapshot?.result.view === 'tasks' ? (snapshot.result as TasksResult) : null;
  const data = React.useMemo(
    () => tasksAsTable(result, order, trans, offset),
    [result, order, trans, offset]
  );
  if (result === null) {
    return (
      <div className="sw-TaskTable" ref={box}>
        {failure === null ? (
          <Loading text={trans.__('Loading the tasks…')} />
        ) : (
          <div className="sw-drawer-note">{failure}</div>
        )}
      </div>
    );
  }
  const pages = Math.max(1, Math.ceil(result.total / PAGE_ROWS));
  return (
    <div className="sw-TaskTable" ref={box}>
      <TableTwin
        label={label}
        data={data}
        sort={{ ...sort, column: order.indexOf(sort.column) }}
        onSort={next => {
          setSort({ ...next, column: order[next.column] ?? 0 });
          setOffset(0);
        }}
        onRowClick={row => {
          const run = result.rows[row];
          if (run !== undefined) {
            context.selection.select({ kind: 'run', run: run.run });
          }
        }}
      />
      {pages > 1 && (
        <div className="sw-TaskTable-pages">
          <button
            type="button"
            className="sw-button"
            disabled={offset === 0}
            onClick={() => setOffset(Math.max(0, offset - PAGE_ROWS))}
          >
            {trans.__('Previous')}
          </button>
          <span>
            {trans.__('page %1 of %2', offset / PAGE_ROWS + 1, pages)}
          </span>
          <button
            type="button"
            className="sw-button"
            disabled={offset + PAGE_ROWS >= result.total}
            onClick={() => setOffset(offset + PAGE_ROWS)}
          >
            {trans.__('Next')}
          </button>
        </div>
      )}
    </div>
  );
}

/** Rows `offset` … of the tasks, their columns in an order, with what is left out said below. */
function tasksAsTable(
  result: TasksResult | null,
  order: readonly number[],
  trans: Trans,
  offset: number
): TableData {
  const columns = taskColumns(trans);
  const rows = result?.rows ?? [];
  const last = offset + rows.length;
  return {
    columns: order.map(place => {
      const { name, numeric } = columns[place]!;
      return { name, numeric };
    }),
    rows: rows.map(run => {
      const cells = taskRow(run, trans);
      return order.map(place => cells[place]!);
    }),
    note:
      result !== null && result.total > rows.length
        ? trans._n(
            '%2 to %3 of %4\u00a0task run.',
            '%2 to %3 of %4\u00a0task runs.',
            result.total,
            formatCount(offset + 1),
            formatCount(last),
            formatCount(result.total)
          )
        : undefined
  };
}
