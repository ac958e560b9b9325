/** A chart of one figure as a plotly figure; colours are roles, texts are escaped. */
import type { Trans } from '../../base/trans';
import { byteTicks, countTicks, formatTick } from '../format';
import { PLAIN, plotText, timeAxis, withRoom } from '../memory/figure';
import {
  type Drawn,
  type Figure,
  formatFigure,
  type Line,
  type Named,
  stepsOf,
  topOf
} from './rows';

const MARGIN = { l: 72, r: 16, t: 4, b: 20 };

type SystemFigure = {
  readonly data: readonly Readonly<Record<string, unknown>>[];
  readonly layout: Readonly<Record<string, unknown>>;
};

export function colourOf({ place }: Named): string {
  return place === null ? '--jp-ui-font-color2' : `--sw-fn-${(place % 12) + 1}`;
}

/** From the first moment of any line to the last: the same in all charts. */
function timesOf({ named, others }: Drawn): {
  readonly from: number;
  readonly to: number;
} {
  let from = Infinity;
  let to = -Infinity;
  for (const { points } of [...named, ...others]) {
    const first = (points.t[0] ?? Infinity) - (points.seconds[0] ?? 0);
    from = Math.min(from, Math.max(0, first));
    to = Math.max(to, points.t.at(-1) ?? -Infinity);
  }
  return Number.isFinite(from)
    ? { from, to: Math.max(to, from + 1) }
    : { from: 0, to: 1 };
}

export function systemFigure(
  drawn: Drawn,
  figure: Figure,
  hidden: ReadonlySet<string>,
  options: { readonly width: number; readonly trans: Trans }
): SystemFigure {
  const { width, trans } = options;
  const named = drawn.named.filter(({ key }) => !hidden.has(key));
  const { from, to } = timesOf(drawn);
  const top = topOf([...named, ...drawn.others], figure)?.value ?? 0;
  const isCount = figure === 'cpu' || figure === 'fds';
  const ticks = isCount ? countTicks(top) : byteTicks(top, 3);
  return {
    data: [
      ...(drawn.others.length > 0 ? [othersTrace(drawn.others, figure)] : []),
      ...named.map(line => ({
        ...TRACE,
        ...stepsOf(line.points, figure),
        name: plotText(line.label),
        line: { color: colourOf(line), width: 1.5 }
      }))
    ],
    layout: {
      ...PLAIN,
      hovermode: 'x',
      hoverdistance: -1,
      dragmode: false,
      margin: MARGIN,
      xaxis: {
        ...timeAxis(
          from,
          to,
          formatTick,
          width - MARGIN.l - MARGIN.r,
          MARGIN.r
        ),
        range: [from, withRoom(from, to)],
        linecolor: '--jp-border-color1'
      },
      yaxis: {
        range: [0, Math.max(top * 1.08, 1)],
        tickvals: ticks,
        ticktext: ticks.map(value =>
          value === 0 ? '0' : tickText(formatFigure(value, figure, trans))
        ),
        ticklabeloverflow: 'allow',
        gridcolor: '--jp-border-color2',
        zeroline: false,
        fixedrange: true
      }
    }
  };
}

const TRACE = {
  type: 'scatter',
  mode: 'lines',
  connectgaps: false,
  hoverinfo: 'none'
};

/** One trace of all of them, however many. */
function othersTrace(others: readonly Line[], figure: Figure) {
  const x: (number | null)[] = [];
  const y: (number | null)[] = [];
  for (const { points } of others) {
    const steps = stepsOf(points, figure);
    x.push(...steps.x, null);
    y.push(...steps.y, null);
  }
  return { ...TRACE, x, y, line: { color: '--sw-fn-other', width: 1 } };
}

/** Steps are whole: "50 %", "2 MiB/s". */
function tickText(text: string): string {
  return text.replace(/[.,]0+(?=\D*$)/, '');
}
