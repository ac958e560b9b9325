/**
 * What tasks that have seceded held of threads. They are drawn beside these, so that the lane of a thread would have a gap that is not idle:
 *
 *     thread 1   ▒▒▒ a ▒▒▒ ████ b ████ ▒ a ▒
 *     seceded 1  ├─ a ─────────────────────┤
 */
import { placeInOrder } from '../../base/place-in-order';
import type { LaneId, LaneIndex } from '../../records/ids';
import { BoxKind } from '../../records/enumerations';
import { passesFunction, type CompiledFilter } from '../filter';
import { besideRuns } from '../folds/beside-runs';
import { CHUNK_MASK } from '../store/column-table';
import { durationClass } from '../store/duration-classes';
import type { LogStore } from '../store/log-store';
import { category } from './cell-plane';
import type { ClassSpan, RowSink } from './scan-rows';

type Held = {
  readonly row: number;
  readonly lane: LaneId;
  readonly from: number;
  readonly to: number;
  /** The last end up to here in the list: where it is before a time, so are the ends of all before it. */
  reach: number;
};

type HeldPlaces = {
  /** Of all runs that have ended, by their beginning. */
  readonly held: readonly Held[];
  /** By row of `runs`, in the order of time; none of a run of which it is not known what it held. */
  readonly byRow: ReadonlyMap<number, readonly Held[]>;
};

const nothing: HeldPlaces = { held: [], byRow: new Map() };
const heldOf = new WeakMap<
  LogStore,
  { readonly validFor: string; readonly places: HeldPlaces }
>();

/** By row of `runs`, of those that have ended beside the threads: when they held one. A run is left out if that is not known. */
export function heldByRow(
  log: LogStore
): ReadonlyMap<number, readonly Pick<Held, 'from' | 'to'>[]> {
  return heldPlaces(log).byRow;
}

/** Each answer asks for it: it is worked out again where there is more than before. */
function heldPlaces(log: LogStore): HeldPlaces {
  const { besideRows, shape } = log;
  if (besideRows.length === 0) {
    return nothing;
  }
  const validFor = `${besideRows.length} ${besideRows[0]} ${shape.laneThreads.changes}`;
  const known = heldOf.get(log);
  if (known?.validFor === validFor) {
    return known.places;
  }
  const byRow = new Map<number, readonly Held[]>();
  for (const { row = -1, places } of besideRuns(
    log,
    { running: new Map(), rows: { ...NO_ROWS, runs: log.runs.endRow } },
    { from: -Infinity, to: Infinity }
  )) {
    if (places.length > 0) {
      byRow.set(
        row,
        places.map(place => ({ ...place, row, reach: -Infinity }))
      );
    }
  }
  const held = [...byRow.values()].flat().sort((a, b) => a.from - b.from);
  let reach = -Infinity;
  for (const place of held) {
    reach = Math.max(reach, place.to);
    place.reach = reach;
  }
  const places = { held, byRow };
  heldOf.set(log, { validFor, places });
  return places;
}

const NO_ROWS = { parts: 0, meters: 0, fine: 0, samples: 0 };

/** Shows those of some classes of duration that reach into [from, to), of runs that pass the filter. */
export function scanHeld(
  log: LogStore,
  filter: CompiledFilter,
  classes: ClassSpan,
  from: number,
  to: number,
  sink: RowSink
): void {
  const places = heldPlaces(log).held;
  const first = placeInOrder(places, 0, ({ reach }) => (reach < from ? 0 : 1));
  for (let at = first; at < places.length; at++) {
    const place = places[at]!;
    if (place.from >= to) {
      return;
    }
    const duration = place.to - place.from;
    const ofClass = durationClass(duration);
    if (place.to < from || ofClass < classes.from || ofClass >= classes.to) {
      continue;
    }
    const columns = log.runs.chunkOf(place.row)?.columns;
    const j = place.row & CHUNK_MASK;
    if (
      columns !== undefined &&
      filter.lanes[place.lane] === 1 &&
      filter.spans[columns.span[j]!] === 1 &&
      filter.statuses[columns.status[j]!] === 1 &&
      passesFunction(filter, columns.function[j]!)
    ) {
      const laneIndex: LaneIndex = log.shape.laneIndex(place.lane);
      const value = category(BoxKind.Seceded, columns.function[j]!);
      sink(place.row, laneIndex, place.from, duration, value);
    }
  }
}
