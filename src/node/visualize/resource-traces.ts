import type { Trace } from './plotly-figure';
import { thinned } from './lines';
import { viridis } from './palette';
import type { ResourcePlot } from './plots';
import { type Theme, visibleColour } from './theme';

type Range = [low: number, high: number];

/** Entries 0 and 2 of six colours. */
export function resourceColours(theme: Theme): { cpu: string; memory: string } {
  const six = viridis(6);
  return {
    cpu: visibleColour(six[0]!, theme),
    memory: visibleColour(six[2]!, theme)
  };
}

export function cpuRange({ cpuPercent }: ResourcePlot): Range {
  return [0, Math.max(100, greatest(cpuPercent))];
}

/** From the least memory, so that what a run adds is seen; over at least 100 MB, so that noise is not. */
export function memoryRange({ memoryMb }: ResourcePlot): Range {
  if (memoryMb.length === 0) {
    return [0, 100];
  }
  const least = -greatest(memoryMb.map(value => -value));
  return [least, Math.max(greatest(memoryMb), least + 100)];
}

/** % CPU on the left axis, memory on the right one. */
export function resourceTraces(
  plot: ResourcePlot,
  axes: {
    readonly xaxis: string;
    readonly yaxis: string;
    readonly right: string;
  },
  view: {
    readonly from: number;
    readonly to: number;
    readonly widthPixels: number;
  },
  theme: Theme,
  legend: string
): Trace[] {
  const colours = resourceColours(theme);
  const line = (
    name: string,
    values: readonly number[],
    colour: string,
    yaxis: string,
    dash: string,
    format: string
  ): Trace => ({
    type: 'scatter',
    mode: plot.time.length > 1 ? 'lines' : 'markers',
    name,
    legend,
    xaxis: axes.xaxis,
    yaxis,
    ...thinned(
      { x: [...plot.time], y: [...values] },
      view.from,
      view.to,
      view.widthPixels
    ),
    line: { color: colour, width: 3, dash },
    marker: { color: colour, size: 8 },
    hovertemplate: `${name}: ${format}<br>at %{x:.3f} s<extra></extra>`
  });
  return [
    line(
      '% CPU',
      plot.cpuPercent,
      colours.cpu,
      axes.yaxis,
      'solid',
      '%{y:.0f} %'
    ),
    // Dashed: the two are told apart without colour too.
    line(
      'Memory',
      plot.memoryMb,
      colours.memory,
      axes.right,
      '8px,3px',
      '%{y:.1f} MB'
    )
  ];
}

function greatest(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), -Infinity);
}
