/** What failed in a picture of a page: seen and found however short it is. */
import { SvgInk } from '../../charts/ink';
import { COLOURS } from '../../charts/palette';
import { BOX_KINDS } from '../../panels/task-stream/rows';
import type { DrawnBox } from '../page/drawn-boxes';
import { FailedBoxes, type PicturePlace } from '../page/failed-boxes';

const [COMPUTE, FAILED] = ['compute', 'failed'].map(word =>
  BOX_KINDS.indexOf(word as 'failed')
) as [number, number];

function box(lane: number, from: number, to: number, kind = FAILED): DrawnBox {
  const run = { function: 0, strip: 0, tasks: 1, record: 0 } as const;
  return { ...run, lane, from, to, kind };
}

const place: PicturePlace = {
  view: { from: 0, to: 10 },
  width: 1000,
  scale: 1,
  areaOf: lane => ({ y: lane * 20 + 1, height: 18 })
};
const alone = box(0, 2, 2.0001);
const pair = [box(1, 5, 5.0001), box(1, 5.02, 5.0201)];
const long = box(1, 7, 8);
const boxes = new FailedBoxes([
  box(0, 0, 10, COMPUTE),
  alone,
  ...pair,
  long,
  box(1, 40, 40.1)
]);

function drawnAt(view = place.view): string {
  const ink = new SvgInk(() => 0);
  boxes.draw(ink, COLOURS.light, { ...place, view });
  return ink.drawn.markup;
}

describe('failed boxes of a picture', () => {
  it('are drawn so wide that they are seen, each with its ✕', () => {
    const markup = drawnAt();
    expect(markup).toContain('<rect x="201" y="1" width="3" height="18"');
    expect(markup).toContain('<rect x="501" y="21" width="5" height="18"');
    // The long one is drawn with all boxes, and has its ✕ here.
    expect(markup.match(/<path/g)).toHaveLength(3);
  });

  it('are found where they are drawn, and all that share a mark', () => {
    expect(boxes.at(0, 203, 5, place)).toEqual([alone]);
    expect(boxes.at(0, 199, 5, place)).toEqual([]);
    expect(boxes.at(0, 206, 5, place)).toEqual([]);
    expect(boxes.at(1, 503, 25, place)).toEqual(pair);
    expect(boxes.at(1, 750, 25, place)).toEqual([]);
    expect(boxes.at(9, 203, 5, place)).toEqual([]);
  });

  it('come apart when one looks closer', () => {
    const closer = { ...place, view: { from: 5, to: 5.1 } };
    expect(boxes.at(1, 3, 25, closer)).toEqual([pair[0]]);
    expect(boxes.at(1, 203, 25, closer)).toEqual([pair[1]]);
  });
});
