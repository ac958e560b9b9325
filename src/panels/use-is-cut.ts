/** Whether a line of text is longer than its element shows. */
import * as React from 'react';

/** @param isWhole - it has several lines now: whether one would be enough is as it was. */
export function useIsCut(
  element: React.RefObject<HTMLElement>,
  text: string,
  isWhole: boolean
): boolean {
  const [isCut, setIsCut] = React.useState(false);
  // Before the first drawing is seen, which would jump otherwise.
  React.useLayoutEffect(() => {
    const shown = element.current;
    if (!shown || isWhole) {
      return;
    }
    const measure = () => setIsCut(shown.scrollWidth > shown.clientWidth);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(shown);
    return () => observer.disconnect();
  }, [text, isWhole]);
  return isCut;
}
