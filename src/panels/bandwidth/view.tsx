/** Who fetched how much of whom, and how fast: the square of pairs, and the types of what was fetched. */
import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { createElement } from '../../charts/shown-element';
import { PlotlyView } from '../../charts/plotly-view';
import type { TransfersResult } from '../../wire/panel-link';
import { Loading } from '../loading';
import type { PanelContext } from '../panel-context';
import { useSize } from '../use-size';
import { pairsFigure } from './figure';
import {
  amountOf,
  formatValue,
  leftOut,
  pairsOf,
  shortType,
  type Show,
  titleOf,
  typesOf,
  valueOf,
  workerNames
} from './rows';

/** Types that have a bar; the table has all. */
const MOST_BARS = 8;

export function BandwidthView(props: {
  readonly result: TransfersResult;
  readonly show: Show;
  readonly context: PanelContext;
  readonly trans: TranslationBundle;
}): JSX.Element {
  const { result, show, context, trans } = props;
  const box = React.useRef<HTMLDivElement>(null);
  const { width, height } = useSize(box, 600);
  const figure = React.useMemo(
    () =>
      pairsFigure(workerNames(result, trans), pairsOf(result), show, {
        width,
        height,
        trans
      }),
    [result, show, width, height, trans]
  );
  const title = titleOf(result, trans);
  const about = trans.__('Speeds are of transfers of more than 1 MB.');
  return (
    <div className="sw-Bandwidth">
      <div className="sw-block-title sw-Bandwidth-title">
        <span title={`${title}\n${about}`}>{title}</span>
        <span className="sw-block-aside sw-wide-only">{about}</span>
      </div>
      <div ref={box} className="sw-Bandwidth-chart">
        <PlotlyView
          figure={figure}
          theme={context.theme}
          trans={trans}
          label={title}
          loading={<Loading text={trans.__('Loading the chart…')} />}
        />
      </div>
      <TypeBars result={result} show={show} trans={trans} />
      {result.dropped > 0 && (
        <p className="sw-drawer-note">{leftOut(result.dropped, trans)}</p>
      )}
    </div>
  );
}

function TypeBars(props: {
  readonly result: TransfersResult;
  readonly show: Show;
  readonly trans: TranslationBundle;
}): JSX.Element | null {
  const { result, show, trans } = props;
  const rows = typesOf(result).slice(0, MOST_BARS);
  if (rows.length === 0) {
    return null;
  }
  const most = rows.reduce(
    (top, row) => Math.max(top, valueOf(row, show) ?? 0),
    1
  );
  const title = trans.__('By type of result');
  return (
    <>
      <div className="sw-block-title">{title}</div>
      <ul className="sw-Bandwidth-types" aria-label={title}>
        {rows.map(row => (
          <li key={row.type} title={`${row.type}\n${amountOf(row, trans)}`}>
            <bdi className="sw-Bandwidth-name">{shortType(row.type)}</bdi>
            <span className="sw-Bandwidth-track" aria-hidden="true">
              <span
                style={{
                  width: `${(100 * (valueOf(row, show) ?? 0)) / most}%`
                }}
              />
            </span>
            <span className="sw-Bandwidth-value">
              {formatValue(valueOf(row, show), show, trans)}
            </span>
            <span className="sw-Bandwidth-amount">{amountOf(row, trans)}</span>
          </li>
        ))}
      </ul>
    </>
  );
}
