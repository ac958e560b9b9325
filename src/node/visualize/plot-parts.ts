/** What each kind of plot adds to a figure: its traces and its axes. */
import { cacheTraces } from './cache-traces';
import type { LabelStyle } from './colours';
import type { View } from './view';
import type { PlotPlace } from './page-plan';
import type { Layout, Trace } from './plotly-figure';
import { plotlyText } from './plotly-text';
import type { CachePlot, Plot, ResourcePlot, TaskPlot } from './plots';
import {
  cpuRange,
  memoryRange,
  resourceColours,
  resourceTraces
} from './resource-traces';
import { taskTraces } from './task-traces';
import type { Theme } from './theme';

/** What all plots of a figure share. */
type Context = {
  readonly view: View;
  readonly theme: Theme;
  readonly styles: ReadonlyMap<string, LabelStyle>;
  readonly areaWidth: number;
};

/** What one plot adds to the figure. */
type Part = {
  readonly data: readonly Trace[];
  readonly axis: Layout;
  readonly rightAxis?: Layout;
};

export function plotPart(
  plot: Plot,
  place: PlotPlace,
  legend: string,
  context: Context
): Part {
  switch (plot.kind) {
    case 'tasks':
      return taskPart(plot, place, context);
    case 'resources':
      return resourcePart(plot, place, legend, context);
    case 'cache':
      return cachePart(plot, place, context);
  }
}

function taskPart(plot: TaskPlot, place: PlotPlace, context: Context): Part {
  const { view, theme, styles, areaWidth } = context;
  // Without tasks eight empty rows: a plot is where it is expected.
  const rows = plot.rows.length || 8;
  // Every row has a number while they do not touch.
  const step = Math.max(1, Math.ceil((rows * 14) / place.heightPixels));
  const ticks = Array.from({ length: rows }, (_, row) => row).filter(
    row => row % step === 0
  );
  return {
    data: taskTraces(
      plot,
      { xaxis: 'x', yaxis: place.axis },
      {
        from: view.from,
        to: view.to,
        widthPixels: areaWidth,
        heightPixels: place.heightPixels,
        theme,
        styles
      }
    ),
    axis: {
      title: { text: 'Worker ID' },
      range: [-0.5, rows - 0.5],
      tickvals: ticks,
      ticktext: ticks.map(String),
      showgrid: false,
      showline: false
    }
  };
}

function resourcePart(
  plot: ResourcePlot,
  place: PlotPlace,
  legend: string,
  { view, theme, areaWidth }: Context
): Part {
  const colours = resourceColours(theme);
  return {
    data: resourceTraces(
      plot,
      { xaxis: 'x', yaxis: place.axis, right: place.rightAxis },
      { from: view.from, to: view.to, widthPixels: areaWidth },
      theme,
      legend
    ),
    axis: {
      title: { text: '% CPU', font: { color: colours.cpu } },
      range: cpuRange(plot)
    },
    rightAxis: {
      title: { text: 'Memory (MB)', font: { color: colours.memory } },
      range: memoryRange(plot)
    }
  };
}

function cachePart(plot: CachePlot, place: PlotPlace, context: Context): Part {
  const { view, theme, styles, areaWidth } = context;
  return {
    data: cacheTraces(
      plot,
      { xaxis: 'x', yaxis: place.axis },
      { from: view.from, to: view.to, widthPixels: areaWidth },
      styles,
      theme
    ),
    axis: {
      title: { text: `Cache Size (${plotlyText(plot.metricName, 40)})` },
      rangemode: 'tozero',
      tickformat: plot.metricName === 'bytes' ? '.3~s' : '',
      ...(plot.label.length === 0 ? { range: [0, 10] } : {})
    }
  };
}

/** Zoom and pan are horizontal in every plot. */
export function yAxis(theme: Theme): Layout {
  return {
    anchor: 'x',
    fixedrange: true,
    gridcolor: theme.grid,
    linecolor: theme.outline,
    zeroline: false,
    title: { standoff: 12 }
  };
}
