/** Icicle and activity line as rectangles; colours as roles, no theme. */
import type { ProfileResult } from '../../wire/panel-link';
import { type FrameTree, pathOf } from './rows';

export type FrameShape = {
  readonly node: number;
  readonly x: number;
  readonly width: number;
  /** 0 = topmost row drawn. */
  readonly row: number;
  /** Callers of the zoomed frame fill the whole width. */
  readonly isCaller: boolean;
  /** Shares of the frame's width at its foot, from the right: blocked, waiting for the GIL, for a core. */
  readonly waiting: number;
  readonly gil: number;
  readonly blocked: number;
};

type Icicle = {
  readonly shapes: readonly FrameShape[];
  readonly rows: number;
};

/** Frames below this width are not drawn; they are in the tree of the table. */
const NARROWEST = 0.6;

/**
 * The frames within `focus` (null: all), its callers above it over the whole
 * width:
 *
 *   |all                        |   callers
 *   |fit_fold                   |   focus
 *   |fit            |score      |
 */
export function icicle(
  tree: FrameTree,
  focus: number | null,
  width: number
): Icicle {
  const { nodes } = tree.result;
  const shapes: FrameShape[] = [];
  const focusOffset = focus === null ? 0 : (tree.offset[focus] ?? 0);
  const focusSamples = focus === null ? tree.total : (nodes.n[focus] ?? 0);
  if (!(focusSamples > 0)) {
    return { shapes, rows: 0 };
  }
  const scale = width / focusSamples;
  const callers = focus === null ? [] : pathOf(tree, focus).slice(0, -1);
  for (const node of callers) {
    shapes.push(shape(tree, node, 0, width, true));
  }
  let rows = callers.length;
  const open = focus === null ? [...tree.roots] : [focus];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    const x = ((tree.offset[node] ?? 0) - focusOffset) * scale;
    const frameWidth = (nodes.n[node] ?? 0) * scale;
    if (frameWidth < NARROWEST) {
      continue;
    }
    shapes.push(shape(tree, node, x, frameWidth, false));
    rows = Math.max(rows, (tree.depth[node] ?? 0) + 1);
    open.push(...(tree.children[node] ?? []));
  }
  return { shapes, rows };
}

function shape(
  tree: FrameTree,
  node: number,
  x: number,
  width: number,
  isCaller: boolean
): FrameShape {
  const { n, waiting, gil, blocked } = tree.result.nodes;
  const samples = n[node] ?? 1;
  return {
    node,
    x,
    width,
    row: tree.depth[node] ?? 0,
    isCaller,
    waiting: (waiting[node] ?? 0) / samples,
    gil: (gil[node] ?? 0) / samples,
    blocked: (blocked[node] ?? 0) / samples
  };
}

/** Height of a frame's row: 46 px for few levels, down to 19, then the icicle scrolls. */
export function rowHeight(rows: number, available: number): number {
  return Math.min(46, Math.max(19, Math.floor(available / Math.max(1, rows))));
}

export function shapeAt(
  shapes: readonly FrameShape[],
  x: number,
  row: number
): FrameShape | null {
  return (
    shapes.find(
      item => item.row === row && x >= item.x && x < item.x + item.width
    ) ?? null
  );
}

// ----------------------------------------------------------------- activity

type ActivityBar = {
  readonly from: number;
  readonly to: number;
  /** In threads when the rate is known, else in samples. */
  readonly onCore: number;
  readonly waiting: number;
  readonly gil: number;
  readonly blocked: number;
  readonly unknown: number;
};

export type Activity = {
  readonly bars: readonly ActivityBar[];
  readonly from: number;
  readonly to: number;
  readonly highest: number;
  /** Where the axis ends: in whole threads, if bars are in threads. */
  readonly top: number;
  readonly isInThreads: boolean;
};

/** A bar per sampled second; seconds without samples are gaps. */
export function activityOf(result: ProfileResult): Activity {
  const { seconds, onCore, waiting, gil, blocked } = result.activity;
  const unknown = result.activity.unknown ?? [];
  let step = 1;
  for (let index = 1; index < seconds.length; index += 1) {
    const distance = (seconds[index] ?? 0) - (seconds[index - 1] ?? 0);
    step = index === 1 ? distance : Math.min(step, distance);
  }
  const isInThreads = result.rateHz !== null && result.rateHz > 0;
  const scale = isInThreads ? 1 / (result.rateHz * step) : 1;
  const bars = seconds.map((from, index) => ({
    from,
    to: from + step,
    onCore: (onCore[index] ?? 0) * scale,
    waiting: (waiting[index] ?? 0) * scale,
    gil: (gil[index] ?? 0) * scale,
    blocked: (blocked[index] ?? 0) * scale,
    unknown: (unknown[index] ?? 0) * scale
  }));
  const highest = bars.reduce(
    (most, bar) =>
      Math.max(
        most,
        bar.onCore + bar.waiting + bar.gil + bar.blocked + bar.unknown
      ),
    1e-9
  );
  return {
    bars,
    from: seconds[0] ?? 0,
    to: (seconds.at(-1) ?? 0) + step,
    highest,
    // (of Dask's clocks that were put beside each other 4 threads may be 4.04, which the room above has)
    top: Math.ceil(isInThreads ? highest / 1.02 : highest) || 1,
    isInThreads
  };
}
