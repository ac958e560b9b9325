/**
 * What the system counts for processes and their hosts: a chart per figure with a line per process or host, and a table.
 *
 *   CPU       worker 0  ▁▁█████▁▁      each step is of the seconds before its end
 *             worker 1  ▁████▁▁▁▁
 *             24 others ────────       (grey)
 */
import type { Trans } from '../../base/trans';
import type { SystemLine, SystemResult } from '../../wire/panel-link';
import {
  cellOf,
  formatBytes,
  formatCount,
  formatDuration,
  formatPercent,
  type TableCell,
  type TableData,
  UNKNOWN,
  workerLabel
} from '../format';

export const OF = ['processes', 'hosts'] as const;
export type Of = (typeof OF)[number];

/** As in the section *System* of a report. */
const FIGURES = {
  processes: ['cpu', 'memory', 'diskRead', 'diskWrite', 'fds', 'loopInterval'],
  hosts: ['netRead', 'netWrite', 'hostDiskRead', 'hostDiskWrite']
} as const;
export type Figure = (typeof FIGURES)[Of][number];

/** Lines that have a colour and a name in the legend; there are as many colours. */
const MOST_NAMED = 12;
/** Rows of one process end where the next ones begin; more between them are seconds of which nothing is known. */
const GAP_SECONDS = 0.1;

export type Line = {
  readonly key: string;
  readonly label: string;
  readonly points: SystemLine;
};

export type Named = Line & {
  /** Its place in the order of colours; null: the scheduler's. */
  readonly place: number | null;
};

export type Drawn = {
  readonly figures: readonly Figure[];
  readonly named: readonly Named[];
  /** Drawn in grey. */
  readonly others: readonly Line[];
};

/** The lines of all charts: the same one has the same colour in each. */
export function drawnOf(result: SystemResult, of: Of, trans: Trans): Drawn {
  const lines =
    of === 'hosts' ? hostsOf(result, trans) : processesOf(result, trans);
  const all: readonly Figure[] = FIGURES[of];
  const figures = all.filter(
    // (most clusters have no event loop beside their tasks)
    figure =>
      figure !== 'loopInterval' ||
      lines.some(({ points }) => points.loopInterval !== undefined)
  );
  const chosen =
    lines.length > MOST_NAMED ? highestInTurn(lines, figures) : new Set(lines);
  let place = 0;
  return {
    figures,
    named: lines
      .filter(line => chosen.has(line))
      .map(line => ({
        ...line,
        place:
          of === 'processes' && line.points.worker === null ? null : place++
      })),
    others: lines.filter(line => !chosen.has(line))
  };
}

function processesOf({ lines }: SystemResult, trans: Trans): Line[] {
  return lines.map(points => ({
    key: points.worker === null ? 'scheduler' : `worker ${points.worker}`,
    label:
      points.worker === null
        ? trans.__('scheduler')
        : workerLabel(points.name, trans),
    points
  }));
}

/**
 * One line for each host, which is what one of its processes says of it: the scheduler, else the worker that has told for the longest, since
 * workers come and go. A scheduler that does not say its host is where its first worker is.
 */
function hostsOf({ lines }: SystemResult, trans: Trans): Line[] {
  const own = lines.find(({ host }) => host !== '')?.host ?? '';
  const hosts = new Map<string, SystemLine>();
  for (const points of lines) {
    const host = points.host || own;
    const known = hosts.get(host);
    if (
      known === undefined ||
      (known.worker !== null && toldSeconds(points) > toldSeconds(known))
    ) {
      hosts.set(host, points);
    }
  }
  return [...hosts].map(([host, points]) => ({
    key: `host ${host}`,
    label: host || trans.__('host of the scheduler'),
    points
  }));
}

function toldSeconds({ seconds }: SystemLine): number {
  return seconds.reduce((sum, each) => sum + each, 0);
}

/** The line that is highest in the first chart, then in the second, …, then each chart's next: so each chart names its highest ones. */
function highestInTurn(
  lines: readonly Line[],
  figures: readonly Figure[]
): ReadonlySet<Line> {
  const chosen = new Set<Line>();
  const orders = figures.map(figure =>
    lines
      .map(line => ({ line, value: highestOf(line.points, figure) ?? -1 }))
      .sort((one, other) => other.value - one.value)
  );
  for (let rank = 0; rank < lines.length; rank += 1) {
    for (const order of orders) {
      if (chosen.size < MOST_NAMED) {
        chosen.add(order[rank]!.line);
      }
    }
  }
  return chosen;
}

function valuesOf(
  points: SystemLine,
  figure: Figure
): readonly (number | null)[] {
  return points[figure] ?? [];
}

function highestOf(points: SystemLine, figure: Figure): number | null {
  return valuesOf(points, figure).reduce(
    (most, value) =>
      value === null || (most !== null && most >= value) ? most : value,
    null
  );
}

/** The highest of several lines, and whose it is. */
export function topOf(
  lines: readonly Line[],
  figure: Figure
): { readonly value: number; readonly label: string } | null {
  let top: { value: number; label: string } | null = null;
  for (const { label, points } of lines) {
    const value = highestOf(points, figure);
    if (value !== null && (top === null || value > top.value)) {
      top = { value, label };
    }
  }
  return top;
}

/** The corners of a line: each point is a step over its seconds, and null where nothing is known. */
export function stepsOf(
  points: SystemLine,
  figure: Figure
): { readonly x: number[]; readonly y: (number | null)[] } {
  const x: number[] = [];
  const y: (number | null)[] = [];
  let end = NaN;
  points.t.forEach((t, i) => {
    const from = t - (points.seconds[i] ?? 0);
    if (from > end + GAP_SECONDS) {
      x.push(from);
      y.push(null);
    }
    const value = valuesOf(points, figure)[i] ?? null;
    x.push(from, t);
    y.push(value, value);
    end = t;
  });
  return { x, y };
}

/** Of the point whose seconds have `t`; null: nothing is known. */
export function valueAt(
  points: SystemLine,
  figure: Figure,
  t: number
): number | null {
  const next = points.t.findIndex(each => each >= t);
  return next >= 0 && points.t[next]! - points.seconds[next]! <= t
    ? (valuesOf(points, figure)[next] ?? null)
    : null;
}

export function titleOfFigure(figure: Figure, trans: Trans): string {
  switch (figure) {
    case 'cpu':
      return trans.__('CPU');
    case 'memory':
      return trans.__('Resident memory');
    case 'diskRead':
      return trans.__('Read from disk');
    case 'diskWrite':
      return trans.__('Written to disk');
    case 'fds':
      return trans.__('Descriptors');
    case 'loopInterval':
      return trans.__('Between turns of the event loop');
    case 'netRead':
      return trans.__('Received by the host');
    case 'netWrite':
      return trans.__('Sent by the host');
    case 'hostDiskRead':
      return trans.__('Read from the host’s disks');
    case 'hostDiskWrite':
      return trans.__('Written to the host’s disks');
  }
}

export function formatFigure(
  value: number | null,
  figure: Figure,
  trans: Trans
): string {
  if (figure === 'cpu') {
    return formatPercent(value);
  }
  if (figure === 'fds') {
    return formatCount(value);
  }
  if (figure === 'loopInterval') {
    return formatDuration(value);
  }
  const bytes = formatBytes(value);
  return figure === 'memory' || value === null
    ? bytes
    : trans.__('%1/s', bytes);
}

/** "at most 98.7 %, worker 2" */
export function heightOf(
  lines: readonly Line[],
  figure: Figure,
  trans: Trans
): string {
  const top = topOf(lines, figure);
  return top === null
    ? trans.__('the system does not say')
    : top.value === 0
      ? trans.__('nothing')
      : trans.__(
          'at most %1, %2',
          formatFigure(top.value, figure, trans),
          top.label
        );
}

/** "CPU: at most 98.7 %, worker 2", for whom the picture is nothing */
export function descriptionOf(
  lines: readonly Line[],
  figure: Figure,
  trans: Trans
): string {
  return trans.__(
    '%1: %2',
    titleOfFigure(figure, trans),
    heightOf(lines, figure, trans)
  );
}

/** Why another panel has another figure; '': none has. Dask's memory of a worker is the resident one, too. */
export function remarkOnFigure(
  figure: Figure,
  isOfDask: boolean,
  trans: Trans
): string {
  return figure === 'memory' && !isOfDask
    ? trans.__(
        'What processes share is in each of them; Process in Memory Sampler counts it once at most.'
      )
    : '';
}

/** "What 5 processes take" */
export function titleOf(result: SystemResult, of: Of, trans: Trans): string {
  const count = result.lines.length + result.dropped;
  if (of === 'processes') {
    return trans._n('What %1 process takes', 'What %1 processes take', count);
  }
  return trans._n(
    'What all on %1 host take',
    'What all on %1 hosts take',
    hostsOf(result, trans).length
  );
}

/** Why not every line has a name; empty: each has one. */
export function namedNote(
  { named, others }: Drawn,
  dropped: number,
  trans: Trans
): string {
  return [
    ...(others.length > 0
      ? [
          trans._n(
            'Coloured are the %2 that are highest in one of the charts; %1 other is grey. The table has all.',
            'Coloured are the %2 that are highest in one of the charts; %1 others are grey. The table has all.',
            others.length,
            named.length
          )
        ]
      : []),
    ...(dropped > 0
      ? [
          trans._n(
            '%1 process more is left out.',
            '%1 processes more are left out.',
            dropped
          )
        ]
      : [])
  ].join(' ');
}

type Sum = {
  readonly total: number;
  /** That the total is of. */
  readonly seconds: number;
} | null;

/** A rate times its seconds, summed. */
function sumOf(points: SystemLine, figure: Figure): Sum {
  const { seconds } = points;
  let sum: Sum = null;
  valuesOf(points, figure).forEach((value, i) => {
    if (value !== null) {
      const { total, seconds: before } = sum ?? { total: 0, seconds: 0 };
      const span = seconds[i] ?? 0;
      sum = { total: total + value * span, seconds: before + span };
    }
  });
  return sum;
}

function meanOf(points: SystemLine, figure: Figure): number | null {
  const sum = sumOf(points, figure);
  return sum === null ? null : sum.total / sum.seconds;
}

/** Processes, then hosts; bytes of a host's row are those of all on it. */
export function tableOf(result: SystemResult, trans: Trans): TableData {
  const { text, bytes } = cellOf;
  const none: TableCell = { text: UNKNOWN, value: null };
  const percent = (value: number | null): TableCell => ({
    text: formatPercent(value),
    value,
    unit: 'percent'
  });
  const total = (points: SystemLine, figure: Figure) =>
    bytes(sumOf(points, figure)?.total ?? null);
  const most = (points: SystemLine): TableCell => {
    const value = highestOf(points, 'fds');
    return { text: formatCount(value), value };
  };
  return {
    columns: [
      { name: trans.__('Process or host') },
      ...[
        { name: trans.__('CPU, mean'), unit: 'percent' },
        { name: trans.__('CPU, highest'), unit: 'percent' },
        { name: trans.__('Highest memory'), unit: 'bytes' },
        { name: trans.__('Read'), unit: 'bytes' },
        { name: trans.__('Written'), unit: 'bytes' },
        { name: trans.__('Most descriptors') },
        { name: trans.__('Received'), unit: 'bytes' },
        { name: trans.__('Sent'), unit: 'bytes' }
      ].map(column => ({ ...column, numeric: true }))
    ],
    rows: [
      ...processesOf(result, trans).map(({ label, points }) => [
        text(label),
        percent(meanOf(points, 'cpu')),
        percent(highestOf(points, 'cpu')),
        bytes(highestOf(points, 'memory')),
        total(points, 'diskRead'),
        total(points, 'diskWrite'),
        most(points),
        none,
        none
      ]),
      ...hostsOf(result, trans).map(({ label, points }) => [
        text(trans.__('all on %1', label)),
        none,
        none,
        none,
        total(points, 'hostDiskRead'),
        total(points, 'hostDiskWrite'),
        none,
        total(points, 'netRead'),
        total(points, 'netWrite')
      ])
    ],
    ...(result.dropped > 0
      ? {
          note: trans._n(
            '%1 process more is left out.',
            '%1 processes more are left out.',
            result.dropped
          )
        }
      : {})
  };
}
