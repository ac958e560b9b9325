import type { LaneId, SpanId } from '../../records/ids';
import type { IndexedBy } from '../../base/typed-arrays';
import { PartKind } from '../../records/enumerations';
import { type CompiledFilter, passesFunction, passesWorker } from '../filter';
import type { IntervalUnion } from '../store/interval-union';
import { CHUNK_MASK, type ColumnsOf } from '../store/column-table';
import { NO_LANE, type LaneCapacity } from '../store/cluster-shape';
import { STATUS_REPLACED, type LogStore } from '../store/log-store';
import { hasBegun } from '../store/run-book';
import { besideRuns, type BesideRun, type HeldPlace } from './beside-runs';
import {
  ROWS_PER_SLICE,
  type FoldContext,
  type Moment,
  type Range,
  type Slices
} from './context';
import { Coverage } from './coverage';
import { LongestWaitedFor, type WaitedFor } from './longest-waited-for';

/** Why a thread had nothing to do; `unknown` where the source gives no waits. */
export const IDLE_CAUSES = [
  'nothing-runnable',
  'inputs-in-flight',
  'held-elsewhere',
  'no-worker',
  'paused',
  'stopped',
  'scheduler',
  'unknown'
] as const;
const NOTHING_RUNNABLE = 0;
const INPUTS_IN_FLIGHT = 1;
const HELD_ELSEWHERE = 2;
const NO_WORKER = 3;
const NOT_ANSWERED = 6;
const NOT_KNOWN = 7;
/** The cause of a gap, by what held the worker. */
const HELD = {
  paused: IDLE_CAUSES.indexOf('paused'),
  stopped: IDLE_CAUSES.indexOf('stopped')
} as const;

/** Bins for sharing idle time among spans; fewer when there are very many spans. */
const BINS = 1024;
const MOST_CELLS = 2_000_000;

/** From this share of the capacity on it is worth while to ask what was waited for. */
const LEAST_WAITED = 0.01;

/** In place of the row of the run for which a lane waited: none came; it did not wait, it ran something. */
const NO_RUN = -1;
const BUSY = -2;

export type IdleAccount = {
  /** How long some task was queued, waiting or running, within the range. */
  readonly wallSeconds: number;
  /** Threads, integrated over that time. */
  readonly capacitySeconds: number;
  /** Seconds in which lanes ran something, within that time and the lanes' capacity. */
  readonly executeSeconds: number;
  /** Those of them that the selected tasks have run which have not ended yet. */
  readonly runningSeconds: number;
  /** Idle seconds by cause, of all lanes of the filter's workers. */
  readonly idle: readonly number[];
  /** The selected tasks' share of these seconds, by cause. */
  readonly selectedIdle: readonly number[];
  /** Idle seconds by span id: the share of the span's own tasks, without its children's. Empty unless asked for. */
  readonly idleOfSpan: ReadonlyMap<SpanId, number>;
  /** What ran for the longest while nothing was runnable. Null: none stands out, or tasks are chosen, to which such time belongs in part. */
  readonly waitedFor: WaitedFor | null;
};

type IdleQuestion = {
  readonly context: Pick<FoldContext, 'log' | 'filter' | 'moment'>;
  readonly range: Range;
  readonly perSpan: boolean;
  /** Whether `waitedFor` is asked for. */
  readonly names?: boolean;
};

/**
 * Idle time, from the gaps of each lane. A gap counts where the lane was within the worker's capacity and the cluster was not wholly idle:
 *
 *     capacity of lane   ├──────────────────────────────────────────┤
 *     some task pending     ├─────────────────────────────┤
 *     runs               ·  · ██████   ████       ████    │
 *     idle                  ▒▒      ▒▒▒    ▒▒▒▒▒▒▒    ▒▒▒▒▒
 *
 * The cause of a gap is read from what the next run on the lane waited for:
 *
 *     gap   ├───────────────────────────┬──────────┬─────────┤ start of the next run
 *                  not runnable yet      runnable   its inputs are here
 *           nothing runnable, or held    inputs in  scheduler not yet answered
 *           on another worker while a    flight
 *           task waits for a thread
 *           there, or no worker while
 *           one waits for such as may
 *           run it
 *
 * A run that has seceded is drawn on a lane beside the threads, which is no capacity; while it held a thread's place, that lane was not idle.
 *
 * If the run needed no transfer, the time since it was runnable counts as waiting for the scheduler. While the worker was paused or stopped,
 * that is the cause.
 *
 * A filter by workers chooses lanes: capacity, runs and idle time are of these lanes alone. Spans, functions and statuses choose tasks, and get a
 * share: within each bin (64 to 1,024 of them) idle time is divided among the tasks that were unfinished then, wherever they ran, by how
 * long they were so. In both cases the figures of disjoint selections add up to the whole.
 *
 * What is not in rows, such as capacity, is taken when this is called, so that a fold that has other rows to go through first calls it first.
 */
export function accountIdle(question: IdleQuestion): Slices<IdleAccount> {
  const { log, filter, moment } = question.context;
  const range = {
    from: question.range.from,
    to: Math.max(question.range.from, question.range.to)
  };
  const bins = binsFor(question);
  const gaps = new GapWalk(
    log,
    moment,
    activeWithRunning(log, moment, range.to),
    range,
    log.shape
      .laneCapacities(range.to)
      .filter(({ worker }) => passesWorker(filter, worker)),
    bins,
    question.names === true && !choosesTasks(filter)
      ? new LongestWaitedFor()
      : null
  );
  return walkGaps(question, gaps, new Shares({ ...question, range }, bins));
}

function* walkGaps(
  { context, range }: IdleQuestion,
  gaps: GapWalk,
  shares: Shares
): Slices<IdleAccount> {
  const { log, moment } = context;
  const isDisordered = disorderedLanes(log);
  const disordered: number[] = [];
  let seen = 0;
  for (const [rows, first, end] of log.runZones.zones(
    range.from,
    Infinity,
    moment.rows.runs
  )) {
    for (let i = first; i < end; i++) {
      const row = rows[i]!;
      // The oldest rows may go between two slices.
      const columns = log.runs.chunkOf(row)?.columns;
      if (columns === undefined) {
        continue;
      }
      const j = row & CHUNK_MASK;
      if (
        columns.status[j] === STATUS_REPLACED ||
        !hasBegun(columns.duration[j]!, columns.waitThread[j]!)
      ) {
        continue;
      }
      shares.addRun(columns, j);
      if (isDisordered[columns.lane[j]!] === 1) {
        disordered.push(row);
      } else {
        gaps.addRun(row, columns, j);
      }
    }
    seen += end - first;
    if (seen >= ROWS_PER_SLICE) {
      seen = 0;
      yield;
    }
  }
  addInOrder(log, disordered, gaps);
  shares.addRunning();
  yield;
  const account = yield* gaps.finish(shares);
  const { waitedFor } = gaps;
  const least = LEAST_WAITED * account.capacitySeconds;
  return waitedFor === null || account.idle[NOTHING_RUNNABLE]! < least
    ? account
    : { ...account, waitedFor: yield* waitedFor.find({ log, moment }, range) };
}

const choosesTasks = ({ bySpan, byFunction, byStatus }: CompiledFilter) =>
  bySpan || byFunction || byStatus;

/** By lane id. */
function disorderedLanes(log: LogStore): IndexedBy<LaneId, Uint8Array> {
  const table: IndexedBy<LaneId, Uint8Array> = new Uint8Array(65536);
  for (const { lane } of log.shape.lanes) {
    table[lane] = log.laneDisorder[log.shape.laneIndex(lane)] === true ? 1 : 0;
  }
  return table;
}

/** Adds the runs of lanes whose runs overlap or arrived out of order, sorted by start. */
function addInOrder(log: LogStore, rows: number[], gaps: GapWalk): void {
  const startOf = (row: number): number =>
    log.runs.chunkOf(row)!.columns.start[row & CHUNK_MASK]!;
  // Some may have gone since they were listed.
  const kept = rows.filter(row => log.runs.has(row));
  kept.sort((a, b) => startOf(a) - startOf(b));
  for (const row of kept) {
    const { columns } = log.runs.chunkOf(row)!;
    gaps.addRun(row, columns, row & CHUNK_MASK);
  }
}

/** The intervals in which some task was unfinished; a task that runs now counts from its start at the latest. The log's own go on. */
function activeWithRunning(
  log: LogStore,
  moment: Moment,
  to: number
): IntervalUnion {
  const active = log.active.copy();
  active.add(firstRunning(moment), to);
  return active;
}

/** When the first of the tasks that run began; Infinity: none runs. */
export function firstRunning({ running }: Moment): number {
  return [...running.values()].reduce(
    (first, { started }) => Math.min(first, started),
    Infinity
  );
}

function binsFor(question: IdleQuestion): number {
  const spans = question.perSpan ? question.context.log.spans.size + 1 : 1;
  return Math.max(64, Math.min(BINS, Math.floor(MOST_CELLS / spans)));
}

/** How far the walk has come on one lane; everything in it moves forward only. */
class LaneWalk {
  /** Up to here the lane is accounted for. */
  cursor: number;
  /** The first stretch of capacity and the first active interval that later calls may need. */
  stretch = 0;
  interval = 0;
  /** In the order of time, and how many the walk has passed. */
  readonly held: HeldLane[] = [];
  passed = 0;

  constructor(
    readonly capacity: LaneCapacity,
    from: number
  ) {
    this.cursor = from;
  }
}

/** What held a lane, and is drawn beside it. */
type HeldLane = { readonly place: HeldPlace; readonly by: BesideRun };

/** Walks the lanes run by run and books the gaps between runs. */
class GapWalk {
  private readonly _lanes = new Map<LaneId, LaneWalk>();
  /** Seconds on threads of runs beside these that have not ended, each once. */
  private readonly _stillHeld = new Map<BesideRun, number>();
  private readonly _unseen: LaneWalk[] = [];
  private readonly _idle: readonly Coverage[];
  /** Why no task for a lane was runnable: the first of these that was so then. */
  private readonly _whyUnrunnable: readonly {
    readonly when: IntervalUnion;
    readonly cause: number;
  }[];
  private _executeSeconds = 0;

  constructor(
    private readonly _log: LogStore,
    private readonly _moment: Moment,
    private readonly _active: IntervalUnion,
    private readonly _range: Range,
    lanes: readonly LaneCapacity[],
    bins: number,
    readonly waitedFor: LongestWaitedFor | null
  ) {
    this._whyUnrunnable = [
      { when: _log.waiting.copy(), cause: HELD_ELSEWHERE },
      { when: _log.unplaced.until(_range.to), cause: NO_WORKER }
    ];
    this._idle = IDLE_CAUSES.map(
      () => new Coverage(bins, _range.from, _range.to)
    );
    for (const capacity of lanes) {
      const walk = new LaneWalk(capacity, _range.from);
      if (capacity.lane === NO_LANE) {
        this._unseen.push(walk);
      } else {
        this._lanes.set(capacity.lane, walk);
      }
    }
    for (const by of besideRuns(_log, _moment, _range)) {
      for (const place of by.places) {
        this._lanes.get(place.lane)?.held.push({ place, by });
      }
    }
    for (const { held } of this._lanes.values()) {
      held.sort((a, b) => a.place.from - b.place.from);
    }
  }

  addRun(row: number, columns: ColumnsOf<'runs'>, j: number): void {
    const lane = this._lanes.get(columns.lane[j]!);
    if (lane === undefined) {
      return;
    }
    const start = columns.start[j]!;
    this._passHeld(lane, start);
    this._waitFor(lane, start, row, columns, j);
    this._advance(lane, start + columns.duration[j]!, BUSY, 0, 0);
  }

  /** The gap before a run. */
  private _waitFor(
    lane: LaneWalk,
    start: number,
    row: number,
    columns: ColumnsOf<'runs'>,
    j: number
  ): void {
    if (start > lane.cursor) {
      const inputsHere = start - columns.waitThread[j]!;
      const runnable = inputsHere - columns.waitInputs[j]!;
      this._advance(lane, start, row, runnable, inputsHere);
    }
  }

  /** What held the lane from before `until` on and is drawn beside it. */
  private _passHeld(lane: LaneWalk, until: number): void {
    for (; lane.passed < lane.held.length; lane.passed++) {
      const { place, by } = lane.held[lane.passed]!;
      if (place.from >= until) {
        return;
      }
      const { row = NO_RUN, start } = by;
      const columns = this._log.runs.chunkOf(row)?.columns;
      if (columns !== undefined && place.from === start) {
        this._waitFor(lane, start, row, columns, row & CHUNK_MASK);
      } else {
        // It has rejoined, for nothing else was to be run here; or it goes on, and what it waited for is known when it ends.
        this._advance(lane, place.from, NO_RUN, Infinity, Infinity);
      }
      const before = this._executeSeconds;
      this._advance(lane, place.to, BUSY, 0, 0);
      if (by.running !== null) {
        const seconds = this._executeSeconds - before;
        this._stillHeld.set(by, (this._stillHeld.get(by) ?? 0) + seconds);
      }
    }
  }

  /** Books the rest of each lane. For a lane that ran nothing that is the whole time, so this yields too. */
  *finish(shares: Shares): Slices<IdleAccount> {
    const { from, to } = this._range;
    let capacitySeconds = 0;
    let runningSeconds = 0;
    let walked = 0;
    for (const lane of [...this._lanes.values(), ...this._unseen]) {
      const id = lane.capacity.lane;
      const running = id === NO_LANE ? undefined : this._moment.running.get(id);
      this._passHeld(lane, running?.started ?? to);
      this._advance(lane, running?.started ?? to, NO_RUN, Infinity, Infinity);
      const before = this._executeSeconds;
      this._advance(lane, to, BUSY, 0, 0);
      if (running !== undefined && shares.has(running)) {
        runningSeconds += this._executeSeconds - before;
      }
      const { threads, stretches } = lane.capacity;
      for (const stretch of stretches) {
        capacitySeconds +=
          threads *
          this._active.measure(
            Math.max(stretch.from, from),
            Math.min(stretch.to, to)
          );
      }
      walked += this._active.length;
      for (const { when } of this._whyUnrunnable) {
        walked += when.length;
      }
      walked += stretches.length;
      if (walked >= ROWS_PER_SLICE) {
        walked = 0;
        yield;
      }
    }
    for (const [{ running }, seconds] of this._stillHeld) {
      if (running !== null && shares.has(running)) {
        runningSeconds += seconds;
      }
    }
    const byBin = this._idle.map(coverage => coverage.read());
    return {
      wallSeconds: this._active.measure(from, to),
      capacitySeconds,
      executeSeconds: this._executeSeconds,
      runningSeconds,
      idle: byBin.map(bins => bins.reduce((sum, x) => sum + x, 0)),
      selectedIdle: byBin.map(bins => shares.selected(bins)),
      idleOfSpan: shares.bySpan(byBin),
      waitedFor: null
    };
  }

  /**
   * Moves the lane's cursor on, and books what lies between and counts: there the lane had capacity, which ends with the range at the
   * latest, and the cluster was not wholly idle. `next` is the row of the run for which the lane waited, which tells the cause.
   */
  private _advance(
    lane: LaneWalk,
    until: number,
    next: number | typeof NO_RUN | typeof BUSY,
    runnable: number,
    inputsHere: number
  ): void {
    const from = lane.cursor;
    if (!(until > from)) {
      return;
    }
    lane.cursor = until;
    const { stretches, threads } = lane.capacity;
    while (
      lane.stretch < stretches.length &&
      stretches[lane.stretch]!.to <= from
    ) {
      lane.stretch++;
    }
    lane.interval = this._nextInterval(lane.interval, from);
    let interval = lane.interval;
    for (
      let s = lane.stretch;
      s < stretches.length && stretches[s]!.from < until;
      s++
    ) {
      const stretch = stretches[s]!;
      const begin = Math.max(from, stretch.from);
      const end = Math.min(until, stretch.to);
      interval = this._nextInterval(interval, begin);
      for (let i = interval; this._active.from(i) < end; i++) {
        const a = Math.max(begin, this._active.from(i));
        const b = Math.min(end, this._active.to(i));
        if (next === BUSY) {
          this._executeSeconds += b - a;
        } else if (stretch.heldBy !== null) {
          this._idle[HELD[stretch.heldBy]]!.add(a, b, threads);
        } else if (Number.isNaN(runnable)) {
          this._idle[NOT_KNOWN]!.add(a, b, threads);
        } else {
          this._byCause(a, b, runnable, inputsHere, next, threads);
        }
      }
    }
  }

  /** The first active interval, from `index` on, that ends after `t`. */
  private _nextInterval(index: number, t: number): number {
    let next = index;
    while (this._active.to(next) <= t) {
      next++;
    }
    return next;
  }

  private _byCause(
    from: number,
    to: number,
    runnableAt: number,
    hereAt: number,
    row: number,
    threads: number
  ): void {
    const runnable = clamp(runnableAt, from, to);
    const here = clamp(hereAt, runnable, to);
    if (runnable > from) {
      this._unrunnable(from, runnable, threads);
    }
    if (here > runnable) {
      const begun = firstTransfer(this._log, this._moment, row);
      const asked = clamp(begun, runnable, here);
      this._idle[NOT_ANSWERED]!.add(runnable, asked, threads);
      this._idle[INPUTS_IN_FLIGHT]!.add(asked, here, threads);
    }
    this._idle[NOT_ANSWERED]!.add(here, to, threads);
  }

  /**
   * Books time in which no task for this lane was runnable: held elsewhere while a task waited for another thread, no worker while one waited
   * for a worker that was not there, else nothing runnable.
   */
  private _unrunnable(
    from: number,
    to: number,
    threads: number,
    place = 0
  ): void {
    if (!(to > from)) {
      return;
    }
    const why = this._whyUnrunnable[place];
    if (why === undefined) {
      this._nothingRunnable(from, to, threads);
      return;
    }
    const { when, cause } = why;
    let at = from;
    for (let i = when.firstEndingAfter(from); when.from(i) < to; i++) {
      const a = Math.max(at, when.from(i));
      const b = Math.min(to, when.to(i));
      this._unrunnable(at, a, threads, place + 1);
      this._idle[cause]!.add(a, b, threads);
      at = b;
    }
    this._unrunnable(at, to, threads, place + 1);
  }

  private _nothingRunnable(from: number, to: number, threads: number): void {
    this._idle[NOTHING_RUNNABLE]!.add(from, to, threads);
    this.waitedFor?.add(from, to, threads);
  }
}

/** When the first input of a run began to arrive; Infinity if nothing was transferred. */
function firstTransfer(log: LogStore, { rows }: Moment, row: number): number {
  const { columns } = log.runs.chunkOf(row)!;
  const start = columns.start[row & CHUNK_MASK]!;
  return log
    .partRows(columns.run[row & CHUNK_MASK]!, rows.parts)
    .map(partRow => log.part(partRow))
    .filter(({ kind }) => kind === PartKind.Transfer)
    .reduce((first, { offset }) => Math.min(first, start + offset), Infinity);
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}

/** When tasks were unfinished: all tasks, those of the selection, those of each span. */
class Shares {
  private readonly _all: Coverage;
  private readonly _selected: Coverage;
  private readonly _bySpan: Coverage[] = [];
  private _allBins: Float64Array | undefined;
  /** True: the filter chooses by workers at most, so all idle time belongs to the selection. */
  private readonly _isUndivided: boolean;

  constructor(
    private readonly _question: IdleQuestion,
    private readonly _bins: number
  ) {
    this._all = this._coverage();
    this._selected = this._coverage();
    this._isUndivided = !choosesTasks(_question.context.filter);
  }

  addRun(columns: ColumnsOf<'runs'>, j: number): void {
    if (this._isUndivided && !this._question.perSpan) {
      return;
    }
    const start = columns.start[j]!;
    const waited =
      positive(columns.waitReady[j]!) +
      positive(columns.waitInputs[j]!) +
      positive(columns.waitThread[j]!);
    const stop = start + positive(columns.duration[j]!);
    const { filter, log } = this._question.context;
    const counts = filter.statuses[columns.status[j]!] === 1;
    const run = columns.run[j]!;
    const innerSeconds =
      log.lastParts.get(run) < 0
        ? 0
        : this._addInner(run, start - waited, stop, counts);
    if (innerSeconds === 0) {
      this._add(
        columns.span[j]!,
        columns.function[j]!,
        start - waited,
        stop,
        1,
        counts
      );
    }
  }

  /**
   * A fused task belongs to the spans of its inner parts, by their seconds.
   *
   * @returns their sum.
   */
  private _addInner(
    run: number,
    from: number,
    to: number,
    counts: boolean
  ): number {
    const { log, moment } = this._question.context;
    const inner = log
      .partRows(run, moment.rows.parts)
      .map(row => log.part(row))
      .filter(part => part.kind === PartKind.Compute && part.duration > 0);
    const sum = inner.reduce((total, part) => total + part.duration, 0);
    for (const part of inner) {
      this._add(
        part.span,
        part.function,
        from,
        to,
        part.duration / sum,
        counts
      );
    }
    return sum;
  }

  addRunning(): void {
    const { context, range } = this._question;
    for (const running of context.moment.running.values()) {
      this._add(
        running.span,
        running.function,
        running.started,
        range.to,
        1,
        this.has(running)
      );
    }
  }

  /** Whether a task that runs is of the selection: its status is not known before its end. */
  has(running: { readonly span: SpanId; readonly function: number }): boolean {
    const { filter } = this._question.context;
    return (
      !filter.byStatus &&
      filter.spans[running.span] === 1 &&
      passesFunction(filter, running.function)
    );
  }

  /** The selection's share of idle seconds per bin, added up. */
  selected(idle: Float64Array): number {
    if (this._isUndivided) {
      return idle.reduce((sum, seconds) => sum + seconds, 0);
    }
    return this._share(idle, this._selected.read());
  }

  bySpan(idleByCause: readonly Float64Array[]): Map<SpanId, number> {
    const idle = new Float64Array(this._bins);
    for (const bins of idleByCause) {
      bins.forEach((seconds, bin) => (idle[bin]! += seconds));
    }
    const shares = new Map<SpanId, number>();
    this._bySpan.forEach((coverage, span) => {
      shares.set(span as SpanId, this._share(idle, coverage.read()));
    });
    return shares;
  }

  private _share(idle: Float64Array, weight: Float64Array): number {
    const all = (this._allBins ??= this._all.read());
    let sum = 0;
    for (let bin = 0; bin < this._bins; bin++) {
      if (all[bin]! > 0) {
        sum += (idle[bin]! * weight[bin]!) / all[bin]!;
      }
    }
    return sum;
  }

  private _add(
    span: SpanId,
    fn: number,
    from: number,
    to: number,
    weight: number,
    counts: boolean
  ): void {
    this._all.add(from, to, weight);
    const { context, perSpan } = this._question;
    const { filter } = context;
    if (
      // Nobody asks for it: all idle time is the selection's.
      !this._isUndivided &&
      counts &&
      filter.spans[span] === 1 &&
      passesFunction(filter, fn)
    ) {
      this._selected.add(from, to, weight);
    }
    if (perSpan) {
      (this._bySpan[span] ??= this._coverage()).add(from, to, weight);
    }
  }

  private _coverage(): Coverage {
    const { from, to } = this._question.range;
    return new Coverage(this._bins, from, to);
  }
}

function positive(value: number): number {
  return value > 0 ? value : 0;
}
