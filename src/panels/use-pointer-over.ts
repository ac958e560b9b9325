/**
 * Whether the pointer is over an element. React alone does not tell: it derives leaving from an event of the element that the pointer was on,
 * and an element that a click has removed from the page sends no more events.
 */
import * as React from 'react';

export function usePointerOver(element: React.RefObject<HTMLElement>): {
  readonly isOver: boolean;
  /** For the element's `onPointerEnter`. */
  readonly enter: () => void;
} {
  const [isOver, setIsOver] = React.useState(false);
  React.useEffect(() => {
    if (!isOver) {
      return;
    }
    const onMove = (event: Event) => {
      const { target } = event;
      if (!(target instanceof Node && element.current?.contains(target))) {
        setIsOver(false);
      }
    };
    const onLeave = () => setIsOver(false);
    // The pointer's next move anywhere in the page, and its leaving of the page.
    document.addEventListener('pointermove', onMove, true);
    document.documentElement.addEventListener('pointerleave', onLeave);
    return () => {
      document.removeEventListener('pointermove', onMove, true);
      document.documentElement.removeEventListener('pointerleave', onLeave);
    };
  }, [isOver, element]);
  return { isOver, enter: () => setIsOver(true) };
}
