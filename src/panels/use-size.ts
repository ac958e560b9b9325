/** The size of an element's content, in pixels, as it is now. */
import * as React from 'react';

export function useSize(
  element: React.RefObject<HTMLElement>,
  widthAtFirst = 0
): { readonly width: number; readonly height: number } {
  const [size, setSize] = React.useState({ width: widthAtFirst, height: 0 });
  React.useEffect(() => {
    const shown = element.current;
    if (!shown) {
      return;
    }
    const observer = new ResizeObserver(() =>
      setSize({ width: shown.clientWidth, height: shown.clientHeight })
    );
    observer.observe(shown);
    return () => observer.disconnect();
  }, []);
  return size;
}
