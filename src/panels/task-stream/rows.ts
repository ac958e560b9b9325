/**
 * The task stream's answer as rows: worker headers, span bands, the whole-run
 * strip, the legend, the text of a hover card, the table twin. Pure, no
 * pixels, no colours.
 */
import { placeInOrder } from '../../base/place-in-order';
import type { Trans } from '../../base/trans';
import type { BesideLane } from '../../records/beside-lanes';
import { BOX_OF_PART_WORD, BOX_OF_RUN_WORD } from '../../records/box-kinds';
import {
  BoxKind,
  type FilteredStatus,
  OTHER_TASKS,
  type WordOf,
  wordsOf
} from '../../records/enumerations';
import type {
  FunctionSlot,
  RunDetail,
  TaskStreamResult
} from '../../wire/panel-link';
import {
  cellOf,
  executionsText,
  failedRunsText,
  formatAmount,
  formatBytes,
  formatCount,
  formatDuration,
  formatExactCount,
  formatInstant,
  formatMoment,
  formatShare,
  KIND_WORDS,
  legendWord,
  lostSentence,
  partWord,
  processesText,
  runningText,
  shareOf,
  type TableCell,
  taskRunsText,
  workerLabel
} from '../format';

// ------------------------------------------------------------------ workers

/** Why a worker begins no task: in a few words, and in one for where there is little room. */
export type StandingText = { readonly text: string; readonly word: string };

export type WorkerHeader = {
  readonly worker: number;
  readonly name: string;
  /** "2 threads · busy 89 % · 4.00 GiB" */
  readonly text: string;
  /** Of what its share is. */
  readonly explanation: string;
  /** What of the text stands in a second line below the name, or in the room that a word has beside it; left out of groups. */
  readonly brief?: { readonly line: string; readonly word: string };
  /** Why it begins no task; left out: it does. */
  readonly standing?: StandingText;
};

/** @param processes - bytes of the workers' processes now; of others than these the answer tells, as of its time. */
export function workerHeaders(
  result: TaskStreamResult,
  trans: Trans,
  standings: ReadonlyMap<number, StandingText> = new Map(),
  processes: ReadonlyMap<number, number> = new Map()
): WorkerHeader[] {
  const running = runningSeconds(result);
  const uncounted = uncountedTasks(result);
  return result.workers.map(worker => {
    const { capacity } = worker;
    const unknown = uncounted.get(worker.worker) ?? 0;
    // Running tasks count too; a task may reach slightly beyond the end of the known run.
    const seconds = Math.min(
      worker.busy + (running.get(worker.worker) ?? 0),
      capacity
    );
    const busy = busyText(seconds, capacity, unknown, trans);
    const parts = [threadsText(worker.threads, trans), busy];
    // The last memory and the limit of a worker that left no longer count.
    if (worker.memoryLimit > 0 && worker.left === null) {
      const held = processes.get(worker.worker) ?? worker.process;
      parts.push(
        held > 0
          ? trans.__(
              '%1 of %2',
              formatBytes(held),
              formatBytes(worker.memoryLimit)
            )
          : formatBytes(worker.memoryLimit)
      );
    }
    const left =
      worker.left === null
        ? null
        : trans.__('left at %1', formatMoment(worker.left));
    if (left !== null) {
      parts.push(left);
    }
    const standing = standings.get(worker.worker);
    return {
      worker: worker.worker,
      name: workerLabel(worker.name, trans),
      text: parts.join(' · '),
      explanation: busySentence(seconds, capacity, unknown, trans),
      brief:
        left === null
          ? { line: busy, word: formatShare(shareOf(seconds, capacity)) }
          : { line: left, word: trans.__('left') },
      ...(standing !== undefined && { standing })
    };
  });
}

/** @param unknown - how many tasks run of which it is not known how long they held threads. */
export function busyText(
  seconds: number,
  capacity: number,
  unknown: number,
  trans: Trans
): string {
  const share = formatShare(shareOf(seconds, capacity));
  return unknown > 0 && seconds < capacity
    ? trans.__('busy %1 or more', share)
    : trans.__('busy %1', share);
}

/** What the share of `busyText` is one of. */
export function busySentence(
  seconds: number,
  capacity: number,
  unknown: number,
  trans: Trans
): string {
  const sentence = trans.__(
    'Busy: tasks held the threads for %1 of the %2 that they had in the whole run. A thread has time while its worker is there and some task is unfinished. Under a filter only the tasks that it leaves count.',
    formatDuration(seconds),
    formatDuration(capacity)
  );
  const reason = uncountedSentence(unknown, trans);
  return reason === '' ? sentence : `${sentence} ${reason}`;
}

/** Why as many running tasks are not among what is busy; '' of none. */
export function uncountedSentence(count: number, trans: Trans): string {
  return count === 0
    ? ''
    : trans._n(
        '%2\u00a0task that seceded and still runs is not counted: when it held a thread is not known.',
        '%2\u00a0tasks that seceded and still run are not counted: when they held threads is not known.',
        count,
        formatCount(count)
      );
}

/**
 * By worker: how many tasks that run now have seceded, and nothing is known of their threads. (Each held one before it seceded. Of a worker
 * with very many such changes the observer forgets the oldest.)
 */
export function uncountedTasks({
  running,
  lanes
}: Pick<TaskStreamResult, 'running' | 'lanes'>): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const { laneIndex, held = [] } of running) {
    const lane = lanes[laneIndex];
    if (lane?.beside?.[0] === 'seceded' && held.length === 0) {
      counts.set(lane.worker, (counts.get(lane.worker) ?? 0) + 1);
    }
  }
  return counts;
}

export function threadsText(count: number, trans: Trans): string {
  return trans._n(
    '%2\u00a0thread',
    '%2\u00a0threads',
    count,
    formatCount(count)
  );
}

/** When tasks that run now have held threads. One that has seceded does not where it is drawn. */
function heldByRunning({ running, lanes, now }: TaskStreamResult): {
  readonly worker: number | undefined;
  readonly from: number;
  readonly to: number;
}[] {
  return running.flatMap(({ laneIndex, started, held = [] }) => {
    const lane = lanes[laneIndex];
    const stretches =
      lane?.beside?.[0] === 'seceded' ? held : [{ from: started, to: null }];
    return stretches.map(({ from, to }) => ({
      worker: lane?.worker,
      from,
      to: to ?? Math.max(from, now)
    }));
  });
}

/** By worker: for how many seconds the tasks that it runs now have held threads. */
export function runningSeconds(
  result: TaskStreamResult
): ReadonlyMap<number, number> {
  const seconds = new Map<number, number>();
  for (const { worker, from, to } of heldByRunning(result)) {
    if (worker !== undefined) {
      seconds.set(worker, (seconds.get(worker) ?? 0) + to - from);
    }
  }
  return seconds;
}

// -------------------------------------------------------------------- bands

export type BandRow = {
  readonly span: number;
  readonly tag: string;
  /** The notebook or program; '' if there is one alone. */
  readonly client: string;
  readonly from: number;
  readonly to: number;
  /** 0 = outermost. */
  readonly level: number;
  /** 0…5, by order of first appearance within its level. */
  readonly tint: number;
};

/** Rows of bands at least, if so many are needed, and unfolded or at most: beyond that the lanes would have no room. */
export const BAND_LEVELS = { folded: 3, unfolded: 12 } as const;

/**
 * At most `levels` rows of bands. Spans of one notebook, name and depth that
 * touch or overlap are one band (each `with span("a")` opens a span of its
 * own); others that overlap (two notebooks' spans) go to the next free row:
 *
 *   depth 0   |——— Alice's workflow ———————————————|
 *   depth 1   |— data load —|— ML preprocessing ———|
 *   depth 2                 |— clean —|— features —|
 *
 * `without`: names of bands that have no row, each as often as it has none.
 */
export function placedBands(
  result: TaskStreamResult,
  levels: number = BAND_LEVELS.folded
): { readonly rows: BandRow[]; readonly without: readonly string[] } {
  const tints: Map<string, number>[] = [];
  const taken: BandRow[][] = [];
  const rows: BandRow[] = [];
  const without: string[] = [];
  for (const band of joinedBands(result)) {
    let level = band.depth;
    // (a row that has a span of less depth later may be free now)
    while (level < levels && !isFree(taken[level], band)) {
      level += 1;
    }
    if (level >= levels) {
      without.push(band.tag);
      continue;
    }
    const tintOf = (tints[level] ??= new Map<string, number>());
    const { span, tag, client = '', from, to } = band;
    const name = nameOf(band);
    const tint = tintOf.get(name) ?? (tintOf.size + level) % 6;
    tintOf.set(name, tint);
    const row = { span, tag, client, from, to, level, tint };
    const inRow = (taken[level] ??= []);
    inRow.splice(placeInOrder(inRow, band.from, beginOf), 0, row);
    rows.push(row);
  }
  return { rows, without };
}

const beginOf = ({ from }: Stretch): number => from;

/** Bands of a row do not overlap, so that only those about its place can be in the way of another: the last before it that takes time, and what begins in it. */
function isFree(row: readonly BandRow[] = [], band: Stretch): boolean {
  const place = placeInOrder(row, band.from, beginOf);
  let first = place - 1;
  while (first > 0 && row[first]!.to - row[first]!.from <= INSTANT) {
    first -= 1;
  }
  for (let at = Math.max(0, first); at < row.length; at++) {
    const other = row[at]!;
    if (at >= place && other.from >= band.to) {
      return true;
    }
    if (overlap(other, band)) {
      return false;
    }
  }
  return true;
}

type Stretch = { readonly from: number; readonly to: number };

/** Seconds that are nothing but rounding. */
const INSTANT = 1e-9;

/** Whether both need a row of their own: where one ends another may begin. */
function overlap(one: Stretch, other: Stretch): boolean {
  return one.to > other.from + INSTANT && other.to > one.from + INSTANT;
}

/** Bands by depth and beginning, those of one name joined. */
function joinedBands(result: TaskStreamResult): TaskStreamResult['bands'] {
  // Bands this near, as a share of the run, look like one with a crack in it.
  const near = (result.to - result.from) * 0.004;
  const open = new Map<string, { -readonly [K in keyof Band]: Band[K] }>();
  const joined: Band[] = [];
  const byDepth = [...result.bands].sort(
    (a, b) => a.depth - b.depth || a.from - b.from
  );
  for (const band of byDepth) {
    const key = `${band.depth} ${nameOf(band)}`;
    const last = open.get(key);
    if (last !== undefined && band.from <= last.to + near) {
      last.to = Math.max(last.to, band.to);
    } else {
      const copy = { ...band };
      open.set(key, copy);
      joined.push(copy);
    }
  }
  return joined;
}

type Band = TaskStreamResult['bands'][number];

/** Spans of one tag are different ones in different notebooks. */
function nameOf({ tag, client = '' }: Band): string {
  return `${client}\0${tag}`;
}

/** "spans +12": so many are not drawn. */
export function spansText(missing: number, trans: Trans): string {
  return missing > 0
    ? trans.__('spans +%1', formatCount(missing))
    : trans.__('spans');
}

/**
 * Which spans have no band, and how to see them; '': all have one.
 *
 * @param hasRange - a range of time is chosen, whose spans come first.
 */
export function leftOutText(
  { bands, bandsLeftOut = 0 }: TaskStreamResult,
  hasRange: boolean,
  trans: Trans
): string {
  if (bandsLeftOut === 0) {
    return '';
  }
  const counts = [formatCount(bandsLeftOut), formatCount(bands.length)];
  return hasRange
    ? trans._n(
        '%3 spans are drawn: first those in the chosen range of time, of these and of the others the longest. %2 is not. Choose a shorter range (Shift-drag) or filter to see others.',
        '%3 spans are drawn: first those in the chosen range of time, of these and of the others the longest. %2 are not. Choose a shorter range (Shift-drag) or filter to see others.',
        bandsLeftOut,
        ...counts
      )
    : trans._n(
        'The %3 longest spans are drawn, %2 shorter one is not. Choose a range of time (Shift-drag) or filter, and those in it are drawn first.',
        'The %3 longest spans are drawn, %2 shorter ones are not. Choose a range of time (Shift-drag) or filter, and those in it are drawn first.',
        bandsLeftOut,
        ...counts
      );
}

export function bandLevels(bands: readonly BandRow[]): number {
  return bands.reduce((most, band) => Math.max(most, band.level + 1), 0);
}

// ----------------------------------------------------- whole run and legend

/** The parts of a strip bar from the bottom up, each as a share of all threads. */
export type StripBar = {
  readonly compute: number;
  readonly disk: number;
  readonly transfer: number;
  readonly failed: number;
};

/**
 * Bars of the whole-run strip; a bar as high as the strip is as many threads busy as there ever were at a time: workers that were replaced
 * have lanes, too. Tasks that run are busy up to now, unless they have seceded.
 */
export function stripBars(result: TaskStreamResult): StripBar[] {
  const { compute, transfer, disk, other, failed } = result.strip;
  const seconds = (result.to - result.from) / Math.max(1, compute.length);
  const lanes = result.lanes.filter(
    ({ beside }) => beside === undefined
  ).length;
  // (a thread that has run nothing has no lane)
  const threads = Math.min(lanes, result.strip.threads || lanes);
  const capacity = seconds * Math.max(1, threads);
  const share = (value: number | undefined) =>
    capacity > 0 ? Math.min(1, (value ?? 0) / capacity) : 0;
  const running = runningBySlice(result, compute.length);
  return compute.map((value, index) => {
    const bar = {
      compute: share(value + (other[index] ?? 0)),
      disk: share(disk[index]),
      transfer: share(transfer[index]),
      failed: failed[index] ?? 0
    };
    // (what a running task has fetched may be told, and is in the bar)
    const room = Math.max(0, 1 - bar.compute - bar.disk - bar.transfer);
    bar.compute += Math.min(room, share(running[index]));
    return bar;
  });
}

/** In each of so many equal slices of the run: the seconds for which tasks that run now have held threads, added up. */
function runningBySlice(result: TaskStreamResult, slices: number): number[] {
  const { from, to, now } = result;
  const changes = heldByRunning(result)
    .flatMap(held => [
      { t: held.from, by: 1 },
      { t: held.to, by: -1 }
    ])
    .sort((a, b) => a.t - b.t);
  const end = Math.min(to, now);
  let at = from;
  let count = 0;
  let next = 0;
  return Array.from({ length: slices }, (_, slice) => {
    const until = Math.min(end, from + ((to - from) * (slice + 1)) / slices);
    let seconds = 0;
    const go = (t: number) => {
      seconds += count * Math.max(0, t - at);
      at = Math.max(at, t);
    };
    for (; next < changes.length && changes[next]!.t < until; next += 1) {
      go(changes[next]!.t);
      count += changes[next]!.by;
    }
    go(until);
    return seconds;
  });
}

export type LegendItem =
  | {
      readonly kind: 'function';
      readonly name: string;
      readonly slot: number;
      readonly round: number;
      readonly seconds: number;
      /** It runs, and none of its runs that are selected has ended: it has no seconds yet, and its colour no other place that names it. */
      readonly isRunning: boolean;
      /** "54.1 s" */
      readonly text: string;
      /** "32 executions" */
      readonly title: string;
    }
  | {
      /** Those that the answer does not name. */
      readonly kind: 'others';
      readonly functions: number;
      readonly name: string;
      readonly text: string;
      readonly title: string;
    }
  | {
      readonly kind:
        | 'transfer'
        | 'disk'
        | 'import'
        | 'serialize'
        | 'failed'
        | 'compute'
        | 'seceded'
        | 'cancelled'
        | 'cancelled-running'
        /** Its boxes have no look of their own. */
        | 'unmarked';
      /** By what a filter chooses them; absent: it cannot. */
      readonly status?: FilteredStatus;
      readonly name: string;
      readonly text: string;
      readonly title: string;
    };

type Figures = Pick<FunctionSlot, 'seconds' | 'executions'>;
const NO_FIGURES: Figures = { seconds: 0, executions: 0 };

/** In the order of the legend. */
export const PARTS_IN_LEGEND = [
  'transfer',
  'disk',
  'import',
  'serialize'
] as const;

/** Functions by time, then the kinds that occurred, and how runs ended that gave no result. */
export function legendItems(
  result: TaskStreamResult,
  colourBy: 'function' | 'kind',
  trans: Trans
): LegendItem[] {
  const items: LegendItem[] = [];
  if (colourBy === 'function') {
    const running = new Set(result.running.map(task => task.function));
    for (const item of result.functions) {
      const isRunning =
        item.executions === 0 && item.seconds === 0 && running.has(item.name);
      items.push({
        kind: 'function',
        name: item.name,
        slot: item.slot,
        round: item.round,
        seconds: item.seconds,
        isRunning,
        text: isRunning
          ? legendWord('running', trans)
          : formatDuration(item.seconds),
        title: item.isFirst
          ? trans.__('runs for the first time')
          : executionsText(item.executions, trans)
      });
    }
    const { otherFunctions: others } = result;
    if (others !== undefined) {
      items.push({
        kind: 'others',
        functions: others.functions,
        name: foldedText(others.functions, trans),
        text: formatDuration(others.seconds),
        title: executionsText(others.executions, trans)
      });
    }
  } else {
    // Of the range, as all of the legend: `tasks` are those of the whole run.
    const sum = (of: (item: Figures) => number) =>
      [...result.functions, result.otherFunctions ?? NO_FIGURES].reduce(
        (all, item) => all + of(item),
        0
      );
    items.push({
      kind: 'compute',
      name: legendWord('compute', trans),
      text: formatDuration(sum(({ seconds }) => seconds)),
      title: executionsText(
        sum(({ executions }) => executions),
        trans
      )
    });
  }
  for (const kind of PARTS_IN_LEGEND) {
    if (result.kinds[kind] > 0) {
      items.push({
        kind,
        name: legendWord(KIND_WORDS[kind], trans),
        // Their seconds may overlap work; Fine Performance Metrics shows them.
        text: '',
        title: trans._n(
          '%2\u00a0part',
          '%2\u00a0parts',
          result.kinds[kind],
          formatCount(result.kinds[kind])
        )
      });
    }
  }
  const { seceded = 0 } = result.kinds;
  if (seceded > 0) {
    items.push({
      kind: 'seceded',
      name: legendWord(KIND_WORDS.seceded, trans),
      text: '',
      title: trans._n(
        '%2\u00a0stretch for which a task held the thread before it seceded, or since it had one again. The task is drawn beside the threads.',
        '%2\u00a0stretches for which tasks held the thread before they seceded, or since they had one again. The tasks are drawn beside the threads.',
        seceded,
        formatCount(seceded)
      )
    });
  }
  return [
    ...items,
    ...endedItems(result.kinds, trans),
    ...goesOnItems(result, trans)
  ];
}

const SHOWN_FIRST: readonly LegendItem['kind'][] = [
  'failed',
  'cancelled',
  'cancelled-running'
];

/** The items as the legend has them on the page and in pictures: its first lines are in sight, and what gave no result must be. */
export function endedFirst(items: readonly LegendItem[]): LegendItem[] {
  const isFirst = ({ kind }: LegendItem) => SHOWN_FIRST.includes(kind);
  return [...items.filter(isFirst), ...items.filter(item => !isFirst(item))];
}

/** Of tasks that were cancelled and go on. Those that have seceded hold no thread: of some among others nothing is said of threads. */
function goesOnItems(
  { running, lanes }: TaskStreamResult,
  trans: Trans
): LegendItem[] {
  const cancelled = running.filter(isCancelled);
  const count = cancelled.length;
  if (count === 0) {
    return [];
  }
  const own = new Set(cancelled.map(({ laneIndex }) => laneIndex));
  const hasSeceded = lanes.some(
    ({ laneIndex, beside }) => beside?.[0] === 'seceded' && own.has(laneIndex)
  );
  const figure = formatCount(count);
  return [
    {
      kind: 'cancelled-running',
      name: legendWord('cancelled, still running', trans),
      text: figure,
      title: hasSeceded
        ? trans._n(
            '%2\u00a0running task was cancelled. Its code goes on: Python cannot stop it.',
            '%2\u00a0running tasks were cancelled. Their code goes on: Python cannot stop it.',
            count,
            figure
          )
        : trans._n(
            '%2\u00a0running task was cancelled. Its code goes on and holds its thread: Python cannot stop it.',
            '%2\u00a0running tasks were cancelled. Their code goes on and holds their threads: Python cannot stop it.',
            count,
            figure
          )
    }
  ];
}

type EndedKind = 'failed' | 'cancelled' | 'unmarked';

/** Runs that gave no result, or none that counts: those that have a mark, then those whose boxes look like any others. */
export function endedItems(
  counts: Partial<
    Record<
      'failed' | 'failedTasks' | 'lost' | 'cancelled' | 'missing',
      number | undefined
    >
  >,
  trans: Trans
): (LegendItem & { readonly kind: EndedKind })[] {
  const { failed = 0, lost = 0, cancelled = 0, missing = 0 } = counts;
  const item = (
    kind: EndedKind,
    name: string,
    count: number,
    title: string,
    status?: FilteredStatus
  ) =>
    count === 0
      ? []
      : [
          {
            kind,
            name,
            text: formatCount(count),
            title,
            ...(status !== undefined && { status })
          }
        ];
  return [
    // One colour: neither gave a result. The card says which of the two a box is.
    ...item(
      'failed',
      trans.__('failed runs'),
      failed,
      failedRunsText(failed, counts.failedTasks, trans),
      'failed'
    ),
    ...item(
      'failed',
      trans.__('lost runs'),
      lost,
      trans._n(
        '%2\u00a0run that ended with its worker.',
        '%2\u00a0runs that ended with their workers.',
        lost,
        formatCount(lost)
      ),
      'lost'
    ),
    ...item(
      'cancelled',
      trans.__('cancelled runs'),
      cancelled,
      trans._n(
        '%2\u00a0task run whose result nobody wanted any more when it ended: it was cancelled, or its computation was interrupted.',
        '%2\u00a0task runs whose results nobody wanted any more when they ended: they were cancelled, or their computation was interrupted.',
        cancelled,
        formatCount(cancelled)
      ),
      'cancelled'
    ),
    ...item(
      'unmarked',
      trans.__('missing runs'),
      missing,
      trans._n(
        '%2\u00a0run that was given back: its task ran again. Its box looks like any other, and says so when you point at it.',
        '%2\u00a0runs that were given back: their tasks ran again. Their boxes look like any others, and say so when you point at them.',
        missing,
        formatCount(missing)
      )
    )
  ];
}

/** Where boxes of an item's kind stand, and what that means; '': anywhere. */
export function placesOf({ kind }: LegendItem, trans: Trans): string {
  return PARTS_IN_LEGEND.some(part => part === kind)
    ? trans.__(
        'At full height a thread waited for it. In the lower strip it went on behind other work: meanwhile the thread ran tasks.'
      )
    : '';
}

/** Functions of the legend at first; the rest takes a click. */
const SHOWN_FUNCTIONS = 12;

/** What the folded ones are called together. */
export function foldedText(count: number, trans: Trans): string {
  return trans._n(
    '%2 other function',
    '%2 other functions',
    count,
    formatCount(count)
  );
}

/** What the lines on colours mean, of which there are a dozen, and grey beyond three; '': each function has a colour of its own. */
export function sharedColoursText(
  items: readonly LegendItem[],
  trans: Trans
): string {
  const of = (has: (item: LegendItem & { kind: 'function' }) => boolean) =>
    items.filter(item => item.kind === 'function' && has(item)).length;
  const lined = of(({ slot, round }) => slot >= 0 && round > 0);
  const unnamed = functionCount(items.filter(({ kind }) => kind === 'others'));
  const grey = of(({ slot }) => slot < 0) + unnamed;
  return [
    lined === 0
      ? ''
      : trans._n(
          '%2 with a light line shares the colour of another',
          '%2 with light lines share the colours of others',
          lined,
          formatCount(lined)
        ),
    grey < 2 ? '' : trans.__('%1 are grey alike', formatCount(grey))
  ]
    .filter(text => text !== '')
    .join(' · ');
}

/** The items that are left out at first. Functions of which no run has ended are the last, and always shown: their boxes are being drawn. */
export function foldedItems(
  items: readonly LegendItem[]
): ReadonlySet<LegendItem> {
  let place = 0;
  return new Set(
    items.filter(
      item =>
        item.kind === 'others' ||
        (item.kind === 'function' &&
          (place += 1) > SHOWN_FUNCTIONS &&
          !item.isRunning)
    )
  );
}

/** How many functions items are: one may be all those that the answer does not name. */
export function functionCount(items: Iterable<LegendItem>): number {
  let count = 0;
  for (const item of items) {
    count += item.kind === 'others' ? item.functions : 1;
  }
  return count;
}

/** The legend as a table, for the export: figures only. */
export function legendRows(
  result: TaskStreamResult,
  trans: Trans
): TableCell[][] {
  const known = new Map<string, Figures>(
    result.functions.map(item => [item.name, item])
  );
  return legendItems(result, 'function', trans).map(item => {
    const figures =
      item.kind === 'function'
        ? known.get(item.name)
        : item.kind === 'others'
          ? result.otherFunctions
          : undefined;
    return [
      cellOf.text(item.name),
      figures === undefined
        ? { ...cellOf.seconds(null), text: item.text }
        : cellOf.seconds(figures.seconds),
      figures === undefined
        ? { text: item.title, value: null }
        : {
            text: executionsText(figures.executions, trans),
            value: figures.executions
          }
    ];
  });
}

/** Slot and round by function name, for boxes whose tile names the function. */
export function slotsByName(
  functions: readonly FunctionSlot[]
): ReadonlyMap<string, { readonly slot: number; readonly round: number }> {
  return new Map(
    functions.map(({ name, slot, round }) => [name, { slot, round }])
  );
}

// --------------------------------------------------------------- hover card

/** Words of a tile's column `kind`. */
export const BOX_KINDS = wordsOf(BoxKind);

/** The kind of box that a part is drawn as; what is not known is drawn as computing. */
export function kindOfPart(word: string): BoxKind {
  return BOX_OF_PART_WORD.get(word) ?? BoxKind.Compute;
}

/** The kind of box that a run is drawn as. */
export function kindOfRun(status: string): BoxKind {
  return BOX_OF_RUN_WORD.get(status) ?? BoxKind.Compute;
}

/** The box that the canvas found under the pointer. */
export type HoveredBox = {
  readonly run: number | null;
  readonly function: string;
  readonly kind: WordOf<typeof BoxKind>;
  readonly inStrip: boolean;
  readonly tasks: number;
  /** It stands for failed runs that are too short to be boxes here, and its times are those of what it covers. */
  readonly isMark?: true;
  /** Of a mark's runs; absent: not of all is it known. */
  readonly functions?: readonly string[];
  /** A filter by span or function: boxes are executions, parts of fused tasks among them. */
  readonly isExecution?: boolean;
  readonly from: number;
  readonly to: number;
  readonly worker: string;
  readonly thread: number;
  /** The lane is of no thread. */
  readonly beside?: BesideLane;
  /** In place of both: the group of workers, where groups have rows. */
  readonly group?: number;
  readonly running: boolean;
  readonly key?: string;
  readonly span?: string;
  /** Of a running task: when it was cancelled, if it was. */
  readonly cancelled?: number | undefined;
  /** Of a running task: whose it is, if there are several. */
  readonly client?: string;
};

type Card = {
  readonly title: string;
  /** Right of the title: "failed, attempt 1 of 2". */
  readonly aside: string;
  readonly key: string;
  readonly rows: readonly { readonly label: string; readonly text: string }[];
  readonly error: string;
  /** Why it goes on although it was cancelled, and how to end it. */
  readonly note: string;
};

/** The hover card: at once from the box, with the rest when the run's detail is here. */
export function cardOf(
  box: HoveredBox,
  detail: RunDetail | null,
  trans: Trans,
  /** What the group of workers is called. */
  place?: string
): Card {
  const card = boxCard(box, detail, trans, place);
  return detail === null || isOfMany(box, detail)
    ? card
    : { ...card, rows: [...card.rows, ...endRows(detail, trans)] };
}

/** What is known of a run beside its place and time. */
function endRows(detail: RunDetail, trans: Trans): Card['rows'] {
  const rows: { label: string; text: string }[] = [];
  const cancelled = cancelledAtText(detail, trans);
  if (cancelled !== '') {
    rows.push({ label: trans.__('cancelled'), text: cancelled });
  }
  const waits = waitText(detail, trans);
  if (waits !== '') {
    rows.push({ label: trans.__('waited'), text: waits });
  }
  if (detail.nbytes !== null) {
    rows.push({ label: trans.__('size'), text: formatBytes(detail.nbytes) });
  }
  if (detail.lost !== undefined) {
    rows.push({
      label: trans.__('lost'),
      text: lostSentence(detail.lost, trans)
    });
  }
  return rows;
}

/** The card without what only a run's detail has: all of the card on a saved page, which has no details. */
export function boxCard(
  box: HoveredBox,
  detail: RunDetail | null,
  trans: Trans,
  /** What the group of workers is called. */
  place?: string
): Card {
  const duration = (seconds: number | null) => formatDuration(seconds);
  const rows: { label: string; text: string }[] = [];
  const where = place ?? threadText(box, trans);
  if (isOfMany(box, detail)) {
    rows.push(
      { label: trans.__('where'), text: where },
      { label: trans.__('between'), text: rangeText(box.from, box.to) }
    );
    return {
      title: aggregateText(box, trans),
      aside:
        box.function === '' || box.tasks === 1
          ? box.function
          : trans.__('mostly %1', box.function),
      key: '',
      rows,
      error: '',
      note: ''
    };
  }
  const client = detail?.client ?? box.client;
  if (client !== undefined) {
    rows.push({ label: clientLabel(client, trans), text: client });
  }
  const span = detail === null ? box.span : spanText(detail, trans);
  if (span !== undefined && span !== '') {
    rows.push({ label: trans.__('span'), text: span });
  }
  const cell = detail === null ? '' : cellText(detail, trans);
  if (cell !== '') {
    rows.push({ label: trans.__('cell'), text: cell });
  }
  rows.push({ label: trans.__('where'), text: where });
  const isPart =
    box.kind !== 'compute' && box.kind !== 'failed' && box.kind !== 'cancelled';
  const within =
    isPart || box.isMark === true ? null : fusedTaskOf(box, detail);
  if (box.running && box.kind !== 'seceded') {
    rows.push(
      { label: trans.__('since'), text: formatInstant(box.from) },
      { label: trans.__('running'), text: duration(box.to - box.from) }
    );
  } else if (detail === null || isPart || within !== null) {
    rows.push(
      {
        label: box.kind === 'seceded' ? trans.__('held') : trans.__('ran'),
        text: rangeText(box.from, box.to)
      },
      { label: trans.__('duration'), text: duration(box.to - box.from) }
    );
    if (within !== null) {
      rows.push({
        label: trans.__('fused task'),
        text: duration(within.duration)
      });
    }
  } else {
    rows.push({
      label: trans.__('ran'),
      text: rangeText(detail.start, detail.start + detail.duration)
    });
    const whole = duration(detail.duration);
    rows.push({
      label: trans.__('duration'),
      text:
        detail.cpu === null
          ? whole
          : trans.__('%1, CPU %2', whole, duration(detail.cpu))
    });
  }
  if (box.kind === 'seceded') {
    rows.push({
      label: trans.__('task'),
      text:
        detail?.beside === undefined
          ? trans.__('drawn beside the threads, for it has seceded')
          : trans.__('drawn on %1', laneText(detail, trans))
    });
  }
  return {
    title: isPart
      ? partTitle(box.kind as keyof typeof KIND_WORDS, box.function, trans)
      : within !== null && within.function !== box.function
        ? trans.__('%1, in %2', box.function, within.function)
        : within === null && !box.running
          ? (detail?.function ?? box.function)
          : box.function,
    aside: asideText(box, detail, trans),
    key: detail?.key ?? box.key ?? '',
    rows,
    error: detail?.error ?? '',
    note: cancelledText(box, trans)
  };
}

/** So many are named of a mark's. */
const NAMED_FUNCTIONS = 3;

/** Which functions' runs a mark is of. Like the hint it is no part of the card: a page has no marks that know it. */
export function functionsRow(
  { functions = [] }: HoveredBox,
  trans: Trans
): Card['rows'] {
  const count = functions.length;
  const names = functions.slice(0, NAMED_FUNCTIONS).join(', ');
  const more = count - NAMED_FUNCTIONS;
  const text = more > 0 ? `${names} +${more}` : names;
  return count === 0
    ? []
    : [{ label: trans._n('function', 'functions', count), text }];
}

/** What one can do with the box of a card. It is no part of the card, for a saved page has that, too, and nothing of this can be done there. */
export function cardHint(
  box: HoveredBox,
  detail: RunDetail | null,
  trans: Trans
): string {
  if (!isOfMany(box, detail)) {
    return trans.__('click: details · double click: zoom · Alt click: hide');
  }
  return box.tasks === 1 && box.run === null
    ? trans.__('its row was dropped for want of room: no more is known of it')
    : box.isMark === true
      ? trans.__('double click: zoom until each is seen, with its error')
      : trans.__('double click: zoom until each is seen');
}

/** Whether a card is of several tasks, or of as little as is known of such. */
function isOfMany(
  { tasks, isMark }: HoveredBox,
  detail: RunDetail | null
): boolean {
  return tasks > 1 || (isMark === true && detail === null);
}

/**
 * Why a task goes on that was cancelled, and what ends it; '': it was not, or the box is what it held of a thread: its own says so. Only
 * schedulers of Spanwise tell of such tasks.
 */
function cancelledText(
  { cancelled, kind, beside, to, worker }: HoveredBox,
  trans: Trans
): string {
  if (cancelled === undefined || kind === 'seceded') {
    return '';
  }
  const ago = formatDuration(Math.max(0, to - cancelled));
  const remedy = `client.restart_workers([${JSON.stringify(worker)}])`;
  return beside?.[0] === 'seceded'
    ? trans.__(
        'Cancelled %1 ago. Its code goes on: Python cannot stop it. %2 ends all that its worker runs.',
        ago,
        remedy
      )
    : trans.__(
        'Cancelled %1 ago. Its code goes on and holds its thread: Python cannot stop it. %2 ends all that its worker runs.',
        ago,
        remedy
      );
}

/** "4.103 s, and it ran on for 2.10 s": when an ended run was cancelled; '': it was not. */
export function cancelledAtText(
  { status, cancelled, start, duration }: RunDetail,
  trans: Trans
): string {
  if (status !== 'cancelled') {
    return '';
  }
  if (cancelled === undefined) {
    return trans.__('at a time that is not known');
  }
  const at = formatInstant(cancelled);
  const goesOn = start + duration - cancelled;
  return cancelled <= start
    ? trans.__('%1, before it began', at)
    : goesOn > 0
      ? trans.__('%1, and it ran on for %2', at, formatDuration(goesOn))
      : trans.__('%1, as it ended', at);
}

/** The fused task of which the box is one part; null if the box is all of its task. */
function fusedTaskOf(
  box: HoveredBox,
  detail: RunDetail | null
): RunDetail | null {
  // (the box of the run itself is all of it, whatever function its key names)
  const isPart = box.isExecution === true || box.tasks === 0;
  if (detail === null || box.running || !isPart) {
    return null;
  }
  const isOther = box.function !== '' && box.function !== detail.function;
  const isShorter =
    fusedWith(detail).length > 0 && box.to - box.from < 0.99 * detail.duration;
  return isOther || isShorter ? detail : null;
}

/** The other functions of a fused task, the longest first. */
export function fusedWith(run: RunDetail): string[] {
  const names = (
    run.fused ??
    run.parts.filter(part => part.kind === 'compute' && part.function !== '')
  ).map(part => part.function);
  return [...new Set(names)].filter(name => name !== run.function);
}

/** The name of a part and the function for which it was done. */
function partTitle(
  kind: keyof typeof KIND_WORDS,
  fn: string,
  trans: Trans
): string {
  switch (kind) {
    case 'transfer':
      return trans.__('transfer for %1', fn);
    case 'disk':
      return trans.__('disk for %1', fn);
    case 'import':
      return trans.__('importing modules for %1', fn);
    case 'serialize':
      return trans.__('(de)serialise for %1', fn);
    case 'seceded':
      return fn === ''
        ? trans.__('held by tasks that seceded')
        : trans.__('held by %1', fn);
  }
}

/** "1,200 task runs", "12 executions", "7 transfer parts" */
function aggregateText(box: HoveredBox, trans: Trans): string {
  const { kind, tasks: n } = box;
  const count = formatExactCount(n);
  switch (kind) {
    case 'failed':
      return box.isMark === true
        ? failedHereText(box, count, trans)
        : countedText(box, count, trans);
    case 'transfer':
      return trans._n('%2 transfer part', '%2 transfer parts', n, count);
    case 'disk':
      return trans._n('%2 disk part', '%2 disk parts', n, count);
    case 'import':
      return trans._n(
        '%2 part that imports modules',
        '%2 parts that import modules',
        n,
        count
      );
    case 'serialize':
      return trans._n(
        '%2 (de)serialise part',
        '%2 (de)serialise parts',
        n,
        count
      );
    default:
      return countedText(box, count, trans);
  }
}

function countedText(
  { tasks, isExecution = false }: HoveredBox,
  count: string,
  trans: Trans
): string {
  return isExecution
    ? executionsText(tasks, trans, count)
    : taskRunsText(tasks, trans, count);
}

/** Which of both they are, a mark does not know. */
function failedHereText(
  { tasks, isExecution = false }: HoveredBox,
  count: string,
  trans: Trans
): string {
  return isExecution
    ? trans._n(
        '%2 failed or lost execution here',
        '%2 failed or lost executions here',
        tasks,
        count
      )
    : trans._n(
        '%2 failed or lost run here',
        '%2 failed or lost runs here',
        tasks,
        count
      );
}

function asideText(
  box: HoveredBox,
  detail: RunDetail | null,
  trans: Trans
): string {
  if (box.running) {
    if (box.cancelled === undefined) {
      return legendWord('running', trans);
    }
    // Of what it held of a thread that would say that it still holds it.
    return legendWord(
      box.kind === 'seceded' ? 'cancelled' : 'cancelled, still running',
      trans
    );
  }
  if (box.inStrip) {
    return trans.__('in the background');
  }
  if (detail === null) {
    switch (box.kind) {
      case 'failed':
        return trans.__('failed or lost');
      case 'cancelled':
        return legendWord('cancelled', trans);
      default:
        return '';
    }
  }
  const { status, attempt } = detail;
  if (attempt <= 1 && status !== 'failed') {
    return status === 'ok' ? '' : legendWord(status, trans);
  }
  return status === 'ok'
    ? trans.__('attempt %1', attempt)
    : attemptText(detail, trans);
}

/** "failed, attempt 2" */
export function attemptText(
  { status, attempt }: RunDetail,
  trans: Trans
): string {
  return trans.__('%1, attempt %2', legendWord(status, trans), attempt);
}

export type LanePlace = {
  readonly thread: number;
  /** Of a lane that is of no thread. */
  readonly beside?: BesideLane | undefined;
};

/** "worker 2, thread 1", "worker 2, seceded 1". */
export function threadText(
  lane: LanePlace & { readonly worker: string },
  trans: Trans
): string {
  const worker = workerLabel(lane.worker, trans);
  return trans.__('%1, %2', worker, laneText(lane, trans));
}

/** "thread 1": they are counted from 1; of a lane beside the threads what it is, "seceded 1", "overlapping 1". */
export function laneText({ thread, beside }: LanePlace, trans: Trans): string {
  if (beside === undefined) {
    return trans.__('thread %1', thread + 1);
  }
  const [word, place] = beside;
  return word === 'seceded'
    ? trans.__('seceded %1', place)
    : trans.__('overlapping %1', place);
}

function rangeText(from: number, to: number): string {
  return `${formatInstant(from)} – ${formatInstant(to)}`;
}

/** "Alice's workflow › Model training"; an inferred place says so. */
export function spanText(detail: RunDetail, trans: Trans): string {
  const path = detail.span.join(' › ');
  return detail.origin === 'inferred' && path !== ''
    ? trans.__('%1 (inferred)', path)
    : path;
}

/** Where several clients compute, with whose it is: "north.ipynb › load". */
export function placeText(detail: RunDetail, trans: Trans): string {
  return [detail.client ?? '', spanText(detail, trans)]
    .filter(text => text !== '')
    .join(' › ');
}

/** "# fit [7]"; '': it was written in no cell, or that is not known. */
export function cellText({ cell }: RunDetail, trans: Trans): string {
  return cell?.execution === undefined
    ? (cell?.title ?? '')
    : trans.__('%1 [%2]', cell.title, cell.execution);
}

function clientLabel(client: string, trans: Trans): string {
  return client.endsWith('.ipynb') ? trans.__('notebook') : trans.__('program');
}

/** "inputs 12.4 ms, thread 0 s", what is unknown left out. */
export function waitText(detail: RunDetail, trans: Trans): string {
  const { waitReady, waitInputs, waitThread } = detail;
  return [
    waitReady === null ? '' : trans.__('queue %1', formatDuration(waitReady)),
    waitInputs === null
      ? ''
      : trans.__('inputs %1', formatDuration(waitInputs)),
    waitThread === null ? '' : trans.__('thread %1', formatDuration(waitThread))
  ]
    .filter(text => text !== '')
    .join(', ');
}

// -------------------------------------------------------------- whole chart

/** Times that are less exact than this can be seen to be. */
const EXACT_SECONDS = 0.001;

/** How exact the times of workers are whose clocks are not the scheduler's; '': exact enough for a chart. */
export function clockText({ workers }: TaskStreamResult, trans: Trans): string {
  const coarse = workers
    .map(({ name, within = 0 }) => ({ name, within }))
    .filter(({ within }) => within > EXACT_SECONDS)
    .sort((one, other) => other.within - one.within);
  const [worst, ...others] = coarse;
  if (worst === undefined) {
    return '';
  }
  const worker = workerLabel(worst.name, trans);
  const seconds = formatDuration(worst.within);
  return others.length === 0
    ? trans.__(
        'Times of %1 are exact to %2: its clock is measured over a slow connection.',
        worker,
        seconds
      )
    : trans._n(
        'Times of %2 and %1 other worker are exact to %3: their clocks are measured over slow connections.',
        'Times of %2 and %1 other workers are exact to %3: their clocks are measured over slow connections.',
        others.length,
        worker,
        seconds
      );
}

/** What a screen reader says for the picture: one sentence per figure, since a translated sentence has one plural form. */
export function summaryText(
  result: TaskStreamResult,
  trans: Trans,
  isLocal: boolean,
  hasRange = false
): string {
  const { tasks, executions, workers, lanes, running, kinds } = result;
  const sentences = [
    trans._n(
      '%2\u00a0task run in %3.',
      '%2\u00a0task runs in %3.',
      tasks,
      formatCount(tasks),
      formatDuration(result.to - result.from)
    ),
    trans.__(
      '%1.',
      processesText(workers.length, isLocal ? 'observation' : 'cluster', trans)
        .text
    ),
    trans._n(
      '%2\u00a0thread.',
      '%2\u00a0threads.',
      lanes.length,
      formatCount(lanes.length)
    )
  ];
  if (executions !== tasks) {
    sentences.push(
      trans._n(
        '%2\u00a0execution of functions.',
        '%2\u00a0executions of functions.',
        executions,
        formatCount(executions)
      )
    );
  }
  if (running.length > 0) {
    sentences.push(trans.__('%1.', runningOf(running, trans)));
  }
  if (kinds.failed > 0) {
    sentences.push(
      trans.__('%1.', failedRunsText(kinds.failed, kinds.failedTasks, trans))
    );
  }
  if (kinds.lost > 0) {
    sentences.push(trans.__('%1 lost.', formatCount(kinds.lost)));
  }
  if ((kinds.cancelled ?? 0) > 0) {
    sentences.push(trans.__('%1 cancelled.', formatCount(kinds.cancelled!)));
  }
  const leftOut = leftOutText(result, hasRange, trans);
  if (leftOut !== '') {
    sentences.push(leftOut);
  }
  const most = result.functions
    .slice(0, 3)
    // (one of which no run has ended has taken none yet)
    .filter(({ seconds }) => seconds > 0)
    .map(item => `${item.name} ${formatDuration(item.seconds)}`);
  if (most.length > 0) {
    sentences.push(trans.__('Most time: %1.', most.join(', ')));
  }
  return sentences.join(' ');
}

/** "8 running, 3 of them cancelled" */
export function runningOf(
  running: TaskStreamResult['running'],
  trans: Trans
): string {
  return runningText(running.length, cancelledCount(running), trans);
}

function cancelledCount(running: TaskStreamResult['running']): number {
  return running.filter(isCancelled).length;
}

function isCancelled({
  cancelled
}: TaskStreamResult['running'][number]): boolean {
  return cancelled !== undefined;
}

/** What a screen reader says as the figures change: "40 task runs, 8 running, 15 failed runs of 3 tasks". */
export function liveText(
  { tasks, running, kinds }: TaskStreamResult,
  trans: Trans
): string {
  return [
    taskRunsText(tasks, trans),
    runningOf(running, trans),
    failedRunsText(kinds.failed, kinds.failedTasks, trans)
  ].join(', ');
}

/** Columns of view `tasks`; `sort` is what the observer calls the column. */
export function taskColumns(trans: Trans) {
  return [
    { name: trans.__('Key'), sort: 'key', numeric: false },
    { name: trans.__('Function'), sort: 'function', numeric: false },
    { name: trans.__('Span'), sort: 'span', numeric: false },
    { name: trans.__('Worker'), sort: 'worker', numeric: false },
    { name: trans.__('Thread'), sort: 'thread', numeric: true },
    { name: trans.__('Status'), sort: 'status', numeric: false },
    {
      name: trans.__('Start'),
      sort: 'start',
      numeric: true,
      unit: 'seconds'
    },
    {
      name: trans.__('Duration'),
      sort: 'duration',
      numeric: true,
      unit: 'seconds'
    },
    { name: trans.__('CPU'), sort: 'cpu', numeric: true, unit: 'seconds' },
    {
      name: trans.__('Waited'),
      sort: 'waited',
      numeric: true,
      unit: 'seconds'
    },
    { name: trans.__('Size'), sort: 'nbytes', numeric: true, unit: 'bytes' },
    { name: trans.__('Error'), sort: 'error', numeric: false }
  ] as const;
}

/** Below this the duration, as the eighth column, would only be seen when the table is scrolled. */
const NARROW_PIXELS = 900;

/**
 * In which order the columns are shown in a table of so many pixels: a narrow one has the duration beside the key.
 */
export function columnOrder(
  columns: readonly { readonly sort: string }[],
  width: number
): readonly number[] {
  const places = columns.map((_, place) => place);
  const duration = columns.findIndex(column => column.sort === 'duration');
  // 0: not measured yet.
  return width > 0 && width < NARROW_PIXELS && duration > 0
    ? [0, duration, ...places.filter(at => at !== 0 && at !== duration)]
    : places;
}

/** As many letters as the end of a token and what stands behind it have. */
const KEY_END = 64;

/** What stands behind the token of a key, as in `load-5f3a…-12`, tells it from those of the same call. */
function keyCell(key: string): TableCell {
  // (of its end: a token of any length would be looked through from each of its letters)
  const end = key.slice(-KEY_END);
  const tail = /[\da-f-]{32,}(['"]?[-,].{1,15})$/u.exec(end)?.[1]?.length ?? 0;
  const cell = cellOf.text(key);
  return tail === 0 ? cell : { ...cell, tail };
}

/** Of a fused task with what else computed in it: "smooth with getitem-overlap". */
function functionCell(run: RunDetail, trans: Trans): TableCell {
  const cell = cellOf.text(run.function);
  const others = (run.fused ?? [])
    .map(part => part.function)
    .filter(name => name !== run.function);
  return others.length === 0
    ? cell
    : {
        ...cell,
        text: trans.__('%1 with %2', run.function, others.join(', '))
      };
}

export function taskRow(run: RunDetail, trans: Trans): readonly TableCell[] {
  const { text, seconds, bytes } = cellOf;
  const waits = [run.waitReady, run.waitInputs, run.waitThread];
  const waited = waits.every(wait => wait === null)
    ? null
    : waits.reduce<number>((sum, wait) => sum + (wait ?? 0), 0);
  return [
    keyCell(run.key),
    functionCell(run, trans),
    text(placeText(run, trans)),
    text(workerLabel(run.worker, trans)),
    // The column says that it is a thread, where it is one.
    run.beside === undefined
      ? { text: String(run.thread + 1), value: run.thread + 1 }
      : text(laneText(run, trans)),
    text(
      run.attempt > 1 ? attemptText(run, trans) : legendWord(run.status, trans)
    ),
    { ...seconds(run.start), text: formatInstant(run.start) },
    seconds(run.duration),
    seconds(run.cpu),
    seconds(waited),
    bytes(run.nbytes),
    text(run.error ?? '')
  ];
}

/** The parts of a run as a bar: what its thread time went into, in order. */
export type PartRow = {
  readonly kind:
    | 'compute'
    | 'transfer'
    | 'disk'
    | 'import'
    | 'serialize'
    | 'lost'
    | 'other';
  readonly label: string;
  /** What computed. */
  readonly function: string;
  readonly seconds: number;
  readonly held: boolean;
  readonly bytes: number | null;
};

const PART_KINDS: Readonly<Record<string, PartRow['kind']>> = {
  compute: 'compute',
  transfer: 'transfer',
  'disk-read': 'disk',
  'disk-write': 'disk',
  import: 'import',
  deserialize: 'serialize',
  serialize: 'serialize'
};

type Measured = NonNullable<RunDetail['measured']>[number];

/** Spanwise tells it as tasks tell what they measure. */
const isWaitForOthers = ({ label, unit }: Measured) =>
  label === OTHER_TASKS && unit === 'seconds';

/** "waited for other tasks 915 ms", amid its run; '' for most. */
export function waitForOthersText(
  { measured = [] }: RunDetail,
  trans: Trans
): string {
  const told = measured.find(isWaitForOthers);
  return told === undefined
    ? ''
    : trans.__('waited for other tasks %1', formatDuration(told.value));
}

/** What the task measured itself: "decode 1.20 s, rows 1,000"; '' for most. */
export function measuredText(
  { measured = [] }: RunDetail,
  trans: Trans
): string {
  return measured
    .filter(figure => !isWaitForOthers(figure))
    .map(({ label, unit, value }) => {
      switch (unit) {
        case 'seconds':
          return `${label} ${formatDuration(value)}`;
        case 'bytes':
          return `${label} ${formatBytes(value)}`;
        case 'count':
          return `${label} ${formatAmount(value)}`;
        default:
          return unit === label
            ? `${label} ${formatAmount(value)}`
            : `${label} ${formatAmount(value)} ${unit}`;
      }
    })
    .join(', ');
}

/** Parts that held the thread, in order, filled up to the run's duration; then what ran behind other work. */
export function partRows(run: RunDetail, trans: Trans): PartRow[] {
  const rows = run.parts.map(part => ({
    kind: PART_KINDS[part.kind] ?? 'other',
    label:
      part.kind === 'compute' && part.function !== ''
        ? part.function
        : partWord(part.kind, trans),
    function: part.function || run.function,
    seconds: part.duration,
    held: part.held,
    bytes: part.bytes
  }));
  const held = rows.filter(row => row.held);
  const rest = run.duration - held.reduce((sum, row) => sum + row.seconds, 0);
  if (held.length === 0) {
    // What a run did that was lost with its worker nobody knows.
    const isLost = run.status === 'lost';
    held.push({
      kind: isLost ? 'lost' : 'compute',
      label: legendWord(isLost ? 'lost' : 'compute', trans),
      function: run.function,
      seconds: run.duration,
      held: true,
      bytes: null
    });
  } else if (rest > run.duration * 0.005) {
    held.push({
      kind: 'other',
      label: legendWord('rest of the task', trans),
      function: run.function,
      seconds: rest,
      held: true,
      bytes: null
    });
  }
  return [...held, ...rows.filter(row => !row.held)];
}
