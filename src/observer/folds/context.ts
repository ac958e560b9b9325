import type { LaneId } from '../../records/ids';
import type { TimeRange } from '../../wire/panel-link';
import type { CompiledFilter } from '../filter';
import type { RunningRow } from '../store/cluster-shape';
import type { LogStore } from '../store/log-store';

/**
 * What the log told when the fold began. While it goes on rows come, and a task that it counts as running ends: its row is one of those that
 * do not count, else its seconds would be in the answer twice, or, had it been looked for among the ended ones before, not at all.
 *
 *     runs      0 … 8191 │ 8192 … 9999 │ 10000        10000 ended meanwhile
 *     running                          │ its start    counts up to the end of the range
 */
export type Moment = {
  /** When the first task was submitted; 0 while none was. */
  readonly begin: number;
  /** The newest moment that the run reaches: now while something runs, else the last stop. */
  readonly end: number;
  /** The newest time that any row told. */
  readonly newest: number;
  /** None once the log has ended. */
  readonly running: ReadonlyMap<LaneId, RunningRow>;
  /** Rows before these count. */
  readonly rows: {
    readonly runs: number;
    readonly parts: number;
    readonly meters: number;
    readonly fine: number;
    readonly samples: number;
  };
};

/** What is asked of a log. */
type Asked = {
  readonly log: LogStore;
  readonly filter: CompiledFilter;
  readonly time: TimeRange;
  /** Seconds since the cluster's start; while it lives, the time of asking. */
  readonly now: number;
  /** No row will come any more. */
  readonly ended: boolean;
};

/** The input of every fold. Folds are pure: the same context and rows give the same answer. */
export type FoldContext = Asked & { readonly moment: Moment };

/** For how long a running task has held its thread. */
export function secondsRunning(
  { end }: Moment,
  { started }: RunningRow
): number {
  return Math.max(0, end - started);
}

/** A question as of now. */
export function asOfNow(asked: Asked): FoldContext {
  const { log, ended } = asked;
  const running = new Map(ended ? [] : log.shape.running);
  const begin = Math.min(log.firstSubmitted, log.firstStart);
  const from = Number.isFinite(begin) ? begin : 0;
  const stop = Number.isFinite(log.lastStop) ? log.lastStop : from;
  return {
    ...asked,
    moment: {
      begin: from,
      end: running.size > 0 ? Math.max(asked.now, log.now, stop) : stop,
      newest: log.now,
      running,
      rows: {
        runs: log.runs.endRow,
        parts: log.parts.endRow,
        meters: log.meters.endRow,
        fine: log.fine.endRow,
        samples: log.samples.endRow
      }
    }
  };
}

/** How exactly a view honours the filter; shown at the right of the chips. */
export type Honoured = {
  readonly how: 'exact' | 'approximate' | 'not filtered' | 'not known';
  readonly why?: string;
};
export const EXACT: Honoured = { how: 'exact' };

/**
 * A fold in slices: it yields every few thousand rows, so that its caller can take new rows in between (ingest has priority over
 * queries). The answer is of the moment of its context, and names the newest block that was in then. Sums that the log keeps go on: who
 * needs them reads them before the first break.
 */
export type Slices<R> = Generator<void, R>;

/** Runs a fold without a break: in tests, and where nobody waits. */
export function complete<R>(slices: Slices<R>): R {
  for (;;) {
    const step = slices.next();
    if (step.done === true) {
      return step.value;
    }
  }
}

/** How many rows are looked at between two yields: 8,192 take 0.1 to 0.5 ms. */
export const ROWS_PER_SLICE = 8192;

export type Range = { readonly from: number; readonly to: number };

/** The range in seconds; `all` reaches from the first submission to now, which is `lastStop` once nothing runs. */
export function resolveRange(context: FoldContext): Range {
  const { time, moment } = context;
  const to = moment.end;
  if (time === 'all') {
    return { from: moment.begin, to };
  }
  if ('last' in time) {
    return { from: to - time.last, to };
  }
  return { from: time.from, to: Math.max(time.from, time.to) };
}
