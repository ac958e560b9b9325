/**
 * What stands for a colour in HTML: a kind of time, a function's slot, a user's label or a cause of being idle, each with its pattern. The classes are
 * those of style/patterns.css; canvases draw the same from src/charts.
 */
import type * as React from 'react';
import { createElement } from '../charts/shown-element';
import {
  IDLE_PATTERNS,
  type IdleCause,
  type Kind,
  KIND_PATTERNS,
  labelLook,
  RUNNING_BOX_FILL,
  RUNNING_FILL
} from '../charts/palette';
import { topLines } from '../charts/theme';
import { functionProperty } from './function-property';

export type Mark =
  | {
      readonly kind:
        | Kind
        | 'rest'
        | 'running'
        | 'seceded'
        | 'cancelled'
        | 'cancelled-running';
    }
  | { readonly slot: number; readonly round: number }
  /** A task of this function's slot that runs. */
  | { readonly runningSlot: number }
  | { readonly idle: IdleCause }
  /** A look of a user's label. */
  | { readonly label: number }
  /** A custom property of src/charts/palette.ts, plain. */
  | { readonly property: string };

/** Class and style of an element that shows `mark`; `className` is put before. */
export function markOf(
  mark: Mark,
  className: string
): { readonly className: string; readonly style: React.CSSProperties } {
  if ('idle' in mark) {
    const pattern = IDLE_PATTERNS[mark.idle];
    return { className: join(className, 'sw-idle', pattern), style: {} };
  }
  const style = (property: string) =>
    ({ '--sw-fill': `var(${property})` }) as React.CSSProperties;
  if ('label' in mark) {
    const { colour, pattern } = labelLook(mark.label);
    return {
      className: join(className, '', pattern),
      style: style(`--sw-label-${colour + 1}`)
    };
  }
  if ('property' in mark) {
    return { className: join(className), style: style(mark.property) };
  }
  if ('runningSlot' in mark) {
    const fill = runningFill(
      functionProperty(mark.runningSlot),
      RUNNING_BOX_FILL
    );
    return {
      className: join(className, 'sw-running-edge'),
      style: {
        '--sw-fill': fill,
        '--sw-edge': `var(${functionProperty(mark.runningSlot)})`
      } as React.CSSProperties
    };
  }
  if ('slot' in mark) {
    const lines = topLines(mark);
    return {
      className: join(className) + (lines > 0 ? ` sw-toplines-${lines}` : ''),
      style: style(functionProperty(mark.slot))
    };
  }
  if (mark.kind === 'running') {
    // A running task may still become any kind.
    return {
      className: join(className),
      style: {
        '--sw-fill': runningFill('--sw-kind-cpu', RUNNING_FILL)
      } as React.CSSProperties
    };
  }
  if (mark.kind === 'seceded') {
    // Of whatever function.
    return {
      className: join(className, 'sw-outline', 'backslash'),
      style: style('--sw-fn-other')
    };
  }
  if (mark.kind === 'cancelled') {
    // Of whatever function.
    return {
      className: `${join(className)} sw-struck`,
      style: style('--sw-fn-other')
    };
  }
  if (mark.kind === 'cancelled-running') {
    return {
      className: `${join(className)} sw-struck`,
      style: {
        '--sw-fill': runningFill('--sw-fn-other', RUNNING_BOX_FILL),
        '--sw-pattern-line': 'var(--jp-ui-font-color1)'
      } as React.CSSProperties
    };
  }
  if (mark.kind === 'rest') {
    // Not known to be work or idle time: pale like idle time.
    return { className: join(className, 'sw-idle', 'cross'), style: {} };
  }
  return {
    className:
      join(className, '', KIND_PATTERNS[mark.kind]) +
      (mark.kind === 'failed' ? ' sw-failed' : ''),
    style: style(`--sw-kind-${mark.kind}`)
  };
}

/** As `runningFill` of src/charts/theme.ts, of a custom property. */
function runningFill(property: string, share: number): string {
  return `color-mix(in srgb, var(${property}) ${share * 100}%, var(--jp-layout-color1))`;
}

export function Swatch(props: { readonly mark: Mark }): JSX.Element {
  return <span {...markOf(props.mark, 'sw-swatch')} aria-hidden="true" />;
}

function join(className: string, extra = '', pattern = 'plain'): string {
  const base = `${className} ${extra === '' ? 'sw-fill' : `sw-fill ${extra}`}`;
  return pattern === 'plain' ? base : `${base} sw-pattern-${pattern}`;
}
