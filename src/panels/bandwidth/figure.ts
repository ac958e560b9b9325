/** The square of pairs as a plotly figure; colours are roles, texts are escaped. */
import type { Trans } from '../../base/trans';
import { byteTicks, labelPixels } from '../format';
import { plotText } from '../memory/figure';
import {
  amountOf,
  formatSpeed,
  formatValue,
  type Pair,
  type Show,
  valueOf
} from './rows';

/** A square narrower than this has no room for its figure. */
const TEXT_FROM_PX = 64;
const LABEL_PX = 15;
/** Between two labels side by side, and around one. */
const GAP_PX = 8;
const MARGIN = { l: 92, r: 96, t: 8, b: 24 };
/** As a share of the height: more of it labels below the square do not take. */
const MOST_BELOW = 0.45;

type PairsFigure = {
  readonly data: readonly Readonly<Record<string, unknown>>[];
  readonly layout: Readonly<Record<string, unknown>>;
};

type Size = { readonly width: number; readonly height: number };

/** Highest value of all pairs: the end of the scale, which begins at 0. */
function topOf(pairs: readonly Pair[], show: Show): number {
  return pairs.reduce(
    (most, pair) => Math.max(most, valueOf(pair, show) ?? 0),
    0
  );
}

/**
 * Sources from top to bottom, destinations from left to right. Where nothing was fetched there is the background; where what was fetched
 * was too small to be timed there is the colour of a value of 0.
 */
export function pairsFigure(
  names: readonly string[],
  pairs: readonly Pair[],
  show: Show,
  options: Size & { readonly trans: Trans }
): PairsFigure {
  const { trans } = options;
  const grid = <T>(of: (pair: Pair) => T, none: T): T[][] => {
    const rows = names.map(() => names.map(() => none));
    for (const pair of pairs) {
      rows[pair.from]![pair.to] = of(pair);
    }
    return rows;
  };
  const top = Math.max(1, topOf(pairs, show));
  const ticks = byteTicks(top);
  const labels = names.map(plotText);
  const square = {
    type: 'heatmap',
    xgap: 1,
    ygap: 1,
    x: names.map((_, place) => place),
    y: names.map((_, place) => place)
  };
  const across = options.width - MARGIN.l - MARGIN.r;
  const cellPx = across / names.length;
  const destinations = names.map(name => trans.__('to %1', name));
  const longest = GAP_PX + Math.max(0, ...destinations.map(labelPixels));
  // Turned they have room where they have none side by side.
  const isTurned = longest > cellPx;
  const margin = isTurned
    ? { ...MARGIN, b: Math.min(longest + GAP_PX, MOST_BELOW * options.height) }
    : MARGIN;
  return {
    data: [
      {
        ...square,
        z: grid<number | null>(() => 0, null),
        colorscale: [
          [0, '--sw-track'],
          [1, '--sw-track']
        ],
        showscale: false,
        hoverinfo: 'skip',
        ...(cellPx >= TEXT_FROM_PX
          ? {
              text: grid(
                pair =>
                  valueOf(pair, show) === null ? trans.__('small only') : '',
                ''
              ),
              texttemplate: '%{text}'
            }
          : {})
      },
      {
        ...square,
        z: grid<number | null>(pair => valueOf(pair, show), null),
        zmin: 0,
        zmax: top,
        colorscale: [
          [0, '--sw-track'],
          [1, '--sw-kind-transfer']
        ],
        hoverinfo: 'skip',
        ...(cellPx >= TEXT_FROM_PX
          ? {
              text: grid(pair => {
                const value = valueOf(pair, show);
                return value === null ? '' : formatValue(value, show, trans);
              }, ''),
              texttemplate: '%{text}'
            }
          : {}),
        colorbar: {
          thickness: 10,
          outlinewidth: 0,
          len: 1,
          xpad: 8,
          ypad: 0,
          tickvals: ticks,
          ticktext: ticks.map(bytes =>
            bytes === 0 ? '0' : formatValue(bytes, show, trans)
          )
        }
      },
      {
        // What the pointer is told, also of pairs without a speed.
        type: 'scatter',
        mode: 'markers',
        x: pairs.map(({ to }) => to),
        y: pairs.map(({ from }) => from),
        marker: { opacity: 0, size: 1 },
        showlegend: false,
        text: pairs.map(
          pair =>
            `<b>${labels[pair.from]} → ${labels[pair.to]}</b><br>` +
            `${speedText(pair, trans)}<br>${amountOf(pair, trans)}`
        ),
        hovertemplate: '%{text}<extra></extra>'
      }
    ],
    layout: {
      showlegend: false,
      paper_bgcolor: 'rgba(0,0,0,0)',
      plot_bgcolor: 'rgba(0,0,0,0)',
      font: {
        family: '--jp-ui-font-family',
        size: 11,
        color: '--jp-ui-font-color2'
      },
      hovermode: 'closest',
      hoverdistance: 1000,
      hoverlabel: {
        bgcolor: '--jp-layout-color1',
        bordercolor: '--jp-border-color1',
        align: 'left',
        font: { size: 12, color: '--jp-ui-font-color1' }
      },
      dragmode: false,
      margin,
      // No titles: plotly cannot place one where there is no room, as while the table is shown.
      xaxis: {
        ...axis(destinations.map(plotText), across, isTurned ? LABEL_PX : 0),
        tickangle: isTurned ? -90 : 0
      },
      yaxis: {
        ...axis(
          labels.map(label => trans.__('from %1', label)),
          options.height - margin.t - margin.b,
          LABEL_PX
        ),
        range: [names.length - 0.5, -0.5]
      }
    }
  };
}

/** "1.20 GiB/s", or why there is none. */
function speedText(pair: Pair, trans: Trans): string {
  return pair.speed === null
    ? trans.__('none of more than 1 MB, so no speed')
    : formatSpeed(pair.speed, trans);
}

/** Every worker has a label, or every second, third, … one: as many as have room. */
function axis(labels: readonly string[], pixels: number, labelPx: number) {
  const every = Math.max(
    1,
    Math.ceil((labels.length * labelPx) / Math.max(1, pixels))
  );
  const shown = labels
    .map((label, place) => ({ label, place }))
    .filter(({ place }) => place % every === 0);
  return {
    range: [-0.5, labels.length - 0.5],
    tickvals: shown.map(({ place }) => place),
    ticktext: shown.map(({ label }) => label),
    showgrid: false,
    zeroline: false,
    fixedrange: true
  };
}
