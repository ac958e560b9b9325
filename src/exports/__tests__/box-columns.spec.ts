/** Boxes of an exported picture that are narrower than a pixel are merged, and none is lost. */
import fc from 'fast-check';
import { BOX_KINDS } from '../../panels/task-stream/rows';
import { boxColumns } from '../page/box-columns';
import type { DrawnBox } from '../page/drawn-boxes';

const EXACT = 255;
const WIDTH = 10;
/** A second is a pixel. */
const VIEW = { from: 0, to: WIDTH };

const box = (
  from: number,
  to: number,
  more: Partial<DrawnBox> = {}
): DrawnBox => ({
  lane: 0,
  from,
  to,
  function: 0,
  kind: BOX_KINDS.indexOf('compute'),
  strip: 0,
  tasks: 1,
  record: 0,
  ...more
});
const FAILED = { kind: BOX_KINDS.indexOf('failed') };

/** Function, begin, end and cover of each that is drawn. */
function drawn(boxes: readonly DrawnBox[], view = VIEW) {
  const columns = boxColumns(boxes, view, WIDTH);
  return Array.from(columns.from, (from, row) => [
    columns.function[row],
    from,
    columns.to[row],
    columns.cover[row]
  ]);
}

it('are one a pixel, of the colour that took longest, however many there are', () => {
  const count = 10_000;
  const boxes = Array.from({ length: count }, (_, n) => {
    const from = (n * WIDTH) / count;
    // Of three functions, half of the time.
    const fn = [0, 1, 2, 1][n % 4]!;
    return box(from, from + WIDTH / count / 2, { function: fn });
  });
  const rows = drawn(boxes);
  expect(rows).toHaveLength(WIDTH);
  for (const [fn, from, to, cover] of rows) {
    expect(fn).toBe(1);
    expect(to! - from!).toBe(1);
    expect(Math.abs(cover! - EXACT / 2)).toBeLessThan(1);
  }
});

it('keep the others as they are, and lie under them as runs and over them as parts', () => {
  const part = { tasks: 0, function: 1 } as const;
  expect(
    drawn([
      box(0.5, 2.5),
      box(2.5, 3),
      box(3, 9, { function: 2 }),
      box(4, 6, part),
      box(5, 5.5, part)
    ])
  ).toEqual([
    [0, 2, 3, Math.round(EXACT / 2)],
    [0, 0.5, 2.5, EXACT],
    [2, 3, 9, EXACT],
    [1, 4, 6, EXACT],
    [1, 5, 6, Math.round(EXACT / 2)]
  ]);
});

it('are not merged across lanes and layers, nor what failed with others', () => {
  const boxes = [
    box(1, 1.1),
    box(1.1, 1.2, { lane: 1 }),
    box(1.2, 1.3, { function: 1 }),
    box(1.3, 1.4, FAILED),
    box(1.4, 1.5, { ...FAILED, function: 1 }),
    box(1, 1.1, { tasks: 0 }),
    box(1, 1.1, { tasks: 0, strip: 1 })
  ];
  expect(drawn(boxes)).toHaveLength(5);
});

it('are seen if they failed, and if they took no time', () => {
  expect(drawn([box(1.2, 1.201, FAILED)])).toEqual([[0, 1, 2, EXACT]]);
  expect(drawn([box(1.2, 1.2)])).toEqual([[0, 1, 2, 1]]);
});

it('are not drawn beside the view', () => {
  const boxes = [box(0, 0.5), box(3, 3.1), box(9, 9.5), box(12, 20)];
  // Five pixels a second.
  expect(drawn(boxes, { from: 2, to: 4 })).toEqual([
    [0, 5, 6, Math.round(EXACT / 2)]
  ]);
});

it('cover as many seconds as they took', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          gap: fc.double({ min: 0, max: 0.5, noNaN: true }),
          length: fc.double({ min: 0.01, max: 0.99, noNaN: true })
        }),
        { maxLength: 8 }
      ),
      spells => {
        let end = 0;
        const boxes = spells.map(({ gap, length }) => {
          const from = end + gap;
          end = from + length;
          return box(from, end);
        });
        const view = { from: 0, to: 2 * WIDTH };
        const columns = boxColumns(boxes, view, 2 * WIDTH);
        const covered = columns.cover.reduce((sum, each) => sum + each, 0);
        const took = boxes.reduce((sum, each) => sum + each.to - each.from, 0);
        // Each pixel is rounded, and one that is full has one less.
        const rounding = columns.cover.length / EXACT;
        expect(Math.abs(covered / EXACT - took)).toBeLessThanOrEqual(rounding);
      }
    )
  );
});
