/** A chart per figure, one below the other with the same time axis, and one legend for all. */
import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { PlotlyView } from '../../charts/plotly-view';
import type { SystemResult } from '../../wire/panel-link';
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

type Cursor = { readonly t: number; readonly x: number };

function Chart(
  props: ViewProps & { readonly drawn: Drawn; readonly figure: Figure }
): JSX.Element {
  const { drawn, figure, hidden, context, trans } = props;
  const box = React.useRef<HTMLDivElement>(null);
  const { width } = useSize(box, 800);
  const [cursor, setCursor] = React.useState<Cursor | null>(null);
  const plotted = React.useMemo(
    () => systemFigure(drawn, figure, hidden, { width, trans }),
    [drawn, figure, hidden, width, trans]
  );
  const lines = [...drawn.named, ...drawn.others].filter(
    ({ key }) => !hidden.has(key)
  );
  return (
    <figure className="sw-System-figure">
      <figcaption>
        <strong>{titleOfFigure(figure, trans)}</strong>
        <span className="sw-block-aside">{heightOf(lines, figure, trans)}</span>
      </figcaption>
      <div ref={box} className="sw-System-chart">
        <PlotlyView
          figure={plotted}
          theme={context.theme}
          trans={trans}
          label={descriptionOf(lines, figure, trans)}
          loading={<Loading text={trans.__('Loading the chart…')} />}
          onHover={(t, event) => {
            const rect = box.current?.getBoundingClientRect();
            setCursor(
              t === null || event === null || rect === undefined
                ? null
                : { t, x: event.clientX - rect.left }
            );
          }}
        />
        {cursor !== null && (
          <CursorCard {...props} cursor={cursor} width={width} />
        )}
      </div>
    </figure>
  );
}

/** The highest at the pointer first. */
function CursorCard(props: {
  readonly drawn: Drawn;
  readonly figure: Figure;
  readonly hidden: ReadonlySet<string>;
  readonly cursor: Cursor;
  readonly width: number;
  readonly trans: TranslationBundle;
}): JSX.Element {
  const { drawn, figure, hidden, cursor, width, trans } = props;
  const rows = drawn.named
    .filter(({ key }) => !hidden.has(key))
    .map(line => ({ line, value: valueAt(line.points, figure, cursor.t) }))
    .filter(({ value }) => value !== null)
    .sort((one, other) => (other.value ?? 0) - (one.value ?? 0));
  return (
    <div
      className="sw-card"
      role="tooltip"
      style={{
        top: 0,
        ...(cursor.x > width / 2
          ? { right: width - cursor.x + 12 }
          : { left: cursor.x + 12 })
      }}
    >
      <strong>{formatInstant(cursor.t)}</strong>
      <table className="sw-card-table">
        <tbody>
          {rows.map(({ line, value }) => (
            <tr key={line.key}>
              <td>
                <LineMark colour={colourOf(line)} /> {line.label}
              </td>
              <td>{formatFigure(value, figure, trans)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
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
