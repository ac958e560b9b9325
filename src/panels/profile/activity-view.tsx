/** Threads on a core and waiting over time; a drag chooses the period for all panels, two sliders move its ends. */
import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { createElement } from '../../charts/shown-element';
import { contextOf } from '../../charts/sized-canvas';
import type { SelectionModel } from '../../feed/selection';
import type { TimeRange } from '../../wire/panel-link';
import {
  formatCount,
  formatInstant,
  formatTick,
  formatTimeRange,
  labelledTicks
} from '../format';
import type { ITheme } from '../panel-context';
import { useSize } from '../use-size';
import type { Activity } from './figure';
import type { statesOf } from './rows';

const AXIS_HEIGHT = 16;
const CHART_HEIGHT = 84;
/** Above the highest bar: how much that is. */
const TOP_HEIGHT = 14;

export function ActivityView(props: {
  /** The activity that matches the filter; faded behind it that of the whole run, as far as it is known. */
  readonly activity: Activity;
  readonly states: ReturnType<typeof statesOf>;
  readonly whole: Activity | null;
  readonly time: TimeRange;
  readonly selection: SelectionModel;
  readonly theme: ITheme;
  readonly trans: TranslationBundle;
}): JSX.Element {
  const { activity, states, time, selection, theme, trans } = props;
  const whole = props.whole ?? activity;
  const box = React.useRef<HTMLDivElement>(null);
  const canvas = React.useRef<HTMLCanvasElement>(null);
  const { width } = useSize(box);
  const [drag, setDrag] = React.useState<{ from: number; to: number } | null>(
    null
  );
  React.useEffect(() => {
    const draw = () => {
      if (!canvas.current || width === 0) {
        return;
      }
      const context = contextOf(
        canvas.current,
        width,
        CHART_HEIGHT + AXIS_HEIGHT,
        window.devicePixelRatio || 1
      );
      if (!context) {
        return;
      }
      const { palette } = theme;
      context.clearRect(0, 0, width, CHART_HEIGHT + AXIS_HEIGHT);
      const scale = width / (whole.to - whole.from);
      const bars = (source: Activity, alpha: number) => {
        context.globalAlpha = alpha;
        for (const bar of source.bars) {
          const x = (bar.from - whole.from) * scale;
          const barWidth = (bar.to - bar.from) * scale + 0.5;
          let y = CHART_HEIGHT;
          for (const { state, samples } of states) {
            const height =
              (bar[samples] / whole.top) * (CHART_HEIGHT - TOP_HEIGHT);
            context.fillStyle = palette.kinds[state];
            context.fillRect(x, y - height, barWidth, height);
            y -= height;
          }
        }
        context.globalAlpha = 1;
      };
      if (whole !== activity) {
        bars(whole, 0.25);
      }
      bars(activity, 1);
      context.fillStyle = palette.secondaryText;
      context.font = `11px ${palette.uiFont}`;
      context.textBaseline = 'middle';
      context.textAlign = 'center';
      const labels = labelledTicks(
        whole.from,
        whole.to,
        width,
        formatTick,
        text => context.measureText(text).width
      );
      for (const { text, x } of labels) {
        context.fillText(text, x, CHART_HEIGHT + AXIS_HEIGHT / 2 + 1);
      }
    };
    draw();
    theme.changed.connect(draw);
    return () => {
      theme.changed.disconnect(draw);
    };
  }, [activity, states, whole, width, theme]);

  const secondsAt = (event: React.PointerEvent): number => {
    const rect = box.current?.getBoundingClientRect();
    const share =
      rect === undefined
        ? 0
        : (event.clientX - rect.left) / Math.max(1, rect.width);
    const seconds = whole.from + share * (whole.to - whole.from);
    return Math.min(whole.to, Math.max(whole.from, seconds));
  };
  const range =
    drag !== null
      ? { from: Math.min(drag.from, drag.to), to: Math.max(drag.from, drag.to) }
      : time !== 'all' && 'from' in time
        ? time
        : null;
  const percent = (seconds: number) =>
    Math.min(
      100,
      Math.max(0, ((seconds - whole.from) / (whole.to - whole.from)) * 100)
    );
  const move = (end: 'from' | 'to', step: number) => {
    const current = range ?? { from: whole.from, to: whole.to };
    const next = { ...current, [end]: current[end] + step };
    if (next.to - next.from >= Math.abs(step)) {
      selection.setTime(next);
    }
  };
  const slider = (end: 'from' | 'to', label: string) => {
    const value = (range ?? whole)[end];
    return (
      <div
        className="sw-Profile-handle"
        role="slider"
        tabIndex={0}
        aria-label={label}
        aria-valuemin={whole.from}
        aria-valuemax={whole.to}
        aria-valuenow={value}
        aria-valuetext={formatInstant(value)}
        style={{ left: `${percent(value)}%` }}
        onKeyDown={event => {
          const step = (whole.to - whole.from) / 50;
          if (event.key === 'ArrowLeft' || event.key === 'ArrowRight') {
            event.preventDefault();
            move(end, event.key === 'ArrowLeft' ? -step : step);
          }
        }}
      />
    );
  };
  return (
    <div className="sw-Profile-activity">
      <div className="sw-block-title">
        {trans.__('Activity')}
        <span className="sw-block-aside sw-wide-only">
          {states.length > 1
            ? trans.__('threads on a core and waiting; drag to choose a period')
            : trans.__('threads that ran tasks; drag to choose a period')}
        </span>
        <span className="sw-block-aside sw-figure sw-block-end">
          {range === null ? '' : formatTimeRange(range.from, range.to)}
        </span>
      </div>
      <div
        ref={box}
        className="sw-Profile-activityChart"
        style={{ height: CHART_HEIGHT + AXIS_HEIGHT }}
        onPointerDown={event => {
          if (event.button === 0) {
            event.currentTarget.setPointerCapture(event.pointerId);
            const at = secondsAt(event);
            setDrag({ from: at, to: at });
          }
        }}
        onPointerMove={event => {
          if (drag !== null) {
            setDrag({ from: drag.from, to: secondsAt(event) });
          }
        }}
        onPointerUp={() => {
          if (drag !== null && range !== null) {
            const isDrag = percent(range.to) - percent(range.from) > 0.5;
            selection.setTime(isDrag ? range : 'all');
          }
          setDrag(null);
        }}
        onPointerCancel={() => setDrag(null)}
      >
        <canvas ref={canvas} aria-hidden="true" />
        {whole.bars.length > 0 && (
          <div className="sw-Profile-top" style={{ height: TOP_HEIGHT }}>
            {topText(whole, trans)}
          </div>
        )}
        {range !== null && (
          <div
            className="sw-Profile-range"
            style={{
              left: `${percent(range.from)}%`,
              width: `${percent(range.to) - percent(range.from)}%`,
              height: CHART_HEIGHT
            }}
          />
        )}
        {slider('from', trans.__('Period start'))}
        {slider('to', trans.__('Period end'))}
      </div>
    </div>
  );
}

/** "4 threads": how much the top of the chart is. */
function topText(
  { top, isInThreads }: Activity,
  trans: TranslationBundle
): string {
  return isInThreads
    ? trans._n('%2 thread', '%2 threads', top, formatCount(top))
    : trans._n('%2 sample', '%2 samples', top, formatCount(top));
}
