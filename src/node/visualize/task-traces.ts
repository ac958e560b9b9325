import { parseColour, textColourOn } from '../../base/colour-arithmetic';
import { functionOfLabel } from '../graph/label';
import { formatDuration } from '../diagnostics/format-duration';
import type { LabelStyle } from './colours';
import { groupOf } from './legend';
import { plotlyText } from './plotly-text';
import type { TaskPlot } from './plots';
import { taskRects, type TaskRect } from './task-rects';
import type { Trace } from './plotly-figure';
import type { Theme } from './theme';

/** The share of a row's height that its tasks fill. */
const FILLED = 0.92;
/** Narrower rectangles have no outline: it would be all that is seen of them. */
const OUTLINED_PIXELS = 4;
/** Of a letter inside a rectangle. */
const LETTER_PIXELS = 6.5;
const LEAST_TEXT_HEIGHT = 13;

type TaskTracesOptions = {
  readonly from: number;
  readonly to: number;
  /** Of the plot's area. */
  readonly widthPixels: number;
  readonly heightPixels: number;
  readonly theme: Theme;
  readonly styles: ReadonlyMap<string, LabelStyle>;
};

/**
 * One trace of horizontal bars per entry of the legend, so that a click there hides its tasks. Rows are centred at their numbers: row 0 from
 * -0.5 to 0.5.
 */
export function taskTraces(
  plot: TaskPlot,
  axes: { readonly xaxis: string; readonly yaxis: string },
  options: TaskTracesOptions
): Trace[] {
  const { from, to, widthPixels, heightPixels, theme } = options;
  const pixelsPerSecond = widthPixels / (to - from);
  const rowPixels = heightPixels / Math.max(1, plot.rows.length);
  const styleOf = plot.labels.map(label => options.styles.get(label)!);
  const groups = new Map<number | null, TaskRect[]>();
  for (const rect of taskRects(plot, from, to, widthPixels)) {
    const { rank } = styleOf[rect.label]!;
    const rects = groups.get(rank);
    if (rects === undefined) {
      groups.set(rank, [rect]);
    } else {
      rects.push(rect);
    }
  }
  return [...groups].map(([rank, rects]) => {
    const thickness = (rect: TaskRect) => FILLED / rect.lanes;
    const widthOf = (rect: TaskRect) =>
      (rect.end - rect.start) * pixelsPerSecond;
    return {
      type: 'bar',
      orientation: 'h',
      ...axes,
      legendgroup: groupOf(
        rank === null ? null : styleOf[rects[0]!.label]!.label
      ),
      showlegend: false,
      base: rects.map(rect => rect.start),
      x: rects.map(rect => rect.end - rect.start),
      y: rects.map(
        rect => rect.row - FILLED / 2 + (rect.lane + 0.5) * thickness(rect)
      ),
      width: rects.map(thickness),
      marker: {
        color: rects.map(rect => styleOf[rect.label]!.colour),
        // A stretch with gaps that cannot be seen is paler than a full one.
        opacity: rects.map(rect => 0.3 + 0.7 * rect.busyShare),
        line: {
          color: theme.outline,
          width: rects.map(rect => (widthOf(rect) >= OUTLINED_PIXELS ? 1 : 0))
        }
      },
      text: rects.map(rect =>
        textInside(plot, rect, widthOf(rect), rowPixels / rect.lanes)
      ),
      textposition: 'inside',
      insidetextanchor: 'middle',
      textangle: 0,
      constraintext: 'none',
      textfont: {
        size: 11,
        color: rects.map(rect => textColour(styleOf[rect.label]!.colour, theme))
      },
      customdata: rects.map(rect => hoverLines(plot, rect)),
      hovertemplate:
        '<b>Key:</b> %{customdata[0]}<br><b>Task:</b> %{customdata[1]}<br>%{customdata[2]}<extra></extra>'
    };
  });
}

function textInside(
  plot: TaskPlot,
  rect: TaskRect,
  widthPixels: number,
  heightPixels: number
): string {
  const name = functionOfLabel(plot.labels[rect.label]!);
  const fits =
    rect.count === 1 &&
    heightPixels * FILLED >= LEAST_TEXT_HEIGHT &&
    name.length * LETTER_PIXELS + 8 <= widthPixels;
  return fits ? plotlyText(name) : '';
}

function textColour(fill: string, theme: Theme): string {
  const rgb = parseColour(fill);
  return rgb === null ? theme.text : textColourOn(rgb);
}

/** Key, label, and a line of figures. */
function hoverLines(plot: TaskPlot, rect: TaskRect): [string, string, string] {
  const { workerId } = plot.rows[rect.row]!;
  const worker =
    workerId === null
      ? `worker ${rect.row}`
      : `worker ${rect.row} (id ${workerId})`;
  const label = plotlyText(plot.labels[rect.label]!);
  const from = `from ${rect.start.toFixed(6)} s`;
  const length = formatDuration(rect.end - rect.start);
  return rect.task === -1
    ? [
        `${rect.count} tasks, zoom in to tell them apart`,
        `mostly ${label}`,
        `${length} ${from}, ${Math.round(100 * rect.busyShare)} % of it busy, ${worker}`
      ]
    : [
        plotlyText(plot.keys[rect.task]!),
        label,
        `${length} ${from}, ${worker}`
      ];
}
