/**
 * Where the plots of a figure lie: sizes and the names of plotly's axes.
 */
import type { Plot } from './plots';

/** A plot beside others is this much lower on each side that it shares, as in Dask: 270, 240, 270. */
const SHARED_SIDE = 30;
/** Between the areas of two plots. */
const GAP = 30;
const MARGIN = { left: 75, right: 75, top: 72, bottom: 52 };
const LEGEND_PIXELS = 220;
/** Of an entry. */
const LEGEND_LINE_PIXELS = 19;
/** A narrower figure keeps its room for the plots. */
const LEGEND_FROM_PIXELS = 640;

export type PlotPlace = {
  /** plotly's name of the left axis, `y2`, and of its entry in the layout, `yaxis2`. */
  readonly axis: string;
  readonly axisEntry: string;
  /** The same of a second axis on the right, overlaid. */
  readonly rightAxis: string;
  readonly rightAxisEntry: string;
  /** Bottom and top as shares of the figure's area. */
  readonly domain: readonly [bottom: number, top: number];
  readonly heightPixels: number;
};

type PagePlan = {
  readonly height: number;
  readonly areaWidth: number;
  readonly margin: {
    readonly l: number;
    readonly r: number;
    readonly t: number;
    readonly b: number;
  };
  readonly hasLegend: boolean;
  /** Where the legends' left border is, as a share of the area's width. */
  readonly legendX: number;
  /** Entries that fit beside one plot, under the legend's title and above a last one for all others. */
  readonly legendEntries: number;
  readonly places: readonly PlotPlace[];
};

/** Pixels of every plot, from the height that one alone would have. */
function plotHeights(count: number, height: number): number[] {
  return Array.from(
    { length: count },
    (_, index) =>
      height -
      (index > 0 ? SHARED_SIDE : 0) -
      (index < count - 1 ? SHARED_SIDE : 0)
  );
}

export function pagePlan(
  plots: readonly Plot[],
  width: number,
  plotHeight: number
): PagePlan {
  const heights = plotHeights(plots.length, plotHeight);
  const height = Math.max(
    plotHeight,
    heights.reduce((sum, each) => sum + each, 0)
  );
  const hasLegend = width >= LEGEND_FROM_PIXELS && plots.length > 0;
  const right = MARGIN.right + (hasLegend ? LEGEND_PIXELS : 0);
  const areaWidth = Math.max(50, width - MARGIN.left - right);
  const area = height - MARGIN.top - MARGIN.bottom;
  const share =
    (area - GAP * (plots.length - 1)) /
    heights.reduce((sum, each) => sum + each, 0);
  let top = area;
  const places = heights.map((each, index) => {
    const bottom = index === heights.length - 1 ? 0 : top - each * share;
    const place = {
      ...axisNames(index),
      domain: [bottom / area, top / area] as const,
      heightPixels: top - bottom
    };
    top = bottom - GAP;
    return place;
  });
  return {
    height,
    areaWidth,
    margin: { l: MARGIN.left, r: right, t: MARGIN.top, b: MARGIN.bottom },
    hasLegend,
    legendEntries: Math.max(
      3,
      Math.floor(
        Math.min(...places.map(({ heightPixels }) => heightPixels)) /
          LEGEND_LINE_PIXELS
      ) - 2
    ),
    legendX: 1 + MARGIN.right / areaWidth,
    places
  };
}

/** Two axes per plot, so that their numbers do not depend on the plots' kinds: y and y2, y3 and y4, … */
function axisNames(
  plot: number
): Pick<PlotPlace, 'axis' | 'axisEntry' | 'rightAxis' | 'rightAxisEntry'> {
  const left = plot === 0 ? '' : String(2 * plot + 1);
  const right = String(2 * plot + 2);
  return {
    axis: `y${left}`,
    axisEntry: `yaxis${left}`,
    rightAxis: `y${right}`,
    rightAxisEntry: `yaxis${right}`
  };
}
