/** The size of an element's content, in pixels: as it is now, or, while its panel is hidden, as it was. */
import * as React from 'react';

export function useSize(
  element: React.RefObject<HTMLElement>,
  widthAtFirst = 0
): { readonly width: number; readonly height: number } {
  const [size, setSize] = React.useState({ width: widthAtFirst, height: 0 });
  // Before the first drawing is seen, which would jump to another size.
  React.useLayoutEffect(() => {
    const shown = element.current;
    if (!shown) {
      return;
    }
    const measure = () => {
      const { clientWidth: width, clientHeight: height } = shown;
      // Of no size: its panel is hidden, and is to come back as it was.
      if (width > 0 || height > 0) {
        setSize(before =>
          before.width === width && before.height === height
            ? before
            : { width, height }
        );
      }
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(shown);
    return () => observer.disconnect();
  }, []);
  return size;
}
