import { axisTicks, bandAt, bandShapes, stripShapes } from '../figure';

const plain = (text: string) => text.replaceAll('\u00a0', ' ');

describe('the frame around the lanes', () => {
  it('puts ticks where the boxes of that time are', () => {
    const ticks = axisTicks({ from: 10, to: 20 }, 1000);
    expect(
      ticks.map(tick => [Math.round(tick.x), tick.text.replace('\u00a0', ' ')])
    ).toContainEqual([500, '15 s']);
    expect(
      axisTicks({ from: -5, to: 5 }, 1000).every(tick => tick.x >= 500)
    ).toBe(true);
    const before = axisTicks({ from: -2, to: 6 }, 800);
    expect(before.map(({ x, text }) => [x, plain(text)])).toEqual([
      [200, '0 s'],
      [300, '1 s'],
      [400, '2 s'],
      [500, '3 s'],
      [600, '4 s'],
      [700, '5 s'],
      [800, '6 s']
    ]);
  });

  it('puts bands where their time is, cut off at the borders', () => {
    const shapes = (from: number, to: number) =>
      bandShapes(
        [{ span: 3, tag: 'a', client: '', from, to, level: 2, tint: 5 }],
        { from: 40, to: 50 },
        1000
      );
    expect(shapes(44, 46)).toEqual([
      { x: 400, width: 200, level: 2, tint: 5, text: 'a', span: 3, textX: 405 }
    ]);
    // Two pixels over each border, so that its edges are out of sight.
    expect(shapes(30, 60)).toMatchObject([{ x: -2, width: 1004, textX: 5 }]);
    expect(shapes(30, 41)).toMatchObject([{ x: -2, width: 102, textX: 5 }]);
    expect(shapes(49, 60)).toMatchObject([{ x: 900, width: 102, textX: 905 }]);
    // However short it is, it is seen.
    expect(shapes(45, 45.0001)).toMatchObject([{ x: 500, width: 2 }]);
    expect([shapes(30, 40), shapes(50, 60)]).toEqual([[], []]);
  });

  it('keeps the name of a band in view while it reaches over the left border', () => {
    const bands = [
      {
        span: 1,
        tag: 'a',
        client: 'n.ipynb',
        from: 0,
        to: 100,
        level: 0,
        tint: 0
      },
      { span: 2, tag: 'b', client: '', from: 60, to: 70, level: 1, tint: 1 }
    ];
    const shapes = bandShapes(bands, { from: 40, to: 50 }, 1000);
    expect(shapes.map(shape => shape.text)).toEqual(['a · n.ipynb']);
    expect(shapes[0]?.textX).toBe(5);
    expect(bandAt(shapes, 500, 0)).toBe(shapes[0]);
    expect(bandAt(shapes, 500, 1)).toBeUndefined();
    expect(shapes[0]?.x).toBeGreaterThanOrEqual(-2);
  });

  it('finds the band at a place in its row, and of two that meet the later one', () => {
    const band = { tag: 'a', client: '', tint: 0 };
    const shapes = bandShapes(
      [
        { ...band, span: 1, from: 41, to: 43, level: 0 },
        { ...band, span: 2, from: 43, to: 45, level: 0 },
        { ...band, span: 3, from: 42, to: 49, level: 1 },
        { ...band, span: 4, from: 44, to: 44.5, level: 0 }
      ],
      { from: 40, to: 50 },
      1000
    );
    const found = (level: number) =>
      [99, 100, 299, 300, 420, 450, 499, 500].map(
        x => bandAt(shapes, x, level)?.span ?? 0
      );
    expect(found(0)).toEqual([0, 1, 1, 2, 4, 2, 2, 0]);
    expect(found(1)).toEqual([0, 0, 3, 3, 3, 3, 3, 3]);
  });

  it('stacks a bar from the bottom and marks failures', () => {
    const shapes = stripShapes(
      [{ compute: 0.5, disk: 0.2, transfer: 0.1, failed: 2 }],
      100
    );
    expect(shapes.map(shape => shape.role)).toEqual([
      'strip-compute',
      'kind-disk',
      'kind-transfer',
      'failed-mark'
    ]);
    expect(shapes[0]).toMatchObject({ top: 0.5, height: 0.5 });
    expect(shapes[1]?.top).toBeCloseTo(0.3, 9);
    expect(shapes[2]?.top).toBeCloseTo(0.2, 9);
    expect(shapes[3]).toMatchObject({ x: 50, width: 0 });
  });

  const bars = (count: number, failed: (index: number) => number = () => 0) =>
    Array.from({ length: count }, (_, index) => ({
      compute: 0.5,
      disk: 0,
      transfer: index === 1 ? 0.25 : 0,
      failed: failed(index)
    }));

  it('leaves a pixel between bars where there is room for it, and draws none of nothing', () => {
    const places = (count: number, width: number) =>
      stripShapes(bars(count), width).map(shape => [
        shape.role.replace(/^.*-/, ''),
        shape.x,
        shape.width
      ]);
    expect(places(3, 9)).toEqual([
      ['compute', 0, 2],
      ['compute', 3, 2],
      ['transfer', 3, 2],
      ['compute', 6, 2]
    ]);
    expect(places(2, 5)).toEqual([
      ['compute', 0, 2.5],
      ['compute', 2.5, 2.5],
      ['transfer', 2.5, 2.5]
    ]);
    expect(stripShapes([], 100)).toEqual([]);
  });

  it('marks failures, of those that are near each other the first', () => {
    const marks = (failed: (index: number) => number) =>
      stripShapes(bars(10, failed), 40)
        .filter(({ role }) => role === 'failed-mark')
        .map(({ x }) => x);
    expect(marks(() => 1)).toEqual([2, 10, 18, 26, 34]);
    expect(marks(index => (index === 1 || index > 7 ? 3 : 0))).toEqual([6, 34]);
    expect(marks(() => 0)).toEqual([]);
  });
});
