import { contrast, type Rgb, textColourOn } from '../../base/colour-arithmetic';
import {
  BACKGROUND,
  ciede2000,
  EYES,
  lab,
  rgb
} from '../../testing/seen-colours';
import { COLOURS, KIND_PATTERNS, type Shade } from '../palette';
import { functionColour, readPalette, topLines } from '../theme';

const SHADES: readonly Shade[] = ['light', 'dark'];
describe.each(SHADES)('the %s palette', shade => {
  const colours = COLOURS[shade];

  it('keeps graphics at 3:1 and text in bars at 4.5:1', () => {
    // A failed box is black in both shades; in the dark one its outline is what is seen.
    const kinds = Object.entries(colours.kinds).flatMap(([kind, colour]) =>
      kind === 'failed' ? [] : [colour]
    );
    for (const colour of [...colours.functions, ...kinds]) {
      expect(contrast(rgb(colour), BACKGROUND[shade])).toBeGreaterThanOrEqual(
        3
      );
      const text = rgb(textColourOn(rgb(colour)));
      expect(contrast(rgb(colour), text)).toBeGreaterThanOrEqual(4.5);
    }
    expect(
      contrast(rgb(colours.failedLine), BACKGROUND[shade])
    ).toBeGreaterThanOrEqual(3);
    for (const { fill } of colours.bands) {
      const text: Rgb = shade === 'light' ? [33, 33, 33] : [255, 255, 255];
      expect(contrast(rgb(fill), text)).toBeGreaterThanOrEqual(8.3);
    }
  });

  it('keeps any two functions and the kinds apart for all eyes', () => {
    const reserved = [
      'transfer',
      'disk',
      'serialize',
      'import',
      'failed'
    ] as const;
    const all = [
      ...colours.functions,
      ...reserved.map(kind => colours.kinds[kind])
    ];
    for (const see of EYES) {
      for (let i = 0; i < colours.functions.length; i++) {
        for (let j = i + 1; j < all.length; j++) {
          const a = lab(see(rgb(all[i] as string)));
          const b = lab(see(rgb(all[j] as string)));
          expect(ciede2000(a, b)).toBeGreaterThanOrEqual(8);
        }
      }
    }
  });
});

it.each(SHADES)('has importing apart from all other kinds: %s', shade => {
  const { kinds, functions, other } = COLOURS[shade];
  const own = rgb(kinds.import);
  for (const see of EYES) {
    for (const [kind, colour] of Object.entries(kinds)) {
      if (kind !== 'import') {
        const distance = ciede2000(lab(see(own)), lab(see(rgb(colour))));
        expect(distance).toBeGreaterThanOrEqual(10.2);
      }
    }
    for (const colour of [...functions, other]) {
      const distance = ciede2000(lab(see(own)), lab(see(rgb(colour))));
      expect(distance).toBeGreaterThanOrEqual(8);
    }
  }
  const sharing = Object.entries(KIND_PATTERNS).filter(
    ([, pattern]) => pattern === KIND_PATTERNS.import
  );
  expect(sharing.map(([kind]) => kind)).toEqual(['import']);
});

it.each(SHADES)('draws importing quieter than what matters more: %s', shade => {
  const { kinds } = COLOURS[shade];
  const chroma = (colour: string) => {
    const [, a, b] = lab(EYES[0]!(rgb(colour)));
    return Math.hypot(a, b);
  };
  for (const kind of ['cpu', 'transfer', 'disk', 'blocked'] as const) {
    expect(chroma(kinds.import)).toBeLessThan(chroma(kinds[kind]));
  }
  if (shade === 'light') {
    const loudness = (colour: string) =>
      contrast(rgb(colour), BACKGROUND[shade]);
    expect(loudness(kinds.import)).toBeLessThan(loudness(kinds.cpu));
  }
});

it.each(SHADES)(
  'has waiting for a core apart from all other kinds, and no louder than computing in the dark: %s',
  shade => {
    const { kinds } = COLOURS[shade];
    const own = rgb(kinds.core);
    for (const see of EYES) {
      for (const [kind, colour] of Object.entries(kinds)) {
        if (kind !== 'core' && kind !== 'failed') {
          const distance = ciede2000(lab(see(own)), lab(see(rgb(colour))));
          expect(distance).toBeGreaterThanOrEqual(10);
        }
      }
    }
    const loudness = (colour: string) =>
      contrast(rgb(colour), BACKGROUND[shade]);
    if (shade === 'dark') {
      expect(loudness(kinds.core)).toBeLessThan(loudness(kinds.cpu));
    }
  }
);

describe('ciede2000', () => {
  // Pairs 1, 7 and 25 of Sharma, Wu and Dalal's test data (2005).
  it.each([
    [[50, 2.6772, -79.7751], [50, 0, -82.7485], 2.0425],
    [[50, 0, 0], [50, -1, 2], 2.3669],
    [[60.2574, -34.0099, 36.2677], [60.4626, -34.1751, 39.4387], 1.2644]
  ] as const)('gives the published distance of %p and %p', (a, b, distance) => {
    expect(ciede2000(a, b)).toBeCloseTo(distance, 4);
  });
});

describe('readPalette', () => {
  it.each([
    ['#ffffff', 'light'],
    ['rgb(33, 33, 33)', 'dark'],
    ['#000', 'dark'],
    ['#fdf6e3', 'light'],
    ['', 'light']
  ])('takes %p for %s', (colour, shade) => {
    const element = document.createElement('div');
    element.style.setProperty('--jp-layout-color1', colour);
    document.body.appendChild(element);
    expect(readPalette(element).shade).toBe(shade);
    element.remove();
  });

  it('tells the second and third dozen by lines and the rest by grey', () => {
    const palette = COLOURS.light;
    expect(functionColour(palette, { slot: 0, round: 1 })).toBe('#2f86c4');
    expect(topLines({ slot: 0, round: 1 })).toBe(1);
    expect(functionColour(palette, { slot: -1, round: 3 })).toBe('#757575');
    // (de)serialising, which is as grey, has none.
    expect(topLines({ slot: -1, round: 3 })).toBe(1);
  });
});
