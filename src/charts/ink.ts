/** What lanes are drawn with: a canvas, or SVG that is made in its place. So a picture in a file is drawn by the rules of the one on the page. */
import { alphaOf, parseColour, toHex } from '../base/colour-arithmetic';
import {
  fillOf,
  joined,
  type Svg,
  type SvgAttributes,
  svgElement,
  textNode
} from './svg';

/** As much of a canvas context as there is of SVG. */
export interface IInk {
  fillStyle: CanvasRenderingContext2D['fillStyle'];
  strokeStyle: CanvasRenderingContext2D['strokeStyle'];
  lineWidth: number;
  globalAlpha: number;
  /** "22px sans-serif" */
  font: string;
  /** Texts are drawn about their middle. */
  textBaseline: CanvasTextBaseline;
  fillRect(x: number, y: number, width: number, height: number): void;
  strokeRect(x: number, y: number, width: number, height: number): void;
  fillText(text: string, x: number, y: number): void;
  measureText(text: string): { readonly width: number };
  beginPath(): void;
  moveTo(x: number, y: number): void;
  lineTo(x: number, y: number): void;
  stroke(): void;
}

const FONT = /^([\d.]+)px (.*)$/;
/** From the middle of a text to its line, as a share of its size. Programs for drawings know no `dominant-baseline`. */
const MIDDLE = 3.5 / 11;

export class SvgInk implements IInk {
  fillStyle: IInk['fillStyle'] = '#000000';
  strokeStyle: IInk['strokeStyle'] = '#000000';
  lineWidth = 1;
  globalAlpha = 1;
  font = '11px sans-serif';
  textBaseline: CanvasTextBaseline = 'middle';
  private readonly _parts: Svg[] = [];
  private _path = '';

  /** @param _widthOf - of a text of 11 px. */
  constructor(private readonly _widthOf: (text: string) => number) {}

  get drawn(): Svg {
    return joined(this._parts);
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    if (width > 0 && height > 0) {
      const place = { x, y, width, height };
      this._parts.push(svgElement('rect', { ...place, ...this._fill() }));
    }
  }

  strokeRect(x: number, y: number, width: number, height: number): void {
    if (width > 0 && height > 0) {
      const place = { x, y, width, height };
      this._parts.push(svgElement('rect', { ...place, ...this._line() }));
    }
  }

  fillText(text: string, x: number, y: number): void {
    const { size, family } = this._font();
    if (text !== '') {
      this._parts.push(
        svgElement(
          'text',
          {
            x,
            y: y + MIDDLE * size,
            'font-size': size,
            'font-family': family,
            ...this._fill()
          },
          textNode(text)
        )
      );
    }
  }

  measureText(text: string): { readonly width: number } {
    return { width: (this._widthOf(text) * this._font().size) / 11 };
  }

  beginPath(): void {
    this._path = '';
  }

  moveTo(x: number, y: number): void {
    this._path += `M${x} ${y}`;
  }

  lineTo(x: number, y: number): void {
    this._path += `L${x} ${y}`;
  }

  stroke(): void {
    if (this._path === '') {
      return;
    }
    this._parts.push(svgElement('path', { d: this._path, ...this._line() }));
  }

  private _fill() {
    const style = String(this.fillStyle);
    // A pattern of the picture's `defs`, which canvases do not know.
    const fill: SvgAttributes = style.startsWith('url(#')
      ? { fill: style }
      : fillOf(style);
    return this.globalAlpha < 1
      ? {
          ...fill,
          'fill-opacity': this.globalAlpha * Number(fill['fill-opacity'] ?? 1)
        }
      : fill;
  }

  private _line() {
    const colour = String(this.strokeStyle);
    const alpha = alphaOf(colour) * this.globalAlpha;
    return {
      fill: 'none',
      stroke: toHex(parseColour(colour) ?? [128, 128, 128]),
      'stroke-opacity': alpha < 1 ? alpha : undefined,
      'stroke-width': this.lineWidth
    };
  }

  private _font(): { readonly size: number; readonly family: string } {
    const [, size = '11', family = 'sans-serif'] = FONT.exec(this.font) ?? [];
    return { size: Number(size), family };
  }
}
