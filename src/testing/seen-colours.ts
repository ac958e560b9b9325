/** How colours are seen, by eyes that tell all of them and by eyes that do not. */
import { parseColour, type Rgb } from '../base/colour-arithmetic';
import { customProperties, type Shade } from '../charts/palette';

/** JupyterLab's own themes. */
export const BACKGROUND: Record<Shade, Rgb> = {
  light: [255, 255, 255],
  dark: [0x21, 0x21, 0x21]
};

export function rgb(colour: string): Rgb {
  const parsed = parseColour(colour);
  if (parsed === null) {
    throw new Error(`not a colour: ${colour}`);
  }
  return parsed;
}

/** The custom properties of one shade, without `--sw-`. */
export function properties(shade: Shade): Map<string, string> {
  return new Map(
    customProperties(shade).map(([name, value]) => [name.slice(5), value])
  );
}

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

/** What each eye makes of a colour, as linear components. */
export const EYES = [seen, protanopia, deuteranopia];

/** CIELAB under D65 from linear sRGB. */
export function lab([r, g, b]: Triple): Triple {
  const f = (t: number) =>
    t > 216 / 24389 ? Math.cbrt(t) : (t * (24389 / 27) + 16) / 116;
  const x = f((0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047);
  const y = f(0.2126729 * r + 0.7151522 * g + 0.072175 * b);
  const z = f((0.0193339 * r + 0.119192 * g + 0.9503041 * b) / 1.08883);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

/** How far apart two colours are: 1 is just seen, 10 at a glance. */
export function ciede2000([l1, a1, b1]: Triple, [l2, a2, b2]: Triple): number {
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
