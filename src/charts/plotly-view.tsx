/**
 * The one owner of plotly: draws a figure in the theme's colours, again when
 * figure, theme or size change, and takes everything away when it goes. The
 * library is loaded when the first chart is shown (1 MB that a notebook
 * without panels need not pay for).
 */
import * as React from 'react';
import type { Trans } from '../base/trans';
import { withColours } from './figure-colours';
import { loadPlotly } from './load-plotly';
import type { Figure, IPlotlyApi, IPlotlyElement } from './plotly-api';

/** Signals that the theme's colours have changed. */
type ThemeSource = {
  readonly changed: {
    connect(listener: () => void): boolean;
    disconnect(listener: () => void): boolean;
  };
};

type PlotlyViewProps = {
  readonly figure: Figure;
  readonly theme: ThemeSource;
  readonly trans: Trans;
  /** The accessible name; the figures themselves are in the panel's table. */
  readonly label: string;
  readonly className?: string;
  /** Shown beside the empty chart until the library is here. */
  readonly loading: React.ReactNode;
  /** The x under the pointer, null when it leaves. */
  onHover?(x: number | null, event: MouseEvent | null): void;
};

const PLOTLY_CONFIG = {
  displaylogo: false,
  displayModeBar: false,
  showSendToCloud: false,
  scrollZoom: false,
  doubleClick: 'reset',
  showTips: false
};

export function PlotlyView(props: PlotlyViewProps): JSX.Element {
  const { figure, theme, trans, label, className } = props;
  const element = React.useRef<HTMLDivElement>(null);
  const [plotly, setPlotly] = React.useState<IPlotlyApi | null>(null);
  const [problem, setProblem] = React.useState<string | null>(null);
  const onHover = React.useRef(props.onHover);
  onHover.current = props.onHover;
  const latest = React.useRef(figure);
  latest.current = figure;
  const drawn = React.useRef<(() => void) | null>(null);

  React.useEffect(() => {
    let isWanted = true;
    loadPlotly().then(
      loaded => isWanted && setPlotly(loaded),
      (error: Error) => isWanted && setProblem(error.message)
    );
    return () => {
      isWanted = false;
    };
  }, []);

  React.useEffect(() => {
    const target = element.current as IPlotlyElement | null;
    if (plotly === null || target === null) {
      return;
    }
    let hasListeners = false;
    const draw = () => {
      const style = getComputedStyle(target);
      const { data, layout } = withColours(latest.current, role =>
        style.getPropertyValue(role).trim()
      );
      const sized = {
        ...layout,
        width: Math.max(10, target.clientWidth),
        height: Math.max(10, target.clientHeight)
      };
      plotly.react(target, data, sized, PLOTLY_CONFIG).then(
        () => {
          if (!hasListeners && onHover.current !== undefined) {
            hasListeners = true;
            target.on?.('plotly_hover', ((event: {
              xvals?: number[];
              event: MouseEvent;
            }) =>
              onHover.current?.(
                event.xvals?.[0] ?? null,
                event.event
              )) as never);
            target.on?.('plotly_unhover', (() =>
              onHover.current?.(null, null)) as never);
          }
        },
        (error: Error) => setProblem(error.message)
      );
    };
    drawn.current = draw;
    draw();
    theme.changed.connect(draw);
    const observer = new ResizeObserver(draw);
    observer.observe(target);
    return () => {
      drawn.current = null;
      theme.changed.disconnect(draw);
      observer.disconnect();
      plotly.purge(target);
    };
  }, [plotly, theme]);

  React.useEffect(() => drawn.current?.(), [figure]);

  return problem === null ? (
    <>
      {plotly === null && props.loading}
      <div
        ref={element}
        className={`sw-plotly ${className ?? ''}`}
        role="img"
        aria-label={label}
      />
    </>
  ) : (
    <div className="sw-drawer-note" role="alert">
      {trans.__(
        'The chart could not be drawn: %1 Its figures are in the table.',
        problem
      )}
    </div>
  );
}
