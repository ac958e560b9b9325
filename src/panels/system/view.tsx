/** A chart per figure, one below the other with the same time axis, and one legend for all. */
import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { createElement } from '../../charts/shown-element';
import { PlotlyView } from '../../charts/plotly-view';
import type { SystemResult } from '../../wire/panel-link';
import { CursorCard, useCursor } from '../cursor-card';
import { formatInstant } from '../format';
import { Loading } from '../loading';
import type { PanelContext } from '../panel-context';
import { useSize } from '../use-size';
import { colourOf, systemFigure } from './figure';
import {
  descriptionOf,
  type Drawn,
  drawnOf,
  type Figure,
  formatFigure,
  heightOf,
  namedNote,
  type Of,
  remarkOnFigure,
  titleOf,
  titleOfFigure,
  valueAt
} from './rows';

type ViewProps = {
  readonly result: SystemResult;
  readonly of: Of;
  readonly hidden: ReadonlySet<string>;
  readonly context: PanelContext;
  readonly trans: TranslationBundle;
  onToggle(key: string): void;
};

export function SystemView(props: ViewProps): JSX.Element {
  const { result, of, hidden, trans } = props;
  const drawn = React.useMemo(
    () => drawnOf(result, of, trans),
    [result, of, trans]
  );
  const title = titleOf(result, of, trans);
  const note = namedNote(drawn, result.dropped, trans);
  return (
    <div className="sw-System">
      <div className="sw-block-title sw-System-title">
        <span title={title}>{title}</span>
        <span className="sw-block-aside sw-wide-only">
          {of === 'processes'
            ? trans.__('CPU is in per cent of one core.')
            : trans.__('All processes and users of a host count.')}
        </span>
      </div>
      {drawn.figures.map(figure => (
        <Chart key={figure} {...props} drawn={drawn} figure={figure} />
      ))}
      <ul className="sw-legend" aria-label={trans.__('Legend')}>
        {drawn.named.map(line => (
          <li key={line.key}>
            <button
              type="button"
              className="sw-legend-item"
              aria-pressed={hidden.has(line.key)}
              aria-label={trans.__('Hide %1', line.label)}
              onClick={() => props.onToggle(line.key)}
            >
              <LineMark colour={colourOf(line)} />
              <bdi className="sw-legend-name">{line.label}</bdi>
            </button>
          </li>
        ))}
      </ul>
      {note !== '' && <p className="sw-drawer-note">{note}</p>}
    </div>
  );
}

function Chart(
  props: ViewProps & { readonly drawn: Drawn; readonly figure: Figure }
): JSX.Element {
  const { drawn, figure, hidden, context, trans } = props;
  const box = React.useRef<HTMLDivElement>(null);
  const { width } = useSize(box, 800);
  const { cursor, move, hide } = useCursor(box);
  const plotted = React.useMemo(
    () => systemFigure(drawn, figure, hidden, { width, trans }),
    [drawn, figure, hidden, width, trans]
  );
  const lines = [...drawn.named, ...drawn.others].filter(
    ({ key }) => !hidden.has(key)
  );
  const isOfDask = context.cluster.current?.kind === 'dask';
  const remark = remarkOnFigure(figure, isOfDask, trans);
  return (
    <figure className="sw-System-figure">
      <figcaption>
        <strong title={remark || undefined}>
          {titleOfFigure(figure, trans)}
        </strong>
        <span className="sw-block-aside">{heightOf(lines, figure, trans)}</span>
      </figcaption>
      <div ref={box} className="sw-System-chart">
        <PlotlyView
          figure={plotted}
          theme={context.theme}
          trans={trans}
          label={descriptionOf(lines, figure, trans)}
          loading={<Loading text={trans.__('Loading the chart…')} />}
          onHover={move}
        />
        {cursor !== null && (
          <CursorCard
            cursor={cursor}
            chart={box}
            title={formatInstant(cursor.t)}
            rows={highestFirst(drawn.named, figure, hidden, cursor.t).map(
              ({ line, value }) => ({
                key: line.key,
                mark: <LineMark colour={colourOf(line)} />,
                label: line.label,
                text: formatFigure(value, figure, trans)
              })
            )}
            onGone={hide}
          />
        )}
      </div>
    </figure>
  );
}

/** The named lines that are shown and have a value at `t`. */
function highestFirst(
  named: Drawn['named'],
  figure: Figure,
  hidden: ReadonlySet<string>,
  t: number
) {
  return named
    .filter(({ key }) => !hidden.has(key))
    .map(line => ({ line, value: valueAt(line.points, figure, t) }))
    .filter(({ value }) => value !== null)
    .sort((one, other) => (other.value ?? 0) - (one.value ?? 0));
}

function LineMark(props: { readonly colour: string }): JSX.Element {
  return (
    <svg className="sw-lineMark" width="18" height="8" aria-hidden="true">
      <line
        x1="0"
        x2="18"
        y1="4"
        y2="4"
        strokeWidth="2"
        style={{ stroke: `var(${props.colour})` }}
      />
    </svg>
  );
}
