import { OTHER_TASKS } from '../../records/enumerations';
import type { SpanId } from '../../records/ids';
import type { ActivitySeconds } from '../../wire/panel-link';
import { passesFunction } from '../filter';
import { ACTIVITIES } from '../store/activity-cells';
import { CHUNK_MASK } from '../store/column-table';
import { bookRun, nanoseconds, type Clip } from '../store/run-book';
import { besideRuns, type BesideRun } from './beside-runs';
import type { FoldContext, Slices } from './context';
import { addTo } from './function-sums';

const SPAN = 0x100000000;

/** Each may have parts and measurements. */
const RUNS_PER_SLICE = 1024;

/** Function → activity → seconds. */
export type BesideSums = ReadonlyMap<string, ReadonlyMap<string, number>>;

/**
 * What the selection's tasks did while others had their threads: of the time of activities the part that is beside the capacity. Waits for
 * other tasks come first, since these are why most runs are beside; the rest is divided as the run is.
 *
 *     run      ├ computes 2 ┤ has seceded, waits 9 and computes 1 ┤ computes 2 ┤
 *     beside                  waits 9, computes 1
 *
 * @param range - null: the whole run.
 */
export function* besideSeconds(
  context: FoldContext,
  range: Clip | null
): Slices<BesideSums> {
  const { log, filter, moment } = context;
  const sums = new Map<string, Map<string, number>>();
  const all = { from: -Infinity, to: Infinity };
  let seen = 0;
  for (const run of besideRuns(log, moment, range ?? all)) {
    if (++seen % RUNS_PER_SLICE === 0) {
      yield;
    }
    const columns = log.runs.chunkOf(run.row ?? -1)?.columns;
    if (columns === undefined || filter.lanes[run.lane] === 0) {
      continue;
    }
    const j = run.row! & CHUNK_MASK;
    if (filter.statuses[columns.status[j]!] === 0) {
      continue;
    }
    const figures = {
      span: columns.span[j]!,
      function: columns.function[j]!,
      start: run.start,
      duration: run.stop - run.start,
      cpu: columns.cpu[j]!,
      status: columns.status[j]!
    };
    const id = columns.run[j]!;
    const parts = log.partRows(id, moment.rows.parts).map(row => log.part(row));
    const cells = new Map<number, Float64Array>();
    for (const clip of besideStretches(run, range)) {
      bookRun(figures, parts, clip, 1, (span, fn, activity, ns) => {
        const key = span * SPAN + fn;
        const cell = cells.get(key) ?? new Float64Array(ACTIVITIES.length);
        cells.set(key, cell);
        cell[activity]! += ns;
      });
    }
    const waits = waitsOf(context, id);
    // Others have its thread while it waits: what it waited in the range is as much as what was beside there.
    const inRange =
      lengthOf(besideStretches(run, range)) /
      lengthOf(besideStretches(run, null));
    for (const [key, cell] of cells) {
      const fn = key % SPAN;
      if (
        filter.spans[Math.floor(key / SPAN) as SpanId] !== 1 ||
        !passesFunction(filter, fn)
      ) {
        continue;
      }
      const name = log.name(fn);
      const sum = sums.get(name) ?? new Map<string, number>();
      sums.set(name, sum);
      const whole = cell.reduce((sum, ns) => sum + ns, 0);
      const waited = Math.min(whole, inRange * (waits.get(key) ?? 0));
      addTo(sum, OTHER_TASKS, waited / 1e9);
      // What else it did there is not known beyond what it did in all.
      const rest = whole > 0 ? 1 - waited / whole : 0;
      cell.forEach((ns, activity) => {
        addTo(sum, ACTIVITIES[activity]!, (rest * ns) / 1e9);
      });
    }
  }
  return sums;
}

/** When others had the run's place, within the range. */
function* besideStretches(
  { start, stop, places }: BesideRun,
  range: Clip | null
): Generator<Clip> {
  let at = start;
  for (const { from, to } of [...places, { from: stop, to: stop }]) {
    const begin = Math.max(at, range?.from ?? -Infinity);
    const end = Math.min(from, range?.to ?? Infinity);
    if (end > begin) {
      yield { from: begin, to: end };
    }
    at = to;
  }
}

function lengthOf(stretches: Iterable<Clip>): number {
  let seconds = 0;
  for (const { from, to } of stretches) {
    seconds += to - from;
  }
  return seconds;
}

/** Nanoseconds for which a run has waited for other tasks, by cell. */
function waitsOf(
  { log, moment }: FoldContext,
  run: number
): Map<number, number> {
  const waits = new Map<number, number>();
  for (const row of log.metersOf(run, moment.rows.meters)) {
    if (log.name(row.label) === OTHER_TASKS) {
      const key = row.span * SPAN + row.function;
      waits.set(key, (waits.get(key) ?? 0) + nanoseconds(row.value));
    }
  }
  return waits;
}

/** As a record, of some functions added up; undefined: nothing. */
export function besideOf(
  sums: BesideSums,
  functions: Iterable<string>
): ActivitySeconds | undefined {
  const added = new Map<string, number>();
  for (const name of functions) {
    sums.get(name)?.forEach((seconds, activity) => {
      addTo(added, activity, seconds);
    });
  }
  const seconds = [...added].filter(([, value]) => value > 0);
  return seconds.length === 0 ? undefined : Object.fromEntries(seconds);
}
