/**
 * The one owner of plotly: keeps a figure drawn while it is there. The library
 * is loaded when the first chart is shown (1 MB that a notebook without panels
 * need not pay for).
 */
import * as React from 'react';
import { createElement } from './shown-element';
import type { Trans } from '../base/trans';
import { loadPlotly } from './load-plotly';
import type { Figure, IPlotlyApi, IPlotlyElement } from './plotly-api';
import { PlotlyDrawing, type ThemeSource } from './plotly-drawing';

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
  /** The x from and to which the user wants to look; null: all of it. */
  onZoom?(range: readonly [number, number] | null): void;
};

export function PlotlyView(props: PlotlyViewProps): JSX.Element {
  const { figure, theme, trans, label, className } = props;
  const element = React.useRef<HTMLDivElement>(null);
  const [plotly, setPlotly] = React.useState<IPlotlyApi | null>(null);
  const [problem, setProblem] = React.useState<string | null>(null);
  const onHover = React.useRef(props.onHover);
  onHover.current = props.onHover;
  const onZoom = React.useRef(props.onZoom);
  onZoom.current = props.onZoom;
  const latest = React.useRef(figure);
  latest.current = figure;
  const drawing = React.useRef<PlotlyDrawing | null>(null);

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
    const own = new PlotlyDrawing({
      plotly,
      target,
      theme,
      figure: latest.current,
      onProblem: error => setProblem(error.message),
      onHover: onHover.current && ((x, event) => onHover.current?.(x, event)),
      onZoom: onZoom.current && (range => onZoom.current?.(range))
    });
    drawing.current = own;
    return () => {
      drawing.current = null;
      own.dispose();
    };
  }, [plotly, theme]);

  React.useEffect(() => drawing.current?.show(figure), [figure]);

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
