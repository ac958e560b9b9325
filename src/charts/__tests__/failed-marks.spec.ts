/** How failed boxes are drawn and found that are too narrow to be seen. */
import fc from 'fast-check';
import {
  Crosses,
  drawFailedMark,
  type FailedBox,
  failedMarks,
  isThin,
  markAt
} from '../failed-marks';
import { SvgInk } from '../ink';
import { COLOURS, type ShadeColours } from '../palette';

const LANE = { y: 10, height: 20 };

function box(left: number, right = left, runs = 1): FailedBox<number> {
  return { left, right, runs, of: left };
}

const aBox = fc
  .record({
    left: fc.integer({ min: -20, max: 500 }),
    width: fc.oneof(fc.constant(0), fc.nat(3), fc.nat(60)),
    runs: fc.oneof(fc.constant(1), fc.integer({ min: 2, max: 9 }))
  })
  .map(({ left, width, runs }) => box(left, left + width, runs));

type Rect = { x: number; y: number; width: number; height: number };

/** Rectangles of a colour, and how many ✕. */
function drawn(
  boxes: readonly FailedBox<number>[],
  colours: ShadeColours = COLOURS.light,
  lane = LANE
) {
  const ink = new SvgInk(() => 0);
  const crosses = new Crosses(1);
  for (const mark of failedMarks(boxes, 1)) {
    drawFailedMark(ink, colours, mark, lane, crosses, 600, 1);
  }
  const svg = new DOMParser().parseFromString(
    `<svg xmlns="http://www.w3.org/2000/svg">${ink.drawn.markup}</svg>`,
    'image/svg+xml'
  );
  const rects = [...svg.querySelectorAll('rect')].map(each => {
    const of = (name: string) => Number(each.getAttribute(name));
    const place: Rect = {
      x: of('x'),
      y: of('y'),
      width: of('width'),
      height: of('height')
    };
    return { ...place, fill: each.getAttribute('fill') };
  });
  return { rects, crosses: svg.querySelectorAll('path').length };
}

describe('marks of failed boxes', () => {
  it('have each box once, lie apart, and are wide enough to be seen', () => {
    fc.assert(
      fc.property(fc.array(aBox, { maxLength: 30 }), boxes => {
        const marks = failedMarks(boxes, 1);
        const sum = (of: readonly { readonly runs: number }[]) =>
          of.reduce((all, { runs }) => all + runs, 0);
        expect(sum(marks)).toBe(sum(boxes));
        const ordered = (values: readonly number[]) =>
          [...values].sort((a, b) => a - b);
        expect(ordered(marks.flatMap(mark => mark.of))).toEqual(
          ordered(boxes.map(({ of }) => of))
        );
        marks.forEach((mark, i) => {
          expect(mark.right - mark.left).toBeGreaterThanOrEqual(5);
          expect(mark.left).toBeGreaterThan(marks[i - 1]?.right ?? -Infinity);
        });
        for (const each of boxes) {
          const own = markAt(marks, LANE, each.left, LANE.y, 1);
          expect(own?.of).toContain(each.of);
        }
      })
    );
  });

  it('are of boxes narrower than they, and of several runs', () => {
    expect(isThin(box(100, 104), 1)).toBe(true);
    expect(isThin(box(100, 105), 1)).toBe(false);
    expect(isThin(box(100, 109), 2)).toBe(true);
    expect(isThin(box(100, 300, 2), 1)).toBe(true);
  });

  it.each(['light', 'dark'] as const)(
    'are black between white edges over the whole lane: %s',
    shade => {
      const { rects, crosses } = drawn([box(100)], COLOURS[shade]);
      const [edge, black] = rects;
      expect(edge).toMatchObject({ x: 100, width: 5, y: 10, height: 20 });
      expect(edge!.fill).toBe('#ffffff');
      expect(black).toMatchObject({ x: 101, width: 3, y: 10, height: 20 });
      expect(black!.fill).toBe(COLOURS[shade].kinds.failed);
      expect(crosses).toBe(1);
    }
  );

  it('have no ✕ in a lane that is too low for it, and none over another', () => {
    const low = drawn([box(100)], COLOURS.light, { y: 10, height: 8 });
    expect([low.rects.length, low.crosses]).toEqual([2, 0]);
    const near = drawn([box(100), box(107), box(120)]);
    expect(near.crosses).toBe(2);
  });

  it('leave the boxes of a lane to be seen where many fail side by side', () => {
    const many = Array.from({ length: 40 }, (_, i) => box(100 + 3 * i));
    const { rects, crosses } = drawn(many);
    const [edge] = rects;
    expect(edge).toMatchObject({ x: 100, y: 10, width: 122, height: 7 });
    expect(crosses).toBe(1);
    const marks = failedMarks(many, 1);
    expect(marks).toHaveLength(1);
    expect(marks[0]!.runs).toBe(40);
    // There the boxes are found, and the mark where it is.
    expect(markAt(marks, LANE, 150, 12, 1)).toBe(marks[0]);
    expect(markAt(marks, LANE, 150, 25, 1)).toBeUndefined();
  });

  it('draw what of them is in the picture', () => {
    const { rects } = drawn([box(-400, 5000, 7), box(-30), box(6000)]);
    for (const { x, width } of rects) {
      expect(x).toBeGreaterThanOrEqual(-10);
      expect(x + width).toBeLessThanOrEqual(610);
    }
    expect(rects.length).toBeGreaterThan(0);
  });
});
