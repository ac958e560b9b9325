import type { LabelStyle } from './colours';
import type { PlotPlace } from './page-plan';
import type { Layout, Trace } from './plotly-figure';
import { plotlyText } from './plotly-text';
import type { Theme } from './theme';

/** Letters of a label that fit into the legend; the pointer shows all of it. */
const LEGEND_LETTERS = 28;

/** @param x - of its left border, as a share of the figure's area */
export function legendBeside(
  place: PlotPlace,
  x: number,
  title: string
): Layout {
  return {
    x,
    y: place.domain[1],
    xanchor: 'left',
    yanchor: 'top',
    title: { text: title },
    font: { size: 11 },
    tracegroupgap: 0,
    itemwidth: 30
  };
}

/** What a click on an entry hides or shows together; null: what has no entry of its own. A label may be `others`, too. */
export function groupOf(label: string | null): string {
  return label === null ? 'others' : `label ${label}`;
}

/** Entries without data of their own: a click on one hides its label in every plot. */
export function legendEntries(
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
    entry(plotlyText(label, LEGEND_LETTERS), groupOf(label), colour)
  );
  if (ranked.length < styles.size) {
    const others = styles.size - ranked.length;
    entries.push(entry(`${others} others`, groupOf(null), theme.grid));
  }
  return entries;
}
