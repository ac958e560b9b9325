import type { FullSpanRow, SpanRow, SpansResult } from '../../wire/panel-link';
import type { ParamsOf } from '../../wire/question';
import { compileFilter } from '../filter';
import {
  ACTIVITIES,
  BLOCKED,
  COMPUTE,
  CORE,
  GIL,
  THREAD_CPU,
  THREAD_NONCPU,
  TRANSFER
} from '../store/activity-cells';
import type { LogStore } from '../store/log-store';
import { DEFAULT_SPAN, type SpanId } from '../../records/ids';
import {
  calledTheSame,
  DEFAULT_TAG,
  MOST_CODE,
  type Span
} from '../store/span-tree';
import {
  type FoldContext,
  type Honoured,
  type Moment,
  secondsRunning,
  type Slices
} from './context';
import { honouredBy } from './honoured';
import { accountIdle, type IdleAccount } from './idle';

/** A row is some 400 bytes: more would not fit in one message of the panel link. */
const MOST_ROWS = 1500;

/** A page of all spans ends with the row that reaches so many bytes; a full row is some 700 and its path. */
const PAGE_BYTES = 512 * 1024;
const FULL_ROW_BYTES = 700;
/** The newest steps of the cluster's number of threads that a page tells. */
const MOST_STEPS = 10_000;

/** What a program calls the seconds of a task's own code, however its thread fared. */
const COMPUTING: ReadonlySet<number> = new Set([
  THREAD_CPU,
  CORE,
  GIL,
  BLOCKED,
  THREAD_NONCPU,
  COMPUTE
]);
/** Seconds of runs that gave no result. */
const NO_ACTION: ReadonlySet<string> = new Set(['lost', 'failed', 'cancelled']);
const ACTION_OF: readonly (string | null)[] = ACTIVITIES.map((name, i) =>
  COMPUTING.has(i) ? 'compute' : NO_ACTION.has(name) ? null : name
);

/** Sums of one span's own rows; added up over the subtree for the row that is shown. */
class SpanSums {
  tasks = 0;
  running = 0;
  runningCancelled = 0;
  waiting = 0;
  runningSeconds = 0;
  failed = 0;
  failedTasks = 0;
  failedUnrun = 0;
  nanoseconds = 0;
  cpuNanoseconds = 0;
  /** Thread time whose CPU share is not known. */
  unknownNanoseconds = 0;
  transferNanoseconds = 0;
  idleSeconds = 0;
  executions = 0;
  exact = 0;
  inferred = 0;
  firstStart = Infinity;
  lastStop = -Infinity;
  enqueued = Infinity;
  lastEnqueued = -Infinity;
  nbytes = 0;
  joined = 0;
  reused = 0;
  submitted = 0;
  readonly secondsOf = new Map<string, number>();

  addAction(action: string, nanoseconds: number): void {
    if (nanoseconds > 0) {
      const before = this.secondsOf.get(action) ?? 0;
      this.secondsOf.set(action, before + nanoseconds);
    }
  }

  add(other: SpanSums): void {
    this.tasks += other.tasks;
    this.running += other.running;
    this.runningCancelled += other.runningCancelled;
    this.waiting += other.waiting;
    this.runningSeconds += other.runningSeconds;
    this.failed += other.failed;
    this.failedTasks += other.failedTasks;
    this.failedUnrun += other.failedUnrun;
    this.nanoseconds += other.nanoseconds;
    this.cpuNanoseconds += other.cpuNanoseconds;
    this.unknownNanoseconds += other.unknownNanoseconds;
    this.transferNanoseconds += other.transferNanoseconds;
    this.idleSeconds += other.idleSeconds;
    this.executions += other.executions;
    this.exact += other.exact;
    this.inferred += other.inferred;
    this.firstStart = Math.min(this.firstStart, other.firstStart);
    this.lastStop = Math.max(this.lastStop, other.lastStop);
    this.enqueued = Math.min(this.enqueued, other.enqueued);
    this.lastEnqueued = Math.max(this.lastEnqueued, other.lastEnqueued);
    this.nbytes += other.nbytes;
    this.joined += other.joined;
    this.reused += other.reused;
    this.submitted += other.submitted;
    for (const [action, nanoseconds] of other.secondsOf) {
      this.addAction(action, nanoseconds);
    }
  }
}

/** The clients of the rows, as filters call them. */
class ClientLabels {
  readonly all: string[] = [];

  constructor(private readonly _log: LogStore) {}

  index(client: number): number | null {
    const label = this._log.clients.labelOf(client);
    if (label === '') {
      return null;
    }
    const known = this.all.indexOf(label);
    return known < 0 ? this.all.push(label) - 1 : known;
  }
}

/**
 * Every span with its own and its subtree's figures, of the whole run whatever is filtered: the tree that filters are chosen from.
 *
 *     own          subtree
 *     a    2 s     a      9 s
 *     └ b  7 s     └ b    7 s         Σ own + unattributed = total, in whole nanoseconds
 */
export function* foldSpans(
  context: FoldContext,
  params: ParamsOf<'spans'> = {}
): Slices<{ readonly result: SpansResult; readonly honoured: Honoured }> {
  const { all, after = 0, numbers } = params;
  if (numbers !== undefined) {
    return countedIn(context, numbers);
  }
  const inferred = inferredOf(context.log);
  const { rows, clients, ...page } = yield* spanRows(
    context,
    all === true ? after : null
  );
  return {
    result: {
      view: 'spans',
      rows,
      clients,
      ...(all === true && {
        next: page.next,
        threads: threadsOverTime(context.log, context.moment.end)
      }),
      ...(page.folded > 0 && { folded: page.folded }),
      ...inferred,
      ...(!context.log.knowsSpans && { areNotTold: true as const }),
      totalThreadSeconds: page.totalNanoseconds / 1e9,
      ...runningOf(page.runningSeconds),
      totalTasks: page.totalTasks
    },
    honoured: honouredBy('spans', context)
  };
}

function inferredOf(log: LogStore): Pick<SpansResult, 'inferredShare'> {
  const isUsed =
    log.hasGivenSpans &&
    [...log.spans.all()].some(({ origin }) => origin === 'user');
  const share = isUsed ? log.inferredTime.share(() => true) : 0;
  return share > 0 ? { inferredShare: share } : {};
}

/** Of spans by the log's numbers: which row each is counted in. */
function countedIn(
  context: FoldContext,
  numbers: readonly number[]
): { readonly result: SpansResult; readonly honoured: Honoured } {
  const { log } = context;
  return {
    result: {
      view: 'spans',
      rows: [],
      clients: [],
      countedIn: numbers.map(number => [
        number,
        log.spans.numberOf(log.spanSlots.find(number))
      ]),
      totalThreadSeconds: log.totalNanoseconds / 1e9,
      totalTasks: log.runCount
    },
    honoured: honouredBy('spans', context)
  };
}

/** The spans as they were at one moment, parents first, with their own sums and those of their subtrees. */
type SpanAccount = {
  readonly order: readonly Span[];
  /** By span in the store; own sums also of spans that are not described. */
  readonly numbers: ReadonlyMap<SpanId, number>;
  readonly own: ReadonlyMap<SpanId, SpanSums>;
  readonly total: ReadonlyMap<SpanId, SpanSums>;
  /** How many other passes are in a span's sums because they are not shown. */
  readonly others?: ReadonlyMap<SpanId, number>;
};

type PagedAccount = SpanAccount & {
  readonly idle: IdleAccount;
  /** Σ of all runs: the log's own sum goes on. */
  readonly totalNanoseconds: number;
  readonly runningSeconds: number;
  readonly totalTasks: number;
  /** Those folded into others too. */
  readonly spans: number;
};

/** The accounts behind pages that are being asked for: all of a question tell of one moment, and idle time is reckoned once. */
class PagedAccounts {
  private readonly _accounts = new Map<number, PagedAccount>();
  private _newest = 0;

  /** @returns its number. Programs that ask at once are few; of more the oldest account goes, and is reckoned again. */
  keep(account: PagedAccount): number {
    this._accounts.set(++this._newest, account);
    this._accounts.delete(this._newest - MOST_ACCOUNTS);
    return this._newest;
  }

  get(number: number): PagedAccount | undefined {
    return this._accounts.get(number);
  }

  drop(number: number): void {
    this._accounts.delete(number);
  }
}

const MOST_ACCOUNTS = 4;
const paged = new WeakMap<LogStore, PagedAccounts>();

/** Where a page begins: its question's account and the row there. A log has fewer spans. */
const ROWS_OF_ACCOUNT = 65_536;

function* accountSpans(
  context: FoldContext,
  isFull: boolean
): Slices<PagedAccount> {
  const { log, moment } = context;
  const idling = accountIdle({
    context: { log, moment, filter: compileFilter({}, log) },
    range: { from: moment.begin, to: moment.end },
    perSpan: true
  });
  const own = ownSums(context, isFull);
  const order = parentsFirst(log);
  const { totalNanoseconds, runCount: totalTasks } = log;
  const spans = order.reduce((sum, { joined }) => sum + 1 + joined, 0);
  const idle = yield* idling;
  for (const [span, seconds] of idle.idleOfSpan) {
    const sums = own.get(span);
    if (sums !== undefined) {
      sums.idleSeconds += seconds;
    }
  }
  return {
    ...accountOf(order, own),
    idle,
    totalNanoseconds,
    runningSeconds: [...own.values()].reduce(
      (sum, each) => sum + each.runningSeconds,
      0
    ),
    totalTasks,
    spans
  };
}

function accountOf(
  order: readonly Span[],
  own: ReadonlyMap<SpanId, SpanSums>
): SpanAccount {
  const numbers = new Map(order.map(({ span, number }) => [span, number]));
  return { order, numbers, own, total: subtreeSums(order, own) };
}

/** The rows, the sums that no described span owns, and the idle account behind them. */
export function* spanRows(
  context: FoldContext,
  after: number | null = null
): Slices<{
  readonly rows: readonly SpanRow[];
  /** Of a page of full rows: where the next one begins. */
  readonly next: number | null;
  /** Of the largest rows: how many spans have none of their own. */
  readonly folded: number;
  readonly clients: readonly string[];
  readonly unattributedNanoseconds: number;
  readonly totalNanoseconds: number;
  readonly runningSeconds: number;
  readonly totalTasks: number;
  readonly idle: IdleAccount;
}> {
  const { log, moment } = context;
  let number = Math.floor((after ?? 0) / ROWS_OF_ACCOUNT);
  const begun = paged.get(log)?.get(number);
  const account = begun ?? (yield* accountSpans(context, after !== null));
  const { idle, own, totalNanoseconds, runningSeconds, totalTasks } = account;
  const rows: SpanRow[] = [];
  const clients = new ClientLabels(log);
  let next: number | null = null;
  let folded = 0;
  if (after === null) {
    const shown = shownSpans(account);
    folded = account.spans - shown.order.length;
    const ownDefault = shown.own.get(DEFAULT_SPAN);
    if (ownDefault !== undefined && !account.numbers.has(DEFAULT_SPAN)) {
      rows.push(defaultRow(moment, ownDefault));
    }
    for (const span of shown.order) {
      rows.push({
        ...describedRow(span, shown, clients),
        ...passOf(span, shown.others?.get(span.span) ?? 0)
      });
    }
  } else {
    const { order } = account;
    let bytes = 0;
    let at = after % ROWS_OF_ACCOUNT;
    for (; at < order.length && bytes < PAGE_BYTES; at++) {
      const row = fullRow(log, order[at]!, account, clients);
      bytes += FULL_ROW_BYTES;
      for (const text of [...row.path, ...row.code]) {
        bytes += 3 * text.length;
      }
      rows.push(row);
    }
    const accounts = paged.get(log) ?? new PagedAccounts();
    paged.set(log, accounts);
    if (at >= order.length) {
      accounts.drop(number);
    } else {
      number = begun === undefined ? accounts.keep(account) : number;
      next = number * ROWS_OF_ACCOUNT + at;
    }
  }
  let unattributedNanoseconds = 0;
  for (const [span, sums] of own) {
    if (span !== DEFAULT_SPAN && !account.numbers.has(span)) {
      unattributedNanoseconds += sums.nanoseconds;
    }
  }
  return {
    rows,
    next,
    folded,
    clients: clients.all,
    unattributedNanoseconds,
    totalNanoseconds,
    runningSeconds,
    totalTasks,
    idle
  };
}

/** From t on, the cluster has had so many threads; the newest steps. */
function threadsOverTime(log: LogStore, now: number): [number, number][] {
  const changes = new Map<number, number>();
  const change = (t: number, by: number): void => {
    changes.set(t, (changes.get(t) ?? 0) + by);
  };
  for (const { threads, stretches } of log.shape.laneCapacities(Infinity)) {
    for (const { from, to } of stretches) {
      change(from, threads);
      if (to < Infinity) {
        change(to, -threads);
      }
    }
  }
  let threads = 0;
  return [...changes]
    .sort(([a], [b]) => a - b)
    .filter(([t, by]) => t <= now && by !== 0)
    .map(([t, by]): [number, number] => [t, (threads += by)])
    .slice(-MOST_STEPS);
}

function ownSums(
  { log, moment, ended }: FoldContext,
  isFull: boolean
): Map<SpanId, SpanSums> {
  const own = new Map<SpanId, SpanSums>();
  const of = (span: SpanId): SpanSums => {
    let sums = own.get(span);
    if (sums === undefined) {
      sums = new SpanSums();
      sums.exact = log.figures.exact(span);
      sums.inferred = log.figures.inferred(span);
      sums.failedUnrun = log.figures.failedUnrun(span);
      sums.failed = sums.failedUnrun;
      sums.failedTasks = log.figures.failedInRuns(span);
      sums.firstStart = log.figures.firstStart(span);
      sums.lastStop = log.figures.lastStop(span);
      sums.enqueued = log.figures.enqueued(span);
      sums.lastEnqueued = log.figures.lastEnqueued(span);
      sums.reused = log.spans.reusedOf(span);
      if (isFull) {
        sums.nbytes = log.figures.nbytes(span);
        sums.submitted = log.figures.tasks(span);
        sums.joined = log.spans.get(span)?.joined ?? 0;
      }
      own.set(span, sums);
    }
    return sums;
  };
  for (let cell = 0; cell < log.held.length; cell++) {
    const sums = of(log.held.span(cell));
    sums.tasks += log.held.runs(cell);
    sums.failed += log.held.failed(cell);
    sums.executions += log.held.executions(cell);
    sums.nanoseconds += log.held.totalNanoseconds(cell);
    sums.cpuNanoseconds += log.held.nanoseconds(cell, THREAD_CPU);
    sums.unknownNanoseconds += log.held.nanoseconds(cell, COMPUTE);
    sums.transferNanoseconds += log.held.nanoseconds(cell, TRANSFER);
    if (isFull) {
      ACTION_OF.forEach((action, activity) => {
        if (action !== null) {
          sums.addAction(action, log.held.nanoseconds(cell, activity));
        }
      });
    }
  }
  // Those without runs of their own, too: tasks may have been submitted in them, and others may be folded into them while idle time is added up.
  for (const { span } of log.spans.all()) {
    of(span);
  }
  if (!ended) {
    for (const { within, waiting } of log.progress.rows()) {
      of(log.spanSlots.find(within)).waiting += waiting;
    }
  }
  for (const running of moment.running.values()) {
    const sums = of(running.span);
    sums.running += 1;
    sums.runningCancelled += running.givenUp === undefined ? 0 : 1;
    sums.runningSeconds += secondsRunning(moment, running);
  }
  return own;
}

/** @param order - parents first; a span whose parent is not among them is a root. */
function subtreeSums(
  order: readonly Span[],
  own: ReadonlyMap<SpanId, SpanSums>
): Map<SpanId, SpanSums> {
  const total = new Map<SpanId, SpanSums>();
  for (const { span } of order) {
    const sums = new SpanSums();
    const mine = own.get(span);
    if (mine !== undefined) {
      sums.add(mine);
    }
    total.set(span, sums);
  }
  for (const { span, parent } of order.toReversed()) {
    if (parent !== null) {
      total.get(parent)?.add(total.get(span)!);
    }
  }
  return total;
}

/** Roots in order of first appearance, each followed by its subtree. A span whose parent is not described is a root. */
function parentsFirst(log: LogStore): Span[] {
  const order: Span[] = [];
  for (const { span, parent } of log.spans.all()) {
    if (parent === null || log.spans.get(parent) === undefined) {
      log.spans.walk(span, below => order.push(log.spans.get(below)!));
    }
  }
  return order;
}

/**
 * All spans, or the largest 1,500: the smaller ones' figures are then added to those of a shown one beside them that is called the same, else to
 * their parents' own, so that the sums stay. A span's subtree is at least as large as its child's, so the parent of a shown span is shown.
 */
function shownSpans(account: SpanAccount): SpanAccount {
  const { own, total, order } = account;
  if (order.length <= MOST_ROWS) {
    return account;
  }
  const shown = new Set(
    order
      .toSorted(
        (a, b) =>
          total.get(b.span)!.nanoseconds - total.get(a.span)!.nanoseconds
      )
      .slice(0, MOST_ROWS)
  );
  const called = (span: Span, parent: SpanId | null): string =>
    calledTheSame({ ...span, parent });
  const firstOf = new Map<string, SpanId>();
  for (const span of shown) {
    const key = called(span, span.parent);
    if (!firstOf.has(key)) {
      firstOf.set(key, span.span);
    }
  }
  const place = new Map<SpanId, SpanId>();
  const sums = new Map<SpanId, SpanSums>();
  const others = new Map<SpanId, number>();
  for (const span of order) {
    const above =
      span.parent === null ? null : (place.get(span.parent) ?? null);
    const twin = shown.has(span) ? span.span : firstOf.get(called(span, above));
    if (twin !== undefined && twin !== span.span) {
      others.set(twin, (others.get(twin) ?? 0) + 1 + span.joined);
    }
    place.set(span.span, twin ?? above ?? DEFAULT_SPAN);
  }
  for (const [span, mine] of own) {
    const at = place.get(span) ?? span;
    const into = sums.get(at) ?? new SpanSums();
    into.add(mine);
    sums.set(at, into);
  }
  const rows = order.filter(span => shown.has(span));
  return { ...accountOf(rows, sums), others };
}

/**
 * What tells a row from others of its path.
 *
 * @param unshown - how many other passes are counted in it beside those that have been folded.
 */
function passOf(
  { uuid, joined, cellRun: { execution, cell } }: Span,
  unshown: number
): Pick<SpanRow, 'id' | 'others' | 'execution' | 'cell'> {
  const others = joined + unshown;
  return {
    ...(uuid !== '' && { id: uuid }),
    ...(others > 0 && { others }),
    ...(execution > 0 && others === 0 && { execution }),
    ...(cell !== '' && { cell })
  };
}

function describedRow(
  description: Span,
  { numbers, own, total }: SpanAccount,
  clients: ClientLabels
): SpanRow {
  const { span, parent } = description;
  const sums = total.get(span)!;
  return {
    span: description.number,
    client: clients.index(description.client),
    parent: parent === null ? null : (numbers.get(parent) ?? null),
    path: description.path,
    tag: description.tag,
    origin: description.origin,
    opened: description.opened,
    closed: Number.isNaN(description.closed) ? null : description.closed,
    ...(isComputedLater(sums, description.closed) && {
      isComputedLater: true as const
    }),
    ...figures(sums, own.get(span) ?? new SpanSums())
  };
}

/** By so much after the end of a span a graph may come that was sent in it. */
const ON_THE_WAY_SECONDS = 0.05;

/** Whether tasks were submitted in the span, and others after it had closed. */
function isComputedLater(
  { enqueued, lastEnqueued }: SpanSums,
  closed: number
): boolean {
  const end = closed + ON_THE_WAY_SECONDS;
  return enqueued <= end && lastEnqueued > end;
}

function fullRow(
  log: LogStore,
  description: Span,
  account: SpanAccount,
  clients: ClientLabels
): FullSpanRow {
  const { span, number, uuid } = description;
  const sums = account.total.get(span)!;
  const { enqueued, submitted, nbytes, joined, secondsOf } = sums;
  return {
    ...describedRow(description, account, clients),
    id: uuid || `span-${number}`,
    enqueued: Number.isFinite(enqueued) ? enqueued : null,
    submitted,
    nbytes,
    seconds: Object.fromEntries(
      [...secondsOf].map(([action, ns]) => [action, ns / 1e9])
    ),
    // (it may have been folded since the account was made)
    code: codeBelow(log, log.spanSlots.find(number)),
    ownReused: account.own.get(span)?.reused ?? 0,
    joined
  };
}

/** The stacks of the span and of what is below it, as many as one span may have. */
function codeBelow(log: LogStore, span: SpanId): readonly string[] {
  const found = new Set<string>();
  if (!log.spans.hasCode) {
    return [];
  }
  let room = MOST_CODE;
  log.spans.walk(span, below => {
    for (const code of log.spans.codeOf(below)) {
      if (!found.has(code) && code.length <= room) {
        room -= code.length;
        found.add(code);
      }
    }
  });
  return [...found];
}

function defaultRow(moment: Moment, own: SpanSums): SpanRow {
  return {
    span: DEFAULT_SPAN,
    client: null,
    parent: null,
    path: [DEFAULT_TAG],
    tag: DEFAULT_TAG,
    origin: 'default',
    opened: moment.begin,
    closed: null,
    ...figures(own, own)
  };
}

function runningOf(seconds: number): Pick<SpanRow, 'runningSeconds'> {
  return seconds > 0 ? { runningSeconds: seconds } : {};
}

function figures(
  total: SpanSums,
  own: SpanSums
): Omit<
  SpanRow,
  | 'span'
  | 'client'
  | 'parent'
  | 'path'
  | 'tag'
  | 'origin'
  | 'opened'
  | 'closed'
  | 'isComputedLater'
  | keyof ReturnType<typeof passOf>
> {
  const allUnknown = total.unknownNanoseconds > 0 && total.cpuNanoseconds === 0;
  return {
    tasks: total.tasks,
    running: total.running,
    ...(total.runningCancelled > 0 && {
      runningCancelled: total.runningCancelled
    }),
    ...(total.waiting > 0 && { waiting: total.waiting }),
    failed: total.failed,
    ...(total.failedTasks > 0 && { failedTasks: total.failedTasks }),
    ...(total.failedUnrun > 0 && { failedUnrun: total.failedUnrun }),
    threadSeconds: total.nanoseconds / 1e9,
    ...runningOf(total.runningSeconds),
    cpuSeconds: allUnknown ? null : total.cpuNanoseconds / 1e9,
    transferSeconds: total.transferNanoseconds / 1e9,
    idleSeconds: total.idleSeconds,
    ownTasks: own.tasks,
    ownNanoseconds: own.nanoseconds,
    executions: total.executions,
    exact: total.exact,
    inferred: total.inferred,
    firstStart: Number.isFinite(total.firstStart) ? total.firstStart : null,
    lastStop: Number.isFinite(total.lastStop) ? total.lastStop : null,
    ...(total.reused > 0 && { reused: total.reused })
  };
}
