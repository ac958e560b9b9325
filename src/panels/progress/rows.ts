/** How far tasks are, by function, from the observer's answer to what is drawn and written. */
import type { Trans } from '../../base/trans';
import type { ProgressResult, TaskCounts } from '../../wire/panel-link';
import {
  cellOf,
  formatCount,
  formatExactCount,
  formatShare,
  type TableCell,
  type TableData
} from '../format';

export const ORDERS = ['appearance', 'left', 'name'] as const;
/** As functions came, by what is not over, by their names. */
export type Order = (typeof ORDERS)[number];

/** The stretches of a bar, in their order. */
export const STRETCHES = [
  'done',
  'running',
  'failed',
  'waiting',
  'dropped'
] as const;
export type Stretch = (typeof STRETCHES)[number];

export type ProgressRow = TaskCounts & {
  /** Unique in the list. */
  readonly key: string;
  readonly name: string;
  readonly slot: number;
  readonly round: number;
  /** It stands for several functions, and chooses none. */
  readonly isOthers: boolean;
};

/** All that have been asked for, as far as is known. */
export function tasksOf(counts: TaskCounts): number {
  return STRETCHES.reduce((sum, stretch) => sum + (counts[stretch] ?? 0), 0);
}

/** Neither done, nor failed, nor dropped. */
function leftOf({ running, waiting }: TaskCounts): number {
  return running + (waiting ?? 0);
}

export function progressRows(
  { functions, others }: ProgressResult,
  order: Order,
  trans: Trans
): ProgressRow[] {
  const rows = functions.map(({ function: name, ...row }) => ({
    ...row,
    key: `function ${name}`,
    name,
    isOthers: false
  }));
  if (order === 'name') {
    rows.sort((a, b) => (a.name < b.name ? -1 : 1));
  } else if (order === 'left') {
    rows.sort((a, b) => leftOf(b) - leftOf(a));
  }
  if (others === undefined) {
    return rows;
  }
  const name = trans._n(
    '%2 other',
    '%2 others',
    others.functions,
    formatCount(others.functions)
  );
  return [
    ...rows,
    { ...others, key: 'others', name, slot: -1, round: 0, isOthers: true }
  ];
}

/** "4 running" */
export function stretchText(
  stretch: Stretch,
  count: number,
  trans: Trans
): string {
  const text = formatCount(count);
  switch (stretch) {
    case 'done':
      return trans.__('%1 done', text);
    case 'running':
      return trans.__('%1 running', text);
    case 'failed':
      return trans.__('%1 failed', text);
    case 'waiting':
      return trans.__('%1 waiting', text);
    case 'dropped':
      return trans.__('%1 not run', text);
  }
}

/** "312 of 400"; of an unknown whole what is done alone. */
export function doneText(counts: TaskCounts, trans: Trans): string {
  return counts.waiting === null
    ? trans.__('%1 done', formatCount(counts.done))
    : trans.__(
        '%1 of %2',
        formatCount(counts.done),
        formatCount(tasksOf(counts))
      );
}

/** "4 running", "84 waiting", "2 failed": what there is besides what is done. */
export function otherTexts(counts: TaskCounts, trans: Trans): string[] {
  return (['running', 'waiting', 'failed', 'dropped'] as const).flatMap(
    stretch => {
      const count = counts[stretch] ?? 0;
      return count === 0 ? [] : [stretchText(stretch, count, trans)];
    }
  );
}

/** "312 of 400 tasks done" */
export function headlineText({ total }: ProgressResult, trans: Trans): string {
  const tasks = tasksOf(total);
  return total.waiting === null
    ? trans._n(
        '%2 run is done',
        '%2 runs are done',
        total.done,
        formatCount(total.done)
      )
    : trans._n(
        '%2 of %3 task done',
        '%2 of %3 tasks done',
        tasks,
        formatCount(total.done),
        formatCount(tasks)
      );
}

/** "78 %"; '': not known, or of nothing. Never all while some is not done. */
export function shareText(counts: TaskCounts): string {
  const tasks = tasksOf(counts);
  return counts.waiting === null || tasks === 0
    ? ''
    : formatShare(counts.done / tasks);
}

/** What a bar does not show. */
export function detailText(
  { name, ...counts }: ProgressRow,
  trans: Trans
): string {
  const { memory } = counts;
  return [
    name,
    [doneText(counts, trans), ...otherTexts(counts, trans)].join(' · '),
    ...(memory === null || memory === 0
      ? []
      : [
          trans._n(
            'The result of %2 is kept.',
            'The results of %2 are kept.',
            memory,
            formatCount(memory)
          )
        ]),
    ...(counts.dropped > 0
      ? [
          trans.__(
            'Not run: cancelled, or what needed them failed or was cancelled.'
          )
        ]
      : [])
  ].join('\n');
}

/** Why the whole is not known; '': it is. */
export function remarkOf({ toldAt }: ProgressResult, trans: Trans): string {
  return toldAt === null
    ? trans.__(
        'How many tasks wait is not told here: these are the runs that have ended and go on, a task each time that it ran.'
      )
    : '';
}

export function tableOf(result: ProgressResult, trans: Trans): TableData {
  const count = (value: number | null): TableCell => ({
    text: value === null ? '–' : formatExactCount(value),
    value
  });
  const column = (name: string) => ({ name, numeric: true });
  return {
    columns: [
      { name: trans.__('Function') },
      column(trans.__('Tasks')),
      column(trans.__('Done')),
      column(trans.__('Running')),
      column(trans.__('Waiting')),
      column(trans.__('Failed')),
      column(trans.__('Not run')),
      column(trans.__('Results kept'))
    ],
    rows: progressRows(result, 'appearance', trans).map(row => [
      cellOf.text(row.name),
      count(row.waiting === null ? null : tasksOf(row)),
      count(row.done),
      count(row.running),
      count(row.waiting),
      count(row.failed),
      count(row.dropped),
      count(row.memory)
    ]),
    ...(result.toldAt === null && { note: remarkOf(result, trans) })
  };
}
