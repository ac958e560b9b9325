import { passesFunction } from '../filter';
import type { CompiledFilter } from '../filter';
import type { IntervalUnion } from '../store/interval-union';
import { CHUNK_MASK, CHUNK_SHIFT } from '../store/column-table';
import type { ColumnsOf } from '../store/column-table';
import type { LaneCapacity } from '../store/cluster-shape';
import type { LogStore } from '../store/log-store';
import { PART_COMPUTE } from '../store/run-book';
import { ROWS_PER_SLICE } from './context';
import type { Range, Slices } from './context';
import { Coverage } from './coverage';

/** Why a thread had nothing to do; `unknown` where the source gives no waits. */
export const IDLE_CAUSES = [
  'nothing-runnable',
  'inputs-in-flight',
  'held-elsewhere',
  'paused',
  'scheduler',
  'unknown'
] as const;
const NOTHING_RUNNABLE = 0;
const INPUTS_IN_FLIGHT = 1;
const HELD_ELSEWHERE = 2;
const PAUSED = 3;
const NOT_ANSWERED = 4;
const NOT_KNOWN = 5;

const PART_TRANSFER = 1;
/** Bins for sharing idle time among spans; fewer when there are very many spans. */
const BINS = 1024;
const MOST_CELLS = 2_000_000;

export type IdleAccount = {
  /** How long some task was queued, waiting or running, within the range. */
  readonly wallSeconds: number;
  /** Threads, integrated over that time. */
  readonly capacitySeconds: number;
  /** Runs on lanes, within that time and the lanes' capacity. */
  readonly executeSeconds: number;
  /** By cause, of the whole cluster. */
  readonly idle: readonly number[];
  /** By cause, the selection's share. */
  readonly selectedIdle: readonly number[];
  /** By span id, own share (not the children's); empty unless asked for. */
  readonly idleOfSpan: ReadonlyMap<number, number>;
};

export type IdleQuestion = {
  readonly log: LogStore;
  readonly range: Range;
  readonly filter: CompiledFilter;
  readonly perSpan: boolean;
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
 *           there
 *
 * (runnable without any transfer: the scheduler had not answered yet; a paused worker: paused for memory.)
 *
 * A selection's share: within each of some thousand bins, idle time is divided among the tasks that were submitted and unfinished then, by
 * how long they were so. Shares of disjoint selections therefore add up to the whole.
 */
export function* accountIdle(question: IdleQuestion): Slices<IdleAccount> {
  const { log, range } = question;
  const active = activeWithRunning(log, range.to);
  const lanes = log.shape.laneCapacities(range.to);
  const gaps = new GapWalk(log, active, range, binsFor(question));
  const shares = new Shares(question, gaps.bins);
  const byLane = new Map(lanes.map(lane => [lane.lane, lane]));
  const disordered: number[] = [];
  let seen = 0;
  for (const [rows, first, end] of log.runZones.zones(range.from, Infinity)) {
    let columns: ColumnsOf<'runs'> | undefined;
    let at = -1;
    for (let i = first; i < end; i++) {
      const row = rows[i]!;
      if (row >>> CHUNK_SHIFT !== at) {
        at = row >>> CHUNK_SHIFT;
        columns = log.runs.chunkOf(row)?.columns;
      }
      if (columns === undefined) {
        continue;
      }
      const j = row & CHUNK_MASK;
      const lane = columns.lane[j]!;
      shares.addRun(row, columns, j);
      if (log.laneDisorder[log.shape.laneIndex(lane)] === true) {
        disordered.push(row);
      } else {
        gaps.addRun(byLane.get(lane), row, columns, j);
      }
    }
    seen += end - first;
    if (seen >= ROWS_PER_SLICE) {
      seen = 0;
      yield;
    }
  }
  addInOrder(log, disordered, byLane, gaps);
  shares.addRunning();
  yield;
  return gaps.finish(lanes, shares);
}

/** Runs of lanes on which they overlap or came out of order, by start. */
function addInOrder(
  log: LogStore,
  rows: number[],
  byLane: ReadonlyMap<number, LaneCapacity>,
  gaps: GapWalk
): void {
  const startOf = (row: number): number =>
    log.runs.chunkOf(row)!.columns.start[row & CHUNK_MASK]!;
  rows.sort((a, b) => startOf(a) - startOf(b));
  for (const row of rows) {
    const columns = log.runs.chunkOf(row)!.columns;
    const j = row & CHUNK_MASK;
    gaps.addRun(byLane.get(columns.lane[j]!), row, columns, j);
  }
}

/** A task that runs now is unfinished since its start at least. */
function activeWithRunning(log: LogStore, to: number): IntervalUnion {
  if (log.shape.running.size === 0) {
    return log.active;
  }
  const active = log.active.copy();
  for (const running of log.shape.running.values()) {
    active.add(running.started, to);
  }
  return active;
}

function binsFor(question: IdleQuestion): number {
  const spans = question.perSpan ? question.log.spans.size + 1 : 1;
  return Math.max(64, Math.min(BINS, Math.floor(MOST_CELLS / spans)));
}

/** Walks the lanes run by run and books what lies between. */
class GapWalk {
  private readonly _cursor = new Map<LaneCapacity, number>();
  private readonly _stretch = new Map<LaneCapacity, number>();
  private readonly _idle: readonly Coverage[];
  private readonly _execute = { seconds: 0 };

  constructor(
    private readonly _log: LogStore,
    private readonly _active: IntervalUnion,
    private readonly _range: Range,
    readonly bins: number
  ) {
    this._idle = IDLE_CAUSES.map(
      () => new Coverage(bins, _range.from, Math.max(_range.to, _range.from))
    );
  }

  addRun(
    lane: LaneCapacity | undefined,
    row: number,
    columns: ColumnsOf<'runs'>,
    j: number
  ): void {
    if (lane === undefined) {
      return;
    }
    const start = columns.start[j]!;
    const stop = start + Math.max(0, columns.duration[j]!);
    const cursor = this._cursor.get(lane) ?? this._range.from;
    if (start > cursor && cursor < this._range.to) {
      this._gap(lane, cursor, Math.min(start, this._range.to), {
        row,
        inputsHere: start - columns.waitThread[j]!,
        runnable: start - columns.waitThread[j]! - columns.waitInputs[j]!,
        run: columns.run[j]!
      });
    }
    if (stop > cursor) {
      this._busy(lane, Math.max(start, cursor), Math.min(stop, this._range.to));
      this._cursor.set(lane, stop);
    }
  }

  finish(lanes: readonly LaneCapacity[], shares: Shares): IdleAccount {
    let capacitySeconds = 0;
    for (const lane of lanes) {
      const running = this._log.shape.running.get(lane.lane);
      const cursor = this._cursor.get(lane) ?? this._range.from;
      const end = running === undefined ? this._range.to : running.started;
      if (end > cursor) {
        this._gap(lane, cursor, Math.min(end, this._range.to), null);
      }
      if (running !== undefined) {
        this._busy(lane, Math.max(cursor, running.started), this._range.to);
      }
      for (const stretch of lane.stretches) {
        capacitySeconds += this._active.measure(
          Math.max(stretch.from, this._range.from),
          Math.min(stretch.to, this._range.to)
        );
      }
    }
    const byBin = this._idle.map(coverage => coverage.read());
    return {
      wallSeconds: this._active.measure(this._range.from, this._range.to),
      capacitySeconds,
      executeSeconds: this._execute.seconds,
      idle: byBin.map(bins => bins.reduce((sum, x) => sum + x, 0)),
      selectedIdle: byBin.map(bins => shares.selected(bins)),
      idleOfSpan: shares.bySpan(byBin)
    };
  }

  /** Calls `visit` for the parts of [from, to) in which the lane had capacity and the cluster was not wholly idle. */
  private _counted(
    lane: LaneCapacity,
    from: number,
    to: number,
    visit: (from: number, to: number, paused: boolean) => void
  ): void {
    const { stretches } = lane;
    let s = this._stretch.get(lane) ?? 0;
    while (s < stretches.length && stretches[s]!.to <= from) {
      s++;
    }
    this._stretch.set(lane, s);
    for (; s < stretches.length && stretches[s]!.from < to; s++) {
      const stretch = stretches[s]!;
      const begin = Math.max(from, stretch.from);
      const end = Math.min(to, stretch.to);
      const active = this._active;
      for (
        let i = active.firstEndingAfter(begin);
        i < active.length && active.from(i) < end;
        i++
      ) {
        const a = Math.max(begin, active.from(i));
        const b = Math.min(end, active.to(i));
        if (b > a) {
          visit(a, b, stretch.paused);
        }
      }
    }
  }

  private _busy(lane: LaneCapacity, from: number, to: number): void {
    this._counted(lane, from, to, (a, b) => {
      this._execute.seconds += b - a;
    });
  }

  private _gap(
    lane: LaneCapacity,
    from: number,
    to: number,
    next: NextRun | null
  ): void {
    this._counted(lane, from, to, (a, b, paused) => {
      if (paused) {
        this._idle[PAUSED]!.add(a, b);
      } else if (next === null) {
        this._unrunnable(a, b);
      } else if (Number.isNaN(next.runnable)) {
        this._idle[NOT_KNOWN]!.add(a, b);
      } else {
        this._beforeNext(a, b, next);
      }
    });
  }

  private _beforeNext(from: number, to: number, next: NextRun): void {
    const runnable = clamp(next.runnable, from, to);
    const here = clamp(next.inputsHere, runnable, to);
    this._unrunnable(from, runnable);
    const asked = clamp(firstTransfer(this._log, next) ?? here, runnable, here);
    this._idle[NOT_ANSWERED]!.add(runnable, asked);
    this._idle[INPUTS_IN_FLIGHT]!.add(asked, here);
    this._idle[NOT_ANSWERED]!.add(here, to);
  }

  /** No task for this lane was runnable; whether one waited for a thread elsewhere tells the two causes apart. */
  private _unrunnable(from: number, to: number): void {
    const { waiting } = this._log;
    let at = from;
    for (
      let i = waiting.firstEndingAfter(from);
      i < waiting.length && waiting.from(i) < to;
      i++
    ) {
      const a = Math.max(at, waiting.from(i));
      const b = Math.min(to, waiting.to(i));
      this._idle[NOTHING_RUNNABLE]!.add(at, a);
      this._idle[HELD_ELSEWHERE]!.add(a, b);
      at = Math.max(at, b);
    }
    this._idle[NOTHING_RUNNABLE]!.add(at, to);
  }
}

type NextRun = {
  readonly row: number;
  readonly run: number;
  readonly runnable: number;
  readonly inputsHere: number;
};

/** When the first input of a run began to arrive; undefined if nothing was transferred. */
function firstTransfer(log: LogStore, next: NextRun): number | undefined {
  if (log.lastParts.get(next.run) < 0) {
    return undefined;
  }
  const start = log.runs.chunkOf(next.row)!.columns.start[
    next.row & CHUNK_MASK
  ]!;
  let first: number | undefined;
  for (const row of log.partRows(next.run)) {
    const part = log.part(row);
    if (part.kind === PART_TRANSFER) {
      first = Math.min(first ?? Infinity, start + part.offset);
    }
  }
  return first;
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}

/** Who had unfinished tasks when: everybody, the selection, each span. */
class Shares {
  private readonly _all: Coverage;
  private readonly _selected: Coverage;
  private readonly _bySpan = new Map<number, Coverage>();
  private _allBins: Float64Array | undefined;
  private readonly _hasParts: boolean;

  constructor(
    private readonly _question: IdleQuestion,
    private readonly _bins: number
  ) {
    this._all = this._coverage();
    this._selected = this._coverage();
    this._hasParts = _question.log.parts.endRow > 0;
  }

  addRun(_row: number, columns: ColumnsOf<'runs'>, j: number): void {
    const start = columns.start[j]!;
    const waited =
      positive(columns.waitReady[j]!) +
      positive(columns.waitInputs[j]!) +
      positive(columns.waitThread[j]!);
    const stop = start + positive(columns.duration[j]!);
    const { filter } = this._question;
    const counts =
      filter.lanes[columns.lane[j]!] === 1 &&
      filter.statuses[columns.status[j]!] === 1;
    const run = columns.run[j]!;
    if (!this._hasParts || this._question.log.lastParts.get(run) < 0) {
      this._add(
        columns.span[j]!,
        columns.function[j]!,
        start - waited,
        stop,
        1,
        counts
      );
      return;
    }
    this._addFused(columns, j, start - waited, stop, counts);
  }

  /** A fused task belongs to the spans of its inner parts, by their seconds. */
  private _addFused(
    columns: ColumnsOf<'runs'>,
    j: number,
    from: number,
    to: number,
    counts: boolean
  ): void {
    const { log } = this._question;
    const inner = log
      .partRows(columns.run[j]!)
      .map(row => log.part(row))
      .filter(part => part.kind === PART_COMPUTE && part.duration > 0);
    const sum = inner.reduce((total, part) => total + part.duration, 0);
    if (sum === 0) {
      this._add(columns.span[j]!, columns.function[j]!, from, to, 1, counts);
    }
    for (const part of inner) {
      const weight = part.duration / sum;
      this._add(part.span, part.function, from, to, weight, counts);
    }
  }

  addRunning(): void {
    const { log, range, filter } = this._question;
    for (const [lane, running] of log.shape.running) {
      const counts = filter.lanes[lane] === 1;
      this._add(
        running.span,
        running.function,
        running.started,
        range.to,
        1,
        counts
      );
    }
  }

  /** The selection's share of idle seconds per bin, added up. */
  selected(idle: Float64Array): number {
    return this._share(idle, this._selected.read());
  }

  bySpan(idleByCause: readonly Float64Array[]): Map<number, number> {
    const idle = new Float64Array(this._bins);
    for (const bins of idleByCause) {
      bins.forEach((seconds, bin) => (idle[bin]! += seconds));
    }
    const shares = new Map<number, number>();
    for (const [span, coverage] of this._bySpan) {
      shares.set(span, this._share(idle, coverage.read()));
    }
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
    span: number,
    fn: number,
    from: number,
    to: number,
    weight: number,
    counts: boolean
  ): void {
    this._all.add(from, to, weight);
    const { filter, perSpan } = this._question;
    if (counts && filter.spans[span] === 1 && passesFunction(filter, fn)) {
      this._selected.add(from, to, weight);
    }
    if (perSpan) {
      let coverage = this._bySpan.get(span);
      if (coverage === undefined) {
        coverage = this._coverage();
        this._bySpan.set(span, coverage);
      }
      coverage.add(from, to, weight);
    }
  }

  private _coverage(): Coverage {
    const { from, to } = this._question.range;
    return new Coverage(this._bins, from, Math.max(from, to));
  }
}

function positive(value: number): number {
  return value > 0 ? value : 0;
}
