/** What the pictures of all panels have: a head that says what is shown, and texts. */
import type { TranslationBundle } from '@jupyterlab/translation';
import { shownText } from '../base/shown-text';
import {
  joined,
  solidColour,
  type Svg,
  type SvgAttributes,
  svgElement,
  svgFile,
  textNode
} from '../charts/svg';
import type { Palette } from '../charts/theme';
import { conditionsOf } from '../feed/selection';
import type { ClusterInfo } from '../wire/panel-link';
import { conditionText } from './chip-row';
import type { Asked } from './panel-watch';
import type { Picture } from './picture-file';

/** Width of a text of 11 px. */
export type TextWidth = (text: string) => number;

/** A picture for a page, however narrow the panel is. */
export const NARROWEST_PICTURE = 640;
const PADDING = 12;

/** One below the other. */
export type Section = { readonly height: number; readonly svg: Svg };

/**
 * The file: its sections on the theme's background, with room around them.
 *
 * @param width - of the sections, in pixels.
 */
export function stacked(
  title: string,
  width: number,
  sections: readonly Section[],
  defs: readonly Svg[],
  palette: Palette
): Picture {
  let y = PADDING;
  const placed = sections.map(({ height, svg }) => {
    const group = svgElement(
      'g',
      { transform: `translate(${PADDING} ${y})` },
      svg
    );
    y += height;
    return group;
  });
  const size = { width: width + 2 * PADDING, height: y + PADDING };
  const svg = svgFile(
    size,
    title,
    svgElement('defs', {}, ...defs),
    svgElement('rect', {
      ...size,
      fill: solidColour(palette.background, '#ffffff')
    }),
    svgElement(
      'g',
      { 'font-family': palette.uiFont, 'font-size': 11 },
      ...placed
    )
  );
  return { ...size, svg };
}

export function titleSection(
  title: string,
  subtitle: string,
  palette: Palette
): Section {
  return {
    height: 40,
    svg: joined([
      write(title, 0, 12, palette.text, palette, {
        'font-size': 13,
        'font-weight': 600
      }),
      write(subtitle, 0, 28, palette.secondaryText, palette)
    ])
  };
}

/** A text; nothing of an empty one. */
export function write(
  text: string,
  x: number,
  y: number,
  colour: string,
  palette: Palette,
  more: SvgAttributes = {}
): Svg {
  return text === ''
    ? joined([])
    : svgElement(
        'text',
        { x, y, fill: solidColour(colour, palette.background), ...more },
        textNode(text)
      );
}

/** For {@link elided}. */
export function measuring(textWidth: TextWidth) {
  return { measureText: (text: string) => ({ width: textWidth(text) }) };
}

/** For the line below the title: when the run started, and what was selected. */
export function shownOf(
  cluster: ClusterInfo | null,
  answered: Asked,
  trans: TranslationBundle
): string[] {
  return [
    startText(cluster, trans),
    ...conditionsOf(answered).map(each => conditionText(each, trans))
  ].filter(text => text !== '');
}

/** "started 28 Nov 2026, 11:04": a picture outlives the page that it is of. */
function startText(
  cluster: ClusterInfo | null,
  trans: TranslationBundle
): string {
  return cluster === null
    ? ''
    : trans.__(
        'started %1',
        new Date(cluster.startedAt * 1000).toLocaleString(undefined, {
          dateStyle: 'medium',
          timeStyle: 'short'
        })
      );
}

export function textWidthOf(font: string): TextWidth {
  const context = document.createElement('canvas').getContext('2d');
  if (context !== null) {
    context.font = `11px ${font}`;
  }
  return text => {
    // (as it is drawn)
    const shown = shownText(text);
    return context?.measureText(shown).width ?? shown.length * 6;
  };
}
