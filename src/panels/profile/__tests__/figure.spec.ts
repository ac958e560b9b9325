import { ask } from '../../../observer/__tests__/ask';
import { drawnStore } from '../../../testing/panel-harness/drawn-log';
import { firstLook } from '../../../testing/panel-harness/drawn-run';
import { activityOf, icicle, rowHeight, shapeAt } from '../figure';
import { frameTree } from '../rows';

const run = firstLook();
const tree = frameTree(ask(drawnStore(run), 'profile', { ended: true }));
const nodeOf = (name: string) => tree.result.nodes.name.indexOf(name);

describe('the icicle', () => {
  it('gives each frame the width of its samples', () => {
    const { shapes, rows } = icicle(tree, null, 1264);
    expect(rows).toBe(tree.deepest + 1);
    const root = shapes.find(shape => shape.node === 0);
    expect(root).toMatchObject({ x: 0, width: 1264, row: 0 });
    const fit = shapes.find(shape => shape.node === nodeOf('fit_fold'));
    const seconds = (names: readonly string[]) =>
      run.boxes
        .filter(box => names.includes(box.function) && !box.strip)
        .reduce((sum, { from, to }) => sum + to - from, 0);
    const share = seconds(['fit_fold']) / seconds(run.functions);
    expect(Math.abs(fit!.width - 1264 * share)).toBeLessThan(2);
  });

  it('zooms: the frame and its callers fill the width, the rest goes', () => {
    const focus = nodeOf('read_parquet');
    const { shapes } = icicle(tree, focus, 1000);
    const wide = shapes.filter(shape => shape.width === 1000);
    // All that it does is in one frame that it calls.
    expect(wide.map(shape => shape.node)).toEqual([0, 1, focus, focus + 1]);
    expect(wide.map(shape => shape.isCaller)).toEqual([
      true,
      true,
      false,
      false
    ]);
    expect(shapes.some(shape => shape.node === nodeOf('fit_fold'))).toBe(false);
    for (const shape of shapes) {
      expect(shape.x).toBeGreaterThanOrEqual(-1e-9);
      expect(shape.x + shape.width).toBeLessThanOrEqual(1000 + 1e-9);
    }
  });

  it('finds the frame under the pointer', () => {
    const { shapes } = icicle(tree, null, 1264);
    expect(shapeAt(shapes, 10, 2)?.node).toBe(nodeOf('fit_fold'));
    expect(shapeAt(shapes, 10, 40)).toBeNull();
  });

  it('has rows of 19 to 46 px', () => {
    expect(rowHeight(5, 1000)).toBe(46);
    expect(rowHeight(10, 300)).toBe(30);
    expect(rowHeight(100, 300)).toBe(19);
    expect(rowHeight(0, 300)).toBe(46);
  });

  it('is empty without samples', () => {
    const none = frameTree({
      ...tree.result,
      nodes: {
        parent: [],
        name: [],
        file: [],
        line: [],
        n: [],
        onCore: [],
        waiting: [],
        gil: [],
        blocked: [],
        slot: []
      }
    });
    expect(icicle(none, null, 1000)).toEqual({ shapes: [], rows: 0 });
  });
});

describe('the activity line', () => {
  it('is in threads when the rate is known, and leaves gaps', () => {
    const result = {
      ...tree.result,
      rateHz: 100,
      activity: {
        seconds: [3, 4, 7],
        onCore: [200, 100, 50],
        waiting: [0, 0, 50],
        gil: [0, 0, 0],
        blocked: [100, 0, 0]
      }
    };
    const activity = activityOf(result);
    expect(activity).toMatchObject({ from: 3, to: 8, highest: 3 });
    expect(activity.bars.map(bar => [bar.from, bar.to, bar.onCore])).toEqual([
      [3, 4, 2],
      [4, 5, 1],
      [7, 8, 0.5]
    ]);
    expect(activityOf({ ...result, rateHz: null }).bars[0]?.onCore).toBe(200);
  });
});
