import fc from 'fast-check';
import { type Box, cardPlace } from '../card-place';

const window = { width: 1100, height: 700 };
const card = { width: 340, height: 210 };
const place = (item: Box, pointer: { x: number; y: number } | null) => {
  const { left, top } = cardPlace(item, pointer, card, window);
  return {
    left,
    top,
    right: left + card.width,
    bottom: top + card.height
  };
};
const meet = (a: Box, b: Box) =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
const row = (left: number, top: number, width = 300): Box => ({
  left,
  top,
  right: left + width,
  bottom: top + 22
});

it('stands below its item, 12 px from the pointer', () => {
  const item = row(100, 100);
  expect(place(item, { x: 150, y: 118 })).toMatchObject({
    left: 162,
    top: 130
  });
  expect(place(item, { x: 150, y: 101 })).toMatchObject({
    left: 162,
    top: 124
  });
  expect(place(item, null)).toMatchObject({ left: 220, top: 124 });
});

it('goes above and to the left where below and at the right there is no room', () => {
  const item = row(760, 640);
  expect(place(item, { x: 1000, y: 650 })).toMatchObject({
    right: 988,
    bottom: 638
  });
  expect(place(item, null)).toMatchObject({ right: 1096, bottom: 638 });
});

it('goes beside what is as high as the window', () => {
  const high = { left: 400, top: 0, right: 430, bottom: 700 };
  expect(place(high, { x: 410, y: 300 })).toMatchObject({
    left: 432,
    top: 300
  });
  const right = { left: 1000, top: 0, right: 1100, bottom: 700 };
  expect(place(right, { x: 1050, y: 690 })).toMatchObject({
    right: 998,
    bottom: 696
  });
});

it('is never out of the window, and never over a row or the pointer', () => {
  fc.assert(
    fc.property(
      // Rows may be scrolled partly out of the window.
      fc.integer({ min: -200, max: 1050 }),
      fc.integer({ min: -20, max: 695 }),
      fc.integer({ min: 1, max: 1400 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.boolean(),
      (left, top, width, at, hasPointer) => {
        const item = row(left, top, width);
        const pointer = {
          x: Math.max(0, Math.min(window.width, left + at * width)),
          y: Math.max(0, Math.min(window.height, top + at * 22))
        };
        const placed = place(item, hasPointer ? pointer : null);
        expect(placed.left).toBeGreaterThanOrEqual(4);
        expect(placed.top).toBeGreaterThanOrEqual(4);
        expect(placed.right).toBeLessThanOrEqual(window.width - 4);
        expect(placed.bottom).toBeLessThanOrEqual(window.height - 4);
        expect(meet(placed, item)).toBe(false);
      }
    )
  );
});
