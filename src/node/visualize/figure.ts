/**
 * From plots to a plotly figure for one zoom, size and theme. Pure: `visualize` calls it for the whole time, the page in the HTML file again
 * after every zoom.
 *
 * ```
 *   title
 *   ┌───────────────────────────┐            one x axis for all plots: zooming in one zooms the others
 *   │ 1  ▇▇▇▇ ▇▇▇▇▇             │ legend
 *   │ 0  ▇▇ ▇▇▇▇▇▇▇▇▇           │            y axes   y            tasks
 *   ├───────────────────────────┤                     y3, y4       % CPU, memory (right)
 *   │ ╱╲___╱▔▔▔                 │                     y5           cache
 *   └───────────────────────────┘
 *     0   1   2   Time (s)
 * ```
 */
import { cacheTraces } from './cache-traces';
import { labelStyles, type LabelStyle } from './colours';
import type { FigureOptions } from './options';
import { pagePlan, type PlotPlace } from './page-plan';
import {
  type Layout,
  plotlyConfig,
  type PlotlyFigure,
  type Trace
} from './plotly-figure';
import { plotlyText } from './plotly-text';
import type { CachePlot, Plot, ResourcePlot, TaskPlot } from './plots';
import {
  cpuRange,
  memoryRange,
  resourceColours,
  resourceTraces
} from './resource-traces';
import { summaryOf } from './summary';
import { taskTraces } from './task-traces';
import { type Shade, type Theme, themes } from './theme';

/** What to draw, whatever the zoom. */
export type Picture = {
  readonly plots: readonly Plot[];
  /** Right end of the x axis, seconds. */
  readonly end: number;
  readonly options: FigureOptions;
};

export type View = {
  /** Seconds at the left and right border. */
  readonly from: number;
  readonly to: number;
  readonly width: number;
  readonly shade: Shade;
};

export const DEFAULT_WIDTH = 800;
/** Letters of a label that fit into the legend; the pointer shows all of it. */
const LEGEND_LETTERS = 28;
/** Of a letter of the line under the title, about. */
const SUMMARY_LETTER_PIXELS = 6.6;

/** The view of everything, which is drawn first. */
export function wholeView(
  picture: Picture,
  width = picture.options.width ?? DEFAULT_WIDTH,
  shade: Shade = 'light'
): View {
  return { from: 0, to: picture.end, width, shade };
}

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

export function figureOf(picture: Picture, view: View): PlotlyFigure {
  const { plots, options } = picture;
  const theme = themes[view.shade];
  const plan = pagePlan(plots, view.width, options.height);
  const styles = labelStyles(plots, options.palette, theme, plan.legendEntries);
  const context = { view, theme, styles, areaWidth: plan.areaWidth };
  const data: Trace[] = [];
  const layout: Record<string, unknown> = {
    ...baseLayout(theme),
    width: view.width,
    height: plan.height,
    margin: plan.margin,
    title: {
      text: plotlyText(options.title),
      x: plan.margin.l / view.width,
      xanchor: 'left',
      font: { size: 16 },
      yref: 'container',
      y: 1 - 18 / plan.height,
      subtitle: {
        text: wrapped(
          summaryOf(plots),
          (view.width - plan.margin.l) / SUMMARY_LETTER_PIXELS
        )
          .map(line => plotlyText(line, 400))
          .join('<br>'),
        font: { size: 12, color: theme.text }
      }
    }
  };
  const legendAt = (place: PlotPlace, title: string): Layout => ({
    x: plan.legendX,
    y: place.domain[1],
    xanchor: 'left',
    yanchor: 'top',
    title: { text: title },
    font: { size: 11 },
    tracegroupgap: 0,
    itemwidth: 30
  });
  let hasLabelLegend = false;
  plots.forEach((plot, index) => {
    const place = plan.places[index]!;
    const legend = index === 0 ? 'legend' : `legend${index + 1}`;
    const part = partOf(plot, place, legend, context);
    data.push(...part.data);
    layout[place.axisEntry] = {
      ...yAxis(theme),
      domain: [...place.domain],
      ...part.axis
    };
    if (part.rightAxis !== undefined) {
      layout[place.rightAxisEntry] = {
        ...yAxis(theme),
        overlaying: place.axis,
        side: 'right',
        showgrid: false,
        // Round numbers of its own instead of the left axis's places.
        tickmode: 'auto',
        ...part.rightAxis
      };
    }
    if (!plan.hasLegend) {
      layout['showlegend'] = false;
    } else if (plot.kind === 'resources') {
      layout[legend] = legendAt(place, 'Process tree');
    } else if (!hasLabelLegend) {
      hasLabelLegend = true;
      layout[legend] = legendAt(place, 'Tasks');
      data.push(...legendEntries(styles, theme, legend, place.axis));
    }
  });
  layout['xaxis'] = {
    title: { text: 'Time (s)' },
    // Always all of it: `uirevision` keeps the reader's zoom, and a double click finds its way back.
    range: [0, picture.end],
    anchor: plan.places.at(-1)?.axis ?? 'y',
    gridcolor: theme.grid,
    linecolor: theme.outline,
    zeroline: false,
    ticks: 'outside'
  };
  return { data, layout, config: plotlyConfig };
}

function partOf(
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

/** Entries without data of their own: a click on one hides its label in every plot. */
function legendEntries(
  styles: ReadonlyMap<string, LabelStyle>,
  theme: Theme,
  legend: string,
  yaxis: string
): Trace[] {
  const ranked = [...styles.values()].filter(({ rank }) => rank !== null);
  const entry = (name: string, group: string, colour: string): Trace => ({
    type: 'bar',
    orientation: 'h',
    name,
    legend,
    legendgroup: group,
    x: [null],
    y: [null],
    xaxis: 'x',
    yaxis,
    showlegend: true,
    marker: { color: colour, line: { color: theme.outline, width: 1 } },
    hoverinfo: 'skip'
  });
  const entries = ranked.map(({ label, colour }) =>
    entry(plotlyText(label, LEGEND_LETTERS), label, colour)
  );
  if (ranked.length < styles.size) {
    const others = styles.size - ranked.length;
    entries.push(entry(`${others} others`, 'others', theme.grid));
  }
  return entries;
}

/** Breaks a summary between its plots. */
function wrapped(summary: string, letters: number): string[] {
  const lines: string[] = [];
  for (const piece of summary.split(' · ')) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 3 + piece.length <= letters) {
      lines[lines.length - 1] = `${line} · ${piece}`;
    } else {
      lines.push(piece);
    }
  }
  return lines;
}

function baseLayout(theme: Theme): Layout {
  return {
    paper_bgcolor: theme.background,
    plot_bgcolor: theme.background,
    font: {
      family: 'system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif',
      size: 12,
      color: theme.text
    },
    barmode: 'overlay',
    hovermode: 'closest',
    dragmode: 'pan',
    hoverlabel: {
      align: 'left',
      bgcolor: theme.background,
      bordercolor: theme.outline,
      font: { color: theme.text }
    },
    // Zoom and hidden entries survive being drawn anew.
    uirevision: 'spanwise'
  };
}

/** Zoom and pan are horizontal in every plot. */
function yAxis(theme: Theme): Layout {
  return {
    anchor: 'x',
    fixedrange: true,
    gridcolor: theme.grid,
    linecolor: theme.outline,
    zeroline: false,
    title: { standoff: 12 }
  };
}
