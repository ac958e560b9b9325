/**
 * Where workers and their lanes lie from top to bottom, in CSS pixels of the
 * scrolled content. A lane has a work row and a strip; what ran behind other
 * work is drawn in the strip only.
 *
 *   ┌ worker 0 · 2 threads · busy 89 % ┐ headerHeight
 *   │ thread 1   ██████████ ███████    │ laneHeight   work row (upper 74 %)
 *   │               ▒▒▒       ▒▒       │              strip (lower 26 %)
 *   │ thread 2   ████ ██████████       │
 *   └ worker 1 ▸ (collapsed)           ┘
 */
import { rowsInLane } from '../../charts/lane-fills';
import type { BesideLane } from '../../records/beside-lanes';
import type { LaneIndex } from '../../records/ids';

export const HEADER_HEIGHT = 18;
const SHORTEST_LANE = 14;
const TALLEST_LANE = 43;
/** Below this height names in boxes, and strips, are hard to read. */
const ROOMY_LANE = 28;

type LaneRow = Omit<Lane, 'worker'> & { readonly top: number };
type WorkerRow = {
  readonly worker: number;
  readonly top: number;
  readonly height: number;
  readonly collapsed: boolean;
  readonly lanes: readonly LaneRow[];
};
export type LaneLayout = {
  readonly laneHeight: number;
  readonly height: number;
  readonly workers: readonly WorkerRow[];
};

export type Lane = {
  readonly laneIndex: LaneIndex;
  readonly worker: number;
  readonly thread: number;
  /** It is of no thread. */
  readonly beside?: BesideLane;
};

/** Lanes fill `available` pixels between 14 and 43 px each, or `tallest`; beyond that the chart scrolls. */
export function layOutLanes(
  lanes: readonly Lane[],
  workers: readonly number[],
  collapsed: ReadonlySet<number>,
  available: number,
  tallest = TALLEST_LANE
): LaneLayout {
  const lanesOf = new Map<number, Lane[]>(workers.map(worker => [worker, []]));
  for (const lane of lanes) {
    const list = lanesOf.get(lane.worker);
    if (list === undefined) {
      lanesOf.set(lane.worker, [lane]);
    } else {
      list.push(lane);
    }
  }
  let shown = 0;
  for (const [worker, list] of lanesOf) {
    shown += collapsed.has(worker) ? 0 : list.length;
  }
  const room = available - lanesOf.size * HEADER_HEIGHT;
  const laneHeight = Math.min(
    tallest,
    Math.max(SHORTEST_LANE, Math.floor(shown > 0 ? room / shown : 0))
  );
  const rows: WorkerRow[] = [];
  let top = 0;
  for (const [worker, list] of lanesOf) {
    const isCollapsed = collapsed.has(worker);
    const laneRows: LaneRow[] = isCollapsed
      ? []
      : [...list]
          .sort((a, b) => a.thread - b.thread)
          .map(({ worker: _, ...lane }, index) => ({
            ...lane,
            top: top + HEADER_HEIGHT + index * laneHeight
          }));
    const height = HEADER_HEIGHT + laneRows.length * laneHeight;
    rows.push({ worker, top, height, collapsed: isCollapsed, lanes: laneRows });
    top += height;
  }
  return { laneHeight, height: top, workers: rows };
}

/** What is left of a height for other things when lanes are so high that their boxes are read well. */
export function heightBesideLanes(
  lanes: readonly Lane[],
  workers: readonly number[],
  collapsed: ReadonlySet<number>,
  height: number
): number {
  const shown = lanes.filter(
    ({ worker, beside }) => beside === undefined && !collapsed.has(worker)
  );
  return height - workers.length * HEADER_HEIGHT - shown.length * ROOMY_LANE;
}

/** The lane at content pixel `y`, and whether that is in its strip. */
export function laneAt(
  layout: LaneLayout,
  y: number
): {
  readonly lane: LaneRow;
  readonly worker: number;
  readonly inStrip: boolean;
} | null {
  const worker = layout.workers.find(
    row => y >= row.top && y < row.top + row.height
  );
  if (worker === undefined) {
    return null;
  }
  const index = Math.floor(
    (y - worker.top - HEADER_HEIGHT) / layout.laneHeight
  );
  const lane = index < 0 ? undefined : worker.lanes[index];
  if (lane === undefined) {
    return null;
  }
  const { stripTop } = rowsInLane(layout.laneHeight);
  return { lane, worker: worker.worker, inStrip: y - lane.top >= stripTop };
}
