/** The edge by which a drawer is made larger or smaller: dragged, or by arrow keys. The share of its panel that it has is kept by the panel. */
import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { createElement } from '../charts/shown-element';

/** In percent of the panel's width where it stands beside the chart, of its height where below; null: as it was at first. */
export type DrawerSizes = {
  readonly beside?: number | null;
  readonly below?: number | null;
};

type Side = keyof DrawerSizes;

/** Percent: the chart keeps the rest. */
const BOUNDS = {
  beside: { min: 20, max: 60 },
  below: { min: 10, max: 40 }
} as const;
const KEY_STEP = 2;

export function DrawerEdge(props: {
  /** What the user has given it. */
  readonly sizes: DrawerSizes;
  readonly trans: TranslationBundle;
  /** Called while it is dragged, too. */
  onSize(side: Side, percent: number | null): void;
}): JSX.Element {
  const { sizes, trans, onSize } = props;
  const edge = React.useRef<HTMLDivElement>(null);
  const { side, percent } = useStanding(edge);
  const { min, max } = BOUNDS[side];
  /** What it had been given when the press began. */
  const pressed = React.useRef<{ side: Side; size: number | null } | null>(
    null
  );
  const bounded = (to: number) => Math.min(max, Math.max(min, to));
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.key === 'Escape' && pressed.current !== null) {
      onSize(pressed.current.side, pressed.current.size);
      pressed.current = null;
    } else if (event.key === 'Enter') {
      onSize(side, null);
    } else {
      const steps: Record<string, number> =
        side === 'beside'
          ? { ArrowLeft: KEY_STEP, ArrowRight: -KEY_STEP }
          : { ArrowUp: KEY_STEP, ArrowDown: -KEY_STEP };
      const step = steps[event.key];
      if (step === undefined) {
        return;
      }
      // (as it is at first it may be out of bounds: what makes it smaller must not make it larger)
      const to = bounded(percent + step);
      if ((to - percent) * step > 0) {
        onSize(side, to);
      }
    }
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      ref={edge}
      className="sw-drawer-edge"
      role="separator"
      tabIndex={0}
      aria-label={trans.__('Size of what is selected')}
      aria-orientation={side === 'beside' ? 'vertical' : 'horizontal'}
      aria-valuenow={Math.round(percent)}
      aria-valuemin={Math.min(min, Math.round(percent))}
      aria-valuemax={max}
      title={trans.__(
        'Drag, or press arrows; a double click or Enter undoes it'
      )}
      onKeyDown={onKeyDown}
      onDoubleClick={() => onSize(side, null)}
      onPointerDown={event => {
        if (event.button === 0) {
          pressed.current = { side, size: sizes[side] ?? null };
          event.currentTarget.setPointerCapture(event.pointerId);
          event.currentTarget.focus();
          event.preventDefault();
        }
      }}
      onPointerMove={event => {
        const panel = panelOf(edge.current)?.getBoundingClientRect();
        if (pressed.current !== null && panel !== undefined) {
          const to =
            side === 'beside'
              ? (100 * (panel.right - event.clientX)) / panel.width
              : (100 * (panel.bottom - event.clientY)) / panel.height;
          onSize(side, bounded(to));
        }
      }}
      onPointerUp={() => (pressed.current = null)}
      onPointerCancel={() => (pressed.current = null)}
    />
  );
}

/** Custom properties for the style sheet of the panel. */
export function drawerStyle({
  beside,
  below
}: DrawerSizes): React.CSSProperties {
  return {
    ...(typeof beside === 'number' && { '--sw-drawer-beside': `${beside}cqw` }),
    ...(typeof below === 'number' && { '--sw-drawer-below': `${below}cqh` })
  } as React.CSSProperties;
}

/** What was saved, as far as it can be. */
export function readDrawerSizes(saved: unknown): DrawerSizes {
  const sizes = (saved ?? {}) as Record<Side, unknown>;
  const of = (side: Side) => {
    const { min, max } = BOUNDS[side];
    const value = sizes[side];
    return typeof value === 'number' && value >= min && value <= max
      ? { [side]: value }
      : {};
  };
  return { ...of('beside'), ...of('below') };
}

function panelOf(edge: HTMLElement | null): HTMLElement | null {
  return edge?.closest<HTMLElement>('.sw-drawer')?.parentElement ?? null;
}

/** Where the drawer stands, which the style sheet decides, and what share it has. */
function useStanding(edge: React.RefObject<HTMLElement>): {
  readonly side: Side;
  readonly percent: number;
} {
  const [standing, setStanding] = React.useState<{
    readonly side: Side;
    readonly percent: number;
  }>({ side: 'below', percent: BOUNDS.below.max });
  React.useLayoutEffect(() => {
    const drawer = edge.current?.closest<HTMLElement>('.sw-drawer');
    const panel = panelOf(edge.current);
    if (!drawer || !panel) {
      return;
    }
    const measure = () => {
      const whole = panel.getBoundingClientRect();
      const own = drawer.getBoundingClientRect();
      if (whole.width === 0 || whole.height === 0) {
        return;
      }
      const side = own.left > whole.left + 1 ? 'beside' : 'below';
      const percent =
        side === 'beside'
          ? (100 * own.width) / whole.width
          : (100 * own.height) / whole.height;
      setStanding(before =>
        before.side === side && before.percent === percent
          ? before
          : { side, percent }
      );
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(drawer);
    observer.observe(panel);
    return () => observer.disconnect();
  }, [edge]);
  return standing;
}
