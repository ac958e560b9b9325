/**
 * The frames in view as an SVG file. Pure: the PNG is made of the same text.
 *
 *     Profile, first-look                         title, and what is shown
 *     |all functions                         |
 *     |fit 61 %              |load 39 %      |
 *     |score 30 %|     ·     |read 38 %     |
 *     ▪ waiting for a core  ▪ …                   legend
 */
import type { Trans } from '../../base/trans';
import { SvgInk } from '../../charts/ink';
import { joined, svgElement } from '../../charts/svg';
import { kindFill, patternsOf } from '../../charts/svg-patterns';
import type { Palette } from '../../charts/theme';
import type { Picture } from '../picture-file';
import {
  type Section,
  stacked,
  type TextWidth,
  titleSection,
  write
} from '../picture-parts';
import { icicle } from './figure';
import { paintFrames } from './frame-painter';
import type { Found, FrameTree } from './rows';
import type { LegendLine } from './legend';

/** A row of frames, as in a panel of middling height. */
const ROW_HEIGHT = 22;
const LEGEND_LINE = 18;
const SWATCH = 10;

type PictureParts = {
  readonly title: string;
  /** What of the run is shown, and under which filter. */
  readonly subtitle: string;
  readonly tree: FrameTree;
  readonly focus: number | null;
  readonly selected: number | null;
  readonly found: Found | null;
  /** Of the frames, in pixels. */
  readonly width: number;
  readonly legend: readonly LegendLine[];
  readonly palette: Palette;
  readonly textWidth: TextWidth;
  readonly trans: Trans;
};

/** Feet of frames, and the legend's swatches. */
const PATTERNED = ['core', 'gil', 'blocked', 'import', 'compute'] as const;

export function pictureOf(parts: PictureParts): Picture {
  const { palette } = parts;
  return stacked(
    parts.title,
    parts.width,
    [
      titleSection(parts.title, parts.subtitle, palette),
      framesSection(parts),
      legendSection(parts)
    ],
    patternsOf(PATTERNED, palette),
    palette
  );
}

function framesSection(parts: PictureParts): Section {
  const { tree, focus, palette } = parts;
  const { shapes, rows } = icicle(tree, focus, parts.width);
  const ink = new SvgInk(parts.textWidth);
  paintFrames(ink, { ...parts, shapes, height: ROW_HEIGHT }, kind =>
    kindFill(kind, palette)
  );
  return { height: rows * ROW_HEIGHT + 8, svg: ink.drawn };
}

function legendSection({
  legend,
  width,
  palette,
  textWidth
}: PictureParts): Section {
  let x = 0;
  let line = 0;
  const items = legend.map(({ mark, name }) => {
    const swatch = mark === null ? 0 : SWATCH + 5;
    const length = swatch + textWidth(name);
    if (x > 0 && x + length > width) {
      x = 0;
      line += 1;
    }
    const y = line * LEGEND_LINE;
    const left = x;
    x += length + 14;
    const text = write(name, left + swatch, y + 13, palette.text, palette);
    return mark === null
      ? text
      : joined([
          svgElement('rect', {
            x: left,
            y: y + 4,
            width: SWATCH,
            height: SWATCH,
            fill: kindFill(mark.kind, palette)
          }),
          text
        ]);
  });
  return {
    height: legend.length === 0 ? 0 : (line + 1) * LEGEND_LINE,
    svg: joined(items)
  };
}
