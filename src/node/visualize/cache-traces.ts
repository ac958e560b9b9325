import type { LabelStyle } from './colours';
import { type Line, stepLines, thinned } from './lines';
import { groupOf } from './legend';
import { plotlyText } from './plotly-text';
import type { CachePlot } from './plots';
import type { Trace } from './plotly-figure';
import type { Theme } from './theme';

/** More lines cannot be told apart: the labels that hold least share one. */
const MOST_LINES = 40;

/** One line of steps per label. */
export function cacheTraces(
  plot: CachePlot,
  axes: { readonly xaxis: string; readonly yaxis: string },
  view: {
    readonly from: number;
    readonly to: number;
    readonly widthPixels: number;
  },
  styles: ReadonlyMap<string, LabelStyle>,
  theme: Theme
): Trace[] {
  return cacheLines(plot).map(({ line, labels }) => {
    const style = labels.length === 1 ? styles.get(labels[0]!)! : null;
    const name =
      style === null
        ? `${labels.length} other labels`
        : plotlyText(style.label);
    return {
      type: 'scatter',
      mode: 'lines',
      name,
      legendgroup: groupOf(
        style === null || style.rank === null ? null : style.label
      ),
      showlegend: false,
      ...axes,
      ...thinned(line, view.from, view.to, view.widthPixels),
      line: {
        color: style === null ? theme.outline : style.colour,
        width: 2.5,
        shape: 'hv'
      },
      hovertemplate: `<b>Task:</b> ${name}<br>%{y:,} held from %{x:.6f} s<extra></extra>`
    };
  });
}

/** The lines of all labels; of many, those with the highest peaks, and one sum of the others. */
function cacheLines(
  plot: CachePlot
): { readonly line: Line; readonly labels: readonly string[] }[] {
  const lines = stepLines(plot, label => label, plot.labels.length);
  if (lines.length <= MOST_LINES) {
    return lines.map((line, label) => ({
      line,
      labels: [plot.labels[label]!]
    }));
  }
  const peak = (line: Line) => line.y.reduce((most, y) => Math.max(most, y), 0);
  const byPeak = lines
    .map((line, label) => ({ label, peak: peak(line) }))
    .sort((a, b) => b.peak - a.peak);
  const others = new Set(
    byPeak.slice(MOST_LINES - 1).map(({ label }) => label)
  );
  const [sum] = stepLines(
    {
      ...plot,
      label: plot.label.map(label => (others.has(label) ? 0 : 1))
    },
    shared => shared,
    2
  );
  return [
    ...byPeak.slice(0, MOST_LINES - 1).map(({ label }) => ({
      line: lines[label]!,
      labels: [plot.labels[label]!]
    })),
    { line: sum!, labels: [...others].map(label => plot.labels[label]!) }
  ];
}
