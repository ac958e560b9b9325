import { markFailed } from '../lane-fills';
import { COLOURS } from '../palette';

/** What is drawn: rectangles as they are filled, corners of lines. */
function drawn(left: number, right: number, height: number) {
  const calls: [string, string, ...number[]][] = [];
  const context = {
    fillStyle: '',
    strokeStyle: '',
    beginPath: () => undefined,
    stroke: () => undefined,
    strokeRect: () => undefined,
    fillRect: (...at: number[]) =>
      calls.push(['fill', context.fillStyle, ...at]),
    moveTo: (...at: number[]) =>
      calls.push(['line', context.strokeStyle, ...at]),
    lineTo: (...at: number[]) =>
      calls.push(['line', context.strokeStyle, ...at])
  };
  markFailed(
    context as unknown as CanvasRenderingContext2D,
    COLOURS.light,
    { left, right, y: 10, height },
    1000,
    1
  );
  return calls;
}

describe('the mark of a failed box', () => {
  it('has black behind it, so that it is seen on parts, too', () => {
    const [ground, ...lines] = drawn(100, 200, 20);
    const [, colour, x, y, width, height] = ground!;
    expect(colour).toBe(COLOURS.light.kinds.failed);
    expect(lines).toHaveLength(4);
    for (const [, white, lineX, lineY] of lines) {
      expect(white).toBe('#ffffff');
      expect(lineX! > x! && lineX! < x! + width!).toBe(true);
      expect(lineY! > y! && lineY! < y! + height!).toBe(true);
    }
  });

  it('is left out where it has no room', () => {
    expect(drawn(100, 108, 20)).toEqual([]);
    expect(drawn(100, 200, 8)).toEqual([]);
    expect(drawn(100, 109, 9)).not.toEqual([]);
  });
});
