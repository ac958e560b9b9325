/**
 * Writes SVG as text: elements, and texts of users as nothing but text. Pure, so that a picture needs no canvas and no document.
 *
 *     svgElement('rect', { x: 1, width: 20 })       <rect x="1" width="20"/>
 *     svgElement('text', { y: 9 }, textNode(key))   <text y="9">a &lt; b</text>
 */
import { alphaOf, mix, parseColour, toHex } from '../base/colour-arithmetic';
import { markupText } from '../base/markup-text';

/** Markup that is whole: made by the functions here alone. */
export type Svg = { readonly markup: string };

export type SvgAttributes = Readonly<
  Record<string, string | number | undefined>
>;

export function svgElement(
  name: string,
  attributes: SvgAttributes,
  ...children: readonly Svg[]
): Svg {
  const open = Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}="${written(value!)}"`)
    .join('');
  return {
    markup:
      children.length === 0
        ? `<${name}${open}/>`
        : `<${name}${open}>${joined(children).markup}</${name}>`
  };
}

export function textNode(text: string): Svg {
  return { markup: escaped(text) };
}

export function joined(parts: readonly Svg[]): Svg {
  return { markup: parts.map(({ markup }) => markup).join('') };
}

/** The picture as a file: what stands in it without a fill has none of the page's. */
export function svgFile(
  size: { readonly width: number; readonly height: number },
  title: string,
  ...children: readonly Svg[]
): string {
  const { width, height } = size;
  const { markup } = svgElement(
    'svg',
    {
      xmlns: 'http://www.w3.org/2000/svg',
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: 'img'
    },
    svgElement('title', {}, textNode(title)),
    ...children
  );
  return `<?xml version="1.0" encoding="UTF-8"?>\n${markup}\n`;
}

/** A CSS colour as programs for drawings know it: `#rrggbb`, its alpha mixed with what it stands on. */
export function solidColour(colour: string, ground: string): string {
  const rgb = parseColour(colour);
  if (rgb === null) {
    return '#808080';
  }
  const alpha = alphaOf(colour);
  const behind = parseColour(ground);
  return toHex(behind === null || alpha >= 1 ? rgb : mix(rgb, behind, alpha));
}

/** The same where it lies over several colours. */
export function fillOf(colour: string): SvgAttributes {
  const alpha = alphaOf(colour);
  return {
    fill: toHex(parseColour(colour) ?? [128, 128, 128]),
    'fill-opacity': alpha < 1 ? alpha : undefined
  };
}

/** Numbers to a hundredth: more is not seen, and makes a large file twice as long. */
function written(value: string | number): string {
  return typeof value === 'number'
    ? String(Math.round(value * 100) / 100)
    : escaped(value);
}

/** XML has no place for some characters, not even as numbers: a picture with one of them would not open. */
function escaped(text: string): string {
  return markupText(text.replace(/[\ufffe\uffff\ud800-\udfff]/gu, '\ufffd'));
}
