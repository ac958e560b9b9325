/**
 * @jest-environment <rootDir>/src/testing/browser-environment.cjs
 */
/** The words below curves are whole, in whatever width. */
import type { CurvesSection } from '../content';
import { curvesElement } from '../page/curves-section';

const section = (seconds: number): CurvesSection => ({
  kind: 'curves',
  title: 'System',
  seconds,
  lines: [{ value: 'scheduler' }],
  charts: [
    {
      title: 'CPU',
      as: 'percent',
      lines: [{ line: 0, t: [0, seconds], value: [1, 2] }]
    }
  ],
  columns: [],
  rows: []
});

/** The middle of each word in pixels, of which `clamp(a em, b%, 100% - c em)` is the place. */
function middles(seconds: number, width: number) {
  const words = curvesElement(section(seconds)).querySelectorAll<HTMLElement>(
    '.ticks span'
  );
  return [...words].map(word => {
    const style = word.getAttribute('style')!;
    const found = /^left: clamp\(([\d.]+)em, ([\d.]+)%, 100% - ([\d.]+)em\)$/;
    const [least, share, most] = found.exec(style)!.slice(1).map(Number);
    const px = 12;
    return {
      text: word.textContent,
      middle: Math.max(
        least! * px,
        Math.min((share! / 100) * width, width - most! * px)
      ),
      at: (share! / 100) * width
    };
  });
}

it.each([
  [7.8, 1230],
  [0.5, 400],
  [600, 900],
  [600, 360],
  [7200, 1200]
])('has whole words at both ends of %d s in %i pixels', (seconds, width) => {
  const words = middles(seconds, width);
  expect(words.length).toBeGreaterThan(3);
  expect(words[0]!.at).toBe(0);
  for (const { text, middle } of words) {
    // So wide are words in the widest usual fonts.
    const half = (text.length * 7) / 2;
    expect(middle - half).toBeGreaterThanOrEqual(0);
    expect(middle + half).toBeLessThanOrEqual(width);
  }
  // Others stay at their ticks.
  expect(words[1]!.middle).toBe(words[1]!.at);
});
