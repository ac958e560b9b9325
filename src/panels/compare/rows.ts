/**
 * Two runs side by side, of the answers that their observers gave: figures of each as a whole, and of what both have by name (functions,
 * spans, activities).
 *
 *     first-look     load 2.0 s   fit 7.0 s                      load   −1.5 s
 *     survey         load 0.5 s             score 1.0 s    ──►   fit    only in first-look
 *                                                                score  only in survey
 *
 * What a source does not tell is null, and said: it never counts as 0.
 */
import { OTHER_TASKS } from '../../records/enumerations';
import type { Trans } from '../../base/trans';
import type {
  ClusterInfo,
  FineMetricsResult,
  MemoryResult,
  SpanRow,
  SpansResult
} from '../../wire/panel-link';
import {
  cellOf,
  formatBytes,
  formatChange,
  formatCount,
  formatDifference,
  formatDuration,
  formatShare,
  legendWord,
  type TableCell,
  type TableData
} from '../format';
import { activityRows, idleParts } from '../fine-metrics/rows';

/** What has been answered of one run; null: nothing yet. */
export type Side = {
  readonly name: string;
  readonly kind: ClusterInfo['kind'];
  readonly metrics: FineMetricsResult | null;
  readonly spans: SpansResult | null;
  readonly memory: MemoryResult | null;
  /** Of which the metrics are; null or left out: of the whole run. */
  readonly pass?: PassSide | null;
};
type PassSide = {
  /** The pass's own; none: it is not told apart. */
  readonly rows: readonly SpanRow[];
  /** Seconds; null: not known. */
  readonly took: number | null;
  /** Nothing more will be told of the run. */
  readonly isOver: boolean;
};
export type Sides = readonly [first: Side, second: Side];
export type Pair = readonly [first: number | null, second: number | null];

export type Unit = 'seconds' | 'bytes' | 'count';

type FigureRow = {
  readonly id: string;
  readonly label: string;
  /** What is counted. */
  readonly title: string;
  readonly unit: Unit;
  readonly values: Pair;
  /** Per side, why the figure is not known; '': it is. */
  readonly why: readonly [string, string];
};

export const BY = ['function', 'span', 'activity'] as const;
export type By = (typeof BY)[number];

/** A figure that functions, spans or activities have each. */
export const FIGURES = [
  'thread',
  'tasks',
  'cpu',
  'transfer',
  'idle',
  'wall'
] as const;
export type Figure = (typeof FIGURES)[number];

/** Which figures there are by what. */
export const FIGURES_BY: Readonly<Record<By, readonly Figure[]>> = {
  function: ['thread', 'tasks', 'cpu', 'transfer'],
  span: FIGURES,
  activity: ['thread']
};

/** Rows beyond that are only in the table. */
const MOST_ROWS = 30;

type Sums = Partial<Record<Figure, number | null>>;

export type NamedRow = {
  readonly name: string;
  readonly values: Pair;
  /** The second less the first; null: one of them is not known, or has no such name. */
  readonly difference: number | null;
  /** The one run that has this name; null: both have, or may have. */
  readonly only: 0 | 1 | null;
};

// ---------------------------------------------------------------- a run as a whole

type Reading = {
  readonly id: string;
  readonly unit: Unit;
  readonly of: (side: Side) => number | null;
  readonly label: (trans: Trans) => string;
  readonly title: (trans: Trans) => string;
  /** Why `of` has found nothing. */
  readonly why?: (side: Side, trans: Trans) => string;
};

const READINGS: readonly Reading[] = [
  {
    id: 'took',
    unit: 'seconds',
    of: tookOf,
    label: trans => trans.__('Time taken'),
    title: trans =>
      trans.__(
        'From when it began until it had ended, if its tasks had ended by then.'
      ),
    why: ({ pass }, trans) => {
      switch (lengthGap(pass ?? null)) {
        case 'together':
          return trans.__('It is counted together with others.');
        case 'untold':
          return trans.__('Nobody has told when it ended.');
        case 'running':
          return trans.__('It still runs.');
        default:
          return trans.__('Some of its tasks ran after it had ended.');
      }
    }
  },
  {
    id: 'wall',
    unit: 'seconds',
    of: ({ metrics }) => metrics?.wallSeconds ?? null,
    label: trans => trans.__('Wall time'),
    title: trans =>
      trans.__('How long some task was queued, waiting or running.')
  },
  {
    id: 'tasks',
    unit: 'count',
    of: side => tasksOf(side),
    label: trans => trans.__('Task runs'),
    title: trans => trans.__('That ended; a fused task is one.')
  },
  {
    id: 'executions',
    unit: 'count',
    of: ({ metrics }) => executionsOf(metrics),
    label: trans => trans.__('Executions'),
    title: trans =>
      trans.__(
        'How often functions ran: the parts of a fused task count, where they are known.'
      )
  },
  {
    id: 'busy',
    unit: 'seconds',
    of: ({ metrics }) =>
      metrics === null ? null : metrics.attributedNanoseconds / 1e9,
    label: trans => trans.__('Thread time, busy'),
    title: trans =>
      trans.__(
        'Seconds of tasks; of a Dask cluster as Dask adds them up, with waits for the worker’s event loop.'
      )
  },
  {
    id: 'cpu',
    unit: 'seconds',
    of: ({ metrics }) =>
      secondsOf(metrics, ['thread-cpu'], /* not known with */ ['compute']),
    label: trans => trans.__('CPU'),
    title: trans =>
      trans.__('Seconds of these in which threads were on a CPU.'),
    why: ({ kind }, trans) =>
      kind === 'dask'
        ? trans.__('Dask does not tell the CPU seconds of tasks.')
        : trans.__('The source does not tell the CPU seconds of all tasks.')
  },
  {
    id: 'gil',
    unit: 'seconds',
    of: ({ metrics }) =>
      isDivided(metrics) ? secondsOf(metrics, ['gil'], ['compute']) : null,
    label: trans => trans.__('Waiting for the GIL'),
    title: trans =>
      trans.__('An estimate, of the seconds of which it could be told.'),
    why: ({ kind }, trans) =>
      kind === 'dask'
        ? trans.__('Dask does not tell what threads wait for.')
        : trans.__('The source does not tell what all threads waited for.')
  },
  {
    id: 'held',
    unit: 'seconds',
    of: ({ metrics }) => secondsOf(metrics, ['transfer'], []),
    label: trans => trans.__('Transfer, waited for'),
    title: trans => trans.__('Seconds that threads were held by transfers.')
  },
  {
    id: 'behind',
    unit: 'seconds',
    of: ({ metrics }) => behindOf(metrics)?.seconds ?? (metrics && 0),
    label: trans => trans.__('Transfer, behind other work'),
    title: trans =>
      trans.__(
        'Seconds of transfers while threads ran other tasks: they cost no thread time, and several go on at once.'
      )
  },
  {
    id: 'bytes',
    unit: 'bytes',
    of: ({ metrics }) => bytesOf(metrics),
    label: trans => trans.__('Bytes transferred'),
    title: trans => trans.__('What workers fetched from each other.'),
    why: ({ kind }, trans) =>
      kind === 'dask'
        ? trans.__('Dask does not tell the bytes of transfers.')
        : trans.__('The source does not tell the bytes of transfers.')
  },
  {
    id: 'disk',
    unit: 'seconds',
    of: ({ metrics }) => secondsOf(metrics, ['disk-read', 'disk-write'], []),
    label: trans => trans.__('Disk, waited for'),
    title: trans =>
      trans.__('Seconds that threads were held by spilling and reading back.')
  },
  {
    id: 'idle',
    unit: 'seconds',
    of: ({ metrics }) =>
      metrics?.idle.reduce((sum, { seconds }) => sum + seconds, 0) ?? null,
    label: trans => trans.__('Idle'),
    title: trans =>
      trans.__('Seconds in which threads had nothing to run, within wall time.')
  },
  {
    id: 'peak',
    unit: 'bytes',
    of: ({ memory }) => peakOf(memory),
    label: trans => trans.__('Peak memory'),
    title: trans =>
      trans.__('Of the processes of all workers together, as they told it.'),
    why: (_, trans) => trans.__('No worker has told of its memory.')
  }
];

/** Two whole runs, a pass of each, or what a filter leaves of them; also a pass beside a whole run. */
type Scope = 'runs' | 'passes' | 'selection';

/** Figures that are not of every scope. */
const ONLY_OF: Readonly<Record<string, readonly Scope[]>> = {
  took: ['passes'],
  wall: ['runs'],
  tasks: ['runs', 'passes'],
  peak: ['runs']
};

function scopeOf(sides: Sides, isFiltered: boolean): Scope {
  const [first, second] = each(sides, ({ pass }) => (pass ?? null) !== null);
  return isFiltered || first !== second
    ? 'selection'
    : first
      ? 'passes'
      : 'runs';
}

function tookOf({ pass }: Side): number | null {
  return pass?.took ?? null;
}

function tasksOf({ spans, pass }: Side): number | null {
  return (pass ?? null) === null
    ? (spans?.totalTasks ?? null)
    : pass!.rows.length === 0
      ? null
      : pass!.rows.reduce((sum, { tasks }) => sum + tasks, 0);
}

export function figureRows(
  sides: Sides,
  isFiltered: boolean,
  trans: Trans
): readonly FigureRow[] {
  const scope = scopeOf(sides, isFiltered);
  return READINGS.filter(({ id }) => ONLY_OF[id]?.includes(scope) ?? true).map(
    reading => {
      const values = each(sides, reading.of);
      return {
        id: reading.id,
        label: reading.label(trans),
        title: reading.title(trans),
        unit: reading.unit,
        values,
        why: each(sides, (side, i) =>
          values[i] !== null || side.metrics === null
            ? ''
            : (reading.why?.(side, trans) ?? '')
        )
      };
    }
  );
}

/** One sentence per figure and run that is not known, and why. */
export function notKnown(
  sides: Sides,
  rows: readonly FigureRow[],
  trans: Trans
): readonly string[] {
  const names = columnNames(sides, trans);
  return rows.flatMap(({ label, why }) =>
    why.flatMap((reason, i) =>
      reason === '' ? [] : [trans.__('%1 of %2: %3', label, names[i]!, reason)]
    )
  );
}

function executionsOf(metrics: FineMetricsResult | null): number | null {
  return (
    metrics &&
    metrics.byFunction.reduce(
      (sum, { executions }) => sum + executions,
      metrics.others?.executions ?? 0
    )
  );
}

/** Null: nothing was answered, or some seconds are of activities of which it is not told how they divide. */
function secondsOf(
  metrics: FineMetricsResult | null,
  activities: readonly string[],
  unknownWith: readonly string[]
): number | null {
  if (metrics === null) {
    return null;
  }
  const sum = (names: readonly string[]) =>
    metrics.byActivity
      .filter(({ activity }) => names.includes(activity))
      .reduce((seconds, { value }) => seconds + value, 0);
  return sum(unknownWith) > 0 ? null : sum(activities);
}

/** Whether of any seconds off a core it is told what the thread waited for; of short tasks it mostly is not. */
function isDivided(metrics: FineMetricsResult | null): boolean {
  const has = (names: readonly string[]) =>
    (secondsOf(metrics, names, []) ?? 0) > 0;
  return (
    has(['core', 'gil', 'blocked', OTHER_TASKS]) || !has(['thread-noncpu'])
  );
}

function behindOf(metrics: FineMetricsResult | null) {
  return metrics?.background.find(({ activity }) => activity === 'transfer');
}

/** The observer has them by task; Dask, by the requests of its workers. */
function bytesOf(metrics: FineMetricsResult | null): number | null {
  if (metrics === null) {
    return null;
  }
  const told = (metrics.entries ?? []).filter(
    ([context, , activity, unit, value]) =>
      unit === 'bytes' &&
      value > 0 &&
      (activity === 'transfer' ||
        (context === 'gather-dep' && activity === 'network'))
  );
  const transfers =
    (behindOf(metrics)?.count ?? 0) +
    (secondsOf(metrics, ['transfer'], []) ?? 0);
  return told.length === 0 && transfers > 0
    ? null
    : told.reduce((sum, [, , , , value]) => sum + value, 0);
}

function peakOf(memory: MemoryResult | null): number | null {
  const known = (memory?.series ?? [])
    .flatMap(({ bytes, bins }) => [...bytes, ...(bins?.high ?? [])])
    .filter((value): value is number => value !== null);
  return known.length === 0
    ? null
    : known.reduce((most, value) => Math.max(most, value), 0);
}

// ---------------------------------------------------------------- by name

/**
 * Whether differences of two figures say anything: of two runs that did other work, or of one that the filter leaves nothing of, they are no
 * more than sizes. Rows of spans are never filtered.
 */
export function areComparable(
  sides: Sides,
  of: By | 'whole',
  isFiltered: boolean
): boolean {
  return of === 'span' && isFiltered
    ? true
    : !haveNothingInCommon(sides) &&
        !(isFiltered && emptyPlace(sides) !== null);
}

/** Largest difference first; what only one run has, and where nothing can be compared all, by size. */
export function namedRows(
  sides: Sides,
  by: By,
  figure: Figure,
  isFiltered = false
): readonly NamedRow[] {
  const isComparable = areComparable(sides, by, isFiltered);
  const are: Alike = {
    local: sides.every(({ kind }) => kind === 'local'),
    told: sides.every(({ metrics }) => metrics?.account === 'told')
  };
  const [first, second] = each(sides, side => sumsBy(side, by, are));
  const names = [...new Set([...first.keys(), ...second.keys()])];
  const isWhole = each(sides, side => by !== 'function' || hasAllNames(side));
  return names
    .map((name): NamedRow => {
      const a = first.get(name);
      const b = second.get(name);
      const values: Pair = [a?.[figure] ?? null, b?.[figure] ?? null];
      const lacking = a === undefined ? 0 : b === undefined ? 1 : null;
      const only =
        lacking === null || !isWhole[lacking] ? null : lacking === 0 ? 1 : 0;
      return {
        name,
        values,
        only,
        difference: only === null && isComparable ? differenceOf(values) : null
      };
    })
    .sort((a, b) => sizeOf(b) - sizeOf(a) || (a.name < b.name ? -1 : 1));
}

/** Of very many functions those with least time are added up, without their names. */
function hasAllNames({ metrics }: Side): boolean {
  return (metrics?.others ?? null) === null;
}

/** The first rows, and how many are left out. */
export function shownRows(rows: readonly NamedRow[]): {
  readonly rows: readonly NamedRow[];
  readonly more: number;
} {
  return {
    rows: rows.slice(0, MOST_ROWS),
    more: Math.max(0, rows.length - MOST_ROWS)
  };
}

function sizeOf({ values, difference }: NamedRow): number {
  return Math.abs(difference ?? Math.max(values[0] ?? 0, values[1] ?? 0));
}

export function differenceOf([first, second]: Pair): number | null {
  return first === null || second === null ? null : second - first;
}

/** What both sides are: an activity, or a cause of idleness, has one name for the two, so that they stand beside each other. */
type Alike = { readonly local: boolean; readonly told: boolean };

function sumsBy(side: Side, by: By, are: Alike): ReadonlyMap<string, Sums> {
  switch (by) {
    case 'function':
      return new Map(
        side.metrics?.byFunction.map(row => [
          row.function,
          {
            thread: row.total,
            tasks: row.executions,
            cpu:
              (row.activities['compute'] ?? 0) > 0
                ? null
                : (row.activities['thread-cpu'] ?? 0),
            transfer: row.activities['transfer'] ?? 0
          }
        ])
      );
    case 'span':
      return spanSums(side);
    case 'activity':
      return new Map(
        (side.metrics === null
          ? []
          : [
              ...activityRows(side.metrics, are.told),
              ...idleParts(
                side.metrics,
                side.metrics.capacitySeconds,
                are.local
              )
            ]
        ).map(({ label, value }) => [label, { thread: value }])
      );
  }
}

type SpanSums = Required<Sums> & {
  readonly from: number | null;
  readonly to: number | null;
};

/**
 * Spans of one path are one row, whoever opened them. The notebook and the cell are no part of the path, as Dask has none: what ran in them
 * and in no span of the program is of the default span.
 */
function spanSums({ spans, pass }: Side): ReadonlyMap<string, Sums> {
  const byNumber = new Map(spans?.rows.map(row => [row.span, row]));
  const sums = new Map<string, SpanSums>();
  const inPass = new Set(pass?.rows.map(({ span }) => span));
  for (const row of spans?.rows ?? []) {
    // (parents come first)
    if (row.parent !== null && inPass.has(row.parent)) {
      inPass.add(row.span);
    }
    if ((pass ?? null) !== null && !inPass.has(row.span)) {
      continue;
    }
    if (isAutomatic(row)) {
      if (row.ownTasks > 0 || row.ownNanoseconds > 0) {
        const below = spans!.rows.filter(({ parent }) => parent === row.span);
        addTo(sums, DEFAULT_PATH, ownSums(row, below));
      }
    } else if (row.tasks > 0 || row.threadSeconds > 0) {
      addTo(sums, pathOf(row, byNumber), {
        thread: row.threadSeconds,
        tasks: row.tasks,
        cpu: row.cpuSeconds,
        transfer: row.transferSeconds,
        idle: row.idleSeconds,
        from: row.firstStart,
        to: row.lastStop
      });
    }
  }
  return sums;
}

/** How both call the span of tasks that are in no other. */
const DEFAULT_PATH = 'default';

/** Figures of a row without those of the rows below it. When its own tasks ran is known only if there are no others. */
function ownSums(
  row: SpanRow,
  below: readonly SpanRow[]
): Omit<SpanSums, 'wall'> {
  const less = (of: (row: SpanRow) => number | null) =>
    below.reduce<number | null>((left, each) => {
      const value = of(each);
      return left === null || value === null ? null : Math.max(0, left - value);
    }, of(row));
  const isAlone = below.length === 0;
  return {
    thread: row.ownNanoseconds / 1e9,
    tasks: row.ownTasks,
    cpu: less(({ cpuSeconds }) => cpuSeconds),
    transfer: less(({ transferSeconds }) => transferSeconds),
    idle: less(({ idleSeconds }) => idleSeconds),
    from: isAlone ? row.firstStart : null,
    to: isAlone ? row.lastStop : null
  };
}

function addTo(
  all: Map<string, SpanSums>,
  path: string,
  more: Omit<SpanSums, 'wall'>
): void {
  const had = all.get(path);
  const add = (figure: Exclude<Figure, 'wall'>): number | null => {
    const [before, value] = [had === undefined ? 0 : had[figure], more[figure]];
    return before === null || value === null ? null : before + value;
  };
  const isTimed =
    more.from !== null &&
    more.to !== null &&
    had?.from !== null &&
    had?.to !== null;
  const from = isTimed ? Math.min(had?.from ?? Infinity, more.from) : null;
  const to = isTimed ? Math.max(had?.to ?? -Infinity, more.to) : null;
  all.set(path, {
    thread: add('thread'),
    tasks: add('tasks'),
    cpu: add('cpu'),
    transfer: add('transfer'),
    idle: add('idle'),
    wall: from === null || to === null ? null : to - from,
    from,
    to
  });
}

function pathOf(row: SpanRow, byNumber: ReadonlyMap<number, SpanRow>): string {
  const tags: string[] = [];
  let at: SpanRow | undefined = row;
  while (at !== undefined) {
    if (!isAutomatic(at)) {
      tags.unshift(at.tag);
    }
    at = at.parent === null ? undefined : byNumber.get(at.parent);
  }
  return tags.join(' › ');
}

function isAutomatic({ origin }: SpanRow): boolean {
  return origin === 'cell' || origin === 'notebook';
}

// ---------------------------------------------------------------- as text

/** Who is compared, and how long each was: the run or the pass as a whole, or the thread time of the selection, or of passes whose tasks ran later. */
type Lengths = {
  readonly names: readonly [string, string];
  readonly seconds: readonly [number, number];
  readonly isFiltered: boolean;
  /** Of a whole run or pass; null: of a selection, or not known. */
  readonly tasks: Pair;
};

/**
 * "survey is 1.20 s faster: 3.40 s instead of 4.60 s (−26 %)", "# fit [7] is …"; of a selection, by the time that it held threads. '': it is not
 * known yet.
 * Who has not done the work, or still does it, is not faster: "survey took 3.40 s, first-look took 4.60 s: 2 of 4 task runs of survey failed".
 * What differs by less than two runs of the same work do is no verdict: "survey took about the same as first-look (+1 %)".
 * Nor is there one on passes whose tasks count to one of them and were computed later, perhaps in the other: "…: tasks of # fit [3] were computed in
 * # fit [7]".
 * Nor is who has done other work: "survey took …, first-look took …: 93 % of executions of first-look are of functions that did not run in survey".
 * Who ran far fewer or more tasks is not called faster either: "survey took 1.20 s less, with 97 % fewer task runs: …".
 * What failed or was lost, and was made up for, stands behind: "… (−26 %); 1 of 5 task runs of survey failed". And who has done other work is
 * neither: "survey and first-look have nothing in common". Of a pass that goes on there is only that: "# fit [7] still runs". Of a filter that
 * leaves nothing of one of them: "The filter leaves nothing of survey, …".
 */
export function headline(
  sides: Sides,
  isFiltered: boolean,
  trans: Trans
): string {
  const found = findingOf(sides, isFiltered, trans);
  if ('text' in found) {
    return found.text;
  }
  const { lengths, faults, later, reused, undone, otherWork, why } = found;
  const faultTexts = faults.flatMap(({ texts }) => texts);
  if (lengths === null) {
    return faultTexts.join(', ');
  }
  const laterTexts = later.filter(text => text !== '');
  const said = [...laterTexts, ...otherWork, ...faultTexts, ...reused];
  return undone.includes(true) || laterTexts.length + otherWork.length > 0
    ? trans.__('%1: %2', timesText(lengths, trans), said.join(', '))
    : withMore(
        soundText(sides, lengths, trans),
        [...why, ...said].join(', '),
        trans
      );
}

/**
 * The same to be read at a glance, beside the figures: a line, and what else there is to say. Names of passes begin as their cells do, and are
 * shortened. Where there is no verdict the line says why in few words: "No verdict: tasks of the second pass were cancelled".
 */
export function shortHeadline(
  whole: Sides,
  isFiltered: boolean,
  trans: Trans
): { readonly line: string; readonly details: readonly string[] } {
  const sides = withShortNames(whole);
  const found = findingOf(sides, isFiltered, trans);
  if ('text' in found) {
    return { line: found.text, details: [] };
  }
  const { lengths, faults, later, reused, undone, otherWork, why } = found;
  const faultTexts = faults.flatMap(({ texts }) => texts);
  if (lengths === null) {
    const [line = '', ...details] = faultTexts;
    return { line, details };
  }
  const isLater = later.some(text => text !== '');
  const more = [
    ...later.filter(text => text !== ''),
    ...(isLater ? [wayOutText(trans)] : []),
    ...otherWork,
    ...faultTexts,
    ...reused
  ];
  return undone.includes(true)
    ? {
        line: noVerdictText(
          [faults[0].kind, faults[1].kind],
          undone,
          sides.every(({ pass }) => (pass ?? null) !== null),
          trans
        ),
        details: more
      }
    : isLater
      ? { line: computedLaterText(later, trans), details: more }
      : otherWork.length > 0
        ? { line: trans.__('No verdict: not the same work'), details: more }
        : {
            line: soundText(sides, lengths, trans),
            details: [...why, ...more]
          };
}

/** The first and the last letters of what is longer; both as they are where that would leave nothing to tell them apart. */
function withShortNames(sides: Sides): Sides {
  const names = each(sides, ({ name }) => {
    const letters = [...name];
    return letters.length <= MOST_LETTERS
      ? name
      : `${letters.slice(0, FIRST_LETTERS).join('').trimEnd()}…${letters.slice(FIRST_LETTERS + 1 - MOST_LETTERS).join('')}`;
  });
  return names[0] === names[1]
    ? sides
    : each(sides, (side, i) => ({ ...side, name: names[i] }));
}

/** Of a name in the headline; so many of a longer one are its first. */
const MOST_LETTERS = 28;
const FIRST_LETTERS = 15;

/** What there is to say of both; `text`: nothing but this. */
type Finding =
  | { readonly text: string }
  | {
      /** Null: not known of both. */
      readonly lengths: Lengths | null;
      readonly faults: readonly [Faults, Faults];
      /** Of each, that its sums hold what was computed after it had ended; '': no, or it says nothing against a verdict. */
      readonly later: readonly [string, string];
      readonly reused: readonly string[];
      /** Of each, whether it lacks some of the work. */
      readonly undone: readonly [boolean, boolean];
      /** Why they are not the same work; none: as far as is known they are. */
      readonly otherWork: readonly string[];
      /** What differs, if it is not what functions compute; none: it is, or it is not known. */
      readonly why: readonly string[];
    };

function findingOf(sides: Sides, isFiltered: boolean, trans: Trans): Finding {
  const oneSided = isFiltered ? oneSidedText(sides, trans) : '';
  if (oneSided !== '') {
    return { text: oneSided };
  }
  const scope = scopeOf(sides, isFiltered);
  const names = columnNames(sides, trans);
  const faults = each(sides, (side, i) =>
    faultsOf(side, names[i], scope === 'selection', trans)
  );
  const lengths = hasUnendedPass(sides, scope)
    ? null
    : lengthsOf(sides, scope, trans);
  const undone = each(sides, (_, i) => isUndone(sides, faults, i, scope));
  return lengths === null && !sides.every(isAnswered)
    ? { text: '' }
    : {
        lengths,
        faults,
        later: laterTexts(sides, trans),
        reused: reusedTexts(sides, trans),
        undone,
        otherWork:
          scope === 'runs' && !undone.includes(true)
            ? otherWorkTexts(sides, trans)
            : [],
        why: lengths === null ? [] : whyTexts(sides, lengths, trans)
      };
}

/** Tasks that another process tells of may seem to begin by so much before the pass in which they are computed. */
const WITHIN_SECONDS = 0.05;

/**
 * Tasks count to the pass that they were written in. Where other code computes them, later, the sums of two passes say nothing of how they ran:
 *
 *     [2] ├ y written, computed ┤     [9] ├ y computed ┤         all of y's seconds are of [2]
 *
 * That a pass had all of its tasks computed later, before the other one began, is another thing: so it is where one cell writes and the next computes.
 */
function laterTexts(sides: Sides, trans: Trans): readonly [string, string] {
  const names = columnNames(sides, trans);
  const passes = each(sides, ({ pass }) => pass?.rows ?? []);
  return each(sides, (side, i) => {
    const [rows, others] = [passes[i], passes[1 - i]!];
    if (rows.length === 0 || others.length === 0 || tookOf(side) !== null) {
      return '';
    }
    const closed = Math.max(...rows.map(row => row.closed ?? Infinity));
    const lastStop = Math.max(...rows.map(row => row.lastStop ?? -Infinity));
    const opened = Math.min(...others.map(row => row.opened));
    if (closed <= opened && lastStop > opened + WITHIN_SECONDS) {
      return trans.__(
        'tasks of %1 ran while %2 did, or later: they count to %1, which wrote them',
        names[i],
        names[1 - i]!
      );
    }
    return rows.some(({ isComputedLater }) => isComputedLater)
      ? trans.__(
          'tasks of %1 were also computed after it had ended: they count to %1, which wrote them',
          names[i]
        )
      : '';
  });
}

/** @param later - of each pass, why; '': it is the other one. */
function computedLaterText(
  later: readonly [string, string],
  trans: Trans
): string {
  return !later.includes('')
    ? trans.__('No verdict: tasks of both passes ran after they had ended')
    : later[0] === ''
      ? trans.__('No verdict: tasks of the second pass ran after it had ended')
      : trans.__('No verdict: tasks of the first pass ran after it had ended');
}

function wayOutText(trans: Trans): string {
  return trans.__(
    'run the cell that wrote them twice more: those two passes can be compared'
  );
}

/** Whom a sentence is about. */
type Whom =
  | 'firstRun'
  | 'secondRun'
  | 'bothRuns'
  | 'firstPass'
  | 'secondPass'
  | 'bothPasses';

/** @param undone - of each, whether it lacks some of the work. */
function noVerdictText(
  kinds: readonly [FaultKind, FaultKind],
  undone: readonly [boolean, boolean],
  arePasses: boolean,
  trans: Trans
): string {
  const [first, second] = kinds;
  const kind = undone[1] ? second : first;
  if (!undone.includes(false)) {
    return first === second
      ? sentences(kind, trans)[arePasses ? 'bothPasses' : 'bothRuns']
      : arePasses
        ? trans.__('No verdict: neither pass has done all of its work')
        : trans.__('No verdict: neither run has done all of its work');
  }
  return undone[1]
    ? sentences(kind, trans)[arePasses ? 'secondPass' : 'secondRun']
    : sentences(kind, trans)[arePasses ? 'firstPass' : 'firstRun'];
}

/** Each a whole one: in another language the verb may change with whom it is about. */
function sentences(
  kind: FaultKind,
  trans: Trans
): { readonly [W in Whom]: string } {
  switch (kind) {
    case 'running':
      return {
        firstRun: trans.__('No verdict: tasks of the first run still run'),
        secondRun: trans.__('No verdict: tasks of the second run still run'),
        bothRuns: trans.__('No verdict: tasks of both runs still run'),
        firstPass: trans.__('No verdict: tasks of the first pass still run'),
        secondPass: trans.__('No verdict: tasks of the second pass still run'),
        bothPasses: trans.__('No verdict: tasks of both passes still run')
      };
    case 'failed':
      return {
        firstRun: trans.__('No verdict: tasks of the first run failed'),
        secondRun: trans.__('No verdict: tasks of the second run failed'),
        bothRuns: trans.__('No verdict: tasks of both runs failed'),
        firstPass: trans.__('No verdict: tasks of the first pass failed'),
        secondPass: trans.__('No verdict: tasks of the second pass failed'),
        bothPasses: trans.__('No verdict: tasks of both passes failed')
      };
    case 'cancelled':
      return {
        firstRun: trans.__('No verdict: tasks of the first run were cancelled'),
        secondRun: trans.__(
          'No verdict: tasks of the second run were cancelled'
        ),
        bothRuns: trans.__('No verdict: tasks of both runs were cancelled'),
        firstPass: trans.__(
          'No verdict: tasks of the first pass were cancelled'
        ),
        secondPass: trans.__(
          'No verdict: tasks of the second pass were cancelled'
        ),
        bothPasses: trans.__('No verdict: tasks of both passes were cancelled')
      };
    case 'lost':
      return {
        firstRun: trans.__('No verdict: tasks of the first run were lost'),
        secondRun: trans.__('No verdict: tasks of the second run were lost'),
        bothRuns: trans.__('No verdict: tasks of both runs were lost'),
        firstPass: trans.__('No verdict: tasks of the first pass were lost'),
        secondPass: trans.__('No verdict: tasks of the second pass were lost'),
        bothPasses: trans.__('No verdict: tasks of both passes were lost')
      };
    case 'in vain':
      return {
        firstRun: trans.__(
          'No verdict: tasks of the first run came to nothing'
        ),
        secondRun: trans.__(
          'No verdict: tasks of the second run came to nothing'
        ),
        bothRuns: trans.__('No verdict: tasks of both runs came to nothing'),
        firstPass: trans.__(
          'No verdict: tasks of the first pass came to nothing'
        ),
        secondPass: trans.__(
          'No verdict: tasks of the second pass came to nothing'
        ),
        bothPasses: trans.__('No verdict: tasks of both passes came to nothing')
      };
    case 'nothing':
      return {
        firstRun: trans.__('No verdict: nothing has run in the first run'),
        secondRun: trans.__('No verdict: nothing has run in the second run'),
        bothRuns: trans.__('No verdict: nothing has run in both runs'),
        firstPass: trans.__('No verdict: nothing has run in the first pass'),
        secondPass: trans.__('No verdict: nothing has run in the second pass'),
        bothPasses: trans.__('No verdict: nothing has run in both passes')
      };
    case 'not selected':
      return {
        firstRun: trans.__(
          'No verdict: nothing of the selection ran in the first run'
        ),
        secondRun: trans.__(
          'No verdict: nothing of the selection ran in the second run'
        ),
        bothRuns: trans.__(
          'No verdict: nothing of the selection ran in both runs'
        ),
        firstPass: trans.__(
          'No verdict: nothing of the selection ran in the first pass'
        ),
        secondPass: trans.__(
          'No verdict: nothing of the selection ran in the second pass'
        ),
        bothPasses: trans.__(
          'No verdict: nothing of the selection ran in both passes'
        )
      };
    case 'none':
    case 'no length':
      return {
        firstRun: trans.__('No verdict: not all is known of the first run'),
        secondRun: trans.__('No verdict: not all is known of the second run'),
        bothRuns: trans.__('No verdict: not all is known of both runs'),
        firstPass: trans.__('No verdict: not all is known of the first pass'),
        secondPass: trans.__('No verdict: not all is known of the second pass'),
        bothPasses: trans.__('No verdict: not all is known of both passes')
      };
  }
}

/** Whether of one of two passes nobody has told yet how long it took. */
function hasUnendedPass(sides: Sides, scope: Scope): boolean {
  return (
    scope === 'passes' &&
    sides.every(isAnswered) &&
    sides.some(({ pass }) => lengthGap(pass ?? null) !== null)
  );
}

/** Of two that have done their work. */
function soundText(sides: Sides, lengths: Lengths, trans: Trans): string {
  return haveNothingInCommon(sides)
    ? trans.__('%1 and %2 have nothing in common', ...lengths.names)
    : verdictText(lengths, trans);
}

function withMore(verdict: string, said: string, trans: Trans): string {
  return said === '' || verdict === ''
    ? verdict
    : trans.__('%1; %2', verdict, said);
}

function isAnswered({ metrics, spans }: Side): boolean {
  return metrics !== null && spans !== null;
}

/** Whether both were answered, and nothing of either is, or goes on, in what was asked for. */
export function areEmpty(sides: Sides): boolean {
  return sides.every(isEmpty);
}

function isEmpty({ metrics }: Side): boolean {
  return (
    metrics !== null &&
    metrics.notKnown === undefined &&
    metrics.attributedNanoseconds === 0 &&
    metrics.byFunction.length === 0 &&
    !(metrics.runningSeconds ?? 0)
  );
}

/** The one of both of which nothing was answered while something was of the other; null: neither. */
function emptyPlace(sides: Sides): 0 | 1 | null {
  const [first, second] = each(sides, isEmpty);
  // (of what is not known nobody can say that the filter leaves it)
  const isUnknown = sides.some(
    ({ metrics }) => metrics === null || metrics.notKnown !== undefined
  );
  return first === second || isUnknown ? null : first ? 0 : 1;
}

/** Of a filter that has all in one of the two; '': it has something in both, or nothing. */
function oneSidedText(sides: Sides, trans: Trans): string {
  const empty = emptyPlace(sides);
  if (empty === null) {
    return '';
  }
  const full = empty === 0 ? 1 : 0;
  const names = columnNames(sides, trans);
  const { attributedNanoseconds, runningSeconds } = sides[full].metrics!;
  return trans.__(
    'The filter leaves nothing of %1, so nothing can be compared; of %2 it leaves %3 of thread time.',
    names[empty],
    names[full],
    formatDuration(attributedNanoseconds / 1e9 + (runningSeconds ?? 0))
  );
}

/** Of both, what a filter hides that leaves nothing of them; '': it is not known. */
export function hiddenText(sides: Sides, trans: Trans): string {
  const names = columnNames(sides, trans);
  return each(sides, (side, i) => {
    const tasks = tasksOf(side) ?? 0;
    return tasks === 0
      ? ''
      : trans._n(
          '%2 task run of %3 is hidden.',
          '%2 task runs of %3 are hidden.',
          tasks,
          formatCount(tasks),
          names[i]
        );
  })
    .filter(text => text !== '')
    .join(' ');
}

/** Null: not known yet, or both are of no length. */
function lengthsOf(sides: Sides, scope: Scope, trans: Trans): Lengths | null {
  const isFiltered =
    scope === 'selection' ||
    (scope === 'passes' && sides.some(side => tookOf(side) === null));
  const [before, after] = each(sides, side =>
    side.metrics === null
      ? null
      : isFiltered
        ? side.metrics.attributedNanoseconds / 1e9
        : scope === 'passes'
          ? tookOf(side)
          : side.metrics.wallSeconds
  );
  return (scope === 'selection' || sides.every(isAnswered)) &&
    before !== null &&
    after !== null &&
    (before > 0 || after > 0)
    ? {
        names: columnNames(sides, trans),
        seconds: [before, after],
        isFiltered,
        tasks: scope === 'selection' ? [null, null] : each(sides, tasksOf)
      }
    : null;
}

/**
 * Whether a run lacks some of the work: it says so itself, or tasks failed in both, or something came to nothing in it and the other one has done
 * more.
 * Of two passes one that failed is enough: who runs a cell again has mended it.
 */
function isUndone(
  sides: Sides,
  faults: readonly [Faults, Faults],
  i: 0 | 1,
  scope: Scope
): boolean {
  const other = i === 0 ? 1 : 0;
  return (
    faults[i].isUndone ||
    (scope !== 'selection' &&
      faults[i].texts.length > 0 &&
      !haveNothingInCommon(sides) &&
      ((scope === 'passes' && failedRuns(sides[i]) > 0) ||
        (failedRuns(sides[i]) > 0 && failedRuns(sides[other]) > 0) ||
        goodRuns(sides[i]) < goodRuns(sides[other])))
  );
}

/** Both without a verdict. */
function timesText(
  { names: [first, second], seconds: [before, after], isFiltered }: Lengths,
  trans: Trans
): string {
  const [then, now] = [formatDuration(before), formatDuration(after)];
  const texts = [second, now, first, then] as const;
  return isFiltered
    ? trans.__('%1 held threads for %2, %3 for %4', ...texts)
    : trans.__('%1 took %2, %3 took %4', ...texts);
}

/** The second against the first; '': there is nothing to compare it with. */
function verdictText(lengths: Lengths, trans: Trans): string {
  const {
    names: [first, second],
    seconds: [before, after],
    isFiltered
  } = lengths;
  if (!(before > 0)) {
    return '';
  }
  const [then, now] = [formatDuration(before), formatDuration(after)];
  if (areSame(lengths.seconds, 'seconds')) {
    return isFiltered
      ? trans.__('%1 and %2 held threads equally long: %3', first, second, now)
      : trans.__('%1 takes as long as %2: %3', second, first, now);
  }
  const difference = after - before;
  const change = formatChange(difference, before);
  if (areAboutTheSame([before, after])) {
    const both = [second, first, change, now, then] as const;
    return isFiltered
      ? trans.__(
          '%1 held threads about as long as %2 (%3): %4 instead of %5',
          ...both
        )
      : trans.__(
          '%1 took about the same as %2 (%3): %4 instead of %5',
          ...both
        );
  }
  const size = formatDuration(Math.abs(difference));
  const texts = [second, size, now, then, change] as const;
  const [tasksBefore, tasksAfter] = lengths.tasks;
  if (areFarApart(lengths.tasks)) {
    const share = (tasksAfter! - tasksBefore!) / tasksBefore!;
    const all = [...texts, formatShare(Math.abs(share))] as const;
    return isFiltered
      ? heldByOtherAmount(difference < 0, share < 0, all, trans)
      : tookByOtherAmount(difference < 0, share < 0, all, trans);
  }
  if (isFiltered) {
    return difference < 0
      ? trans.__('%1 held threads %2 less: %3 instead of %4 (%5)', ...texts)
      : trans.__('%1 held threads %2 more: %3 instead of %4 (%5)', ...texts);
  }
  return difference < 0
    ? trans.__('%1 is %2 faster: %3 instead of %4 (%5)', ...texts)
    : trans.__('%1 is %2 slower: %3 instead of %4 (%5)', ...texts);
}

/** Second run, difference, its seconds, those of the first, their change, and by how much the task runs differ. */
type AmountTexts = readonly [string, string, string, string, string, string];

function tookByOtherAmount(
  isLess: boolean,
  areFewer: boolean,
  texts: AmountTexts,
  trans: Trans
): string {
  return isLess
    ? areFewer
      ? trans.__(
          '%1 took %2 less, with %6 fewer task runs: %3 instead of %4 (%5)',
          ...texts
        )
      : trans.__(
          '%1 took %2 less, with %6 more task runs: %3 instead of %4 (%5)',
          ...texts
        )
    : areFewer
      ? trans.__(
          '%1 took %2 more, with %6 fewer task runs: %3 instead of %4 (%5)',
          ...texts
        )
      : trans.__(
          '%1 took %2 more, with %6 more task runs: %3 instead of %4 (%5)',
          ...texts
        );
}

function heldByOtherAmount(
  isLess: boolean,
  areFewer: boolean,
  texts: AmountTexts,
  trans: Trans
): string {
  return isLess
    ? areFewer
      ? trans.__(
          '%1 held threads %2 less, with %6 fewer task runs: %3 instead of %4 (%5)',
          ...texts
        )
      : trans.__(
          '%1 held threads %2 less, with %6 more task runs: %3 instead of %4 (%5)',
          ...texts
        )
    : areFewer
      ? trans.__(
          '%1 held threads %2 more, with %6 fewer task runs: %3 instead of %4 (%5)',
          ...texts
        )
      : trans.__(
          '%1 held threads %2 more, with %6 more task runs: %3 instead of %4 (%5)',
          ...texts
        );
}

/** One ran less than half of the other's tasks. */
function areFarApart([first, second]: Pair): boolean {
  return (
    first !== null &&
    second !== null &&
    Math.min(first, second) > 0 &&
    2 * Math.min(first, second) < Math.max(first, second)
  );
}

/**
 * Of two whole runs, that more than half of the executions or of the thread time of one is of functions that the other has not run. Of fewer
 * tasks of the same functions it is the same work. (A pass is of a cell that was edited, so that other functions are what is compared.)
 */
function otherWorkTexts(sides: Sides, trans: Trans): readonly string[] {
  // (of Dask a fused task is one function: elsewhere its parts are told one by one)
  const areOfOneNaming =
    (sides[0].kind === 'dask') === (sides[1].kind === 'dask');
  if (!areOfOneNaming || haveNothingInCommon(sides)) {
    return [];
  }
  const names = columnNames(sides, trans);
  return each(sides, ({ metrics }, i): string => {
    const other = sides[1 - i]!;
    if (metrics === null || other.metrics === null || !hasAllNames(other)) {
      return '';
    }
    const had = new Set(other.metrics.byFunction.map(row => row.function));
    const alone = metrics.byFunction.filter(row => !had.has(row.function));
    const shareOf = (what: 'executions' | 'total') => {
      const sum = (rows: FineMetricsResult['byFunction']) =>
        rows.reduce((all, row) => all + row[what], 0);
      const whole = sum(metrics.byFunction) + (metrics.others?.[what] ?? 0);
      return whole > 0 ? sum(alone) / whole : 0;
    };
    const [executions, time] = [shareOf('executions'), shareOf('total')];
    const said = (share: number) =>
      [formatShare(share), names[i], names[1 - i]!] as const;
    return Math.max(executions, time) <= MOST_OF_OTHER_WORK
      ? ''
      : executions >= time
        ? trans.__(
            '%1 of executions of %2 are of functions that did not run in %3',
            ...said(executions)
          )
        : trans.__(
            '%1 of thread time of %2 is of functions that did not run in %3',
            ...said(time)
          );
  }).filter(text => text !== '');
}

/** The share of a run that is of functions which the other has not run. */
const MOST_OF_OTHER_WORK = 0.5;

/** What threads can wait for within a task. */
const WAITS = ['core', 'gil', 'blocked'] as const;

/**
 * Cores that other programs use, too, are slower: then CPU differs by some percent with the wait for them. It is so small a part of what differs, and
 * of the CPU itself: who needs a tenth of the CPU does not differ by waiting.
 */
const SMALL_PART = 0.1;
const SMALL_CHANGE = 0.2;

/** Where one is faster or slower, what that comes from if it is not what the functions compute: an edit need not have done it. */
function whyTexts(
  sides: Sides,
  { seconds: [before, after] }: Lengths,
  trans: Trans
): readonly string[] {
  const held = differenceOf(
    each(sides, ({ metrics }) =>
      metrics === null ? null : metrics.attributedNanoseconds / 1e9
    )
  );
  if (
    held === null ||
    areAboutTheSame([before, after]) ||
    held * (after - before) <= 0
  ) {
    return [];
  }
  const imports = importTexts(sides, held, trans);
  return imports.length > 0 ? imports : waitTexts(sides, held, trans);
}

/** Whether it makes at least half of what threads were held less or more. */
function isMostOf(held: number, values: Pair): boolean {
  return 2 * (differenceOf(values) ?? 0) * held >= held ** 2;
}

/** The cell that uses a library first has to import it. */
function importTexts(
  sides: Sides,
  held: number,
  trans: Trans
): readonly string[] {
  const imports = each(sides, ({ metrics }) =>
    secondsOf(metrics, ['import'], [])
  );
  return isMostOf(held, imports)
    ? [
        trans.__(
          'what differs most is importing modules, which each worker does once: %1 of thread time instead of %2',
          formatDuration(imports[1]),
          formatDuration(imports[0])
        )
      ]
    : [];
}

/** Of two that were nearly as long on a CPU: which wait makes most of what threads were `held` less or more, in seconds. */
function waitTexts(
  sides: Sides,
  held: number,
  trans: Trans
): readonly string[] {
  const cpu: Pair = each(sides, ({ metrics }) =>
    secondsOf(metrics, ['thread-cpu'], /* not known with */ ['compute'])
  );
  const cpuChange = differenceOf(cpu);
  const isSame = areAboutTheSame(cpu);
  if (
    cpuChange === null ||
    (!isSame &&
      (Math.abs(cpuChange) > SMALL_PART * Math.abs(held) ||
        Math.abs(cpuChange) > SMALL_CHANGE * Math.min(cpu[0]!, cpu[1]!)))
  ) {
    return [];
  }
  const waits = WAITS.map(wait => ({
    wait,
    values: each(sides, ({ metrics }) =>
      isDivided(metrics) ? secondsOf(metrics, [wait], []) : null
    )
  }));
  const most = waits.find(({ values }) => isMostOf(held, values));
  if (most === undefined) {
    return [];
  }
  const texts = [
    formatDuration(isSame ? cpu[1] : Math.abs(cpuChange)),
    formatDuration(most.values[1]),
    formatDuration(most.values[0])
  ] as const;
  switch (most.wait) {
    case 'core':
      return [
        isSame
          ? trans.__(
              'CPU is about the same (%1): what differs is waiting for a core, %2 instead of %3',
              ...texts
            )
          : trans.__(
              'CPU differs by %1 only: what differs more is waiting for a core, %2 instead of %3',
              ...texts
            )
      ];
    case 'gil':
      return [
        isSame
          ? trans.__(
              'CPU is about the same (%1): what differs is waiting for the GIL, %2 instead of %3',
              ...texts
            )
          : trans.__(
              'CPU differs by %1 only: what differs more is waiting for the GIL, %2 instead of %3',
              ...texts
            )
      ];
    case 'blocked':
      return [
        isSame
          ? trans.__(
              'CPU is about the same (%1): what differs is how long threads were blocked, %2 instead of %3',
              ...texts
            )
          : trans.__(
              'CPU differs by %1 only: what differs more is how long threads were blocked, %2 instead of %3',
              ...texts
            )
      ];
  }
}

/** Whether the change, as printed, tells nothing. */
function areAboutTheSame([before, after]: Pair): boolean {
  return (
    before !== null &&
    after !== null &&
    before > 0 &&
    Math.round((100 * Math.abs(after - before)) / before) < TELLING_PERCENT
  );
}

/** Both ran functions, and none of them in both, as far as all are known. */
function haveNothingInCommon(sides: Sides): boolean {
  const [first, second] = each(
    sides,
    ({ metrics }) => new Set(metrics?.byFunction.map(row => row.function) ?? [])
  );
  return (
    first.size > 0 &&
    second.size > 0 &&
    sides.every(hasAllNames) &&
    ![...first].some(name => second.has(name))
  );
}

/** Activities of work that came to nothing. */
const IN_VAIN = ['failed', 'cancelled', 'lost'] as const;

/** Task runs that neither failed nor go on; of the whole run, or of the pass. */
function goodRuns(side: Side): number {
  return (tasksOf(side) ?? 0) - failedRuns(side);
}

function isGoingOn(rows: readonly SpanRow[]): boolean {
  return rows.some(({ closed, running }) => closed === null || running > 0);
}

function failedRuns({ spans, pass }: Side): number {
  return (
    pass?.rows ?? (spans?.rows ?? []).filter(({ parent }) => parent === null)
  ).reduce((sum, row) => sum + row.failed, 0);
}

/** Why a pass may have had less to do than the other: what it asked for was there. */
function reusedTexts(sides: Sides, trans: Trans): readonly string[] {
  const counts = each(sides, reusedOf);
  const names = columnNames(sides, trans);
  return counts[0] === counts[1]
    ? []
    : counts.flatMap((count, i) =>
        count === 0
          ? []
          : trans._n(
              '%2 result of %3 was there already',
              '%2 results of %3 were there already',
              count,
              formatCount(count),
              names[i]!
            )
      );
}

function reusedOf({ pass }: Side): number {
  return (pass?.rows ?? []).reduce((sum, row) => sum + (row.reused ?? 0), 0);
}

/** Why nobody has told yet how long a pass took; null: it has ended. */
function lengthGap(
  pass: PassSide | null
): 'together' | 'untold' | 'running' | null {
  if (pass === null) {
    return null;
  }
  const { rows, isOver } = pass;
  if (rows.length === 0) {
    return 'together';
  }
  return isOver && rows.some(({ closed }) => closed === null)
    ? 'untold'
    : isGoingOn(rows)
      ? 'running'
      : null;
}

/** The same as half a sentence; '': it has ended. */
function whyNoLength(pass: PassSide, name: string, trans: Trans): string {
  switch (lengthGap(pass)) {
    case 'together':
      return trans.__('%1 is counted together with others', name);
    case 'untold':
      return trans.__('nobody has told when %1 ended', name);
    case 'running':
      return trans.__('%1 still runs', name);
    case null:
      return '';
  }
}

/** What came to nothing in a run, "2 of 4 task runs of survey failed", and whether that leaves it undone, whatever the other one did. */
type Faults = {
  readonly isUndone: boolean;
  readonly texts: readonly string[];
  readonly kind: FaultKind;
};

/** What came to nothing, in a word; none: there is nothing to say. */
type FaultKind =
  | 'none'
  | 'running'
  | 'no length'
  | 'nothing'
  | 'not selected'
  | 'failed'
  | 'cancelled'
  | 'lost'
  | 'in vain';

function faultsOf(
  side: Side,
  name: string,
  isFiltered: boolean,
  trans: Trans
): Faults {
  const { metrics, spans, pass } = side;
  const why = pass ? whyNoLength(pass, name, trans) : '';
  if (why !== '' || (metrics?.runningSeconds ?? 0) > 0) {
    const text = why === '' ? trans.__('%1 still runs', name) : why;
    const isRunning = why === '' || lengthGap(pass ?? null) === 'running';
    const kind = isRunning ? 'running' : 'no length';
    return { isUndone: true, texts: [text], kind };
  }
  const texts = inVainTexts(side, name, isFiltered, trans);
  const kind = inVainKind(side, isFiltered);
  // (Dask's own sums may come later than the tasks)
  const hasHeldThreads =
    metrics?.attributedNanoseconds !== 0 ||
    (!isFiltered &&
      (pass?.rows ?? []).reduce(
        (sum, row) => sum + row.threadSeconds,
        pass ? 0 : (spans?.totalThreadSeconds ?? 0)
      ) > 0);
  if (hasHeldThreads) {
    return { isUndone: false, texts, kind };
  }
  if (isFiltered) {
    const text = trans.__('%1 has run nothing of the selection', name);
    return { isUndone: true, texts: [text], kind: 'not selected' };
  }
  // (what was cancelled before it began is told of, and held no thread)
  const text =
    (tasksOf(side) ?? 0) === 0
      ? reusedOf(side) > 0
        ? trans.__('nothing ran in %1', name)
        : trans.__('no task of %1 has ended', name)
      : trans.__('no task of %1 has held a thread', name);
  return texts.length > 0
    ? { isUndone: true, texts, kind }
    : { isUndone: true, texts: [text], kind: 'nothing' };
}

/** What `inVainTexts` tells. */
function inVainKind(side: Side, isFiltered: boolean): FaultKind {
  if (!isFiltered && failedRuns(side) > 0) {
    return 'failed';
  }
  const activities = IN_VAIN.filter(
    activity => (secondsOf(side.metrics, [activity], []) ?? 0) > 0
  );
  const [only, ...others] = activities;
  return only === undefined ? 'none' : others.length > 0 ? 'in vain' : only;
}

/** "2 of 4 task runs of survey failed"; none: nothing came to nothing, as far as is known. */
function inVainTexts(
  side: Side,
  name: string,
  isFiltered: boolean,
  trans: Trans
): readonly string[] {
  // (of the whole run: rows of spans are not filtered)
  const failed = isFiltered ? 0 : failedRuns(side);
  if (failed > 0) {
    const text = trans._n(
      '%2 of %1 task run of %3 failed',
      '%2 of %1 task runs of %3 failed',
      tasksOf(side) ?? 0,
      formatCount(failed),
      name
    );
    return [text];
  }
  const inVain = secondsOf(side.metrics, IN_VAIN, []) ?? 0;
  const text = trans.__(
    '%1 of thread time of %2 went into failed, cancelled or lost tasks',
    formatDuration(inVain),
    name
  );
  return inVain > 0 ? [text] : [];
}

/** "5 of 6 functions ran in both · 4 and 8 threads" */
export function matchText(sides: Sides, trans: Trans): string {
  const rows = namedRows(sides, 'function', 'thread');
  const both = rows.filter(({ values }) => !values.includes(null)).length;
  const [first, second] = each(sides, ({ metrics }) =>
    formatCount(Math.round(metrics?.threads ?? 0))
  );
  return [
    sides.every(hasAllNames)
      ? trans._n(
          '%2 of %1 function ran in both',
          '%2 of %1 functions ran in both',
          rows.length,
          both
        )
      : trans._n(
          'at least %1 function ran in both',
          'at least %1 functions ran in both',
          both
        ),
    trans.__('%1 and %2 threads', first, second)
  ].join(' · ');
}

export function formatOf(value: number | null, unit: Unit): string {
  switch (unit) {
    case 'seconds':
      return formatDuration(value);
    case 'bytes':
      return formatBytes(value);
    case 'count':
      return formatCount(value);
  }
}

/** "−11.2 s"; '': not known. */
export function differenceText(difference: number | null, unit: Unit): string {
  return difference === null
    ? ''
    : formatDifference(difference, size => formatOf(size, unit));
}

/** "−27 %"; '': not known, or there was nothing. */
export function changeText(values: Pair): string {
  const difference = differenceOf(values);
  return difference === null ? '' : formatChange(difference, values[0] ?? 0);
}

/** Whether what differs is less than what is printed, or than clocks tell apart. */
export function areSame([first, second]: Pair, unit: Unit): boolean {
  if (first === null || second === null) {
    return false;
  }
  return unit === 'count'
    ? first === second
    : formatOf(first, unit) === formatOf(second, unit) ||
        (unit === 'seconds' && Math.abs(second - first) < TOLD_APART_SECONDS);
}

const TOLD_APART_SECONDS = 1e-6;
/** As printed. Of one run each nobody knows how much runs of the same work differ: most differ by less. */
const TELLING_PERCENT = 3;

export function unitOf(figure: Figure): Unit {
  return figure === 'tasks' ? 'count' : 'seconds';
}

export function figureWord(figure: Figure, by: By, trans: Trans): string {
  switch (figure) {
    case 'thread':
      return trans.__('Thread time');
    case 'tasks':
      return by === 'function' ? trans.__('Executions') : trans.__('Task runs');
    case 'cpu':
      return trans.__('CPU');
    case 'transfer':
      return trans.__('Transfer, waited for');
    case 'idle':
      return trans.__('Idle');
    case 'wall':
      return trans.__('From first start to last stop');
  }
}

export function byWord(by: By, trans: Trans): string {
  switch (by) {
    case 'function':
      return trans.__('Function');
    case 'span':
      return trans.__('Span');
    case 'activity':
      return trans.__('Activity');
  }
}

/** A function's or span's own name; an activity in users' words. */
export function nameText(name: string, by: By, trans: Trans): string {
  return by === 'activity' ? legendWord(name, trans) : name;
}

/** Everything: each figure of the whole, of each function, span and activity is a row. */
export function tableOf(
  sides: Sides,
  isFiltered: boolean,
  trans: Trans
): TableData {
  const figures = figureRows(sides, isFiltered, trans);
  const row = (
    of: string,
    name: string,
    figure: string,
    values: Pair,
    unit: Unit,
    isComparable = true
  ): TableCell[] => {
    const difference = isComparable ? differenceOf(values) : null;
    const ratio =
      difference === null || !(values[0]! > 0) ? null : values[1]! / values[0]!;
    return [
      cellOf.text(of),
      cellOf.text(name),
      cellOf.text(figure),
      ...values.map(value => ({ text: formatOf(value, unit), value, unit })),
      { text: differenceText(difference, unit), value: difference, unit },
      { text: ratio === null ? '' : ratio.toFixed(2), value: ratio }
    ];
  };
  const notes = notKnown(sides, figures, trans);
  return {
    columns: [
      { name: trans.__('Of') },
      { name: trans.__('Name') },
      { name: trans.__('Figure') },
      ...columnNames(sides, trans).map(name => ({
        name,
        numeric: true,
        isGiven: true
      })),
      { name: trans.__('Difference'), numeric: true },
      { name: trans.__('Ratio'), numeric: true }
    ],
    rows: [
      ...figures.map(({ label, values, unit }) =>
        row(
          scopeOf(sides, isFiltered) === 'passes'
            ? trans.__('Pass')
            : trans.__('Run'),
          trans.__('all'),
          label,
          values,
          unit,
          areComparable(sides, 'whole', isFiltered)
        )
      ),
      ...BY.flatMap(by =>
        FIGURES_BY[by].flatMap(figure =>
          namedRows(sides, by, figure, isFiltered).map(
            ({ name, values, only }) =>
              row(
                byWord(by, trans),
                nameText(name, by, trans),
                figureWord(figure, by, trans),
                values,
                unitOf(figure),
                only === null && areComparable(sides, by, isFiltered)
              )
          )
        )
      )
    ],
    ...(notes.length > 0 ? { note: notes.join(' ') } : {})
  };
}

/** Names of the two runs, which may be of one name. */
export function columnNames(
  [first, second]: Sides,
  trans: Trans
): readonly [string, string] {
  return first.name === second.name
    ? [trans.__('%1 (first)', first.name), trans.__('%1 (second)', second.name)]
    : [first.name, second.name];
}

function each<T>(
  [first, second]: Sides,
  of: (side: Side, place: 0 | 1) => T
): readonly [T, T] {
  return [of(first, 0), of(second, 1)];
}
