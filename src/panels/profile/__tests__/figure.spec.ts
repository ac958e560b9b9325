import { ask } from '../../../observer/__tests__/ask';
import { drawnStore } from '../../../testing/panel-harness/drawn-log';
import { firstLook } from '../../../testing/panel-harness/drawn-run';
import { activityOf, icicle, rowHeight, shapeAt } from '../figure';
import { frameTree, type FrameTree } from '../rows';

const run = firstLook();
const tree = frameTree(ask(drawnStore(run), 'profile', { ended: true }));
const nodeOf = (name: string) => tree.result.nodes.name.indexOf(name);

/** Frames by hand: callers, samples, and of those what they waited for. */
function treeOf(
  frames: readonly (readonly [parent: number, n: number, waits?: number[]])[]
): FrameTree {
  const names = frames.map((_, i) => `f${i}`);
  const waits = (which: number) =>
    frames.map(([, , each]) => each?.[which] ?? 0);
  return frameTree({
    ...tree.result,
    nodes: {
      parent: frames.map(([parent]) => parent),
      name: names,
      file: names,
      line: frames.map(() => 1),
      n: frames.map(([, n]) => n),
      onCore: frames.map(([, n]) => n),
      waiting: waits(0),
      gil: waits(1),
      blocked: waits(2),
      slot: frames.map(() => 0)
    }
  });
}

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

  /** Two roots of 60 and 40 samples; what the first calls, and what that calls. */
  const two = treeOf([
    [-1, 60],
    [0, 30, [3, 6, 12]],
    [1, 10, [1, 2, 4]],
    [0, 20],
    [-1, 40],
    [4, 8, [8, 0, 0]]
  ]);
  const places = ({ shapes, rows }: ReturnType<typeof icicle>) => ({
    rows,
    shapes: [...shapes]
      .sort((a, b) => a.node - b.node)
      .map(({ node, x, width, row, isCaller }) => [
        node,
        x,
        width,
        row,
        isCaller
      ])
  });

  it('puts frames side by side below their callers, roots beside each other', () => {
    expect(places(icicle(two, null, 200))).toEqual({
      rows: 3,
      shapes: [
        [0, 0, 120, 0, false],
        [1, 0, 60, 1, false],
        [2, 0, 20, 2, false],
        [3, 60, 40, 1, false],
        [4, 120, 80, 0, false],
        [5, 120, 16, 1, false]
      ]
    });
    expect(places(icicle(two, 3, 200))).toEqual({
      rows: 2,
      shapes: [
        [0, 0, 200, 0, true],
        [3, 0, 200, 1, false]
      ]
    });
    expect(places(icicle(two, 1, 90))).toEqual({
      rows: 3,
      shapes: [
        [0, 0, 90, 0, true],
        [1, 0, 90, 1, false],
        [2, 0, 30, 2, false]
      ]
    });
    expect(places(icicle(two, 4, 40)).shapes).toEqual([
      [4, 0, 40, 0, false],
      [5, 0, 8, 1, false]
    ]);
  });

  it('says of each frame what share of its samples waited', () => {
    const { shapes } = icicle(two, 1, 90);
    const waits = (node: number) => {
      const { waiting, gil, blocked } = shapes.find(
        shape => shape.node === node
      )!;
      return [waiting, gil, blocked];
    };
    expect(waits(1)).toEqual([0.1, 0.2, 0.4]);
    expect(waits(2)).toEqual([0.1, 0.2, 0.4]);
    expect(waits(0)).toEqual([0, 0, 0]);
  });

  it('leaves out frames that are too narrow to be seen, and what they call', () => {
    const thin = treeOf([
      [-1, 1000],
      [0, 6],
      [1, 6],
      [2, 5],
      [0, 5],
      [4, 5]
    ]);
    const { shapes, rows } = icicle(thin, null, 100);
    expect(shapes.map(({ node }) => node).sort()).toEqual([0, 1, 2]);
    expect(rows).toBe(3);
    // Zoomed to they are seen.
    expect(icicle(thin, 4, 100).shapes).toHaveLength(3);
  });

  it('finds the frame under the pointer', () => {
    const { shapes } = icicle(tree, null, 1264);
    expect(shapeAt(shapes, 10, 2)?.node).toBe(nodeOf('fit_fold'));
    expect(shapeAt(shapes, 10, 40)).toBeNull();
    const beside = icicle(two, null, 200).shapes;
    const at = (x: number, row: number) => shapeAt(beside, x, row)?.node;
    expect([at(0, 1), at(59.9, 1), at(60, 1), at(99.9, 1)]).toEqual([
      1, 1, 3, 3
    ]);
    // Right of all that it called, and left of everything.
    expect([at(100, 1), at(-0.1, 0), at(136, 1)]).toEqual([
      undefined,
      undefined,
      undefined
    ]);
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
    const zero = treeOf([
      [-1, 8],
      [0, 0]
    ]);
    expect(icicle(zero, 1, 1000)).toEqual({ shapes: [], rows: 0 });
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
    expect(activity).toMatchObject({ from: 3, to: 8, highest: 3, top: 3 });
    expect(activity.bars.map(bar => [bar.from, bar.to, bar.onCore])).toEqual([
      [3, 4, 2],
      [4, 5, 1],
      [7, 8, 0.5]
    ]);
    const unknown = activityOf({ ...result, rateHz: null });
    expect(unknown.bars[0]?.onCore).toBe(200);
    expect(unknown).toMatchObject({ top: 300, isInThreads: false });
    // A third of a second of one thread is below the first one.
    const little = {
      ...result.activity,
      onCore: [33, 0, 0],
      blocked: [0, 0, 0],
      waiting: [0, 0, 0]
    };
    expect(activityOf({ ...result, activity: little }).top).toBe(1);
    // Four threads by clocks that were put beside each other.
    const four = { ...little, seconds: [0], onCore: [404] };
    expect(activityOf({ ...result, activity: four }).top).toBe(4);
    const many = { ...little, seconds: [0], onCore: [6464] };
    expect(activityOf({ ...result, activity: many }).top).toBe(64);
  });

  const activity = (seconds: readonly number[], rateHz: number | null = 10) =>
    activityOf({
      ...tree.result,
      rateHz,
      activity: {
        seconds,
        onCore: seconds.map((_, i) => 100 * (i + 1)),
        waiting: seconds.map(() => 40),
        gil: seconds.map(() => 20),
        blocked: seconds.map(() => 10)
      }
    });

  it('has bars as wide as the least distance between two', () => {
    expect(activity([10, 30, 35])).toEqual({
      from: 10,
      to: 40,
      // Each second of a thread has ten samples.
      highest: 6 + 0.8 + 0.4 + 0.2,
      top: 8,
      isInThreads: true,
      bars: [10, 30, 35].map((from, i) => ({
        from,
        to: from + 5,
        onCore: expect.closeTo(2 * (i + 1), 12),
        waiting: expect.closeTo(0.8, 12),
        gil: expect.closeTo(0.4, 12),
        blocked: expect.closeTo(0.2, 12),
        unknown: 0
      }))
    });
    expect(activity([5, 8]).bars[0]).toMatchObject({ from: 5, to: 8 });
  });

  it('is a second of one bar, and nothing of none', () => {
    expect(activity([7])).toMatchObject({
      from: 7,
      to: 8,
      bars: [{ from: 7, to: 8, onCore: 10 }]
    });
    const none = activity([]);
    expect(none).toMatchObject({ from: 0, to: 1, bars: [] });
    expect(none.highest).toBeGreaterThan(0);
    // A rate of none is as none that is known.
    expect(activity([7], 0).bars[0]!.onCore).toBe(100);
  });
});
