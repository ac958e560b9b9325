/**
 * The palette that fits the page's theme: shade by the luminance of JupyterLab's layout colour, so that custom and high-contrast themes
 * work; function slots to colours; pattern fills for canvases.
 */
import {
  luminance,
  mix,
  parseColour,
  type Rgb,
  textColourOn,
  toHex
} from '../base/colour-arithmetic';
import {
  COLOURS,
  customProperties,
  type Kind,
  KIND_PATTERNS,
  type Pattern,
  RUNNING_BOX_FILL,
  type Shade,
  type ShadeColours
} from './palette';

/** Below this luminance of `--jp-layout-color1` a theme is dark; #212121 is 0.015, #808080 is 0.216. */
const DARK_BELOW = 0.18;

export type Palette = ShadeColours & {
  readonly shade: Shade;
  /** JupyterLab's own colours, for canvases; HTML uses `var(--jp-…)`. */
  readonly background: string;
  readonly text: string;
  readonly secondaryText: string;
  readonly line: string;
  readonly gridLine: string;
  readonly brand: string;
  readonly headerFill: string;
  readonly uiFont: string;
  readonly codeFont: string;
};

/** A function's place in the palette, as the observer hands it out; slot -1 is "other". */
export type Slot = { readonly slot: number; readonly round: number };

/** The palette of the theme that `element` is shown in; the defaults are JupyterLab's own light and dark themes. */
export function readPalette(element: Element): Palette {
  const style = getComputedStyle(element);
  const property = (name: string) => style.getPropertyValue(name).trim();
  const background = parseColour(property('--jp-layout-color1')) ?? [
    255, 255, 255
  ];
  const shade: Shade = luminance(background) < DARK_BELOW ? 'dark' : 'light';
  const dark = shade === 'dark';
  return {
    ...COLOURS[shade],
    shade,
    background: toHex(background),
    text: property('--jp-ui-font-color1') || (dark ? '#e0e0e0' : '#212121'),
    secondaryText:
      property('--jp-ui-font-color2') || (dark ? '#bdbdbd' : '#616161'),
    line: property('--jp-border-color1') || (dark ? '#616161' : '#bdbdbd'),
    gridLine: property('--jp-border-color2') || (dark ? '#424242' : '#e0e0e0'),
    brand: property('--jp-brand-color1') || (dark ? '#2196f3' : '#1976d2'),
    headerFill:
      property('--jp-layout-color2') || (dark ? '#424242' : '#eeeeee'),
    uiFont: property('--jp-ui-font-family') || 'system-ui, sans-serif',
    codeFont: property('--jp-code-font-family') || 'monospace'
  };
}

/** Gives the page the colours of a shade; style sheets may also choose by the attribute. */
export function setShade(body: HTMLElement, shade: Shade): void {
  body.dataset.swShade = shade;
  for (const [name, colour] of customProperties(shade)) {
    body.style.setProperty(name, colour);
  }
}

/** Colour of a function's slot; `round` is told by `topLines`. */
export function functionColour(palette: ShadeColours, { slot }: Slot): string {
  return palette.functions[slot] ?? palette.other;
}

/** Light lines along the top of a function's box: none in the first dozen, then one, then two. Without a slot one: (de)serialising has the same grey, and none. */
export function topLines({ slot, round }: Slot): number {
  return slot < 0 ? 1 : Math.min(round, 2);
}

/** The fill of a profile frame: its colour at 34 % (dark 46 %) over the background. */
export function frameFill(palette: Palette, colour: string): string {
  return toHex(
    mix(toRgb(colour), toRgb(palette.background), palette.frameFill)
  );
}

/** The fill of a running task. */
export function runningFill(palette: Palette, colour: string): string {
  return toHex(mix(toRgb(colour), toRgb(palette.background), RUNNING_BOX_FILL));
}

/** Black or white, whichever is read better on `colour`. */
export function textOn(colour: string): '#000000' | '#ffffff' {
  return textColourOn(toRgb(colour));
}

function toRgb(colour: string): Rgb {
  return parseColour(colour) ?? [128, 128, 128];
}

/** Below this width a box is drawn in its colour alone. */
const PATTERN_FROM_PX = 5;
/** Patterns repeat every 6 px, so that a 24 px bar shows four lines. */
const PERIOD = 6;

/** Pattern fills of one canvas and palette; make a new one when the theme changes. */
export class PatternFills {
  private readonly _made = new Map<string, string | CanvasPattern>();

  constructor(
    private readonly _context: CanvasRenderingContext2D,
    private readonly _palette: Palette,
    private readonly _pixelRatio: number = 1
  ) {}

  /** What to set as `fillStyle` for a kind of time in a box `width` px wide. */
  kind(kind: Kind, width: number): string | CanvasPattern {
    return this._fill(
      this._palette.kinds[kind],
      width < PATTERN_FROM_PX ? 'plain' : KIND_PATTERNS[kind],
      this._palette.patternLine
    );
  }

  private _fill(
    colour: string,
    pattern: Pattern,
    line: string
  ): string | CanvasPattern {
    if (pattern === 'plain') {
      return colour;
    }
    const key = `${colour} ${pattern} ${line}`;
    const known = this._made.get(key);
    if (known !== undefined) {
      return known;
    }
    const made = this._make(colour, pattern, line) ?? colour;
    this._made.set(key, made);
    return made;
  }

  private _make(
    colour: string,
    pattern: Exclude<Pattern, 'plain'>,
    line: string
  ): CanvasPattern | null {
    const document = this._context.canvas.ownerDocument;
    const tile = document.createElement('canvas');
    const size = Math.round(PERIOD * this._pixelRatio);
    tile.width = size;
    tile.height = size;
    const context = tile.getContext('2d');
    if (context === null) {
      return null;
    }
    context.fillStyle = colour;
    context.fillRect(0, 0, size, size);
    drawPattern(context, pattern, line, size);
    const fill = this._context.createPattern(tile, 'repeat');
    // The canvas is scaled by the pixel ratio; the pattern is drawn in device pixels already.
    fill?.setTransform(new DOMMatrix().scale(1 / this._pixelRatio));
    return fill;
  }
}

function drawPattern(
  context: CanvasRenderingContext2D,
  pattern: Exclude<Pattern, 'plain'>,
  line: string,
  size: number
): void {
  context.fillStyle = line;
  context.strokeStyle = line;
  context.lineWidth = size / 3.5;
  const middle = size / 2;
  switch (pattern) {
    case 'horizontal':
      context.fillRect(0, middle, size, size / 4);
      return;
    case 'vertical':
      context.fillRect(middle, 0, size / 4, size);
      return;
    case 'grid':
      context.fillRect(0, 0, size, size / 5);
      context.fillRect(0, 0, size / 5, size);
      return;
    case 'checks':
      context.fillRect(0, 0, middle, middle);
      context.fillRect(middle, middle, middle, middle);
      return;
    case 'dots':
      context.beginPath();
      context.arc(middle, middle, size / 5, 0, 2 * Math.PI);
      context.fill();
      return;
    case 'slash':
    case 'backslash': {
      // Three parallels, so that the corners of neighbouring tiles meet without a gap.
      const up = pattern === 'slash';
      context.beginPath();
      for (const shift of [-size, 0, size]) {
        context.moveTo(shift, up ? size : 0);
        context.lineTo(shift + size, up ? 0 : size);
      }
      context.stroke();
      return;
    }
  }
}
