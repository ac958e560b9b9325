import { readPalette } from '../../../charts/theme';
import { axisTicks, type Tick } from '../figure';
import { paintAxis } from '../frame-painter';

type Label = {
  readonly text: string;
  readonly left: number;
  readonly right: number;
};

/** The labels of an axis as they stand, from left to right. */
function labelsOf(ticks: readonly Tick[], width: number, letter = 6): Label[] {
  const labels: Label[] = [];
  const widthOf = (text: string) => text.length * letter;
  const context = {
    clearRect: () => undefined,
    measureText: (text: string) => ({ width: widthOf(text) }),
    fillText: (text: string, left: number) =>
      labels.push({ text, left, right: left + widthOf(text) })
  };
  paintAxis(
    context as unknown as CanvasRenderingContext2D,
    ticks,
    { width, height: 18 },
    readPalette(document.body)
  );
  return labels.sort((a, b) => a.left - b.left);
}

const plain = (label: Label): string => label.text.replaceAll('\u00a0', ' ');

describe('the labels of the time axis', () => {
  it('stand below their ticks', () => {
    const labels = labelsOf(axisTicks({ from: 26, to: 84 }, 600), 600);
    expect(labels.map(plain)).toEqual([
      '30 s',
      '40 s',
      '50 s',
      '60 s',
      '70 s',
      '80 s'
    ]);
    for (const [index, { left, right }] of labels.entries()) {
      expect((left + right) / 2).toBeCloseTo(((4 + index * 10) / 58) * 600, 6);
    }
  });

  it('are whole at the border where there is room, and give way where not', () => {
    const alone = labelsOf([{ x: 596, text: '2 min 15 s' }], 600);
    expect(alone).toMatchObject([{ left: 538, right: 598 }]);
    // Its neighbour stands at its tick and stays.
    const two = [
      { x: 524, text: '2 min 00 s' },
      { x: 596, text: '2 min 15 s' }
    ];
    expect(labelsOf(two, 600).map(plain)).toEqual(['2 min 00 s']);
    const first = [
      { x: 4, text: '2 min 00 s' },
      { x: 66, text: '2 min 15 s' }
    ];
    expect(labelsOf(first, 600).map(plain)).toEqual(['2 min 15 s']);
  });

  it('never cover each other, wherever the chart is', () => {
    let count = 0;
    for (const seconds of [0.4, 3, 30, 110, 400, 5000, 90_000, 1e6]) {
      for (let from = 0; from < 20; from += 1) {
        const begin = from * seconds * 0.37;
        for (const width of [180, 333, 550]) {
          const view = { from: begin, to: begin + seconds };
          const labels = labelsOf(axisTicks(view, width), width, 6.5);
          count += labels.length;
          labels.slice(1).forEach(({ left }, index) => {
            expect(left - labels[index]!.right).toBeGreaterThanOrEqual(8);
          });
          for (const { left, right } of labels) {
            expect(left).toBeGreaterThanOrEqual(0);
            expect(right).toBeLessThanOrEqual(width);
          }
        }
      }
    }
    // One at least in each chart.
    expect(count).toBeGreaterThan(8 * 20 * 3);
  });
});
