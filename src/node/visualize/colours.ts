/**
 * The colour and the place in the legend of every label of a picture: one table for all its plots, so that they agree.
 */
import { colourMap, type Palette } from './palette';
import type { Plot } from './plots';
import { type Theme, visibleColour } from './theme';

export type LabelStyle = {
  readonly label: string;
  readonly colour: string;
  /** Place in the legend; null for labels that share the last entry. */
  readonly rank: number | null;
};

/**
 * @param legendEntries - how many labels have an entry of their own; the others share one more
 * @returns the style of every label, the one with most time first
 */
export function labelStyles(
  plots: readonly Plot[],
  palette: Palette,
  theme: Theme,
  legendEntries: number
): Map<string, LabelStyle> {
  const weights = new Map<string, number>();
  const weigh = (label: string, weight: number) =>
    weights.set(label, (weights.get(label) ?? 0) + weight);
  for (const plot of plots) {
    if (plot.kind === 'tasks') {
      plot.label.forEach((label, task) =>
        weigh(plot.labels[label]!, plot.duration[task]!)
      );
    } else if (plot.kind === 'cache') {
      plot.labels.forEach(label => weigh(label, 0));
    }
  }
  const colours = colourMap(weights.keys(), palette);
  const byWeight = [...weights].sort(([, a], [, b]) => b - a);
  return new Map(
    byWeight.map(([label], rank) => [
      label,
      {
        label,
        colour: visibleColour(colours.get(label)!, theme),
        rank:
          rank < legendEntries || weights.size === legendEntries + 1
            ? rank
            : null
      }
    ])
  );
}
