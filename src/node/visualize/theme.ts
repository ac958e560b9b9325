import {
  contrast,
  mix,
  parseColour,
  toHex
} from '../../base/colour-arithmetic';

export type Shade = 'light' | 'dark';

/** The colours of a figure beside those of its data. */
export type Theme = {
  readonly background: string;
  readonly text: string;
  readonly grid: string;
  readonly outline: string;
};

export const THEMES: Readonly<Record<Shade, Theme>> = {
  light: {
    background: '#ffffff',
    text: '#212121',
    grid: '#e4e4e4',
    outline: '#808080'
  },
  dark: {
    background: '#1e1e1e',
    text: '#e6e6e6',
    grid: '#3a3a3a',
    outline: '#808080'
  }
};

/** Graphics are told from the background from here on. */
const LEAST_CONTRAST = 2.5;

/**
 * The colour, moved towards the text's colour as little as is needed to be seen: Viridis goes from nearly black to bright yellow, so one of
 * its ends vanishes on every background. A colour that is no `#rrggbb` (a name) stays as it is.
 */
export function visibleColour(colour: string, theme: Theme): string {
  const rgb = parseColour(colour);
  const background = parseColour(theme.background)!;
  const text = parseColour(theme.text)!;
  if (rgb === null) {
    return colour;
  }
  for (let share = 1; share > 0; share -= 0.05) {
    const moved = mix(rgb, text, share);
    if (contrast(moved, background) >= LEAST_CONTRAST) {
      return share === 1 ? colour : toHex(moved);
    }
  }
  return theme.text;
}
