/** Luminance, contrast and mixing of sRGB colours, as WCAG 2 defines them. */
export type Rgb = readonly [red: number, green: number, blue: number];

/** Components 0…255 of `#rgb`, `#rrggbb`, `rgb(…)` or `rgba(…)`; null for anything else (a name, an empty property). */
export function parseColour(text: string): Rgb | null {
  const value = text.trim();
  const short = /^#([0-9a-f])([0-9a-f])([0-9a-f])$/i.exec(value);
  if (short) {
    return component(short, digit => parseInt(digit + digit, 16));
  }
  const long =
    /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})(?:[0-9a-f]{2})?$/i.exec(value);
  if (long) {
    return component(long, pair => parseInt(pair, 16));
  }
  const rgb =
    /^rgba?\(\s*([\d.]+)[\s,]+([\d.]+)[\s,]+([\d.]+)(?:[\s,/]+[\d.]+%?)?\s*\)$/i.exec(
      value
    );
  return rgb ? component(rgb, Number) : null;
}

/** Of `rgba(…)`; of all else 1. */
export function alphaOf(colour: string): number {
  const alpha = /^rgba\(.*[,/]\s*([\d.]+)(%?)\s*\)$/i.exec(colour.trim());
  return alpha === null
    ? 1
    : Math.min(1, Number(alpha[1]) / (alpha[2] === '%' ? 100 : 1));
}

/** Relative luminance, 0 (black) … 1 (white). */
export function luminance([red, green, blue]: Rgb): number {
  const linear = (byte: number) => {
    const share = byte / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
}

/** Contrast ratio, 1 … 21. */
export function contrast(a: Rgb, b: Rgb): number {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [
    number,
    number
  ];
  return (high + 0.05) / (low + 0.05);
}

/** `share` of `colour` over `background`. */
export function mix(colour: Rgb, background: Rgb, share: number): Rgb {
  const blend = (index: 0 | 1 | 2) =>
    Math.round(colour[index] * share + background[index] * (1 - share));
  return [blend(0), blend(1), blend(2)];
}

export function toHex(colour: Rgb): string {
  return `#${colour.map(byte => byte.toString(16).padStart(2, '0')).join('')}`;
}

/** Black or white, whichever contrasts more; at least 4.58:1 on any colour, since the two ratios multiply to 21. */
export function textColourOn(background: Rgb): '#000000' | '#ffffff' {
  return contrast(background, [0, 0, 0]) >=
    contrast(background, [255, 255, 255])
    ? '#000000'
    : '#ffffff';
}

function component(
  match: RegExpExecArray,
  read: (text: string) => number
): Rgb {
  return [read(match[1] ?? '0'), read(match[2] ?? '0'), read(match[3] ?? '0')];
}
