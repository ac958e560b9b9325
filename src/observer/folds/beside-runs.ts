import { placeInOrder } from '../../base/place-in-order';
import type { LaneId, SpanId } from '../../records/ids';
import { CHUNK_MASK } from '../store/column-table';
import { STATUS_REPLACED, type LogStore } from '../store/log-store';
import { hasBegun } from '../store/run-book';
import type { Moment, Range } from './context';

/** A stretch in which a run that is drawn on a lane beside the threads held the place of one. */
export type HeldPlace = {
  readonly lane: LaneId;
  readonly from: number;
  /** Infinity: it still does. */
  readonly to: number;
};

/** A run that has left its worker's threads to others, and what it held of them. */
export type BesideRun = {
  /** Of the run; undefined: it goes on. */
  readonly row: number | undefined;
  readonly running: { readonly span: SpanId; readonly function: number } | null;
  /** The lane beside the threads. */
  readonly lane: LaneId;
  readonly start: number;
  readonly stop: number;
  /** In the order of time; none: it is not known what it held. */
  readonly places: readonly HeldPlace[];
};

/** Of one thread of the system: the lanes that it had, one after another, those beside the threads too. */
type Thread = HeldPlace[];

/**
 * The runs that have seceded, with the places that they held before, and after they had one again. It is told which thread of the system has
 * which lane from when on, of a lane beside the threads, too:
 *
 *     thread 1   ├ 70: starts ─────┤├ 71: other tasks ──────────────┤├ 72 ───
 *     thread 2   ├ 72 ──────────────────────────┤├ 70: has rejoined ┤ ends
 *     seceded 1                     ├ 70: waits ─────────────────────┤ is reported here, from its start on
 *
 * @param range - runs that end before it or begin after it are left out; those that go on do so until its end.
 */
export function besideRuns(
  log: LogStore,
  moment: Pick<Moment, 'running' | 'rows'>,
  { from, to }: Range
): BesideRun[] {
  const runs: Omit<BesideRun, 'places'>[] = [];
  for (const row of log.besideRows) {
    const columns = log.runs.chunkOf(row)?.columns;
    if (columns === undefined || row >= moment.rows.runs) {
      continue;
    }
    const j = row & CHUNK_MASK;
    const duration = columns.duration[j]!;
    if (
      columns.status[j] !== STATUS_REPLACED &&
      hasBegun(duration, columns.waitThread[j]!)
    ) {
      const start = columns.start[j]!;
      const stop = start + Math.max(0, duration);
      if (stop <= from || start >= to) {
        continue;
      }
      runs.push({ row, running: null, lane: columns.lane[j]!, start, stop });
    }
  }
  for (const [lane, running] of moment.running) {
    const start = running.started;
    if (log.besideLanes[lane] === 1 && start < to) {
      runs.push({ row: undefined, running, lane, start, stop: to });
    }
  }
  if (runs.length === 0) {
    return [];
  }
  const threads = threadsOf(log);
  const workers = new Map(
    log.shape.lanes.map(({ lane, worker }) => [lane, worker])
  );
  return runs.map(run => {
    // (one that goes on may have left its place after `to`)
    const known = run.running === null ? run.stop : Infinity;
    const ident = log.shape.laneThreads.of(run.lane, known);
    const thread = Number.isNaN(ident)
      ? undefined
      : threads.get(threadKey(workers.get(run.lane)!, ident));
    const places = thread === undefined ? [] : placesIn(log, thread, run);
    return { ...run, places };
  });
}

const threadKey = (worker: number, ident: number): string =>
  `${worker} ${ident}`;

function threadsOf(log: LogStore): Map<string, Thread> {
  const threads = new Map<string, Thread>();
  for (const { lane, worker } of log.shape.lanes) {
    const placed = log.shape.laneThreads.placedOn(lane);
    placed.forEach(({ since, ident }, i) => {
      const key = threadKey(worker, ident);
      let thread = threads.get(key);
      if (thread === undefined) {
        thread = [];
        threads.set(key, thread);
      }
      const to = placed[i + 1]?.since ?? Infinity;
      thread.push({ lane, from: since, to });
    });
  }
  for (const thread of threads.values()) {
    thread.sort((a, b) => a.from - b.from);
  }
  return threads;
}

/** A thread has left a place as soon as it has another one, also before somebody else has begun there. */
function placesIn(
  log: LogStore,
  lanes: Readonly<Thread>,
  { start, stop }: Omit<BesideRun, 'places'>
): HeldPlace[] {
  const held: HeldPlace[] = [];
  const first = Math.max(0, placeInOrder(lanes, start, ({ from }) => from) - 1);
  for (let i = first; i < lanes.length && lanes[i]!.from < stop; i++) {
    const { lane, from: begin, to } = lanes[i]!;
    const from = Math.max(begin, start);
    const end = Math.min(to, stop, lanes[i + 1]?.from ?? Infinity);
    if (end > from && log.besideLanes[lane] !== 1) {
      held.push({ lane, from, to: end });
    }
  }
  return held;
}
