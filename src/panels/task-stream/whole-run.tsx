/** The strip of the whole run, and the window on it that is the view: a slider to move, by pointer and by keys. */
import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { createElement } from '../../charts/shown-element';
import { contextOf } from '../../charts/sized-canvas';
import { formatDuration, formatTimeRange } from '../format';
import type { ITheme } from '../panel-context';
import { stripShapes } from './figure';
import { paintStrip } from './frame-painter';
import type { TaskStreamModel } from './model';
import { stripBars, uncountedSentence, uncountedTasks } from './rows';
import { type Viewport, xOf } from './viewport';

const HEIGHT = 36;

export function WholeRun(props: {
  readonly model: TaskStreamModel;
  readonly theme: ITheme;
  readonly trans: TranslationBundle;
}): JSX.Element {
  const { model, theme, trans } = props;
  const canvas = React.useRef<HTMLCanvasElement>(null);
  const box = React.useRef<HTMLDivElement>(null);
  const slider = React.useRef<HTMLDivElement>(null);

  React.useEffect(() => {
    let frame = 0;
    // The strip itself changes with the answer, the theme and the width; a pan moves only the window on it.
    let drawn = '';
    let drawnResult: object | null = null;
    const draw = () => {
      frame = 0;
      const result = model.result;
      if (!canvas.current || !box.current || !slider.current || !result) {
        return;
      }
      const width = box.current.clientWidth;
      const { whole } = model;
      const ratio = window.devicePixelRatio || 1;
      const looks = `${width} ${ratio} ${theme.palette.background} ${whole.from} ${whole.to}`;
      if (width > 0 && (drawn !== looks || drawnResult !== result)) {
        drawn = looks;
        drawnResult = result;
        const context = contextOf(canvas.current, width, HEIGHT, ratio);
        const left = xOf(whole, width, result.from);
        const right = xOf(whole, width, result.to);
        const bars = stripBars(result);
        const shapes = stripShapes(bars, right - left).map(shape => ({
          ...shape,
          x: shape.x + left
        }));
        if (context) {
          paintStrip(context, shapes, { width, height: HEIGHT }, theme.palette);
        }
      }
      placeWindow(slider.current, whole, model.view, width);
    };
    const later = () => {
      frame ||= requestAnimationFrame(draw);
    };
    model.moved.connect(later);
    theme.changed.connect(later);
    const observer = new ResizeObserver(later);
    if (box.current) {
      observer.observe(box.current);
    }
    later();
    return () => {
      cancelAnimationFrame(frame);
      observer.disconnect();
      model.moved.disconnect(later);
      theme.changed.disconnect(later);
    };
  }, [model, theme]);

  const drag = React.useRef<{ x: number; view: Viewport } | null>(null);
  const onPointerDown = (event: React.PointerEvent<HTMLDivElement>) => {
    const target = box.current;
    const result = model.result;
    if (!target || !result || event.button !== 0) {
      return;
    }
    const rect = target.getBoundingClientRect();
    const { whole } = model;
    const at =
      whole.from +
      ((event.clientX - rect.left) / rect.width) * (whole.to - whole.from);
    const { from, to } = model.view;
    // A press outside the window brings it there; then it is dragged.
    const isInside = at >= from && at <= to;
    const half = (to - from) / 2;
    const view = isInside ? model.view : { from: at - half, to: at + half };
    if (!isInside) {
      model.setView(view);
    }
    drag.current = { x: event.clientX, view };
    target.setPointerCapture(event.pointerId);
  };
  const onPointerMove = (event: React.PointerEvent<HTMLDivElement>) => {
    const result = model.result;
    if (!drag.current || !result || !box.current) {
      return;
    }
    const { whole } = model;
    const seconds =
      ((event.clientX - drag.current.x) / box.current.clientWidth) *
      (whole.to - whole.from);
    const { from, to } = drag.current.view;
    if (Math.abs(event.clientX - drag.current.x) > 2) {
      model.setView({ from: from + seconds, to: to + seconds });
    }
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    const steps: Record<string, number> = {
      ArrowLeft: -0.1,
      ArrowRight: 0.1,
      PageUp: -1,
      PageDown: 1
    };
    const step = steps[event.key];
    if (step !== undefined) {
      model.panByShare(step);
    } else if (event.key === 'Home' || event.key === 'End') {
      const { from, to } = model.view;
      const edge =
        event.key === 'Home' ? model.extent.from - from : model.extent.to - to;
      model.pan(edge);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  const result = model.result;
  const total = result === null ? 0 : result.to - result.from;
  const { from, to } = model.view;
  const busy = trans.__(
    'How many threads were busy: grey with computing, orange with the disk, red with transfers. A task that failed is a cross above.'
  );
  const uncounted =
    result === null
      ? ''
      : uncountedSentence(
          [...uncountedTasks(result).values()].reduce((a, b) => a + b, 0),
          trans
        );
  return (
    <div className="sw-TaskStream-row" data-part="whole">
      <div
        className="sw-TaskStream-gutter"
        title={trans.__(
          'From the first submission to the last stop, with the pauses between cells. The wall time of Fine Performance Metrics leaves pauses out: it is the time while there were tasks.'
        )}
      >
        {trans.__('whole run')}
        <br />
        <span className="sw-figure">{formatDuration(total)}</span>
        <br />
        {trans.__('with pauses')}
      </div>
      <div
        ref={box}
        className="sw-TaskStream-whole"
        title={uncounted === '' ? busy : `${busy} ${uncounted}`}
        onPointerDown={onPointerDown}
        onPointerMove={onPointerMove}
        onPointerUp={() => {
          drag.current = null;
        }}
        onPointerCancel={() => {
          drag.current = null;
        }}
        onDoubleClick={() => model.fitWhole()}
      >
        <canvas ref={canvas} aria-hidden="true" />
        <div
          ref={slider}
          className="sw-TaskStream-window"
          role="slider"
          tabIndex={0}
          aria-label={trans.__('Whole run')}
          aria-valuemin={0}
          aria-valuemax={Number(total.toFixed(3))}
          aria-valuenow={Number(Math.max(0, from).toFixed(3))}
          aria-valuetext={formatTimeRange(Math.max(0, from), to)}
          onKeyDown={onKeyDown}
        />
      </div>
    </div>
  );
}

/** Set as a style, not through React: it moves with every frame of a pan. */
function placeWindow(
  element: HTMLElement,
  whole: Viewport,
  view: Viewport,
  width: number
): void {
  const left = Math.max(0, xOf(whole, width, view.from));
  const right = Math.min(width, xOf(whole, width, view.to));
  element.style.left = `${left}px`;
  element.style.width = `${Math.max(4, right - left)}px`;
}
