/** Where a hover card goes in the window: beside what it is about, never over it, never out of the window. */

/** In pixels of the window. */
export type Box = {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
};

type Point = { readonly x: number; readonly y: number };
type Size = { readonly width: number; readonly height: number };

const POINTER_AWAY = 12;
const ITEM_AWAY = 2;
const EDGE = 4;

/**
 * The left top corner of a card: below the item, else above it, else at its right or left.
 * `pointer` is null where the keyboard points, or where the place must not move with the pointer.
 */
export function cardPlace(
  item: Box,
  pointer: Point | null,
  card: Size,
  window: Size
): { readonly left: number; readonly top: number } {
  const { width, height } = card;
  const left = within(
    pointer === null
      ? item.left + 0.4 * (item.right - item.left)
      : pointer.x + POINTER_AWAY + width <= window.width - EDGE
        ? pointer.x + POINTER_AWAY
        : pointer.x - POINTER_AWAY - width,
    width,
    window.width
  );
  const far = pointer === null ? 0 : POINTER_AWAY;
  const y = pointer?.y ?? item.top;
  const below = Math.max(item.bottom + ITEM_AWAY, y + far);
  if (below + height <= window.height - EDGE) {
    return { left, top: Math.max(EDGE, below) };
  }
  const above = Math.min(item.top - ITEM_AWAY, y - far) - height;
  if (above >= EDGE) {
    return { left, top: Math.min(above, window.height - EDGE - height) };
  }
  const top = within(y, height, window.height);
  const right = item.right + ITEM_AWAY;
  if (right + width <= window.width - EDGE) {
    return { left: Math.max(EDGE, right), top };
  }
  // Where no side has room it lies over a part of the item: of the left one, where fewer figures stand.
  return {
    left: within(item.left - ITEM_AWAY - width, width, window.width),
    top
  };
}

function within(start: number, length: number, whole: number): number {
  return Math.max(EDGE, Math.min(start, whole - EDGE - length));
}
