/**
 * The answer of view `fine-metrics` as rows: the bar, functions, activities,
 * idle by cause, and what moved behind work. The bar adds up to wall × threads,
 * under a filter to what of that is the selection's; all shares are of the bar.
 *
 *   |—— CPU ——|— not on CPU —|— data —|other|——— idle ———|
 *    thread-cpu core gil…     transfer…
 */
import { OTHER_TASKS } from '../../records/enumerations';
import type { Trans } from '../../base/trans';
import type { ActivitySeconds, FineMetricsResult } from '../../wire/panel-link';
import {
  cellOf,
  formatAmount,
  formatBytes,
  formatCount,
  formatDuration,
  formatShare,
  KIND_WORDS,
  legendWord,
  PART_WORDS,
  partWord,
  shareOf,
  type TableCell,
  type TableData,
  UNKNOWN
} from '../format';

type ActivityRole =
  | 'cpu'
  | 'compute'
  | 'core'
  | 'gil'
  | 'blocked'
  | 'tasks'
  | 'noncpu'
  | 'transfer'
  | 'disk'
  | 'serialize'
  | 'import'
  | 'other'
  | 'failed'
  | 'running'
  | 'rest';
type Group =
  | 'CPU'
  | 'compute'
  | 'CPU not known'
  | 'not on CPU'
  | 'data'
  | 'largest label'
  | 'other labels'
  | 'rest of the task'
  | 'waiting for the event loop'
  | 'failed, cancelled or lost'
  | 'still running'
  | 'not accounted for'
  | 'idle'
  | 'beside the threads';

type Remark = 'event-loop' | 'pool-start';

/** A part of a bar: an activity or a cause of idleness. */
export type Part = {
  readonly id: string;
  /** The part whose look it has; left out: a look of its own. */
  readonly looksLike?: string;
  readonly label: string;
  /** A shorter label, for legend and bar, beside which the lists have the full one. */
  readonly word: string;
  readonly role:
    | { readonly kind: ActivityRole }
    | { readonly idle: IdleRole }
    | { readonly label: number };
  readonly group: Group;
  /** What its label leaves open, where neither `id` nor `role` tells which label it has. */
  readonly remark?: Remark;
  readonly value: number;
  /** Of what all shares are of; null: of nothing, it is beside that. */
  readonly share: number | null;
  readonly text: string;
  readonly shareText: string;
};

type Meaning = {
  id: string;
  label: string;
  /** The label if left out. */
  word?: string;
  /** Left out of users' labels, which have looks of their own. */
  kind?: ActivityRole;
  group: Group;
  remark?: Remark;
};

/** Of the activities: what tasks did while others had their threads. */
const BESIDE = 'beside the threads';
/** Where that is taken from if an activity has less: waits are told apart in more ways than it is. */
const TAKEN_FIRST = [
  OTHER_TASKS,
  'blocked',
  'gil',
  'core',
  'thread-noncpu',
  'compute',
  'thread-cpu'
];

/** What came to nothing, for whatever reason: Show as table tells them apart. */
const LOST: Meaning = {
  id: 'lost',
  label: 'failed, cancelled or lost',
  kind: 'failed',
  group: 'failed, cancelled or lost'
};

const SERIALIZE: Meaning = {
  id: 'serialize',
  label: KIND_WORDS.serialize,
  kind: 'serialize',
  group: 'data'
};

const OTHER: Meaning = {
  id: 'other',
  // Not “other”: that is what functions without a row of their own are called.
  label: 'rest of the task',
  kind: 'other',
  group: 'rest of the task'
};

/** What Dask's workers tell as their `executor`, `offload` and `other`. */
const EVENT_LOOP: Meaning = {
  ...OTHER,
  label: 'waiting for the event loop',
  group: 'waiting for the event loop',
  remark: 'event-loop'
};

// Several activities may be one part of the bar, as reading and writing are "disk".
export const MEANINGS: Readonly<Record<string, Meaning>> = {
  // The states of a thread that computes have the same words as in the Profile.
  'thread-cpu': { id: 'cpu', label: 'CPU', kind: 'cpu', group: 'CPU' },
  'thread-noncpu': {
    id: 'noncpu',
    label: 'not on CPU, cause not known',
    kind: 'noncpu',
    group: 'not on CPU'
  },
  compute: {
    id: 'compute',
    label: 'compute, CPU not known',
    kind: 'compute',
    // It is not counted to the CPU group: most of it may be waiting, such as for a promise.
    group: 'CPU not known'
  },
  core: {
    id: 'core',
    label: 'waiting for a core',
    kind: 'core',
    group: 'not on CPU'
  },
  gil: {
    id: 'gil',
    label: 'waiting for the GIL',
    kind: 'gil',
    group: 'not on CPU'
  },
  blocked: {
    id: 'blocked',
    label: 'blocked (I/O, sleep)',
    kind: 'blocked',
    group: 'not on CPU'
  },
  [OTHER_TASKS]: {
    id: 'tasks',
    label: 'waiting for other tasks',
    kind: 'tasks',
    group: 'not on CPU'
  },
  transfer: {
    id: 'transfer',
    label: 'transfer, waited for',
    word: KIND_WORDS.transfer,
    kind: 'transfer',
    group: 'data'
  },
  'disk-read': {
    id: 'disk',
    label: 'disk read and write',
    word: KIND_WORDS.disk,
    kind: 'disk',
    group: 'data'
  },
  'disk-write': {
    id: 'disk',
    label: 'disk read and write',
    word: KIND_WORDS.disk,
    kind: 'disk',
    group: 'data'
  },
  import: {
    id: 'import',
    label: KIND_WORDS.import,
    kind: 'import',
    group: 'data'
  },
  deserialize: SERIALIZE,
  serialize: SERIALIZE,
  // Dask's workers compress what they serialise.
  compress: SERIALIZE,
  decompress: SERIALIZE,
  other: OTHER,
  // Of Dask's workers: from the event loop to a thread and back.
  executor: OTHER,
  offload: OTHER,
  failed: LOST,
  cancelled: LOST,
  lost: LOST
};

/** What one part of a bar holds together, by itself. */
const APART: Readonly<Record<string, string>> = {
  ...PART_WORDS,
  failed: 'failed',
  cancelled: 'cancelled',
  lost: 'lost',
  executor: 'executor',
  offload: 'offload',
  compress: 'compress',
  decompress: 'decompress'
};

/** Computing, in bytes and counts, which have no CPU share. */
const COMPUTING: Meaning = {
  id: 'cpu',
  label: 'compute',
  kind: 'cpu',
  group: 'compute'
};

/** Colours of users' labels, each with as many patterns (src/charts/palette.ts). */
const LABEL_COLOURS = 4;
const LABEL_LOOKS = LABEL_COLOURS ** 2;

const DRAWING_ORDER = [
  'cpu',
  'compute',
  'core',
  'gil',
  'blocked',
  'tasks',
  'noncpu',
  'transfer',
  'disk',
  'import',
  'serialize',
  'other',
  'lost'
];

const CAUSES = {
  'nothing-runnable': 'nothing runnable',
  'inputs-in-flight': 'inputs in flight',
  'held-elsewhere': 'held on another worker',
  'no-worker': 'nowhere to run',
  paused: 'paused for memory',
  stopped: 'worker stopped',
  scheduler: 'scheduler not yet answered',
  unknown: 'cause not known'
};
type IdleRole = keyof typeof CAUSES;

/** A local run has threads of one program, or processes that it starts: no other worker, and its scheduler answers at once. */
const LOCAL_CAUSES: typeof CAUSES = {
  ...CAUSES,
  'held-elsewhere': 'held on another thread',
  stopped: 'process stopped',
  scheduler: 'pool start, handing out'
};

/** What a table has for a name: users' own labels may be words that every object has. */
function known<T>(
  table: Readonly<Record<string, T>>,
  name: string
): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

function meaningOf(activity: string, unit: string, isTold = false): Meaning {
  if (unit !== 'seconds' && activity === 'compute') {
    return COMPUTING;
  }
  const found = known(MEANINGS, activity);
  return isTold && found === OTHER
    ? EVENT_LOOP
    : (found ?? {
        id: activity,
        label: activity,
        group: 'other labels'
      });
}

/** A user's label, for which no table has a word. */
const isLabel = (activity: string): boolean =>
  !activity.startsWith('idle:') && known(MEANINGS, activity) === undefined;

/**
 * The look of each user's label: one of its own while there are any. It goes by the label's text, so that it seldom changes as more come.
 */
export function looksOf(
  activities: readonly string[]
): ReadonlyMap<string, number> {
  const looks = new Map<string, number>();
  const taken = new Set<number>();
  for (const label of [...new Set(activities)].filter(isLabel).sort()) {
    const hash = hashOf(label);
    let look = hash % LABEL_LOOKS;
    if (taken.size < LABEL_LOOKS) {
      // All colours are used before one has a second pattern.
      let step = 0;
      const tried = () =>
        Math.floor(step / LABEL_COLOURS) * LABEL_COLOURS +
        ((hash + step) % LABEL_COLOURS);
      while (taken.has(tried())) {
        step++;
      }
      look = tried();
      taken.add(look);
    }
    looks.set(label, look);
  }
  return looks;
}

function hashOf(text: string): number {
  let hash = 0;
  for (let i = 0; i < text.length; i++) {
    hash = (31 * hash + text.charCodeAt(i)) % 65521;
  }
  return hash;
}

/** The looks of all labels that are told. */
function looksIn({
  byActivity
}: FineMetricsResult): ReadonlyMap<string, number> {
  return looksOf(byActivity.map(({ activity }) => activity));
}

/**
 * An activity apart from others that the bar adds to it: "read from disk", "not on CPU, cause not known".
 *
 * @param isTold - see {@link partsOf}.
 */
export function activityWord(
  activity: string,
  unit: string,
  trans: Trans,
  isTold = false
): string {
  const word = known(APART, activity);
  return legendWord(word ?? meaningOf(activity, unit, isTold).label, trans);
}

/** Why threads were idle. */
export function causeWord(cause: string, trans: Trans): string {
  const word = known(CAUSES, cause);
  return word === undefined ? cause : legendWord(word, trans);
}

function formatUnit(value: number | null, unit: string): string {
  return unit === 'seconds'
    ? formatDuration(value)
    : unit === 'bytes'
      ? formatBytes(value)
      : unit === 'count'
        ? formatCount(value)
        : formatAmount(value);
}

/**
 * Activities added up to parts of a bar, in drawing order; those of 0 are left out.
 *
 * @param isTold - by a Dask cluster, which has tasks wait for their worker's event loop and counts that.
 * @param looks - see {@link looksOf}.
 */
export function partsOf(
  activities: ActivitySeconds,
  whole: number,
  unit: string,
  isTold = false,
  looks = looksOf(Object.keys(activities))
): Part[] {
  const sums = new Map<string, { meaning: Meaning; value: number }>();
  for (const [activity, value] of Object.entries(activities)) {
    if (activity.startsWith('idle:') || !(value > 0)) {
      continue;
    }
    const meaning = meaningOf(activity, unit, isTold);
    const sum = sums.get(meaning.id);
    if (sum === undefined) {
      sums.set(meaning.id, { meaning, value });
    } else {
      sum.value += value;
    }
  }
  const place = (id: string) => {
    const index = DRAWING_ORDER.indexOf(id);
    return index < 0 ? DRAWING_ORDER.length : index;
  };
  return [...sums.values()]
    .sort((a, b) => place(a.meaning.id) - place(b.meaning.id))
    .map(({ meaning: { kind, ...shown }, value }) =>
      part(
        {
          ...shown,
          role:
            kind === undefined ? { label: looks.get(shown.id) ?? 0 } : { kind }
        },
        value,
        whole,
        unit
      )
    );
}

/** Activities on threads and those beside them, which together are all. */
function divided(
  activities: ActivitySeconds,
  beside: ActivitySeconds | undefined
): { readonly own: ActivitySeconds; readonly apart: ActivitySeconds } {
  const own = { ...activities };
  const apart: Record<string, number> = {};
  const take = (activity: string, wanted: number): number => {
    const there = Object.hasOwn(own, activity)
      ? Math.max(0, own[activity]!)
      : 0;
    const taken = Math.min(there, wanted);
    if (taken > 0) {
      own[activity] = there - taken;
      apart[activity] = (apart[activity] ?? 0) + taken;
    }
    return wanted - taken;
  };
  let missing = 0;
  for (const [activity, seconds] of Object.entries(beside ?? {})) {
    missing += take(activity, seconds);
  }
  for (const activity of [...TAKEN_FIRST, ...Object.keys(own)]) {
    missing = take(activity, missing);
  }
  return { own, apart };
}

/** @param whole - null: they have no share, for the capacity has nothing of them. */
function besideParts(
  apart: ActivitySeconds,
  whole: number | null,
  isTold: boolean,
  looks: ReadonlyMap<string, number>
): Part[] {
  return partsOf(apart, whole ?? 0, 'seconds', isTold, looks).map(item => ({
    ...item,
    id: `${BESIDE}: ${item.id}`,
    looksLike: item.id,
    group: BESIDE,
    ...(whole === null ? { share: null, shareText: UNKNOWN } : {})
  }));
}

/** What a list calls a part: "waiting for other tasks, beside the threads". */
export function partName(item: Part, trans: Trans): string {
  const word = legendWord(item.label, trans);
  return item.group === BESIDE
    ? trans.__('%1, beside the threads', word)
    : word;
}

/** An estimate says how far off it may be: "18.7 s ±1.1 s". */
function withError(
  parts: Part[],
  { gilErrorSeconds }: FineMetricsResult
): Part[] {
  return parts.map(item =>
    item.id === 'gil' && gilErrorSeconds > 0
      ? {
          ...item,
          text: `${item.text} ±${formatDuration(gilErrorSeconds)}`
        }
      : item
  );
}

function part(
  shown: Pick<Part, 'id' | 'label' | 'role' | 'group' | 'remark'> & {
    word?: string;
  },
  value: number,
  whole: number,
  unit: string
): Part {
  const share = shareOf(value, whole);
  return {
    word: shown.label,
    ...shown,
    value,
    share,
    text: formatUnit(value, unit),
    shareText: formatShare(share)
  };
}

/**
 * What the label of a part leaves open; '' for most.
 *
 * @param isNode - of a Node program: its threads share no lock, and no clock of theirs tells waits apart.
 */
export function remarkOn(
  part: Part,
  { account }: FineMetricsResult,
  trans: Trans,
  isNode = false
): string {
  switch (part.remark) {
    case 'event-loop':
      return trans.__(
        'What Dask calls “executor”, “offload” and “other”: mostly waits for the worker’s event loop, in which a thread may have been free.'
      );
    case 'pool-start':
      return trans.__(
        'From when a task could run until a thread began it: the pool was starting, or the task was being handed out.'
      );
    case undefined:
      return (
        (isNode ? remarkInNode(part.id, trans) : '') ||
        remarkById(part.id, account, trans)
      );
  }
}

/** What the tooltip of a part says: what its label leaves open, else what it means. */
export function tooltipOf(
  part: Part,
  result: FineMetricsResult,
  trans: Trans,
  isNode = false
): string {
  return (
    remarkOn(part, result, trans, isNode) ||
    (result.unit === 'seconds' ? sentenceOn(part.id, trans) : '')
  );
}

function remarkInNode(id: string, trans: Trans): string {
  switch (id) {
    case 'noncpu':
      return trans.__(
        'Not on a core; Node does not tell whether its thread waited for a core or was blocked (sleep, I/O).'
      );
    case 'compute':
      return trans.__(
        'Mostly tasks that return a promise: while it waits, other tasks use the thread, so its CPU time cannot be divided. Before 22.19 Node tells it of no task.'
      );
    default:
      return '';
  }
}

function remarkById(
  id: string,
  account: FineMetricsResult['account'],
  trans: Trans
): string {
  switch (id.startsWith(BESIDE) ? BESIDE : id) {
    case BESIDE:
      return trans.__(
        'What tasks did after they had left their threads to others, until they had one again. It is beside the capacity, so it has no share of it.'
      );
    case 'noncpu':
      return account === 'told'
        ? trans.__(
            'Not on a core; whether it waited for a core, for the GIL or was blocked is not told.'
          )
        : trans.__(
            'Not on a core; whether it waited for a core, for the GIL or was blocked is not told of parts below 5 ms, nor on systems other than Linux.'
          );
    case 'blocked':
      return trans.__(
        'While computing: neither on a core nor waiting for one or for the GIL (sleep, I/O). Waits for other tasks, transfers, the disk or another thread’s import are listed under those names; the Profile counts such waits as blocked.'
      );
    case 'tasks':
      return trans.__(
        'The task waited for results of tasks that it had submitted or was given as futures. Others may have had its thread meanwhile.'
      );
    case 'import':
      return trans.__(
        'Modules that were not imported yet when a function or its arguments were unpickled.'
      );
    default:
      return '';
  }
}

/** What a part of the seconds is, for who meets its label for the first time; '': a label of users' own. */
function sentenceOn(id: string, trans: Trans): string {
  switch (id) {
    case 'cpu':
      return trans.__('While computing: the thread was on a core.');
    case 'compute':
      return trans.__(
        'It is not told how much of this time the thread was on a core.'
      );
    case 'core':
      return trans.__(
        'While computing: the thread could have gone on, and other threads or programs had the cores.'
      );
    case 'gil':
      return trans.__(
        'While computing: the thread could have gone on with Python code, and another thread had the interpreter lock (GIL). An estimate.'
      );
    case 'transfer':
      return trans.__(
        'The thread stood still until inputs had come from other processes.'
      );
    case 'disk':
      return trans.__(
        'The thread stood still while results were written to disk, to free memory, or read back from it.'
      );
    case 'serialize':
      return trans.__(
        'Functions, arguments and results were turned into bytes, to be sent or stored, or back.'
      );
    case 'other':
      return trans.__('Time of tasks that is none of the other activities.');
    case 'lost':
      return trans.__(
        'Time of tasks that gave no result: they failed, were cancelled, or were lost with the process that ran them.'
      );
    case 'running':
      return trans.__(
        'What tasks have taken that still run. What they did with it is known when they end.'
      );
    case 'rest':
      return trans.__(
        'Nothing that was measured says what this time was. It is never spread over the others.'
      );
    case 'idle:nothing-runnable':
      return trans.__(
        'No task could run: none was there, or all that were waited for results of others.'
      );
    case 'idle:inputs-in-flight':
      return trans.__(
        'The next task could run, but its inputs were still on their way from other processes.'
      );
    case 'idle:held-elsewhere':
      return trans.__(
        'This thread had nothing that it could run, while a task elsewhere waited for a thread that was busy.'
      );
    case 'idle:no-worker':
      return trans.__(
        'This thread had nothing that it could run, while a task waited for what was not there: for resources that it needs, or for a place that it names.'
      );
    case 'idle:paused':
      return trans.__('No task was begun because memory was nearly full.');
    case 'idle:stopped':
      return trans.__('The process was held by a signal or a debugger.');
    case 'idle:scheduler':
      return trans.__(
        'The next task and its inputs were ready; the scheduler, or the worker, had yet to start it.'
      );
    case 'idle:unknown':
      return trans.__('It is not told what the next task waited for.');
    default:
      return '';
  }
}

// ----------------------------------------------------------------- headline

type GroupSum = {
  readonly group: Group;
  /** The word of the part that makes up the group or most of it; null: the group's own word is used. */
  readonly mostly: string | null;
  readonly isAll: boolean;
  readonly text: string;
  readonly shareText: string;
};

const STILL_RUNNING = {
  id: 'running',
  label: 'still running',
  role: { kind: 'running' },
  group: 'still running'
} as const;
const NOT_ACCOUNTED = {
  id: 'rest',
  label: 'not accounted for',
  role: { kind: 'rest' },
  group: 'not accounted for'
} as const;

type Headline = {
  readonly parts: readonly Part[];
  /** "CPU 2 min 21 s · 60 %", in drawing order. */
  readonly groups: readonly GroupSum[];
  /** What shares are of; in seconds the capacity, or the selection's part of it. */
  readonly total: number;
  /** What the bar's whole length stands for: longer than the total by what tasks took beside the threads. */
  readonly length: number;
};

/**
 * The bar over everything that is selected. In seconds its parts add up to the
 * capacity, or to the selection's part of it: what the threads did, and idle time
 * by cause; if the measures leave a rest, it is shown as "not accounted for", never
 * spread. What tasks that still run have taken is a part of its own: what a task did
 * with its seconds is known when it ends. What tasks did while others had their threads (`secede`) is
 * beside the capacity, so it has no share, and comes after all else. If a source's clocks or threads are
 * not exact, the parts may be more than the capacity: then the bar is as long as its parts.
 *
 * @param isRunning - for an observer that does not tell `runningSeconds`: whether tasks run, to which all the rest then belongs.
 */
export function headlineOf(
  result: FineMetricsResult,
  isRunning = false,
  isLocal = false
): Headline {
  const { unit } = result;
  const activities = sumByActivity(result);
  const looks = looksIn(result);
  if (unit !== 'seconds') {
    const total = Object.values(activities).reduce(
      (sum, value) => sum + value,
      0
    );
    const isTold = result.account === 'told';
    return headlineBy(
      partsOf(activities, total, unit, isTold, looks),
      total,
      unit
    );
  }
  const { own, apart } = divided(activities, result.beside);
  const busy = Object.values(own).reduce((sum, value) => sum + value, 0);
  if (result.account === 'told') {
    // Sums that the cluster tells overlap with idle time, which then has no place in the bar.
    return headlineBy(partsOf(activities, busy, unit, true, looks), busy, unit);
  }
  const idle = idleSeconds(result);
  const { runningSeconds } = result;
  const beyond = beyondSeconds(result);
  // Rounding may lift the parts above the whole, too.
  const total =
    beyond > 0
      ? wholeOf(result)
      : Math.max(wholeOf(result), busy + idle + (runningSeconds ?? 0));
  const parts = withError(partsOf(own, total, unit, false, looks), result);
  const left = total + beyond - busy - idle;
  const running = runningSeconds ?? (isRunning ? left : 0);
  for (const [shown, seconds] of [
    [STILL_RUNNING, running],
    [NOT_ACCOUNTED, left - running]
  ] as const) {
    if (isSeen(seconds, total)) {
      parts.push(part(shown, seconds, total, unit));
    }
  }
  parts.push(
    ...idleParts(result, total, isLocal),
    ...besideParts(apart, null, false, looks)
  );
  const length = total + beyond + besideTotal(result);
  return headlineBy(parts, total, unit, length);
}

/** The largest of the users' labels comes before the others, and stands for itself over the bar: it is mostly why somebody looks. */
function headlineBy(
  parts: readonly Part[],
  total: number,
  unit: string,
  length = total
): Headline {
  const largest = parts
    .filter(({ role }) => 'label' in role)
    .reduce<Part | null>(
      (most, item) => (most !== null && most.value >= item.value ? most : item),
      null
    );
  const grouped = parts.filter(item => item !== largest);
  if (largest !== null) {
    const first = parts.findIndex(({ role }) => 'label' in role);
    grouped.splice(first, 0, { ...largest, group: 'largest label' });
  }
  return {
    parts: grouped,
    groups: groupsOf(grouped, total, unit),
    total,
    length
  };
}

/** How long others had the tasks' threads. */
function besideTotal({ beside }: Pick<FineMetricsResult, 'beside'>): number {
  return Object.values(beside ?? {}).reduce((sum, value) => sum + value, 0);
}

/** By how much the parts are more than the capacity: 0 unless it would be seen. Of a filter the whole has it. */
function beyondSeconds(result: FineMetricsResult): number {
  if (
    result.unit !== 'seconds' ||
    result.account === 'told' ||
    isPartOfAll(result)
  ) {
    return 0;
  }
  const whole = wholeOf(result);
  const all = Object.values(sumByActivity(result)).reduce(
    (sum, value) => sum + value,
    0
  );
  const busy = all - besideTotal(result);
  const beyond =
    busy + idleSeconds(result) + (result.runningSeconds ?? 0) - whole;
  return whole > 0 && isSeen(beyond, whole) ? beyond : 0;
}

/**
 * What the selection is, in seconds. An observer of before tells what a filter
 * hides, and the selection's parts; a rest that neither is could be anybody's.
 */
function wholeOf(result: FineMetricsResult): number {
  const { wholeSeconds, account, attributedNanoseconds } = result;
  if (wholeSeconds !== undefined) {
    return wholeSeconds;
  }
  const held = attributedNanoseconds / 1e9;
  if (account === 'told') {
    return held;
  }
  const { capacitySeconds, otherSpansSeconds, otherIdleSeconds } = result;
  // (the difference of two sums; without a filter it may miss 0 by their last bits)
  return otherSpansSeconds + otherIdleSeconds > 1e-9 * capacitySeconds
    ? held + idleSeconds(result)
    : capacitySeconds;
}

/**
 * Whether no task of the selection has held a thread, ended or not. (An observer of before does not tell of those that run, and of a cluster
 * that has ended amid tasks their time is only in the whole.)
 */
export function hasNoTask(result: FineMetricsResult): boolean {
  const { account, attributedNanoseconds, byFunction } = result;
  if (byFunction.length > 0 || (result.runningSeconds ?? 0) > 0) {
    return false;
  }
  const whole = wholeOf(result);
  const rest = whole - attributedNanoseconds / 1e9 - idleSeconds(result);
  return account === 'told' || !isSeen(rest, whole);
}

function isSeen(rest: number, whole: number): boolean {
  return rest > whole * LEAST_REST_SHARE;
}

function idleSeconds({ idle }: FineMetricsResult): number {
  return idle.reduce((sum, { seconds }) => sum + seconds, 0);
}

/** What the selection is a part of, in seconds: all that tasks took where that is told, else the capacity. */
function everything(result: FineMetricsResult): number {
  return result.account === 'told'
    ? wholeOf(result) + result.otherSpansSeconds
    : result.capacitySeconds;
}

/** Whether a filter leaves out so much of everything that it would be seen. */
export function isPartOfAll(result: FineMetricsResult): boolean {
  const all = everything(result);
  return isSeen(all - wholeOf(result), all);
}

/** What the bar's whole length stands for, and why it is shorter than the run in other panels. */
export function footText(result: FineMetricsResult, trans: Trans): string {
  if (result.unit !== 'seconds') {
    return totalText(result, trans);
  }
  const whole = wholeOf(result);
  const all = everything(result);
  const isPart = isPartOfAll(result);
  const selected = formatDuration(whole);
  const share = formatShare(shareOf(whole, all));
  if (result.account === 'told') {
    return isPart
      ? trans.__(
          '%1 under this filter, %2 of %3 of tasks as Dask adds them up, with waits for the worker’s event loop',
          selected,
          share,
          formatDuration(all)
        )
      : trans.__(
          '%1 of tasks as Dask adds them up, with waits for the worker’s event loop',
          formatDuration(all)
        );
  }
  const capacity = totalText(result, trans);
  const beyond = beyondSeconds(result);
  const beside = besideTotal(result);
  return [
    isPart
      ? trans.__(
          '%1 under this filter, %2 of capacity %3',
          selected,
          share,
          capacity
        )
      : trans.__('capacity %1', capacity),
    ...(isSeen(beside, whole)
      ? [
          trans.__(
            '%1 more of tasks that had left their threads',
            formatDuration(beside)
          )
        ]
      : []),
    ...(beyond > 0
      ? [trans.__('tasks and idle time are %1 more', formatDuration(beyond))]
      : []),
    trans.__('wall leaves out pauses')
  ].join(' · ');
}

/** What the bar's whole length stands for without a filter: "3 min 57 s = wall 29.6 s × 8 threads". */
export function totalText(result: FineMetricsResult, trans: Trans): string {
  if (result.unit !== 'seconds') {
    return formatUnit(headlineOf(result).total, result.unit);
  }
  const { capacitySeconds, wallSeconds, threads } = result;
  const capacity = formatDuration(capacitySeconds);
  const wall = formatDuration(wallSeconds);
  // Workers that came or went: the mean number of threads is no whole one.
  const whole = Math.round(threads);
  return Math.abs(threads - whole) < 0.005
    ? trans._n(
        '%2 = wall %3 × %4 thread',
        '%2 = wall %3 × %4 threads',
        whole,
        capacity,
        wall,
        formatCount(whole)
      )
    : trans.__(
        '%1 = wall %2 × %3 threads on average',
        capacity,
        wall,
        threads.toFixed(2)
      );
}

/** Groups whose parts differ in cause and remedy. */
const MIXED_GROUPS: ReadonlySet<Group> = new Set(['not on CPU', 'data']);
/** Groups that their largest part names if it is all there is. */
const NAMED_BY_ONE: ReadonlySet<Group> = new Set([
  'largest label',
  'other labels'
]);
/** A rest below this share of the whole cannot be seen: half a pixel of a bar of 1,000. */
const LEAST_REST_SHARE = 0.0005;
/** From this share on a part names its group: the group's other parts take half as much at most. */
const MOST = 2 / 3;

function groupsOf(
  parts: readonly Part[],
  total: number,
  unit: string
): Headline['groups'] {
  const sums = new Map<Group, { value: number; largest: Part }>();
  for (const item of parts) {
    const sum = sums.get(item.group);
    sums.set(item.group, {
      value: (sum?.value ?? 0) + item.value,
      largest: sum && sum.largest.value >= item.value ? sum.largest : item
    });
  }
  return [...sums].map(([group, { value, largest }]) => ({
    group,
    mostly:
      (MIXED_GROUPS.has(group) &&
        // (its word says the group's own, and no more)
        largest.id !== 'noncpu' &&
        largest.value >= MOST * value) ||
      (NAMED_BY_ONE.has(group) && largest.value === value)
        ? largest.word
        : null,
    isAll: largest.value === value,
    text: formatUnit(value, unit),
    shareText: group === BESIDE ? '' : formatShare(shareOf(value, total))
  }));
}

/** What the headline calls a group: "not on CPU, mostly waiting for a core"; the figure is the group's. */
export function groupWord(
  { group, mostly, isAll }: GroupSum,
  trans: Trans
): string {
  if (mostly === null) {
    return legendWord(group, trans);
  }
  const word = legendWord(mostly, trans);
  return isAll
    ? word
    : trans.__('%1, mostly %2', legendWord(group, trans), word);
}

/** `byActivity` without idle, as a record. */
function sumByActivity(result: FineMetricsResult): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { activity, value } of result.byActivity) {
    if (!activity.startsWith('idle:')) {
      const before = Object.hasOwn(sums, activity) ? sums[activity]! : 0;
      sums[activity] = before + value;
    }
  }
  return sums;
}

// -------------------------------------------------------------------- lists

/** The parts of the bar that are no idle time, largest first. */
export function activityParts(result: FineMetricsResult): Part[] {
  if (besideTotal(result) === 0) {
    return activityRows(result);
  }
  const { own, apart } = divided(sumByActivity(result), result.beside);
  const { total } = headlineOf(result);
  const looks = looksIn(result);
  const parts = partsOf(own, total, result.unit, false, looks);
  return [
    ...withError(parts, result),
    ...besideParts(apart, null, false, looks)
  ].sort((a, b) => b.value - a.value);
}

/** Activities as they were measured, largest first. */
export function activityRows(
  result: FineMetricsResult,
  isTold = result.account === 'told'
): Part[] {
  const { total } = headlineOf(result);
  return withError(
    partsOf(sumByActivity(result), total, result.unit, isTold, looksIn(result)),
    result
  ).sort((a, b) => b.value - a.value);
}

/** @param isLocal - of a run without a cluster, which has words of its own for some causes. */
export function idleParts(
  result: FineMetricsResult,
  whole: number,
  isLocal = false
): Part[] {
  const causes = isLocal ? LOCAL_CAUSES : CAUSES;
  return result.idle
    .filter(item => item.seconds > 0)
    .map(({ cause, seconds }) => {
      const idle = Object.hasOwn(causes, cause) ? (cause as IdleRole) : null;
      const shown = {
        id: `idle:${cause}`,
        label: idle === null ? cause : causes[idle],
        role: { idle: idle ?? 'unknown' },
        group: 'idle',
        remark: isLocal && idle === 'scheduler' ? 'pool-start' : undefined
      } as const;
      return part(shown, seconds, whole, 'seconds');
    })
    .sort((a, b) => b.value - a.value);
}

/** How long the threads had no task, beside all the time that they had while there were tasks. */
export function idleText(result: FineMetricsResult, trans: Trans): string {
  return trans.__(
    '%1 of %2, by start and stop of tasks',
    formatDuration(idleSeconds(result)),
    totalText(result, trans)
  );
}

/**
 * During which task threads idled for most of the time for which they had nothing runnable. Both are summed over threads: of seven that idle
 * while it runs for 2 s they are 14 s. '': no single one stands out, or it is not told.
 */
export function waitedForText(result: FineMetricsResult, trans: Trans): string {
  const { idle, waitedFor } = result;
  const whole = idle.find(({ cause }) => cause === 'nothing-runnable')?.seconds;
  if (waitedFor === undefined || whole === undefined) {
    return '';
  }
  const [name, seconds, all] = [
    waitedFor.function,
    formatDuration(waitedFor.seconds),
    formatDuration(whole)
  ];
  return waitedFor.isLeast
    ? trans.__(
        'Nothing runnable for %3, summed over threads: at least %2 of these while one task of %1 ran. Others may have run at the same time.',
        name,
        seconds,
        all
      )
    : trans.__(
        'Nothing runnable for %3, summed over threads: %2 of these while one task of %1 ran. Others may have run at the same time.',
        name,
        seconds,
        all
      );
}

export type FunctionRow = {
  readonly name: string;
  /** -1 for the row of all others. */
  readonly slot: number;
  readonly round: number;
  readonly isOthers: boolean;
  readonly total: number;
  readonly text: string;
  readonly share: number | null;
  readonly shareText: string;
  /** How often it ran. */
  readonly executions: number;
  readonly parts: readonly Part[];
};

type ByFunction = FineMetricsResult['byFunction'][number];
export type FunctionOrder = 'time' | 'name' | 'executions';

/** The functions shown, then "38 others" if there are more. */
export function functionRows(
  result: FineMetricsResult,
  trans: Trans,
  order: FunctionOrder = 'time'
): FunctionRow[] {
  const { unit, others } = result;
  const whole = headlineOf(result).total;
  const looks = looksIn(result);
  const row = (
    told: NonNullable<typeof others> | ByFunction,
    shown: Pick<FunctionRow, 'name' | 'slot' | 'round' | 'isOthers'>
  ): FunctionRow => {
    const { total, executions, activities, beside } = told;
    const { own, apart } = divided(activities, beside);
    const share = shareOf(total - besideTotal(told), whole);
    const isTold = result.account === 'told';
    return {
      ...shown,
      total,
      text: formatUnit(total, unit),
      share,
      shareText: formatShare(share),
      executions,
      parts: [
        ...partsOf(own, total, unit, isTold, looks),
        ...besideParts(apart, total, isTold, looks)
      ]
    };
  };
  const rows = result.byFunction.map(item => {
    const { function: name, slot, round } = item;
    return row(item, { name, slot, round, isOthers: false });
  });
  rows.sort((a, b) =>
    order === 'name'
      ? a.name.localeCompare(b.name)
      : order === 'executions'
        ? b.executions - a.executions
        : b.total - a.total
  );
  if (others !== null && others.functions > 0) {
    const name = othersName(others.functions, trans);
    rows.push(row(others, { name, slot: -1, round: 0, isOthers: true }));
  }
  return rows;
}

/** "38 others" */
function othersName(functions: number, trans: Trans): string {
  return trans._n('%2 other', '%2 others', functions, formatCount(functions));
}

type MovedRow = {
  readonly id: string;
  readonly label: string;
  readonly kind: ActivityRole;
  readonly value: number;
  readonly text: string;
  readonly title: string;
};

/** Where work outside tasks was done, in users' words. */
export function movedPlace(context: string, trans: Trans): string {
  switch (context) {
    case 'get-data':
    case 'send':
    case 'serve':
      return trans.__('send');
    case 'memory-monitor':
      return trans.__('spill');
    case 'report':
      return trans.__('report results');
    case 'receive':
      return trans.__('receive');
    default:
      return context;
  }
}

/** Contexts that are activities themselves: their bytes go over the network. */
const MOVERS = [
  'get-data',
  'memory-monitor',
  'report',
  'send',
  'serve',
  'receive'
];

export function movedWord(what: string, trans: Trans): string {
  switch (what) {
    case 'network':
    case 'transfer':
      return trans.__('network');
    case 'memory-read':
      return trans.__('from memory');
    default:
      return partWord(what, trans);
  }
}

const MOVED_KINDS: Readonly<Record<string, ActivityRole>> = {
  network: 'transfer',
  transfer: 'transfer',
  'disk-write': 'disk',
  'disk-read': 'disk',
  serialize: 'serialize',
  deserialize: 'serialize'
};

/** "get-data: network" becomes "send: network"; "transfer" behind tasks becomes "receive". */
function movedMeaning(
  activity: string,
  trans: Trans
): {
  readonly label: string;
  readonly kind: ActivityRole;
} {
  const [context = '', what = ''] = activity.includes(': ')
    ? activity.split(': ', 2)
    : MOVERS.includes(activity)
      ? [activity, 'network']
      : [activity === 'transfer' ? 'receive' : '', activity];
  const word = movedWord(what, trans);
  return {
    label:
      context === ''
        ? word
        : trans.__('%1: %2', movedPlace(context, trans), word),
    kind: known(MOVED_KINDS, what) ?? 'other'
  };
}

/** What ran behind other work, in the unit that is shown; "–" stands where that was not measured. */
export function movedRows(result: FineMetricsResult, trans: Trans): MovedRow[] {
  return result.background
    .map(item => {
      const value =
        result.unit === 'bytes'
          ? item.bytes
          : result.unit === 'count'
            ? item.count
            : item.seconds;
      const { seconds, bytes, count } = item;
      return {
        id: item.activity,
        ...movedMeaning(item.activity, trans),
        value: value ?? 0,
        text: formatUnit(value, result.unit),
        title: [
          seconds === null ? '' : formatDuration(seconds),
          bytes === null ? '' : formatBytes(bytes),
          count === null
            ? ''
            : trans._n('%2 time', '%2 times', count, formatCount(count))
        ]
          .filter(text => text !== '')
          .join(', ')
      };
    })
    .filter(row => row.value > 0 || row.text === UNKNOWN)
    .sort((a, b) => b.value - a.value);
}

// --------------------------------------------------------------------- table

/** The twin: a row per function with a column per activity as it was measured, then totals and idle. */
export function tableOf(
  result: FineMetricsResult,
  trans: Trans,
  isLocal = false
): TableData {
  const { unit, others } = result;
  const whole = headlineOf(result).total;
  const names = result.byActivity
    .map(item => item.activity)
    .filter(activity => !activity.startsWith('idle:'));
  const figure = (value: number | null): TableCell => ({
    text: formatUnit(value, unit),
    value,
    unit
  });
  const row = (
    name: string,
    executions: number | null,
    total: number,
    activities: ActivitySeconds,
    beside = 0
  ): TableCell[] => [
    cellOf.text(name),
    { text: formatCount(executions), value: executions },
    figure(total),
    cellOf.share(shareOf(total - beside, whole)),
    ...names.map(activity =>
      figure(
        Object.hasOwn(activities, activity)
          ? (activities[activity] ?? null)
          : null
      )
    )
  ];
  const rows = result.byFunction.map(item =>
    row(
      item.function,
      item.executions,
      item.total,
      item.activities,
      besideTotal(item)
    )
  );
  if (others !== null) {
    const { functions, executions, total, activities } = others;
    const name = othersName(functions, trans);
    rows.push(row(name, executions, total, activities, besideTotal(others)));
  }
  const sums = sumByActivity(result);
  rows.push(
    row(
      trans.__('all functions'),
      null,
      Object.values(sums).reduce((sum, value) => sum + value, 0),
      sums,
      besideTotal(result)
    )
  );
  if (unit === 'seconds') {
    for (const { label, value } of idleParts(result, whole, isLocal)) {
      const name = trans.__('idle: %1', legendWord(label, trans));
      const cells = row(name, null, value, {});
      // (of seconds that the cluster tells it is no share)
      rows.push(
        result.account === 'told'
          ? cells.map((cell, i) => (i === 3 ? cellOf.share(null) : cell))
          : cells
      );
    }
  }
  return {
    columns: [
      { name: trans.__('Function') },
      { name: trans.__('Executions'), numeric: true },
      { name: trans.__('Total'), numeric: true },
      {
        name: isPartOfAll(result)
          ? trans.__('Share under this filter')
          : unit === 'seconds' && result.account !== 'told'
            ? trans.__('Share of capacity')
            : trans.__('Share'),
        numeric: true
      },
      ...names.map(name => ({ name, numeric: true }))
    ],
    rows,
    note: footText(result, trans)
  };
}
