/**
 * A hover card that no panel cuts off. It stays where it is in the page's tree, so that it is hidden with its panel, and is shown in the
 * browser's top layer: panels clip what they contain, also what is placed in the window.
 */
import * as React from 'react';
import { createElement } from '../charts/shown-element';
import { type Box, cardPlace } from './card-place';

export function FloatingCard(props: {
  readonly children: React.ReactNode;
  /** Null: the card stands by the item alone. */
  readonly pointer?: { readonly x: number; readonly y: number };
  /** What the card is about, as it is now in the window. */
  boxOf(): Box;
  /** What it is about has scrolled away or is hidden, or Escape has closed it. */
  onGone(): void;
}): JSX.Element {
  const { children, pointer = null } = props;
  const element = React.useRef<HTMLDivElement>(null);
  const placedBy = React.useRef<Box | null>(null);
  const latest = React.useRef(props);
  latest.current = props;
  // After each drawing: new figures change its size, and others may have moved the item.
  React.useLayoutEffect(() => {
    const card = element.current;
    if (!card) {
      return;
    }
    const hasTopLayer = 'showPopover' in card;
    if (hasTopLayer && !card.hasAttribute('popover')) {
      card.setAttribute('popover', 'manual');
      card.showPopover();
    }
    const item = props.boxOf();
    placedBy.current = item;
    const size = { width: card.offsetWidth, height: card.offsetHeight };
    if (!hasTopLayer) {
      placeWithinPanel(card, item, pointer, size);
      return;
    }
    const { left, top } = cardPlace(item, pointer, size, {
      width: window.innerWidth,
      height: window.innerHeight
    });
    card.style.left = `${left}px`;
    card.style.top = `${top}px`;
  });
  React.useEffect(() => {
    const card = element.current;
    if (!card) {
      return;
    }
    const onMove = () => {
      const before = placedBy.current;
      const now = latest.current.boxOf();
      // Not if something else scrolled, or if the focus had scrolled the item into view before the card came.
      if (before?.left !== now.left || before.top !== now.top) {
        latest.current.onGone();
      }
    };
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key === 'Escape') {
        latest.current.onGone();
      }
    };
    // (the keyboard's focus may be anywhere, and what has it may keep Escape to itself)
    document.addEventListener('keydown', onKeyDown, true);
    document.addEventListener('scroll', onMove, true);
    window.addEventListener('resize', onMove);
    const observer = new ResizeObserver(() => {
      // Of no size: its panel is hidden.
      if (card.offsetWidth === 0) {
        latest.current.onGone();
      } else {
        onMove();
      }
    });
    observer.observe(card);
    // (who moves a panel's border gives it another size, and nothing scrolls)
    const panel = card.closest('.sw-panel-widget');
    if (panel !== null) {
      observer.observe(panel);
    }
    return () => {
      document.removeEventListener('keydown', onKeyDown, true);
      document.removeEventListener('scroll', onMove, true);
      window.removeEventListener('resize', onMove);
      observer.disconnect();
    };
  }, []);
  return (
    <div ref={element} className="sw-card" role="tooltip">
      {children}
    </div>
  );
}

/**
 * In browsers without popovers (before Firefox 125 and Safari 17): a panel is a query container: fixed elements in it are placed from its
 * corner and cut off at its edge.
 */
function placeWithinPanel(
  card: HTMLElement,
  item: Box,
  pointer: { readonly x: number; readonly y: number } | null,
  size: { readonly width: number; readonly height: number }
): void {
  const panel = card.closest('.sw-panel-widget');
  const { left, top, width, height } = panel?.getBoundingClientRect() ?? {
    left: 0,
    top: 0,
    width: window.innerWidth,
    height: window.innerHeight
  };
  const place = cardPlace(
    {
      left: item.left - left,
      top: item.top - top,
      right: item.right - left,
      bottom: item.bottom - top
    },
    pointer && { x: pointer.x - left, y: pointer.y - top },
    size,
    { width, height }
  );
  card.style.left = `${place.left}px`;
  card.style.top = `${place.top}px`;
}
