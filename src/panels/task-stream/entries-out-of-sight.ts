/** How many entries of a list that wraps have no room in it. */
import * as React from 'react';

/**
 * @param isWhole - it shows all of them now: how many it had no room for is as it was.
 * @param isThere - whether the list is drawn by now.
 * @param more - the entry at its end that lies over others, and is none of them.
 */
export function useEntriesOutOfSight(
  list: React.RefObject<HTMLElement>,
  more: React.RefObject<HTMLElement>,
  isWhole: boolean,
  isThere: boolean
): number {
  const [count, setCount] = React.useState(0);
  const measure = React.useCallback(() => {
    const { current: shown } = list;
    if (shown === null || isWhole) {
      return;
    }
    const port = shown.getBoundingClientRect();
    const end = more.current?.getBoundingClientRect();
    const entries = [...shown.children].filter(each => each !== more.current);
    const isBelow = (box: DOMRect) =>
      box.bottom + shown.scrollTop > port.bottom + 1;
    const isUnderMore = (box: DOMRect) =>
      end !== undefined &&
      box.bottom > end.top &&
      box.top < end.bottom &&
      box.right > end.left;
    const boxes = entries.map(each => each.getBoundingClientRect());
    // (where all have room, what lies over some is about to go)
    setCount(
      boxes.some(isBelow)
        ? boxes.filter(box => isBelow(box) || isUnderMore(box)).length
        : 0
    );
  }, [list, more, isWhole]);
  // Before the drawing is seen, which would jump otherwise; what it shows may have changed with any.
  React.useLayoutEffect(measure);
  React.useLayoutEffect(() => {
    const { current: shown } = list;
    if (shown === null) {
      return;
    }
    const observer = new ResizeObserver(measure);
    observer.observe(shown);
    return () => observer.disconnect();
  }, [list, measure, isThere]);
  return count;
}
