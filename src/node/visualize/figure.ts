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
import { labelStyles } from './colours';
import { legendBeside, legendEntries } from './legend';
import type { FigureOptions } from './options';
import { pagePlan } from './page-plan';
import { plotPart, yAxis } from './plot-parts';
import {
  type Layout,
  PLOTLY_CONFIG,
  type PlotlyFigure,
  type Trace
} from './plotly-figure';
import { plotlyText } from './plotly-text';
import type { Plot } from './plots';
import { summaryOf } from './summary';
import { type Shade, type Theme, THEMES } from './theme';
import type { View } from './view';

/** What to draw, whatever the zoom. */
export type Picture = {
  readonly plots: readonly Plot[];
  /** Right end of the x axis, seconds. */
  readonly end: number;
  readonly options: FigureOptions;
};

const DEFAULT_WIDTH = 800;
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

export function figureOf(picture: Picture, view: View): PlotlyFigure {
  const { plots, options } = picture;
  const theme = THEMES[view.shade];
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
  let hasLabelLegend = false;
  plots.forEach((plot, index) => {
    const place = plan.places[index]!;
    const legend = index === 0 ? 'legend' : `legend${index + 1}`;
    const part = plotPart(plot, place, legend, context);
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
      layout[legend] = legendBeside(place, plan.legendX, 'Process tree');
    } else if (!hasLabelLegend) {
      hasLabelLegend = true;
      layout[legend] = legendBeside(place, plan.legendX, 'Tasks');
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
  return { data, layout, config: PLOTLY_CONFIG };
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
    // Zoom and hidden entries survive a redraw.
    uirevision: 'spanwise'
  };
}
