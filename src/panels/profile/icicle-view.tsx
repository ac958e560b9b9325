/** The icicle: a canvas of frames that a pointer or the arrow keys walk through. The focused frame is described in words beside it. */
import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { createElement } from '../../charts/shown-element';
import { PatternFills } from '../../charts/theme';
import { contextOf } from '../../charts/sized-canvas';
import { FloatingCard } from '../floating-card';
import type { ITheme } from '../panel-context';
import { useSize } from '../use-size';
import { type FrameShape, icicle, rowHeight, shapeAt } from './figure';
import { paintFrames } from './frame-painter';
import {
  factsOf,
  type Found,
  type FrameTree,
  labelOf,
  remarkOnImports
} from './rows';

type IcicleViewProps = {
  readonly tree: FrameTree;
  readonly focus: number | null;
  readonly selected: number | null;
  readonly found: Found | null;
  readonly theme: ITheme;
  readonly trans: TranslationBundle;
  onZoom(node: number | null): void;
  onSelect(node: number | null): void;
};

export function IcicleView(props: IcicleViewProps): JSX.Element {
  const { tree, focus, selected, theme, trans } = props;
  const box = React.useRef<HTMLDivElement>(null);
  const canvas = React.useRef<HTMLCanvasElement>(null);
  const size = useSize(box);
  const [hovered, setHovered] = React.useState<Pointer | null>(null);
  const timer = React.useRef(0);
  const drawn = React.useMemo(
    () => icicle(tree, focus, size.width),
    [tree, focus, size.width]
  );
  const height = rowHeight(drawn.rows, size.height);

  React.useEffect(() => () => window.clearTimeout(timer.current), []);

  React.useEffect(() => {
    const draw = () => {
      if (canvas.current && size.width > 0) {
        const context = contextOf(
          canvas.current,
          size.width,
          Math.max(1, drawn.rows * height),
          window.devicePixelRatio || 1
        );
        if (context) {
          context.clearRect(0, 0, context.canvas.width, context.canvas.height);
          const { palette } = theme;
          const fills = new PatternFills(
            context,
            palette,
            window.devicePixelRatio || 1
          );
          paintFrames(
            context,
            { ...props, shapes: drawn.shapes, height, palette },
            (kind, width) => fills.kind(kind, width)
          );
        }
      }
    };
    draw();
    theme.changed.connect(draw);
    return () => {
      theme.changed.disconnect(draw);
    };
  });

  const shapeUnder = ({ x, y }: Pointer): FrameShape | null => {
    const rect = canvas.current?.getBoundingClientRect();
    return rect === undefined
      ? null
      : shapeAt(
          drawn.shapes,
          x - rect.left,
          Math.floor((y - rect.top) / height)
        );
  };
  const show = (next: Pointer | null, afterMilliseconds: number) => {
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(
      () => setHovered(next),
      afterMilliseconds
    );
  };
  const hide = () => {
    window.clearTimeout(timer.current);
    setHovered(null);
  };
  const onPointerMove = (event: React.PointerEvent) => {
    const pointer = { x: event.clientX, y: event.clientY };
    show(shapeUnder(pointer) && pointer, hovered === null ? 80 : 0);
  };
  // Each answer may move frames below a pointer that rests.
  const pointed = hovered && shapeUnder(hovered);
  // When no frame is there, no later one must get a card: the pointer may be elsewhere.
  const isOverNone = hovered !== null && pointed === null;
  React.useEffect(() => {
    if (isOverNone) {
      setHovered(null);
    }
  }, [isOverNone]);
  return (
    <div
      ref={box}
      className="sw-Profile-icicle"
      role="application"
      tabIndex={0}
      aria-label={trans.__('Profile chart')}
      aria-roledescription={trans.__('icicle of frames')}
      aria-description={selected === null ? '' : labelOf(tree, selected, trans)}
      onPointerMove={onPointerMove}
      onPointerLeave={hide}
      onClick={event => {
        const shape = shapeUnder({ x: event.clientX, y: event.clientY });
        // The frame that it is about goes elsewhere.
        hide();
        props.onSelect(shape?.node ?? null);
        if (shape !== null && !event.shiftKey) {
          // The root zoomed to is no zoom.
          props.onZoom(tree.depth[shape.node] === 0 ? null : shape.node);
        }
      }}
      onKeyDown={event => {
        const act = keyAction(event.key, props);
        if (act !== null) {
          event.preventDefault();
          event.stopPropagation();
          act();
        }
      }}
    >
      <canvas ref={canvas} aria-hidden="true" />
      {hovered !== null && pointed !== null && (
        <FloatingCard
          pointer={hovered}
          boxOf={() => {
            const { left, top } = canvas.current!.getBoundingClientRect();
            return {
              left: left + pointed.x,
              top: top + pointed.row * height,
              right: left + pointed.x + pointed.width,
              bottom: top + (pointed.row + 1) * height
            };
          }}
          onGone={hide}
        >
          <FrameFacts tree={tree} node={pointed.node} trans={trans} />
        </FloatingCard>
      )}
    </div>
  );
}

/** Where it is in the window. */
type Pointer = { readonly x: number; readonly y: number };

function FrameFacts(props: {
  readonly tree: FrameTree;
  readonly node: number;
  readonly trans: TranslationBundle;
}): JSX.Element {
  const { tree, node, trans } = props;
  const facts = factsOf(tree, node, trans);
  return (
    <>
      <div className="sw-card-head">
        <strong>{facts.name}</strong>
        <span className="sw-card-aside">{facts.totalShare}</span>
      </div>
      {facts.place !== '' && <code className="sw-card-key">{facts.place}</code>}
      <dl className="sw-card-rows">
        <dt>{trans.__('total')}</dt>
        <dd>{`${facts.totalText}, ${facts.totalShare}`}</dd>
        <dt>{trans.__('self')}</dt>
        <dd>{`${facts.selfText}, ${facts.selfShare}`}</dd>
        {facts.states
          .filter(state => state.share > 0)
          .map(state => (
            <React.Fragment key={state.state}>
              <dt>{state.label}</dt>
              <dd>{state.text}</dd>
            </React.Fragment>
          ))}
      </dl>
      {tree.importing[node] === 1 && (
        <div className="sw-card-why">{remarkOnImports(trans)}</div>
      )}
      <div className="sw-card-hint">
        {trans.__('click: zoom and details · Shift click: details')}
      </div>
    </>
  );
}

/** Arrows go to caller, called and neighbour; Enter zooms, Escape goes one zoom back. */
function keyAction(key: string, props: IcicleViewProps): (() => void) | null {
  const { tree, selected, focus, onSelect, onZoom } = props;
  const node = selected ?? focus ?? 0;
  const parent = tree.parent[node] ?? -1;
  const siblings = parent < 0 ? [node] : (tree.children[parent] ?? []);
  const go = (next: number | undefined) =>
    next === undefined || next < 0 ? null : () => onSelect(next);
  switch (key) {
    case 'ArrowUp':
      return go(parent);
    case 'ArrowDown':
      return selected === null
        ? () => onSelect(node)
        : go(tree.children[node]?.[0]);
    case 'ArrowLeft':
      return go(siblings[siblings.indexOf(node) - 1]);
    case 'ArrowRight':
      return go(siblings[siblings.indexOf(node) + 1]);
    case 'Enter':
      return () => onZoom((tree.depth[node] ?? 0) === 0 ? null : node);
    case 'Escape':
      if (focus === null) {
        return selected === null ? null : () => onSelect(null);
      }
      return () => {
        const above = tree.parent[focus] ?? -1;
        onZoom(above < 0 || tree.depth[above] === 0 ? null : above);
      };
    default:
      return null;
  }
}
