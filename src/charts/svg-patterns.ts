/** The patterns of kinds in an SVG file: the lines that {@link PatternFills} draws on a canvas. */
import { type Kind, KIND_PATTERNS, type Pattern } from './palette';
import { solidColour, type Svg, svgElement } from './svg';
import type { Palette } from './theme';

/** As the period of the canvas's fills. */
const PERIOD = 6;

/** Under this name is what boxes of a kind are filled with; `inLanes`: in their pixels. */
export function patternName(kind: string, inLanes = false): string {
  return inLanes ? `sw-${kind}-in-lanes` : `sw-${kind}`;
}

/** What fills a kind of time, in a picture whose `defs` have its pattern. */
export function kindFill(kind: Kind, palette: Palette): string {
  return KIND_PATTERNS[kind] === 'plain'
    ? palette.kinds[kind]
    : `url(#${patternName(kind)})`;
}

/**
 * For the `defs` of a picture: the patterns of those kinds that have one. The others are filled with their colour.
 *
 * @param pixelRatio - of the lanes that they are for; left out: of what is beside them.
 */
export function patternsOf(
  kinds: readonly Kind[],
  palette: Palette,
  pixelRatio?: number
): Svg[] {
  return kinds
    .filter(kind => KIND_PATTERNS[kind] !== 'plain')
    .map(kind =>
      svgElement(
        'pattern',
        {
          id: patternName(kind, pixelRatio !== undefined),
          width: PERIOD,
          height: PERIOD,
          patternUnits: 'userSpaceOnUse',
          patternTransform:
            pixelRatio === undefined ? undefined : `scale(${pixelRatio})`
        },
        svgElement('rect', {
          width: PERIOD,
          height: PERIOD,
          fill: palette.kinds[kind]
        }),
        linesOf(
          KIND_PATTERNS[kind],
          solidColour(palette.patternLine, palette.kinds[kind])
        )
      )
    );
}

function linesOf(pattern: Pattern, colour: string): Svg {
  const line = (d: string, width: number) =>
    svgElement('path', {
      d,
      fill: 'none',
      stroke: colour,
      'stroke-width': width
    });
  switch (pattern) {
    // Of both slopes, neighbours' corners meet without a gap.
    case 'slash':
      return line('M-3 3L3 -3M0 6L6 0M3 9L9 3', PERIOD / 3.5);
    case 'backslash':
      return line('M-3 3L3 9M0 0L6 6M3 -3L9 3', PERIOD / 3.5);
    case 'horizontal':
      return line('M0 3.75L6 3.75', PERIOD / 4);
    case 'vertical':
      return line('M3.75 0L3.75 6', PERIOD / 4);
    case 'dots':
      return svgElement('circle', {
        cx: PERIOD / 2,
        cy: PERIOD / 2,
        r: PERIOD / 5,
        fill: colour
      });
    case 'checks':
      return svgElement('path', { d: 'M0 0H3V3H0ZM3 3H6V6H3Z', fill: colour });
    default:
      return line('M0 0.6L6 0.6M0.6 0L0.6 6', PERIOD / 5);
  }
}
