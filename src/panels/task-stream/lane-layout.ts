/**
 * Where workers and their lanes lie from top to bottom, in CSS pixels of the
 * scrolled content. A lane has a work row and a strip; what ran behind other
 * work is drawn in the strip only.
 *
 *   ┌ worker 0 · 2 threads · busy 89 % ┐ headerHeight
 *   │ thread 1   ██████████ ███████    │ laneHeight   work row (upper 74 %)
 *   │               ▒▒▒       ▒▒       │              strip (lower 26 %)
 *   │ thread 2   ████ ██████████       │
 *   ├ worker 1 ▸ (collapsed)           ┤
 *   │ worker 2   █████████ █████       │ laneHeight   a worker of one lane: its name labels the lane
 *   └                                  ┘
 */
import { rowsInLane } from '../../charts/lane-fills';
import type { BesideLane } from '../../records/beside-lanes';
import type { LaneIndex } from '../../records/ids';

export const HEADER_HEIGHT = 18;
const SHORTEST_LANE = 14;
const TALLEST_LANE = 43;
/** Below this height names in boxes, and strips, are hard to read. */
export const ROOMY_LANE = 28;

type LaneRow = Omit<Lane, 'worker'> & { readonly top: number };
export type WorkerRow = {
  readonly worker: number;
  readonly top: number;
  readonly height: number;
  /** 0: its lane has its name. */
  readonly headerHeight: number;
  readonly collapsed: boolean;
  readonly lanes: readonly LaneRow[];
};
export type LaneLayout = {
  readonly laneHeight: number;
  readonly height: number;
  readonly workers: readonly WorkerRow[];
};

type Lane = {
  readonly laneIndex: LaneIndex;
  readonly worker: number;
  readonly thread: number;
  /** It is of no thread. */
  readonly beside?: BesideLane;
};

/** What has rows. */
export type LaneRows = {
  readonly lanes: readonly Lane[];
  readonly workers: readonly number[];
  /** Workers that have a header over a single lane, too. */
  readonly headed?: ReadonlySet<number>;
};

/** Lanes fill `available` pixels between 14 and 43 px each, or `tallest`; beyond that the chart scrolls. */
export function layOutLanes(
  shown: LaneRows,
  collapsed: ReadonlySet<number>,
  available: number,
  tallest = TALLEST_LANE
): LaneLayout {
  const lanesOf = lanesByWorker(shown);
  let lanes = 0;
  for (const [worker, list] of lanesOf) {
    lanes += collapsed.has(worker) ? 0 : list.length;
  }
  const room = available - headersHeight(lanesOf, shown, collapsed);
  const laneHeight = Math.min(
    tallest,
    Math.max(SHORTEST_LANE, Math.floor(lanes > 0 ? room / lanes : 0))
  );
  const rows: WorkerRow[] = [];
  let top = 0;
  for (const [worker, list] of lanesOf) {
    const isCollapsed = collapsed.has(worker);
    const headerHeight = headerOf(worker, list.length, shown, collapsed);
    const laneRows: LaneRow[] = isCollapsed
      ? []
      : [...list]
          .sort((a, b) => a.thread - b.thread)
          .map(({ worker: _, ...lane }, index) => ({
            ...lane,
            top: top + headerHeight + index * laneHeight
          }));
    const height = headerHeight + laneRows.length * laneHeight;
    rows.push({
      worker,
      top,
      height,
      headerHeight,
      collapsed: isCollapsed,
      lanes: laneRows
    });
    top += height;
  }
  return { laneHeight, height: top, workers: rows };
}

function lanesByWorker({ lanes, workers }: LaneRows): Map<number, Lane[]> {
  const lanesOf = new Map<number, Lane[]>(workers.map(worker => [worker, []]));
  for (const lane of lanes) {
    const list = lanesOf.get(lane.worker);
    if (list === undefined) {
      lanesOf.set(lane.worker, [lane]);
    } else {
      list.push(lane);
    }
  }
  return lanesOf;
}

/** A header over a single lane would double the height of its worker. */
function headerOf(
  worker: number,
  lanes: number,
  { headed }: LaneRows,
  collapsed: ReadonlySet<number>
): number {
  const hasHeader =
    lanes !== 1 || collapsed.has(worker) || headed?.has(worker) === true;
  return hasHeader ? HEADER_HEIGHT : 0;
}

function headersHeight(
  lanesOf: ReadonlyMap<number, readonly Lane[]>,
  shown: LaneRows,
  collapsed: ReadonlySet<number>
): number {
  let height = 0;
  for (const [worker, { length }] of lanesOf) {
    height += headerOf(worker, length, shown, collapsed);
  }
  return height;
}

/** What is left of a height for other things when lanes are so high that their boxes are read well. */
export function heightBesideLanes(
  shown: LaneRows,
  collapsed: ReadonlySet<number>,
  height: number
): number {
  const ofThreads = {
    ...shown,
    lanes: shown.lanes.filter(({ beside }) => beside === undefined)
  };
  const lanesOf = lanesByWorker(ofThreads);
  const unfolded = ofThreads.lanes.filter(
    ({ worker }) => !collapsed.has(worker)
  );
  return (
    height -
    headersHeight(lanesOf, ofThreads, collapsed) -
    unfolded.length * ROOMY_LANE
  );
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
    (y - worker.top - worker.headerHeight) / layout.laneHeight
  );
  const lane = index < 0 ? undefined : worker.lanes[index];
  if (lane === undefined) {
    return null;
  }
  const { stripTop } = rowsInLane(layout.laneHeight);
  return { lane, worker: worker.worker, inStrip: y - lane.top >= stripTop };
}
