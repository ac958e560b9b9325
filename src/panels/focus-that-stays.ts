/** What has the focus may go away with a drawing, as a link does that was followed: the focus would fall to the page's body. */
import * as React from 'react';

/** Where it goes then, the first that is there within what encloses the part: selectors, by what had the focus in the part. */
export function useFocusThatStays(
  part: React.RefObject<HTMLElement>,
  enclosing: string,
  placesOf: (had: Element) => readonly string[]
): void {
  const { activeElement } = document;
  const had =
    part.current?.contains(activeElement) === true ? activeElement : null;
  // As long as they are there: the part may go away as a whole.
  const home = had?.closest(enclosing);
  const places = had === null ? [] : placesOf(had);
  React.useLayoutEffect(() => {
    if (had?.isConnected !== false) {
      return;
    }
    for (const place of places) {
      const next = home?.querySelector<HTMLElement>(place);
      if (next) {
        next.focus({ preventScroll: true });
        return;
      }
    }
  });
}
