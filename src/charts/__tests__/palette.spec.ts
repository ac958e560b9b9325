import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  contrast,
  parseColour,
  type Rgb,
  textColourOn
} from '../../base/colour-arithmetic';
import {
  COLOURS,
  KIND_PATTERNS,
  type Shade,
  type ShadeColours
} from '../palette';
import { functionColour, readPalette, topLines } from '../theme';

const SHADES: readonly Shade[] = ['light', 'dark'];
const BACKGROUND: Record<Shade, Rgb> = {
  light: [255, 255, 255],
  dark: [0x21, 0x21, 0x21]
};

function rgb(colour: string): Rgb {
  const parsed = parseColour(colour);
  if (parsed === null) {
    throw new Error(`not a colour: ${colour}`);
  }
  return parsed;
}

/** The custom properties of one shade as the style sheet has them. */
function properties(shade: Shade): Map<string, string> {
  const css = readFileSync(
    join(__dirname, '../../../style/palette.css'),
    'utf8'
  );
  const block = css.split(`body[data-sw-shade='${shade}'] {`)[1]?.split('}')[0];
  return new Map(
    [...(block ?? '').matchAll(/--sw-([a-z0-9-]+):\s*([^;]+);/g)].map(
      ([, name, value]) => [name ?? '', value ?? '']
    )
  );
}

function expected(colours: ShadeColours): [string, string][] {
  return [
    ...colours.functions.map((value, i): [string, string] => [
      `fn-${i + 1}`,
      value
    ]),
    ['fn-other', colours.other],
    ...Object.entries(colours.kinds).map(([kind, value]): [string, string] => [
      `kind-${kind}`,
      value
    ]),
    ['failed-line', colours.failedLine],
    ['idle-fill', colours.idleFill],
    ['idle-line', colours.idleLine],
    ['unmanaged-old', colours.unmanagedOld],
    ['unmanaged-recent', colours.unmanagedRecent],
    ...colours.runs.map((value, i): [string, string] => [
      `run-${i + 1}`,
      value
    ]),
    ['faster', colours.faster],
    ['slower', colours.slower],
    ['limit', colours.limit],
    ['link', colours.link],
    ...colours.bands.flatMap(({ fill, line }, i): [string, string][] => [
      [`band-${i + 1}-fill`, fill],
      [`band-${i + 1}-line`, line]
    ]),
    ['selected-fill', colours.selectedFill]
  ];
}

describe.each(SHADES)('the %s palette', shade => {
  const colours = COLOURS[shade];

  it('is the same in the style sheet', () => {
    const inCss = properties(shade);
    const hex = (value: string | undefined) =>
      value === undefined ? undefined : rgb(value).join();
    for (const [name, value] of expected(colours)) {
      expect([name, hex(inCss.get(name))]).toEqual([name, hex(value)]);
    }
  });

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
    for (const see of [seen, protanopia, deuteranopia]) {
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
  for (const see of [seen, protanopia, deuteranopia]) {
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
    expect(topLines({ slot: -1, round: 3 })).toBe(0);
  });
});

// ------------------------------------------------------------ how colours are seen

type Triple = readonly [number, number, number];

const seen = (colour: Rgb): Triple => linear(colour);

/** Machado, Oliveira and Fernandes (2009), severity 1, on linear components. */
const protanopia = (colour: Rgb): Triple =>
  times(
    [
      [0.152286, 1.052583, -0.204868],
      [0.114503, 0.786281, 0.099216],
      [-0.003882, -0.048116, 1.051998]
    ],
    linear(colour)
  );
const deuteranopia = (colour: Rgb): Triple =>
  times(
    [
      [0.367322, 0.860646, -0.227968],
      [0.280085, 0.672501, 0.047413],
      [-0.01182, 0.04294, 0.968881]
    ],
    linear(colour)
  );

function linear(colour: Rgb): Triple {
  const [r, g, b] = colour.map(byte => {
    const share = byte / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return [r ?? 0, g ?? 0, b ?? 0];
}

function times(rows: readonly Triple[], [x, y, z]: Triple): Triple {
  const [a, b, c] = rows.map(row =>
    Math.min(1, Math.max(0, row[0] * x + row[1] * y + row[2] * z))
  );
  return [a ?? 0, b ?? 0, c ?? 0];
}

/** CIELAB under D65 from linear sRGB. */
function lab([r, g, b]: Triple): Triple {
  const f = (t: number) =>
    t > 216 / 24389 ? Math.cbrt(t) : (t * (24389 / 27) + 16) / 116;
  const x = f((0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047);
  const y = f(0.2126729 * r + 0.7151522 * g + 0.072175 * b);
  const z = f((0.0193339 * r + 0.119192 * g + 0.9503041 * b) / 1.08883);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

function ciede2000([l1, a1, b1]: Triple, [l2, a2, b2]: Triple): number {
  const rad = Math.PI / 180;
  const meanC = (Math.hypot(a1, b1) + Math.hypot(a2, b2)) / 2;
  const g = 0.5 * (1 - Math.sqrt(meanC ** 7 / (meanC ** 7 + 25 ** 7)));
  const [p1, p2] = [a1 * (1 + g), a2 * (1 + g)];
  const [c1, c2] = [Math.hypot(p1, b1), Math.hypot(p2, b2)];
  const hue = (b: number, a: number) =>
    a === 0 && b === 0 ? 0 : (Math.atan2(b, a) / rad + 360) % 360;
  const [h1, h2] = [hue(b1, p1), hue(b2, p2)];
  const grey = c1 * c2 === 0;
  let dh = grey ? 0 : h2 - h1;
  dh = dh > 180 ? dh - 360 : dh < -180 ? dh + 360 : dh;
  const dH = 2 * Math.sqrt(c1 * c2) * Math.sin((dh / 2) * rad);
  const [l, c] = [(l1 + l2) / 2, (c1 + c2) / 2];
  const sum = h1 + h2;
  const h = grey
    ? sum
    : Math.abs(h1 - h2) <= 180
      ? sum / 2
      : sum < 360
        ? (sum + 360) / 2
        : (sum - 360) / 2;
  const t =
    1 -
    0.17 * Math.cos((h - 30) * rad) +
    0.24 * Math.cos(2 * h * rad) +
    0.32 * Math.cos((3 * h + 6) * rad) -
    0.2 * Math.cos((4 * h - 63) * rad);
  const sl = 1 + (0.015 * (l - 50) ** 2) / Math.sqrt(20 + (l - 50) ** 2);
  const sc = 1 + 0.045 * c;
  const sh = 1 + 0.015 * c * t;
  const rt =
    -2 *
    Math.sqrt(c ** 7 / (c ** 7 + 25 ** 7)) *
    Math.sin(60 * Math.exp(-(((h - 275) / 25) ** 2)) * rad);
  const [L, C, H] = [(l2 - l1) / sl, (c2 - c1) / sc, dH / sh];
  return Math.sqrt(L * L + C * C + H * H + rt * C * H);
}
