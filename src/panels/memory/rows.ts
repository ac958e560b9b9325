/**
 * Memory over time as lines and a table. Two pictures of the same samples:
 *
 *   from zero   run A  |··/\··|              x: seconds since each run's start
 *               run B  |·/\/\·····|
 *
 *   by clock    cluster ─────/\────/\/\────  x: seconds since the cluster's start
 *               run A       |··/\··|
 *               run B                |·/\/\·····|
 */
import { placeAmong } from '../../base/place-in-order';
import type { Trans } from '../../base/trans';
import {
  MEMORY_MEASURES,
  type MemoryMeasure
} from '../../records/enumerations';
import type {
  ClusterInfo,
  LimitStep,
  LineBins,
  MemoryResult,
  TimeRange
} from '../../wire/panel-link';
import {
  cellOf,
  formatBytes,
  formatByteSeconds,
  formatChange,
  formatClock,
  formatCount,
  formatDifference,
  formatDuration,
  formatOffsetTick,
  formatTimeRange,
  lostSentence,
  type TableCell,
  type TableData,
  UNKNOWN,
  workerLabel
} from '../format';

export type Align = 'zero' | 'clock';

export type Line = {
  readonly key: string;
  readonly label: string;
  readonly t: readonly number[];
  readonly bytes: readonly (number | null)[];
  /** Each point holds until the next one (null: nothing is known from there on); else lines between points are straight. */
  readonly holds: boolean;
  /** A labelled run, in order of recording; null for cluster and workers. */
  readonly run: number | null;
  /** Place in the order of colours and dashes. */
  readonly place: number;
  readonly isRecording: boolean;
  readonly peak: {
    readonly t: number;
    readonly bytes: number;
    /** The highest sample is where the run begins: memory held from before, not caused by the run. */
    readonly isFromBefore: boolean;
  } | null;
  /** What its points stand for, if it has too many samples to draw each; times as in `t`. */
  readonly bins: LineBins | null;
};

/** The lines to draw, hidden ones left out. */
export function memoryLines(
  result: MemoryResult,
  align: Align,
  trans: Trans,
  hidden: ReadonlySet<string> = new Set(),
  isLocal = false
): Line[] {
  const named = measureOf(result, align);
  const runs = result.runs.map((run, place): Line => {
    const shift = align === 'zero' ? run.start : 0;
    const { bins } = run;
    return {
      key: `run ${run.run}`,
      label:
        run.measure !== named
          ? trans.__('%1 (%2)', run.label, measureWord(run.measure, trans))
          : run.label,
      t: run.t.map(at => at - shift),
      bytes: run.bytes,
      holds: false,
      run: run.run,
      place,
      isRecording: run.stopped === null,
      peak:
        run.peakAt === null
          ? null
          : {
              t: run.peakAt - shift,
              bytes: run.peak,
              isFromBefore: isPeakFromBefore(run)
            },
      bins:
        bins === undefined
          ? null
          : { ...bins, from: bins.from.map(at => at - shift) }
    };
  });
  const series =
    align === 'zero' && runs.length > 0
      ? []
      : result.series.map((item, place): Line => ({
          key: `series ${item.name}`,
          label: seriesLabel(item, isLocal, trans),
          t: item.t,
          bytes: item.bytes,
          holds: true,
          run: null,
          place,
          isRecording: false,
          peak: peakOf(item),
          bins: item.bins ?? null
        }));
  return [...series, ...runs].filter(line => !hidden.has(line.key));
}

/** The names of the observer's own lines; workers have their own names. */
function seriesLabel(
  { name, worker }: MemoryResult['series'][number],
  isLocal: boolean,
  trans: Trans
): string {
  return worker !== null
    ? workerLabel(name, trans)
    : name === 'selection'
      ? trans.__('selection')
      : isLocal
        ? trans.__('all processes')
        : trans.__('cluster');
}

/** What a measure is called. */
type MeasureWords = {
  /** In the list of the toolbar. */
  readonly option: string;
  /** Beside the name of a run, in a table. */
  readonly word: string;
  readonly ofCluster: string;
  readonly ofWorkers: string;
};

export function measureWords(
  measure: MemoryMeasure,
  trans: Trans
): MeasureWords {
  switch (measure) {
    case 'process':
      return {
        option: trans.__('Process'),
        word: trans.__('process'),
        ofCluster: trans.__('Process memory of the cluster'),
        ofWorkers: trans.__('Process memory of each worker')
      };
    case 'managed':
      return {
        option: trans.__('Managed'),
        word: trans.__('managed'),
        ofCluster: trans.__('Managed memory of the cluster'),
        ofWorkers: trans.__('Managed memory of each worker')
      };
    case 'managed_total':
      return {
        option: trans.__('Managed and spilled'),
        word: trans.__('managed and spilled'),
        ofCluster: trans.__('Managed and spilled memory of the cluster'),
        ofWorkers: trans.__('Managed and spilled memory of each worker')
      };
    case 'spilled':
      return {
        option: trans.__('Spilled'),
        word: trans.__('spilled'),
        ofCluster: trans.__('Spilled memory of the cluster'),
        ofWorkers: trans.__('Spilled memory of each worker')
      };
    case 'unmanaged':
      return {
        option: trans.__('Unmanaged'),
        word: trans.__('unmanaged'),
        ofCluster: trans.__('Unmanaged memory of the cluster'),
        ofWorkers: trans.__('Unmanaged memory of each worker')
      };
    case 'unmanaged_old':
      return {
        option: trans.__('Unmanaged, old'),
        word: trans.__('unmanaged, old'),
        ofCluster: trans.__('Old unmanaged memory of the cluster'),
        ofWorkers: trans.__('Old unmanaged memory of each worker')
      };
    case 'unmanaged_recent':
      return {
        option: trans.__('Unmanaged, recent'),
        word: trans.__('unmanaged, recent'),
        ofCluster: trans.__('Recent unmanaged memory of the cluster'),
        ofWorkers: trans.__('Recent unmanaged memory of each worker')
      };
    case 'optimistic':
      return {
        option: trans.__('Optimistic'),
        word: trans.__('optimistic'),
        ofCluster: trans.__('Optimistic memory of the cluster'),
        ofWorkers: trans.__('Optimistic memory of each worker')
      };
  }
}

/** A newer observer may have measures that are not known here. */
function wordsOf(measure: string, trans: Trans): MeasureWords | null {
  const known = MEMORY_MEASURES.find(each => each === measure);
  return known === undefined ? null : measureWords(known, trans);
}

export function measureWord(measure: string, trans: Trans): string {
  return wordsOf(measure, trans)?.word ?? measure;
}

/** An observer of before tells what is drawn, and no more. */
function peakOf(series: MemoryResult['series'][number]): Line['peak'] {
  if (series.peak !== undefined) {
    const { peak, peakAt } = series;
    return peak === null
      ? null
      : { t: peakAt ?? 0, bytes: peak, isFromBefore: false };
  }
  let best: Line['peak'] = null;
  series.bytes.forEach((value, index) => {
    if (value !== null && (best === null || value > best.bytes)) {
      best = { t: series.t[index] ?? 0, bytes: value, isFromBefore: false };
    }
  });
  return best;
}

/** What a line has at `t`; unknown: within it, where no sample was; null: outside it. */
export function valueAt(line: Line, t: number): number | 'unknown' | null {
  const { t: times, bytes } = line;
  const last = times.length - 1;
  if (t < (times[0] ?? 0) || t > (times[last] ?? 0)) {
    return null;
  }
  const low = Math.max(0, Math.min(last, placeAmong(times, t)) - 1);
  if (line.holds) {
    const held = times[low + 1] === t ? low + 1 : low;
    return bytes[held] ?? 'unknown';
  }
  const high = Math.min(last, low + 1);
  const [a, b] = [bytes[low] ?? null, bytes[high] ?? null];
  const width = (times[high] ?? 0) - (times[low] ?? 0);
  if (a === null || b === null || width <= 0) {
    return a ?? b ?? 'unknown';
  }
  return a + ((b - a) * (t - (times[low] ?? 0))) / width;
}

/** The corners of a line as it is drawn, with a null where it breaks off. */
export function cornersOf({
  t,
  bytes,
  holds
}: Pick<Line, 't' | 'bytes' | 'holds'>): Pick<Line, 't' | 'bytes'> {
  if (!holds) {
    return { t, bytes };
  }
  const corners = { t: [] as number[], bytes: [] as (number | null)[] };
  t.forEach((at, index) => {
    const [before, value] = [bytes[index - 1] ?? null, bytes[index] ?? null];
    if (before !== null && before !== value) {
      corners.t.push(at);
      corners.bytes.push(before);
    }
    corners.t.push(at);
    corners.bytes.push(value);
  });
  return corners;
}

/** Whether a run was never higher than when it began: its peak is memory from before it. */
function isPeakFromBefore(run: MemoryResult['runs'][number]): boolean {
  return run.samples > 1 && run.first === run.peak;
}

/** The range and mean of the samples in the bin of `t`: "1.20 GiB to 1.52 GiB, mean 1.31 GiB"; null where every sample is drawn. */
export function binText(line: Line, t: number, trans: Trans): string | null {
  const { bins } = line;
  if (bins === null) {
    return null;
  }
  const index = bins.from.findLastIndex(from => from <= t);
  if (index < 0 || t >= bins.from[index]! + bins.seconds) {
    return null;
  }
  const [low, high, mean] = [bins.low, bins.high, bins.mean].map(column =>
    formatBytes(column[index] ?? null)
  );
  return trans.__('%1 to %2, mean %3', low, high, mean);
}

/**
 * The measure that the title names. Runs keep the measure that they were recorded with, whatever is chosen for the cluster's line. Null:
 * there is no such line, and the runs have several measures, so that each run has to name its own.
 */
function measureOf(result: MemoryResult, align: Align): string | null {
  const own = new Set(result.runs.map(run => run.measure));
  if (align === 'clock' || own.size === 0) {
    return result.measure;
  }
  return own.size === 1 ? ([...own][0] ?? null) : null;
}

/** Why System has another figure; '': it has none, or the same. */
export function remarkOnMeasure(
  { measure }: MemoryResult,
  kind: ClusterInfo['kind'] | undefined,
  trans: Trans
): string {
  return measure === 'process' && (kind === 'embedded' || kind === 'local')
    ? trans.__(
        'What processes share is counted once at most; Resident memory in System has it in each of them.'
      )
    : '';
}

/** "Process memory of the cluster, 2 runs from zero" */
export function titleOf(
  result: MemoryResult,
  align: Align,
  show: 'cluster' | 'workers',
  trans: Trans,
  isLocal = false
): string {
  const count = result.runs.length;
  // Runs are of the cluster.
  const ofWorkers = show === 'workers' && (count === 0 || align === 'clock');
  const measure = ofWorkers ? result.measure : measureOf(result, align);
  const title = isLocal
    ? titleOfLocal(measure, ofWorkers, trans)
    : ofWorkers
      ? titleOfWorkers(result.measure, trans)
      : titleOfCluster(measure, trans);
  if (count === 0) {
    return title;
  }
  return align === 'zero'
    ? trans._n('%2, %1 run from zero', '%2, %1 runs from zero', count, title)
    : trans._n('%2, %1 run by clock', '%2, %1 runs by clock', count, title);
}

/** @param measure - null: each line says its own. */
function titleOfCluster(measure: string | null, trans: Trans): string {
  return measure === null
    ? trans.__('Memory of the cluster')
    : (wordsOf(measure, trans)?.ofCluster ??
        trans.__('%1 of the cluster', measure));
}

function titleOfWorkers(measure: string, trans: Trans): string {
  return (
    wordsOf(measure, trans)?.ofWorkers ?? trans.__('%1 of each worker', measure)
  );
}

/** Where there is no cluster: of the program and the processes of its pools. */
function titleOfLocal(
  measure: string | null,
  ofWorkers: boolean,
  trans: Trans
): string {
  const title =
    measure === null
      ? trans.__('Memory')
      : measure === 'process'
        ? trans.__('Process memory')
        : (wordsOf(measure, trans)?.option ?? measure);
  return ofWorkers ? trans.__('%1 of each process', title) : title;
}

/** "peak 795 MiB, mean 412 MiB", of the cluster's line in the range that is chosen; '': it is not shown, or not known. */
export function figuresText(
  { series, runs }: MemoryResult,
  align: Align,
  time: TimeRange,
  trans: Trans
): string {
  const { peak, mean } = series[0] ?? {};
  if (
    (align === 'zero' && runs.length > 0) ||
    typeof peak !== 'number' ||
    typeof mean !== 'number'
  ) {
    return '';
  }
  const figures = [formatBytes(peak), formatBytes(mean)] as const;
  return time !== 'all' && 'from' in time
    ? trans.__(
        'peak %1, mean %2 in %3',
        ...figures,
        formatTimeRange(time.from, time.to)
      )
    : trans.__('peak %1, mean %2', ...figures);
}

/** "workers’ limits 16.0 GiB · sampled every 250 ms" */
export function subtitleOf(
  result: MemoryResult,
  isSumOfLimits: boolean,
  trans: Trans
): string {
  const parts: string[] = [];
  const others = result.runs.filter(run => run.measure !== result.measure);
  if (others.length > 0) {
    parts.push(trans.__('runs keep the measure that they were recorded with'));
  }
  if (result.limits !== null && result.limits.memoryLimit > 0) {
    const limit = formatBytes(result.limits.memoryLimit);
    parts.push(
      isSumOfLimits
        ? trans.__('workers’ limits %1', limit)
        : trans.__('worker’s limit %1', limit)
    );
  }
  const interval = result.runs.at(-1)?.intervalSeconds;
  if (interval !== undefined) {
    parts.push(trans.__('sampled every %1', formatDuration(interval)));
  }
  return parts.join(' · ');
}

// ------------------------------------------------------------------- limits

/**
 * What limits to draw from each time on, in the time of the lines. From zero, where runs lie over each other, those that are true for all that
 * are shown: of several runs between which, or in which, workers came or left there are none.
 */
export function limitSteps(
  { limits, runs }: MemoryResult,
  align: Align,
  hidden: ReadonlySet<string> = new Set()
): readonly LimitStep[] {
  if (limits === null) {
    return [];
  }
  const always = (memoryLimit: number) => [{ from: -Infinity, memoryLimit }];
  const { steps } = limits;
  if (steps === undefined) {
    return always(limits.memoryLimit);
  }
  if (align === 'clock' || runs.length === 0) {
    return steps;
  }
  const shown = runs
    .filter(({ run }) => !hidden.has(`run ${run}`))
    .map(({ start, stopped }) => stepsWithin(steps, start, stopped));
  const [first, ...others] = shown;
  if (first === undefined || others.length === 0) {
    return first ?? [];
  }
  const [{ memoryLimit }] = first;
  return shown.every(
    each => each.length === 1 && each[0].memoryLimit === memoryLimit
  )
    ? always(memoryLimit)
    : [];
}

/** Counted from `start`, where the first one begins. */
function stepsWithin(
  steps: readonly LimitStep[],
  start: number,
  stopped: number | null
): [LimitStep, ...LimitStep[]] {
  const before = steps.findLast(({ from }) => from <= start);
  return [
    { from: 0, memoryLimit: before?.memoryLimit ?? 0 },
    ...steps
      .filter(({ from }) => from > start && from < (stopped ?? Infinity))
      .map(step => ({ ...step, from: step.from - start }))
  ];
}

// ------------------------------------------------------------- lost workers

/** Where the loss of a worker is drawn. */
export type LostMark = {
  readonly key: string;
  readonly worker: number;
  readonly t: number;
  readonly sentence: string;
};

/** By the clock each has one mark; from zero one in each run that is shown and was under way. */
export function lostMarks(
  result: MemoryResult,
  align: Align,
  trans: Trans,
  hidden: ReadonlySet<string> = new Set()
): LostMark[] {
  const { lost = [] } = result;
  const runs = result.runs.filter(({ run }) => !hidden.has(`run ${run}`));
  return lost.flatMap(row => {
    const { worker } = row;
    const sentence = lostSentence(row, trans);
    const key = `lost ${worker}`;
    return align === 'clock' || result.runs.length === 0
      ? [{ key, worker, t: row.t, sentence }]
      : runs
          .filter(
            ({ start, stopped }) =>
              start <= row.t && row.t <= (stopped ?? Infinity)
          )
          .map(({ run, start }) => ({
            key: `${key} ${run}`,
            worker,
            t: row.t - start,
            sentence
          }));
  });
}

/** As many losses the legend tells of; the table has all. */
const MOST_IN_LEGEND = 10;

/** What the legend says of those that have marks: the sentence of a single one; null: none has. */
export function lostLegend(
  result: MemoryResult,
  marks: readonly LostMark[],
  trans: Trans
): { readonly text: string; readonly sentences: readonly string[] } | null {
  const marked = new Set(marks.map(({ worker }) => worker));
  const { lost: all = [], lostLeftOut = 0 } = result;
  const lost = all.filter(({ worker }) => marked.has(worker));
  // (whether those left out would have marks, nobody knows unless all others have)
  const count = lost.length + (lost.length === all.length ? lostLeftOut : 0);
  if (count === 0) {
    return null;
  }
  const told = lost.slice(-MOST_IN_LEGEND);
  const before = count - told.length;
  const sentences = [
    ...(before > 0
      ? [
          trans._n(
            '%2 more was lost before these.',
            '%2 more were lost before these.',
            before,
            formatCount(before)
          )
        ]
      : []),
    ...told.map(worker => lostSentence(worker, trans))
  ];
  return {
    text:
      count === 1
        ? trans.__('%1 was lost', workerLabel(lost[0]?.name ?? '', trans))
        : trans._n(
            '%2 worker was lost',
            '%2 workers were lost',
            count,
            formatCount(count)
          ),
    sentences
  };
}

// --------------------------------------------------------------------- runs

type RunRow = {
  readonly key: string;
  readonly label: string;
  readonly place: number;
  readonly isRecording: boolean;
  readonly started: string;
  readonly duration: number;
  /** Held when it began; null: not known yet. */
  readonly first: number | null;
  readonly peak: number;
  readonly isPeakFromBefore: boolean;
  readonly mean: number | null;
  /** Bytes × seconds. */
  readonly area: number;
  readonly measure: string;
};

export function runRows(
  result: MemoryResult,
  startedAt: number,
  now: number
): RunRow[] {
  return result.runs.map((run, place) => {
    const last = run.t.at(-1) ?? run.start;
    return {
      key: `run ${run.run}`,
      label: run.label,
      place,
      isRecording: run.stopped === null,
      started: formatClock(startedAt + run.start, now),
      duration: (run.stopped ?? last) - run.start,
      first: run.first,
      peak: run.peak,
      isPeakFromBefore: isPeakFromBefore(run),
      mean: run.mean,
      area: run.area,
      measure: run.measure
    };
  });
}

/** "after − before", when there are exactly two runs to compare. */
export function differenceRow(
  rows: readonly RunRow[]
): { readonly label: string; readonly cells: readonly string[] } | null {
  const [a, b, more] = rows;
  if (a === undefined || b === undefined || more !== undefined) {
    return null;
  }
  const cell = (
    from: number | null,
    to: number | null,
    format: (value: number) => string
  ) =>
    from === null || to === null
      ? UNKNOWN
      : `${formatDifference(to - from, size => format(size))} ${formatChange(to - from, from)}`.trim();
  return {
    label: `${b.label} − ${a.label}`,
    cells: [
      cell(a.duration, b.duration, formatDuration),
      cell(a.first, b.first, formatBytes),
      cell(a.peak, b.peak, formatBytes),
      cell(a.mean, b.mean, formatBytes),
      cell(a.area, b.area, formatByteSeconds)
    ]
  };
}

// --------------------------------------------------------------- difference

export type Difference = {
  /** "after − before" */
  readonly label: string;
  /** The run from whose bytes those of the other are taken. */
  readonly of: string;
  /** Since the start of each run, as long as both go on. */
  readonly t: readonly number[];
  readonly bytes: readonly (number | null)[];
};

/** By how much the second of the two runs that are shown held more than the first; a sentence: why there is no such line. */
export function differenceOf(
  result: MemoryResult,
  trans: Trans,
  hidden: ReadonlySet<string>
): Difference | string {
  if (result.runs.length < 2) {
    return trans.__('Two recorded runs can be compared: there are fewer.');
  }
  const lines = memoryLines(result, 'zero', trans, hidden);
  const [a, b] = lines;
  if (a === undefined || b === undefined || lines.length > 2) {
    return trans.__(
      'Two runs can be compared: show these alone. A click on a name below the chart hides its line, or shows it.'
    );
  }
  if (result.runs[a.place]?.measure !== result.runs[b.place]?.measure) {
    return trans.__(
      'The two runs that are shown have different measures, and cannot be compared.'
    );
  }
  const [before, after] = [meanLine(a), meanLine(b)];
  const [from, to] = [
    Math.max(before.t[0] ?? Infinity, after.t[0] ?? Infinity),
    Math.min(before.t.at(-1) ?? -Infinity, after.t.at(-1) ?? -Infinity)
  ];
  const times = [...new Set([...before.t, ...after.t])]
    .filter(t => t >= from && t <= to)
    .sort((one, other) => one - other);
  const points = times.map((t): readonly [number, number | null] => {
    const [low, high] = [valueAt(before, t), valueAt(after, t)];
    return [
      t,
      typeof low === 'number' && typeof high === 'number' ? high - low : null
    ];
  });
  const drawn = points.flatMap((point, index) => [
    ...zeroBetween(points[index - 1], point),
    point
  ]);
  return {
    label: `${b.label} − ${a.label}`,
    of: b.label,
    t: drawn.map(([t]) => t),
    bytes: drawn.map(([, bytes]) => bytes)
  };
}

/** Where it has too many samples to draw each, a line's points are extremes of bins: those of two lines are of different moments. */
function meanLine(line: Line): Line {
  const { bins } = line;
  return bins === null
    ? line
    : {
        ...line,
        t: bins.from.map(from => from + bins.seconds / 2),
        bytes: bins.mean
      };
}

/** The moment between two points at which the sign changes: what is above zero and what is below it are drawn apart. */
function zeroBetween(
  before: readonly [number, number | null] | undefined,
  [t, bytes]: readonly [number, number | null]
): (readonly [number, number])[] {
  const [lastT, last] = before ?? [t, null];
  return bytes === null || last === null || bytes * last >= 0
    ? []
    : [[lastT + ((t - lastT) * last) / (last - bytes), 0]];
}

/** "from −5.67 GiB at +21.8 s to +1.20 GiB at +3.0 s"; '': nothing is known. */
export function differenceText({ t, bytes }: Difference, trans: Trans): string {
  const known = bytes.flatMap((value, index) =>
    value === null ? [] : [{ value, at: t[index]! }]
  );
  const [least, most] = [
    (one: number, other: number) => one < other,
    (one: number, other: number) => one > other
  ].map(isFurther =>
    known.reduce<(typeof known)[number] | undefined>(
      (best, each) =>
        best === undefined || isFurther(each.value, best.value) ? each : best,
      undefined
    )
  );
  return least === undefined || most === undefined
    ? ''
    : trans.__(
        'from %1 at %2 to %3 at %4',
        formatDifference(least.value, formatBytes),
        formatOffsetTick(least.at, 0.1),
        formatDifference(most.value, formatBytes),
        formatOffsetTick(most.at, 0.1)
      );
}

/** Among these columns. Before it the twin has the newest figure, which series have too. */
export const PEAK_AT = 3;

/** The columns of runs after their name; `wide`: where there is room, in the panel. */
export function runColumns(trans: Trans) {
  return [
    { name: trans.__('Started'), wide: true },
    { name: trans.__('Duration'), numeric: true, unit: 'seconds' },
    {
      name: trans.__('At start'),
      numeric: true,
      wide: true,
      unit: 'bytes'
    },
    { name: trans.__('Peak'), numeric: true, unit: 'bytes' },
    { name: trans.__('Mean'), numeric: true, unit: 'bytes' },
    {
      name: trans.__('Area'),
      numeric: true,
      wide: true,
      unit: 'byte_seconds'
    },
    { name: trans.__('Measure'), wide: true }
  ];
}

export function runCells(row: RunRow, trans: Trans): TableCell[] {
  const { text, seconds, bytes } = cellOf;
  const peak = bytes(row.peak);
  return [
    text(row.started),
    seconds(row.duration),
    bytes(row.first),
    row.isPeakFromBefore
      ? { ...peak, text: trans.__('%1, from before', peak.text) }
      : peak,
    bytes(row.mean),
    {
      text: formatByteSeconds(row.area),
      value: row.area,
      unit: 'byte_seconds'
    },
    text(measureWord(row.measure, trans))
  ];
}

/** The twin: a row per run; by worker or cluster, the newest and highest figure; and a row for each worker that was lost. */
export function tableOf(
  result: MemoryResult,
  startedAt: number,
  now: number,
  trans: Trans,
  isLocal = false
): TableData {
  const { text, bytes } = cellOf;
  const none: TableCell = { text: UNKNOWN, value: null };
  const series = result.series.map(item => [
    text(seriesLabel(item, isLocal, trans)),
    none,
    none,
    // (what is drawn may be a part: an observer of before draws all)
    bytes((item.first === undefined ? item.bytes[0] : item.first) ?? null),
    bytes((item.last === undefined ? item.bytes.at(-1) : item.last) ?? null),
    bytes(peakOf(item)?.bytes ?? null),
    bytes(item.mean ?? null),
    none,
    text(measureWord(result.measure, trans))
  ]);
  const runs = runRows(result, startedAt, now).map(row => [
    text(row.isRecording ? trans.__('%1 (recording)', row.label) : row.label),
    ...runCells(row, trans).toSpliced(
      PEAK_AT,
      0,
      bytes(result.runs[row.place]?.last ?? null)
    )
  ]);
  const lost = (result.lost ?? []).map(worker => [
    text(lostSentence(worker, trans)),
    none,
    none,
    none,
    bytes(worker.process),
    none,
    none,
    none,
    text(measureWord('process', trans))
  ]);
  const last = { name: trans.__('Last'), numeric: true, unit: 'bytes' };
  return {
    columns: [
      { name: trans.__('Name') },
      ...runColumns(trans).toSpliced(PEAK_AT, 0, last)
    ],
    rows: [...runs, ...series, ...lost]
  };
}
