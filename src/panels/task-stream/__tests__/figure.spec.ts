import { axisTicks, bandShapes, stripShapes } from '../figure';

describe('the frame around the lanes', () => {
  it('puts ticks where the boxes of that time are', () => {
    const ticks = axisTicks({ from: 10, to: 20 }, 1000);
    expect(
      ticks.map(tick => [Math.round(tick.x), tick.text.replace('\u00a0', ' ')])
    ).toContainEqual([500, '15 s']);
    expect(
      axisTicks({ from: -5, to: 5 }, 1000).every(tick => tick.x >= 500)
    ).toBe(true);
  });

  it('keeps the name of a band in view while it reaches over the left border', () => {
    const bands = [
      { span: 1, tag: 'a', from: 0, to: 100, level: 0, tint: 0 },
      { span: 2, tag: 'b', from: 60, to: 70, level: 1, tint: 1 }
    ];
    const shapes = bandShapes(bands, { from: 40, to: 50 }, 1000);
    expect(shapes.map(shape => shape.tag)).toEqual(['a']);
    expect(shapes[0]?.textX).toBe(5);
    expect(shapes[0]?.x).toBeGreaterThanOrEqual(-2);
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
  });
});
